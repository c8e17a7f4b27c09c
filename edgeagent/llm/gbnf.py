"""GBNF, llama.cpp's grammar language (https://github.com/ggml-org/llama.cpp/blob/master/grammars), and values in it.

Knows nothing of schemas. Numbers and blanks are bounded, so that no model can go on with digits or blanks for ever, and
no string holds half a surrogate pair, which no one could encode again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from edgeagent.characters import common_length

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROL: Final = re.compile(r'[\\"\x00-\x1f\x7f]')
_BARE_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_BARE: Final = re.compile(r"[^A-Za-z0-9_.-]")
_BARE_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_BLOCK: Final = 1000  # llama.cpp drops the upper limit of what is repeated more than 2000 times
_HEX: Final = "[0-9a-fA-F]"
_UNIT: Final = f"[0-9a-cefA-CEF] {_HEX}{{3}} | [dD] [0-7] {_HEX}{{2}}"  # every UTF-16 unit but the surrogates
_PAIR: Final = f'[dD] [89abAB] {_HEX}{{2}} "\\\\u" [dD] [c-fC-F] {_HEX}{{2}}'


@dataclass(frozen=True, slots=True)
class Dialect:
    """Notation of values. The defaults are JSON's."""

    name: str = "JSON"
    true: str = "true"
    false: str = "false"
    null: str = "null"
    quote: str = '"'
    letter: str = rf'[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ({_UNIT} | {_PAIR}))'
    """The expression of one character of a string."""
    barred: str = '"\\'
    """Characters that a string can't hold as they are."""
    bare_keys: bool = False

    def literal(self, value: Any) -> str:
        """A fixed value as text.

        Raises:
            ValueError: It can't be written.
        """
        if value is None or isinstance(value, bool):
            return {True: self.true, False: self.false, None: self.null}[value]
        if isinstance(value, str):
            value.encode()
            return json.dumps(value, ensure_ascii=False) if self.quote == '"' else self._marked(value)
        if isinstance(value, list):
            return "[" + ", ".join(map(self.literal, value)) + "]"
        if isinstance(value, dict):
            pairs = (f"{self.key(key)}: {self.literal(item)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        return json.dumps(value, allow_nan=False)

    def key(self, name: str) -> str:
        """A property's name as text.

        Raises:
            ValueError: It can't be written.
        """
        return name if self.bare_keys and _BARE_KEY.fullmatch(name) else self.literal(name)

    def _marked(self, text: str) -> str:
        if self.quote in text:
            raise ValueError(f"{text!r} holds the quote of {self.name}")
        return f"{self.quote}{text}{self.quote}"


JSON: Final = Dialect()
PYTHON: Final = Dialect(
    "Python", "True", "False", "None", letter=rf'[^"\\\x00-\x1F] | "\\" (["\\bfnrt] | "u" ({_UNIT}))'
)


def marked(name: str, quote: str) -> Dialect:
    """A dialect whose strings stand between markers, without any escapes, and whose keys stand bare."""
    return Dialect(name, quote=quote, letter=r"[^<\x00-\x08]", barred="<", bare_keys=True)


class Rules:
    """The rules of one grammar; equal bodies share a rule.

    Args:
        dialect: How values are written.
        prefix: What the names of the rules begin with, where they stand beside those of another grammar.
    """

    def __init__(self, dialect: Dialect = JSON, prefix: str = "") -> None:
        self.dialect = dialect
        self._prefix = prefix
        self._rules: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._any = ""

    def text(self, root: str) -> str:
        """The grammar, whose root is this expression."""
        return f"root ::= {root}\n{self.body}"

    @property
    def body(self) -> str:
        """The rules without a root."""
        return "\n".join(f"{name} ::= {body}" for name, body in self._rules.items())

    def add(self, kind: str, body: str) -> str:
        """The name of a rule with this body."""
        if body not in self._names:
            self._names[body] = self.reserve(kind)
            self._rules[self._names[body]] = body
        return self._names[body]

    def reserve(self, kind: str) -> str:
        """The name of a rule whose body ``write`` will say: for rules that refer to themselves."""
        name = f"{self._prefix}{kind}"
        name = name if name not in self._rules else f"{name}-{len(self._rules)}"
        self._rules[name] = ""
        return name

    def write(self, name: str, body: str) -> None:
        """Write a rule whose name ``reserve`` gave."""
        self._rules[name] = body

    @property
    def blanks(self) -> str:
        """At most one blank, or a line break and what a nested object is indented by."""
        return self.add("ws", '" "? | "\\n" [ \\t]{0,12}')

    @property
    def comma(self) -> str:
        """Separator between two items."""
        return self.add("comma", f'{self.blanks} "," {self.blanks}')

    def anything(self) -> str:
        """Any value."""
        if not self._any:
            self._any = self.reserve("any")
            words = self.add("word", " | ".join(quoted(self.dialect.literal(word)) for word in (True, False, None)))
            inside = f"{self.string()} | {self.number()} | {words}"
            pair = self.add("pair", f"{self.key()} {self.colon} {self._any}")
            listed = self.items((), (0, None), self._any)
            self.write(self._any, f"{inside} | {self.braced(self.properties([], pair))} | {listed}")
        return self._any

    def number(self) -> str:
        """Any number of at most 15 digits before and after its point."""
        return self.add("number", '"-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?')

    def string(self, least: int = 0, most: int | None = None) -> str:
        """Any string of so many characters."""
        letters = self.repeated(self.add("char", self.dialect.letter), least, most)
        quote = quoted(self.dialect.quote)
        return self.add("string", f"{quote} {letters} {quote}")

    @property
    def colon(self) -> str:
        """Separator between a key and its value."""
        return self.add("colon", f'{self.blanks} ":" {self.blanks}')

    def key(self, taken: Iterable[str] = ()) -> str:
        """Any name of a property but these. One that is not taken is written without escapes where others are."""
        bare = self.dialect.bare_keys
        names = [name for name in taken if not (_NOT_BARE if bare else _CONTROL).search(name)]
        if not names:
            return self.add("key", "[a-zA-Z_] [a-zA-Z0-9_.-]{0,63}") if bare else self.string()
        quote = "" if bare else quoted(self.dialect.quote)
        return self.add("key", f"{quote} {self._other(sorted(set(names)), 0)} {quote}")

    def braced(self, inside: str) -> str:
        """An object."""
        return self.add("object", f'"{{" {self.blanks} {inside} {self.blanks} "}}"')

    def properties(self, pairs: Sequence[tuple[str, bool]], more: str = "", *, comma: str | None = None) -> str:
        """All of these pairs that are required and any of the others, in their order.

        Args:
            pairs: An expression, and whether it is required.
            more: A pair of which any number may follow.
            comma: What stands between two.
        """
        comma = self.comma if comma is None else comma
        first, after = (f"({more} ({comma} {more})*)?", f"({comma} {more})*") if more else ('""', '""')
        for pair, required in reversed(pairs):  # ``first`` where nothing stands before, ``after`` where something does
            alone, behind = f"{pair} {after}", f"{comma} {pair} {after}"
            first = self.add("p", alone if required else f"{alone} | {first}")
            after = self.add("p", behind if required else f"{behind} | {after}")
        return first

    def items(self, fixed: Sequence[str], limits: tuple[int, int | None], more: str = "") -> str:
        """A list.

        Args:
            fixed: Expressions of the first items.
            limits: How many items it has.
            more: The expression of the items after them; without it there are none.
        """
        least, most = limits
        comma = self.comma
        rest = '""'
        if more and (most is None or most > len(fixed)):
            pair = self.add("item", f"{comma} {more}")
            room = None if most is None else most - max(len(fixed), 1)
            rest = self.repeated(pair, max(0, least - max(len(fixed), 1)), room)
            if not fixed:
                rest = f"{more} {rest}" if least else f"({more} {rest})?"
        taken = fixed if most is None else fixed[:most]
        for i, item in reversed(list(enumerate(taken))):
            inside = f"{comma} {item} {rest}" if i else f"{item} {rest}"
            rest = self.add("items", inside if i < least else f"({inside})?")
        return self.add("list", f'"[" {self.blanks} {rest} {self.blanks} "]"')

    def choice(self, ways: Mapping[str, str]) -> str:
        """One of these texts, and after it its expression.

        Common beginnings are written once: llama.cpp follows every alternative that is still open on its own, which
        takes seconds with thousands.
        """
        return self._branch(sorted(ways.items()), 0)

    def repeated(self, rule: str, least: int, most: int | None) -> str:
        """A rule so many times."""
        blocks, some = divmod(least, _BLOCK)
        parts = [self._block(rule)] * blocks if blocks else []
        if most is None:
            return " ".join([*parts, f"{rule}{{{some},}}" if some else f"{rule}*"])
        if some:
            parts.append(f"{rule}{{{some}}}")
        return " ".join([*parts, self._at_most(rule, most - least)])

    def _at_most(self, rule: str, most: int) -> str:
        blocks, some = divmod(most, _BLOCK)
        said = f"{rule}{{0,{some}}}"
        for _ in range(blocks):
            said = self.add("most", f"{rule}{{0,{_BLOCK - 1}}} | {self._block(rule)} {said}")
        return said

    def _block(self, rule: str) -> str:
        return self.add("block", f"{rule}{{{_BLOCK}}}")

    def _branch(self, ways: list[tuple[str, str]], at: int) -> str:
        """Write the expression that may follow the first ``at`` characters, which all texts have in common."""
        said = []
        for letter, group in groupby(ways, key=lambda way: way[0][at : at + 1]):
            same = list(group)
            if len(same) == 1:
                said.append(f"{quoted(same[0][0][at:])} {same[0][1]}" if letter else same[0][1] or '""')
                continue
            end = common_length(same[0][0], same[-1][0])
            said.append(f"{quoted(same[0][0][at:end])} {self._branch(same, end)}")
        return said[0] if len(said) == 1 else self.add("t", " | ".join(said))

    def _other(self, names: list[str], at: int) -> str:
        """Names that go on unlike these, which have their first ``at`` characters in common."""
        bare = self.dialect.bare_keys
        nexts = {letter: list(group) for letter, group in groupby(names, key=lambda name: name[at : at + 1])}
        is_name = nexts.pop("", None) is not None
        if bare:
            allowed = [letter for letter in _BARE_LETTERS if letter not in nexts]
            other, tail = "[" + "".join(sorted(allowed, key=lambda letter: letter == "-")) + "]", "[a-zA-Z0-9_.-]{0,63}"
        else:
            other, tail = r'[^"\\\x00-\x1F' + "".join(map(_in_class, nexts)) + "]", r'[^"\\\x00-\x1F]*'
        ways = [f"{other} {tail}"]
        ways += [f"{quoted(letter)} {self._other(group, at + 1)}" for letter, group in nexts.items()]
        if not is_name and at:
            ways.append('""')
        return self.add("o", " | ".join(ways))


def quoted(text: str) -> str:
    """A literal of GBNF."""
    return f'"{_CONTROL.sub(_escaped, text)}"'


def one_of(expressions: Iterable[str]) -> str:
    """An expression that is one of these."""
    unique = list(dict.fromkeys(expressions))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\x{ord(found[0]):02X}"


def _in_class(letter: str) -> str:
    return f"\\U{ord(letter):08X}"
