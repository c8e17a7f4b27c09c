"""The values that travel between people, models and tools. Frozen, without behaviour."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pydantic_core import PydanticSerializationError, to_jsonable_python

from edgeagent.characters import values_without_escapes, without_escapes
from edgeagent.errors import EdgeAgentError

Status = Literal[
    "ok",
    "error",
    "unknown",
    "invalid",
    "blocked",
    "declined",
    "denied",
    "skipped",
    "not_run",
    "interrupted",
    "timed_out",
    "outcome_unknown",
    "detached",
]
StopReason = Literal["stop", "tool_calls", "length", "error", "aborted"]
Origin = Literal[
    "user", "steering", "follow_up", "note", "ephemeral", "continuation", "warning", "marker", "summary", "handoff"
]
UNFINISHED: Final[frozenset[StopReason]] = frozenset({"length", "error", "aborted"})
"""Reasons for which a text may end anywhere."""
PEOPLE: Final[frozenset[Origin]] = frozenset({"user", "steering", "follow_up"})
"""Origins of what people say; what hooks and the loop add has others."""

#: Values of JSON that nobody can change.
_FIXED: Final = (str, int, float)

#: Statuses after which the model is not told of a failure.
_NOT_ERRORS: frozenset[str] = frozenset({"ok", "declined", "detached"})


def new_id(prefix: str) -> str:
    """An id that no other message, call or run of this machine has."""
    return f"{prefix}_{os.urandom(6).hex()}"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Outcome of a call. A body may return one; ``call_id`` and ``name`` are then filled in by the loop."""

    call_id: str
    name: str
    status: Status
    text: str
    value: Any = None
    """Value that the body returned, as it was returned."""
    terminate: bool = False
    """Every result of a batch with this set: the last text becomes the reply, without another model call."""

    @property
    def is_error(self) -> bool:
        return self.status not in _NOT_ERRORS

    @staticmethod
    def ok(value: Any = None) -> ToolResult:
        """A success, with the text of its value; without one if JSON cannot hold the value."""
        try:
            return ToolResult("", "", "ok", text_of(value), value)
        except NO_JSON:
            return ToolResult("", "", "ok", "", value)

    @staticmethod
    def error(text: str) -> ToolResult:
        """A failure that the model is told as it is written here."""
        return ToolResult("", "", "error", str(text))

    @staticmethod
    def blocked(reason: str) -> ToolResult:
        """A call that must not start."""
        return ToolResult("", "", "blocked", str(reason))


MOST_PICTURE_BYTES: Final = 8_000_000
"""Bytes of a picture that a tool returns; a larger one is not shown."""
_PICTURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))
"""First bytes of pictures, and their types."""


def picture_type(value: object) -> str | None:
    """Returns the media type of a PNG or a JPEG; None for any other value, and for a picture that is too large."""
    if not isinstance(value, bytes | bytearray) or len(value) > MOST_PICTURE_BYTES:
        return None
    return next((kind for beginning, kind in _PICTURES if value.startswith(beginning)), None)


NO_JSON: Final = (PydanticSerializationError, ValueError, TypeError, RecursionError)
"""Exceptions of a value that JSON cannot hold."""


def text_of(value: object) -> str:
    """Text of a tool's value: a string as it is, None as "done", a picture as its type, anything else as JSON.

    The text has no escape sequences.

    Raises:
        NO_JSON: JSON cannot hold the value.
    """
    if isinstance(value, str):
        return without_escapes(value)
    if value is None:
        return "done"
    if (kind := picture_type(value)) is not None:
        return f"a picture, {kind}"
    return json.dumps(values_without_escapes(to_jsonable_python(value, fallback=_plain)), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Plain values of an array, or of a number in an array; NumPy and its kin are not imported for that.

    Raises:
        NO_JSON: It is neither.
    """
    if not callable(getattr(value, "tolist", None)):
        raise TypeError(f"JSON knows no {type(value).__name__}")
    return value.tolist()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asked for.

    ``raw`` is set when the arguments came as text that nobody has parsed: then ``arguments`` is empty and the loop
    parses, or refuses, the text. ``result`` and ``agent`` are set on the calls of a ``RunResult``.
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    raw: str | None = None
    result: ToolResult | None = None
    agent: str | None = None

    def copy(self) -> ToolCall:
        """A copy with arguments of its own."""
        return ToolCall(self.id, self.name, _own(self.arguments), self.raw, self.result, self.agent)


@dataclass(frozen=True, slots=True)
class Step:
    """Verdict of one reader on a reply.

    The first reader looks for calls in the format of the model's template, the second in other forms.
    """

    part: str
    """Name of the reader: "the model's own format" or "another form"."""
    verdict: str
    """Finding of the reader, in words for people: "1 call", "no call"."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reply as the model wrote it, and its way to text and calls: for people, never for a model."""

    prompt: str
    """The request as the model saw it: the rendered template."""
    raw: str
    """The whole reply, with reasoning, calls and markers."""
    steps: tuple[Step, ...] = ()
    """The verdicts of the readers, in the order in which they read the reply."""
    opener_probability: float | None = None
    """Probability that the model itself gave, at its first token, to all tokens that can begin a call; None where
    nobody looked."""
    opener_threshold: float | None = None
    """Least ``opener_probability`` of a reply that may begin a call; a lower one where it came to reading alone."""
    openers_masked: bool = False
    """No token that begins a call was allowed, because the probability was below the threshold."""
    refused: tuple[str, ...] = ()
    """Tokens that the model wanted and the grammar refused, as text, in their order."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Roles are system, user, assistant and tool; any other role is an app's own message, which history keeps and the
    model never sees.
    """

    role: str
    text: str = ""
    thinking: str = field(default="", kw_only=True)
    """The model's reasoning: never spoken, never sent back."""
    raw: str | None = field(default=None, kw_only=True)
    """The reply as the model wrote it, where ``text`` and ``tool_calls`` do not tell: never spoken, never sent back."""
    tool_calls: tuple[ToolCall, ...] = field(default=(), kw_only=True)
    stop_reason: StopReason | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    usage: Usage | None = field(default=None, kw_only=True)
    call_id: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    status: Status | None = field(default=None, kw_only=True)
    origin: Origin = field(default="user", kw_only=True)
    data: Any = field(default=None, kw_only=True)
    id: str = field(default_factory=lambda: new_id("msg"), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls))

    @staticmethod
    def user(text: str, *, origin: Origin = "user") -> Message:
        return Message("user", text, origin=origin)

    @staticmethod
    def assistant(text: str, tool_calls: Iterable[ToolCall] = ()) -> Message:
        calls = tuple(tool_calls)
        return Message("assistant", text, tool_calls=calls, stop_reason="tool_calls" if calls else "stop")

    @staticmethod
    def tool(result: ToolResult) -> Message:
        return Message("tool", result.text, call_id=result.call_id, name=result.name, status=result.status)

    def copy(self) -> Message:
        """A copy that shares nothing mutable with this one; itself, if nothing in it is."""
        if not self.tool_calls and self.data is None:
            return self
        return Message(  # written out, because dataclasses.replace takes several times as long
            self.role,
            self.text,
            thinking=self.thinking,
            raw=self.raw,
            tool_calls=tuple([call.copy() for call in self.tool_calls]),
            stop_reason=self.stop_reason,
            error=self.error,
            usage=self.usage,
            call_id=self.call_id,
            name=self.name,
            status=self.status,
            origin=self.origin,
            data=None if self.data is None else copy.deepcopy(self.data),
            id=self.id,
        )


def _own(value: Any) -> Any:
    """A copy that shares nothing mutable; several times as fast as ``copy.deepcopy`` for JSON."""
    if value is None or isinstance(value, _FIXED):
        return value
    if type(value) is dict:
        return {key: item if isinstance(item, _FIXED) else _own(item) for key, item in value.items()}
    if type(value) is list:
        return [_own(item) for item in value]
    return copy.deepcopy(value)


def copied(messages: Iterable[Message]) -> list[Message]:
    """Copies of the messages; without a call where there is nothing to copy, as in most of a long history."""
    return [message if not message.tool_calls and message.data is None else message.copy() for message in messages]


def as_messages(values: Iterable[Message]) -> list[Message]:
    """The messages of a history that somebody gives.

    Raises:
        EdgeAgentError: There is something else among them, or no list at all.
    """
    if not isinstance(values, Iterable):
        raise EdgeAgentError(f"a history is a list of Messages, not {type(values).__name__}: {values!r}")
    messages = list(values)
    for message in messages:
        if not isinstance(message, Message):
            raise EdgeAgentError(
                f"a history holds Messages, not {type(message).__name__}: {message!r}; write Message.user(...)"
            )
    return messages


def as_message(value: str | Message, *, origin: Origin = "user") -> Message:
    """A user message of that origin from text; a ``Message`` only gets the origin. Both lose their escape sequences: to
    a model the rest of a colour, such as ``[31m``, is a number.

    Raises:
        EdgeAgentError: It is neither.
    """
    if isinstance(value, Message):
        return replace(value, text=without_escapes(value.text), origin=origin)
    if not isinstance(value, str):
        raise EdgeAgentError(f"what is said is text or a Message, not {type(value).__name__}: {value!r}")
    return Message.user(without_escapes(value), origin=origin)
