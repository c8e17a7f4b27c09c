"""Several calls in few words: lists that leave the verb out, questions in a row, "whatever it says", "X goes first".

"lights off in the office, bath and garage", "battery, time and location", "left, forward two, right". Rows of words and
their calls; {l} is a list, {b} a command in front of it or behind it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import lexicon
import orders
from inflection import begins_with_verb, inflected
from results import Call
from slots import KINDS
from utterances import STATES, Speaker, Utterance

from edgeagent.train import cardinal, number

_STATUS: Final[dict[str, tuple[str, ...]]] = {
    "get_battery": (
        "battery", "the battery", "battery level", "your battery level", "the charge", "your charge", "battery status", "your battery status", "power level", "charge level",
        "the state of your battery", "your remaining power", "battery percentage",
    ),
    "get_time": ("time", "the time", "the time", "the current time", "the time of day", "clock time", "the exact time"),
    "get_location": ("location", "your location", "position", "your position", "your whereabouts", "current room", "the room you are in", "your current position", "where you are"),
    "scan": ("obstacles", "nearby obstacles", "the nearest obstacle", "a scan", "scan result", "what you see", "what is in front of you", "the space around you"),
}  # fmt: skip
"""Nouns for what a tool reports."""
_ASKED: Final[dict[str, tuple[str, ...]]] = {
    "get_battery": (
        "how full is your battery", "how is the battery doing", "how much charge is left", "what does the battery say", "are you low on power", "how much juice is left", "do you need charging",
    ),
    "get_time": ("what time is it", "what's the time", "how late is it", "what does the clock say"),
    "get_location": ("where are you", "which room are you in", "what's your position", "what room is that", "where did you end up"),
    "scan": ("what do you see", "is anything in your way", "what is in front of you", "any obstacles", "how much room is there", "is the way clear"),
}  # fmt: skip
_TOLD: Final[dict[str, tuple[str, ...]]] = {
    "get_battery": ("how full your battery is", "how much charge is left", "what your battery says", "how the battery is doing", "if you are low on power"),
    "get_time": ("what time it is", "how late it is", "what the time is", "what the clock says"),
    "get_location": ("where you are", "which room you are in", "what your position is", "where you ended up"),
    "scan": ("what you see", "what is in front of you", "if anything is in the way", "how much room there is", "whether the way is clear"),
}  # fmt: skip
_REPORTING: Final = (
    "{l}", "{l}", "{l} please", "report {l}", "give me {l}", "tell me {l}", "i need {l}", "i want to know {l}", "read out {l}", "check {l}", "{l}, please", "let me have {l}", "i'd like {l}", "status report: {l}",
    "quick check: {l}", "quickly: {l}", "can you give me {l}", "could you report {l}", "may i have {l}", "please report {l}", "state {l}", "update me on {l}", "let me know {l}", "{l}, quick", "all i need is {l}",
    "tell me all about {l}", "i'd be interested in {l}", "could i get {l}", "{l} if you can", "report back with {l}", "run me through {l}",
)  # fmt: skip
_TELLING: Final = (
    "tell me {l}", "tell me {l}", "say {l}", "let me know {l}", "could you tell me {l}", "i'd like to know {l}", "i want to know {l}", "report {l}", "please tell me {l}", "can you say {l}", "do you know {l}",
    "i wonder {l}", "would you tell me {l}", "any idea {l}",
)  # fmt: skip
_LIGHTS: Final = (
    "lights {s} in {l}", "lights {s} in {l}", "lights {s}: {l}", "light {s} in {l}", "turn {s} the lights in {l}", "switch {s} the lights in {l}", "turn the lights {s} in {l}", "turn {s} {l} lights", "{l} lights {s}",
    "{l}: lights {s}", "{l}, lights {s} please", "i want the lights {s} in {l}", "the lights in {l} {s} please", "put the lights {s} in {l}", "get the lights {s} in {l}", "please switch the lights {s} in {l}",
    "could you turn the lights {s} in {l}", "in {l}, lights {s}", "switch {s} {l}", "lamps {s} in {l}", "have the lights {s} in {l}", "in {l} switch the lights {s}", "i'd like the lights in {l} {s}",
)  # fmt: skip
_FETCHING: Final = (
    "fetch {l}", "get me {l}", "bring me {l}", "pick up {l}", "grab {l}", "collect {l}", "gather {l}", "go and get {l}", "could you fetch {l}", "i need {l}", "please get {l}", "go pick up {l}", "i'd like {l}", "hand me {l}", "find and bring me {l}",
    "would you grab {l}", "take {l}",
)  # fmt: skip
_VISITING: Final = (
    "go to {l}", "drive to {l}", "visit {l}", "stop by {l}", "head to {l}", "do a round: {l}", "tour: {l}", "your route: {l}", "make a trip to {l}", "go and see {l}", "pass by {l}", "patrol {l}", "check in at {l}", "drive by {l}", "rounds please: {l}",
)  # fmt: skip
_LOOKING: Final = (
    "look {l}",
    "look {l}",
    "glance {l}",
    "have a look {l}",
    "please look {l}",
    "could you look {l}",
    "peek {l}",
    "turn your eyes {l}",
    "point the camera {l}",
    "camera {l}",
)
_TIMING: Final = (
    "set timers for {l}", "timers for {l}", "set timers of {l}", "start timers for {l}", "timers: {l}", "i need timers for {l}", "set me timers for {l}", "please set timers for {l}", "one timer each for {l}", "remind me in {l}",
    "alarms in {l}", "give me alarms after {l}", "could you set timers for {l}",
)  # fmt: skip
_MOVING: Final = (
    "{l}", "{l}", "{l}", "{l} please", "now {l}", "go {l}", "move like this: {l}", "first {l}", "okay, {l}", "do this: {l}", "here is the route: {l}", "route: {l}", "steps: {l}", "{l}, got it", "the moves are {l}", "i want this: {l}", "please do {l}",
)  # fmt: skip
_AFTER_COMMAND: Final = (
    "{b}, then {l}", "{b} and then {l}", "{b}. then {l}", "{b}, after that {l}", "{b}. afterwards {l}", "{b}, and once you are done {l}", "{b}; next {l}", "first {b}, then {l}", "{b}, finally {l}", "{b} and finally {l}", "{b}. and then {l}",
)  # fmt: skip
_BEFORE_COMMAND: Final = ("{l}, then {b}", "{l} and then {b}", "{l}. then {b}", "{l}, after that {b}", "first {l}, then {b}", "{l}, and finally {b}", "{l}. once that's done, {b}", "{l}; then {b}")  # fmt: skip
_REPORTED: Final = (
    "{b}, then report {n}", "{b} and then report {n}", "{b} and report {n}", "{b}, then tell me {n}", "{b} and give me {n}", "{b}, and then i want {n}", "{b}. then {n} please", "{b}, then check {n}", "{b} and let me know {n}",
    "{b} and when you're done report {n}", "{b}, and report {n} when finished", "{b}, followed by {n}", "{b}, and after that {n}", "{b} then {n}", "{b}, and do tell me {n} afterwards", "{b}, last of all {n}",
)  # fmt: skip
_FIRST: Final = (
    "{b}, but {n} first", "{b}, but {n} goes first", "{b}, but {n} comes first", "{n} first, then {b}", "first {n}, then {b}", "{n}, then {b}", "before you {b}, {n} please", "before you {b}, i want {n}", "before you {b} give me {n}",
    "tell me {n} before you {b}", "report {n} before you {b}", "{b}, only report {n} first", "{b}, but not before you have told me {n}", "{b} after telling me {n}", "{b} after you report {n}", "after a report of {n}, {b}",
    "start with {n}, then {b}", "check {n}, then {b}", "check {n} and {b}", "{b}, but let me have {n} first", "{b} once you have told me {n}", "once i know {n}, {b}", "give me {n} prior to anything else, then {b}", "{b}, having reported {n}",
    "report {n} and, whatever it says, {b}", "check {n}, and whatever it says, {b}", "{n} please, and whatever the answer, {b}", "tell me {n}, and in any case {b}", "tell me {n} and either way {b}", "check {n} and {b} regardless",
    "report {n}, and no matter what it is, {b}", "whatever {n} may be, report it and then {b}", "tell me {n} and {b} whatever the answer",
)  # fmt: skip
"""A report {n} and then a command {b}, in any order of words."""
_GOES_FIRST: Final = (
    "{b}, but {ing} comes first", "{b}, but {ing} goes first", "{b}, though {ing} goes first", "{b}, {ing} goes first though", "start by {ing}, then {b}", "begin by {ing} and then {b}", "once {ing} is done, {b}", "once {ing} is out of the way, {b}",
    "as soon as {ing} is done, {b}", "when {ing} is done, {b}", "{ing} first, then {b}", "first {ing}, then {b}", "{b} once {ing} is done", "{b} as soon as {ing} is finished", "{b}, but start by {ing}", "{b}, but begin by {ing}",
    "prior to anything else comes {ing}, then {b}", "{ing} is the first thing, then {b}", "{ing} has priority, then {b}", "{b} only after {ing}", "not until after {ing}, {b}",
    "once you've {done}, {b}", "once you have {done}, {b}", "as soon as you've {done}, {b}", "{b} once you've {done}", "{b}, but not before you've {done}", "{b}, but not until you have {done}", "when you've {done}, please {b}",
    "the moment you have {done}, {b}", "with that said: {b}, but only once you've {done}", "don't {b} until you've {done}", "don't {b} before you have {done}", "wait until you've {done}, then {b}", "after you're through with {ing}, {b}",
    "finish {ing}, then {b}", "get {ing} over with, then {b}", "{b} when you're done {ing}", "{b} after you're finished {ing}", "done {ing}? then {b}", "{b} straight after {ing}", "{b} the moment you are done {ing}",
)  # fmt: skip
"""The command that is inflected is done first."""


_THREE: Final = (
    "after {ai} and before {ci}, {b}", "{b} after {ai} and before {ci}", "{b}, but only after {ai} and before {ci}", "before {ci} and after {ai}, {b}", "{b} between {ai} and {ci}", "in between {ai} and {ci}, {b}", "after {ai}, {b}, and then {c}",
    "after {ai} {b} and then {c}", "before {ci}, {b}, but {a} first", "{c}, but first {a} and then {b}", "{c}, but first {a} and {b}", "{c} last, {a} first and {b} in between", "prior to {ci}, {a} and {b}", "prior to {ci}, {a} and then {b}",
    "before {ci}, {a} and {b}", "before {ci}, {a}, then {b}", "{a} and {b} prior to {ci}", "{a}, then {b}, all before {ci}", "once you've {ad}, {b}, and then {c}", "once you've {ad} and {bd}, {c}", "{c} once you've {ad} and {bd}", "{c} after {ai} and {bi}",
    "after {ai} and {bi}, {c}", "after you have {ad} and {bd}, {c}", "start by {ai}, then {b} and finish by {ci}", "start by {ai}, {b} next and {c} last", "begin by {ai}, continue by {bi} and end by {ci}", "{c} when you're done {ai} and {bi}",
    "{a}, then {b}, and leave {ci} for last", "{a}, {b}, and finish up by {ci}", "first {a}, second {b}, third {c}", "one, {a}; two, {b}; three, {c}", "1. {a} 2. {b} 3. {c}", "{a}, next {b}, lastly {c}", "{a}; once that is done {b}; when that's done too, {c}",
    "before you {c}, {a} and then {b}", "before you {c}, i'd like you to {a} and {b}", "{a}, and before you {c}, {b}", "{a} and, before {ci}, {b}", "{a}, {b} after that, and {c} at the very end", "{c} at the very end, {a} first, then {b}",
    "{c}, but not before you've {ad} and {bd}", "{c}, but not until you have {ad} and {bd}", "don't {c} until you've {ad} and {bd}", "having {ad} and {bd}, {c}", "having {ad}, {b} and then {c}", "as soon as you've {ad}, {b}; after that {c}",
)  # fmt: skip
"""Three commands in the order of doing {a}, {b}, {c}; with i as a gerund, with d as a participle."""
_STATES: Final = (
    "once {s}, {b}", "once {s}, {b}", "once {s} {b}", "as soon as {s}, {b}", "{b} once {s}", "{b} as soon as {s}", "{b}, but only once {s}", "{b}, but not before {s}", "{b}, but not until {s}", "the moment {s}, {b}", "when {s}, {b}",
    "after {s}, {b}", "{b} after {s}", "don't {b} until {s}", "don't {b} before {s}", "only {b} once {s}", "as soon as {s}, please {b}", "once {s}, could you {b}", "{b} when {s}", "{b}, though only when {s}", "{b} the moment {s}",
    "immediately after {s}, {b}", "wait until {s}, then {b}", "could you {b} once {s}", "once {s} i want you to {b}", "please {b} as soon as {s}", "{b}, please, once {s}", "and once {s}, {b}",
)  # fmt: skip
"""What is so once the first command is done, and the second one."""


def _joined(rng: random.Random, items: list[str]) -> str:
    """Words in a row, as people write lists."""
    last = rng.choice((" and ", " and ", " and ", ", ", ", and ", " then ", ", then ", " plus ", " & "))
    if rng.random() < 0.12:
        return rng.choice((" and ", " then ", " ", "; ")).join(items)
    return ", ".join(items[:-1]) + last + items[-1]


def _count(rng: random.Random) -> int:
    return rng.choices((2, 3, 4), (0.3, 0.5, 0.2))[0]


def _said(rng: random.Random, vocabulary: lexicon.Vocabulary, count: int, articles: tuple[str, ...] = ("", "the", "the", "my")) -> tuple[list[str], list[str]]:  # fmt: skip
    """So many names of a vocabulary, as said and as they are; the article is there for all, for the first, or for none."""
    names = rng.sample(list(vocabulary), count)
    said = [rng.choice(vocabulary[name]) if vocabulary[name] and rng.random() < 0.35 else name for name in names]
    article = rng.choice(articles)
    only_first = rng.random() < 0.3
    return [word if not article or (at and only_first) else f"{article} {word}" for at, word in enumerate(said)], names


def _lights(rng: random.Random) -> Utterance:
    count = _count(rng)
    said, names = _said(rng, lexicon.ROOMS, count, ("", "the", "the"))
    on = rng.random() < 0.5
    state = "on" if on else "off"
    if rng.random() < 0.2:
        at = rng.randint(1, count - 1)
        one, two = (_joined(rng, part) if len(part) > 1 else part[0] for part in (said[:at], said[at:]))
        other = "off" if on else "on"
        text = rng.choice(
            ("lights {s} in {a}, {o} in {b}", "lights {s} in {a} and {o} in {b}", "turn the lights {s} in {a} but {o} in {b}", "{a} lights {s}, {b} lights {o}", "lights {s} in {a} but {o} in {b}", "in {a} lights {s}, in {b} {o}")
        ).format(s=state, o=other, a=one, b=two)  # fmt: skip
        states = [on] * at + [not on] * (count - at)
    else:
        text, states = rng.choice(_LIGHTS).format(s=state, l=_joined(rng, said)), [on] * count
    return _listed(text, [Call("set_light", {"place": name, "on": s}) for name, s in zip(names, states, strict=True)])


def _status(rng: random.Random) -> Utterance:
    tools = rng.sample(list(_STATUS), rng.choices((2, 3, 4), (0.45, 0.45, 0.1))[0])
    kind = rng.random()
    if kind < 0.6:
        text = rng.choice(_REPORTING).format(l=_joined(rng, [rng.choice(_STATUS[tool]) for tool in tools]))
    elif kind < 0.8:
        text = rng.choice(_TELLING).format(l=_joined(rng, [rng.choice(_TOLD[tool]) for tool in tools]))
    elif rng.random() < 0.5:
        text = " ".join(f"{rng.choice(_ASKED[tool])}?" for tool in tools)
    else:
        text = _joined(rng, [rng.choice(_ASKED[tool]) for tool in tools])
    return _listed(text, [Call(tool, {}) for tool in tools])


def _fetch(rng: random.Random) -> Utterance:
    said, names = _said(rng, lexicon.OBJECTS, rng.choice((2, 2, 3)))
    return _listed(rng.choice(_FETCHING).format(l=_joined(rng, said)), [Call("pick_up", {"object": n}) for n in names])


def _deliver(rng: random.Random) -> Utterance:
    """Things and where they go, the verb only once."""
    count = rng.choice((2, 2, 2, 3))
    said, names = _said(rng, lexicon.OBJECTS, count, ("the", "the", "my"))
    goals, places = _said(rng, lexicon.ROOMS, count, ("the",))
    goals = [goal if goal.startswith("the ") else f"the {goal}" for goal in goals]
    joint = rng.choice((" to ", " to ", " into "))
    text = rng.choice(("bring {l}", "take {l}", "carry {l}", "please take {l}", "{l}", "move {l}", "could you bring {l}"))  # fmt: skip
    text = text.format(l=_joined(rng, [s + joint + g for s, g in zip(said, goals, strict=True)]))
    calls = [
        [Call("pick_up", {"object": n}), Call("put_down", {"place": p})] for n, p in zip(names, places, strict=True)
    ]
    return _listed(text, [call for both in calls for call in both])


def _visit(rng: random.Random) -> Utterance:
    said, names = _said(rng, lexicon.ROOMS | lexicon.LANDMARKS, _count(rng), ("the", "the", "my", ""))
    return _listed(rng.choice(_VISITING).format(l=_joined(rng, said)), [Call("go_to", {"place": n}) for n in names])


def _look(rng: random.Random) -> Utterance:
    ways = rng.sample(("left", "right", "up", "down"), rng.choice((2, 2, 3, 4)))
    shape = rng.choice(("{}", "{}", "to the {}", "to your {}"))
    said = [shape.format(way) if way in ("left", "right") else way for way in ways]
    return _listed(rng.choice(_LOOKING).format(l=_joined(rng, said)), [Call("look", {"direction": w}) for w in ways])


def _timers(rng: random.Random) -> Utterance:
    unit, scale = rng.choice((("minutes", 60), ("minutes", 60), ("seconds", 1), ("hours", 3600)))
    numbers = rng.sample(
        range(2, 13) if unit == "hours" else (*range(2, 21), 25, 30, 40, 45, 50), rng.choice((2, 2, 3))
    )
    words = rng.random() < 0.5
    figures = [cardinal(n) if words else str(n) for n in numbers]
    if rng.random() < 0.4:
        figures = [f"{figure} {unit}" for figure in figures]
        listed = _joined(rng, figures)
    else:
        listed = f"{', '.join(figures[:-1])} and {figures[-1]} {unit}"
    return _listed(
        rng.choice(_TIMING).format(l=listed), [Call("set_timer", {"duration_s": n * scale}) for n in numbers]
    )


def _step(rng: random.Random) -> tuple[str, Call]:
    """A move in one to four words."""
    kind = rng.random()
    if kind < 0.34:
        side = rng.choice((1, -1))
        way = rng.choice(("left", "left", "to the left", "a left", "counterclockwise") if side > 0 else ("right", "right", "to the right", "a right", "clockwise"))  # fmt: skip
        if "clock" in way or rng.random() < 0.3:
            turned = KINDS["angle"](rng)
            bare = way.removeprefix("a ")
            said = rng.choice((f"{bare} {turned.surface}", f"{turned.surface} {bare}"))
            return said, Call("turn", {"angle_deg": number(side * turned.value)})
        return way, Call("turn", {"angle_deg": 90 * side})
    if kind < 0.4:
        said, degrees = rng.choice((("about turn", 180), ("turn around", 180), ("a half turn", 180), ("a full turn", 360), ("a full circle", 360)))  # fmt: skip
        return said, Call("turn", {"angle_deg": degrees})
    forward = rng.random() < 0.6
    way = rng.choice(("forward", "forward", "forwards", "ahead", "straight ahead") if forward else ("back", "back", "backwards"))  # fmt: skip
    sign = 1 if forward else -1
    if rng.random() < 0.45:
        n = rng.choice((2, 3, 4, 5, 6, 8, 10))
        return f"{way} {cardinal(n) if rng.random() < 0.7 else n}", Call("drive", {"distance_m": sign * n})
    if rng.random() < 0.12:
        return f"{way} a little", Call("drive", {"distance_m": 0.5 * sign})
    gone = KINDS["dist"](rng)
    said = rng.choice((f"{way} {gone.surface}", f"{gone.surface} {way}"))
    return said, Call("drive", {"distance_m": number(sign * gone.value)})


def _moves(rng: random.Random) -> Utterance:
    steps: list[tuple[str, Call]] = []
    while len(steps) < _count(rng):
        steps.append(_step(rng))
    joint = rng.choice((", ", ", ", ", then ", " then ", "; ", ". "))
    said = [said for said, _ in steps]
    text = joint.join(said) if rng.random() < 0.6 else _joined(rng, said)
    return _listed(rng.choice(_MOVING).format(l=text), [call for _, call in steps])


def _listed(text: str, calls: list[Call]) -> Utterance:
    return Utterance(text, tuple(calls), tag="list", bare=False)


_KINDS: Final[tuple[tuple[Callable[[random.Random], Utterance], float], ...]] = (
    (_lights, 0.24), (_status, 0.26), (_fetch, 0.08), (_deliver, 0.08), (_visit, 0.1), (_look, 0.06), (_timers, 0.06), (_moves, 0.18),
)  # fmt: skip
_IMPERATIVE: Final = (_lights, _status, _moves, _look)
"""Lists of which the plain ones may follow another command."""


def listed(speaker: Speaker) -> Utterance:
    """A list, alone or beside another command; a report beside a command; two commands and which goes first."""
    while not orders.once_each((said := _draw(speaker)).calls) or _looks_and_tells(said.calls):
        pass
    return said


def _looks_and_tells(calls: tuple[Call, ...]) -> bool:
    """True for "look left and tell me what you see", which is one call."""
    names = [call.name for call in calls]
    return "look" in names and "scan" in names[names.index("look") :]


def _draw(speaker: Speaker) -> Utterance:
    rng = speaker.rng
    kind = rng.random()
    if kind < 0.12:
        return _mixed(speaker)
    if kind < 0.5:
        return rng.choices([draw for draw, _ in _KINDS], [share for _, share in _KINDS])[0](rng)
    if kind < 0.62:
        one, beside = rng.choice(_IMPERATIVE)(rng), _verbal(speaker)
        if one.text.rstrip("?") != one.text or one.text.split(" ", 1)[0] in ("first", "okay,", "now", "here"):
            return one
        before = rng.random() < 0.6
        text = rng.choice(_AFTER_COMMAND if before else _BEFORE_COMMAND).format(b=beside.text, l=one.text)
        return _listed(text, [*beside.calls, *one.calls] if before else [*one.calls, *beside.calls])
    if kind < 0.74:
        return _reporting(speaker)
    if kind < 0.8:
        return _three(speaker)
    if kind < 0.88:
        state, then = speaker.draw(STATES), _verbal(speaker)
        text, calls = rng.choice(_STATES).format(s=state.text(), b=then.text), state.calls() + then.calls
        return _ending(rng, text, calls) if rng.random() < 0.2 else Utterance(text, calls, tag="order", bare=False)
    while (forms := inflected((first := _verbal(speaker)).text)) is None:
        pass
    second = _verbal(speaker)
    text = rng.choice(_GOES_FIRST).format(ing=forms[0], done=forms[1], b=second.text)
    if rng.random() < 0.3:
        return _ending(rng, text, first.calls + second.calls)
    return Utterance(text, first.calls + second.calls, tag="order", bare=False)


def _short(rng: random.Random) -> Utterance:
    """A command in the fewest words, as it stands inside a list."""
    kind = rng.random()
    if kind < 0.35:
        tool = rng.choice(list(_STATUS))
        shape = rng.choice(("{}", "{}", "report {}", "check {}", "give me {}", "tell me {}"))
        return _listed(shape.format(rng.choice(_STATUS[tool])), [Call(tool, {})])
    if kind < 0.6:
        (said,), (room,) = _said(rng, lexicon.ROOMS, 1, ("", "", "the"))
        on = rng.random() < 0.5
        shape = rng.choice(("{r} light {s}", "{r} lights {s}", "light {s} in {r}", "lights {s} in {r}", "{r} lamp {s}"))
        return _listed(shape.format(r=said, s="on" if on else "off"), [Call("set_light", {"place": room, "on": on})])
    if kind < 0.75:
        (said,), (place,) = _said(rng, lexicon.ROOMS | lexicon.LANDMARKS, 1, ("the", "the", ""))
        return _listed(
            rng.choice(("to {}", "over to {}", "off to {}", "go to {}")).format(said), [Call("go_to", {"place": place})]
        )
    if kind < 0.9:
        said, call = _step(rng)
        return _listed(said, [call])
    return _listed(*rng.choice((("dock", [Call("dock", {})]), ("charge", [Call("dock", {})]), ("scan", [Call("scan", {})]), ("stop", [Call("stop", {})]), ("look up", [Call("look", {"direction": "up"})]))))  # fmt: skip


def _mixed(speaker: Speaker) -> Utterance:
    """Three or four commands, some of them in the fewest words: "kitchen light off, battery, then to the office and scan"."""
    rng = speaker.rng
    parts = [_short(rng) if rng.random() < 0.6 else _verbal(speaker) for _ in range(rng.choice((2, 3, 3, 4)))]
    text = orders.joined(rng, [part.text for part in parts])
    return _listed(text, [call for part in parts for call in part.calls])


def _three(speaker: Speaker) -> Utterance:
    rng = speaker.rng
    words: dict[str, str] = {}
    calls: list[Call] = []
    for name in "abc":
        while (forms := inflected((part := _verbal(speaker)).text)) is None:
            pass
        words |= {name: part.text, f"{name}i": forms[0], f"{name}d": forms[1]}
        calls += part.calls
    return Utterance(rng.choice(_THREE).format(**words), tuple(calls), tag="order", bare=False)


def _ending(rng: random.Random, text: str, calls: tuple[Call, ...]) -> Utterance:
    """The same with a report at the end."""
    shape = rng.choice(("{b}, then report {n}", "{b} and report {n}", "{b}. then report {n}", "{b}, finally tell me {n}", "{b}. after that i want {n}"))  # fmt: skip
    tool, noun = _noun(rng, shape)
    return Utterance(shape.format(b=text, n=noun), (*calls, Call(tool, {})), tag="order", bare=False)


def _noun(rng: random.Random, frame: str) -> tuple[str, str]:
    """A tool and what it reports, as a noun, or where the frame allows it as a clause."""
    tool = rng.choice(list(_STATUS))
    clause = rng.random() < 0.5 and any(
        verb in frame for verb in ("report {", "tell me {", "told me {", "know {", "telling me {")
    )
    words = _TOLD[tool] if clause else _STATUS[tool]
    return tool, rng.choice([w for w in words if w not in ("battery", "time", "location", "position", "clock time", "current room", "scan result", "the charge")])  # fmt: skip


def _reporting(speaker: Speaker) -> Utterance:
    rng = speaker.rng
    after = rng.random() < 0.5
    frame = rng.choice(_REPORTED if after else _FIRST)
    tool, noun = _noun(rng, frame)
    beside = _verbal(speaker)
    calls = list(beside.calls)
    text = beside.text
    if rng.random() < 0.3:
        more = _verbal(speaker)
        text, calls = f"{text}{rng.choice((' and ', ', then ', ' and then '))}{more.text}", [*calls, *more.calls]
    reported = Call(tool, {})
    return _listed(frame.format(b=text, n=noun), [*calls, reported] if after else [reported, *calls])


def _verbal(speaker: Speaker) -> Utterance:
    """A command with its verb in front, that is no report itself."""
    while True:
        one = speaker.imperative()
        said = Utterance(one.text(), one.calls())
        if begins_with_verb(said.text) and not {call.name for call in said.calls} & set(_STATUS):
            return said
