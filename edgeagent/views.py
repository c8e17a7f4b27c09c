"""Other ways to follow a run, each a view on its one event log: callbacks, text streams, and a prompt's event stream.

Callbacks and text are event subscribers on the loop's thread, which isolates a callback that raises. ``ask`` runs on a
tool's thread, and the event stream of a prompt on its reader's.
"""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, Protocol, TextIO

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.agent.run_options import check_callback
from edgeagent.characters import without_escapes
from edgeagent.errors import EdgeAgentError
from edgeagent.messages import Message, ToolCall, ToolResult
from edgeagent.stop import STOP_POLL_S

logger = logging.getLogger(__name__)
__all__ = ["Answer", "Callbacks", "PromptEvent", "PromptStream", "Unanswered", "Writers", "prompt"]


@dataclass(frozen=True, slots=True, eq=False)
class Callbacks:
    """Functions to call as a run goes on.

    Attributes:
        on_content: Each piece of what the assistant says, as it comes; a text that is not streamed comes whole.
        on_reasoning: Each piece of its thinking, as it comes.
        on_tool_call_start: The calls of a reply, before the first of them starts, each with ``name`` and ``arguments``
            (as text where nobody has parsed them). A reply that was cut starts none.
        on_tool_result: The name and the result of each call, in the order in which they end.
        on_question: The questions of a tool to the user, and where to put the answer; on a thread of its own.
    """

    on_content: Callable[[str], object] | None = None
    on_reasoning: Callable[[str], object] | None = None
    on_tool_call_start: Callable[[list[dict[str, Any]]], object] | None = None
    on_tool_result: Callable[[str, ToolResult], object] | None = None
    on_question: Callable[[list[str], Answer], object] | None = None
    _streamed: dict[str, str] = field(default_factory=dict, init=False, repr=False)  # of the present message, by run

    def __post_init__(self) -> None:
        for name in ("on_content", "on_reasoning", "on_tool_call_start", "on_tool_result", "on_question"):
            given = getattr(self, name)
            if given is not None:
                check_callback(given, f"Callbacks({name}={{}})")

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.MessageUpdate(channel="text", delta=delta) if self.on_content is not None:
                self._streamed[event.run_id] = self._streamed.get(event.run_id, "") + delta
                if delta:
                    self.on_content(delta)
            case events.MessageUpdate(channel="thinking", delta=delta) if self.on_reasoning is not None:
                self.on_reasoning(delta)
            case events.MessageEnd(message=message) if message.role == "assistant":
                self._ended(message, self._streamed.pop(event.run_id, None))
            case events.ToolExecutionEnd(call=call, result=result) if self.on_tool_result is not None:
                self.on_tool_result(call.name, result)

    def _ended(self, message: Message, streamed: str | None) -> None:
        if message.origin != "user":
            return  # a copy, such as the reply of the agent that was handed over to: it has been told already
        if self.on_content is not None:
            rest = _not_yet_said(message.text, streamed)
            if rest:
                self.on_content(rest)
        if self.on_tool_call_start is not None and message.tool_calls and message.stop_reason != "length":
            calls = message.tool_calls
            self.on_tool_call_start([{"name": c.name, "arguments": c.raw or copy.deepcopy(c.arguments)} for c in calls])

    def ask(self, questions: list[str], stopping: Callable[[], bool], timeout_s: float) -> Any:
        """Asks the user and waits for the answer. Raises ``Unanswered`` if none can come, or none came in time."""
        if self.on_question is None:
            raise Unanswered("nobody can be asked: no on_question callback was given")
        on_question, answer, limit_s = self.on_question, Answer(), time.monotonic() + timeout_s

        def run() -> None:
            try:
                on_question(list(questions), answer)
            except BaseException as error:  # the builder's code; sys.exit() in it must not leave the tool waiting
                logger.warning("on_question raised", exc_info=True)
                answer.put(Unanswered(f"on_question raised {type(error).__name__}: {error}"))

        threading.Thread(target=run, name="question", daemon=True).start()
        while not stopping():
            left_s = limit_s - time.monotonic()
            with contextlib.suppress(Empty):
                given = answer.get(timeout=max(0.0, min(STOP_POLL_S, left_s)))
                if isinstance(given, Unanswered):
                    raise given
                return given
            if left_s <= 0:
                raise Unanswered(f"nobody answered within {timeout_s:g} s")
        raise Unanswered("the run was stopped before anybody answered")


def _not_yet_said(text: str, streamed: str | None) -> str:
    """Returns what is left to say of a text: all of one that was not streamed, and the end that a hook has added to
    one."""
    if streamed is None:
        return text
    return text.removeprefix(streamed) if streamed and text.startswith(streamed) else ""


class Unanswered(EdgeAgentError):
    """A question got no answer; the text says why."""


class Answer(SimpleQueue[Any]):
    """Receives the answer to a question by ``put(x)``, from any thread; the first counts."""


# --- as text ----------------------------------------------------------------------------------------------------------


_WIDTH: Final = 200
"""Characters of an indicator; a tool's whole output is in the log."""


class Writers:
    """Writes speech to ``out`` as it streams, and to ``status`` what tools do and notices. None discards."""

    def __init__(self, out: TextIO | None = None, status: TextIO | None = None) -> None:
        self._out = _Writer(out, "out")
        self._status = _Writer(status, "status")
        self._speech = Callbacks(on_content=self._say)
        self._in_line = False
        self._running: set[str] = set()

    def __call__(self, event: events.Event) -> None:
        self._speech(event)
        match event:
            case events.MessageStart(message=message) if (
                message.role != "assistant" and message.origin != "continuation"
            ):
                self._end_line()
            case events.MessageEnd(message=message) if message.role == "assistant":
                if message.stop_reason != "length" or message.tool_calls:  # what was cut may be continued
                    self._end_line()
            case events.ToolExecutionStart(call=call):
                self._running.add(call.id)
                self._indicate(f"→ {call_text(call)}")
            case events.ToolExecutionEnd(call=call, result=result):
                if call.id not in self._running:  # it was refused
                    self._indicate(f"→ {call_text(call)}")
                self._running.discard(call.id)
                whose = f"{call.name}: " if self._running else ""
                self._indicate(f"← {whose}{result_text(result)}")
            case events.Notice(text=text):
                self._indicate(f"! {text}")
            case events.AgentEnd():
                self._end_line()
                self._running.clear()

    def _say(self, text: str) -> None:
        self._in_line = True
        self._out.write(text)

    def _end_line(self) -> None:
        if self._in_line:
            self._in_line = False
            self._out.write("\n")

    def _indicate(self, text: str) -> None:
        """One line of characters that neither move a cursor nor change a colour."""
        line = "".join(c for c in " ".join(without_escapes(text).split()) if c.isprintable())
        self._status.write((line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…") + "\n")


class _Writer:
    """A stream that is given up when it fails: a run goes on although nobody reads any more."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:  # a ValueError too, but of this text, not of the stream
                encoding = getattr(self._stream, "encoding", None) or "utf-8"
                self._stream.write(text.encode(encoding, "replace").decode(encoding))
            if flush := getattr(self._stream, "flush", None):
                flush()
        except (OSError, ValueError) as error:
            self._stream = None
            logger.warning("nothing more is written to %s: %s", self._name, error)


def call_text(call: ToolCall) -> str:
    """The call as a person would jot it down: ``drive 2.0``."""
    values = call.arguments.values() if call.arguments or not call.raw else [call.raw]
    texts = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False, default=repr) for v in values)
    return " ".join([call.name, *texts])


def result_text(result: ToolResult) -> str:
    """Returns the text of a result, with the status where the text alone would mislead."""
    prefix = {"interrupted": "interrupted: ", "not_run": "not run: "}.get(result.status, "")
    return prefix + result.text if result.text else result.status


# --- as the event stream of one prompt --------------------------------------------------------------------------------


EventType = Literal["turn_start", "steering_mode", "thinking", "tool_call", "tool_result", "text_delta", "turn_end"]


@dataclass(frozen=True, slots=True)
class PromptEvent:
    """Payloads. steering_mode: ``{"mode", "queue_size"}``, "steer" with the number of calls or "respond"; thinking,
    text_delta: the text; tool_call: ``{"tool_name", "args", "id"}``; tool_result: ``{"tool_name", "result",
    "is_error", "id"}``; turn_end: the assistant's last message or None."""

    type: EventType
    payload: Any = None


class Startable(Protocol):
    """An ``Agent``, or a ``Session``, which remembers earlier prompts."""

    @property
    def start(self) -> Callable[..., RunHandle]: ...


def prompt(agent: Startable, message: str | Message, **keywords: Any) -> PromptStream:
    """Starts a run with the keywords of ``agent.start``, and raises what that raises. Returns at once."""
    return PromptStream(agent.start(message, **keywords))


@dataclass(frozen=True, slots=True)
class PromptStream:
    """One prompt. ``handle`` is its run, to steer or abort it."""

    handle: RunHandle

    def events(self) -> Iterator[PromptEvent]:
        """All events from turn_start, however late and often it is asked for; ends when the agent is idle again."""
        return chain.from_iterable(map(_Translation().read, self.handle.events()))

    def result(self, timeout: float | None = None) -> list[Message]:
        """Waits for the end and returns a copy of the messages. Raises as ``RunHandle.result``."""
        return [message.copy() for message in self.handle.result(timeout).messages]


class _Translation:
    """Text streams before anybody knows whether calls follow: such a reply is "respond", then "steer"."""

    def __init__(self) -> None:
        self._made: list[PromptEvent] = []
        self._responding = False
        self._started: set[str] = set()
        self._last: Message | None = None
        self._replies = Callbacks(self._say, lambda text: self._make("thinking", text), self._steer)

    def read(self, event: events.Event) -> list[PromptEvent]:
        self._made = []
        self._replies(event)
        match event:
            case events.AgentStart():
                self._make("turn_start")
            case events.MessageEnd(message=message) if message.role == "assistant":
                self._responding, self._last = False, message
            case events.ToolExecutionStart(call=call):
                self._call(call)
            case events.ToolExecutionEnd(call=call, result=result):
                if call.id not in self._started and result.status not in ("skipped", "not_run"):
                    self._call(call)  # it was taken up and refused; what is skipped only has a result
                value = result.text if result.is_error or result.value is None else result.value
                told = {"tool_name": call.name, "result": value, "is_error": result.is_error, "id": call.id}
                self._make("tool_result", told)
            case events.AgentEnd():
                self._make("turn_end", self._last)
        return self._made

    def _make(self, kind: EventType, payload: Any = None) -> None:
        self._made.append(PromptEvent(kind, payload))

    def _say(self, text: str) -> None:
        if not self._responding:
            self._make("steering_mode", {"mode": "respond", "queue_size": 0})
        self._responding = True
        self._make("text_delta", text)

    def _steer(self, batch: list[dict[str, Any]]) -> None:
        self._make("steering_mode", {"mode": "steer", "queue_size": len(batch)})

    def _call(self, call: ToolCall) -> None:
        self._started.add(call.id)
        self._make("tool_call", {"tool_name": call.name, "args": copy.deepcopy(call.arguments), "id": call.id})
