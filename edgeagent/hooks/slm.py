"""Hooks that make small language models usable with tools, on the run's threads.

A call whose arguments were refused is answered with the tool's parameters. A result that a model says again as it came,
braces and all, becomes a sentence. A call that a reply makes twice, and nobody asked for twice, is made once.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.english.amounts import amounts_of
from edgeagent.english.tokens import words_of
from edgeagent.hooks.hook import AfterLLM, AfterTool, BaseHook, FirePoint, Hook, HookResult, Payload, counted
from edgeagent.hooks.run_guards import LoopDetectorHook, without_warnings
from edgeagent.messages import PEOPLE, Message, ToolCall

_NOT_NEEDED: Final = frozenset({"title", "description", "additionalProperties", "default"})
_NAMED: Final = frozenset({"properties", "$defs"})
"""Keywords whose keys are a builder's names, not keywords."""
_AGAIN: Final = frozenset(
    """again all another both continue double each every keep many more once over repeat repeated several times triple
    thrice twice""".split()
)
"""Words by which the same is asked for more than once."""
_UNDOES: Final = frozenset({"undo", "undone", "revert"})
"""Words by which the contrary of what was done is asked for."""
_FEW: Final = 6
"""Words of the longest sentence that asks for nothing beside: "undo that and drive two meters" may do so again."""
_CANT_UNDO: Final = "I can't undo that."
_LONGEST: Final = 1200
"""Characters of a schema that a small window has room for."""


class RepeatedCallHook(BaseHook):
    """At AFTER_LLM: drops the calls with which a reply repeats the one before, or all of itself, unless that was asked
    for: "wave twice". What has a number in it stays: two equal drives in a row are a way. A reply that would do again
    what a person wants undone does nothing, and says that it can't undo it.
    """

    points = frozenset({FirePoint.AFTER_LLM})
    priority = -700

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, AfterLLM) or not payload.tool_calls:
            return None
        history = ctx.history()
        words = _asked(history)
        if len(words) <= _FEW and _UNDOES & set(words) and _does_again(payload.tool_calls, history):
            return HookResult.replace(replace(payload, text=_CANT_UNDO, tool_calls=()))
        if len(payload.tool_calls) < 2:
            return None
        once = tuple(_without_repeats(payload.tool_calls, words))
        return None if len(once) == len(payload.tool_calls) else HookResult.replace(replace(payload, tool_calls=once))


def _asked(history: Sequence[Message]) -> list[str]:
    """The words of people since the last answer, and those before it if it was a question."""
    answers = [at for at, one in enumerate(history) if one.role == "assistant" and not one.tool_calls]
    since = answers[-1] + 1 if answers else 0
    if answers and "?" in history[answers[-1]].text:
        since = answers[-2] + 1 if len(answers) > 1 else 0
    said = [one.text for one in history[since:] if one.role == "user" and one.origin in PEOPLE]
    return [word for text in said for word in words_of(text)]


def _does_again(calls: Sequence[ToolCall], history: Sequence[Message]) -> bool:
    """True if a call is one that was made before the last message of a person, to which nothing was done yet."""
    if history[-1].role != "user":
        return False
    made = [(call.name, call.arguments) for one in history for call in one.tool_calls]
    return any((call.name, call.arguments) in made for call in calls)


def _without_repeats(calls: Sequence[ToolCall], words: Sequence[str]) -> Iterator[ToolCall]:
    half = len(calls) // 2
    if all(_is_same(a, b, words) for a, b in zip(calls[:half], calls[half:], strict=False)) and len(calls) == 2 * half:
        calls = calls[:half]
    for at, call in enumerate(calls):
        if not at or not _is_same(calls[at - 1], call, words):
            yield call


def _is_same(first: ToolCall, second: ToolCall, words: Sequence[str]) -> bool:
    """True if the second call is the first one once more, without a number in it, and nobody asked for two."""
    if (first.name, first.arguments) != (second.name, second.arguments) or first.raw is not None:
        return False
    if _has_number(first.arguments) or second.raw is not None or _AGAIN & set(words):
        return False
    if any(amount.dimension in ("", "times") and amount.value > 1 for amount in amounts_of(words)):
        return False
    named = {*words_of(first.name.replace("_", " ")), *_words_in(first.arguments)}
    return not any(words.count(word) > 1 for word in named)


def _words_in(value: Any) -> Iterator[str]:
    """The words by which somebody names what is in an argument."""
    if isinstance(value, bool):
        yield from ("on", "off")
    elif isinstance(value, str):
        yield from words_of(value)
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _words_in(one)


def _has_number(value: Any) -> bool:
    if isinstance(value, Mapping | list):
        return any(map(_has_number, value.values() if isinstance(value, Mapping) else value))
    if isinstance(value, str):
        return any(map(str.isdigit, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


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
