"""Every point of a run as a readable line, to see what a hook would be shown."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

from edgeagent.escapes import without_escapes
from edgeagent.hooks.hook import (
    AfterLLM,
    AfterTool,
    BaseHook,
    BeforeLLM,
    BeforeTool,
    FirePoint,
    HookResult,
    Payload,
    RunStart,
)
from edgeagent.messages import ToolCall

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

_LONGEST: Final = 160
"""Characters of a payload that are shown."""


class EchoingHook(BaseHook):
    """Writes a line at all six points, such as ``[robot] before_tool: drive {"distance_m": 2}``.

    Args:
        stream: Where to; default whatever ``sys.stderr`` is at that moment.
    """

    points = frozenset(FirePoint)

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._failed = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        line = _shortened(f"[{ctx.agent_name or 'agent'}] {point.value}: {_shown(payload)}")
        try:
            stream = self._stream or sys.stderr
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError, AttributeError):  # full, closed, or no stderr at all; before a tool it would block
            if not self._failed:
                self._failed = True
                logger.warning("EchoingHook cannot write to its stream; this is told once", exc_info=True)
        return None


def _shown(payload: Payload) -> str:
    match payload:
        case RunStart(task=task):
            return "continues" if task is None else task.text
        case BeforeLLM(messages=messages, tools=tools, hop=hop):
            last = f"; last: {messages[-1].role}: {messages[-1].text}" if messages else ""
            return f"hop {hop}, {_count(len(messages), 'message')}, {_count(len(tools), 'tool')}{last}"
        case AfterLLM(text=text, tool_calls=calls, hop=hop):
            return f"hop {hop}, {json.dumps(text, ensure_ascii=False)}{''.join(f' → {_call(call)}' for call in calls)}"
        case BeforeTool(call=call):
            return _call(call)
        case AfterTool(call=call, result=result):
            return f"{call.name}: {result.status}: {result.text}"
    return _ended(payload)


def _ended(result: Any) -> str:
    """Of a RunResult, which this room does not know."""
    return f"{result.reason} after {result.elapsed_s:.2f} s: {result.reply}"


def _call(call: ToolCall) -> str:
    arguments = call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False, default=repr)
    return f"{call.name} {arguments}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shortened(text: str) -> str:
    flat = "".join(char if char.isprintable() else " " for char in without_escapes(text))
    flat = " ".join(flat.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
