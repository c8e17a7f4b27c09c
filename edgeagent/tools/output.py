"""What a body returned, as a result that fits into a prompt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from edgeagent.escapes import values_without_escapes, without_escapes
from edgeagent.messages import ToolCall, ToolResult
from edgeagent.tools.handoff import Handoff

OUTPUT_LIMIT: Final = 8192
"""Characters of a result that reach the model (contract, section 1)."""


def as_result(call: ToolCall, value: Any) -> ToolResult:
    """A result from a returned value: a string as it is, None as "done", anything else as JSON.

    The text has no escape sequences; ``value`` is as it was returned.
    A value that JSON cannot hold is an error that says that the tool did run. Only the policy may deny a call, so
    a ``ToolResult`` that says "denied" is an error.
    """
    if isinstance(value, ToolResult):
        text = value.text
        if not text and value.status == "ok":
            text = as_result(call, value.value).text
        status = "error" if value.status == "denied" else value.status
        return replace(value, call_id=call.id, name=call.name, status=status, text=without_escapes(text))
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


def capped(text: str, limit: int) -> str:
    """The text with its middle cut out if it has more than ``limit`` characters, and a note of how much is gone."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} of {len(text)} characters left out ...]\n"
    keep = max(limit - len(note), 2)
    return text[: (keep + 1) // 2] + note + text[len(text) - keep // 2 :]
