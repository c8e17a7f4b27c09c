"""Later turns that do again what was done, with a part left out or changed, or that correct it in a sentence of its own.

Rows of phrases; {n} is what one call is called, {v} a value, {w} a word for a direction or a state. Each function returns
None where nothing of its kind can be said.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Final

import lexicon
import referring
from corrections import contrary
from referring import Past, said, told
from results import Call
from slots import KINDS
from utterances import Utterance

from edgeagent.train import cardinal, number

_CALLED: Final = {
    "drive": ("the drive", "the driving", "the driving part"), "turn": ("the turn", "the turning", "the rotation"), "go_to": ("the trip", "the way to the {place}", "the {place}"),
    "set_light": ("the light", "the lamp", "the light part", "the lights"), "set_timer": ("the timer", "the alarm", "the timer"), "get_battery": ("the battery", "the charge", "the battery level"),
    "scan": ("the scan", "the scanning"), "get_time": ("the time", "the clock"), "look": ("the look", "the looking"), "dock": ("the charging", "the docking"),
    "get_location": ("the position", "the location"), "follow": ("the following", "the following me"),
}  # fmt: skip
"""What a call is called later on."""
_WITHOUT: Final = (
    "the same again without {n}", "everything again except {n}", "all of that again but without {n}", "again, but leave out {n}", "again, just skip {n}", "do that again minus {n}", "all again, {n} not", "repeat everything but {n}",
    "once more, but not {n}", "the whole thing again, only without {n}", "same again, no need for {n}", "do it all again and leave {n} out", "all that once more, except for {n}", "repeat, {n} excepted", "again please, only drop {n}",
    "the same, but forget {n} this time", "that again without {n}, please", "everything once more apart from {n}", "do the lot again, but not {n}", "the rest of it again, without {n}", "again, but spare me {n}", "one more time, {n} you can leave out",
)  # fmt: skip
_BUT_AT: Final = ("everything again but the {o} thing", "all but the {o} one again", "again without the {o} one", "the same again, except the {o} part", "repeat all but the {o}", "skip the {o} one and do the rest again", "all of it again, only not the {o} one")  # fmt: skip
_FIRST_SOME: Final = ("the first {k} again", "do the first {k} again", "the first {k} things again", "only the first {k} once more", "repeat the first {k}", "just the first {k} again", "the first {k} again, not the rest")  # fmt: skip
_LAST_SOME: Final = ("the last {k} again", "do the last {k} again", "only the last {k} once more", "repeat the last {k} things", "just the last {k} again", "the last {k} parts again")  # fmt: skip
_WITH: Final = (
    "all that again but {v} this time", "the same again, only {v}", "again, but {v}", "same sequence, only {v}", "do it all again, this time {v}", "everything again, but {v}", "once more, just {v} now", "the whole thing again, with {v}", "repeat that, but {v}",
    "same again but make it {v}", "the same as before, only {v}", "that again, {v} this time", "identical, except {v}", "all of it once more, however {v}", "again like that, but now {v}", "do the same, but {v}", "one more time, with {v} instead",
)  # fmt: skip
_ELSEWHERE: Final = (
    "the same in {p}, but without {n}", "then {p}, the same without {n}", "now {p}, only leave out {n}", "do that in {p} too, but not {n}", "same for {p}, except {n}", "and {p}, but skip {n}", "likewise in {p}, without {n}", "repeat it in {p}, {n} not needed",
)  # fmt: skip
_AGAIN: Final = ("{n} again", "{n} once more", "and {n} again", "{n} again please", "now {n} again", "{n} a second time", "the same {b} again", "that {b} once more", "do {n} again", "repeat {n}", "{n} one more time", "once again {n}", "that same {b} a second time")  # fmt: skip
_EARLIER_VALUE: Final = (
    "make {n} {v}", "{n} again, but {v}", "change {n} to {v}", "better {n} for {v}", "{n} should be {v}", "{n} once more, {v} this time", "{n} rather {v}", "{n} was meant to be {v}", "about {n}: make it {v}", "hm, {n}, better {v}", "{n} to {v} please",
)  # fmt: skip
_EARLIER_FACTOR: Final = ("{n} again, but {f}", "better {n} {f}", "make {n} {f}", "{n} {f} please", "hm, {n} should be {f}", "{n} once more, only {f}", "now {n} {f}")  # fmt: skip
_LIGHT_EARLIER: Final = ("and the light {w} again", "the light {w} again", "that light {w} again", "the lamp {w} again", "now the light {w} again please", "and put the light {w} again", "you can turn that light {w} again", "oh, and the light {w} again")  # fmt: skip
_FACTORS: Final[tuple[tuple[float, tuple[str, ...]], ...]] = (
    (0.25, ("a quarter of that", "a quarter as {a}", "only a quarter of it", "one fourth of that", "a quarter of that {d}")), (0.5, ("half as {a}", "half that {d}", "half of that {d}", "only half of it", "half the {d}")),
    (1.5, ("one and a half times that", "half as much again", "one and a half times as {a}")), (2, ("twice as {a}", "twice that {d}", "double the {d}", "two times as {a}", "twice the {d}")),
    (3, ("three times as {a}", "three times that", "triple that", "thrice as {a}", "three times the {d}")), (4, ("four times as {a}", "four times that")), (10, ("ten times as {a}", "ten times that", "ten times the {d}")),
    (1 / 3, ("a third of that", "a third as {a}", "one third of that {d}")), (0.1, ("a tenth of that", "a tenth as {a}", "one tenth of it")),
)  # fmt: skip
_HOW: Final = {"drive": ("far", "distance"), "turn": ("far", "angle"), "set_timer": ("long", "time")}
_FACTOR: Final = ("{f}", "now {f}", "{f} please", "and {f}", "no, {f}", "{f} this time", "again, but {f}", "the same, only {f}", "rather {f}", "make it {f}", "once more, {f}", "let's try {f}", "hm, {f}", "{f} would be better", "then {f}")  # fmt: skip
_REVERSED: Final = {
    "drive": (", in reverse", ", but backwards", " in the other direction", ", backwards", " back", ", the other way"),
    "turn": (", the other way", " in the other direction", ", but the other way round", " back"),
}  # fmt: skip
_WRONG_SIDE: Final = (
    "wrong way, it should have been {w}", "no, I said {w}", "{w}, I said", "not {o}, {w}", "I said {w}, not {o}", "{w} I wanted to say", "oh no, I meant {w}", "that was the wrong direction, {w} please", "sorry, {w} it should be", "it should have been {w}",
    "{w}! not {o}!", "oops, {w}", "my mistake, {w}", "I meant the other way, {w}", "wrong direction. {w}", "no no, {w}", "ah, {w} was what I meant", "hm, no, {w}", "that's {o}, I wanted {w}", "not that way, {w}", "the other {w}", "{w} was what I asked for",
)  # fmt: skip
_WRONG_STATE: Final = (
    "oh dear, I wanted it {w}", "I wanted it {w}", "I said {w}", "{w}, I said", "not {o}, {w}", "no, {w}", "I meant {w}", "sorry, {w}", "it should be {w}", "no no, {w}", "{w}! not {o}", "oh, I meant {w}", "wrong, it should be {w}", "my mistake, {w} please",
    "I would rather have it {w}", "it was supposed to be {w}", "hm, better {w}", "that's {o}, I wanted {w}",
)  # fmt: skip
_WRONG_NAME: Final = (
    "not {o}, {v}", "{v} I wanted to say", "I said {v}, not {o}", "no, {v} I meant", "oh, I meant {v}, sorry", "wrong one, {v}", "it was {v} that I meant", "I didn't mean {o}, I meant {v}", "not there, {v}", "{v}, not {o}", "ah no, {v}", "I wanted {v}, not {o}",
    "{v}! I said {v}!", "that's not right, {v} please", "my mistake, {v}", "hm, {v} was what I meant", "sorry, it should be {v}", "oh dear, {v} it should have been", "no no no, {v}", "I misspoke, {v}", "pardon, {v}", "I meant to say {v}", "{v} is what I said",
)  # fmt: skip
_WRONG_THING: Final = (
    "not {o}, {v}", "ah no, it was {v} that I wanted there", "it was {v} that I meant", "I meant {v}, not {o}", "no, {v} should go there", "wrong one, I wanted {v} there", "{v} I meant, not {o}", "sorry, {v}, not {o}", "that was the wrong thing, {v} belongs there",
    "oh, I meant {v}", "no no, {v}", "{v}, I said", "I wanted to say {v}", "it should have been {v}",
)  # fmt: skip
_IN_THERE: Final = ("go in there", "now go there", "drive in there", "and go there yourself", "then drive there", "go there and wait for me", "drive in there and wait", "now drive into that room", "go into that room", "and now go there", "head over there", "go there too", "get in there", "go to that room")  # fmt: skip
_WHERE_LEFT: Final = (
    "go to where you left it", "go back to the {t}", "drive to where the {t} is", "go to the place where you put it", "go to the room where you left the {t}", "go where you brought it", "drive back to where you left that {t}", "return to the {t}",
    "go to where the {t} is now", "go back to the place where you put the {t}",
)  # fmt: skip
_BEFORE_PLACE: Final = (
    "return to where you were before {p}", "go back to where you were before {p}", "go to the place before {p}", "back to the place you came from before {p}", "drive back to where you had been before {p}", "to the place where you were before {p}, please",
    "go where you went before {p}", "back to the one before {p}",
)  # fmt: skip
_NEXT_ROOM: Final = ("then {p}, and put the light {w} in there", "now {p}, with the light {w}", "then {p} and turn the light {w} there", "{p} next, and switch the light {w} there", "and now {p}, light {w}", "after that {p}, and the light {w} as well", "now go on to {p} and turn the light {w}")  # fmt: skip
_AMOUNT_ASKED: Final = {
    "drive": ("how far did you go", "how far did you drive", "how far was that", "how many meters was that", "what distance was that", "how far have you come", "which way did you drive"),
    "turn": ("how far did you turn", "which way did you turn", "how much did you turn", "how many degrees was that", "which side did you turn to", "did you turn left or right"),
    "set_timer": ("how long is the timer", "how long did you set it for", "for how long is it set", "how many seconds did you set", "how long did I say"),
    "set_light": ("which light was that", "which one did you switch", "which one is it", "which room was that", "did you switch it on or off"),
    "go_to": ("where did you go", "where did I send you", "which place was that"),
    "look": ("where are you looking", "which way are you looking", "where did you look"),
}  # fmt: skip
_ORDINALS: Final = ("first", "second", "third", "fourth")
_KEYS: Final = {"drive": "distance_m", "turn": "angle_deg", "set_timer": "duration_s"}
_SLOTS: Final = {"drive": "dist", "turn": "angle", "set_timer": "duration"}
_WORDS: Final = {"drive": (("forward", "forwards", "ahead"), ("backwards", "back", "in reverse")), "turn": (("left", "to the left"), ("right", "to the right"))}  # fmt: skip
_NEAT: Final = 1e-6


def _called(rng: random.Random, call: Call) -> str:
    return rng.choice(_CALLED[call.name]).format(**call.arguments)


def _again(past: Past) -> tuple[Call, ...]:
    """Calls of the last turn, or of the last turns of one call each, that can be done again in part."""
    calls = past.calls if len(past.calls) > 1 else past.recent
    names = [call.name for call in calls]
    is_plain = all(name in _CALLED for name in names) and len(set(names)) == len(names)
    return calls if past.ok and is_plain and len(calls) > 1 else ()


def _left_out(rng: random.Random, past: Past) -> Utterance | None:
    """The same again without a part of it."""
    calls = _again(past)
    if not calls:
        return None
    kind, at = rng.random(), rng.randrange(len(calls))
    if kind < 0.6:
        rest = calls[:at] + calls[at + 1 :]
        return said(rng.choice(_WITHOUT).format(n=_called(rng, calls[at])), *rest)
    if kind < 0.72 or len(calls) == 2:
        name = "last" if at == len(calls) - 1 and rng.random() < 0.5 else _ORDINALS[at] if at < 4 else "last"
        at = len(calls) - 1 if name == "last" else at
        return said(rng.choice(_BUT_AT).format(o=name), *calls[:at], *calls[at + 1 :])
    some = rng.randint(2, len(calls) - 1)
    first = rng.random() < 0.6
    rows, chosen = (_FIRST_SOME, calls[:some]) if first else (_LAST_SOME, calls[-some:])
    return said(rng.choice(rows).format(k=cardinal(some)), *chosen)


def _value(rng: random.Random, call: Call) -> tuple[str, Call] | None:
    """Another value of a call, in its words, with the direction that it has."""
    if call.name in _KEYS:
        key = _KEYS[call.name]
        old = call.arguments[key]
        if call.name != "set_timer" and rng.random() < 0.3:
            word = rng.choice(_WORDS[call.name][old > 0])
            return word, Call(call.name, {key: number(-old)})
        drawn = KINDS[_SLOTS[call.name]](rng)
        value = float(drawn.value) if old > 0 else -float(drawn.value)
        return None if value == old else (drawn.surface, Call(call.name, {key: number(value)}))
    if call.name in ("go_to", "look"):
        key = "place" if call.name == "go_to" else "direction"
        drawn = KINDS["place" if key == "place" else "direction"](rng)
        if drawn.value == call.arguments[key]:
            return None
        return drawn.surface, Call(call.name, {key: drawn.value})
    return None


def _changed(rng: random.Random, past: Past) -> Utterance | None:
    """The same again, with one value of it changed."""
    calls = past.calls
    if len(calls) < 2 or not past.ok or any(call.name in ("pick_up", "put_down", "stop") for call in calls):
        return None
    names = [call.name for call in calls]
    at = rng.randrange(len(calls))
    if names.count(names[at]) > 1 or (names[at] == "go_to" and "set_light" in names):
        return None
    if names[at] == "set_light":
        on = not calls[at].arguments["on"]
        text, new = f"the light {'on' if on else 'off'}", replace(calls[at], arguments={**calls[at].arguments, "on": on})  # fmt: skip
    elif (found := _value(rng, calls[at])) is not None:
        text, new = found
    else:
        return None
    return said(rng.choice(_WITH).format(v=text), *calls[:at], new, *calls[at + 1 :])


def _elsewhere(rng: random.Random, past: Past) -> Utterance | None:
    """The same in another room, without a part of it."""
    calls = past.calls
    if not past.ok or len(calls) < 2 or calls[0].name != "go_to" or calls[0].arguments["place"] not in lexicon.ROOMS:
        return None
    rest = calls[1:]
    if any(call.name not in ("set_light", "scan", "get_time", "look", "get_battery", "turn") for call in rest):
        return None
    room = KINDS["room"](rng)
    if room.value == calls[0].arguments["place"] or len({call.name for call in rest}) < len(rest):
        return None
    at = rng.randrange(len(rest))
    kept = [replace(c, arguments={**c.arguments, "place": room.value}) if c.name == "set_light" else c for c in rest if c is not rest[at]]  # fmt: skip
    text = rng.choice(_ELSEWHERE).format(p=room.surface, n=_called(rng, rest[at]))
    return said(text, Call("go_to", {"place": room.value}), *kept)


def _earlier(rng: random.Random, past: Past) -> Utterance | None:
    """A call of an earlier turn, named by what it is."""
    if len(past.turns) < 2:
        return None
    recent = past.turns[-4:]
    at = rng.randrange(len(recent) - 1)
    if len(recent[at]) != 1 or recent[at][0].name not in _CALLED:
        return None
    call = recent[at][0]
    if any(other.name == call.name for turn in recent[at + 1 :] for other in turn) or call.name == "go_to":
        return None
    name = _called(rng, call)
    if call.name == "set_light":
        on = not call.arguments["on"]
        return said(rng.choice(_LIGHT_EARLIER).format(w="on" if on else "off"), replace(call, arguments={**call.arguments, "on": on}))  # fmt: skip
    kind = rng.random()
    if call.name in _KEYS and kind < 0.35:
        found = _value(rng, call)
        return None if found is None else said(rng.choice(_EARLIER_VALUE).format(n=name, v=found[0]), found[1])
    if call.name in _KEYS and kind < 0.6:
        share, text = _share(rng, call.name)
        new = _times(call, share)
        return None if new is None else said(rng.choice(_EARLIER_FACTOR).format(n=name, f=text), new)
    return said(rng.choice(_AGAIN).format(n=name, b=name.removeprefix("the ")), call)


def _share(rng: random.Random, tool: str) -> tuple[float, str]:
    share, rows = rng.choice(_FACTORS)
    how, what = _HOW[tool]
    return share, rng.choice(rows).format(a=rng.choice((how, how, "much")), d=what)


def _times(call: Call, share: float) -> Call | None:
    """A call with so many times its value, None where that is not a neat one."""
    key = _KEYS[call.name]
    value = call.arguments[key] * share
    neat = 1 if call.name == "set_timer" else 1000
    if abs(value * neat - round(value * neat)) > _NEAT or (call.name == "turn" and abs(value) > 720):
        return None
    return Call(call.name, {key: number(round(value * neat) / neat)})


def _factor(rng: random.Random, past: Past) -> Utterance | None:
    """A part or a multiple of the last value, at times the other way."""
    if len(past.calls) != 1 or past.calls[0].name not in _KEYS:
        return None
    call = past.calls[0]
    share, text = _share(rng, call.name)
    if call.name in _REVERSED and rng.random() < 0.3:
        text, share = text + rng.choice(_REVERSED[call.name]), -share
    new = _times(call, share)
    return None if new is None else said(rng.choice(_FACTOR).format(f=text), new)


def _corrected(rng: random.Random, past: Past) -> Utterance | None:
    """The last call corrected in a sentence of its own."""
    calls = past.calls
    names = tuple(call.name for call in calls)
    if names == ("pick_up", "put_down"):
        new = KINDS["object"](rng)
        if new.value == calls[0].arguments["object"]:
            return None
        text = rng.choice(_WRONG_THING).format(v=new.surface, o=f"the {calls[0].arguments['object']}")
        return said(text, Call("pick_up", {"object": new.value}), calls[1])
    if len(calls) != 1:
        return None
    call = calls[0]
    other = contrary(call)
    if call.name in _WORDS and other is not None and rng.random() < 0.75:
        sides = _WORDS[call.name]
        is_right = other.arguments[_KEYS[call.name]] < 0
        text = rng.choice(_WRONG_SIDE).format(w=rng.choice(sides[is_right]), o=rng.choice(sides[not is_right]))
        return said(text, other)
    if call.name == "set_light" and other is not None and rng.random() < 0.55:
        words = ("off", "on")
        text = rng.choice(_WRONG_STATE).format(w=words[other.arguments["on"]], o=words[call.arguments["on"]])
        return said(text, other)
    key, kind = _NAMED.get(call.name, ("", ""))
    if not key:
        return None
    new = KINDS[kind](rng)
    if new.value == call.arguments[key]:
        return None
    text = rng.choice(_WRONG_NAME).format(v=new.surface, o=_the(call.arguments[key]))
    return said(text, replace(call, arguments={**call.arguments, key: new.value}))


_NAMED: Final = {"go_to": ("place", "place"), "set_light": ("place", "light"), "pick_up": ("object", "object"), "put_down": ("place", "dropplace"), "look": ("direction", "direction")}  # fmt: skip


def _the(name: Any) -> str:
    return str(name) if name in lexicon.DIRECTIONS else f"the {name}"


def _there(rng: random.Random, past: Past) -> Utterance | None:
    """A place that was named by another call, or before another place."""
    call = past.calls[-1]
    if not past.ok:
        return None
    if call.name == "set_light" and len(past.calls) == 1:
        if rng.random() < 0.7:
            return said(rng.choice(_IN_THERE), Call("go_to", {"place": call.arguments["place"]}))
        return None
    if past.left and (call.name == "put_down" or rng.random() < 0.3):
        puts = [one for turn in past.turns for one in turn if one.name == "put_down"]
        if puts:
            return said(rng.choice(_WHERE_LEFT).format(t=past.left), Call("go_to", {"place": puts[-1].arguments["place"]}))  # fmt: skip
    if len(past.places) > 1 and past.places[-1] != past.places[-2] and rng.random() < 0.5:
        return said(rng.choice(_BEFORE_PLACE).format(p=f"the {past.places[-1]}"), Call("go_to", {"place": past.places[-2]}))  # fmt: skip
    if call.name in ("go_to", "set_light") and past.calls[0].name == "go_to":
        room = KINDS["room"](rng)
        if room.value == past.calls[0].arguments["place"]:
            return None
        on = rng.random() < 0.7
        text = rng.choice(_NEXT_ROOM).format(p=room.surface, w="on" if on else "off")
        return said(text, Call("go_to", {"place": room.value}), Call("set_light", {"place": room.value, "on": on}))
    return None


def _asked_amount(rng: random.Random, past: Past) -> Utterance | None:
    """A question about the last call, which its result has answered."""
    call, outcome = past.calls[-1], past.outcomes[-1]
    if len(past.calls) != 1 or call.name not in _AMOUNT_ASKED or not outcome.ok:
        return None
    return told(rng.choice(_AMOUNT_ASKED[call.name]), f"I {outcome.told}.")


_KINDS: Final[referring.Kinds] = (
    (0.2, _left_out), (0.15, _changed), (0.06, _elsewhere), (0.14, _earlier), (0.12, _factor), (0.2, _corrected), (0.08, _there), (0.05, _asked_amount),
)  # fmt: skip


def draw(rng: random.Random, past: Past) -> Utterance | None:
    """A turn that does something again in part or otherwise, or None where none comes to mind."""
    return referring.draw(rng, past, _KINDS)


_FIRST_MOVES: Final = ("drive {v}", "go forward {v}", "move ahead {v}", "drive forward {v}", "move forward by {v}", "advance {v}", "roll forward {v}")  # fmt: skip
_FIRST_TIMERS: Final = ("set a timer for {v}", "set a timer for {v}", "remind me in {v}", "set an alarm in {v}", "timer {v}", "start a {v} timer", "wake me in {v}", "remind me in {v} to take my pills", "let me know when {v} are over")  # fmt: skip
_SAME_UNIT: Final = (
    "make it {m}", "this time only {m}", "now {m}", "no, {m}", "rather {m}", "{m} this time", "and {m}", "change that to {m}", "{m}, I think", "better {m}", "hm, {m}", "oh, I meant {m}", "only {m}", "again, but {m}", "the same, but {m}", "let's say {m}", "rather {m}, I think",
    "{m} is enough", "no wait, {m}", "make that {m} instead", "sorry, {m}",
)  # fmt: skip
_OTHER_UNIT: Final = (
    "{u}, not {o}", "oops, {u}, not {o}", "I meant {u}", "no, {u}", "sorry, {u}", "not {o}, {u}", "{u} I meant", "wait, I said {o} but I meant {u}", "{u}! not {o}!", "hm, make that {u}", "my mistake, {u}", "oh, {u} of course", "the same in {u}", "wrong unit, {u}",
)  # fmt: skip
_DRIVE_UNITS: Final = (("feet", 0.3048), ("inches", 0.0254), ("yards", 0.9144), ("centimeters", 0.01), ("cm", 0.01), ("meters", 1), ("metres", 1))  # fmt: skip
_TIMER_UNITS: Final = (("seconds", 1), ("minutes", 60), ("hours", 3600))


def in_units(rng: random.Random) -> Utterance:
    """An amount, and then another figure of the same unit, or the same figure in another unit."""
    timer = rng.random() < 0.55
    name, key, units, rows = ("set_timer", "duration_s", _TIMER_UNITS, _FIRST_TIMERS) if timer else ("drive", "distance_m", _DRIVE_UNITS, _FIRST_MOVES)  # fmt: skip
    unit, scale = rng.choice(units)
    first, second = rng.sample(range(2, 61 if scale < 0.02 or timer else 13), 2)
    spoken = cardinal(first) if rng.random() < 0.4 else str(first)

    def call(figure: int, unit_scale: float) -> Call:
        return Call(name, {key: number(round(figure * unit_scale, 3))})

    if rng.random() < 0.6:
        shown = cardinal(second) if rng.random() < 0.6 else str(second)
        answer = said(rng.choice(_SAME_UNIT).format(m=shown), call(second, scale))
    else:
        other, other_scale = rng.choice([one for one in units if one[1] != scale])
        answer = said(rng.choice(_OTHER_UNIT).format(u=other, o=unit), call(first, other_scale))
    return replace(said(rng.choice(rows).format(v=f"{spoken} {unit}"), call(first, scale)), answer=answer)


_BEFORE: Final = (
    "hm, ", "good. ", "thanks. ", "okay, ", "great, ", "oh, ", "right, ", "well, ", "nice. ", "very good. ", "listen, ", "not bad. ", "that was quick. ", "I liked that. ", "ha, ", "wonderful. ", "good robot. ", "oh dear, ", "ah, ", "perfect. ",
    "thank you. ", "fine, ", "alright, ", "cool, ", "hmm. ", "now then, ", "so, ", "that was nice. ", "one moment. ", "lovely. ", "hey, ", "let me think. ", "I see. ", "good good, ", "ok thanks, ", "oh well, ", "now listen: ", "very well, ", "yes. ", "yes, ",
)  # fmt: skip
_AFTER: Final = (
    ", I wasn't looking", ", I missed it", ", please", ", if you can", ", my dear", ", I think", ", would you", ", it's important", ", just to be sure", ", my English is bad", ", I can't do it myself", ", they asked for it", ", to be safe", ", that was fun",
    ", I didn't see it", ", I'm in a hurry", ", thank you", ", if you don't mind", ", the children liked it", ", I just moved the chair", ", it didn't look right", ", somebody was in the way", ", you know why", ", that would be great", ", I changed my mind",
    ", for my mother", ", we have guests", ", it was so nice", ", I forgot to watch", ", old friend", ", and hurry", ", that's better for me", ", I would like that", ", because I say so", ", will you", ", okay?",
)  # fmt: skip


def dressed(rng: random.Random, text: str) -> str:
    """A later turn as people say it: behind a remark, or with a reason that adds nothing."""
    if rng.random() < 0.16:
        text = rng.choice(_BEFORE) + text
    if rng.random() < 0.12 and text[-1:] not in "?!.":
        text += rng.choice(_AFTER)
    return text
