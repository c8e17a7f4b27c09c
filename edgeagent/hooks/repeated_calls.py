"""Calls that nobody asked for again: those that a reply makes twice, and those of before that new words don't mean.

On a run's thread. Knows no model: a reply is compared with the calls of before and with the words of people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.english.amounts import Amount, amounts_of, sign_of, unit_of
from edgeagent.english.asking import continues
from edgeagent.english.tokens import OTHER_NAMES, alike, is_named, words_of
from edgeagent.english.word_data import begins_with, is_number, lists
from edgeagent.hooks.call_wording import is_figure, ways_of
from edgeagent.hooks.hook import AfterLLM, BaseHook, FirePoint, HookResult, Payload
from edgeagent.hooks.tool_guards import NOT_UNDERSTOOD, changes, has_asked
from edgeagent.messages import PEOPLE, Message, ToolCall
from edgeagent.tools import Tool

_LISTS: Final = lists("follow_ups")
_TOGETHER: Final = _LISTS.phrases("cues_together")
_ALONE: Final = _LISTS.phrases("cues_alone")
_EMPTY: Final = lists("classes").function_words | _LISTS.idle
"""Words that say nothing of what is asked for."""
_WAYS: Final = lists("amounts")
_NAMES: Final = OTHER_NAMES.keys() - (_WAYS.left | _WAYS.right | _WAYS.up | _WAYS.down | _WAYS.forward)
"""Places and objects, without the directions."""
_SAID: Final = PEOPLE - {"follow_up"}
"""Origins of what people say by themselves; what an app asks is meant."""
_FEW: Final = 6
"""Words of the longest sentence that asks for nothing beside: "undo that and drive two meters" may do so again."""
_CANT_UNDO: Final = "I can't undo that."


class RepeatedCallHook(BaseHook):
    """At AFTER_LLM: drops the calls with which a reply repeats the one before, or all of itself, unless that was asked
    for: "wave twice". What has a number in it stays: two equal drives in a row are a way. A reply that would do again
    what a person wants undone does nothing, and says that it can't undo it. A reply to new words whose calls were all
    made before, or are the contrary of such, does nothing where no word asks for that: "bear with me", "and the office"
    after "turn left".
    """

    points = frozenset({FirePoint.AFTER_LLM})
    priority = -700

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, AfterLLM) or not payload.tool_calls:
            return None
        history = ctx.history()
        words = _asked(history)
        if _is_unasked(payload.tool_calls, history, ctx):
            return HookResult.replace(replace(payload, text=NOT_UNDERSTOOD, tool_calls=()))
        if len(words) <= _FEW and _LISTS.undoes & set(words) and _does_again(payload.tool_calls, history):
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
    if _has_number(first.arguments) or second.raw is not None or _LISTS.again & set(words):
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
    return is_figure(value)


# --- calls of before --------------------------------------------------------------------------------------------------


def _is_unasked(calls: Sequence[ToolCall], history: Sequence[Message], ctx: AgentContext) -> bool:
    """True if all that calls would change was called before, or its contrary, and the newest words don't ask for it."""
    new = list(takewhile(lambda one: one.role == "user", reversed(history)))
    before = history[: len(history) - len(new)]
    if not new or any(one.origin not in _SAID for one in new) or has_asked(before):
        return False
    changing = [(call, tool) for call in calls if (tool := ctx.tool_of(call)) is not None and changes(tool)]
    made = list(_made(before))
    if not changing or not all(any(_does_as(call, one) for one, _ in made) for call, _ in changing):
        return False
    words = [word for message in reversed(new) for word in words_of(message.text)]
    if any(_is_told(call, tool, words) for call, tool in changing):
        return False
    if any(set(name.split()) <= set(words) and not _carry(calls, name) for name in _NAMES):
        return True
    asked = {word for one, text in made if any(_does_as(call, one) for call, _ in changing) for word in words_of(text)}
    return not (
        _has_cue(words)
        or any(continues(message.text) for message in new)
        or any(_calls_by_name(call, words) for call, _ in changing)
        or (_LISTS.ends & set(words) and all(_takes_back(call, made) for call, _ in changing))
        or any(word in asked and word not in _EMPTY and not is_number(word) for word in words)
    )


def _made(history: Sequence[Message]) -> Iterator[tuple[ToolCall, str]]:
    """The calls of a history, each with the words of the person to whom it was the answer."""
    text = ""
    for message in history:
        text = message.text if message.role == "user" else text
        yield from ((call, text) for call in message.tool_calls)


def _does_as(call: ToolCall, other: ToolCall) -> bool:
    """True if a call is another one once more, or its contrary."""
    if call.name != other.name or call.arguments.keys() != other.arguments.keys():
        return False
    return all(
        value in (other.arguments[key], _contrary(other.arguments[key])) for key, value in call.arguments.items()
    )


def _takes_back(call: ToolCall, made: Sequence[tuple[ToolCall, str]]) -> bool:
    """True if a call does the contrary of what the last one of its tool did."""
    last = next(one.arguments for one, _ in reversed(made) if one.name == call.name)
    return any(value != last[key] for key, value in call.arguments.items() if key in last)


def _contrary(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return -value if is_figure(value) else value


def _is_told(call: ToolCall, tool: Tool, words: Sequence[str]) -> bool:
    """True if words tell an argument of a call: its name, its direction, or an amount of its kind."""
    amounts = amounts_of(words)
    for name, value in call.arguments.items():
        if isinstance(value, str) and is_named(value, frozenset(words)):
            return True
        if is_figure(value):
            if ways := ways_of(tool, name):
                (_, positive), (_, negative) = ways
                if sign_of(words, (positive | negative) - _LISTS.no_ways, ()):
                    return True
            if any(_may_be(amount, name) for amount in amounts):
                return True
    return False


def _may_be(amount: Amount, name: str) -> bool:
    """True if an amount may be one of a parameter, by their units."""
    unit = unit_of(name)
    return unit is None or amount.dimension in (unit[0], "", "other")


def _carry(calls: Sequence[ToolCall], name: str) -> bool:
    """True if an argument of any call is a name."""
    return any(name in str(value) for call in calls for value in call.arguments.values())


def _has_cue(words: Sequence[str]) -> bool:
    """True if words ask for what was done before, whatever that was."""
    if _LISTS.cues & set(words) or _LISTS.cues_at_the_end & set(words[-1:]):
        return True
    if _LISTS.short_cues & set(words) and set(words) <= _LISTS.short_cues | _LISTS.beside_a_choice:
        return True
    if tuple(words) in _ALONE or any(one.dimension == "times" for one in amounts_of(words)):
        return True
    return any(begins_with(words[at:], _TOGETHER) for at in range(len(words)))


def _calls_by_name(call: ToolCall, words: Sequence[str]) -> bool:
    """True if words have one of a tool's name, or switch what it switches: "lights", "off"."""
    if any(word == one or alike(word, one) for word in words for one in words_of(call.name.replace("_", " "))):
        return True
    if not any(isinstance(value, bool) for value in call.arguments.values()):
        return False
    return any(word in ("on", "off") and before not in _LISTS.goes_with_on for before, word in pairwise(["", *words]))
