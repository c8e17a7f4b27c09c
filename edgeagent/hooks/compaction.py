"""Making a history shorter: old exchanges become one summary, and where that is not enough, old results a note.

Pure functions. They know nothing of models: whoever calls says how many tokens a list of messages has. No model writes
the summary; it is put together from the messages themselves, so that equal histories give equal summaries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from edgeagent.messages import Message, ToolCall

_Item = TypeVar("_Item")
Count = Callable[[Sequence[Message]], int]
"""The tokens of a request with these messages, everything else in it included."""

SUMMARY: Final = "Summary of the conversation before this:"
"""The first line of every summary."""
LEFT_OUT: Final = "[left out to save room]"
"""Stands for the text of a result that had to go; the call, its name and its status stay."""

_BEGINS: Final = frozenset({"user", "follow_up"})
_SAID: Final = _BEGINS | {"steering"}
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


def exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages in groups that may be cut apart.

    An exchange begins at a user message of origin user or follow_up, and no call is parted from its result. What comes
    before the first one is a group of its own.
    """
    groups: list[list[Message]] = []
    asked: dict[str | None, int] = {}  # in which group each call stands that has no result yet
    for message in messages:
        if not groups or _begins(message):
            groups.append([])
        at = asked.pop(message.call_id, len(groups) - 1) if message.role == "tool" else len(groups) - 1
        if at < len(groups) - 1:  # something that begins an exchange stood between a call and its result
            groups[at:] = [_flat(groups[at:])]
            asked = {call_id: min(group, at) for call_id, group in asked.items()}
        groups[-1].append(message)
        asked.update((call.id, len(groups) - 1) for call in message.tool_calls)
    return groups


def truncated(messages: Sequence[Message], n: int) -> list[Message]:
    """The last ``n`` exchanges; everything for an ``n`` of 0 or below, and where there are no more than that."""
    whole = [group for group in exchanges(messages) if _begins(group[0])]
    return list(messages) if not 0 < n < len(whole) else _flat(whole[-n:])


def compact(messages: Sequence[Message], count: Count, budget: int, *, target_tokens: int) -> list[Message]:
    """The messages in at most ``target_tokens``, where that is possible.

    The newest exchange stays; of the older ones as many as there is room for, and a summary of the rest. If the newest
    exchange alone is too long, its oldest results go first. Results that the model has not answered yet go only where
    the request would not even fit into ``budget``.

    Args:
        count: Called about ten times; it is what takes long.
        budget: Tokens of the longest request that can be sent.

    Returns:
        More than the budget holds if what must stay is too long.
    """
    groups = exchanges(messages)
    whole = count(messages) if groups else 0
    if whole <= target_tokens:
        return list(messages)
    room = target_tokens // SUMMARY_SHARE
    line_chars = max(room * _LINE_CHARS_PER_TOKEN, 1)
    lines = [[shortened(line, line_chars) for line in summary_lines(group)] for group in groups]
    last = len(groups) - 1

    def fits(cut: int) -> bool:
        """Whether what follows the first groups fits, with room for a summary of them."""
        summary = len("\n".join(_flat(lines[:cut]))) // _CHARS_PER_TOKEN
        return count(_flat(groups[cut:])) + min(room, summary) <= target_tokens

    cut = lowest(min(1, last), last, fits)
    kept = _flat(groups[cut:]) if cut < last else _without_old_results(groups[last], count, budget, target_tokens)

    # the summary takes what room is left, never so much that nothing was won
    alone = count(kept)
    most = min(alone + room, target_tokens if alone <= target_tokens else budget, max(whole, alone))
    told = _flat(lines[:cut])
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
    """What a summary says of a group: the lines of an earlier summary in it, and one line for the rest."""
    lines = [
        line
        for message in group
        if message.origin == "summary"
        for line in message.text.splitlines()
        if line.strip() and line != SUMMARY
    ]
    said = [message.text for message in group if message.role == "user" and message.origin in _SAID]
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
    low += 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


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


def _flat(groups: Sequence[Sequence[_Item]]) -> list[_Item]:
    return [item for group in groups for item in group]
