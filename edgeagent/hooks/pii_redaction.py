"""Personal data and secrets in what people say and what tools return: a warning, or a placeholder for the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from edgeagent.context import AgentContext
from edgeagent.hooks.hook import AfterTool, BaseHook, BeforeLLM, FirePoint, HookResult, Payload, RunStart
from edgeagent.messages import PEOPLE, Message, ToolResult
from edgeagent.pii import PII, Mode, find, redact

_WARNED: Final = "warned"
_QUOTED: Final = PEOPLE | {"note", "summary"}
"""A summary repeats what people said, also what was said before it was redacted; a note tells what a tool returned."""


class PIIHook(BaseHook):
    """ON_RUN_START: the task. BEFORE_LLM: what came by steering or follow-up, and what history still holds of it and of
    results. AFTER_TOOL: the text of results; ``value`` stays as it is.

    "warn" gives a notice that names the kinds, never the data, once a message. "redact" changes the task before it is
    stored; other messages in the request's copies only. If it fails, the run ends: nothing may pass unseen.

    Raises:
        ConfigError: ``pii`` is no PII.
    """

    points = frozenset({FirePoint.ON_RUN_START, FirePoint.BEFORE_LLM, FirePoint.AFTER_TOOL})
    priority = 900
    fail_closed = True

    def __init__(self, pii: PII | Mode) -> None:
        self.pii = PII.of(pii)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        match payload:
            case RunStart():
                return self._task(ctx, payload)
            case BeforeLLM():
                return self._request(ctx, payload)
            case AfterTool():
                return self._result(ctx, payload)
        return None

    def _task(self, ctx: AgentContext, payload: RunStart) -> HookResult | None:
        if self.pii.user == "warn":
            earlier = ctx.history()
            ctx.state_of(self).setdefault(_WARNED, set()).update(message.id for message in earlier)
            self._warn(ctx, [payload.task] if payload.task else [])
        if self.pii.user != "redact" or payload.task is None or not find(payload.task.text):
            return None
        return HookResult.replace(replace(payload, task=_redacted(payload.task)))

    def _request(self, ctx: AgentContext, payload: BeforeLLM) -> HookResult | None:
        if self.pii.user == "warn":
            self._warn(ctx, payload.messages)
        if "redact" not in (self.pii.user, self.pii.tools):
            return None
        messages = [_redacted(message) if self._hides(message) else message for message in payload.messages]
        return HookResult.replace(replace(payload, messages=messages))

    def _hides(self, message: Message) -> bool:
        if message.role == "tool":  # of a call that was interrupted, or from before there was this hook
            return self.pii.tools == "redact"
        return self.pii.user == "redact" and message.role == "user" and message.origin in _QUOTED

    def _result(self, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        result: ToolResult = payload.result
        if self.pii.tools == "off" or not (kinds := _kinds(result.text)):
            return None
        if self.pii.tools == "warn":
            ctx.notice("warning", f"what {payload.call.name} returned looks like personal data: {kinds}")
            return None
        return HookResult.replace(replace(payload, result=replace(result, text=redact(result.text))))

    def _warn(self, ctx: AgentContext, messages: Sequence[Message]) -> None:
        warned = ctx.state_of(self).setdefault(_WARNED, set())
        for message in messages:
            if message.role == "user" and message.origin in PEOPLE and message.id not in warned:
                warned.add(message.id)
                if kinds := _kinds(message.text):
                    ctx.notice("warning", f"what was said looks like personal data: {kinds}")


def _redacted(message: Message) -> Message:
    return replace(message, text=redact(message.text))


def _kinds(text: str) -> str:
    """The kinds found, each once, in the order of the text; empty if there are none."""
    return ", ".join(dict.fromkeys(match.kind for match in find(text)))
