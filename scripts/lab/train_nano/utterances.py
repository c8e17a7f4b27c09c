"""One user turn without history: what is said and what is right.

Draws from the rules of a grammar; what is composed of several draws stands in orders.py, corrections.py and reasons.py.
Knows nothing of tools being offered or of results.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from grammar import CallTemplate, Grammar, Rule, Slot, expand
from results import Call
from slots import KINDS, Drawn

from edgeagent.train import dressing as noise
from edgeagent.train import number

ARTICLES: Final = frozenset("the a an my your our that this some its his her".split())
_ADJECTIVAL: Final = frozenset("timer alarm reminder countdown timers nap break".split())
SWAPPABLE: Final = frozenset(
    ("dist", "angle", "duration", "room", "light", "place", "dropplace", "object", "landmark", "direction", "parts")
)
"""Slots that a speaker may correct."""
_MOST_IN_PART: Final = 3
_PAIRS: Final = ("{} and {}",) * 5 + (
    "{} then {}", "{} and then {}", "{}, then {}", "{}, {}", "{}. {}", "{}. then {}", "first {} then {}", "first {}, then {}",
    "first {} and then {}", "{} after that {}", "{} and after that {}", "{} and also {}", "{}, and {}", "{} afterwards {}",
    "{} and afterwards {}", "{}, after that {}", "{} next {}", "{} and when you're done {}",
    "{} followed by {}", "{} plus {}", "{}; {}", "{} {}", "{} and please {}", "{}. after that, {}", "{}, and once that's done {}", "{} & {}", "{} + {}",
    "{}, and then please {}", "{}. and then {}", "both {} and {}", "{} as well as {}", "{}, also {}", "{}. also {}",
)  # fmt: skip
"""What stands between two commands."""

APART: Final = ("languages", "wordless", "idioms", "talk", "unserved", "forbidding")
"""Phrase files whose rules without a call are groups of their own."""
STATES: Final = "states"
"""The phrase file whose rules are no sentences of their own, and their group."""

_TOOL_WEIGHT: Final = {
    "drive": 2.2, "turn": 1.8, "go_to": 1.8, "stop": 0.8, "get_battery": 0.8, "get_location": 0.8, "scan": 0.9, "pick_up": 1.5,
    "put_down": 1.2, "set_light": 1.4, "set_timer": 1.8, "get_time": 0.7, "follow": 0.8, "dock": 0.8, "look": 1.0,
}  # fmt: skip
"""How often a tool's rules are drawn; those with numbers or names need more."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What is said, the right calls, and for no call the reply."""

    text: str
    calls: tuple[Call, ...] = ()
    reply: str = ""
    tag: str = "single"
    bare: bool = True
    """Whether politeness may still be put around it."""
    as_typed: bool = False
    """Whether it stays letter by letter."""
    answer: Utterance | None = None
    """What may be said next where the reply is a question."""

    @property
    def tools(self) -> set[str]:
        """Names of the tools that it needs, its answer included."""
        return {call.name for call in self.calls} | (self.answer.tools if self.answer is not None else set())


@dataclass(frozen=True, slots=True)
class Realised:
    """A rule with its slots drawn, still apart so that a slot can be drawn again."""

    rule: Rule
    pieces: tuple[str | Slot, ...]
    draws: dict[tuple[str, int], Drawn]

    def text(self) -> str:
        """The sentence."""
        out: list[str] = []
        words = [p for p in self.pieces if p != " "]
        at = -1
        for piece in self.pieces:
            if piece == " ":
                out.append(" ")
                continue
            at += 1
            if isinstance(piece, str):
                out.append(piece)
                continue
            drawn, said = self.draws[piece.key], self.draws[piece.key].surface
            following = words[at + 1] if at + 1 < len(words) else ""
            before = "".join(out).split()[-1:] or [""]
            if following in _ADJECTIVAL and drawn.adjective:
                said = drawn.adjective
            elif before[0] in ARTICLES and said.split(" ", 1)[0] in ARTICLES:
                said = said.partition(" ")[2]
            out.append(said)
        return re.sub(r"\s+([,.!?])", r"\1", re.sub(r"\s+", " ", "".join(out))).strip()

    def calls(self) -> tuple[Call, ...]:
        """The right calls."""
        calls: list[Call] = []
        for template in self.rule.calls:
            calls += [self._call(template)] * self._times(template)
        return tuple(calls)

    def _times(self, template: CallTemplate) -> int:
        if isinstance(template.repeat, Slot):
            return int(self.draws[template.repeat.key].value)
        return template.repeat

    def _call(self, template: CallTemplate) -> Call:
        arguments: dict[str, Any] = {}
        for name, value in template.arguments:
            if not isinstance(value, Slot):
                arguments[name] = value
                continue
            drawn = self.draws[value.key].value
            arguments[name] = _scaled(drawn, value.scale) if isinstance(drawn, int | float) else drawn
        return Call(template.name, arguments)


def _scaled(value: float, scale: float) -> int | float:
    """A value in another unit, or a part of it, as conventions round it; a value with its sign stays as it is."""
    return number(value * scale if abs(scale) == 1 else round(value * scale, 3))


class Speaker:
    """Draws utterances from a grammar with a random generator of its own."""

    def __init__(self, grammar: Grammar, rng: random.Random) -> None:
        self.rng = rng
        self._groups: dict[str, tuple[list[Rule], list[float]]] = {}
        groups: dict[str, list[Rule]] = defaultdict(list)
        for rule in grammar.rules:
            groups[_group(rule)].append(rule)
        for name, rules in groups.items():
            weights = (r.weight * (1 + min(r.ways, 4096)) ** 0.5 for r in rules)
            self._groups[name] = rules, list(accumulate(weights))
        self._names = [n for n in self._groups if n not in ("several", STATES) and not n.startswith("none")]
        self._name_weights = [_TOOL_WEIGHT.get(n, 1.0) for n in self._names]

    def realise(self, rule: Rule, known: dict[tuple[str, int], Drawn] | None = None) -> Realised:
        """Draws words and slots of one rule.

        Args:
            known: What was drawn already.
        """
        pieces = tuple(expand(rule.pattern, self.rng))
        kinds = {p.key for p in pieces if isinstance(p, Slot)}
        for call in rule.calls:
            kinds |= {v.key for _, v in call.arguments if isinstance(v, Slot)}
            kinds |= {call.repeat.key} if isinstance(call.repeat, Slot) else set()
        draws: dict[tuple[str, int], Drawn] = dict(known or {})
        for key in sorted(kinds - set(draws)):
            draws[key] = KINDS[key[0]](self.rng)
            others = [d.value for k, d in draws.items() if k[0] == key[0] and k != key]
            while draws[key].value in others and key[0] not in ("count",):
                draws[key] = KINDS[key[0]](self.rng)
        return Realised(rule, pieces, draws)

    def draw(self, group: str) -> Realised:
        """Realises a rule of a group: a tool's name, "several", "none", or "none FILE" for the files of ``APART``."""
        rules, summed = self._groups[group]
        return self.realise(self.rng.choices(rules, cum_weights=summed)[0])

    def command(self, names: list[str] | None = None) -> Realised:
        """One command, of any tool or of the named ones."""
        if names:
            return self.draw(self.rng.choice(names))
        return self.draw(self.rng.choices(self._names, self._name_weights)[0])

    def imperative(self) -> Realised:
        """A command that "please" or "don't" may stand before."""
        while True:
            one = self.command()
            if noise.is_imperative(one.text()):
                return one

    @property
    def groups(self) -> list[str]:
        """The names of tools that have rules."""
        return list(self._names)

    def single(self) -> Utterance:
        """One command, plain or repeated."""
        one = self.command()
        text, calls = one.text(), one.calls()
        if (
            len(calls) == 1
            and calls[0].name in ("drive", "turn")
            and self.rng.random() < 0.06
            and noise.is_imperative(text)
            and not any(s.kind == "count" for s in one.rule.slots)
        ):
            n = KINDS["count"](self.rng)
            return Utterance(f"{text} {n.surface}", calls * int(n.value), tag="repeat")
        return Utterance(text, calls)

    def chainable(self) -> Realised:
        """A rule of several calls that may stand in a chain."""
        while True:
            one = self.draw("several")
            if noise.is_imperative(one.text()) and len(one.calls()) <= _MOST_IN_PART:
                return one

    def together(self) -> Utterance:
        """A rule of several calls."""
        one = self.draw("several")
        return Utterance(one.text(), one.calls(), tag="multi")

    def joined(self, texts: list[str]) -> str:
        """Two commands in one sentence, or in two."""
        return self.rng.choice(_PAIRS).format(*texts)

    def negated_beside(self) -> Utterance:
        """A negation next to a command; only the command counts."""
        rng = self.rng
        no, yes = self.imperative(), self.imperative()
        kind = rng.random()
        if kind < 0.6:
            no = self.draw(_group(yes.rule))
            if no.calls() == yes.calls() or not noise.is_imperative(no.text()):
                no = self.imperative()
        dont = rng.choice(("don't", "don't", "do not", "please don't", "never", "dont"))
        shape = rng.choice(
            (
                "{d} {n}, {y}",
                "{d} {n}, {y}",
                "{d} {n} but {y}",
                "{d} {n}, just {y}",
                "{y} but {d} {n}",
                "{y} and {d} {n}",
                "{d} {n}, {y} instead",
                "instead of that {y}, {d} {n}",
                "{y}, {d} {n}",
                "{d} {n}. {y}",
            )
        )
        return Utterance(shape.format(d=dont, n=no.text(), y=yes.text()), yes.calls(), tag="negation")


def _group(rule: Rule) -> str:
    names = {c.name for c in rule.calls}
    file = rule.where.partition(".")[0]
    if file == STATES:
        return file
    if not names:
        return f"none {file}" if file in APART else "none"
    return names.pop() if len(names) == 1 and len(rule.calls) == 1 else "several"
