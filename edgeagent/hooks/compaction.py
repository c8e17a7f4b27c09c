"""Making a history shorter: old exchanges become one summary, and where that is not enough, old results a note.

Pure functions. They know nothing of models: whoever calls says how many tokens a list of messages has. No model writes
the summary; it is put together from the messages themselves, so that equal histories give equal summaries.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from edgeagent.messages import PEOPLE, Message, ToolCall

Count = Callable[[Sequence[Message]], int]
"""The tokens of a request with these messages, everything else in it included."""

SUMMARY: Final = "Summary of the conversation before this:"
"""The first line of every summary."""
LEFT_OUT: Final = "[left out to save room]"
"""Stands for the text of a result that had to go; the call, its name and its status stay."""

_BEGINS: Final = frozenset({"user", "follow_up"})
SUMMARY_SHARE: Final = 4
"""A summary takes at most one part in this many of the target."""
_WORTH_CHARS: Final = 2 * len(LEFT_OUT)
"""A result of so few characters stays."""
_LINE_CHARS_PER_TOKEN: Final = 2
"""Characters of a line for each token of the summary, so that a small one has room for one line at least."""
_TEXT_CHARS: Final = 160
_ARGUMENT_CHARS: Final = 40
_CALLS: Final = 6
"""Calls of an exchange that a summary names."""
_CHARS_PER_TOKEN: Final = 3
"""A guess at the low end, to reserve room for a summary; what is reserved is checked by counting."""
MOST_CHARS_PER_TOKEN: Final = 8
"""A guess at the high end: the end of a history that is looked at has so many characters for each token of a limit. If
the limit holds them all the same, twice as many are looked at."""
_CHARS_BESIDE: Final = 16
"""Characters that a message weighs beside its texts, so that also empty ones add up."""


def exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages in groups that may be cut apart.

    An exchange begins at a user message of origin user or follow_up, and no call is parted from its result. What comes
    before the first one is a group of its own.
    """
    return [list(messages[start:end]) for start, end in pairwise([*_borders(messages), len(messages)])]


def truncated(messages: Sequence[Message], n: int) -> list[Message]:
    """The last ``n`` exchanges; everything for an ``n`` of 0 or below, and where there are no more than that."""
    starts = [start for start in _borders(messages) if _begins(messages[start])]
    return list(messages) if not 0 < n < len(starts) else list(messages[starts[-n] :])


def compact(
    messages: Sequence[Message], count: Count, budget: int, *, target_tokens: int, above: int | None = None
) -> list[Message]:
    """The messages in at most ``target_tokens``, where that is possible.

    The newest exchange stays; of the older ones as many as there is room for, and a summary of the rest. If the newest
    exchange alone is too long, its oldest results go first. Results that the model has not answered yet go only where
    the request would not even fit into ``budget``.

    Args:
        count: Called about ten times, with as much of the history's end as the target holds and some more, however
            long the history is.
        budget: Tokens of the longest request that can be sent.
        above: Messages of no more tokens than this stay as they are; None: the target.

    Returns:
        More than the budget holds if what must stay is too long.
    """
    borders = _borders(messages)
    start = _overflow(messages, borders, count, target_tokens if above is None else above)
    if start is None:
        return list(messages)
    room = target_tokens // SUMMARY_SHARE
    last = len(borders) - 1

    def fits(cut: int) -> bool:
        """True if what follows the first groups fits, with room for a summary of them."""
        lines = _newest_lines(messages, borders[: cut + 1], room, _CHARS_PER_TOKEN * room)
        return count(messages[borders[cut] :]) + min(room, len("\n".join(lines)) // _CHARS_PER_TOKEN) <= target_tokens

    cut = lowest(min(start + 1, last), last, fits)
    kept = list(messages[borders[cut] :])
    if cut == last:
        kept = _without_old_results(kept, count, budget, target_tokens)

    # the summary takes what room is left, never so much that nothing was won
    alone = count(kept)
    most = min(alone + room, target_tokens if alone <= target_tokens else budget)
    if most > target_tokens and _overflow(messages, borders, count, most) is None:
        most = min(most, max(count(messages), alone))
    told = _newest_lines(messages, borders[: cut + 1], room, MOST_CHARS_PER_TOKEN * room)
    dropped = lowest(
        0, len(told), lambda dropped: dropped == len(told) or count([summary_of(told[dropped:]), *kept]) <= most
    )
    return [summary_of(told[dropped:]), *kept] if dropped < len(told) else kept


def summary_of(lines: Sequence[str]) -> Message:
    """A summary of these lines; equal lines give an equal message."""
    text = "\n".join([SUMMARY, *lines])
    digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    return replace(Message.user(text, origin="summary"), id=f"summary_{digest[:12]}")


def summary_lines(group: Sequence[Message]) -> list[str]:
    """Summarises a group: the lines of an earlier summary in it, and one line for the rest."""
    lines = [
        line
        for message in group
        if message.origin == "summary"
        for line in message.text.splitlines()
        if line.strip() and line != SUMMARY
    ]
    said = [message.text for message in group if message.role == "user" and message.origin in PEOPLE]
    answers = [message.text for message in group if message.role == "assistant" and message.text.strip()]
    parts = [f"user: {shortened(' / '.join(said), _TEXT_CHARS)}"] if said else []
    parts += _outcomes(group)
    parts += [f"assistant: {shortened(answers[-1], _TEXT_CHARS)}"] if answers else []
    return [*lines, *(["- " + "; ".join(parts)] if parts else [])]


def shortened(text: str, limit: int) -> str:
    """The text on one line, its end cut off if it has more than ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def lowest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The lowest number for which it holds, where it holds for all above that; ``high`` if it holds for none."""
    if low == high or holds(low):
        return low
    return low + 1 + bisect_left(range(low + 1, high), True, key=holds)


def _borders(messages: Sequence[Message]) -> list[int]:
    """Indices at which exchanges begin; the first one is 0."""
    borders = [i for i, m in enumerate(messages) if not i or _begins(m)]
    asked: dict[str | None, int] = {}  # where each call stands that has no result yet
    inside: set[int] = set()  # borders between a call and its result, which are none
    for place, message in enumerate(messages):
        if message.role == "tool":
            caller = asked.pop(message.call_id, place)
            inside.update(borders[bisect_right(borders, caller) : bisect_right(borders, place)])
        if message.tool_calls:
            asked.update((call.id, place) for call in message.tool_calls)
    return [border for border in borders if border not in inside] if inside else borders


def _overflow(messages: Sequence[Message], borders: Sequence[int], count: Count, limit: int) -> int | None:
    """The number of a border from which on there are more tokens than the limit: the first, or one near the end. None
    if all of the messages have no more."""
    if not borders:
        return None
    number, start, chars, wanted = len(borders), len(messages), 0, limit * MOST_CHARS_PER_TOKEN
    while True:
        while number > 0 and (chars < wanted or number == len(borders)):
            number -= 1
            chars += sum(map(_weight, messages[borders[number] : start]))
            start = borders[number]
        if count(messages[start:]) > limit:
            return number
        if number == 0:
            return None
        wanted = 2 * chars


def _weight(message: Message) -> int:
    """About how many characters a model is shown of a message."""
    calls = sum(len(call.name) + len(call.raw or str(call.arguments)) for call in message.tool_calls)
    return len(message.text) + calls + _CHARS_BESIDE


def _newest_lines(messages: Sequence[Message], borders: Sequence[int], room: int, chars: int) -> list[str]:
    """Summarises the newest exchanges before the last border, in so many characters, or a line more."""
    line_chars = max(room * _LINE_CHARS_PER_TOKEN, 1)
    newest_first: list[str] = []
    for number in range(len(borders) - 1, 0, -1):
        if chars <= 0:
            break
        for line in reversed(summary_lines(messages[borders[number - 1] : borders[number]])):
            newest_first.append(shortened(line, line_chars))
            chars -= len(newest_first[-1]) + 1
    return newest_first[::-1]


def _outcomes(group: Sequence[Message]) -> list[str]:
    """``drive(distance_m=2): ok`` for each call of a group."""
    status = {message.call_id: message.status for message in group if message.role == "tool"}
    calls = [call for message in group for call in message.tool_calls]
    told = [f"{call.name}({_arguments(call)}): {status.get(call.id) or 'no result'}" for call in calls[:_CALLS]]
    return [*told, f"{len(calls) - _CALLS} more calls"] if len(calls) > _CALLS else told


def _arguments(call: ToolCall) -> str:
    if call.raw is not None:
        return shortened(call.raw, _ARGUMENT_CHARS)
    items = (f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in call.arguments.items())
    return shortened(", ".join(items), _ARGUMENT_CHARS)


def _without_old_results(group: list[Message], count: Count, budget: int, target_tokens: int) -> list[Message]:
    """The group with a note for its oldest results, as few as will do."""
    answered = max((i for i, message in enumerate(group) if message.role == "assistant"), default=-1)
    places = [i for i, m in enumerate(group) if m.role == "tool" and len(m.text) > _WORTH_CHARS]
    old = sum(place < answered for place in places)

    def without(n: int) -> list[Message]:
        gone = set(places[:n])
        return [replace(message, text=LEFT_OUT) if i in gone else message for i, message in enumerate(group)]

    n = lowest(0, old, lambda n: count(without(n)) <= target_tokens)
    if n == old:
        n = lowest(old, len(places), lambda n: count(without(n)) <= budget)
    return without(n)


def _begins(message: Message) -> bool:
    return message.role == "user" and message.origin in _BEGINS
