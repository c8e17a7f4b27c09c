"""A request in the form of the OpenAI API, which chat templates expect.

What happens to a tool is told in words in front of its text; adjacent messages that strict templates refuse are joined;
messages of an app's own roles are left out. Knows nothing of templates or tokens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from edgeagent.characters import plain_apostrophes
from edgeagent.llm.protocol import ToolSpec
from edgeagent.llm.template import Chat
from edgeagent.messages import Message, Status, ToolCall

_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
_JOINED_BY: Final = "\n"
_TOLD_AS: Final[dict[Status, str]] = {
    "error": "error: ",
    "unknown": "error: ",
    "invalid": "error: ",
    "blocked": "error: ",
    "denied": "error: ",
    "timed_out": "error: ",
    "interrupted": "interrupted: ",
    "not_run": "not run: ",
    "skipped": "not run: ",
    "declined": "not run: ",
    "outcome_unknown": "outcome unknown: ",
}

Hide = Callable[[str], str]
"""Replaces what a text must not say to the model; see ``prompt.Guard``."""


def as_chat(system: str | None, messages: Sequence[Message], hide: Hide, *, arguments_as_text: bool = False) -> Chat:
    """The messages for a template, the system prompt first."""
    chat: Chat = [{"role": "system", "content": hide(system)}] if system else []
    return chat + [_as_dict(message, hide, arguments_as_text) for message in _joined(messages)]


def as_tools(tools: Iterable[ToolSpec], hide: Hide) -> Chat:
    """The tools for a template."""
    return [
        {
            "type": "function",
            "function": {
                "name": hide(tool.name),
                "description": hide(tool.description),
                "parameters": _hidden(tool.parameters, hide),
            },
        }
        for tool in tools
    ]


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Adjacent user messages, and adjacent assistant messages without calls, as one; empty replies left out."""
    joined: list[Message] = []
    for message in messages:
        if message.role not in _ROLES or (message.role == "assistant" and not (message.text or message.tool_calls)):
            continue
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.role == message.role
            and message.role in ("user", "assistant")
            and not (last.tool_calls or message.tool_calls)
        ):
            joined[-1] = replace(last, text=_JOINED_BY.join(filter(None, (last.text, message.text))))
        else:
            joined.append(message)
    return joined


def _as_dict(message: Message, hide: Hide, arguments_as_text: bool) -> dict[str, Any]:
    if message.role == "tool":
        told = _TOLD_AS.get(message.status, "") if message.status else ""
        return {
            "role": "tool",
            "content": hide(told + message.text),
            "name": hide(message.name or ""),
            "tool_call_id": hide(message.call_id or ""),
        }
    # a small model has never seen a phone's apostrophe: a "don't" with it would be nothing to it
    text = plain_apostrophes(message.text) if message.role == "user" else message.text
    plain: dict[str, Any] = {"role": message.role, "content": hide(text)}
    if message.tool_calls:
        plain["tool_calls"] = [_call_as_dict(call, hide, arguments_as_text) for call in message.tool_calls]
    return plain


def _call_as_dict(call: ToolCall, hide: Hide, arguments_as_text: bool) -> dict[str, Any]:
    arguments: Any
    if call.raw is not None:
        arguments = hide(call.raw)
    else:
        arguments = _hidden(call.arguments, hide)
        if arguments_as_text:
            arguments = json.dumps(arguments, ensure_ascii=False)
    return {"id": hide(call.id), "type": "function", "function": {"name": hide(call.name), "arguments": arguments}}


def _hidden(value: Any, hide: Hide) -> Any:
    """A JSON value with every text in it hidden, keys too."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {_hidden(key, hide): _hidden(item, hide) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hidden(item, hide) for item in value]
    return value
