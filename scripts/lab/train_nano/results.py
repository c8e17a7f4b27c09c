"""What tools report and how the assistant tells it: one Outcome per call.

The contents follow the table in conventions.md; replies copy every number from the result.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import lexicon
import reports

from edgeagent.train import digits


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its arguments."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tool's report and its telling.

    told is a verb phrase in the past ("drove 2 meters forward", said after "I") or, when sentence is set, a whole sentence.
    undone is what was not even tried ("drive forward 2 meters"), said after "I did not".
    """

    content: str
    told: str
    ok: bool
    sentence: bool = False
    undone: str = ""


_OF_A_BASE: Final = 0.15
"""Share of reports as ``base_tools`` has them: measured to centimetres, by dead reckoning or by time, in volts."""
_HOUSE_WORDS: Final = 0.93
"""Share of reports of the house robot's tools in its own words; the others are as another robot might say it."""
_MOTION: Final = ("drive", "turn", "go_to", "pick_up", "put_down", "follow", "dock")
_LATCHED: Final = ("emergency stop", "stop word", "the base does not answer", "bumper hit", "safety_stop", "tilted")
_OBSTACLES: Final = (
    "wall",
    "sofa",
    "dining table",
    "desk",
    "fridge",
    "person",
    "door",
    "chair",
    "front door",
    "box",
    "cat",
    "shelf",
)


def _metres(value: float) -> str:
    return f"{digits(value)} meter{'' if value == 1 else 's'}"


def _at(place: str) -> str:
    return f"in the {place}" if place in lexicon.ROOMS else f"at the {place}"


def _gap(rng: random.Random, limit: float = 6) -> str:
    steps = 100 if rng.random() < _OF_A_BASE else 10
    return digits(rng.randint(0, max(1, int(limit * steps))) / steps)


def _measured(rng: random.Random, value: float, off: float) -> tuple[float, str]:
    """What a base covered of what it was told to, and the words behind it."""
    if rng.random() >= _OF_A_BASE:
        return value, ""
    covered = round(value * rng.uniform(1 - off, 1 + off), 2)
    return covered, rng.choice(("", "", " by time, not measured"))


def _blocked(rng: random.Random, limit: float = 6) -> str:
    obstacle = rng.choice(_OBSTACLES)
    article = "a" if obstacle in ("wall", "chair", "door", "box", "shelf") else "the"
    if rng.random() < _OF_A_BASE:
        article, obstacle = "an", "obstacle"
    return f"blocked by {article} {obstacle} after {_gap(rng, limit)} m"


def _drive(rng: random.Random, a: dict[str, Any]) -> Outcome:
    metres, how = _measured(rng, abs(a["distance_m"]), 0.02)
    way = "forward" if a["distance_m"] >= 0 else "back"
    return Outcome(f"drove {way} {digits(metres)} m{how}", f"drove {way} {_metres(metres)}{how}", True)


def _turn(rng: random.Random, a: dict[str, Any]) -> Outcome:
    way = "left" if a["angle_deg"] >= 0 else "right"
    degrees, how = _measured(rng, abs(a["angle_deg"]), 0.01)
    text = f"turned {way} {digits(round(degrees) if how else degrees)} degrees{how}"
    return Outcome(text, text, True)


def _go_to(rng: random.Random, a: dict[str, Any]) -> Outcome:
    where = f"at the {a['place']} by dead reckoning" if rng.random() < _OF_A_BASE else _at(a["place"])
    return Outcome(f"arrived {where}", f"am {where}", True)


def _battery(rng: random.Random, a: dict[str, Any]) -> Outcome:
    if rng.random() < _OF_A_BASE:
        volts = f"{rng.uniform(5, 30):.1f} volts"
        return Outcome(f"battery at {volts}", f"My battery is at {volts}", True, sentence=True)
    level, charging = rng.randint(3, 100), rng.random() < 0.25
    tail = ", charging" if charging else ""
    told = f"My battery is at {level} percent" + (" and charging" if charging else "")
    return Outcome(f"battery at {level} percent{tail}", told, True, sentence=True)


def _location(rng: random.Random, a: dict[str, Any]) -> Outcome:
    room = rng.choice(list(lexicon.ROOMS))
    if rng.random() < _OF_A_BASE:
        near, far = rng.choice((*lexicon.ROOMS, *lexicon.LANDMARKS)), rng.randint(2, 80) / 10
        if rng.random() < 0.3:
            return Outcome(f"at the {near} by dead reckoning", f"am at the {near} by dead reckoning", True)
        text = f"in the {near} area, {{}} from the {near}"
        return Outcome(text.format(f"{digits(far)} m"), f"am {text.format(_metres(far))}", True)
    if rng.random() < 0.35:
        return Outcome(f"in the {room}", f"am in the {room}", True)
    mark, gap = rng.choice((*lexicon.LANDMARKS, "charging dock")), rng.randint(2, 40) / 10
    return Outcome(
        f"in the {room}, {digits(gap)} m from the {mark}", f"am in the {room}, {_metres(gap)} from the {mark}", True
    )


def _scan(rng: random.Random, a: dict[str, Any]) -> Outcome:
    what, gap = rng.choice(_OBSTACLES), rng.randint(1, 50) / 10
    if rng.random() < _OF_A_BASE:
        what, gap = "object", rng.randint(1, 500) / 100
        if rng.random() < 0.2:
            return Outcome("no obstacle", "There is no obstacle", True, sentence=True)
    side, told = rng.choice(
        (("ahead", "ahead"), ("left", "on the left"), ("right", "on the right"), ("behind", "behind me"))
    )
    return Outcome(
        f"nearest obstacle: {what}, {digits(gap)} m {side}",
        f"The nearest obstacle is the {what}, {_metres(gap)} {told}",
        True,
        sentence=True,
    )


def _pick_up(rng: random.Random, a: dict[str, Any]) -> Outcome:
    room = rng.choice(list(lexicon.ROOMS))
    return Outcome(f"picked up the {a['object']} in the {room}", f"picked up the {a['object']} in the {room}", True)


def _put_down(rng: random.Random, a: dict[str, Any]) -> Outcome:
    return put_down(rng.choice(list(lexicon.OBJECTS)), a["place"])


def put_down(thing: str, place: str) -> Outcome:
    """The report of a thing that was put down."""
    text = f"put the {thing} down {_at(place)}"
    return Outcome(text, text, True)


def _light(rng: random.Random, a: dict[str, Any]) -> Outcome:
    state = "on" if a["on"] else "off"
    return Outcome(f"{a['place']} light {state}", f"The {a['place']} light is {state}", True, sentence=True)


def _timer(rng: random.Random, a: dict[str, Any]) -> Outcome:
    n = a["duration_s"]
    return Outcome(f"timer set for {n} seconds", f"set a timer for {n} second{'' if n == 1 else 's'}", True)


def _time(rng: random.Random, a: dict[str, Any]) -> Outcome:
    clock = f"{rng.randint(0, 23)}:{rng.randint(0, 59):02d}"
    return Outcome(f"it is {clock}", f"It is {clock}", True, sentence=True)


def _follow(rng: random.Random, a: dict[str, Any]) -> Outcome:
    if rng.random() < 0.6:
        text = f"followed you to the {rng.choice(list(lexicon.ROOMS))}"
        return Outcome(text, text, True)
    n = rng.randint(5, 60)
    return Outcome(f"followed you for {n} s", f"followed you for {n} seconds", True)


_OK: Final[dict[str, Callable[[random.Random, dict[str, Any]], Outcome]]] = {
    "drive": _drive,
    "turn": _turn,
    "go_to": _go_to,
    "stop": lambda rng, a: Outcome("stopped", "stopped", True),
    "get_battery": _battery,
    "get_location": _location,
    "scan": _scan,
    "pick_up": _pick_up,
    "put_down": _put_down,
    "set_light": _light,
    "set_timer": _timer,
    "get_time": _time,
    "follow": _follow,
    "dock": lambda rng, a: Outcome("docked and charging", "am docked and charging", True),
    "look": lambda rng, a: Outcome(f"looking {a['direction']}", f"am looking {a['direction']}", True),
}


def _aim(call: Call) -> str:
    """What the call was for, after "I could not" """
    a = call.arguments
    match call.name:
        case "drive":
            return f"drive {'forward' if a['distance_m'] >= 0 else 'back'} {_metres(abs(a['distance_m']))}"
        case "turn":
            return f"turn {'left' if a['angle_deg'] >= 0 else 'right'}"
        case "go_to":
            return f"reach the {a['place']}"
        case "pick_up":
            return f"pick up the {a['object']}"
        case "put_down":
            return f"put it down {_at(a['place'])}"
        case "set_light":
            return f"switch the {a['place']} light"
        case "set_timer":
            return "set the timer"
        case "follow":
            return "follow you"
        case "dock":
            return "dock"
        case "look":
            return f"look {a['direction']}"
        case "stop":
            return "stop"
        case "scan":
            return "scan"
        case "get_battery":
            return "read the battery"
        case "get_location":
            return "tell where I am"
        case "get_time":
            return "read the time"
    return call.name.replace("_", " ")


def _error(rng: random.Random, call: Call) -> str:
    """Draws why a call failed: reasons of the house robot, of the loop, or of a builder's own robot."""
    kind = rng.random()
    if kind < 0.45 or (kind < 0.7 and call.name not in _OK):
        return reports.reason(rng)
    return rng.choice(_house_reasons(rng, call)) if kind < 0.8 else _loop_reason(rng, call)


def _house_reasons(rng: random.Random, call: Call) -> tuple[str, ...]:
    other = rng.choice(list(lexicon.OBJECTS))
    place, thing = rng.choice(lexicon.UNKNOWN_PLACES), rng.choice(lexicon.UNKNOWN_OBJECTS)
    most = rng.choice(("50", "50", str(rng.randint(1, 200)), f"{rng.randint(1, 99) / 10:g}"))
    least = rng.choice(("0.01", "0.1", "0.5", "1", str(rng.randint(1, 20))))
    way = (
        *((_blocked(rng, abs(call.arguments.get("distance_m", 6))),) * 3),
        f"gave up after {rng.choice((60, 90, 120, 150))} s",
        f"stopped after {_gap(rng)} m",
        f"the battery ran out after {_gap(rng)} m",
        f"base is still busy with {rng.choice(_MOTION)}",
        f"motion is off until it is re-armed: {rng.choice(_LATCHED)}",
        f"stopped for safety ({rng.choice(_LATCHED)}); motion waits until it is re-armed",
        "the battery is empty",
        "motor fault",
        "there is no way there",
    )
    asked = str(call.arguments.get("place", place))
    specific: dict[str, tuple[str, ...]] = {
        "drive": (
            *((f"the distance must be at most {most} m",) * 3),
            *((f"the distance must be at least {least} m",) * 2),
            f"it is {most} m away, and a drive ends after {least} m",
        ),
        "turn": (
            f"the angle must be at most {rng.choice((360, 720, 3600))} degrees",
            f"the angle must be at least {least} degrees",
            f"stopped after {rng.randint(1, 180)} degrees: the wheel slips",
        ),
        "go_to": (f"there is no place called {place}", f"there is no place called {asked}", "the place has no name"),
        "pick_up": (
            *((f"the gripper already holds the {other}",) * 3),
            *((f"there is no object called {thing}",) * 2),
        ),
        "put_down": (*(("the gripper is empty",) * 3), f"there is no place called {place}"),
        "set_light": (f"there is no light called {place}", f"there is no light called {asked}", "the bulb is broken"),
        "set_timer": (
            "a timer needs at least 1 second",
            f"a timer is at most {rng.choice((604800, 3600, 86400))} seconds",
            f"{rng.choice((5, 10, 100))} timers are running already",
            "a timer needs a whole number of seconds",
        ),
        "follow": (*((f"lost you after {rng.randint(2, 59)} s",) * 4), "nobody is there"),
    }
    mine = specific.get(call.name, ())
    if call.name not in _MOTION:
        return mine or ("the sensor does not answer", "not available", f"no reply after {rng.randint(1, 30)} s")
    return (*mine, *mine, *way)


def _loop_reason(rng: random.Random, call: Call) -> str:
    """Draws a reason of the loop or of a hook: texts of edgeagent.tools, edgeagent.agent and edgeagent.hooks."""
    argument = next(iter(call.arguments), "place")
    return rng.choice(
        (
            f"{call.name} took longer than {rng.randint(1, 120)} s",
            f"timed out after {rng.randint(5, 120)} s",
            "timed out",
            f"invalid arguments: {argument}: missing",
            f"invalid arguments: {argument}: should be a number, not {rng.choice(lexicon.COMMON_WORDS)}",
            f"{call.name} is blocked on this robot; do not call it again",
            f"{call.name} is not among the tools that are allowed on this robot",
            "the user did not allow it",
            "not available",
            f"unknown tool {call.name}",
            f"{call.name} was called with these arguments before",
        )
    )


def _interrupted(rng: random.Random, call: Call) -> Outcome:
    why = rng.choice(("", "", "", "stop word: ", "hush: ", "replaced by stop(): ", "/stop: "))
    match call.name:
        case "drive":
            goal = abs(call.arguments["distance_m"])
            done = digits(round(rng.random() * goal, 1))
            way = "drove" if call.arguments["distance_m"] >= 0 else "drove back"
            return Outcome(
                f"interrupted: {why}{way} {done} m of {digits(goal)} m",
                f"was stopped after {done} of {digits(goal)} meters",
                False,
            )
        case "turn":
            goal = abs(call.arguments["angle_deg"])
            done = str(rng.randint(0, int(goal)))
            way = "left" if call.arguments["angle_deg"] >= 0 else "right"
            return Outcome(
                f"interrupted: {why}turned {way} {done} of {digits(goal)} degrees",
                f"was stopped after {done} of {digits(goal)} degrees",
                False,
            )
    text = rng.choice(
        (
            "stopped",
            f"stopped after {_gap(rng)} m",
            f"stopped after {_gap(rng)} m",
            f"stopped {_at(rng.choice(list(lexicon.ROOMS)))}",
            "cancelled",
            reports.reason(rng),
        )
    )
    return Outcome(f"interrupted: {why}{text}", f"could not {_aim(call)}: {text}", False)


def _not_run(rng: random.Random, call: Call, after: str) -> Outcome:
    """A call that never began because ``after``, the tool of an earlier one, failed; or for a reason of its own."""
    aim = _aim(call)
    if after:
        why = rng.choice(
            (
                *((f"{after} did not succeed, so {call.name} was not done",) * 6),
                f"{after} was denied",
                "an earlier call failed",
                "stopped before it began",
                "the run was ended before it began",
                "skipped: the user said something else meanwhile",
            )
        )
        return Outcome(f"not run: {why}", f"did not {aim}", False, undone=aim)
    why = rng.choice(
        (
            "the user did not allow it",
            "stopped before it began",
            "another call of the reply does not fit its tool",
            "the request was handed to another agent",
            reports.reason(rng),
            reports.reason(rng),
        )
    )
    return Outcome(f"not run: {why}", f"did not {aim}: {why}", False)


def outcome(rng: random.Random, call: Call, *, failed: str = "", after: str = "") -> Outcome:
    """Draws what a call of the house robot (or of any other) reports.

    Args:
        failed: "" for success, else "error", "interrupted" or "not run".
        after: Name of the tool whose failure kept this call from running.
    """
    if failed == "error":
        text = _error(rng, call)
        return Outcome(f"error: {text}", f"could not {_aim(call)}: {text}", False)
    if failed == "interrupted":
        return _interrupted(rng, call)
    if failed == "not run":
        return _not_run(rng, call, after)
    if call.name in _OK and rng.random() < _HOUSE_WORDS:
        return _OK[call.name](rng, call.arguments)
    return _foreign(rng, call)


def moves(call: Call) -> bool:
    """True for a call that is not run after a failed motion."""
    return call.name in _MOTION


def _foreign(rng: random.Random, call: Call) -> Outcome:
    """The report of a builder's own tool; his words are copied."""
    words = call.name.replace("_", " ")
    values = ", ".join(str(v) for v in call.arguments.values())
    n = rng.randint(0, 100)
    if rng.random() < 0.65:
        content, told = reports.value(rng)
        return Outcome(content, told, True, sentence=True)
    options = (
        ("ok", "Done"),
        ("done", "Done"),
        ("", "Done"),
        (f"{words}: {n}", f"{words.capitalize()}: {n}"),
        (f"{n} percent", f"It is {n} percent"),
        (f"{words} done: {values}" if values else f"{words} done", f"{words.capitalize()} is done"),
    )
    content, told = rng.choice(options)
    return Outcome(content, told, True, sentence=True)


def tell(outcomes: list[Outcome]) -> str:
    """The reply to some results, in their order: what was done, what failed and why, what was left undone."""
    sentences: list[str] = []
    phrases: list[str] = []
    undone: list[str] = []

    def flush() -> None:
        if phrases:
            sentences.append(f"I {_joined(phrases, 'and')}")
        if undone:
            sentences.append(f"I did not {_joined(undone, 'or')}")
        phrases.clear()
        undone.clear()

    for one in outcomes:
        if not (undone if one.undone else phrases and one.ok and not one.sentence):
            flush()
        if one.undone:
            undone.append(one.undone)
        elif one.sentence:
            if one.told not in sentences:
                sentences.append(one.told)
        else:
            phrases.append(one.told)
            if not one.ok:
                flush()
    flush()
    return " ".join(s + "." for s in sentences)


def _joined(phrases: list[str], word: str) -> str:
    head, last = list(dict.fromkeys(phrases[:-1])), phrases[-1]
    return f"{', '.join(head)} {word} {last}" if head else last
