"""Keeps the arguments of untagged calls to their schemas, once the model itself has named an offered tool.

For models that write calls as bare JSON though their template has tags. A grammar that began with the brace would force
names on a model that only talks in JSON; this one begins behind ``"name": "go_to"``. Tools that move something are left
alone, because a misfit is the best sign that no call was meant. Runs in the thread that generates.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from edgeagent.llm.constraint import begun, obey
from edgeagent.llm.parsers.grammars import bare_call_grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeagent.llm.engine import Logits
    from edgeagent.llm.grammar import Grammar, TokenVocabulary
    from edgeagent.llm.protocol import ToolSpec
    from edgeagent.llm.stream_gate import StreamGate

_BEFORE: Final = re.compile(r"\s*(?:```(?:json)?\s*|<\|python_tag\|>\s*|<tools>\s*)?\[?\s*")
_BETWEEN: Final = re.compile(r"[\s,;]*")
_NAMED: Final = re.compile(r'\{\s*"name"\s*:\s*"([^"\\]+)"')
_FIRST: Final = tuple("{[`<")
_LONGEST: Final = 200  # characters up to the end of a name: a reply that has named nothing by then is none of this kind


def may_force(tool: ToolSpec) -> bool:
    """True if the arguments of a tool may be forced. Those of a tool that moves something may not."""
    return not getattr(getattr(tool, "traits", None), "motion", False)


def declared_name(text: str) -> str:
    """Name in the first untagged call with which a reply begins; empty as long as there is none."""
    head = _BEFORE.match(text)
    named = _NAMED.match(text, head.end() if head else 0)
    return named[1] if named else ""


class Declared:
    """The untagged calls of one reply.

    Args:
        names: The tools whose arguments are forced.
        vocabulary: The model's.
        rules: Text of the grammar of one call.
        grammar: The same, before its first token; it is copied.
    """

    def __init__(self, names: Sequence[str], vocabulary: TokenVocabulary, rules: str, grammar: Grammar) -> None:
        self._names = frozenset(names)
        self._vocabulary = vocabulary
        self._rules = rules
        self._pristine = grammar
        self._grammar: Grammar | None = None
        self._head = _BEFORE
        self._tokens: list[tuple[int, str]] = []  # since the reply, or what follows a call, began
        self.over = False
        """Nothing is forced in the rest of this reply."""
        self.refused: list[str] = []
        """Texts of the tokens that the grammar refused."""

    @property
    def active(self) -> bool:
        """True if the grammar has a say now."""
        return self._grammar is not None

    def admit(self, token: int, logits: Logits, gate: StreamGate) -> int:
        """The token to commit: this one, or the likeliest that the grammar allows."""
        if self._grammar is not None:
            return self._follow(self._grammar, token, logits)
        if gate.thinking:
            return token
        self._tokens.append((token, self._vocabulary.piece(token).decode("utf-8", errors="replace")))
        text = "".join(piece for _, piece in self._tokens)
        head = self._head.match(text)
        at = head.end() if head else 0
        named = _NAMED.match(text, at)
        if named is None:
            begins = text.lstrip(" \t\r\n,;")
            self.over = (bool(begins) and not begins.startswith(_FIRST)) or len(text) > _LONGEST
            return token
        self.over = named[1] not in self._names
        if self.over:
            return token
        while at >= len(self._tokens[0][1]):
            at -= len(self._tokens.pop(0)[1])
        before = [known for known, _ in self._tokens[:-1]]
        prefix = self._tokens[0][1][:at]
        self._grammar = begun(self._vocabulary, self._rules, self._pristine, prefix, before)
        self._tokens = []
        if self._grammar is None:
            self.over = True
            return token
        return self._follow(self._grammar, token, logits)

    def free(self) -> None:
        """Give the memory back; again does nothing."""
        if self._grammar is not None:
            self._grammar.free()
            self._grammar = None

    def _follow(self, grammar: Grammar, token: int, logits: Logits) -> int:
        token = obey(grammar, token, logits, self._vocabulary, self.refused)
        grammar.accept(token)
        if grammar.may_end:
            self.free()
            self._head = _BETWEEN
        return token


def declared_rules(tools: Sequence[ToolSpec]) -> str:
    """Text of the grammar of one untagged call of these tools."""
    rules, call = bare_call_grammar(tools)
    return rules.text(call)
