"""Reasons of model calls, for people: the prompt, the raw reply, its reading, and what became of it.

``/why`` and ``replay --prompts`` show them. Knows the last request of a chat; any thread.
"""

from __future__ import annotations

import json
import re
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgeagent import events
from edgeagent.characters import common_length
from edgeagent.cli.activity import Line, call_text
from edgeagent.cli.streams import one_line, printable
from edgeagent.messages import Message, Reading

UNTOLD: Final = "this model does not tell its prompt and its raw reply"
_INDENT: Final = "    "
_LEAST_WIDTH: Final = 20
"""Columns of text beside the indentation, however narrow the terminal is."""
_REFUSED: Final = 8
"""Number of refused tokens that are shown; people want the first ones."""
_SEPARATOR: Final = 1
"""Characters between two tools of one list, blanks apart: a comma."""
_TOOL_BEGINS: Final = re.compile(r'\[\s*(?=\{)|\{\s*"(?:type|name|function|description)"')
_TOOL_LISTS: Final = re.compile(
    r"^Tools: \w+\([^<\n]*"
    r"|<tools>(?!</tools>)\s*<[\s\S]*?</tools>"
    r"|^namespace functions \{$[\s\S]*?^\} // namespace functions"
    r"|<\|tool>declaration:.*<tool\|>",
    re.MULTILINE,
)
"""Lists of tools that are no JSON: nano's, Qwen3-Coder's, gpt-oss's and Gemma's."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model and its outcome."""

    agent: str
    text: str
    calls: tuple[str, ...]
    """Calls that were taken out of the reply, after all hooks, as people would jot them down."""
    reading: Reading | None
    end: str = ""
    """End other than a whole reply, such as "aborted"."""
    untold: str = UNTOLD
    """Sentence that stands for a reading that is not there."""


class LastRequest:
    """Model calls of the last request, those of other agents that worked on it included. A subscriber."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[ModelCall] | None = None

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.AgentStart):
            with self._lock:
                self._calls = []
        self._take(event)

    def _take(self, event: events.Event) -> None:
        match event:
            case events.ToolExecutionUpdate(update=events.Event() as inner):  # of a sub-agent
                self._take(inner)
            case events.MessageEnd(message=message, reading=reading) if _is_of_model(message):
                with self._lock:
                    self._calls = [*(self._calls or ()), _of_message(event.agent, message, reading)]

    @property
    def calls(self) -> tuple[ModelCall, ...] | None:
        """The calls in their order, so far; None before the first request."""
        with self._lock:
            return None if self._calls is None else tuple(self._calls)


def explained(calls: Sequence[ModelCall], *, width: int, full: bool = False) -> Iterator[Line]:
    """The lines that explain the calls of one request, without escape sequences of models or people.

    Args:
        width: Columns of a line at most.
        full: The tools of a prompt too, and the part of it that the call before had as well.
    """
    before: Reading | None = None
    for number, call in enumerate(calls, start=1):
        yield Line(f"model call {number} of {len(calls)} · {one_line(call.agent)}", "name")
        if call.reading is None:
            yield Line(f"  {call.untold}", "warning")
        else:
            yield from explained_reading(call.reading, before, width=width, full=full)
            before = call.reading
        yield Line("  what became of it", "bold")
        yield from _wrapped(_outcome(call), width)


def explained_reading(reading: Reading, before: Reading | None, *, width: int, full: bool) -> Iterator[Line]:
    """The lines that explain the reading of a reply.

    Args:
        before: The reading that was shown before this one, whose prompt need not be shown again.
    """
    yield Line("  prompt", "bold")
    for part in [reading.prompt] if full else _folded(reading.prompt, "" if before is None else before.prompt):
        if isinstance(part, Line):
            yield part
        else:
            yield from _block(part, width)
    yield Line("  reply, as it was written", "bold")
    yield from _block(reading.raw, width)
    if not reading.raw:
        yield Line(f"{_INDENT}(nothing)")
    yield Line("  how it was read", "bold")
    yield from _wrapped(_steps(reading, full=full), width)


def _is_of_model(message: Message) -> bool:
    """True for a message that a model wrote, or was asked for; other messages of the assistant have no usage."""
    return message.role == "assistant" and (message.usage is not None or message.stop_reason in ("aborted", "error"))


def _of_message(agent: str, message: Message, reading: Reading | None) -> ModelCall:
    reason = message.stop_reason or "stop"
    return ModelCall(
        agent=agent,
        text=message.text,
        calls=tuple(call_text(call) for call in message.tool_calls),
        reading=reading,
        end=message.error or _ENDS.get(reason, ""),
        untold=_UNTOLD.get(reason, UNTOLD),
    )


_ENDS: Final[dict[str, str]] = {
    "aborted": "stopped before its end",
    "error": "failed",
    "length": "cut: it was too long",
}
_UNTOLD: Final[dict[str, str]] = {
    "aborted": "it was stopped before the model had begun",
    "error": "the model failed before its reply was whole",
}


# --- prompts ----------------------------------------------------------------------------------------------------------


def _folded(prompt: str, before: str) -> Iterator[str | Line]:
    """The prompt in pieces of text, with a line in the place of what is folded: the part that the prompt before had
    as well, up to the last whole line of it, and the tools."""
    at = prompt.rfind("\n", 0, common_length(prompt, before)) + 1
    if at:
        yield Line(f"{_INDENT}… {at:,} characters as in the call before")
    for start, end, count in _tools(prompt):
        if start < at:
            continue
        if prompt[at:start].strip():
            yield prompt[at:start]
        what = f"{count} tool{'' if count == 1 else 's'}" if count else "the tools"
        yield Line(f"{_INDENT}… {what}, {end - start:,} characters")
        at = end
    yield prompt[at:].lstrip("\n")


def _tools(prompt: str) -> list[tuple[int, int, int]]:
    """Finds the places of the prompt that tell of tools: begin, end and number of tools, 0 where it is unknown.

    They are in order, adjacent ones as one.
    """
    found = [(match.start(), match.end(), 0) for match in _TOOL_LISTS.finditer(prompt)]
    at, decoder = 0, json.JSONDecoder()
    while match := _TOOL_BEGINS.search(prompt, at):
        at = match.end()
        try:
            value, end = decoder.raw_decode(prompt, match.start())
        except (ValueError, RecursionError):
            continue
        specs = value if isinstance(value, list) else [value]
        if all(_is_tool(spec) for spec in specs):
            at = end
            found.append((match.start(), end, len(specs)))
    merged: list[tuple[int, int, int]] = []
    for start, end, count in sorted(found):
        if merged and start < merged[-1][1]:
            continue
        last = merged[-1] if merged else (0, 0, 0)
        if count and last[2] and len(prompt[last[1] : start].strip()) <= _SEPARATOR:
            merged[-1] = (last[0], end, last[2] + count)
        else:
            merged.append((start, end, count))
    return merged


def _is_tool(spec: Any) -> bool:
    """True for the description of a tool as templates show it."""
    if not isinstance(spec, dict):
        return False
    told = spec.get("function", spec)
    return isinstance(told, dict) and "name" in told and ("parameters" in told or "description" in told)


# --- replies ----------------------------------------------------------------------------------------------------------


def _steps(reading: Reading, *, full: bool) -> Iterator[str]:
    """Sentences about the way of a reply to its text and its calls."""
    if reading.opener_probability is not None:
        needed = f", {reading.opener_threshold:.4g} is needed" if reading.opener_threshold else ""
        masked = "; so it had to talk" if reading.openers_masked else ""
        yield f"first token: {reading.opener_probability:.4g} for a call{needed}{masked}"
    elif reading.openers_masked:
        yield "first token: it had to talk"
    for step in reading.steps:
        yield f"{one_line(step.part)}: {one_line(step.verdict)}"
    if reading.refused:
        shown = reading.refused if full else reading.refused[:_REFUSED]
        tokens = " ".join(json.dumps(printable(token), ensure_ascii=False) for token in shown)
        rest = len(reading.refused) - len(shown)
        yield f"refused by the grammar: {tokens}{f' and {rest} more' if rest else ''}"
    else:
        yield "refused by the grammar: nothing"


def _outcome(call: ModelCall) -> Iterator[str]:
    if call.text:
        yield f"said: {one_line(call.text)}"
    for made in call.calls:
        yield f"→ {one_line(made)}"
    if call.end:
        yield f"■ {one_line(call.end)}"
    elif not call.text and not call.calls:
        yield "nothing"


# --- lines ------------------------------------------------------------------------------------------------------------


def _block(text: str, width: int) -> Iterator[Line]:
    """Text of a model or a person, line by line, each wrapped behind the indentation."""
    for line in printable(text).rstrip("\n").split("\n") if text else ():
        for piece in _pieces(line, width - len(_INDENT)):
            yield Line(f"{_INDENT}{piece}".rstrip(), "plain")


def _wrapped(sentences: Iterable[str], width: int) -> Iterator[Line]:
    for sentence in sentences:
        for i, piece in enumerate(_pieces(sentence, width - len(_INDENT) - 2)):
            yield Line(f"{_INDENT}{'  ' if i else ''}{piece}", "plain")


def _pieces(line: str, width: int) -> list[str]:
    """A line cut to a width, at blanks where that is possible."""
    return textwrap.wrap(
        line, max(width, _LEAST_WIDTH), expand_tabs=False, replace_whitespace=False, break_on_hyphens=False
    ) or [""]
