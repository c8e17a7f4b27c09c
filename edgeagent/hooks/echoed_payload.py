"""Small models say a tool's result again as it came, braces and all. This makes a sentence of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgeagent.hooks.hook import AfterLLM, BaseHook, FirePoint, HookResult, Payload
from edgeagent.hooks.loop_detector import WARNING
from edgeagent.messages import Message, ToolCall

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

_NEWEST: Final = 8
"""Number of results of a run that are looked at; what is echoed is nearly always the last one."""
_FENCE: Final = re.compile(r"\A```[\w-]*\s(.*?)\s*```\Z", re.DOTALL)
_TAG: Final = re.compile(r"\A<(tool_response|tool_result|tool_call)>\s*(.*?)\s*</\1>\Z", re.DOTALL)
_MARKS: Final = frozenset('{["`<')
"""Characters with which JSON, a fence or a tag begins."""
_JSON_MARKS: Final = str.maketrans(dict.fromkeys('{}[]"`', ""))


class EchoedPayloadHook(BaseHook):
    """At AFTER_LLM: a reply that only repeats the payload of a result, or the JSON of a call, becomes plain words.

    A reply with calls, and one that repeats a result which is a sentence already, is left alone.
    """

    points = frozenset({FirePoint.AFTER_LLM})
    holds_text = True

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, AfterLLM) or payload.tool_calls or not payload.text.strip():
            return None
        for said, call in _results(ctx.history()):
            if _same(payload.text, said) or (call is not None and _is_call(payload.text, call)):
                text = in_words(said)
                is_sentence = not text or _flat(text) == _flat(payload.text)
                return None if is_sentence else HookResult.replace(replace(payload, text=text))
        return None

    def releases(self, ctx: AgentContext, text: str) -> bool:
        """True for a beginning that no result of this request has, and that is not one of JSON, a fence or a tag."""
        said = text.lstrip()
        if not said or said[0] in _MARKS:
            return False
        begun = _flat(said)
        return not any(_flat(_bare(result)).startswith(begun) for result, _ in _results(ctx.history()))


def _results(history: tuple[Message, ...]) -> Iterator[tuple[str, ToolCall | None]]:
    """The texts of the newest results of this request, newest first, each with the call that asked for it."""
    begin = max(
        (i for i, message in enumerate(history) if message.role == "user" and message.origin == "user"), default=0
    )
    calls = {call.id: call for message in history[begin:] for call in message.tool_calls}
    results = [message for message in history[begin:] if message.role == "tool" and message.text]
    for result in results[: -_NEWEST - 1 : -1]:
        # what the repetition guard has added is for the model, nothing to say
        yield result.text.partition(f"\n{WARNING}")[0], calls.get(result.call_id or "")


def _same(reply: str, result: str) -> bool:
    said, was = _bare(reply), _bare(result)
    if _flat(said) == _flat(was):
        return True
    value = _parsed(was)
    return isinstance(value, dict | list) and _parsed(said) == value


def _is_call(reply: str, call: ToolCall) -> bool:
    """True if a reply is the call that was made, as JSON: with its name, or its arguments alone."""
    value = _parsed(_bare(reply))
    if not isinstance(value, dict) or not value:
        return False
    if value.get("name", value.get("function")) == call.name:
        return value.get("arguments", value.get("parameters", {})) == call.arguments
    return value == call.arguments


def _bare(text: str) -> str:
    """Without a code fence, the tags of a template, and white space around it."""
    bare = text.strip()
    if found := _FENCE.match(bare):
        bare = found[1].strip()
    if found := _TAG.match(bare):
        bare = found[2].strip()
    return bare


def _flat(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def in_words(result: str) -> str:
    """A result without the marks of JSON, which nobody says."""
    bare = _bare(result)
    value = _parsed(bare)
    words = _said(value) if isinstance(value, dict | list) else " ".join(bare.translate(_JSON_MARKS).split())
    words = words[:1].upper() + words[1:] if isinstance(value, dict | list) else words
    return f"{words}." if words and isinstance(value, dict | list) and words[-1] not in ".!?" else words


def _said(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{_name(key)}: {_said(item)}" for key, item in value.items()) or "nothing"
        case list():
            return ", ".join(_said(item) for item in value) or "nothing"
        case bool():
            return "yes" if value else "no"
        case None:
            return "nothing"
    return str(value)


def _name(key: object) -> str:
    return str(key).replace("_", " ").replace("-", " ").strip()
