"""What an LLM is asked, what it streams back, and the protocol between: the seam under which engines are exchanged.

Knows nothing of agents, tools' bodies or sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal, Protocol, runtime_checkable

from edgeagent.messages import Message, StopReason, ToolCall, Usage

ToolChoice = Literal["auto", "none", "required"]


class ToolSpec(Protocol):
    """What a model is told of a tool. ``parameters`` is a JSON Schema of type object."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRequest:
    """One model call. ``temperature`` 0 is greedy; None leaves the choice to the model's own setting."""

    system: str | None = None
    messages: Sequence[Message] = ()
    tools: Sequence[ToolSpec] = ()
    tool_choice: ToolChoice = "auto"
    temperature: float | None = None
    max_tokens: int = 256
    thinking_level: str | None = None
    response_schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """The whole text of the reply, once it is complete. Where it differs from the deltas, this is right."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    """The whole reasoning so far, where a block of it ends; text that came before may have been part of it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """One complete call; with ``call.raw`` set, its arguments were not JSON."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Error:
    """The stream failed after it began; nothing follows."""

    message: str
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class End:
    """The stream is complete; nothing follows."""

    stop_reason: StopReason
    usage: Usage = Usage()


LLMEvent = TextDelta | TextEnd | ThinkingDelta | ThinkingEnd | ToolCallEnd | Error | End


@runtime_checkable
class LLM(Protocol):
    """A model. ``stream`` must end with ``End`` or ``Error`` and must stop within one token of ``stop_event``.

    A model that cannot be used at all (no file, a prompt longer than the window) raises ``ModelError`` instead. The
    loop refuses a prompt that is too long itself, unless the model has an attribute ``checks_window`` that is true.
    """

    @property
    def name(self) -> str: ...
    @property
    def context_window(self) -> int: ...
    def stream(self, request: LLMRequest, stop_event: Event) -> Iterator[LLMEvent]: ...
    def complete(self, request: LLMRequest, stop_event: Event) -> Message: ...
    def tokenize(self, request: LLMRequest) -> list[int]: ...
    def count_tokens(self, request: LLMRequest) -> int: ...
    def close(self) -> None: ...


def drain(stream: Iterable[LLMEvent]) -> Message:
    """The assistant message that a stream adds up to."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[ToolCall] = []
    stop_reason: StopReason = "error"
    error: str | None = "the stream ended without End or Error"
    usage = Usage()
    for event in stream:
        match event:
            case TextDelta(piece):
                text.append(piece)
            case ThinkingDelta(piece):
                thinking.append(piece)
            case ToolCallEnd(call):
                calls.append(call)
            case Error(message, spent):
                stop_reason, error, usage = "error", message, spent
            case End(reason, spent):
                stop_reason, error, usage = reason, None, spent
            case TextEnd(whole):  # what left as text may turn out to have been reasoning
                text = [whole]
            case ThinkingEnd(whole):
                thinking = [whole]
    return Message(
        "assistant",
        "".join(text),
        thinking="".join(thinking),
        tool_calls=tuple(calls),
        stop_reason=stop_reason,
        error=error,
        usage=usage,
    )
