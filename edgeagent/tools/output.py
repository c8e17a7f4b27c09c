"""Output of a body, as a result that fits into a prompt."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any, Final, get_args

from pydantic_core import PydanticSerializationError, to_jsonable_python

from edgeagent.characters import values_without_escapes, without_escapes
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.tools.tool import Handoff

logger = logging.getLogger(__name__)
OF_BODY: Final = frozenset({"ok", "error"})
"""Statuses that a body may return; the others say what the loop did with a call."""
OF_HOOK: Final = frozenset(get_args(Status)) - {"denied"}
"""Statuses that a hook may give; only ``policy_check`` denies."""
OUTPUT_LIMIT: Final = 8192
"""Characters of a result that reach the model."""


def as_result(call: ToolCall, value: Any, *, may: frozenset[str] = OF_BODY) -> ToolResult:
    """A result from a returned value: a string as it is, None as "done", anything else as JSON.

    The text has no escape sequences; ``value`` is as it was returned.
    A value that JSON cannot hold is an error that says that the tool did run.

    Args:
        may: Statuses that a ``ToolResult`` may have; one with another is an error.
    """
    if isinstance(value, ToolResult):
        text = value.text
        if not text and value.status == "ok":
            text = as_result(call, value.value).text
        made = replace(value, call_id=call.id, name=call.name, text=without_escapes(text))
        return with_status(made, may)
    if isinstance(value, Handoff):
        return ToolResult(call.id, call.name, "ok", f"handed to {value.target_name}", value)
    if isinstance(value, str):
        return ToolResult(call.id, call.name, "ok", without_escapes(value), value)
    if value is None:
        return ToolResult(call.id, call.name, "ok", "done", None)
    try:
        text = json.dumps(values_without_escapes(to_jsonable_python(value)), ensure_ascii=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        text = f"{call.name} ran, but what it returned cannot be shown: {error}"
        return ToolResult(call.id, call.name, "error", text, value)
    return ToolResult(call.id, call.name, "ok", text, value)


def with_status(result: ToolResult, may: frozenset[str]) -> ToolResult:
    """The result, or an error in its place if it has a status that its maker may not give."""
    if result.status in may:
        return result
    given = ", ".join(sorted(may))
    told = f"{result.name} gave a result with the status {result.status!r}; it should be one of: {given}"
    logger.warning("%s", told)
    return replace(result, status="error", text=result.text or told)


def capped(text: str, limit: int) -> str:
    """The text with its middle cut out if it has more than ``limit`` characters, and a note of how much is gone."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} of {len(text)} characters left out ...]\n"
    keep = max(limit - len(note), 2)
    return text[: (keep + 1) // 2] + note + text[len(text) - keep // 2 :]
