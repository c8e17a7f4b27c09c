"""Classes of English words by what may follow them. Data only; spoken commands and questions, no written prose."""

from __future__ import annotations

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


FILLERS: Final = _set("um uh er erm hm hmm well so")
ADDRESSES: Final = _set("robot robi hey hi hello okay please now just then oh right")
"""Before a sentence these say nothing of it."""
OPENS: Final = _set("robot robi hey please just then um uh er erm well so")
"""... and alone they promise a sentence; "okay" and "hello" do not."""
POLITE_ENDS: Final = _set("please robot robi now thanks dear")

DETERMINERS: Final = _set(
    "the a an my your our their its his every each another any some both these those which whose what"
)
GOES_ON: Final = _set(
    "the a an my your our their its his every each another "  # a noun
    "of from into onto to at with without between toward towards against per via until till than for as about by "
    "and or but because if when while although unless whether that's who whom whose where why how which "
    "not don't never very too only even just almost nearly quite really "
    "is are am was were be been being do does did can could will would shall should may might must has had have "
    "isn't aren't wasn't weren't doesn't didn't can't couldn't won't wouldn't shouldn't haven't hasn't "
    "um uh er erm hm hmm minus plus point in i we they he she beside near under above below behind through past "
    "want need would then last"
)
"""Whoever ends with one of these is not done, but for the exceptions that ``completeness`` knows."""
STRANDED: Final = _set("of from at with for to in on about like behind under near above below")
"""Prepositions that a question may end with: "which room are you in"."""
SUBJECTS: Final = _set("i you we they he she it this that there")
ENDS_OF_SUBJECT: Final = SUBJECTS | _set("one everybody everyone anybody somebody everything something anything")

BE: Final = _set("is are am was were isn't aren't wasn't weren't")
AUXILIARIES: Final = BE | _set(
    "do does did can could will would shall should may might must has have had doesn't didn't don't can't couldn't "
    "won't wouldn't shouldn't haven't hasn't"
)
MODALS: Final = AUXILIARIES - BE
WH: Final = _set("what where who when why how which whose whom")
WH_VERBS: Final = _set("happened happens lives turned took put said made left moved called came closed opened")
"""With what, who or which as their subject: "who turned off the light"."""
OBJECTLESS_PAST: Final = _set("turned took put made left moved closed opened")
"""... of which these want an object: "who turned"."""
WH_ALONE: Final = (
    "how about",
    "what about",
    "why not",
    "what else",
    "what next",
    "how come",
    "what for",
    "where to",
    "which one",
)

VERBS: Final = _set(
    "turn drive go move bring get take fetch grab put place set pick give hand show tell say switch make find carry "
    "deliver open close follow look rotate check read call leave keep start let ask remind see know have need want "
    "think hear remember mean play increase decrease raise lower use add hold come head travel approach visit clean "
    "dim activate point face count change describe explain lift drop throw push pull enter try watch greet inspect "
    "search do wake navigate steer swivel pivot tilt pass stand sit lay park stay be wait scan dock charge return "
    "reverse back spin stop halt freeze hurry report explore help listen repeat speak talk sleep relax cancel "
    "continue pause resume proceed advance step roll crawl creep walk run ride stick shut bend aim cook lock unlock "
    "shift slide retrieve collect locate recharge slow speed wave dance sing smile nod remain exit swing guide lead "
    "recite measure swap press warn pour empty fill guard catch kill illuminate state ring scoot pop retreat touch "
    "light"
)
"""Words that a command may begin with."""
OPEN_VERBS: Final = VERBS - _set(
    "wait scan dock charge return reverse spin stop halt freeze hurry report explore help listen repeat sleep relax "
    "cancel continue pause resume proceed recharge wave dance sing smile nod swivel rotate park exit speak talk"
)
"""Verbs that are no command by themselves."""
STATIVE: Final = _set("see hear know have want need like feel understand speak remember think smell sense swim fly")
""" "can you see" asks, "can you bring" does not."""

PARTICLES: Final = _set("up down on off out over back away around along by across")
NEEDS_OBJECT: Final = frozenset(
    {
        *((verb, "down") for verb in "put turn set lay take bring place".split()),
        *((verb, "off") for verb in "turn switch take put drop".split()),
        *((verb, "out") for verb in "take bring find put".split()),
        *((verb, "over") for verb in "drive go head move travel bring hand put run walk".split()),
        *((verb, "back") for verb in "bring put take give carry hand".split()),
        *((verb, "away") for verb in "put take bring carry".split()),
        *((verb, "around") for verb in "drive go move run".split()),
        *((verb, "across") for verb in "drive go move".split()),
        *((verb, "along") for verb in "drive go move".split()),
        *((verb, "next") for verb in "stand park stop stay wait sit put place".split()),
        ("get", "out"),
        ("look", "over"),
    }
)
"""Verb and particle that want something after them: "pick up", "turn on"."""
UP_ALONE: Final = _set(
    "look hurry back wake speed speak get stand shut go come sit clean drive move roll warm listen cheer"
)
""" "hurry up" is whole, "pick up" is not."""
ME_ALONE: Final = _set("follow help watch leave join call face touch trust excuse warn hear tell")
""" "follow me" is whole, "take me" is not."""
GOES_WITH_ON: Final = _set("carry go come move hold hang keep drive straight still later everything")
"""Behind these "on" ends a sentence."""
LEADING: Final = _set("first next finally then now afterwards later again also once otherwise")
"""Before a command these say when."""
SUBORDINATES: Final = _set("when if once after before while until as because since")
SITS_ON: Final = _set("put place set sit lay drop leave stand")
"""After these "on" is a preposition also behind an object: "put it on"."""
ENDS_WITH_IN: Final = frozenset({("come", "in"), ("go", "in"), ("get", "in"), ("plug", "in"), ("here", "in")})

TO_WHOM: Final = _set("bring get give fetch hand show tell pass set make let remind find read ask buy play wake")
"""With "me" alone they want the thing: "bring me"."""
PERSONS: Final = _set("me us him her them grandma")
TAKES_OBJECT: Final = _set("put get see find take bring make turn call use fetch hold reach open close")
"""Behind where, when, why and how they want their object: "where did you put"."""
WANTS_PLACE: Final = _set("put place set carry deliver lay stick take point aim pick")
"""With a thing alone they want a place, a state or a time: "put the cup"."""
WANTS_PLACE_IT: Final = WANTS_PLACE - {"take"} | _set("turn switch bring give hand tell make let keep get move")
"""... and so with it, them, this, that alone."""
THINGS: Final = _set("it them this that these those")
PLACED: Final = PARTICLES | _set(
    "in into onto to at under behind near here there next beside with left right forward forwards backward backwards "
    "home inside outside for again upwards downwards way around clockwise low high upstairs downstairs free"
)
SWITCHED: Final = _set("turn switch")
SWITCHABLE: Final = _set("light lights lamp lamps radio heating heater fan tv")
TIMED: Final = _set("timer timers alarm reminder countdown stopwatch")
"""Whoever sets one also says when."""
UNITS_OF_TIME_AND_WAY: Final = _set("hour minute second meter degree turn kilometer")
ROOMS: Final = _set("kitchen room bedroom bathroom hallway office garage balcony corridor lounge")
"""Nobody switches a room on: the light follows."""
ADJECTIVES: Final = _set(
    "red blue green yellow black white brown orange big small little large long short other nearest next last first "
    "second third dining living charging front full new old whole same left-hand right-hand bedside dinner coffee"
)
MOVES: Final = _set("drive go move turn rotate roll back reverse wait travel advance spin pivot step come for add")
"""A number after one of these wants its unit."""
NUMBER_ENDS: Final = _set("to at that it number channel room step page level floor until from")
"""A number after one of these wants none: "set it to 5", "wake me at 7"."""
DIRECTIONS: Final = _set(
    "left right forward forwards backward backwards back ahead straight up down around here there home out inside "
    "outside closer upwards downwards"
)
ENDINGS: Final = (
    ROOMS | SWITCHABLE | TIMED | DIRECTIONS | PERSONS | THINGS | UNITS_OF_TIME_AND_WAY | ENDS_OF_SUBJECT | STRANDED
) | _set(
    "meters minutes seconds hours degrees centimeters centimeter kilometers percent inches feet turns times half "
    "steps on off down out over away by through across is are am can do did does was were again now once twice one "
    "slowly quickly carefully gently please today tonight tomorrow yesterday morning evening time clock day date "
    "late early name battery level charger charge charging dock home doing going holding moving driving looking "
    "standing waiting working ready done full empty stuck lost okay open closed free low high long far big small "
    "fast slow old door window floor table desk bed sofa couch chair wall box fridge camera map place other back "
    "front side way pm noon midnight all everything anything nothing everybody anybody somebody enough more less "
    "further closer yourself myself clockwise upwards downwards happened alarm music weather joke story raining "
    "warm cold hot little bit see take work help mean"
)
"""Words that spoken commands and questions often end with. Behind any other nobody can be sure that it is the end."""
CONNECTS: Final = _set("and then please now or but with for when after before in on")
"""Words that a finished command may still be followed by in a phrase."""
