"""Marks of templates that a model leaves in its text: those of results, which it makes up then, and tags of calls.

Stateless. Knows neither tools nor results; ``reply_reader`` decides what becomes of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from edgeagent.llm.parsers.alone import Open
from edgeagent.llm.parsers.json_calls import ARGS, CALL_ID, MISTRAL_CALLS, MISTRAL_RESULTS, PYTHON_TAG

_RESULTS: Final = (
    "<tool_response",
    "<tool_result",
    "<tool_output",
    "<function_response",
    "<function_result",
    "<|tool_response",
    "<|tool_result",
    "<|tool_output",
    "<start_function_response",
    "<|observation|>",
    "<|start_of_role|>tool_response",
    "<\uff5ctool\u2581output",
    MISTRAL_RESULTS,
    "```tool_response",
    "```tool_result",
    "```tool_output",
)
"""Beginnings of results: Qwen and Hermes, Gemma, LFM2, GLM, Granite, DeepSeek, Mistral, and fences that models make of
them."""
_TEXTS: Final = (MISTRAL_CALLS, CALL_ID, ARGS, "[/TOOL_CALLS]", "[/TOOL_RESULTS]")
_TAGGED: Final = ("tool", "function=", "function_", "function>", "parameter", "start_function_", "end_function_")
_TAG: Final = re.compile(
    r"<[/|\uff5c]?(?:tool|function\b|function_|parameter|start_function_|end_function_)"
    r"[\w\u2581-]{0,40}(?:=[^<>\n]{0,60})?[|\uff5c]?>"
)
_TAG_BEGUN: Final = re.compile(r"<[/|\uff5c]?([\w\u2581-]{0,60}(?:=[^<>\n]{0,60})?)[|\uff5c]?")
_REST_OF_TAG: Final = re.compile(r"[^<>\n{\[]{0,80}>?")
_REST_OF_FENCE: Final = re.compile(r"\w*")
_RESULT_ENDS: Final = re.compile(r"</|\[/|<\||<tool_|<end_|<\uff5c|\n\s*```")


@dataclass(frozen=True, slots=True)
class TemplateMark:
    """The first ``end`` characters of a text are a mark. One of a result says that what follows is no speech."""

    end: int
    of_result: bool


def read_mark(text: str, *, final: bool) -> TemplateMark | Open | None:
    """Reads the mark at the start of a text; None if it begins otherwise.

    Code behind a python tag is a call of a tool that nobody offered: no speech either, as a result is none.

    Args:
        text: What came so far.
        final: Nothing follows.
    """
    for known in (*_RESULTS, PYTHON_TAG):
        if text.startswith(known):
            end = _opener_ends(text, known)
            goes_on = end == len(text) and not text.endswith((">", "]"))
            return "open" if goes_on and not final else TemplateMark(end, True)
    for known in _TEXTS:
        if text.startswith(known):
            return TemplateMark(len(known), False)
    if tag := _TAG.match(text):
        return TemplateMark(tag.end(), False)
    return "open" if not final and _may_begin(text) else None


def result_in(text: str, *, final: bool) -> str | None:
    """The result that stands behind its opener, up to its closing mark; None while more of it may come."""
    ends = _RESULT_ENDS.search(text)
    if ends is None and not final:
        return None
    return text[: ends.start()] if ends else text


def _opener_ends(text: str, known: str) -> int:
    """The place behind the mark that begins as a known one."""
    if known.endswith((">", "]")):
        return len(known)
    rest = (_REST_OF_FENCE if known.startswith("`") else _REST_OF_TAG).match(text, len(known))
    return rest.end() if rest else len(known)


def _may_begin(text: str) -> bool:
    if any(known.startswith(text) for known in (*_RESULTS, *_TEXTS, PYTHON_TAG)):
        return True
    begun = _TAG_BEGUN.fullmatch(text)
    return begun is not None and any(known.startswith(begun[1]) or begun[1].startswith(known) for known in _TAGGED)
