"""A model that says what a script says: for tests of agents, ours and a builder's.

It has the signatures of ``LlamaLLM``, takes the same inference lock and stops between any two tokens.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

from edgeagent.llm import (
    End,
    Error,
    LLMEvent,
    LLMRequest,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
)
from edgeagent.llm.protocol import InferenceLock, drain
from edgeagent.messages import Message, StopReason, ToolCall, Usage, new_id


class Script(TypedDict, total=False):
    """A reply in full. ``error`` ends the stream with an Error; ``stop`` is the stop reason."""

    text: str
    thinking: str
    calls: list[ToolCall]
    stop: StopReason
    usage: Usage
    error: str


Reply = str | list[ToolCall] | Script | BaseException
Scripted = Reply | Callable[[LLMRequest], Reply]


class _Call:
    """Makes the calls of a script: ``call("drive", distance_m=1)``, ``call.raw("drive", '{"distance_m":')``."""

    def __call__(self, name: str, /, **arguments: Any) -> ToolCall:
        return ToolCall(new_id("call"), name, arguments)

    def raw(self, name: str, text: str) -> ToolCall:
        """A call whose arguments are text that nobody has parsed."""
        return ToolCall(new_id("call"), name, {}, text)


call = _Call()


class ScriptExhaustedError(AssertionError):
    """The agent asked for more replies than the script has."""


class ScriptedLLM:
    """Plays replies in order, one token per word.

    Args:
        replies: Each a text, a list of calls, a ``Script``, an exception to raise, or a function of the request that
            returns one of these.
        token_delay_s: Before each token; a stop ends the wait.
        prefill_delay_s: Before the first token; a stop ends the wait.

    Attributes:
        requests: Every request, in order.
        emitted: How many tokens were streamed.
    """

    def __init__(
        self,
        *replies: Scripted,
        token_delay_s: float = 0,
        prefill_delay_s: float = 0,
        context_window: int = 4096,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.context_window = context_window
        self.requests: list[LLMRequest] = []
        self.emitted = 0
        self._replies = list(replies)
        self._next = 0
        self._token_delay_s = token_delay_s
        self._prefill_delay_s = prefill_delay_s
        self._lock = InferenceLock()

    @property
    def remaining(self) -> int:
        """Replies that nobody asked for yet."""
        return len(self._replies) - self._next

    def stream(self, request: LLMRequest, stop_event: threading.Event) -> Iterator[LLMEvent]:
        """Streams the next reply.

        Raises:
            ScriptExhaustedError: There is none.
        """
        with self._lock.hold(stop_event) as held:
            if not held:
                yield End("aborted")
                return
            self.requests.append(request)
            yield from self._play(self._reply(request), request, stop_event)

    def _reply(self, request: LLMRequest) -> Script:
        if not self.remaining:
            raise ScriptExhaustedError(f"the script of {self.name!r} has only {len(self._replies)} replies")
        reply = self._replies[self._next]
        self._next += 1
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, str):
            return {"text": reply}
        if isinstance(reply, list):
            return {"calls": reply}
        return reply

    def _play(self, reply: Script, request: LLMRequest, stop_event: threading.Event) -> Iterator[LLMEvent]:
        spent = 0
        counted = Usage(self.count_tokens(request), 0)
        if self._wait(self._prefill_delay_s, stop_event):
            yield End("aborted", counted)
            return
        for channel, text in (("thinking", reply.get("thinking", "")), ("text", reply.get("text", ""))):
            for token in _tokens(text):
                if self._wait(self._token_delay_s, stop_event):
                    yield End("aborted", counted + Usage(0, spent))
                    return
                spent += 1
                self.emitted += 1
                yield ThinkingDelta(token) if channel == "thinking" else TextDelta(token)
            if text:
                yield ThinkingEnd(text) if channel == "thinking" else TextEnd(text)
        calls = reply.get("calls", [])
        for made in calls:
            if self._wait(self._token_delay_s, stop_event):
                yield End("aborted", counted + Usage(0, spent))
                return
            spent += 1
            self.emitted += 1
            yield ToolCallEnd(made)
        usage = reply.get("usage") or counted + Usage(0, spent)
        if "error" in reply:
            yield Error(reply["error"], usage)
        else:
            yield End(reply.get("stop") or ("tool_calls" if calls else "stop"), usage)

    @staticmethod
    def _wait(delay_s: float, stop_event: threading.Event) -> bool:
        """True if the stop came first. ``is_set`` is asked again because a stop may be a union of events."""
        return stop_event.is_set() or (delay_s > 0 and stop_event.wait(delay_s)) or stop_event.is_set()

    def complete(self, request: LLMRequest, stop_event: threading.Event) -> Message:
        """The message that the stream adds up to."""
        return drain(self.stream(request, stop_event))

    def tokenize(self, request: LLMRequest) -> list[int]:
        """One id per word of the rendered request; the same word always has the same id within a process."""
        return [hash(word) & 0x7FFFFFFF for word in self._render(request).split()]

    def count_tokens(self, request: LLMRequest) -> int:
        return len(self._render(request).split())

    @staticmethod
    def _render(request: LLMRequest) -> str:
        tools = [json.dumps([tool.name, tool.description, tool.parameters]) for tool in request.tools]
        said = [
            f"{message.text} {' '.join(made.name + ' ' + json.dumps(made.arguments) for made in message.tool_calls)}"
            for message in request.messages
        ]
        return "\n".join([request.system or "", *tools, *said])

    def close(self) -> None:
        """Nothing to free."""


def _tokens(text: str) -> list[str]:
    """The words of the text, each with the white space before it, and the last with what follows it: joined they are
    the text again. White space alone is one token."""
    return re.findall(r"\s*\S+(?:\s+\Z)?|\A\s+\Z", text)
