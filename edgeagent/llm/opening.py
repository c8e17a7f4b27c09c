"""The gate on a reply's first token: asks the model how probable a call is, and below a threshold lets it only talk.

Small models that leave the tags of their template begin JSON also where nobody asked for anything. The probability that
they give to all tokens that can begin a call tells such replies from calls; docs/figures.md has the measurements. A
command for what a tool can do needs less, and after a result it counts how much was asked for, both in English.
Nothing is asked twice: one softmax for a reply, none for the tokens after its beginning. Runs in the thread that
generates.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final

import numpy as np

from edgeagent.english.answers import yes_or_no
from edgeagent.english.asking import Abilities, commands, may_follow, requests_in
from edgeagent.english.sentence_rules import is_question, sentence
from edgeagent.llm.constraint import untagged_name
from edgeagent.llm.engine import Engine, Logits, likeliest
from edgeagent.llm.grammar import TokenVocabulary
from edgeagent.llm.parsers import FORMATS, CallFormat
from edgeagent.llm.protocol import IN_WORDS, LLMRequest, ToolSpec
from edgeagent.llm.stream_gate import THINKING_MARKERS, StreamGate
from edgeagent.messages import Message
from edgeagent.models.catalog import CallGate, LanguageModel

DEFAULT_GATE: Final = CallGate(first=0.95, asked=0.5, reading=0.95, later=1.0)
"""For models that nobody fitted: what fits both models that were measured. See docs/figures.md."""

_ASIDES: Final = ("ephemeral", "warning", "marker")
_SAID: Final = ("user", "steering", "handoff")  # of people, and not of the app
_LIKELY: Final = 1024  # tokens that are looked at; those beyond them have no probability to speak of
_BARE: Final = ("{", "[", "```", "<tools>")  # calls without tags: an object, a list, a fence, Qwen's block
_OPENERS: Final = tuple({opener for known in FORMATS for opener in known.openers} | {*_BARE})


class Openers:
    """The tokens of one vocabulary that can begin a call, in any format that is read.

    Args:
        vocabulary: The model's.
        calls: The format of its template.
    """

    def __init__(self, vocabulary: TokenVocabulary, calls: CallFormat | None) -> None:
        self._vocabulary = vocabulary
        self._own = (*calls.openers, *calls.start_openers) if calls else ()
        self._split = {opener for opener in self._own if opener not in vocabulary.markers}  # into several tokens
        self._known: dict[int, bool] = {}

    def among(self, logits: Logits) -> np.ndarray[Any, Any]:
        """The ids of those openers that are likely enough to be sampled."""
        return np.array([token for token in likeliest(logits, _LIKELY).tolist() if self.opens(token)], dtype=np.intp)

    def mask(self, engine: Engine) -> None:
        """Leave the next token no choice but to begin a word: signs in front of JSON would show it as speech."""
        for tokens in (likeliest(engine.logits, _LIKELY).tolist(), range(engine.logits.size)):
            words = [token for token in tokens if self._begins_word(token)]
            if words:
                engine.allow_only(np.array(words, dtype=np.intp))
                return

    def probability(self, logits: Logits) -> float:
        """Probability that the next token is an opener."""
        weights = np.exp(logits - logits.max())
        return float(weights[self.among(logits)].sum() / weights.sum())

    def says_nothing(self, token: int) -> bool:
        """True if nothing is seen after this token yet: it is blank, or a marker of reasoning."""
        text = self._vocabulary.text_of(token).strip()
        return not self.ends(token) and (not text or text.startswith(THINKING_MARKERS))

    def ends(self, token: int) -> bool:
        """True if a reply ends with this token."""
        return self._vocabulary.is_end(token)

    def are_own(self, token: int) -> bool:
        """True if a token begins a call as the model's template writes one."""
        text = self._vocabulary.text_of(token).lstrip()
        return bool(text) and any(
            text.startswith(own) or (own in self._split and own.startswith(text)) for own in self._own
        )

    def _begins_word(self, token: int) -> bool:
        return self._vocabulary.text_of(token).lstrip()[:1].isalnum() and not self._vocabulary.is_end(token)

    def opens(self, token: int) -> bool:
        """True if a call can begin with this token, in any form that is read."""
        opens = self._known.get(token)
        if opens is None:
            text = self._vocabulary.text_of(token).lstrip()
            opens = bool(text) and any(text.startswith(o) or o.startswith(text) for o in _OPENERS)
            self._known[token] = opens
        return opens


@dataclass(slots=True, eq=False)
class Opening:
    """The beginning of one reply.

    The question is asked at the first token that is to be seen: blanks and reasoning come before it. A model that
    begins a call with the tags of its template was trained to: it has a threshold of its own, which is 0 unless one was
    fitted.
    """

    openers: Openers
    threshold: float
    """Least probability with which this reply may begin the call that it is about to begin."""
    may_call: bool = True
    """False where no call would be run: then it may begin none in any form, the template's own included."""
    readers: Collection[str] = ()
    """Names of the tools that only read."""
    reading: float = 0.0
    """Least probability of a call with which a reply may call these alone."""
    tagged: float = 0.0
    """Least probability of a call with which a reply may begin one with the tags of the template."""
    asks_for_words: bool = False
    """A reply without a call is asked for once more in words, whatever it began with: the model recites what it was
    told of earlier turns."""
    probability: float | None = None
    """Of all tokens that can begin a call, at the first that is seen; None before it. Of the first try, where this
    reply is the second one after a call that was too improbable."""
    masked: bool = field(init=False)
    """This reply may not begin a call."""
    declined: bool = False
    """The model was about to begin a call that is too improbable, or to say nothing at all instead of it."""
    doubtful: bool = False
    """The reply begins a call that only a tool that reads may come of: told when that is known."""
    over: bool = False
    """The reply has begun: nothing is asked any more."""

    def __post_init__(self) -> None:
        self.masked = self.probability is not None

    def admit(self, token: int, engine: Engine, gate: StreamGate) -> int:
        """The token to commit: the one that was sampled, or another where that would begin an improbable call, or end
        a reply that was to be words."""
        openers = self.openers
        if self.over or gate.thinking or openers.says_nothing(token):
            return token
        if self.probability is None:
            self.probability = openers.probability(engine.logits)
            own = openers.are_own(token)
            self.threshold = self.tagged if own else self.threshold
            improbable = self.probability < self.threshold
            self.doubtful = (
                improbable
                and not own
                and bool(self.readers)
                and self.probability >= self.reading
                and openers.opens(token)
            )
            improbable = improbable and not self.doubtful
            strays = openers.opens(token) or openers.ends(token)
            self.declined = improbable and self.may_call and (strays or self.asks_for_words)
            self.masked = improbable or not self.may_call
        if self.masked and (openers.opens(token) or openers.ends(token)):
            openers.mask(engine)
            token = engine.sample()
        self.over = not openers.says_nothing(token)
        return token

    @property
    def needed(self) -> float:
        """Least probability of the call that this reply comes to, if it comes to one."""
        return self.reading if self.doubtful else self.threshold

    def refuses(self, text: str) -> bool:
        """True if a doubtful reply, as far as it is written, calls a tool that does more than read."""
        name = untagged_name(text) if self.doubtful else ""
        return bool(name) and name not in self.readers


def only_read(tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Those of the tools that change nothing."""
    return [tool for tool in tools if getattr(getattr(tool, "traits", None), "read_only", False)]


def for_words(request: LLMRequest) -> LLMRequest:
    """The request that asks once more, for words instead of calls. The hint stands at the tail, so that the prompt
    before it is not evaluated again."""
    hint = Message.user(IN_WORDS, origin="ephemeral")
    return replace(request, messages=[*request.messages, hint], tool_choice="none")


def gate_of(asked: float | CallGate | None, known: LanguageModel | None) -> CallGate:
    """The gate that was asked for; else that of the catalogue's model, where one was fitted; else the default. One
    number stands for all thresholds of untagged calls."""
    if isinstance(asked, CallGate):
        return asked
    if asked is not None:
        return CallGate(first=asked, reading=asked, later=asked, following=asked)
    return (known.call_gate if known else None) or DEFAULT_GATE


def _spoken(request: LLMRequest) -> list[Message]:
    """The conversation, without what is only noted in it."""
    return [message for message in request.messages if message.origin not in _ASIDES]


def answers_result(request: LLMRequest) -> bool:
    """True if the reply to a request follows a tool's result, and not a person's words or a call that could not be
    made as it was written, which may be tried once more."""
    newest = _spoken(request)[-1:]
    return any(message.role == "tool" and message.status != "invalid" for message in newest)


def call_threshold(gate: CallGate, request: LLMRequest) -> float:
    """The one of a gate for the reply to a request; 0 where there is no gate."""
    if answers_result(request):
        return gate.further if gate.further < gate.later and _asks_for_more(request) else gate.later
    if gate.following < gate.first and _follows(request):
        return gate.following
    return gate.asked if gate.asked < gate.first and _commands(request) else gate.first


def reading_threshold(gate: CallGate, request: LLMRequest) -> float:
    """The one of a gate for a call that only reads, in the reply to what a person says: another one for a question, or
    a request, after a reply."""
    newest = _spoken(request)[-1:]
    questions = any(is_question(sentence(message.text).bare) for message in newest if message.role == "user")
    follows = has_answered(request) and (questions or _follows(request))
    return min(gate.reading, gate.following) if follows else gate.reading


def has_answered(request: LLMRequest) -> bool:
    """True if the model has answered before."""
    return any(message.role == "assistant" for message in request.messages)


def _follows(request: LLMRequest) -> bool:
    """True if a person goes on talking in words that may ask for something to be done; an answer to a question may."""
    spoken = _spoken(request)
    newest = takewhile(lambda message: message.role == "user", reversed(spoken))
    said = [message for message in newest if message.origin in (*_SAID, "follow_up")]
    before = next((message for message in reversed(spoken) if message.role != "user"), None)
    if not said or before is None:
        return False
    if before.role == "assistant" and "?" in before.text:
        return yes_or_no(said[0].text) is not False or may_follow(said[0].text, _abilities(request.tools))
    return may_follow(said[0].text, _abilities(request.tools))


def _commands(request: LLMRequest) -> bool:
    """True if what a person said last commands what a tool can do."""
    said = [message.text for message in _spoken(request)[-1:] if message.origin in _SAID and message.role == "user"]
    return any(commands(text, _abilities(request.tools)) for text in said)


def _asks_for_more(request: LLMRequest) -> bool:
    """True if people ask for more calls than were made since the last answer. A question is none."""
    since = list(
        takewhile(
            lambda message: message.role != "assistant" or message.tool_calls or "?" in message.text,
            reversed(_spoken(request)),
        )
    )
    made = sum(message.role == "tool" and message.status != "invalid" for message in since)
    said = [message.text for message in since if message.role == "user" and message.origin in _SAID]
    can = _abilities(request.tools)
    return made < sum(requests_in(text, can) for text in said)


def _abilities(tools: Iterable[ToolSpec]) -> Abilities:
    return _read_abilities(tuple((tool.name, tool.description or "", _written(tool.parameters)) for tool in tools))


def _written(schema: Any) -> str:
    """A schema as JSON; an empty one for what JSON cannot tell: one that holds itself, or is nested too deep."""
    try:
        return json.dumps(schema, default=str)
    except (RecursionError, TypeError, ValueError):
        return "{}"


@lru_cache(maxsize=8)
def _read_abilities(described: tuple[tuple[str, str, str], ...]) -> Abilities:
    named = [one for _, _, schema in described for one in _named(schema)]
    told, values = ([text for text, is_value in named if is_value is wanted] for wanted in (False, True))
    return Abilities.of([(name, description) for name, description, _ in described], told, values)


def _named(written: str) -> Iterator[tuple[str, bool]]:
    """The names of a schema's properties, their descriptions, and the values that they may have; True for values."""
    try:
        left = [json.loads(written)]
    except RecursionError:
        return
    while left:  # no recursion: a schema may be nested deeper than functions may
        schema = left.pop()
        if isinstance(schema, list):
            left += schema
            continue
        for key, value in schema.items() if isinstance(schema, dict) else ():
            if key == "description" and isinstance(value, str):
                yield value, False
            elif key in ("enum", "const"):
                yield from ((str(one), True) for one in (value if isinstance(value, list) else [value]))
            elif key in ("properties", "$defs") and isinstance(value, dict):
                yield from ((name, False) for name in value)
                left += value.values()
            else:
                left.append(value)


def tagged_threshold(gate: CallGate, request: LLMRequest) -> float:
    """The one of a gate for a call with tags; 0 after a tool's result, and where a question of the model's own is
    answered: such an answer ("five minutes") is no talk, and to a small model no plain command either."""
    spoken = _spoken(request)
    before = next((message for message in reversed(spoken) if message.role != "user"), None)
    if before is None:
        return gate.tagged
    asked = before.role == "assistant" and "?" in before.text
    return 0.0 if asked or spoken[-1].role == "tool" else gate.tagged
