"""One user turn without history: what is said and what is right.

Draws from the rules of a grammar and composes: several commands, corrections, negations, reports, broken-off sentences.
Knows nothing of tools being offered or of results.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, Final

import lexicon
import noise
from grammar import CallTemplate, Grammar, Rule, Slot, count, expand
from results import Call
from slots import KINDS, Drawn, pseudo_word
from spoken import number

_ARTICLES: Final = frozenset("the a an my your our that this some its his her".split())
_ADJECTIVAL: Final = frozenset("timer alarm reminder countdown timers nap break".split())
_SWAPPABLE: Final = frozenset(
    ("dist", "angle", "duration", "room", "light", "place", "dropplace", "object", "landmark", "direction")
)

_PLACED: Final = frozenset(("go_to", "pick_up", "put_down", "set_light"))
_TOOL_WEIGHT: Final = {
    "drive": 2.2, "turn": 1.8, "go_to": 1.8, "stop": 0.8, "get_battery": 0.8, "get_location": 0.8, "scan": 0.9, "pick_up": 1.5,
    "put_down": 1.2, "set_light": 1.4, "set_timer": 1.8, "get_time": 0.7, "follow": 0.8, "dock": 0.8, "look": 1.0,
}  # fmt: skip
"""How often a tool's rules are drawn; those with numbers or names need more."""

CANNOT: Final = (
    "I can't do that.",
    "Sorry, I can't do that.",
    "I'm sorry, I can't do that.",
    "That is something I can't do.",
)
_WONT: Final = ("Okay, I won't.", "All right, I won't.", "Okay, I will not do that.", "Fine, I won't.")
_LISTENING: Final = ("I see.", "Okay.", "Understood.", "Good to know.", "All right.")
_UNKNOWN: Final = ("Sorry, I did not understand that.", "I did not get that.", "Sorry, could you say that again?")


@dataclass(frozen=True, slots=True)
class Utterance:
    """What is said, the right calls, and for no call the reply."""

    text: str
    calls: tuple[Call, ...] = ()
    reply: str = ""
    tag: str = "single"
    bare: bool = True
    """Whether politeness may still be put around it."""


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
            elif before[0] in _ARTICLES and said.split(" ", 1)[0] in _ARTICLES:
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
            arguments[name] = number(-drawn if value.negative else drawn) if isinstance(drawn, int | float) else drawn
        return Call(template.name, arguments)


class Speaker:
    """Draws utterances from a grammar with a random generator of its own."""

    def __init__(self, grammar: Grammar, rng: random.Random) -> None:
        self.rng = rng
        self._groups: dict[str, tuple[list[Rule], list[float]]] = {}
        groups: dict[str, list[Rule]] = defaultdict(list)
        for rule in grammar.rules:
            groups[_group(rule)].append(rule)
        for name, rules in groups.items():
            self._groups[name] = rules, [r.weight * (1 + min(count(r.pattern), 4096)) ** 0.5 for r in rules]
        self._names = [n for n in self._groups if n not in ("none", "several")]
        self._name_weights = [_TOOL_WEIGHT.get(n, 1.0) for n in self._names]

    def realise(self, rule: Rule) -> Realised:
        """Draws words and slots of one rule."""
        pieces = tuple(expand(rule.pattern, self.rng))
        kinds = {p.key for p in pieces if isinstance(p, Slot)}
        for call in rule.calls:
            kinds |= {v.key for _, v in call.arguments if isinstance(v, Slot)}
            kinds |= {call.repeat.key} if isinstance(call.repeat, Slot) else set()
        draws: dict[tuple[str, int], Drawn] = {}
        for key in sorted(kinds):
            draws[key] = KINDS[key[0]](self.rng)
            others = [d.value for k, d in draws.items() if k[0] == key[0] and k != key]
            while draws[key].value in others and key[0] not in ("count",):
                draws[key] = KINDS[key[0]](self.rng)
        return Realised(rule, pieces, draws)

    def draw(self, group: str) -> Realised:
        """Realises a rule of a group: a tool's name, "none" or "several"."""
        rules, weights = self._groups[group]
        return self.realise(self.rng.choices(rules, weights)[0])

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
            and calls[0].name in ("drive", "turn", "look")
            and self.rng.random() < 0.06
            and noise.is_imperative(text)
            and not any(s.kind == "count" for s in one.rule.slots)
        ):
            n = KINDS["count"](self.rng)
            return Utterance(f"{text} {n.surface}", calls * int(n.value), tag="repeat")
        return Utterance(text, calls)

    def several(self) -> Utterance:
        """Two to four commands in one sentence."""
        rng = self.rng
        if "several" in self._groups and rng.random() < 0.25:
            one = self.draw("several")
            return Utterance(one.text(), one.calls(), tag="multi")
        n = rng.choices((2, 3, 4), (0.66, 0.26, 0.08))[0]
        parts = [self.imperative() for _ in range(n)]
        if rng.random() < 0.12:
            parts[-1] = self.command()
        texts = [p.text() for p in parts]
        if rng.random() < 0.08:
            texts[rng.randrange(n)] += rng.choice((" please", " for me", " quickly"))
        text = self._join(texts)
        return Utterance(text, tuple(c for p in parts for c in p.calls()), tag="multi")

    def _join(self, texts: list[str]) -> str:
        rng = self.rng
        if len(texts) == 2:
            shape = rng.choice(
                ("{} and {}",) * 5
                + (
                    "{} then {}",
                    "{} and then {}",
                    "{}, then {}",
                    "{}, {}",
                    "{}. {}",
                    "{}. then {}",
                    "first {} then {}",
                    "first {}, then {}",
                    "first {} and then {}",
                )
                + (
                    "{} after that {}",
                    "{} and after that {}",
                    "{} and also {}",
                    "{}, and {}",
                    "{} afterwards {}",
                    "{} and afterwards {}",
                    "{}, after that {}",
                )
                + (
                    "{} next {}",
                    "when you have done that {}",
                    "{} once you are done {}",
                    "{} and when you're done {}",
                    "{} followed by {}",
                    "{} plus {}",
                    "{}; {}",
                    "{} {}",
                    "{} and please {}",
                )
            )
            if shape.count("{}") == 2:
                return shape.format(*texts)
            return f"{texts[0]}. {shape.format(texts[1])}"
        joints = [
            rng.choice((" and ", " then ", ", ", ", then ", " and then ", ". ", " after that ")) for _ in texts[1:]
        ]
        if rng.random() < 0.5:
            joints = [rng.choice((", ", ", ", " then ", ", then "))] * (len(texts) - 1)
            joints[-1] = rng.choice((" and ", ", and ", " and then ", " and finally ", ", then ", " then "))
        text = texts[0] + "".join(j + t for j, t in zip(joints, texts[1:], strict=True))
        return rng.choice(("", "", "", "first ", "first of all ")) + text

    def corrected(self) -> Utterance:
        """A command that its speaker takes back in the same breath."""
        rng = self.rng
        sorry = rng.choice(
            (
                "no",
                "no wait",
                "no sorry",
                "sorry",
                "sorry i mean",
                "i mean",
                "no i mean",
                "wait no",
                "actually",
                "actually no",
                "or rather",
                "make that",
                "no make that",
                "correction",
                "i meant",
                "oh no",
                "no no",
                "hmm no",
                "rather",
            )
        )
        comma = rng.choice((", ", ", ", " ", "... "))
        if rng.random() < 0.62:
            for _ in range(20):
                one = self.imperative()
                swaps = [s for s in one.draws if s[0] in _SWAPPABLE]
                if len(swaps) != 1 or len(one.rule.calls) != 1 or _times(one) != 1:
                    continue
                key = swaps[0]
                new = KINDS[key[0]](rng)
                if new.value == one.draws[key].value:
                    continue
                fixed = replace(one, draws={**one.draws, key: new})
                said = new.surface
                if (
                    rng.random() < 0.2
                    and key[0] in ("place", "room", "dropplace")
                    and one.rule.calls[0].name == "go_to"
                ):
                    said = f"to {said}"
                return Utterance(
                    f"{one.text()}{comma}{sorry}{rng.choice((', ', ' '))}{said}", fixed.calls(), tag="correction"
                )
        wrong, right = self.imperative(), self.imperative()
        joint = rng.choice(
            (
                sorry,
                "scratch that",
                "forget that",
                "never mind",
                "cancel that",
                "no wait",
                "no, don't",
                "wait",
                "oh wait",
                "nevermind that",
                "forget it",
                "strike that",
            )
        )
        return Utterance(
            f"{wrong.text()}{comma}{joint}{rng.choice((', ', ' '))}{right.text()}", right.calls(), tag="correction"
        )

    def negated_beside(self) -> Utterance:
        """A negation next to a command; only the command counts."""
        rng = self.rng
        no, yes = self.imperative(), self.imperative()
        kind = rng.random()
        if kind < 0.35 and (contrast := self._contrasted()) is not None:
            return contrast
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

    def _contrasted(self) -> Utterance | None:
        """One command with what it is not about: "not the cup, bring me the book"."""
        rng = self.rng
        for _ in range(20):
            yes = self.imperative()
            keys = [k for k in yes.draws if k[0] in _SWAPPABLE]
            if len(keys) != 1:
                continue
            other = KINDS[keys[0][0]](rng)
            if other.value == yes.draws[keys[0]].value:
                continue
            no = rng.choice(("not", "not", "and not", "but not")) if rng.random() < 0.6 else ""
            comma = rng.choice((", ", " "))
            if no:
                text = f"{yes.text()}{comma}{no} {other.surface}"
            else:
                text = f"not {other.surface}{comma}{rng.choice(('', '', 'but ', 'just '))}{yes.text()}"
            return Utterance(text, yes.calls(), tag="negation")
        return None

    def nothing(self) -> Utterance:
        """Something that no call answers."""
        rng = self.rng
        kind = rng.choices(
            (
                self.draw_nothing_said,
                self._negated,
                self._unserved,
                self._elsewhere,
                self._reported,
                self._broken_off,
                self._gibberish,
            ),
            (0.52, 0.14, 0.1, 0.07, 0.08, 0.06, 0.03),
        )[0]
        return kind()

    def draw_nothing_said(self) -> Utterance:
        """Small talk, statements, questions about something else: the rules with `none`."""
        one = self.draw("none")
        pieces = expand(one.rule.reply, self.rng) if one.rule.reply else []
        words = [
            one.draws[p.key].surface
            if isinstance(p, Slot) and p.key in one.draws
            else p
            if isinstance(p, str)
            else KINDS[p.kind](self.rng).surface
            for p in pieces
        ]
        reply = re.sub(r"\s+", " ", "".join(words)).strip()
        return Utterance(one.text(), reply=reply, tag="none", bare=False)

    def _negated(self) -> Utterance:
        rng = self.rng
        one = self.imperative().text()
        dont = rng.choice(
            ("don't {}", "don't {}", "don't {}", "please don't {}", "do not {}", "never {}", "you must not {}", "you mustn't {}", "you shouldn't {}", "no need to {}", "there's no need to {}", "i don't want you to {}",
             "you don't have to {}", "you don't need to {}", "dont {}", "i said don't {}", "never ever {}", "don't you dare {}", "i'd rather you didn't {}", "it is not necessary to {}", "under no circumstances {}",
             "please do not {} now", "don't {} yet", "not now, don't {}", "you can't {} now", "i told you not to {}", "i'd prefer you not to {}", "nobody asked you to {}", "make sure you don't {}", "better not {}", "you are not allowed to {}")
        )  # fmt: skip
        if rng.random() < 0.15:
            two = self.imperative().text()
            return Utterance(f"{dont.format(one)} and don't {two}", reply=rng.choice(_WONT), tag="none", bare=False)
        return Utterance(dont.format(one), reply=rng.choice(_WONT), tag="none", bare=False)

    def _unserved(self) -> Utterance:
        rng = self.rng
        verb = rng.choice(lexicon.UNSERVED_VERBS)
        kind = rng.choice(("thing", "object", "unknown_object", "room", "landmark", "person"))
        if kind == "person":
            verb = rng.choice(
                (
                    "call",
                    "text",
                    "email",
                    "phone",
                    "visit",
                    "invite",
                    "wake up",
                    "hug",
                    "kiss",
                    "ask",
                    "sing for",
                    "cook for",
                )
            )
        text = f"{verb} {KINDS[kind](rng).surface}"
        if rng.random() < 0.12:
            text = f"{pseudo_word(rng)} {KINDS[kind](rng).surface}"
        if rng.random() < 0.15:
            text += rng.choice(
                (
                    " in the kitchen",
                    " for dinner",
                    " tomorrow",
                    " in five minutes",
                    " on the sofa",
                    " with soap",
                    " twice",
                )
            )
        return Utterance(noise.polite(text, rng), reply=rng.choice(CANNOT), tag="none", bare=False)

    def _elsewhere(self) -> Utterance:
        """A command with a place or object that the flat has not."""
        rng = self.rng
        for _ in range(50):
            one = self.imperative()
            known = [k for k in one.draws if k[0] in ("place", "room", "dropplace", "light", "object", "landmark")]
            if not known or not {c.name for c in one.rule.calls} <= _PLACED:
                continue
            draws = dict(one.draws)
            for key in known:
                draws[key] = KINDS["unknown_object" if key[0] == "object" else "unknown_place"](rng)
            word = draws[known[-1]].value
            if known[-1][0] == "object":
                replies = (f"There is no {word} here.", f"I know no {word} here.")
            else:
                replies = (f"There is no {word} here.", f"I know no place called {word}.")
            return Utterance(
                noise.polite(replace(one, draws=draws).text(), rng), reply=rng.choice(replies), tag="none", bare=False
            )
        return self._unserved()

    def _reported(self) -> Utterance:
        rng = self.rng
        one = self.imperative().text()
        who = rng.choice(
            (
                "she",
                "he",
                "they",
                "my boss",
                "my mother",
                "somebody",
                "the neighbour",
                rng.choice(lexicon.NAMES).lower(),
            )
        )
        shape = rng.choice(
            ("{w} told me to {c}", "{w} asked me to {c}", "{w} wants me to {c}", "{w} said {c}", "if i said {c} would you do it", "what would happen if i said {c}", "what would you do if i told you to {c}",
             "suppose i asked you to {c}", "i might ask you to {c} later", "maybe later you can {c}", "i will {c} myself", "i can {c} myself", "i'm going to {c}", "i have to {c}", "i want to {c} myself",
             "yesterday i asked you to {c}", "you were supposed to {c} yesterday", "why did you {c}", "did you {c}", "i wanted to {c} but i was too tired", "{c}, never mind", "{c}, no forget it", "{c} no cancel that",
             "would you {c} if i asked you", "the film is called {c}", "i was about to say {c}", "last week i had to {c}", "i would never {c}", "people often {c}", "it is hard to {c}", "robots can {c}", "when i was a child i could {c}",
             "did {w} tell you to {c}", "{w} never asked me to {c}", "how do i {c}", "is it difficult to {c}", "have you ever tried to {c}", "who told you to {c}")
        )  # fmt: skip
        reply = (
            rng.choice(("Okay, I won't do anything.", "I see.", "Okay."))
            if not noise.is_question(shape)
            else rng.choice(("I only do it when you ask me to.", "Just tell me when I should do it."))
        )
        return Utterance(shape.format(w=who, c=one), reply=reply, tag="none", bare=False)

    def _broken_off(self) -> Utterance:
        rng = self.rng
        for _ in range(50):
            one = self.imperative()
            pieces = [p for p in one.pieces if p != " "]
            at = next((i for i, p in enumerate(pieces) if isinstance(p, Slot)), None)
            if at is None or not at or pieces[at].kind in ("count", "direction"):
                continue
            words = [p for p in pieces[:at] if isinstance(p, str)]
            if pieces[at].kind in ("dist", "angle", "duration") and words[-1] not in (
                "for",
                "to",
                "in",
                "by",
                "of",
                "at",
                "a",
            ):
                continue
            text = " ".join(words) + rng.choice(("", " the", " the", " my")) * (
                pieces[at].kind in ("place", "room", "dropplace", "object", "light")
            )
            return Utterance(
                noise.polite(text, rng, 0.2),
                reply=rng.choice(
                    (
                        "Sorry, I did not get the rest.",
                        "I did not hear the end of that.",
                        "Could you finish that sentence?",
                    )
                ),
                tag="none",
                bare=False,
            )
        return self._gibberish()

    def _gibberish(self) -> Utterance:
        rng = self.rng
        words = (
            [w for _ in range(2) for w in self.command().text().split()]
            + list(rng.sample(lexicon.UNKNOWN_OBJECTS, 3))
            + [pseudo_word(rng)]
        )
        small = [w for w in words if w in _ARTICLES or w in ("and", "of", "it", "in", "to", "on", "is")] + [
            "and",
            "of",
            "the",
            "so",
            "uh",
        ]
        pick = (
            rng.sample(lexicon.UNKNOWN_OBJECTS, rng.randint(0, 2))
            + rng.sample(small, min(len(small), rng.randint(1, 4)))
            + [pseudo_word(rng) for _ in range(rng.randint(0, 2))]
        )
        rng.shuffle(pick)
        return Utterance(" ".join(pick), reply=rng.choice(_UNKNOWN), tag="none", bare=False)


def _times(one: Realised) -> int:
    return len(one.calls())


def _group(rule: Rule) -> str:
    names = {c.name for c in rule.calls}
    return "none" if not names else names.pop() if len(names) == 1 and len(rule.calls) == 1 else "several"
