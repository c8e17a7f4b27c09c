"""Keeps requests within the model's context: older exchanges give way to a summary when there is no room left."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks.compaction import (
    MOST_CHARS_PER_TOKEN,
    SUMMARY_SHARE,
    Count,
    compact,
    lowest,
    shortened,
    summary_of,
)
from edgeagent.hooks.hook import BaseHook, BeforeLLM, FirePoint, HookResult
from edgeagent.llm import LLM, LLMRequest, ToolSpec
from edgeagent.llm.window import RequestSizes
from edgeagent.messages import Message

logger = logging.getLogger(__name__)

_OPTIONS: Final = ("max_tokens", "thinking_level")
"""Fields that a request takes from the run's options that a template may show."""
_CUT: Final = "cut"
_QUOTED_CHARS: Final = 500
"""Of each message that the model is asked to sum up."""
_ASK: Final = (
    "You shorten a conversation between a person and a robot. Write a few short lines: what the person wants and said "
    "of themselves, what the robot did, how it ended. Only facts from the conversation, no comments."
)


class ContextCompactionHook(BaseHook):
    """BEFORE_LLM, late: a request that would not fit into the budget is compacted; any other is left alone.

    The budget is what the context holds beside the reply. History is not touched: a Session does that after a run, with
    ``shrink``. Later requests of a run are cut at the same place as long as they fit, so that the cached prefix holds.
    A request that cannot be made to fit is left to the model, which raises ModelError. A stop of the run, its deadline
    too, ends the work between two counts: then everything stays as it is.

    Args:
        threshold: Percent of the budget from which on ``shrink`` acts.
        target: Percent of the budget that is left then.
        max_context_tokens: Of prompt and reply, where that should be less than the model's window.
        use_llm: The model itself writes the summary, before a request and at the end of a run; that takes its time, and
            the cached prefix. Where it fails or says nothing, the summary is put together without it.

    Raises:
        ConfigError: A number is out of its range.
    """

    points = frozenset({FirePoint.BEFORE_LLM})
    priority = -900

    def __init__(
        self, threshold: int = 80, target: int = 50, max_context_tokens: int | None = None, use_llm: bool = False
    ) -> None:
        if not _is_count(threshold) or threshold > 100:
            raise ConfigError(f"ContextCompactionHook(threshold={threshold!r}): it should be a percentage, 1 to 100")
        if not _is_count(target) or target > threshold:
            raise ConfigError(
                f"ContextCompactionHook(target={target!r}): it should be a percentage, 1 to the threshold, {threshold}"
            )
        if max_context_tokens is not None and not _is_count(max_context_tokens):
            raise ConfigError(
                f"ContextCompactionHook(max_context_tokens={max_context_tokens!r}): it should be a number from 1 on"
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
        state = ctx.state_of(self)
        cut: _Cut | None = state.get(_CUT)
        messages = cut.applied(payload.messages) if cut else payload.messages
        if (ctx.sizes or RequestSizes()).may_exceed(budget, ctx.system, payload.tools, messages):
            try:
                shorter = self._compacted(messages, ctx.llm, plain, budget, ctx.stop_event, above=budget)
            except _StoppedError:
                return None
            if shorter != messages:
                state[_CUT], messages = _Cut.of(payload.messages, shorter), shorter
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
        stop_event: threading.Event,
        force: bool = False,
        ask: bool = True,
    ) -> list[Message] | None:
        """The messages compacted to the target, if they reach the threshold; None if they stay as they are.

        Args:
            stop_event: Ends the work between two counts; then the messages stay as they are.
            force: Compact them to the target whatever the threshold is.
            ask: False: the model writes no summary, whatever ``use_llm`` says.

        Raises:
            ModelError: The model cannot count: it does not load, or its template fails.
        """
        plain = LLMRequest(system=system, tools=tools, max_tokens=max_tokens)
        budget = self.budget(llm, max_tokens)
        if budget < 1 or not messages:
            return None
        stays = -1 if force else -(-budget * self.threshold // 100) - 1
        if not RequestSizes().may_exceed(stays, system, tools, messages):
            return None
        try:
            shorter = self._compacted(messages, llm, plain, budget, stop_event, above=stays, ask=ask)
        except _StoppedError:
            return None
        return None if shorter == list(messages) else shorter

    def _compacted(
        self,
        messages: Sequence[Message],
        llm: LLM,
        plain: LLMRequest,
        budget: int,
        stop_event: threading.Event,
        *,
        above: int,
        ask: bool = True,
    ) -> list[Message]:
        """The messages in the target's tokens if they have more than ``above``; as ``use_llm`` says, the model sums up.

        Raises:
            _StoppedError: The stop came first.
        """

        def count(messages: Sequence[Message]) -> int:
            if stop_event.is_set():
                raise _StoppedError
            return llm.count_tokens(replace(plain, messages=list(messages)))

        target = budget * self.target // 100
        shorter = compact(messages, count, budget, target_tokens=target, above=max(above, target))
        if not self.use_llm or not ask:
            return shorter
        return _written(llm, messages, shorter, count, target, stop_event)


class _StoppedError(Exception):
    """The run was stopped: the history is compacted another time."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Place at which a history was cut, so that it can be cut there again when it has grown."""

    summary: Message | None
    first: str
    """Id of the first message that was kept; all before it is gone."""
    changed: dict[str, Message]

    @classmethod
    def of(cls, before: Sequence[Message], after: Sequence[Message]) -> Self:
        known = {message.id: message for message in before[-len(after) :]}
        kept = [message for message in after if message.id in known]
        return cls(
            summary=None if after[0] is kept[0] else after[0],
            first=kept[0].id,
            changed={message.id: message for message in kept if message != known[message.id]},
        )

    def applied(self, messages: list[Message]) -> list[Message]:
        """The messages as they are cut; another agent's history, after a handoff, has nothing of what was summed up."""
        start = next((i for i in reversed(range(len(messages))) if messages[i].id == self.first), None)
        if start is None:
            return messages
        kept = [self.changed.get(message.id, message) for message in messages[start:]]
        return kept if self.summary is None or start == 0 else [self.summary, *kept]


def _written(
    llm: LLM,
    before: Sequence[Message],
    shorter: list[Message],
    count: Count,
    target: int,
    stop_event: threading.Event,
) -> list[Message]:
    """The shorter messages with a summary that the model wrote, if it could and that one is no longer.

    Raises:
        _StoppedError: The stop came first.
    """
    if shorter[0].id == before[len(before) - len(shorter)].id:  # nothing was summed up
        return shorter
    gone = before[: len(before) - len(shorter) + 1]
    room = max(target // SUMMARY_SHARE, 1)
    told: list[str] = []
    chars = 0
    for message in reversed(gone):  # the newest, as much as the model could read
        if chars > llm.context_window * MOST_CHARS_PER_TOKEN:
            break
        lines = _quoted(message)
        told[:0] = lines
        chars += sum(map(len, lines))

    def ask(dropped: int) -> LLMRequest:
        conversation = Message.user("\n".join(told[dropped:]))
        return LLMRequest(system=_ASK, messages=[conversation], max_tokens=room)

    def fits(dropped: int) -> bool:
        return llm.count_tokens(ask(dropped)) + room <= llm.context_window

    try:
        reply = llm.complete(ask(lowest(0, len(told), fits)), stop_event)
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


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 1
