"""Keeps a reply to a grammar where it matters: from the opener of a call on, or from its beginning.

Every token is shown to it after it was sampled and before it is committed. Outside of calls it only looks for an
opener in the text, which costs nothing to speak of. At an opener the grammar begins, with the tokens of which the
opener consists; where the grammar refuses a token, the likeliest one that it allows takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from edgeagent.llm import thinking
from edgeagent.llm.gbnf import quoted
from edgeagent.llm.grammar import Grammar, TokenVocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeagent.llm.engine import Logits
    from edgeagent.llm.stream_gate import StreamGate

_ROOT: Final = "root ::= "
_CALL_ENDS: Final = (">", "}", "]")  # of every format
_MOST_REFUSED: Final = 64  # tokens of a reply that are told


@dataclass(frozen=True, slots=True)
class Plan:
    """Form that a reply has to obey.

    Attributes:
        rules: The grammar; the expression of its root is what a call, or the reply, looks like.
        openers: Texts with which a call begins, wherever they stand.
        start_openers: Characters with which one begins at the reply's start.
        whole: The grammar begins with the reply, not with an opener.
        ends: And what is whole then is all of it, unless it was a call.
        may_think: Reasoning may come first.
    """

    rules: str
    openers: tuple[str, ...] = ()
    start_openers: tuple[str, ...] = ()
    whole: bool = False
    ends: bool = False
    may_think: bool = False


def obey(grammar: Grammar, token: int, logits: Logits, vocabulary: TokenVocabulary, refused: list[str]) -> int:
    """The token that goes on: this one, or the likeliest that the grammar allows. Notes the text of a refused one."""
    if grammar.allows(token):
        return token
    if len(refused) < _MOST_REFUSED:
        refused.append(vocabulary.text_of(token))
    return grammar.end if grammar.may_end else grammar.pick(logits)


def begun(
    vocabulary: TokenVocabulary, rules: str, pristine: Grammar, prefix: str, tokens: Sequence[int]
) -> Grammar | None:
    """A grammar after these tokens, of which the first has other text in front; None if it has no such way.

    Args:
        vocabulary: The model's.
        rules: The grammar's text.
        pristine: The grammar before its first token.
        prefix: The other text.
        tokens: What was committed since the grammar's beginning.
    """
    if prefix:
        root, _, rest = rules.partition("\n")
        grammar = Grammar(vocabulary.pointer, f"{_ROOT}{quoted(prefix)} ({root.removeprefix(_ROOT)})\n{rest}")
    else:
        grammar = pristine.clone()
    for token in tokens:
        if not grammar.allows(token):
            grammar.free()
            return None
        grammar.accept(token)
    return grammar


class Constraint:
    """The plan of one reply, in the thread that generates it."""

    def __init__(self, plan: Plan, vocabulary: TokenVocabulary, grammar: Grammar) -> None:
        """Make one.

        Args:
            plan: What to obey.
            vocabulary: The model's.
            grammar: The plan's rules, before their first token; it is copied.
        """
        self._plan = plan
        self._vocabulary = vocabulary
        self._pristine = grammar
        self._grammar: Grammar | None = None
        self._waiting = plan.whole
        self._text = ""  # since the grammar began
        self._tail: list[tuple[int, str]] = []  # the last tokens, which may hold the beginning of an opener
        self._firsts = tuple({opener[0] for opener in plan.openers} | set(plan.start_openers))
        self._longest = max(map(len, plan.openers), default=0)
        self.complete = False
        """The reply is all that was asked for."""
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
            self._tail.clear()
            return token
        piece = self._vocabulary.piece(token).decode("utf-8", errors="replace")
        if self._waiting:
            if self._plan.may_think and self._may_open_thinking(piece):
                return token
            self._waiting = False
            self._grammar = self._pristine.clone()
            return self._follow(self._grammar, token, logits)
        if not self._tail and not any(first in piece for first in self._firsts):
            return token
        return self._watch(token, piece, logits, gate)

    def free(self) -> None:
        """Give the memory back; again does nothing."""
        if self._grammar is not None:
            self._grammar.free()
            self._grammar = None

    def _watch(self, token: int, piece: str, logits: Logits, gate: StreamGate) -> int:
        """Begin the grammar if this token completes an opener."""
        self._tail.append((token, piece))
        text = "".join(part for _, part in self._tail)
        found = [at for at in (text.find(opener) for opener in self._plan.openers) if at >= 0]
        if not found and gate.at_start and piece.lstrip().startswith(self._plan.start_openers):
            self._tail = [(token, piece)]
            found = [len(piece) - len(piece.lstrip())]
        if not found:
            while len(text) - len(self._tail[0][1]) >= self._longest:
                text = text[len(self._tail.pop(0)[1]) :]
                if not self._tail:
                    break
            return token
        begins = min(found)
        while begins >= len(self._tail[0][1]):
            begins -= len(self._tail.pop(0)[1])
        before = [known for known, _ in self._tail[:-1]]
        prefix = self._tail[0][1][:begins]
        self._grammar = begun(self._vocabulary, self._plan.rules, self._pristine, prefix, before)
        self._tail = []
        return token if self._grammar is None else self._follow(self._grammar, token, logits)

    def _follow(self, grammar: Grammar, token: int, logits: Logits) -> int:
        """The token that goes on, and what it leads to."""
        token = obey(grammar, token, logits, self._vocabulary, self.refused)
        if self._vocabulary.is_end(token):
            self.free()
            return token
        grammar.accept(token)
        self._text += self._vocabulary.piece(token).decode("utf-8", errors="replace")
        # A number is whole with any of its digits: it ends where something else follows.
        if (self._plan.ends or self._text.endswith(_CALL_ENDS)) and not self._text[-1:].isdigit() and grammar.may_end:
            called = self._text.lstrip().startswith(self._plan.openers) if self._plan.openers else False
            self.complete = self._plan.ends and not called
            self._text = ""
            self.free()
        return token

    def _may_open_thinking(self, piece: str) -> bool:
        self._text += piece
        begun = self._text.lstrip()
        may = any(opens.startswith(begun) or begun.startswith(opens) for opens in thinking.OPENS)
        if not may:
            self._text = ""
        return may
