"""Values that parameters of invented tools take, and the words in which a person gives them.

Names, codes and made-up words are copied letter by letter; numbers have a unit in the parameter's name. Data and draws.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import lexicon
from slots import pseudo_word

from edgeagent.train import cardinal, digits

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """A value in a sentence: the call's value, its words, and what of them must stay as it is."""

    value: Any
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an invented tool and a way to give it.

    Attributes:
        schema: JSON Schema, as the product makes it.
        give: Draws a value in its words, ready to stand in a sentence.
        role: "object" stands behind the verb, "rest" behind the object, "flag" anywhere.
        wrong: Draws words for a value that the parameter does not take; None where it takes any.
    """

    name: str
    schema: dict[str, Any]
    give: Callable[[random.Random], Given]
    role: str = "rest"
    optional: bool = False
    wrong: Callable[[random.Random], str] | None = field(default=None)


UNITS: Final = (
    # stem, ending of the name, spoken units with their factors, largest, prepositions
    ("distance", "m", (("meters", 1), ("metres", 1), ("m", 1), ("cm", 0.01), ("centimeters", 0.01), ("km", 1000), ("kilometers", 1000), ("feet", 0.3048), ("yards", 0.9144)), 40, ("by", "", "for")),
    ("", "meters", (("meters", 1), ("metres", 1), ("m", 1), ("cm", 0.01), ("kilometers", 1000), ("feet", 0.3048)), 300, ("by", "", "for")),
    ("height", "cm", (("centimeters", 1), ("cm", 1), ("centimetres", 1), ("meters", 100), ("inches", 2.54), ("feet", 30.48), ("mm", 0.1)), 200, ("to", "by", "at", "to a height of")),
    ("depth", "cm", (("centimeters", 1), ("cm", 1)), 60, ("to", "at", "by", "with a depth of")),
    ("depth", "m", (("meters", 1), ("m", 1), ("metres", 1), ("feet", 0.3048), ("cm", 0.01)), 30, ("to", "at", "in", "down to")),
    ("length", "mm", (("millimeters", 1), ("mm", 1), ("millimetres", 1), ("cm", 10), ("centimeters", 10), ("inches", 25.4)), 300, ("to", "by", "with a length of")),
    ("distance", "km", (("kilometers", 1), ("km", 1), ("kilometres", 1), ("meters", 0.001), ("metres", 0.001)), 60, ("", "for", "by")),
    ("angle", "deg", (("degrees", 1), ("deg", 1)), 360, ("by", "to", "", "at")),
    ("heading", "deg", (("degrees", 1), ("", 1)), 359, ("to", "at", "heading", "on")),
    ("bearing", "deg", (("degrees", 1), ("", 1)), 359, ("on a bearing of", "bearing", "at", "on")),
    ("course", "deg", (("degrees", 1), ("", 1)), 359, ("on a course of", "on course", "course")),
    ("tilt", "degrees", (("degrees", 1),), 90, ("by", "to", "at")),
    ("duration", "s", (("seconds", 1), ("seconds", 1), ("s", 1), ("minutes", 60)), 90, ("for", "for", "for about")),
    ("", "seconds", (("seconds", 1), ("seconds", 1), ("sec", 1), ("minutes", 60)), 90, ("for", "for", "")),
    ("", "minutes", (("minutes", 1), ("minutes", 1), ("min", 1), ("hours", 60), ("seconds", 1 / 60)), 50, ("for", "for")),
    ("delay", "s", (("seconds", 1), ("seconds", 1)), 60, ("in", "after", "with a delay of")),
    ("", "hours", (("hours", 1), ("hours", 1), ("days", 24), ("minutes", 1 / 60)), 24, ("for", "in")),
    ("", "days", (("days", 1), ("days", 1), ("weeks", 7)), 30, ("for", "in", "for the next")),
    ("duration", "min", (("minutes", 1), ("min", 1), ("seconds", 1 / 60), ("hours", 60)), 60, ("for", "for")),
    ("", "percent", (("percent", 1), ("percent", 1), ("%", 1)), 100, ("to", "at", "to", "by")),
    ("opening", "percent", (("percent", 1), ("percent", 1), ("%", 1)), 100, ("to", "at", "by")),
    ("power", "percent", (("percent", 1), ("percent power", 1), ("%", 1)), 100, ("at", "with", "to")),
    ("speed", "mps", (("meters per second", 1), ("m/s", 1)), 5, ("at", "with", "with a speed of")),
    ("speed", "kmh", (("kilometers per hour", 1), ("km/h", 1), ("", 1)), 60, ("at", "to", "at a speed of")),
    ("speed", "rpm", (("rpm", 1), ("revolutions per minute", 1), ("revolutions", 1), ("turns a minute", 1)), 900, ("at", "to", "with")),
    ("", "rpm", (("rpm", 1), ("rpm", 1), ("revolutions a minute", 1)), 4000, ("at", "to", "with")),
    ("speed", "knots", (("knots", 1), ("knots", 1)), 12, ("at", "with")),
    ("weight", "kg", (("kilos", 1), ("kg", 1), ("kilograms", 1), ("grams", 0.001), ("tons", 1000)), 50, ("of", "with", "up to")),
    ("weight", "g", (("grams", 1), ("g", 1), ("kilos", 1000), ("kg", 1000), ("mg", 0.001)), 900, ("of", "with")),
    ("", "liters", (("liters", 1), ("litres", 1), ("l", 1), ("ml", 0.001), ("milliliters", 0.001)), 40, ("with", "of", "for")),
    ("amount", "ml", (("milliliters", 1), ("ml", 1), ("millilitres", 1), ("liters", 1000), ("litres", 1000), ("cl", 10)), 500, ("with", "of")),
    ("temperature", "c", (("degrees", 1), ("degrees celsius", 1), ("degrees", 1)), 95, ("to", "at", "to")),
    ("pressure", "bar", (("bar", 1), ("bar", 1)), 12, ("at", "to", "with")),
    ("frequency", "hz", (("hertz", 1), ("hz", 1)), 500, ("at", "to")),
    ("voltage", "v", (("volts", 1), ("v", 1)), 48, ("to", "at", "with")),
)  # fmt: skip
FRACTIONS: Final = {
    "percent": (("halfway", 50), ("half", 50), ("to a half", 50), ("a quarter", 25), ("three quarters", 75), ("all the way", 100), ("fully", 100), ("completely", 100), ("to the full", 100)),
    "liters": (("half a liter", 0.5), ("half a litre", 0.5), ("a quarter of a liter", 0.25), ("a liter and a half", 1.5), ("one and a half liters", 1.5)),
    "ml": (("half a liter", 500), ("half a litre", 500), ("a quarter of a liter", 250), ("a tenth of a liter", 100), ("a liter and a half", 1500)),
    "kg": (("half a kilo", 0.5), ("half a ton", 500), ("a kilo and a half", 1.5), ("a ton", 1000), ("a quarter of a ton", 250)),
    "g": (("half a kilo", 500), ("a quarter of a kilo", 250), ("a kilo and a half", 1500)),
    "minutes": (("half an hour", 30), ("a quarter of an hour", 15), ("an hour and a half", 90), ("half a minute", 0.5), ("three quarters of an hour", 45)),
    "min": (("half an hour", 30), ("a quarter of an hour", 15), ("half a minute", 0.5), ("a minute and a half", 1.5)),
    "seconds": (("half a minute", 30), ("a minute", 60), ("a minute and a half", 90), ("a quarter of an hour", 900), ("half a second", 0.5)),
    "s": (("half a minute", 30), ("a minute", 60), ("a minute and a half", 90), ("half a second", 0.5)),
    "hours": (("half an hour", 0.5), ("a quarter of an hour", 0.25), ("a day", 24), ("half a day", 12), ("an hour and a half", 1.5)),
    "days": (("a week", 7), ("a fortnight", 14), ("half a day", 0.5), ("a week and a half", 10.5)),
    "rpm": (("two thousand revolutions", 2000), ("a thousand rpm", 1000), ("fifteen hundred rpm", 1500)),
    "m": (("half a meter", 0.5), ("half a kilometer", 500), ("a kilometer and a half", 1500), ("a quarter of a meter", 0.25), ("a meter and a half", 1.5)),
    "meters": (("half a meter", 0.5), ("half a kilometer", 500), ("a meter and a half", 1.5)),
    "cm": (("half a meter", 50), ("a quarter of a meter", 25), ("a meter and a half", 150)),
}  # fmt: skip
"""Ways to say an amount without its figure, by the ending of a name."""
_COMPASS: Final = {name: at * 45 for at, name in enumerate(("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"))}  # fmt: skip
COURSES: Final = ("heading", "bearing", "course")
COUNTS: Final = ("times", "count", "repeats", "passes", "rounds", "cycles", "laps")
_NUMBERED: Final = tuple(
    """floor level channel slot row shelf gear lane station bay track zone port page step layer sector gate drawer section stage
program field column pin unit dock seat line ward deck tank
cue scene lot terminal platform exit block wing room table cell camera pump valve hall stop lock stage_light rack bench""".split()
)
_OBJECT_NAMES: Final = tuple(
    "item parcel box tube sample crate package part tool plant pot bottle file pallet tray order letter container bag object thing book volume "
    "drink dish song tape vial slide coil ticket barrel trailer wagon lamp cue scene lot case folder roll".split()
)
_TARGET_NAMES: Final = (
    ("bay", "to|in|at|from|into"), ("station", "to|at|from"), ("place", "to|at|in|near"), ("room", "to|in"),
    ("shelf", "to|on|from|onto"), ("zone", "to|in"), ("dock", "to|at"), ("rack", "to|in|from|into"), ("lab", "to|at|in"),
    ("ward", "to|in"), ("bench", "to|on|at"), ("gate", "to|at"), ("destination", "to"), ("source", "from"),
    ("bed", "to|at|in"), ("field", "to|in|on"), ("location", "to|at|in"), ("slot", "into|in|to"), ("person", "to|for|with"),
    ("recipient", "to|for"), ("patient", "to|for"), ("customer", "to|for"), ("room_name", "to|in"), ("target", "to|at"),
)  # fmt: skip
_LABEL_NAMES: Final = (
    ("title", "called|named|titled|with the title|title"), ("name", "called|named|with the name|as|by the name of"),
    ("label", "as|with the label|labelled|label"), ("code", "with code|with the code|code|using code"),
    ("color", "in|in the color|with color"), ("song", "with|song"), ("message", "saying|with the message|that says"),
    ("species", "as|with species|species"), ("material", "of|from|in|with"), ("tag", "with tag|tagged|tag|with the tag"),
    ("user", "for|as user|for user"), ("key", "with key|with the key|key"), ("reason", "because of|reason|for|because|due to|since it says|reason is"),
    ("vehicle", "for|for the car|with"), ("card", "for card|with card|card|on card"), ("plate", "for|with plate|plate"),
    ("batch", "from batch|batch|of batch"), ("program", "with program|program|using program|on program"), ("playlist", "with|playlist|from the playlist"),
    ("author", "by|from|by the author"), ("flavor", "with|flavored|in"), ("brand", "from|by|brand"), ("model", "model|of model|with model"),
    ("topic", "about|on|on the topic of"), ("language", "in"), ("garnish", "with|with a|garnished with"), ("street", "in|on|at"),
    ("address", "at|of|to|"), ("postcode", "postcode|with postcode|zip|"), ("shelfmark", "shelfmark|with shelfmark|at"),
    ("crop", "with|of"), ("note", "with the note|note|with note"), ("password", "with password|password"),
)  # fmt: skip
_PEOPLE_NAMES: Final = frozenset("person recipient patient customer user".split())
_ENUMS: Final = tuple(
    tuple(line.split())
    for line in (
        "left right both", "up down", "front back both", "top bottom middle", "low medium high ultra", "slow normal fast turbo",
        "red green blue yellow white purple orange", "eco normal boost sport", "day night dusk", "auto manual remote",
        "north south east west", "small medium large huge", "happy sad angry calm", "soft firm hard", "wet dry damp",
        "hot warm cold", "open closed half", "clockwise counterclockwise", "inner outer", "quiet loud silent",
        "short long endless", "steel wood plastic glass paper", "fresh frozen ambient", "rain sun wind snow", "morning noon evening",
        "square circle triangle star", "cover hull basket claw", "bow stern port starboard", "mono stereo", "fine coarse rough",
        "water soap oil steam", "front_left front_right rear_left rear_right", "kitchen lobby garage attic", "info warning alarm",
        "apple pear plum cherry", "photo video audio", "first second third", "light deep extra_deep", "beep chime bell horn",
        "copper steel aluminium brass", "cold lukewarm boiling", "thin thick extra_thick", "male female", "raw rare medium well_done",
        "espresso latte mocha americano", "cash card voucher", "adult child senior", "single double triple", "east_wing west_wing annex",
        "add remove replace", "idle active standby", "pdf csv json", "english german french spanish", "jazz rock classical pop",
        "mop vacuum sweep", "low_tide high_tide", "drip jet fog", "matte glossy satin", "left_arm right_arm", "amber cyan magenta teal",
        "sit stand lie", "walk trot gallop", "bass tenor alto soprano", "quarter half full", "peak ridge valley", "sand gravel clay peat",
        "nitrogen oxygen argon helium", "urgent routine low_priority", "inside outside", "old new used", "gold silver bronze",
        "monday tuesday wednesday thursday", "spring summer autumn winter", "thumb index middle ring", "zigzag spiral straight",
        "roses tulips beans herbs", "gentle standard strong", "solid blink pulse fade", "metric imperial", "indoor outdoor",
    )
)  # fmt: skip
_ENUM_NAMES: Final = tuple(
    "mode side direction quality level kind type style setting size area state position program".split()
)
_FLAGS: Final = (
    # name, default, words for the other value
    ("urgent", False, "urgent|urgently|it is urgent|this is urgent|as an urgent one"),
    ("sound", True, "without sound|with the sound off|no sound|silently"),
    ("gently", False, "gently|be gentle|with care"),
    ("wait", False, "and wait|and wait there|then wait"),
    ("loud", False, "loudly|out loud|loud"),
    ("light", True, "without light|with the light off|no light"),
    ("repeat", False, "on repeat|repeatedly|and repeat it"),
    ("fast", False, "fast|quickly|in a hurry"),
    ("quiet", False, "quietly|be quiet"),
    ("fragile", False, "it is fragile|this is fragile|as fragile"),
    ("force", False, "by force|with force|force it"),
    ("cooled", False, "cooled|keep it cool|with cooling"),
    ("confirm", True, "without confirmation|without asking|no confirmation"),
    ("reverse", False, "in reverse|reversed"),
    ("lock", False, "and lock it|locked|with the lock on"),
    ("dry_run", False, "as a dry run|only as a test"),
    ("slowly", False, "slowly|nice and slow|take your time with it|at a slow pace"),
    ("infrared", False, "in infrared|with infrared|infrared please"),
    ("strobe", False, "as a strobe|with strobe|make it strobe|strobing"),
    ("insured", False, "insured|with insurance|make it insured"),
    ("gift", False, "as a gift|it's a gift|gift wrapped"),
    ("sterile", False, "sterile|under sterile conditions|keep it sterile"),
    ("express", False, "express|as express|by express"),
    ("blink", False, "blinking|let it blink|and make it blink"),
    ("notify", False, "and let me know|and notify me|and tell me when it is done"),
    ("record", False, "and record it|with recording|recorded"),
    ("flash", False, "with flash|with the flash on|use the flash"),
    ("heated", False, "heated|with heating|keep it warm"),
    ("rinse", True, "without rinsing|don't rinse|no rinse"),
    ("lights", False, "with the lights on|lights on"),
    ("priority", False, "with priority|as a priority|this has priority|top priority"),
    ("overnight", False, "overnight|over night|for the night"),
    ("vegan", False, "vegan|as vegan|make it vegan"),
    ("backup", True, "without backup|no backup|skip the backup"),
)  # fmt: skip
_FLAG_NOUNS: Final = tuple(
    """sugar milk ice salt pepper cream foam wax lid cover strap music alarm siren horn flash glue tape paint oil grease steam shampoo bleach
starch perfume labels receipt cushion padding ribbon camera microphone spotlight helmet net anchor ballast trailer hose nozzle brush blade filter
fan heater cooler pump vibration massage subtitles animation commentary echo fog smoke bubbles confetti glitter sauce lemon butter dressing detergent""".split()
)
"""What something is done with or without."""
_SIDES: Final = ("top middle bottom", "left right", "inner outer", "front rear", "north south east west", "upper lower", "first second third",
    "red green blue", "big small", "old new", "near far", "main spare", "indoor outdoor", "port starboard", "hot cold", "long short",
)  # fmt: skip
"""Words that tell one of several like things apart."""
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
RARE: Final = tuple(
    """neurology dentistry orthopedics begonia petunia saffron quartz granite cobalt zircon lavender thistle juniper pelican
falcon otter badger walrus lynx marlin osprey raven condor gecko panther lilac thyme oregano parsley clover nettle
marina lagoon canyon glacier tundra meadow delta ridge summit quarry sawmill foundry brewery archive annex vault hangar depot
chapel terrace cloister pavilion arcade tango bravo sierra oscar quebec whiskey foxtrot yankee lima kilo aurora eclipse
nebula comet saturn neptune orion vega copper bronze nickel titanium rubber velvet linen canvas ceramic marble bamboo cork
walnut maple cedar birch spruce lentils quinoa barley walnuts raisins ginger cumin radish turnip spinach celery leek zucchini
calibration inventory maintenance quarantine overflow returns inspection assembly packing shipping radiology oncology pediatrics
pharmacy reception cafeteria laundry turbine gasket flange bracket washer bearing piston spindle bushing sprocket solder resistor
blanket syringe scalpel gauze insulin plasma vaccine stretcher monsoon blizzard sunrise twilight midnight serenade polka tarantella""".split()
)


def code(rng: random.Random) -> str:
    """A code as on labels: A4, T-204, 77B, RX-88."""
    letters = _LETTERS if rng.random() < 0.85 else _LETTERS.lower()
    letter, two = rng.choice(letters), "".join(rng.choices(letters, k=2))
    return rng.choice(
        (
            f"{letter}{rng.randint(1, 99)}",
            f"{letter}{rng.randint(1, 9)}",
            f"{letter}-{rng.randint(1, 999)}",
            f"{letter}-{rng.randint(0, 99):02d}",
            f"{two}{rng.randint(1, 99)}",
            f"{two}-{rng.randint(1, 99)}",
            f"{rng.randint(1, 99)}{letter}",
            f"{rng.randint(1, 9)}-{letter}",
            f"{two}{letter}",
            f"{two}{rng.randint(1, 99)}.{rng.randint(1, 9)}",
            f"{rng.randint(1, 99)}-{rng.randint(100, 9999)}",
            f"{letter}{rng.randint(100, 999)}",
            f"{two}-{letter} {rng.randint(1, 999)}",
            f"{two}{rng.randint(100, 9999)}",
            f"{two}{rng.randint(10, 999)}{rng.choice(letters)}{rng.choice(letters)}",
            f"{letter}-{two} {rng.randint(1, 999)}",
            f"{two} {rng.randint(1, 99)} {rng.choice(letters)}",
            f"{rng.randint(10, 99)}-{two}",
            f"{two}{letter}{rng.randint(1, 9)}",
            f"{two}{letter} {rng.randint(10, 99)}{two}",
            f"{letter}{rng.randint(1, 9)}{rng.choice(letters)}",
            f"{_signed(rng, letters)}{rng.randint(1, 99)}",
            f"{_signed(rng, letters)}-{rng.randint(1, 99)}",
            f"{two}{letter}{rng.randint(100, 999)}{two}",
        )
    )


def _signed(rng: random.Random, letters: str) -> str:
    """Three to five letters, as a word in capitals or none."""
    if letters is _LETTERS and rng.random() < 0.6:
        return rng.choice((pseudo_word(rng), rng.choice(RARE)))[: rng.randint(3, 5)].upper()
    return "".join(rng.choices(letters, k=rng.randint(3, 4)))


def word(rng: random.Random) -> str:
    """A word that is to be copied: rare, everyday or made up, at times two, or a name of its own."""
    kind = rng.random()
    if kind < 0.12:
        return rng.choice((pseudo_word(rng), pseudo_word(rng), rng.choice(RARE))).capitalize()
    if kind < 0.34:
        return rng.choice(RARE)
    if kind < 0.62:
        return pseudo_word(rng)
    if kind < 0.76:
        return rng.choice(lexicon.UNKNOWN_OBJECTS)
    if kind < 0.84:
        return rng.choice(lexicon.UNKNOWN_PLACES)
    if kind < 0.9:
        return f"{rng.choice(lexicon.ADJECTIVES)} {rng.choice(RARE)}"
    if kind < 0.95:
        return f"{rng.choice(RARE)}-{rng.randint(1, 9)}"
    return f"{pseudo_word(rng)} {rng.choice(RARE)}"


def person(rng: random.Random) -> str:
    """A first or last name, half of them made up."""
    name = rng.choice(lexicon.NAMES) if rng.random() < 0.45 else (pseudo_word(rng) + rng.choice("aeiou")).capitalize()
    return name if rng.random() < 0.8 else name.lower()


def title(rng: random.Random) -> str:
    """Words as of a book, a song or a scene: each begins with a capital letter, and a number may stand among them."""
    if rng.random() < 0.25:
        first, last = rng.choice((word(rng), rng.choice(RARE))).title(), rng.choice(lexicon.ADJECTIVES).title()
        return f"{first} {rng.randint(1, 40)}" + (f" {last}" if rng.random() < 0.4 else "")
    words = [
        rng.choice((word(rng), rng.choice(RARE), rng.choice(lexicon.ADJECTIVES))) for _ in range(rng.choice((2, 2, 3)))
    ]
    return " ".join(words).title() if rng.random() < 0.8 else " ".join(words)


def address(rng: random.Random) -> str:
    """A street with its number."""
    way = rng.choice(("Road", "Street", "Lane", "Avenue", "Square", "Way", "Gate", "Hill"))
    return f"{rng.randint(1, 99)} {rng.choice(RARE).title()} {way}"


def _copied(rng: random.Random, name: str) -> str:
    if name in _PEOPLE_NAMES:
        full = rng.random() < 0.25
        return f"{person(rng).title()} {pseudo_word(rng).title()}" if full else person(rng)
    kind = rng.random()
    if name in ("address", "street"):
        return address(rng)
    if name in ("title", "name", "label", "song", "message", "playlist", "note", "topic") and kind > 0.65:
        return title(rng)
    if name in (
        "code",
        "key",
        "password",
        "tag",
        "tube",
        "postcode",
        "shelfmark",
        "plate",
        "vehicle",
        "card",
        "sample",
        "bay",
        "bench",
        "rack",
        "slot",
        "order",
        "pallet",
    ):
        return code(rng) if kind < 0.75 else word(rng)
    return code(rng) if kind < 0.25 else person(rng) if kind < 0.33 else word(rng)


def _spoken(rng: random.Random, value: float) -> str:
    if value == int(value) and rng.random() < 0.5:
        return cardinal(int(value), hyphen=rng.random() < 0.4, and_=rng.random() < 0.5)
    return digits(value)


def _measured(rng: random.Random, *, optional: bool) -> Parameter:
    return measured(rng, rng.choice(UNITS), optional=optional)


def measured(rng: random.Random, row: tuple[Any, ...], *, optional: bool) -> Parameter:
    """A parameter that is an amount of a row of ``UNITS``."""
    stem, ending, units, largest, before = row
    whole = rng.random() < 0.5
    name = f"{stem}_{ending}" if stem else ending
    if stem and rng.random() < 0.1:
        name, units = stem, units[:1]

    fractions = [one for one in FRACTIONS.get(ending, ()) if not whole or one[1] == int(one[1])]

    def give(rng: random.Random) -> Given:
        if stem in COURSES and rng.random() < 0.5:
            point = rng.choice(list(_COMPASS))
            return Given(_COMPASS[point], f"{rng.choice(('', 'due ', 'to the '))}{point}")
        if fractions and name == f"{stem}_{ending}".strip("_") and rng.random() < 0.15:
            words, share = rng.choice(fractions)
            lead = "" if ending == "percent" else rng.choice(before)
            return Given(share, f"{lead} {words}".strip())
        unit, factor = rng.choice(units) if rng.random() < 0.85 else units[0]
        round_one = rng.choice((5, 10)) if largest >= 50 else 1
        most = min(largest, 20) if factor > 1 else min(largest / factor, 900) if factor < 1 else largest
        said: float = rng.choice(
            (rng.randint(1, int(most)), max(1, rng.randint(1, int(most)) // round_one * round_one))
        )
        if unit in ("seconds", "minutes") and factor < 1:
            said = rng.choice((30, 45, 90, 15, 150, 75))
        if not whole and factor == 1 and rng.random() < 0.3:
            said = round(min(said, 20) + rng.choice((0.5, 0.5, 0.25, rng.randint(1, 9) / 10)), 2)
        if whole and (factor < 1 or factor != int(factor)):
            unit, factor, said = units[0][0], 1, rng.randint(1, largest)
        value = round(said * factor, 3)
        figure = _spoken(rng, said)
        words = (
            figure
            + ("" if unit == "%" or (len(unit) < 3 and figure[-1].isdigit() and rng.random() < 0.5) else " ")
            + unit
        )
        if said == 1 and unit.endswith("s") and len(unit) > 2:
            words = f"{rng.choice(('one', '1', 'an' if unit == 'hours' else 'a'))} {unit[:-1]}"
        lead = (
            rng.choice(before)
            if rng.random() < 0.85 or not stem
            else rng.choice((f"with {stem}", f"{stem}", f"{stem} of"))
        )
        return Given(int(value) if value == int(value) else value, f"{lead} {words.strip()}".strip())

    return Parameter(name, _schema("integer" if whole else "number", optional=optional), give, optional=optional)


def _counted(rng: random.Random, *, optional: bool) -> Parameter:
    name = rng.choice(COUNTS)

    def give(rng: random.Random) -> Given:
        n = rng.choice((2, 3, rng.randint(2, 5), rng.randint(2, 30)))
        forms = [
            f"{_spoken(rng, n)} times",
            f"{_spoken(rng, n)} {name if name not in ('count', 'repeats') else 'times'}",
        ]
        return Given(n, rng.choice([*forms, "twice"] if n == 2 else forms))

    return Parameter(name, _schema("integer", optional=optional), give, optional=optional)


def _numbered(rng: random.Random, *, optional: bool) -> Parameter:
    word = rng.choice(_NUMBERED)
    name = rng.choice((word, word, f"{word}_number", "number"))

    def give(rng: random.Random) -> Given:
        n = rng.choice((rng.randint(1, 9), rng.randint(1, 20), rng.randint(1, 150)))
        return Given(
            n,
            f"{rng.choice(('', 'to', 'on', 'at', 'in', 'for'))} {word} {rng.choice(('', '', 'number'))} {_spoken(rng, n)}",
        )

    return Parameter(name, _schema("integer", optional=optional), give, optional=optional)


def _object(rng: random.Random, *, optional: bool) -> Parameter:
    name = rng.choice(_OBJECT_NAMES)
    kind = rng.choice((name, name, f"{name}_id", f"{name}_name"))

    def give(rng: random.Random) -> Given:
        said = _copied(rng, name)
        lead = rng.choice(("", "", name, f"the {name}", f"{name} number" if said[-1].isdigit() else f"the {name}"))
        if not lead and said.islower():
            lead = rng.choice(("the", "", "a", "my"))
        return Given(said, f"{lead} {said}", (said,))

    return Parameter(kind, _schema("string", optional=False), give, "object")


_SPOTS: Final = frozenset("bay station shelf zone dock rack lab ward bench gate bed field slot room".split())
"""Words that stand before or after the name of a place: bay 4, the north bay."""


def _target(rng: random.Random, *, optional: bool) -> Parameter:
    name, before = rng.choice(_TARGET_NAMES)
    word_of = name.partition("_")[0]

    def give(rng: random.Random) -> Given:
        lead = rng.choice(before.split("|"))
        if rng.random() < 0.12 and name not in _PEOPLE_NAMES:
            other = rng.choice([one for one in _NUMBERED if one != word_of])
            said = f"{other} {rng.randint(1, 30)}"
            return Given(said, f"{lead} {said}", (said,))
        said = _copied(rng, name) if rng.random() < 0.85 or name in _PEOPLE_NAMES else str(rng.randint(1, 60))
        if word_of in _SPOTS and (rng.random() < 0.5 or said.isdigit()):
            shown = (
                f"the {said} {word_of}"
                if said.islower() and " " not in said and rng.random() < 0.4
                else f"{word_of} {said}"
            )
            return Given(said, f"{lead} {shown}", (said,))
        the = rng.choice(("the ", "")) if said.islower() and name not in _PEOPLE_NAMES else ""
        return Given(said, f"{lead} {the}{said}", (said,))

    return Parameter(name, _schema("string", optional=optional), give, optional=optional)


def _label(rng: random.Random, *, optional: bool) -> Parameter:
    name, before = rng.choice(_LABEL_NAMES)

    def give(rng: random.Random) -> Given:
        said = rng.choice(lexicon.COLORS) if name == "color" and rng.random() < 0.7 else _copied(rng, name)
        return Given(said, f"{rng.choice(before.split('|'))} {said}", (said,))

    return Parameter(name, _schema("string", optional=optional), give, optional=optional)


def _enum(rng: random.Random, *, optional: bool) -> Parameter:
    family = rng.choice(_ENUMS)
    some = rng.sample(family, rng.randint(2, min(4, len(family)))) if len(family) > 2 else list(family)
    others = [one for one in family if one not in some]
    name = rng.choice(_ENUM_NAMES)

    def said(rng: random.Random, value: str) -> str:
        shown = value.replace("_", " ")
        return rng.choice(
            (shown, shown, f"to {shown}", f"in {shown} {name}", f"with {shown} {name}", f"{name} {shown}", f"on {shown}", f"{shown} {name}")
        )  # fmt: skip

    def give(rng: random.Random) -> Given:
        value = rng.choice(some)
        return Given(value, said(rng, value))

    def wrong(rng: random.Random) -> str:
        return said(rng, rng.choice(others) if others and rng.random() < 0.8 else pseudo_word(rng))

    schema = _schema("string", optional=optional)
    (schema["anyOf"][0] if "anyOf" in schema else schema)["enum"] = some
    return Parameter(name, schema, give, optional=optional, wrong=wrong)


def _flag(rng: random.Random, *, optional: bool) -> Parameter:
    name, default, words = rng.choice(_FLAGS)
    schema = {"type": "boolean", "default": default}
    return Parameter(name, schema, lambda rng: Given(not default, rng.choice(words.split("|"))), "flag", True)


def _noun_flag(rng: random.Random, *, optional: bool) -> Parameter:
    noun, default = rng.choice(_FLAG_NOUNS), rng.choice((True, False, None))
    name = rng.choice((noun, noun, noun, f"with_{noun}", f"use_{noun}", f"add_{noun}"))

    def give(rng: random.Random) -> Given:
        value = rng.random() < 0.5 if default is None or rng.random() < 0.25 else not default
        without = ("no {}", "no {}", "without {}", "without any {}", "but no {}", "leave out the {}", "skip the {}", "{} off", "minus the {}")  # fmt: skip
        shape = rng.choice(("with {}", "with {}", "and {}", "{} please", "use {}", "add {}", "plus {}") if value else without)  # fmt: skip
        return Given(value, shape.format(noun))

    schema = {"type": "boolean"} if default is None else {"type": "boolean", "default": default}
    return Parameter(name, schema, give, "flag", default is not None)


def _choice(rng: random.Random, *, optional: bool) -> Parameter:
    """A thing out of a few that are listed, as on a menu."""
    name = rng.choice((*_OBJECT_NAMES, "product", "dish", "material", "sort", "recipe", "variety"))
    pool = rng.choice((RARE, RARE, lexicon.UNKNOWN_OBJECTS, _FLAG_NOUNS))
    menu = list(dict.fromkeys(rng.choices(pool, k=rng.randint(3, 6))))

    def said(rng: random.Random, value: str) -> str:
        return rng.choice(("the {0}", "a {0}", "{0}", "{0}", "some {0}", "one {0}", f"the {{0}} {name}")).format(value)

    def give(rng: random.Random) -> Given:
        value = rng.choice(menu)
        return Given(value, said(rng, value))

    def wrong(rng: random.Random) -> str:
        return said(rng, rng.choice([one for one in pool if one not in menu]))

    return Parameter(name, {"type": "string", "enum": menu}, give, "object", wrong=wrong)


def of_side(rng: random.Random, thing: str) -> Parameter:
    """A parameter that tells one of a few like things by its place or kind: the upper sensor."""
    values = rng.choice(_SIDES).split()

    def give(rng: random.Random) -> Given:
        value = rng.choice(values)
        return Given(
            value, f"{rng.choice(('the', 'the', 'the', ''))} {value} {rng.choice((thing, thing, thing, 'one'))}"
        )

    name = rng.choice(("which", "position", "side", thing.replace(" ", "_"), f"{thing.replace(' ', '_')}_name"))
    return Parameter(name, {"type": "string", "enum": values}, give, "object")


def of_object(rng: random.Random) -> Parameter:
    """A parameter that is a thing by its name or code, or one of a few that are listed."""
    return rng.choice((_object, _object, _choice))(rng, optional=False)


def _list(rng: random.Random, *, optional: bool) -> Parameter:
    noun = rng.choice(
        (*_NUMBERED, "buoy", "pallet", "bench", "plant", "pot", "valve", "parcel", "lamp", "sensor", "code", "marker")
    )
    plural = f"{noun}es" if noun.endswith(("ch", "x", "s")) else f"{noun[:-1]}ies" if noun[-2:] == "ry" else f"{noun}s"
    whole = rng.random() < 0.45
    name = rng.choice((plural, plural, "numbers" if whole else "names", "ids", f"{noun}_list"))

    def give(rng: random.Random) -> Given:
        count = rng.choice((1, 2, 2, 3, 3, 4))
        values = list(
            {
                (rng.randint(1, rng.choice((9, 30))) if whole else code(rng) if rng.random() < 0.6 else word(rng)): 0
                for _ in range(count)
            }
        )
        shown = [_spoken(rng, one) if whole else one for one in values]
        lead = rng.choice((plural, plural, f"the {plural}", "")) if len(values) > 1 else noun
        text = ", ".join(shown[:-1]) + rng.choice((" and ", " and ", ", ")) + shown[-1] if len(shown) > 1 else shown[0]
        return Given(values, f"{lead} {text}", () if whole else tuple(values))

    schema = {"type": "array", "items": {"type": "integer" if whole else "string"}}
    return Parameter(name, schema, give, "object")


def of_thing(rng: random.Random, thing: str) -> Parameter:
    """A parameter that tells one of several things apart: bed 4, the north bed."""
    name = rng.choice(("{}", "{}", "{}_id", "{}_name", "name", "which")).format(thing.replace(" ", "_"))
    whole = rng.random() < 0.25

    def give(rng: random.Random) -> Given:
        if whole:
            n = rng.choice((rng.randint(1, 9), rng.randint(1, 40)))
            return Given(n, f"{thing} {rng.choice(('', '', 'number'))} {_spoken(rng, n)}")
        said = code(rng) if rng.random() < 0.5 else word(rng)
        if said.islower() and rng.random() < 0.6:
            return Given(said, f"{rng.choice(('the', 'the', 'my', ''))} {said} {thing}", (said,))
        return Given(said, f"{rng.choice(('', '', 'the'))} {thing} {said}", (said,))

    return Parameter(name, {"type": "integer" if whole else "string"}, give, "object")


def of_person(rng: random.Random) -> Parameter:
    """A parameter that is somebody's name."""
    name = rng.choice(("name", "person", "who", "user", "recipient", "employee", "patient", "contact"))
    title = rng.choice(
        ("", "", "nurse", "doctor", "captain", "mister", "professor", "my friend", "colleague", "technician")
    )

    def give(rng: random.Random) -> Given:
        said = person(rng)
        return Given(said, f"{title if rng.random() < 0.6 else ''} {said}", (said,))

    return Parameter(name, {"type": "string"}, give, "object")


def of_goal(rng: random.Random) -> Parameter:
    """A parameter that is where to go: a numbered place or a name."""
    return rng.choice((_numbered, _target, _target))(rng, optional=False)


def of_setting(rng: random.Random) -> Parameter:
    """A parameter to which something is set: a measure, a bare number, a choice, or on and off."""
    kind = rng.random()
    if kind < 0.4:
        return _measured(rng, optional=False)
    if kind < 0.65:
        return _enum(rng, optional=False)
    if kind < 0.8:
        name = rng.choice(("level", "value", "amount", "strength", "volume", "brightness", "power", "setting"))
        whole = rng.choice(("integer", "number"))

        def number(rng: random.Random) -> Given:
            n = rng.choice((rng.randint(0, 10), rng.randint(0, 100)))
            return Given(n, f"{rng.choice(('to', 'to', 'at', '', f'to {name}', name))} {_spoken(rng, n)}")

        return Parameter(name, {"type": whole}, number)
    name = rng.choice(("on", "enabled", "active", "state", "power", "running"))

    def switched(rng: random.Random) -> Given:
        on = rng.random() < 0.5
        return Given(on, "on" if on else "off")

    return Parameter(name, {"type": "boolean"}, switched)


def _schema(kind: str, *, optional: bool) -> dict[str, Any]:
    return {"anyOf": [{"type": kind}, {"type": "null"}], "default": None} if optional else {"type": kind}


_MAKERS: Final[tuple[tuple[Callable[..., Parameter], float], ...]] = (
    (_measured, 3.0), (_counted, 0.7), (_numbered, 1.3), (_object, 2.2), (_target, 2.4), (_label, 1.8), (_enum, 2.0), (_flag, 1.2), (_noun_flag, 1.3), (_list, 2.4), (_choice, 1.4),
)  # fmt: skip
_AT_MOST: Final = {_measured: 3, _flag: 2, _target: 2}


def draw_parameters(rng: random.Random, count: int, first: Parameter | None = None) -> list[Parameter]:
    """Draws so many parameters of different names, the required ones first; at most one is the object of the verb.

    Args:
        first: One that is among them.
    """
    drawn: list[Parameter] = [first] if first is not None else []
    used: dict[Any, int] = {}
    while len(drawn) < count:
        maker = rng.choices([one for one, _ in _MAKERS], [weight for _, weight in _MAKERS])[0]
        if used.get(maker, 0) >= _AT_MOST.get(maker, 1):
            continue
        made = maker(rng, optional=bool(drawn) and rng.random() < 0.35)
        clash = any(one.name == made.name or (one.role == made.role == "object") for one in drawn)
        words = set(made.name.split("_"))
        if clash or any(words & set(one.name.split("_")) for one in drawn):
            continue
        used[maker] = used.get(maker, 0) + 1
        drawn.append(made)
    return sorted(drawn, key=lambda one: one.optional)
