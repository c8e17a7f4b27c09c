"""Requests to an LLM, its streamed events, and the protocol between: the seam under which engines are exchanged.

The lock that a stream holds is here too, so that a scripted model loads no engine. Knows nothing of agents, tools'
bodies or sessions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

from edgeagent.errors import BusyError
from edgeagent.messages import Message, Reading, StopReason, ToolCall, Usage
from edgeagent.stop import STOP_POLL_S

IN_WORDS: Final = "Answer in words."
"""Told to a model that is to talk, with one request only. After a tool's result both Qwen2.5-Coder report it with this
hint, and without the hint write the call once more, or nothing (docs/models.md)."""

ToolChoice = Literal["auto", "none", "required"]


class ToolSpec(Protocol):
    """Facts that a model is told of a tool. ``parameters`` is a JSON Schema of type object."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
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


Outcome = Literal["called", "misfit", "unknown", "dropped"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """Text of a reply that is never told, because it has the shape of calls.

    ``outcome`` says what became of it: "called": each call fits, and came as ``ToolCallEnd``; "misfit": each names a
    tool that was offered, and some do not fit it, so none counts; "unknown": there is no such tool, or somebody else's
    words were repeated; "dropped": the reply says or calls something beside it.
    """

    raw: str
    """The reply as the model wrote it."""
    outcome: Outcome
    why: str
    """The reason, for people."""
    calls: tuple[ToolCall, ...] = ()
    """The calls of a misfit."""
    faults: tuple[str, ...] = ()
    """For each of them why it does not fit, for the model; empty if it does."""


@dataclass(frozen=True, slots=True)
class End:
    """The stream is complete; nothing follows."""

    stop_reason: StopReason
    usage: Usage = Usage()
    reading: Reading | None = None
    """The reply as it was written and read, for people who ask why; None of a model that does not tell."""
    hidden: Hidden | None = None
    """Text that was not told."""


LLMEvent = TextDelta | TextEnd | ThinkingDelta | ThinkingEnd | ToolCallEnd | Error | End


@runtime_checkable
class LLM(Protocol):
    """A model. ``stream`` must end with ``End`` or ``Error`` and must stop within one token of ``stop_event``. Several
    threads may ask at once; the model answers one after the other.

    A model that cannot be used at all (no file, a prompt longer than the window) raises ``ModelError`` instead. The
    loop refuses a prompt that is too long itself, unless the model has an attribute ``checks_window`` that is true.
    """

    if TYPE_CHECKING:  # read-only for type checkers; who inherits may set them

        @property
        def name(self) -> str: ...
        @property
        def context_window(self) -> int: ...

    else:
        name: str
        context_window: int

    def stream(self, request: LLMRequest, stop_event: Event) -> Iterator[LLMEvent]: ...
    def complete(self, request: LLMRequest, stop_event: Event) -> Message: ...
    def tokenize(self, request: LLMRequest) -> list[int]: ...
    def count_tokens(self, request: LLMRequest) -> int: ...
    def close(self) -> None: ...


def load_weights(llm: LLM) -> None:
    """Loads the weights of a model now and not with its first request, if the model can.

    Raises:
        ModelError: They don't load.
    """
    load = getattr(llm, "load", None)
    if callable(load):
        load()


def drain(stream: Iterable[LLMEvent]) -> Message:
    """The assistant message that a stream adds up to."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[ToolCall] = []
    stop_reason: StopReason = "error"
    error: str | None = "the stream ended without End or Error"
    usage = Usage()
    raw: str | None = None
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
            case End(reason, spent, hidden=hidden):
                stop_reason, error, usage = reason, None, spent
                raw = hidden.raw if hidden else None
            case TextEnd(whole):  # what left as text may turn out to have been reasoning
                text = [whole]
            case ThinkingEnd(whole):
                thinking = [whole]
    return Message(
        "assistant",
        "".join(text),
        thinking="".join(thinking),
        raw=raw,
        tool_calls=tuple(calls),
        stop_reason=stop_reason,
        error=error,
        usage=usage,
    )


# --- the lock that a stream holds -------------------------------------------------------------------------------------


class InferenceLock:
    """Held for one generation and nothing else. Two threads in one llama context abort the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def hold(self, stop_event: threading.Event) -> Iterator[bool]:
        """Waits for the model; gives False when ``stop_event`` was set first, and then holds nothing.

        Raises:
            BusyError: This thread is inside a stream of the same model, and would wait for itself.
        """
        if self._owner == threading.get_ident():
            raise BusyError("a model call from inside a stream of the same model would wait for itself")
        while not self._lock.acquire(timeout=STOP_POLL_S):
            if stop_event.is_set():
                yield False
                return
        self._owner = threading.get_ident()
        try:
            yield True
        finally:
            self._owner = None
            self._lock.release()

    @contextmanager
    def attempt(self) -> Iterator[bool]:
        """Takes the model if nobody has it; gives False when somebody does, and then holds nothing."""
        held = self._lock.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._lock.release()
