"""Abilities of a chat template, found by asking it: the parts of a conversation that it shows, the format of its calls.

Small samples are rendered once when a model is made: no list of models to keep. A part that a template has no place for
goes where there is one: a system prompt into the first user message, tools into the system prompt, calls and results
into plain messages. Text that is added here is ours, so its markers are real ones. The first format that reads back a
call as the template renders it is the model's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgeagent.errors import ModelError
from edgeagent.llm.parsers import FORMATS, CallFormat
from edgeagent.llm.prompt import Chat, ChatTemplate, as_chat, joined
from edgeagent.llm.protocol import ToolCallEnd
from edgeagent.llm.stream_gate import StreamGate
from edgeagent.messages import Message, ToolCall, ToolResult

_SYSTEM, _USER, _TOOL, _RESULT = "qsystemq", "quserq", "qtoolq", "qresultq"
_LONG_ID, _SHORT_IDS = "call_0123456789ab", ("abcdefgh1", "abcdefgh2")
_START: Final = "(The conversation begins.)"
_HOW_TO_CALL: Final = (
    "You may call these tools. To call one, write <tool_call>, then a JSON object with its name and arguments, then "
    '</tool_call>, like this:\n<tool_call>\n{"name": "…", "arguments": {…}}\n</tool_call>\nTools:'
)

Writer = Callable[[Sequence[tuple[str, Any]]], str]
"""Writes calls, as names and arguments, the way a model of some format does."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """Parts of a conversation that a template shows. All true: everything, as it is."""

    system: bool = True
    """A system message, whatever the conversation ends with."""
    tools: bool = True
    """The tools that the model may call."""
    calls: bool = True
    """The calls of an assistant's message."""
    several_calls: bool = True
    """More than one call in one message."""
    results: bool = True
    """The results of tools."""
    long_ids: bool = True
    """Ids of calls that are not nine letters and digits."""
    user_after_results: bool = True
    """A user's message right after results."""
    assistant_first: bool = True
    """A conversation that an assistant begins."""


def probe(template: ChatTemplate) -> Quirks:
    """Find out what a template shows. What it refuses it does not show."""

    def shows(
        chat: Sequence[Message], text: str, *, times: int = 1, system: str | None = None, tools: Chat | None = None
    ) -> bool:
        try:
            return _render(template, chat, system=system, tools=tools).count(text) >= times
        except ModelError:
            return False

    user = [Message.user(_USER)]
    first, second = _SHORT_IDS
    called = [*user, _calls(first), _result(first)]
    two = [*user, _calls(first, second), _result(first), _result(second)]
    tools = shows(user, _TOOL, tools=[_SPEC])
    # Who is told in our words how to call must not see other calls in the history.
    calls = tools and shows(called, _TOOL)
    results = calls and shows(called, _RESULT)
    return Quirks(
        system=all(shows(chat, _SYSTEM, system=_SYSTEM) for chat in (user, *([called] if calls else []))),
        tools=tools,
        calls=calls,
        several_calls=not calls or shows(two, _TOOL, times=2),
        results=results,
        long_ids=not calls or shows([*user, _calls(_LONG_ID), _result(_LONG_ID)], _TOOL),
        user_after_results=not results or shows([*called, Message.user(_SYSTEM)], _SYSTEM),
        assistant_first=shows([Message.assistant(_RESULT), *user], _USER),
    )


class Adapter:
    """Puts conversations so that one template can show them.

    Args:
        quirks: What it can't.
        write: How the model writes calls, where the template does not.
    """

    def __init__(self, quirks: Quirks, write: Writer) -> None:
        self._quirks = quirks
        self._write = write

    def adapt(self, chat: Chat, tools: Chat) -> tuple[Chat, Chat]:
        """The messages and the tools for the template."""
        quirks = self._quirks
        chat = list(chat)
        if tools and not quirks.tools:
            _add_to_system(chat, "\n".join([_HOW_TO_CALL, *(_dumps(tool["function"]) for tool in tools)]))
            tools = []
        if not quirks.calls or not quirks.results:
            chat = [self._as_text(message) for message in chat]
        elif not quirks.several_calls:
            chat = _one_call_each(chat)
        if not quirks.long_ids:
            chat = [_with_short_ids(message) for message in chat]
        if not quirks.system and chat and chat[0]["role"] == "system":
            _fold_system(chat)
        if not quirks.assistant_first and next((m["role"] for m in chat if m["role"] != "system"), "") == "assistant":
            chat.insert(1 if chat[0]["role"] == "system" else 0, {"role": "user", "content": _START})
        if not quirks.user_after_results:
            chat = _after_results(chat)
        return joined(chat), tools

    def _as_text(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message with its calls, or its result, as plain text."""
        if message["role"] == "tool":
            return {"role": "user", "content": f"<tool_response>\n{message['content']}\n</tool_response>"}
        if "tool_calls" not in message:
            return message
        functions = [call["function"] for call in message["tool_calls"]]
        written = self._write([(function["name"], _parsed(function["arguments"])) for function in functions])
        return {"role": "assistant", "content": "\n".join(filter(None, (message["content"], written)))}


def write_hermes(calls: Sequence[tuple[str, Any]]) -> str:
    """Calls as Hermes writes them."""
    return "\n".join(
        f"<tool_call>\n{_dumps({'name': name, 'arguments': arguments})}\n</tool_call>" for name, arguments in calls
    )


def write_granite(calls: Sequence[tuple[str, Any]]) -> str:
    """Calls as Granite 3 writes them."""
    return "<|tool_call|>" + _dumps([{"name": name, "arguments": arguments} for name, arguments in calls])


def write_pythonic(calls: Sequence[tuple[str, Any]]) -> str:
    """Calls as LFM2 writes them."""
    written = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        if isinstance(arguments, dict)
        else f"{name}({arguments})"
        for name, arguments in calls
    ]
    return f"<|tool_call_start|>[{', '.join(written)}]<|tool_call_end|>"


def _render(
    template: ChatTemplate, messages: Sequence[Message], *, system: str | None = None, tools: Chat | None = None
) -> str:
    return template.render(
        lambda as_text: as_chat(system, messages, str, arguments_as_text=as_text),
        tools or [],
        thinking=None,
        bos="",
        eos="",
    )


_SPEC: Final = {
    "type": "function",
    "function": {
        "name": _TOOL,
        "description": "Does it.",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    },
}


def _calls(*ids: str) -> Message:
    return Message.assistant("", [ToolCall(each, _TOOL, {"a": "b"}) for each in ids])


def _result(call_id: str) -> Message:
    return Message.tool(ToolResult(call_id, _TOOL, "ok", _RESULT))


def _add_to_system(chat: Chat, text: str) -> None:
    if chat and chat[0]["role"] == "system":
        chat[0] = {**chat[0], "content": f"{chat[0]['content']}\n\n{text}"}
    else:
        chat.insert(0, {"role": "system", "content": text})


def _fold_system(chat: Chat) -> None:
    """Put the system prompt in front of the first user message."""
    system = chat.pop(0)["content"]
    at = next((i for i, message in enumerate(chat) if message["role"] == "user"), None)
    if at is None:
        chat.insert(0, {"role": "user", "content": system})
    else:
        chat[at] = {**chat[at], "content": f"{system}\n\n{chat[at]['content']}"}


def _one_call_each(chat: Chat) -> Chat:
    """Every message with several calls as several messages, each with its result behind it."""
    results = {message["tool_call_id"]: message for message in chat if message["role"] == "tool"}
    split: Chat = []
    told: set[str] = set()
    for message in chat:
        calls = message.get("tool_calls", ())
        if len(calls) > 1:
            for i, call in enumerate(calls):
                split.append({**message, "content": "" if i else message["content"], "tool_calls": [call]})
                if call["id"] in results:
                    split.append(results[call["id"]])
                    told.add(call["id"])
        elif message["role"] != "tool" or message["tool_call_id"] not in told:
            split.append(message)
    return split


def _with_short_ids(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        return {**message, "tool_call_id": _short(message["tool_call_id"])}
    if "tool_calls" in message:
        return {**message, "tool_calls": [{**call, "id": _short(call["id"])} for call in message["tool_calls"]]}
    return message


def _short(call_id: str) -> str:
    return hashlib.blake2b(call_id.encode(), digest_size=8).hexdigest()[:9]


def _after_results(chat: Chat) -> Chat:
    """A short answer between results and a user who speaks right after them."""
    answered: Chat = []
    for message in chat:
        if message["role"] == "user" and answered and answered[-1]["role"] == "tool":
            answered.append({"role": "assistant", "content": "Okay."})
        answered.append(message)
    return answered


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_SAMPLE: Final = ToolCall("a1b2c3d4e", "sample_tool", {"sample": "word"})
"""A call whose id has the nine characters that strict templates want."""
_REPLY: Final = "\u00a7"
"""A reply of words: no template's call begins like this."""


def detect_format(template: ChatTemplate) -> CallFormat | None:
    """The format that a model with this chat template writes; None when none of ours.

    A template that renders no call (some tell the model about calls and leave writing them to the app) is judged by
    the markers in its source; formats without a marker can't be told from that.
    """
    written = written_by(template, [_SAMPLE])
    fitting = [known for known in FORMATS if known.matches(template.source)]
    if written is None:
        return next((known for known in fitting if known.openers), None)
    return next((known for known in fitting if _reads(known, written)), None)


def written_by(template: ChatTemplate, calls: Sequence[ToolCall]) -> str | None:
    """Render these calls as an assistant writes them; None when the template shows nothing of them, or fails."""
    try:
        plain, called = (
            _render(template, [Message.user("go"), reply])
            for reply in (Message.assistant(_REPLY), Message.assistant("", calls))
        )
    except ModelError:
        return None
    begins = next((at for at, (one, other) in enumerate(zip(plain, called, strict=False)) if one != other), len(called))
    return called[begins:] if calls[0].name in called[begins:] else None


def _reads(known: CallFormat, text: str) -> bool:
    gate = StreamGate(known)
    calls = [event.call for event in (*gate.feed(text), *gate.finish()) if isinstance(event, ToolCallEnd)]
    return [(call.name, call.arguments) for call in calls] == [(_SAMPLE.name, _SAMPLE.arguments)]
