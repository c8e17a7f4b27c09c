"""Guards of tools: those that nobody has asked for, those that a person approves first, and those that are never used.

What guards from talk is told on the conversation's thread of what was heard; all else runs on the run's threads.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import dropwhile, takewhile
from typing import Final

from edgeagent.context import AgentContext
from edgeagent.english.amounts import unit_of
from edgeagent.english.answers import is_backchannel
from edgeagent.english.asking import asks_about_facts, continues, is_for_later, may_ask, names_a_verb
from edgeagent.english.completeness import Phrases
from edgeagent.english.stop_phrases import STOP_WORDS, Grade, StopPhrases
from edgeagent.english.tokens import (
    NEGATIONS,
    alike,
    asks_about_languages,
    has_english,
    has_foreign,
    is_english,
    words_of,
)
from edgeagent.english.word_data import lists
from edgeagent.errors import ConfigError
from edgeagent.hooks.call_wording import ways_of
from edgeagent.hooks.hook import AfterLLM, BaseHook, BeforeLLM, BeforeTool, FirePoint, HookResult, Payload
from edgeagent.messages import PEOPLE, Message, ToolCall
from edgeagent.tools import Tool
from edgeagent.tools.signature import is_async

logger = logging.getLogger(__name__)
NOT_UNDERSTOOD: Final = "Sorry, I did not understand that."
ONLY_ENGLISH: Final = "I only understand English."
NOTHING_TO_CONTINUE: Final = "There is nothing to continue."
I_WAIT: Final = "Okay, I wait."
NOT_LATER: Final = "I can only do that now. Ask me when it is time."
_TIMES: Final = frozenset({"when", "time", "date", "day", "at", "delay", "after", "start", "due"})
"""Words in the names of parameters that tell when something is to be done."""
_SPEEDS: Final = frozenset({"speed", "rate", "feed", "flow", "per", "timeout"})
"""Words in the names of those whose time is none that anybody waits for."""
_RELEASES: Final = StopPhrases()
_WAITS: Final = lists("stops").waits
_STOP: Final = "stop"
_CALL: Final = re.compile(r"[{\[]\s*[\"'{]")
"""A call that was written where words were asked for: 'Irrigate: {"bed": "A"}'."""
_DONE: Final = ("ok", "detached")
"""Ends of a call of which nothing is left to do."""
_KEPT: Final = 64
"""Texts; so many don't wait for their answers."""


def moves(tool: Tool) -> bool:
    """True for a tool that is kept from talk unless an app says otherwise: motion. A tool that notes or looks up works
    as ever."""
    return tool.traits.motion


def changes(tool: Tool) -> bool:
    """True for a tool that the house robot keeps from talk: each that does more than tell, but not stopping ("don't
    move")."""
    return not tool.traits.read_only and tool.name != _STOP


class TalkGuardHook(BaseHook):
    """Keeps tools from what asks for nothing, such as "the coffee is cold", "go to the kitchen never", a number or an
    emoji alone: a run that calls one ends with an answer, or goes on in the model's own words. Keeps a small model from
    doing now what was asked for later, "go to the kitchen tomorrow": it says so,
    also where one that knows English alone says no more than "I see.".

    What it was told is found in history by its text. Where a hook or the removal of personal data has changed that, the
    changed text is judged itself, if what was said last asks for nothing.

    Args:
        keeps: Whether a tool is kept from talk.
        phrases: What people say to the app: it asks, whatever it begins with.
        answer: What is said then.
        small: The model is a small one, which makes a command of anything: what is typed is judged too, and what has no
            English word in it asks for nothing. Otherwise what is typed is meant.
        any_language: The model may know other languages than English, and calls by their sense: it judges what is not
            English, and what is said while something moves, because "don't move" may be a call that stops it.
        english_only: The model knows no other language: one is answered with "I only understand English.", what has no
            words at all with ``answer``, and unknown words of no known language with both, without asking the model.
            Where the model itself says the former of an English text, ``answer`` takes the place of its reply. What
            such a model calls at "continue", while nothing moves and nothing was left undone, is answered in words,
            but for more of a way: "drive a meter", "keep going".
        in_words: The model can talk: it is asked once more, for words instead of calls. What it said beside a call is
            no such answer, because it may tell of what was not done; ``answer`` takes the place of words that do.
    """

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.AFTER_LLM, FirePoint.BEFORE_TOOL})

    def __init__(
        self,
        keeps: Callable[[Tool], bool] = moves,
        phrases: Phrases | None = None,
        *,
        answer: str = NOT_UNDERSTOOD,
        small: bool = True,
        any_language: bool = False,
        english_only: bool = False,
        in_words: bool = False,
    ) -> None:
        self._keeps, self._phrases, self._answer = keeps, phrases or Phrases(), answer
        self._any_language, self._in_words = any_language, in_words
        self._small, self._english_only = small, english_only
        self.holds_text = english_only or in_words
        self._wording = False
        """The model was asked for words in place of calls, and has not answered yet."""
        self._kept: frozenset[str] = frozenset()
        """First words of the names of the tools that were called in place of these words."""
        self._told: dict[str, bool] = {}
        """Texts, the last one at the end, and whether each may ask for something."""
        self._forbidding: frozenset[str] = frozenset()
        """Prohibitions that the run which goes on may still have to answer."""
        self._talk = False
        """Nothing is asked for in what the model answers now."""
        self._waits = False
        """True if the robot is asked to wait, and for nothing else, in what the model answers now."""
        self._again: frozenset[str] | None = None
        """The tools that were called before, where what the model answers asks for the same again."""
        self._is_foreign = True
        """True while the text that the model answers may be in another language, or about one."""
        self._continues = False
        """True while what the model answers wants something to go on."""
        self._finished: frozenset[str] | None = None
        """The tools that were called last, while nothing of that was left undone and no question is open."""
        self._later = False
        """True while what the model answers asks for something that is not to be done now."""

    def releases(self, ctx: AgentContext, text: str) -> bool:
        if not self._english_only:
            return not self._wording
        return not self._later and not ONLY_ENGLISH.startswith(text.strip()[: len(ONLY_ENGLISH)])

    def hears(self, text: str, *, spoken: bool, answers: bool) -> None:
        """Somebody says this to the model.

        Args:
            spoken: It was heard. What is typed to a model that is not small is meant.
            answers: The robot has asked something.
        """
        asks = answers or not (spoken or self._small) or may_ask(text, self._phrases)
        told = {known: asked for known, asked in self._told.items() if known != text}
        self._told = dict(list({**told, text: asks}.items())[-_KEPT:])
        if not asks and NEGATIONS.search(text):
            self._forbidding |= {text}

    def ended(self) -> None:
        """The run is over: nothing that it was told waits for an answer."""
        self._forbidding = frozenset()

    def __call__(
        self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM | AfterLLM | BeforeTool
    ) -> HookResult | None:
        if isinstance(payload, BeforeLLM):
            since = list(takewhile(lambda one: one.role != "assistant", reversed(payload.messages)))
            said = [one for one in since if one.role == "user" and one.origin in PEOPLE]
            if said:  # else it goes on with what it has begun
                self._wording = False
                known = _words_of_tools(payload.tools) if self._small else frozenset()
                if self._english_only and (refused := self._refused(said[0], known)):
                    return HookResult.end_turn(refused)
                self._continues = self._english_only and _RELEASES.release(said[0].text) is not None
                self._is_foreign = not is_english(said[0].text, known) or asks_about_languages(said[0].text)
                earlier = payload.messages[: len(payload.messages) - len(since)]
                asked = has_asked(earlier)
                self._finished = None if asked else _finished(earlier)
                forbidding, verbs, named = self._forbidding, _verbs_of(payload.tools), _names_of(payload.tools)
                asks = self._asks(said[0], known, asked) or names_a_verb(said[0].text, verbs, named)
                facts = self._small and asks_about_facts(said[0].text, named)
                self._waits = self._small and not asked and _only_waits(said[0].text, verbs)
                self._talk = not asks or facts or self._waits or any(one.text in forbidding for one in said[1:])
                self._later = self._small and is_for_later(said[0].text, verbs)
                again = self._small and not asked and continues(said[0].text)
                self._again = _may_be_repeated(said[0].text, payload) if again else None
            return None
        if isinstance(payload, AfterLLM) and not self._is_foreign and payload.text.strip() == ONLY_ENGLISH:
            return HookResult.replace(replace(payload, text=self._answer))
        if isinstance(payload, AfterLLM) and self._wording:
            self._wording = False
            if _CALL.search(payload.text) or _claims(payload.text, self._kept):
                return HookResult.replace(replace(payload, text=self._answer, tool_calls=()))
        if isinstance(payload, AfterLLM) and self._continues and not _is_moving(ctx):
            self._continues = False
            again = any(self._keeps(one) and not self._drives_on(one) for one in _called(payload, ctx))
            if (self._finished is not None and again) or any(call.name == _STOP for call in payload.tool_calls):
                return HookResult.replace(replace(payload, text=NOTHING_TO_CONTINUE, tool_calls=()))
        tools = [payload.tool] if isinstance(payload, BeforeTool) else _called(payload, ctx)
        if self._later and isinstance(payload, AfterLLM) and any(self._keeps(one) and not _waits(one) for one in tools):
            stops = tuple(call for call in payload.tool_calls if call.name == _STOP)
            return HookResult.replace(replace(payload, text="" if stops else NOT_LATER, tool_calls=stops))
        asks_later = self._english_only and self._later and not self._talk
        if asks_later and isinstance(payload, AfterLLM) and _only_acknowledges(payload, ctx):
            return HookResult.replace(replace(payload, text=NOT_LATER))
        kept = self._is_unasked(tools) and not (self._any_language and _is_moving(ctx))
        if kept and self._in_words and isinstance(payload, AfterLLM) and not payload.text.strip():
            self._wording, self._kept = True, _verbs_of(tools)
            return HookResult.replace(replace(payload, tool_calls=(), in_words=True))
        return HookResult.end_turn(I_WAIT if self._waits else self._answer) if kept else None

    def _drives_on(self, tool: Tool) -> bool:
        """True if a tool did what it may do more of: "drive a meter", "keep going"."""
        names = tool.parameters.get("properties", {})
        return tool.name in (self._finished or ()) and any(ways_of(tool, name) is not None for name in names)

    def _is_unasked(self, tools: Iterable[Tool]) -> bool:
        """True if one of the tools is kept from talk, and was not asked for: "the same again" asks for what was called
        before."""
        if not self._talk and self._again is None:
            return False
        return any(self._keeps(tool) for tool in tools if self._talk or tool.name not in (self._again or ()))

    def _refused(self, message: Message, known: frozenset[str]) -> str | None:
        """The answer to what needs no model: another language, but for one with an English stop word, or no words."""
        if message.origin == "follow_up":
            return None
        words = words_of(message.text)
        if not words:
            return self._answer
        if is_english(message.text, known) or any(word in STOP_WORDS for word in words):
            return None
        # unknown words may be of a language that no list knows, or typed at random
        return ONLY_ENGLISH if has_foreign(message.text, known) else f"{self._answer} {ONLY_ENGLISH}"

    def _asks(self, message: Message, known: frozenset[str], asked: bool) -> bool:
        told, text = self._told, message.text
        if message.origin == "follow_up":  # the app's own
            return told.get(text, True)
        if self._any_language and not is_english(text, known):
            return True
        if self._small and not words_of(text):
            return False
        if text in told:
            return told[text]
        if not self._small and next(reversed(told.values()), True):
            return True
        if asked:
            return not NEGATIONS.search(text) or may_ask(text, self._phrases)
        return may_ask(text, self._phrases) and (not self._small or has_english(text, known))


def _only_waits(text: str, verbs: frozenset[str]) -> bool:
    """True if a text is a phrase that holds what moves, "hold on", and no tool is called so, or waits: "wait a minute".

    Args:
        verbs: First words of the tools' names.
    """
    row = _RELEASES.read(text)
    return row is not None and row.grade is Grade.HOLD and verbs.isdisjoint(_WAITS.union(words_of(row.words)[:1]))


def _claims(text: str, verbs: frozenset[str]) -> bool:
    """True if a text tells that something was done which was not: "the robot picked it up" where "pick_up" was kept."""
    said = set(words_of(text)) - verbs
    return any(alike(word, verb) or word == f"{verb.removesuffix('e')}ing" for word in said for verb in verbs)


def _called(reply: AfterLLM, ctx: AgentContext) -> list[Tool]:
    """The tools that a reply calls, before any of them starts."""
    return [tool for call in reply.tool_calls if (tool := ctx.tool_of(call)) is not None]


def _only_acknowledges(reply: AfterLLM, ctx: AgentContext) -> bool:
    """True for a first reply that does nothing and says no more than "I see."."""
    history = ctx.history()
    first = bool(history) and history[-1].role == "user" and not reply.tool_calls
    return first and is_backchannel(words_of(reply.text))


def _waits(tool: Tool) -> bool:
    """True if a parameter of a tool may tell when something is to be done, or, unless it moves, how long that takes: of
    a timer."""
    for name in tool.parameters.get("properties", {}):
        words, unit = set(name.lower().split("_")), unit_of(name)
        lasts = unit is not None and unit[0] == "time" and not tool.traits.motion and _SPEEDS.isdisjoint(words)
        if lasts or not _TIMES.isdisjoint(words):
            return True
    return False


def _is_moving(ctx: AgentContext) -> bool:
    return ctx.workers is not None and bool(ctx.workers.moving)


def has_asked(messages: Sequence[Message]) -> bool:
    """True if the last reply has a question in it, which what is said next may answer."""
    return next(("?" in one.text for one in reversed(messages) if one.role == "assistant" and one.text.strip()), False)


def _finished(messages: Sequence[Message]) -> frozenset[str] | None:
    """The tools that were called last, stops apart; None where anything of that was left undone."""
    work = dropwhile(lambda one: one.role != "tool" or one.name == _STOP, reversed(messages))
    results = [one for one in takewhile(lambda one: one.role != "user", work) if one.role == "tool"]
    return frozenset(one.name or "" for one in results) if all(one.status in _DONE for one in results) else None


def _may_be_repeated(text: str, request: BeforeLLM) -> frozenset[str]:
    """The tools that "again" may mean: those that were called before, and one that is called so, such as "repeat"."""
    called = {call.name for one in request.messages for call in one.tool_calls}
    words = words_of(text)
    return frozenset(called | {tool.name for tool in request.tools if not _verbs_of([tool]).isdisjoint(words)})


def _words_of_tools(tools: Iterable[Tool]) -> frozenset[str]:
    """The words in names, descriptions and schemas of tools, which people use when they ask for them."""
    texts = (f"{tool.name} {tool.description} {tool.parameters}".replace("_", " ") for tool in tools)
    return frozenset(word for text in texts for word in words_of(text) if word.isascii())


def _names_of(tools: Iterable[Tool]) -> frozenset[str]:
    """The words of tools' names."""
    return frozenset(word for tool in tools for word in tool.name.lower().split("_"))


def _verbs_of(tools: Iterable[Tool]) -> frozenset[str]:
    """The first words of tools' names."""
    return frozenset(tool.name.partition("_")[0].lower() for tool in tools)


# --- tools that a person approves first -------------------------------------------------------------------------------


NOT_DONE: Final = "I did not do it."
"""The reply when the plan was not approved."""

Approve = Callable[[str, tuple[ToolCall, ...]], bool]


class PlanModeHook(BaseHook):
    """At AFTER_LLM, after other hooks: asks once a run, before the first call that is not read-only.

    Args:
        approve: Called on the run's thread with the text of the reply and all its calls. Only True is a yes; anything
            else, an exception included, ends the run with "I did not do it.".

    Raises:
        ConfigError: ``approve`` can't be called, or is async.
    """

    points = frozenset({FirePoint.AFTER_LLM})
    priority = -900
    fail_closed = True

    def __init__(self, approve: Approve) -> None:
        if is_async(approve) or not callable(approve):
            raise ConfigError(f"PlanModeHook(approve={approve!r}): it should be a plain function of a text and calls")
        self._approve = approve

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if not isinstance(payload, AfterLLM) or state.get("approved"):
            return None
        if all(_is_read_only(ctx, call) for call in payload.tool_calls):
            return None
        if not self._asked(payload):
            return HookResult.end_turn(NOT_DONE)
        state["approved"] = True
        return None

    def _asked(self, payload: AfterLLM) -> bool:
        try:
            answer: object = self._approve(payload.text, payload.tool_calls)
        except Exception:  # the builder's code; no answer is no
            logger.exception("approve raised, so the plan is not approved")
            return False
        if not isinstance(answer, bool):
            logger.warning("approve returned %r, not True or False, so the plan is not approved", answer)
        return answer is True


def _is_read_only(ctx: AgentContext, call: ToolCall) -> bool:
    """True if the tool of a call is known to read only; an unknown tool may change anything."""
    tool = ctx.tool_of(call)
    return tool is not None and tool.traits.read_only


# --- tools that are never used ----------------------------------------------------------------------------------------


class SafetyGuardrailHook(BaseHook):
    """BEFORE_TOOL, after the other hooks, so that it judges the call that would run: blocks tools by their names.

    Args:
        blocked: Patterns of names, such as "delete_*"; ``*``, ``?`` and ``[abc]`` as in a shell, case counts.
        allowed: If given, every tool that none of these patterns names is blocked too.

    Raises:
        ConfigError: A pattern is no text, or is empty.
    """

    points = frozenset({FirePoint.BEFORE_TOOL})
    priority = -2000
    fail_closed = True

    def __init__(self, blocked: Iterable[str] = (), allowed: Iterable[str] | None = None) -> None:
        self.blocked = _patterns("blocked", blocked)
        self.allowed = None if allowed is None else _patterns("allowed", allowed)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, BeforeTool):
            return None
        name = payload.call.name
        if _any(self.blocked, name):
            return HookResult.block(f"{name} is blocked on this robot; do not call it again")
        if self.allowed is not None and not _any(self.allowed, name):
            return HookResult.block(f"{name} is not among the tools that are allowed on this robot")
        return None


def _any(patterns: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _patterns(argument: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"SafetyGuardrailHook({argument}={given!r}): it should be a list of names or patterns")
    patterns = []
    for pattern in given:
        if not isinstance(pattern, str) or not pattern:
            raise ConfigError(f"SafetyGuardrailHook({argument}=...): {pattern!r} is no name or pattern")
        patterns.append(pattern)
    return tuple(patterns)
