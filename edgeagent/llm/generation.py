"""One reply: the prompt evaluated, tokens sampled until something ends it, events on the way.

Runs in the thread that iterates, which holds the inference lock. What was evaluated stays evaluated, however it ends.
"""

from __future__ import annotations

import codecs
import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from edgeagent.errors import ModelError
from edgeagent.llm.constraint import Constraint, Untagged
from edgeagent.llm.engine import Engine
from edgeagent.llm.opening import Opening
from edgeagent.llm.prefixes import Marks, Prefixes
from edgeagent.llm.prompt import Prompt, Prompter
from edgeagent.llm.protocol import End, Error, LLMEvent
from edgeagent.llm.stream_gate import StreamGate
from edgeagent.messages import Reading, StopReason, Usage

log: Final = logging.getLogger("edgeagent.llm")

LONGEST_PERIOD: Final = 48
"""Ids of the longest sentence, or call, whose repetition is noticed."""

TIMES: Final = 8
"""More often than anybody is asked to turn left in one breath."""

SHORTEST_RUN: Final = 64
"""Ids. Rows of dots, dashes or zeros may be meant."""

_LOOK_EVERY: Final = 16


def repeats(ids: Sequence[int]) -> bool:
    """True if the end of a reply is one sequence of at most 48 ids, at least 8 times and 64 ids long.

    It looks only at every 16th id, so that it costs nothing.
    """
    if len(ids) % _LOOK_EVERY or len(ids) < SHORTEST_RUN:
        return False
    tail = list(ids[-LONGEST_PERIOD * TIMES :])
    return any(_has_period(tail, period) for period in range(1, LONGEST_PERIOD + 1))


def _has_period(tail: list[int], period: int) -> bool:
    length = max(period * TIMES, SHORTEST_RUN)
    return length <= len(tail) and tail[-length + period :] == tail[-length:-period]


@dataclass(slots=True, kw_only=True, eq=False)
class Generation:
    """The state of one reply."""

    engine: Engine
    prompter: Prompter
    """Remembers the ids for the next prompt, and has the vocabulary."""
    prefixes: Prefixes
    prompt: Prompt
    marks: Marks
    """Where this prompt can be shared."""
    gate: StreamGate
    """Turns text into events."""
    max_tokens: int
    temperature: float
    seed: int
    opening: Opening | None
    """The beginning of this reply, if there is a rule for it."""
    constraint: Constraint | None
    untagged: Untagged | None
    stopped: Callable[[], bool]
    """Asked between chunks of the prompt and between tokens."""
    enough: Callable[[], bool]
    """Asked after what a token has told: nothing else of the reply is wanted."""
    may_decline: bool
    """The reply may be left at its beginning, because a call is too improbable."""
    declined: bool = False
    """The reply was left at its beginning, because a call was too improbable; what was told of it is void."""
    _sampled: list[int] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _lengths: list[int] = field(default_factory=list)
    _reused: int = 0
    _evaluated: int = 0
    _prefill_s: float = 0.0
    _generation_s: float = 0.0

    @property
    def grammars(self) -> list[Constraint | Untagged]:
        """Grammars that the reply has to obey."""
        return [rules for rules in (self.constraint, self.untagged) if rules is not None]

    @property
    def doubtful(self) -> bool:
        """True if only the end of the reply says what it comes to: its events are not to be told before."""
        return self.opening is not None and self.opening.doubtful

    @property
    def usage(self) -> Usage:
        """Tokens of the prompt and of the reply so far."""
        return Usage(len(self.prompt.ids), len(self._sampled))

    def figures(self) -> dict[str, Any]:
        """The fields of ``LlamaStats`` that belong to one request."""
        return {
            "prompt_tokens": len(self.prompt.ids),
            "reused_tokens": self._reused,
            "evaluated_tokens": self._evaluated,
            "prefix_bytes": self.prefixes.used_bytes,
            "output_tokens": len(self._sampled),
            "prefill_s": self._prefill_s,
            "generation_s": self._generation_s,
        }

    def run(self) -> Iterator[LLMEvent]:
        """The events of this reply; ``Error`` when llama.cpp fails, never an exception."""
        try:
            if not self._prefill():
                yield End("aborted", self.usage, self._reading())
                return
            reason = yield from self._sample()
            if self.declined:
                return
            yield from self.gate.finish(aborted=reason == "aborted")
            if reason == "stop" and self.gate.called:
                reason = "tool_calls"
            yield End(reason, self.usage, self._reading())
        except ModelError as error:
            yield Error(str(error), self.usage)
        finally:
            for grammar in self.grammars:
                grammar.free()
            self.prompter.remember(self.prompt, "".join(self._pieces), self._sampled, self._lengths)

    def _reading(self) -> Reading:
        """The reply so far, for people who ask why."""
        opening = self.opening
        return Reading(
            self.prompter.shown(self.prompt),
            "".join(self._pieces),
            opener_probability=opening.probability if opening else None,
            opener_threshold=opening.needed if opening else None,
            openers_masked=opening is not None and opening.masked,
            refused=tuple(text for grammar in self.grammars for text in grammar.refused),
        )

    def _next(self) -> int:
        """The next token: greedy in calls, and whatever the reply's bounds make of it."""
        engine, gate, grammars = self.engine, self.gate, self.grammars
        forced = any(grammar.active for grammar in grammars)
        token = engine.sample(greedy=forced or gate.calling)
        if self.opening is not None:
            token = self.opening.admit(token, engine, gate)
        for grammar in grammars:
            token = grammar.admit(token, engine.logits, gate)
        return token

    def _prefill(self) -> bool:
        """Evaluate the prompt from where it differs from what is there; False when stopped."""
        begun_s = time.perf_counter()
        self._reused = self.prefixes.prepare(self.prompt, self.marks)
        try:
            return self.prefixes.evaluate(self.prompt, self.marks, self.stopped)
        finally:
            self._evaluated = len(self.engine.evaluated) - self._reused
            self._prefill_s = time.perf_counter() - begun_s

    def _sample(self) -> Generator[LLMEvent, None, StopReason]:
        engine, vocabulary = self.engine, self.prompter.vocabulary
        engine.begin(self.temperature, self.seed)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        length = 0
        reason: StopReason = "length"
        while len(self._sampled) < self.max_tokens:
            if self.stopped():
                return "aborted"
            begun_s = time.perf_counter()
            if self._sampled:
                engine.decode(self._sampled[-1:])
            token = self._next()
            self._generation_s += time.perf_counter() - begun_s
            opening = self.opening
            if self.may_decline and opening is not None and opening.declined and not self._sampled:
                self.declined = True
                break
            if vocabulary.is_end(token):
                reason = "stop"
                break
            self._sampled.append(token)
            piece = decoder.decode(vocabulary.piece(token))
            length += len(piece)
            self._pieces.append(piece)
            self._lengths.append(-1 if decoder.getstate()[0] else length)  # -1: the character is not whole yet
            if opening is not None and opening.refuses("".join(self._pieces)):
                self.declined = True
                break
            if piece:
                yield from self.gate.feed(piece)
            constraint = self.constraint
            if self.enough() or (constraint is not None and constraint.complete):
                reason = "stop"
                break
            if repeats(self._sampled):
                log.warning("the model repeats itself: its reply is cut after %d tokens", len(self._sampled))
                break
        rest = decoder.decode(b"", final=True)
        if rest:
            self._pieces.append(rest)
            self._lengths[-1] = length + len(rest)
            yield from self.gate.feed(rest)
        return reason
