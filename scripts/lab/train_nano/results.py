"""What tools report and how the assistant tells it: one Outcome per call.

The contents follow the table in conventions.md; replies copy every number from the result.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import lexicon

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
    """

    content: str
    told: str
    ok: bool
    sentence: bool = False


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
    return digits(rng.randint(0, max(1, int(limit * 10))) / 10)


def _blocked(rng: random.Random, limit: float = 6) -> str:
    obstacle = rng.choice(_OBSTACLES)
    article = "a" if obstacle in ("wall", "chair", "door", "box", "shelf") else "the"
    return f"blocked by {article} {obstacle} after {_gap(rng, limit)} m"


def _drive(rng: random.Random, a: dict[str, Any]) -> Outcome:
    metres = abs(a["distance_m"])
    way = "forward" if a["distance_m"] >= 0 else "back"
    return Outcome(f"drove {way} {digits(metres)} m", f"drove {way} {_metres(metres)}", True)


def _turn(rng: random.Random, a: dict[str, Any]) -> Outcome:
    way = "left" if a["angle_deg"] >= 0 else "right"
    text = f"turned {way} {digits(abs(a['angle_deg']))} degrees"
    return Outcome(text, text, True)


def _go_to(rng: random.Random, a: dict[str, Any]) -> Outcome:
    return Outcome(f"arrived {_at(a['place'])}", f"am {_at(a['place'])}", True)


def _battery(rng: random.Random, a: dict[str, Any]) -> Outcome:
    level, charging = rng.randint(3, 100), rng.random() < 0.25
    tail = ", charging" if charging else ""
    told = f"My battery is at {level} percent" + (" and charging" if charging else "")
    return Outcome(f"battery at {level} percent{tail}", told, True, sentence=True)


def _location(rng: random.Random, a: dict[str, Any]) -> Outcome:
    room = rng.choice(list(lexicon.ROOMS))
    if rng.random() < 0.35:
        return Outcome(f"in the {room}", f"am in the {room}", True)
    mark, gap = rng.choice((*lexicon.LANDMARKS, "charging dock")), rng.randint(2, 40) / 10
    return Outcome(
        f"in the {room}, {digits(gap)} m from the {mark}", f"am in the {room}, {_metres(gap)} from the {mark}", True
    )


def _scan(rng: random.Random, a: dict[str, Any]) -> Outcome:
    what, gap = rng.choice(_OBSTACLES), rng.randint(1, 50) / 10
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
    text = f"put the {rng.choice(list(lexicon.OBJECTS))} down {_at(a['place'])}"
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
    return "do that"


def _error(rng: random.Random, call: Call) -> str:
    other = rng.choice(list(lexicon.OBJECTS))
    specific: dict[str, tuple[str, ...]] = {
        "drive": (_blocked(rng, abs(call.arguments.get("distance_m", 2))),) * 4,
        "go_to": (
            _blocked(rng),
            _blocked(rng),
            _blocked(rng),
            f"there is no place called {rng.choice(lexicon.UNKNOWN_PLACES)}",
            "there is no way there",
        ),
        "dock": (_blocked(rng),) * 3,
        "pick_up": (f"the gripper already holds the {other}",) * 3
        + (_blocked(rng), f"there is no object called {rng.choice(lexicon.UNKNOWN_OBJECTS)}"),
        "put_down": ("the gripper is empty",) * 3 + (_blocked(rng),),
        "set_light": (f"there is no light called {rng.choice(lexicon.UNKNOWN_PLACES)}", "the light does not answer"),
        "set_timer": ("a timer needs at least 1 second",) * 2,
        "follow": (f"lost you after {rng.randint(2, 59)} s",) * 3,
    }
    generic = (
        "timed out",
        f"timed out after {rng.randint(5, 120)} s",
        "the sensor does not answer",
        "not available",
        "motor fault",
        "the battery is empty",
    )
    return rng.choice((*specific.get(call.name, ()), rng.choice(generic)))


def _interrupted(rng: random.Random, call: Call) -> Outcome:
    match call.name:
        case "drive":
            goal = abs(call.arguments["distance_m"])
            done = digits(round(rng.random() * goal, 1))
            way = "drove" if call.arguments["distance_m"] >= 0 else "drove back"
            return Outcome(
                f"interrupted: {way} {done} m of {digits(goal)} m",
                f"was stopped after {done} of {digits(goal)} meters",
                False,
            )
        case "turn":
            goal = abs(call.arguments["angle_deg"])
            done = str(rng.randint(0, int(goal)))
            way = "left" if call.arguments["angle_deg"] >= 0 else "right"
            return Outcome(
                f"interrupted: turned {way} {done} of {digits(goal)} degrees",
                f"was stopped after {done} of {digits(goal)} degrees",
                False,
            )
    text = rng.choice(
        ("stopped", f"stopped after {_gap(rng)} m", f"stopped {_at(rng.choice(list(lexicon.ROOMS)))}", "cancelled")
    )
    return Outcome(f"interrupted: {text}", f"could not {_aim(call)}: I was interrupted", False)


def outcome(rng: random.Random, call: Call, *, failed: str = "") -> Outcome:
    """Draws what a call of the house robot (or of any other) reports.

    Args:
        failed: "" for success, else "error", "interrupted" or "not run".
    """
    if failed == "error":
        text = _error(rng, call)
        return Outcome(f"error: {text}", f"could not {_aim(call)}: {text}", False)
    if failed == "interrupted":
        return _interrupted(rng, call)
    if failed == "not run":
        text = rng.choice(
            (
                "an earlier call failed",
                "cancelled",
                "stopped",
                "interrupted",
                "the call before it failed",
                "the user stopped it",
            )
        )
        return Outcome(f"not run: {text}", f"did not {_aim(call)}", False)
    if call.name in _OK:
        return _OK[call.name](rng, call.arguments)
    return _foreign(rng, call)


def _foreign(rng: random.Random, call: Call) -> Outcome:
    words = call.name.replace("_", " ")
    values = ", ".join(str(v) for v in call.arguments.values())
    n = rng.randint(0, 100)
    options = (
        ("ok", "Done", True),
        ("done", "Done", True),
        ("", "Done", True),
        (f"{words}: {n}", f"{words.capitalize()}: {n}", True),
        (f"{n} percent", f"It is {n} percent", True),
        (f"{words} done" + (f": {values}" if values else ""), f"{words.capitalize()} is done", True),
    )
    content, told, sentence = rng.choice(options)
    return Outcome(content, told, True, sentence)


def tell(outcomes: list[Outcome]) -> str:
    """The reply to some results: failures first, then what was done, in order."""
    ordered = [o for o in outcomes if not o.ok] + [o for o in outcomes if o.ok]
    sentences: list[str] = []
    phrases: list[str] = []

    def flush() -> None:
        if phrases:
            head, last = phrases[:-1], phrases[-1]
            sentences.append("I " + (", ".join(head) + " and " + last if head else last))
            phrases.clear()

    for one in ordered:
        if one.sentence:
            flush()
            if one.told not in sentences:
                sentences.append(one.told)
        else:
            phrases.append(one.told)
            if not one.ok:
                flush()
    flush()
    return " ".join(s + "." for s in sentences)
