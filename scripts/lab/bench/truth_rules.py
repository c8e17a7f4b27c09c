"""Rules that compare a reply with the results that it tells: failures, reasons, numbers, places and undone parts.

Knows nothing of the product's hooks, so that what those overlook is found here. Words are compared by their beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from edgeagent import ToolCall

_NOT_DONE: Final = ("not_run", "skipped", "declined")
_ENOUGH: Final = 0.5
"""Share of a result's words that a reply has at least."""
_NEGATIVE: Final = re.compile(
    r"could ?n[o']t|cannot|can't|did ?n[o']t|was ?n[o']t|is not|not (?:done|run|able|work)|unable|failed|stopped after"
    r"|was (?:stopped|interrupted)|error|refused|lost you|nothing else"
)
_TOKEN: Final = re.compile(r"\d+:\d+|\d+(?:\.\d+)?|[a-z]+")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+")
_SAME: Final = {
    "m": "meter", "metre": "meter", "s": "second", "drove": "drive", "lost": "lose", "arrived": "", "am": "",
    "cm": "centimeter", "sets": "set", "lit": "light", "percent": "percent", "yes": "true", "no": "not", "false": "not",
    "read": "", "reach": "", "tell": "", "ran": "run", "none": "not", "c": "c",
}  # fmt: skip
_SMALL: Final = frozenset(
    "a an the i my me it its is are was were be am to of at in on into and or but so then that this there with for "
    "from by because after not could did do does done have has had can cannot will would work ok sorry where go put "
    "down up s t n you your while than was stopped interrupted error failed unable able because earlier "
    "call done don rest stopp".split()
)
"""Words without a content of their own, and those that tell a failure."""
_BESIDE: Final = frozenset("degree meter second percent forward current now nearest obstacle robot".split())
"""Words that a telling may add."""


@dataclass(frozen=True, slots=True)
class Told:
    """A request, its calls with their results, the reply, and the reply that the model itself wrote."""

    text: str
    calls: tuple[ToolCall, ...]
    reply: str
    own: str = ""

    def __str__(self) -> str:
        lines = [f"  {self.text}"]
        for call in self.calls:
            shown = ", ".join(f"{value}" for value in call.arguments.values())
            lines.append(f"    {call.name}({shown}): {_status(call)}: {_text(call)}")
        return "\n".join([*lines, f"    -> {self.reply}"])


def complaints(told: Told) -> list[str]:
    """Rules that a reply breaks; a rule's name stands before the colon."""
    reply = told.reply.lower()
    if not _TOKEN.search(reply):
        return ["empty: no reply"]
    if reply.endswith("say yes."):
        return []
    failed = [call for call in told.calls if _status(call) not in ("ok", "detached")]
    fine = [call for call in told.calls if call not in failed]
    sentences = [one for one in _SENTENCE.split(reply) if _TOKEN.search(one)]
    negative = [one for one in sentences if _NEGATIVE.search(one) and not _is_copy(one, fine)]
    positive = [one for one in sentences if one not in negative]
    return [
        *_left_out(reply, negative, failed, fine),
        *(complaint for one in positive for complaint in _wrong_good(one, failed, fine)),
        *(complaint for one in negative for complaint in _wrong_bad(one, failed, fine)),
    ]


def _left_out(reply: str, negative: list[str], failed: list[ToolCall], fine: list[ToolCall]) -> Iterator[str]:
    """Failures, undone parts and results that the reply does not tell."""
    everything = _words(reply)
    for call in failed:
        if any((one.name, one.arguments) == (call.name, call.arguments) for one in fine):
            continue  # it was done in the end
        share = _share(_words(_text(call)), everything)
        if not any(_names(call, one) or _is_copy(one, [call]) for one in negative) and not _has(reply, _text(call)):
            yield f"{'undone' if _status(call) in _NOT_DONE else 'failure'} left out: {call.name}"
        elif _status(call) not in _NOT_DONE and share < _ENOUGH:
            yield f"reason left out: {call.name}, {share:.0%} of it told"
    for call in fine:
        if (share := _share(_words(_text(call)), everything)) < _ENOUGH:
            yield f"result left out: {call.name}, {share:.0%} of it told"


def _wrong_good(sentence: str, failed: list[ToolCall], fine: list[ToolCall]) -> Iterator[str]:
    """What a sentence tells as done or known that no successful call says."""
    if _is_copy(sentence, [*fine, *failed]):
        return
    if new := _words(sentence) - _known(fine) - _BESIDE:
        yield f"invented: {', '.join(sorted(new))}"
    if failed and not fine:
        yield f"told as done: {sentence}"


def _wrong_bad(sentence: str, failed: list[ToolCall], fine: list[ToolCall]) -> Iterator[str]:
    """What a sentence tells as failed that did not, and reasons that no result gives."""
    if new := _words(sentence) - _known([*failed, *fine]) - _BESIDE:
        yield f"invented: {', '.join(sorted(new))}"
    nearest = max([*failed, *fine], key=lambda call: (_overlap(call, sentence), call in failed))
    if nearest in fine:
        yield f"told as failed: {nearest.name}"


def _status(call: ToolCall) -> str:
    return call.result.status if call.result is not None else "not_run"


def _text(call: ToolCall) -> str:
    return call.result.text if call.result is not None else ""


def _words(text: str) -> set[str]:
    """Words with a content, by their beginnings."""
    return {_stem(word) for word in _TOKEN.findall(text.lower().replace("_", " "))} - _SMALL - {""}


def _stem(word: str) -> str:
    word = _SAME.get(word, word)
    if word[:1].isdigit():
        return f"{float(word):g}" if ":" not in word else word
    for ending in ("ing", "ed", "es", "s", "e"):
        if len(word) > len(ending) + 2 and word.endswith(ending) and not word.endswith("ss"):
            return _SAME.get(word.removesuffix(ending), word.removesuffix(ending))
    return word


def _share(wanted: set[str], told: set[str]) -> float:
    return len(wanted & told) / len(wanted) if wanted else 1.0


def _known(calls: Iterable[ToolCall]) -> set[str]:
    """Words of results, of arguments, of names, and of directions that a sign tells."""
    return set().union(*(_about(call) | _words(_text(call)) for call in calls))


def _about(call: ToolCall) -> set[str]:
    """Words of what a call was for."""
    words = _words(f"{call.name} {' '.join(str(value) for value in call.arguments.values())}".replace("-", " "))
    for name, value in call.arguments.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            words |= _words({"angle_deg": "left right degrees", "distance_m": "forward back meter"}.get(name, ""))
            if name == "angle_deg":
                words -= _words("right" if value > 0 else "left")
            if name == "distance_m":
                words -= _words("back" if value > 0 else "forward")
        if isinstance(value, bool):
            words |= {"switch", "turn"}
    more = {
        "get_location": "tell where",
        "get_battery": "read battery",
        "get_time": "read time",
        "follow": "follow you",
    }
    more |= {"put_down": "put bring", "pick_up": "pick", "set_timer": "timer set", "go_to": "reach go"}
    return words | _words(more.get(call.name, ""))


def _names(call: ToolCall, sentence: str) -> bool:
    """True if a sentence that tells what was not done may mean this call."""
    words = {_stem(word) for word in _TOKEN.findall(sentence)}
    name = {_stem(word) for word in call.name.split("_")}
    return bool(words & (_about(call) | name)) or "rest" in words or "else" in words


def _overlap(call: ToolCall, sentence: str) -> int:
    words = {_stem(word) for word in _TOKEN.findall(sentence)}
    return len(words & (_about(call) | _words(_text(call)))) + len(words & {_stem(w) for w in call.name.split("_")})


def _flat(text: str) -> str:
    return " ".join(_TOKEN.findall(text.lower().replace("_", " ")))


def _has(text: str, part: str) -> bool:
    flat = _flat(part)
    return bool(flat) and flat in _flat(text)


def _is_copy(sentence: str, calls: Iterable[ToolCall]) -> bool:
    """True for a sentence that a result has word for word, "no weeds found"."""
    return any(_has(_text(call), sentence) for call in calls)
