"""Commands that leave something out: the robot asks for it, and the answer makes the call.

Rows of data: what is said, the question, the slot that answers it, and the calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from results import Call
from slots import KINDS
from utterances import Utterance

from edgeagent.train import number


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Texts of one kind that leave something out; "{o}" is an object.

    Attributes:
        texts, questions: What is said, and what the robot may ask.
        slot: Kind of what is left out.
        answers: Ways to say it; "{}" stands for it.
        calls: The right calls, by the value of the slot and of the object.
    """

    texts: tuple[str, ...]
    questions: tuple[str, ...]
    slot: str
    answers: tuple[str, ...]
    calls: Callable[[Any, str], tuple[Call, ...]]


def _moved(name: str, argument: str, sign: int = 1) -> Callable[[Any, str], tuple[Call, ...]]:
    return lambda value, _: (Call(name, {argument: number(sign * value)}),)


def _lit(on: bool) -> Callable[[Any, str], tuple[Call, ...]]:
    return lambda value, _: (Call("set_light", {"place": value, "on": on}),)


_SAID: Final = (
    "{}",
    "{}",
    "{}",
    "{} please",
    "{}, please",
    "make it {}",
    "let's say {}",
    "i said {}",
    "oh, {}",
    "{} will do",
    "{} I think",
    "hm, {}",
    "say {}",
    "{} I guess",
    "let me think, {}",
    "that would be {}",
    "oh, {}, my dear",
    "why, {} of course",
)
_HOW_LONG: Final = ("For how long?", "How long?")
_HOW_FAR: Final = ("How far?",)
_WHERE: Final = ("Where to?", "Which place?")
_WHERE_PUT: Final = ("Where should I put it?", "Where to?", "Which place?")
_WHAT: Final = ("What should I get?", "Which thing?")
_WHICH: Final = ("Which light?", "Which room?")
_TO: Final = (
    "{}",
    "{}",
    "to {}",
    "to {} please",
    "{}, please",
    "{} of course",
    "i meant {}",
    "oh, {}",
    "hm, {}",
    "to {} I think",
    "{}, my dear",
    "to {}, where else",
)
_ROOMS: Final = (
    "{}",
    "{}",
    "in {}",
    "the one in {}",
    "in {} please",
    "{}, please",
    "that of {}",
    "oh, the one in {}",
    "the one in {}, my dear",
    "{} I think",
    "hm, {}",
    "the light in {}",
    "{} of course",
    "I mean {}",
    "that in {} please",
    "{}, where else",
)
_FORTH: Final = ("drive exactly", "drive about", "drive forward by", "go forward for", "move forward about", "drive roughly", "go ahead by")  # fmt: skip
_BACK: Final = ("back up by", "move back by", "go back by", "reverse by", "drive backwards about", "back off by")
_ROWS: Final = (
    Unfinished(
        ("set a timer", "set a timer", "set a timer for", "set the timer to", "start a timer", "start a timer for", "set a timer please",
         "wake me in", "remind me in", "timer for", "a timer please", "i need a timer", "can you set a timer", "set an alarm in", "time me"),
        _HOW_LONG, "duration", (*_SAID, "for {}", "for {} please", "in {}"), _moved("set_timer", "duration_s"),
    ),
    Unfinished(
        ("drive to", "go to", "go to the", "head to the", "drive over to the", "move over to", "head for the", "come to the"),
        _WHERE, "place", _TO, lambda value, _: (Call("go_to", {"place": value}),),
    ),
    Unfinished(
        ("pick up the", "bring me the", "get me the", "get the", "fetch the", "grab the", "take the", "bring me a", "pick up that",
         "get me something", "fetch me something", "bring me something"),
        _WHAT, "object", ("{}", "{}", "{} please", "{}, please", "i want {}", "i meant {}", "oh, {}"),
        lambda value, _: (Call("pick_up", {"object": value}),),
    ),
    Unfinished(
        ("put {o} on the", "put {o} in the", "place {o} on the", "put {o} next to the", "bring {o} to the", "take {o} to the",
         "carry {o} to the", "take {o} over to", "bring {o} to"),
        _WHERE_PUT, "dropplace", (*_TO, "on {}", "by {}", "in {}"),
        lambda value, thing: (Call("pick_up", {"object": thing}), Call("put_down", {"place": value})),
    ),
    Unfinished(
        ("put it on the", "put it in the", "put it", "set it on the", "lay it on", "put that", "place it on the"),
        _WHERE_PUT, "dropplace", (*_TO, "on {}", "by {}", "in {}"), lambda value, _: (Call("put_down", {"place": value}),),
    ),
    Unfinished(
        ("turn on the light in the", "turn on the", "switch on the", "switch on the light in", "light in the", "turn on my"),
        _WHICH, "light", _ROOMS, _lit(on=True),
    ),
    Unfinished(
        ("turn off the light in the", "turn off the", "switch off the", "switch off the lights in the", "turn off my"),
        _WHICH, "light", _ROOMS, _lit(on=False),
    ),
    Unfinished(_FORTH, _HOW_FAR, "dist", (*_SAID, "by {}", "about {}"), _moved("drive", "distance_m")),
    Unfinished(_BACK, _HOW_FAR, "dist", (*_SAID, "by {}", "about {}"), _moved("drive", "distance_m", -1)),
    Unfinished(
        ("turn left by", "rotate to the left by", "turn to the left about", "spin left by"),
        (*_HOW_FAR, "By how much?"), "angle", (*_SAID, "by {}"), _moved("turn", "angle_deg"),
    ),
    Unfinished(
        ("turn right by", "rotate to the right by", "turn to the right about", "spin right by"),
        (*_HOW_FAR, "By how much?"), "angle", (*_SAID, "by {}"), _moved("turn", "angle_deg", -1),
    ),
)  # fmt: skip
_NEVER_MIND: Final = ("never mind", "nothing", "forget it", "oh, leave it", "i changed my mind", "doesn't matter", "nowhere", "no idea", "i don't know yet", "not now")  # fmt: skip
_LEFT: Final = 0.12
"""Share of answers that take the command back."""


def asked_about(rng: random.Random) -> Utterance:
    """A command that leaves something out; the reply asks for it, and ``answer`` says it."""
    row = rng.choice(_ROWS)
    thing = KINDS["object"](rng)
    text = rng.choice(row.texts).format(o=thing.surface)
    question = rng.choice(row.questions)
    if rng.random() < _LEFT:
        answer = Utterance(
            rng.choice(_NEVER_MIND), reply=rng.choice(("Okay.", "Okay, I won't.")), tag="none", bare=False
        )
    else:
        drawn = KINDS[row.slot](rng)
        calls = row.calls(drawn.value, str(thing.value))
        answer = Utterance(rng.choice(row.answers).format(drawn.surface), calls, tag="answer", bare=False)
    return Utterance(text, reply=question, tag="none", bare=False, answer=answer)
