"""Commands in the order of doing where that of the words is another, chains of any calls, and what makes nothing double.

Rows of frames: {a} is done first, {b} after it; {ing} and {done} are forms of the command with a verb, see inflection.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from inflection import begins_with_verb, inflected
from results import Call
from utterances import Speaker, Utterance

REPEATABLE: Final = frozenset(("drive", "turn"))
"""Tools of which the same call twice does something twice; every other one is called once in a request."""

_PLAIN: Final = (
    "{b}, but first {a}", "{b}, but first {a}", "{b} but first {a}", "{b}, but {a} first", "{b} but {a} first", "{b}. but first {a}",
    "{b}, but before that {a}", "{b} but before that {a}", "{b}, but before you do that {a}", "{b}. before that, {a}", "{b}, before that {a}",
    "before you {b}, {a}", "before you {b}, {a}", "before you {b} {a}", "before you go and {b}, {a}", "{a} before you {b}", "{a} before you {b}",
    "{a}, and only then {b}", "{a} and not until then {b}", "{b} later, first {a}",
    "first {a}, {b} after that", "first {a}, {b} later", "{a} first, then {b}", "{a} first and then {b}", "{a} first, {b} second", "{b} last, {a} first",
    "start with this: {a}. then {b}", "to begin with {a}, and then {b}", "begin with: {a}. after that: {b}", "{b} at the end, but start with this: {a}",
    "i want you to {b}, but first {a}", "please {b}, but first {a}", "could you {b}, but first {a}", "can you {a} before you {b}", "would you {a} before you {b}",
    "you should {a} before you {b}", "{a}. once that is done, {b}", "{a}. when you have done that, {b}", "{a}, and when you are done {b}",
    "{a}, as soon as you are finished {b}", "{a} and after you are done with that {b}", "{a}. afterwards {b}", "{b} eventually, but first of all {a}",
    "{b}, oh and before that {a}", "{b}, wait, first {a}", "{b}. oh, but first {a}", "{b}, just make sure to {a} first", "{b}, but don't forget to {a} before that",
    "{b}, only {a} first", "{b} after you {a}", "after you {a}, {b}", "once you {a}, {b}", "{b}, and prior to that {a}", "{b}, and before that {a}", "{b}. prior to that, {a}", "{b}, but do this beforehand: {a}", "{a} beforehand, then {b}", "{b} as soon as you {a}", "{b} the moment you {a}",
)  # fmt: skip
_AFTER: Final = (
    "after {ing}, {b}", "after {ing}, {b}", "after {ing} {b}", "{b} after {ing}", "{b} after {ing}", "{b} right after {ing}", "{b}, but only after {ing}",
    "after you have {done}, {b}", "after you've {done}, {b}", "after you have {done} {b}", "{b} after you have {done}", "{b} after you've {done}",
    "once you have {done}, {b}", "once you've {done}, {b}", "{b} once you have {done}", "{b} once you've {done}", "when you have {done}, {b}",
    "when you've {done}, {b}", "{b} when you have {done}", "as soon as you have {done}, {b}", "as soon as you've {done}, {b}", "{b} as soon as you have {done}",
    "when you are done {ing}, {b}", "once you are done {ing}, {b}", "when you're finished {ing}, {b}", "{b} when you are done {ing}", "having {done}, {b}",
    "start by {ing}, then {b}", "begin by {ing} and then {b}", "{b}, but start by {ing}", "{b}, but not before you have {done}", "{b} only once you have {done}",
    "i'd like you to {b} after {ing}", "please {b} after {ing}", "could you {b} once you have {done}",
)  # fmt: skip
"""The command that is inflected is done first."""
_BEFORE: Final = (
    "before {ing}, {a}", "before {ing}, {a}", "before {ing} {a}", "{a} before {ing}", "{a} before {ing}", "{a} prior to {ing}", "prior to {ing}, {a}",
    "instead of {ing} right away, first {a}", "{a} first and continue by {ing}", "{a} and finish by {ing}", "{a}, followed by {ing}", "end by {ing}, but first {a}",
)  # fmt: skip
"""The command that is inflected is done last."""
_LOOSE: Final = tuple(frame for frame in _PLAIN if "you {" not in frame and "to {" not in frame)
_ONCE: Final = ("scan", "get_battery", "get_location", "get_time", "dock", "stop", "follow", "look", "look")
"""Tools that are asked for in two ways in one sentence."""
_ALIKE: Final = ("{} and {}", "{} and {}", "{}, {}", "{}. {}", "{}, and {}", "{}, I mean {}", "{}, that is, {}", "{} so {}")  # fmt: skip
_WITH_VERB: Final = 0.9
_SHORT_JOINTS: Final = (
    " and ",
    " and ",
    " then ",
    ", ",
    ", then ",
    " and then ",
    ". ",
    " after that ",
    ", after that ",
    " and after that ",
    "; ",
    " next ",
    ". next ",
    ". then ",
)
_LAST_JOINTS: Final = (" and ", " and ", ", and ", " and then ", " and finally ", ", then ", " then ", ", finally ", ". finally ", " and at last ", " and lastly ", " and in the end ")  # fmt: skip


def once_each(calls: tuple[Call, ...]) -> bool:
    """True if no call is there twice that does the same twice."""
    fixed = [call for call in calls if call.name not in REPEATABLE]
    return all(call not in fixed[:at] for at, call in enumerate(fixed))


def _part(speaker: Speaker, share: float) -> Utterance:
    """A command that can stand in a chain, sometimes one of several calls."""
    one = speaker.chainable() if speaker.rng.random() < share else speaker.imperative()
    return Utterance(one.text(), one.calls())


def _verbal(speaker: Speaker, share: float) -> Utterance:
    """The same, with its verb in front."""
    while not begins_with_verb((one := _part(speaker, share)).text):
        pass
    return one


def _until_distinct(draw: Callable[[], Utterance]) -> Utterance:
    while not once_each((said := draw()).calls):
        pass
    return said


def chain(speaker: Speaker, count: int, join: Callable[[list[str]], str]) -> Utterance:
    """So many commands in their order, of which one or two may be several calls."""

    def draw() -> Utterance:
        parts = [_part(speaker, 0.3 if count < 4 else 0.12) for _ in range(count)]
        if speaker.rng.random() < 0.12:
            last = speaker.command()
            parts[-1] = Utterance(last.text(), last.calls())
        texts = [part.text for part in parts]
        if speaker.rng.random() < 0.08:
            texts[speaker.rng.randrange(count)] += speaker.rng.choice((" please", " for me", " quickly"))
        return Utterance(join(texts), tuple(call for part in parts for call in part.calls), tag="multi")

    return _until_distinct(draw)


def turned(speaker: Speaker) -> Utterance:
    """Two to four commands whose words are in another order than the doing, or that tell the order."""

    def draw() -> Utterance:
        rng = speaker.rng
        make = _verbal if rng.random() < _WITH_VERB else _part
        first, second = make(speaker, 0.2), make(speaker, 0.2)
        if rng.random() < 0.1:
            third = make(speaker, 0)
            joint = rng.choice((" and ", " and then ", ", then "))
            second = Utterance(f"{second.text}{joint}{third.text}", second.calls + third.calls)
        return in_other_words(rng, first, second)

    return _until_distinct(draw)


def in_other_words(rng: random.Random, first: Utterance, second: Utterance) -> Utterance:
    """Two commands in one sentence that tells in which order they are to be done, not by that of its words alone."""
    kind = rng.random()
    if kind < 0.4 and (forms := inflected(first.text)) is not None:
        return _both(rng.choice(_AFTER).format(ing=forms[0], done=forms[1], b=second.text), first, second)
    if 0.4 <= kind < 0.53 and (forms := inflected(second.text)) is not None:
        return _both(rng.choice(_BEFORE).format(ing=forms[0], a=first.text), first, second)
    frames = _PLAIN if begins_with_verb(first.text) and begins_with_verb(second.text) else _LOOSE
    return _both(rng.choice(frames).format(a=first.text, b=second.text), first, second)


def alike(speaker: Speaker) -> Utterance:
    """One thing asked for in two ways in one sentence, which is one call."""
    while True:
        name = speaker.rng.choice(_ONCE)
        one, two = speaker.draw(name), speaker.draw(name)
        if one.calls() == two.calls() and one.text() != two.text() and len(one.calls()) == 1:
            text = speaker.rng.choice(_ALIKE).format(one.text().rstrip("?."), two.text())
            return Utterance(text, one.calls(), tag="order", bare=False)


def _both(text: str, first: Utterance, second: Utterance) -> Utterance:
    return Utterance(text, first.calls + second.calls, tag="order", bare=False)


def joined(rng: random.Random, texts: list[str]) -> str:
    """Three or more commands with what stands between them."""
    joints = [rng.choice(_SHORT_JOINTS) for _ in texts[1:]]
    if rng.random() < 0.5:
        joints = [rng.choice((", ", ", ", " then ", ", then ", " "))] * (len(texts) - 1)
        joints[-1] = rng.choice(_LAST_JOINTS)
    elif rng.random() < 0.2:
        joints = [" and "] * (len(texts) - 1)
    text = texts[0] + "".join(j + t for j, t in zip(joints, texts[1:], strict=True))
    return rng.choice(("", "", "", "", "first ", "first of all ", "here is what to do: ", "to do: ", "okay, ")) + text
