"""Second turns that refer to what was done: to several calls, to an amount, to a place before, to a result.

Rows of phrases; {w} and the like are filled in. Each function returns None where nothing of its kind can be said.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import lexicon
import results
from corrections import contrary
from results import Call, Outcome
from slots import KINDS
from utterances import Utterance

from edgeagent.train import cardinal, number


@dataclass(frozen=True, slots=True)
class Past:
    """What was done before a turn.

    Attributes:
        calls: Those of the last turn that had some.
        places: Where the robot arrived, the last one at the end.
        turns: Calls of the turns since something failed, the last ones at the end.
        held: Thing in the gripper.
        left: Thing that was put down last.
    """

    calls: tuple[Call, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    places: tuple[str, ...] = ()
    turns: tuple[tuple[Call, ...], ...] = ()
    held: str = ""
    left: str = ""

    @property
    def ok(self) -> bool:
        return all(one.ok for one in self.outcomes)

    @property
    def recent(self) -> tuple[Call, ...]:
        """Calls of the last three turns."""
        return tuple(call for turn in self.turns[-3:] for call in turn)

    def after(self, calls: tuple[Call, ...], outcomes: Sequence[Outcome]) -> Past:
        """The past after one more turn."""
        places, held, left = self.places, self.held, self.left
        for call, one in zip(calls, outcomes, strict=True):
            if not one.ok:
                continue
            if call.name == "go_to" and "place" in call.arguments:
                places += (call.arguments["place"],)
            elif call.name == "pick_up":
                held = call.arguments["object"]
            elif call.name == "put_down":
                held, left = "", held
        turns = (*self.turns, calls) if all(one.ok for one in outcomes) else ()
        return Past(calls, tuple(outcomes), places, turns, held, left)


_ALL_AGAIN: Final = ("do both again", "both again", "both of them again", "again both", "all of that again", "do all of that again", "do all that again", "the whole thing again", "repeat all of it", "everything again",
    "once more from the beginning", "from the top", "same thing again", "all again please", "repeat everything", "do the same again", "now all of it once more", "and the whole thing again", "the same once more")  # fmt: skip
_LIGHTS: Final = ("{all} {w} again", "turn {them} {w} again", "now {all} {w}", "and {all} {w} again", "switch {them} {w}", "turn {them} back {w}", "{all} lights {w} again", "{w} again, {all}", "turn {all} {w}", "and now {all} {w} again",
    "okay, {all} {w} again please", "make that {all} {w}", "turn {all} of them {w} again", "switch {all} {w} again", "{all} of them {w}", "you can turn {them} {w} again", "every one of them {w} again", "too bright, {all} of them {w}", "that is too much, {them} {w} again", "each of them {w} again", "no, {all} {w} again", "hm, {w} again with {all} of them")  # fmt: skip
_EACH: Final = ("only the {n} again", "the {n} one again", "do the {n} one again", "repeat the {n} thing", "just the {n} one again", "the {n} one once more", "and the {n} again", "now the {n} one again please", "again, but only the {n} one")  # fmt: skip
_LEFT_OVER: Final = ("go on", "carry on", "continue", "do the rest", "then do the rest", "carry on with the rest", "and the rest", "just do the rest", "go on with the others", "skip that and go on", "never mind, do the rest", "leave it and do the rest")  # fmt: skip
_RETRY: Final = ("try again", "try it again", "please try again", "give it another try", "retry", "once more please", "have another go", "try that again", "well, try again", "another attempt please")  # fmt: skip
_HALF: Final = ("half of that", "now half of that", "and half of that", "again, but only half of it", "half as far", "half as much", "half that", "the same, but half", "just half of that now", "now only half of that")  # fmt: skip
_TWICE: Final = ("twice that", "double that", "now twice that", "twice as far", "twice as much", "and twice that", "the same, but double", "now double that", "again, but twice as much", "double it")  # fmt: skip
_BACKWARDS: Final = ("same but backwards", "the same but backwards", "now the same backwards", "and the same in reverse", "the same again, but backwards", "and all the way back", "same distance back", "now back the same way", "same but in reverse", "the same but the other way")  # fmt: skip
_FORWARDS: Final = ("same but forward", "the same but forwards", "now the same forward", "the same again, but forward", "same distance forward", "same but the other way")  # fmt: skip
_SIDE: Final = ("the same to the {w}", "same but {w}", "now the same to the {w}", "and the same to the {w}", "now {w}", "and {w}", "and now to the {w}", "again, but to the {w}", "as much to the {w}", "no, {w}", "no, to the {w}", "i meant {w}", "sorry, i meant {w}", "other side, {w}", "i said {w}")  # fmt: skip
_MORE: Final = ("a bit more", "a little more", "a little further", "just a bit more", "a bit further", "slightly more", "a tad more", "a little bit more", "and a bit more", "a little more please", "a touch more", "some more, just a little")  # fmt: skip
_MAKE_IT: Final = ("make it {n}", "make it {n}", "make that {n}", "no, {n}", "now {n}", "{n} this time", "better make it {n}", "sorry, {n}", "i meant {n}", "let's make it {n}", "no, make it {n}", "change it to {n}", "and now {n}")  # fmt: skip
_NOW: Final = ("and now", "and now?", "what about now", "how about now", "again", "check again", "once more", "and again", "now?", "check once more", "has it changed", "is it still the same")  # fmt: skip
_SCAN: Final = ("scan again", "scan again please", "scan once more", "do another scan", "one more scan", "what do you see now", "and what do you see now", "look again", "is it still there", "still something there", "is the way free now", "what's there now", "and behind that")  # fmt: skip
_BACK_THERE: Final = ("go back", "now go back", "go back to where you were", "return to where you were before", "and back again", "back to where you came from", "go back there", "now back to the place before", "back where you were", "drive back to where you were", "and now back")  # fmt: skip
_LIGHT_THERE: Final = ("turn the light {w} there", "turn {w} the light there", "and turn the light {w}", "light {w} please", "the light {w} there", "now switch the light {w}", "and the light {w}", "turn the light {w} in there", "put the light {w} there", "now turn {w} the light")  # fmt: skip
_SAME_IN: Final = ("the same in {p}", "same in {p}", "do the same in {p}", "and {p} too", "{p} too", "and {p}", "{p} as well", "also {p}", "now {p}", "same for {p}", "and the same for {p}", "and in {p}", "{p} also please", "what about {p}", "and what about {p}")  # fmt: skip
_DONE: Final = ("what did you do", "what did you just do", "what happened", "what was that", "did it work", "did you do it", "are you done", "is it done", "have you done it", "how did it go", "all done", "did that work", "what have you done", "tell me what happened")  # fmt: skip
_HOLDING: Final = ("what are you holding", "what do you have there", "what is in your gripper", "what are you carrying", "what's in your hand", "what do you hold", "do you have it", "what have you got", "which thing are you holding", "are you holding something")  # fmt: skip
_WHERE: Final = ("where is {o} now", "where is {o}", "where's {o}", "where did you put {o}", "where is it", "where is it now", "where did you leave it", "and where is it now", "where can i find {o}", "so where is {o}")  # fmt: skip
_WHERE_FOUND: Final = ("where was it", "where did you find it", "where did you get it", "where was {o}", "where did you find {o}", "in which room was it", "where did you pick it up")  # fmt: skip
_ORDINALS: Final = ("first", "second", "third", "fourth")
_SLIGHT: Final = {"drive": ("distance_m", 0.5), "turn": ("angle_deg", 15)}


def said(text: str, *calls: Call) -> Utterance:
    """A follow-up with its calls."""
    return Utterance(text, calls, tag="followup", bare=False)


def told(text: str, reply: str) -> Utterance:
    """A follow-up without a call, and what it is answered."""
    return Utterance(text, reply=reply, tag="none", bare=False)


def _several(rng: random.Random, past: Past) -> Utterance | None:
    calls = past.calls
    if len(calls) < 2:
        return None
    kind = rng.random()
    if kind < 0.6 and all(call.name == "set_light" for call in calls):
        on = not calls[-1].arguments["on"]
        every = {2: "both", 3: "all three", 4: "all four"}.get(len(calls), "all")
        text = rng.choice(_LIGHTS).format(
            all=rng.choice((every, every, "all")), w="on" if on else "off", them=rng.choice(("them", "those", "these"))
        )
        return said(text, *(replace(call, arguments={**call.arguments, "on": on}) for call in calls))
    if kind < 0.75 and past.ok:
        rows = _ALL_AGAIN if len(calls) == 2 else tuple(row for row in _ALL_AGAIN if "both" not in row)
        return said(rng.choice(rows), *calls)
    if len(calls) > len(_ORDINALS):
        return None
    at = rng.randrange(len(calls))
    name = "last" if at == len(calls) - 1 and rng.random() < 0.6 else _ORDINALS[at]
    return said(rng.choice(_EACH).format(n=name), calls[at])


def _after_failure(rng: random.Random, past: Past) -> Utterance | None:
    if past.ok:
        return None
    skipped = [c for c, o in zip(past.calls, past.outcomes, strict=True) if o.content.startswith("not run")]
    if skipped and rng.random() < 0.5:
        return said(rng.choice(_LEFT_OVER), *skipped)
    return said(rng.choice(_RETRY), *(c for c, o in zip(past.calls, past.outcomes, strict=True) if not o.ok))


def _amount(rng: random.Random, past: Past) -> Utterance | None:
    call = past.calls[-1]
    if len(past.calls) > 1 or call.name not in ("drive", "turn", "set_timer"):
        return None
    (key, value), kind = next(iter(call.arguments.items())), rng.random()
    if call.name == "set_timer":
        scale = (
            1
            if value < 60
            else 60
            if value < 3600 and value % 60 == 0
            else 3600
            if value > 3600 and value % 3600 == 0
            else 0
        )
        n = rng.choice((rng.randint(1, 12), rng.randint(1, 12) * 5))
        if not scale or n * scale == value:
            return None
        return said(_make_it(rng, n), Call(call.name, {key: n * scale}))
    if kind < 0.3 and value == int(value):
        n = rng.randint(1, 9) if call.name == "drive" else rng.randint(1, 36) * 5
        return said(_make_it(rng, n), Call(call.name, {key: n if value > 0 else -n}))
    if kind < 0.5:
        return said(rng.choice(_MORE), Call(call.name, {key: number(_SLIGHT[call.name][1] * (1 if value > 0 else -1))}))
    if kind < 0.75:
        rows, share = rng.choice(((_HALF, 0.5), (_TWICE, 2)))
        new, text = value * share, rng.choice(rows)
        if abs(new * 1000 - round(new * 1000)) > 1e-6:
            return None
        if rng.random() < 0.5:
            side = rng.choice((1, -1))
            words = (
                ("forward", "back")
                if call.name == "drive"
                else rng.choice((("left", "right"), ("to the left", "to the right")))
            )
            text, new = f"{text} {words[side < 0]}", side * abs(new)
        return said(text, Call(call.name, {key: number(new)}))
    other = contrary(call)
    if call.name == "turn":
        return said(rng.choice(_SIDE).format(w="right" if value > 0 else "left"), *([other] if other else []))
    return said(rng.choice(_BACKWARDS if value > 0 else _FORWARDS), *([other] if other else []))


def _make_it(rng: random.Random, n: int) -> str:
    return rng.choice(_MAKE_IT).format(n=cardinal(n) if rng.random() < 0.6 else n)


def _ask_again(rng: random.Random, past: Past) -> Utterance | None:
    call = past.calls[-1]
    if call.name == "scan":
        return said(rng.choice(_SCAN if rng.random() < 0.7 else _NOW), call)
    if call.name in ("get_battery", "get_location", "get_time"):
        return said(rng.choice(_NOW), call)
    return None


def _places(rng: random.Random, past: Past) -> Utterance | None:
    call = past.calls[-1]
    if call.name == "set_light":
        if len({c.arguments.get("on") for c in past.calls}) != 1:
            return None
        light = KINDS["light"](rng)
        text = rng.choice(_SAME_IN).format(p=light.surface)
        return said(text, Call("set_light", {"place": light.value, "on": call.arguments["on"]}))
    if call.name not in ("go_to", "put_down") or not past.ok:
        return None
    if len(past.places) > 1 and past.places[-2] != past.places[-1] and call.name == "go_to" and rng.random() < 0.5:
        return said(rng.choice(_BACK_THERE), Call("go_to", {"place": past.places[-2]}))
    place = call.arguments["place"]
    if place in lexicon.ROOMS:
        on = rng.random() < 0.6
        return said(
            rng.choice(_LIGHT_THERE).format(w="on" if on else "off"), Call("set_light", {"place": place, "on": on})
        )
    return None


def _asked_about(rng: random.Random, past: Past) -> Utterance | None:
    """A question that a result has answered already; no call."""
    call, outcome = past.calls[-1], past.outcomes[-1]
    if outcome.ok and call.name == "pick_up" and rng.random() < 0.8:
        thing = call.arguments["object"]
        holding = f"I am holding the {thing}."
        kind = rng.random()
        if kind < 0.45:
            return told(rng.choice(_HOLDING), holding)
        if kind < 0.75:
            return told(rng.choice(_WHERE).format(o=f"the {thing}"), holding)
        return told(rng.choice(_WHERE_FOUND).format(o=f"the {thing}"), f"I {outcome.told}.")
    if outcome.ok and call.name == "put_down" and rng.random() < 0.8:
        thing = outcome.content.removeprefix("put the ").partition(" down")[0]
        if rng.random() < 0.3:
            return told(rng.choice(_HOLDING), "I am not holding anything.")
        return told(rng.choice(_WHERE).format(o=f"the {thing}"), f"I {outcome.told}.")
    return told(rng.choice(_DONE), results.tell(list(past.outcomes)))


Kinds = tuple[tuple[float, Callable[[random.Random, Past], Utterance | None]], ...]
_KINDS: Final[Kinds] = (
    (0.2, _several), (0.14, _after_failure), (0.28, _amount), (0.12, _ask_again), (0.14, _places), (0.12, _asked_about),
)  # fmt: skip
_TRIES: Final = 5


def draw(rng: random.Random, past: Past, kinds: Kinds = _KINDS) -> Utterance | None:
    """A turn that refers to what was done, or None where none comes to mind.

    Args:
        kinds: What is drawn from, each with its weight.
    """
    for _ in range(_TRIES):
        kind = rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]
        if past.calls and (said := kind(rng, past)) is not None:
            return said
    return None
