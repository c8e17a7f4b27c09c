"""Keeps requests within the model's context: older exchanges give way to a summary when there is no room left."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from edgeagent.errors import ConfigError
from edgeagent.hooks.compaction import SUMMARY_SHARE, Count, compact, lowest, shortened, summary_of
from edgeagent.hooks.types import BaseHook, BeforeLLM, FirePoint, HookResult
from edgeagent.llm import LLM, LLMRequest, ToolSpec
from edgeagent.messages import Message

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

_OPTIONS: Final = ("max_tokens", "thinking_level")
"""What a request takes from the run's options that a template may show."""
_CUT: Final = "cut"
_SIZES: Final = "sizes"
_QUOTED_CHARS: Final = 500
"""Of each message that the model is asked to sum up."""
_ASK: Final = (
    "You shorten a conversation between a person and a robot. Write a few short lines: what the person wants and said "
    "of themselves, what the robot did, how it ended. Only facts from the conversation, no comments."
)
_OF_TEMPLATE: Final = 512
"""Tokens that a chat template may add of its own, such as how to call tools."""
_OF_MESSAGE: Final = 64
"""Tokens that it may add to a message, and to each call of one."""


class ContextCompactionHook(BaseHook):
    """BEFORE_LLM, late: a request that would not fit into the budget is compacted; any other is left alone.

    The budget is what the context holds beside the reply. History is not touched: a Session does that after a run, with
    ``shrink``. Later requests of a run are cut at the same place as long as they fit, so that the cached prefix holds.
    A request that cannot be made to fit is left to the model, which raises ModelError.

    Args:
        threshold: Percent of the budget from which on ``shrink`` acts.
        target: Percent of the budget that is left then.
        max_context_tokens: Of prompt and reply, where that should be less than the model's window.
        use_llm: Before a request the model itself writes the summary; that takes its time, and the cached prefix. Where
            it fails, is stopped or says nothing, the summary is put together without it.

    Raises:
        ConfigError: A number is out of its range.
    """

    points = frozenset({FirePoint.BEFORE_LLM})
    priority = -900

    def __init__(
        self, threshold: int = 80, target: int = 50, max_context_tokens: int | None = None, use_llm: bool = False
    ) -> None:
        if not 1 <= threshold <= 100:
            raise ConfigError(f"ContextCompactionHook(threshold={threshold}): it should be a percentage, 1 to 100")
        if not 1 <= target <= threshold:
            raise ConfigError(
                f"ContextCompactionHook(target={target}): it should be a percentage, 1 to the threshold of {threshold}"
            )
        if max_context_tokens is not None and max_context_tokens < 1:
            raise ConfigError(
                f"ContextCompactionHook(max_context_tokens={max_context_tokens}): it should be a whole number from 1 on"
            )
        self.threshold = threshold
        self.target = target
        self.max_context_tokens = max_context_tokens
        self.use_llm = use_llm

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM) -> HookResult | None:
        if ctx.llm is None or not payload.messages:
            return None
        asked = {} if ctx.options is None else {name: getattr(ctx.options, name) for name in _OPTIONS}
        plain = LLMRequest(system=ctx.system, tools=payload.tools, **asked)
        budget = self.budget(ctx.llm, plain.max_tokens)
        if budget < 1:
            return None
        count = _counter(ctx.llm, plain)
        state = ctx.state_of(self)
        cut: _Cut | None = state.get(_CUT)
        messages = cut.applied(payload.messages) if cut else payload.messages
        sizes: _Sizes = state.setdefault(_SIZES, _Sizes())
        if sizes.most_tokens(ctx.system, payload.tools, messages) > budget and count(messages) > budget:
            target = budget * self.target // 100
            shorter = compact(messages, count, budget, target_tokens=target)
            if self.use_llm:
                shorter = _written(ctx.llm, ctx, messages, shorter, count, target)
            state[_CUT] = _Cut.between(payload.messages, shorter)
            messages = shorter
        return None if messages == payload.messages else HookResult.replace(replace(payload, messages=messages))

    def budget(self, llm: LLM, max_tokens: int) -> int:
        """Tokens that a prompt may have."""
        return min(self.max_context_tokens or llm.context_window, llm.context_window) - max_tokens

    def shrink(
        self,
        messages: Sequence[Message],
        *,
        llm: LLM,
        system: str | None,
        tools: Sequence[ToolSpec],
        max_tokens: int,
        force: bool = False,
    ) -> list[Message] | None:
        """The messages compacted to the target, if they reach the threshold; None if they stay as they are.

        Args:
            force: Compact them to the target whatever the threshold is.

        Raises:
            ModelError: The model cannot count: it does not load, or its template fails.
        """
        plain = LLMRequest(system=system, tools=tools, max_tokens=max_tokens)
        budget = self.budget(llm, max_tokens)
        if budget < 1 or not messages:
            return None
        count = _counter(llm, plain)
        if not force:
            enough = -(-budget * self.threshold // 100)
            if _most_tokens(replace(plain, messages=messages)) < enough or count(messages) < enough:
                return None
        shorter = compact(messages, count, budget, target_tokens=budget * self.target // 100)
        return None if shorter == list(messages) else shorter


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a history was cut, so that it can be cut there again when it has grown."""

    summary: Message | None
    gone: frozenset[str]
    changed: dict[str, Message]

    @classmethod
    def between(cls, before: Sequence[Message], after: Sequence[Message]) -> Self:
        known = {message.id: message for message in before}
        new = [message for message in after if message.id not in known]
        return cls(
            summary=new[0] if new else None,
            gone=frozenset(known) - {message.id for message in after},
            changed={m.id: m for m in after if m.id in known and m != known[m.id]},
        )

    def applied(self, messages: list[Message]) -> list[Message]:
        kept = [self.changed.get(message.id, message) for message in messages if message.id not in self.gone]
        # another agent's history, after a handoff, has nothing of what was summed up
        return [self.summary, *kept] if self.summary is not None and len(kept) < len(messages) else kept


def _counter(llm: LLM, plain: LLMRequest) -> Count:
    return lambda messages: llm.count_tokens(replace(plain, messages=list(messages)))


def _most_tokens(request: LLMRequest) -> int:
    """No fewer tokens than the request has."""
    return _Sizes().most_tokens(request.system, request.tools, request.messages)


class _Sizes:
    """Upper bounds of requests, made without a tokeniser: no token of a text stands for less than a byte of it.

    What was measured once is remembered, so that a turn costs what is new in it.
    """

    def __init__(self) -> None:
        self._rest: tuple[Any, int] = (None, 0)
        """The system prompt and the tools, and their size."""
        self._messages: dict[str, tuple[Message, int]] = {}
        """By the message's id: the message and its size."""
        self._arguments: dict[str, list[dict[str, Any]]] = {}
        """By the message's id: those of its calls, the only thing in it that a hook can change in place."""
        self._copied_arguments: dict[str, list[dict[str, Any]]] = {}

    def most_tokens(self, system: str | None, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> int:
        """No fewer tokens than a request of these has."""
        rest = (system, [(tool.name, tool.description, tool.parameters) for tool in tools])
        written = self._rest
        if written[0] != rest:
            written = self._rest = copy.deepcopy(rest), len(_as_json(rest))
        size = written[1] + _OF_TEMPLATE
        if self._arguments != self._copied_arguments:
            for remembered in (self._messages, self._arguments, self._copied_arguments):
                remembered.clear()
        for message in messages:
            known = self._messages.get(message.id)
            if known is None or known[0] is not message:
                known = self._measured(message)
            size += known[1]
        return size

    def _measured(self, message: Message) -> tuple[Message, int]:
        if message.tool_calls:
            arguments = [call.arguments for call in message.tool_calls]
            self._arguments[message.id] = arguments
            self._copied_arguments[message.id] = copy.deepcopy(arguments)
        known = self._messages[message.id] = message, _size(message)
        return known


def _size(message: Message) -> int:
    """Characters that a template writes of a message, at most."""
    texts = [message.text, message.call_id, message.name]
    for call in message.tool_calls:
        texts += [call.id, call.name, call.raw, _as_json(call.arguments)]
    return sum(len(json.dumps(text)) for text in texts if text) + _OF_MESSAGE * (1 + len(message.tool_calls))


def _as_json(value: Any) -> str:
    """Indented, with escapes: no template writes it longer."""
    return json.dumps(value, indent=4, default=str)


def _written(
    llm: LLM, ctx: AgentContext, before: Sequence[Message], shorter: list[Message], count: Count, target: int
) -> list[Message]:
    """The shorter messages with a summary that the model wrote, if it could and that one is no longer."""
    known = {message.id for message in before}
    if shorter[0].id in known:  # nothing was summed up
        return shorter
    kept = {message.id for message in shorter}
    told = [line for message in before if message.id not in kept for line in _quoted(message)]
    room = max(target // SUMMARY_SHARE, 1)

    def ask(dropped: int) -> LLMRequest:
        conversation = Message.user("\n".join(told[dropped:]))
        return LLMRequest(system=_ASK, messages=[conversation], max_tokens=room)

    def fits(dropped: int) -> bool:
        return llm.count_tokens(ask(dropped)) + room <= llm.context_window

    try:
        reply = llm.complete(ask(lowest(0, len(told), fits)), ctx.stop_event)
    except Exception:  # any engine's; a summary is to be had without it
        logger.exception("the model could not write a summary; one is put together without it")
        return shorter
    lines = [line.rstrip() for line in reply.text.splitlines() if line.strip()]
    written = [summary_of(lines), *shorter[1:]]
    if reply.stop_reason in ("error", "aborted") or not lines or count(written) > max(target, count(shorter)):
        logger.info("the model's summary is of no use (%s); one is put together without it", reply.stop_reason)
        return shorter
    return written


def _quoted(message: Message) -> list[str]:
    """A message for the model to sum up."""
    if message.origin == "summary":
        return message.text.splitlines()
    calls = [
        f"{message.role} calls {call.name} {json.dumps(call.arguments, default=str)}" for call in message.tool_calls
    ]
    who = f"tool {message.name} ({message.status})" if message.role == "tool" else message.role
    said = [f"{who}: {message.text}"] if message.text.strip() else []
    return [shortened(line, _QUOTED_CHARS) for line in [*said, *calls]]
