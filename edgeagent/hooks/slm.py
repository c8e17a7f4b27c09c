"""Hooks that make small language models usable with tools, on the run's threads.

A call whose arguments were refused is answered with the tool's parameters. A result that a model says again as it came,
braces and all, becomes a sentence.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.hooks.hook import AfterLLM, AfterTool, BaseHook, FirePoint, Hook, HookResult, Payload, counted
from edgeagent.hooks.run_guards import LoopDetectorHook, without_warnings
from edgeagent.messages import Message, ToolCall

_NOT_NEEDED: Final = frozenset({"title", "description", "additionalProperties", "default"})
_NAMED: Final = frozenset({"properties", "$defs"})
"""Keywords whose keys are a builder's names, not keywords."""
_LONGEST: Final = 1200
"""Characters of a schema that a small window has room for."""


class SchemaRetryHook(BaseHook):
    """At AFTER_TOOL, for a result that is "invalid": adds the parameters and asks for the call again.

    Args:
        max_retries: How often, for each tool in one run.

    Raises:
        ConfigError: ``max_retries`` is below 0.
    """

    points = frozenset({FirePoint.AFTER_TOOL})

    def __init__(self, max_retries: int = 1) -> None:
        self.max_retries = counted("SchemaRetryHook(max_retries={})", max_retries, least=0)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, AfterTool) or payload.result.status != "invalid":
            return None
        tool = ctx.tool_of(payload.call)
        asked: Counter[str] = ctx.state_of(self).setdefault("asked", Counter())
        if tool is None or asked[tool.name] >= self.max_retries:
            return None
        asked[tool.name] += 1
        text = (
            f"{payload.result.text}\nParameters of {tool.name}: {_shown(tool.parameters)}\n"
            f"Call {tool.name} again with arguments of this form."
        )
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))


def _shown(parameters: dict[str, Any]) -> str:
    """The schema without its prose; of a very long one only the names and types."""
    shown = json.dumps(_short(parameters), ensure_ascii=False, separators=(",", ":"), default=repr)
    if len(shown) <= _LONGEST:
        return shown
    types = {name: item.get("type", "any") for name, item in parameters.get("properties", {}).items()}
    names = {"type": "object", "properties": types, "required": parameters.get("required", [])}
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"), default=repr)


def _short(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                key: {name: _short(inner) for name, inner in value.items()} if key in _NAMED else _short(value)
                for key, value in schema.items()
                if key not in _NOT_NEEDED
            }
        case list():
            return [_short(item) for item in schema]
    return schema


# --- results that are repeated as they came ---------------------------------------------------------------------------


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
        yield without_warnings(result.text), calls.get(result.call_id or "")


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


# --- all of them ------------------------------------------------------------------------------------------------------


def default_slm_hooks() -> list[Hook]:
    """A guard against repetition, plain words instead of echoed results, and one more try for wrong arguments."""
    return [LoopDetectorHook(), EchoedPayloadHook(), SchemaRetryHook()]
