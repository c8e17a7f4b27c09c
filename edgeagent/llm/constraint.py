"""Keeps a reply to a grammar where it matters: from the opener of a call on, or from its beginning.

Every token is shown to a constraint after it was sampled and before it is committed. Outside of calls it only looks for
an opener in the text, which costs nothing to speak of. At an opener the grammar begins, with the tokens of which the
opener consists; where the grammar refuses a token, the likeliest one that it allows takes its place.

``Untagged`` is for models that write calls as bare JSON though their template has tags. A grammar that began with the
brace would force names on a model that only talks in JSON; this one begins behind ``"name": "go_to"``. Tools that move
something are left alone, because a misfit is the best sign that no call was meant.

``Plans`` keeps the compiled grammars, because requests repeat. All of it runs in the thread that generates.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from edgeagent.errors import ModelError
from edgeagent.llm.engine import Logits
from edgeagent.llm.gbnf import Rules, quoted
from edgeagent.llm.grammar import Grammar, TokenVocabulary
from edgeagent.llm.parsers import CallFormat
from edgeagent.llm.parsers.grammars import call_grammar
from edgeagent.llm.protocol import LLMRequest
from edgeagent.llm.schema import expression
from edgeagent.llm.stream_gate import OPENS, StreamGate

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


class ReplyGrammar:
    """A grammar that a reply obeys from some token on; the reply's rules begin it.

    Args:
        vocabulary: The model's.
        rules: Text of the grammar.
        pristine: The same, before its first token; it is copied.
    """

    def __init__(self, vocabulary: TokenVocabulary, rules: str, pristine: Grammar) -> None:
        self._vocabulary = vocabulary
        self._rules = rules
        self._pristine = pristine
        self._grammar: Grammar | None = None
        self.refused: list[str] = []
        """Texts of the tokens that the grammar refused."""

    @property
    def active(self) -> bool:
        """True if the grammar has a say now."""
        return self._grammar is not None

    def free(self) -> None:
        """Give the memory back; again does nothing."""
        if self._grammar is not None:
            self._grammar.free()
            self._grammar = None

    def _piece(self, token: int) -> str:
        return self._vocabulary.piece(token).decode("utf-8", errors="replace")

    def _begun(self, tokens: list[tuple[int, str]], at: int) -> Grammar | None:
        """The grammar behind a place in the text of these tokens, of which the last is not committed yet; None if the
        grammar has no such way."""
        while at >= len(tokens[0][1]):
            at -= len(tokens.pop(0)[1])
        if at:  # the first token has other text in front
            root, _, rest = self._rules.partition("\n")
            rules = f"{_ROOT}{quoted(tokens[0][1][:at])} ({root.removeprefix(_ROOT)})\n{rest}"
            grammar = Grammar(self._vocabulary.pointer, rules)
        else:
            grammar = self._pristine.clone()
        for token, _ in tokens[:-1]:
            if not grammar.allows(token):
                grammar.free()
                return None
            grammar.accept(token)
        return grammar

    def _obey(self, grammar: Grammar, token: int, logits: Logits) -> int:
        """The token that goes on: this one, or the likeliest that the grammar allows. An end of the reply frees the
        grammar."""
        if not grammar.allows(token):
            if len(self.refused) < _MOST_REFUSED:
                self.refused.append(self._vocabulary.text_of(token))
            token = grammar.end if grammar.may_end else grammar.pick(logits)
        if self._vocabulary.is_end(token):
            self.free()
        else:
            grammar.accept(token)
        return token


class Constraint(ReplyGrammar):
    """The plan of one reply, in the thread that generates it."""

    def __init__(self, plan: Plan, vocabulary: TokenVocabulary, grammar: Grammar) -> None:
        """Make one.

        Args:
            plan: What to obey.
            vocabulary: The model's.
            grammar: The plan's rules, before their first token; it is copied.
        """
        super().__init__(vocabulary, plan.rules, grammar)
        self._plan = plan
        self._waiting = plan.whole
        self._text = ""  # since the grammar began
        self._tail: list[tuple[int, str]] = []  # the last tokens, which may hold the beginning of an opener
        self._firsts = tuple({opener[0] for opener in plan.openers} | set(plan.start_openers))
        self._longest = max(map(len, plan.openers), default=0)
        self.complete = False
        """The reply is all that was asked for."""

    def admit(self, token: int, logits: Logits, gate: StreamGate) -> int:
        """The token to commit: this one, or the likeliest that the grammar allows."""
        if self._grammar is not None:
            return self._follow(self._grammar, token, logits)
        if gate.thinking:
            self._tail.clear()
            return token
        piece = self._piece(token)
        if self._waiting:
            if self._plan.may_think and self._may_open_thinking(piece):
                return token
            self._waiting = False
            self._grammar = self._pristine.clone()
            return self._follow(self._grammar, token, logits)
        if not self._tail and not any(first in piece for first in self._firsts):
            return token
        return self._watch(token, piece, logits, gate)

    def _watch(self, token: int, piece: str, logits: Logits, gate: StreamGate) -> int:
        """Begin the grammar if this token completes an opener."""
        self._tail.append((token, piece))
        text = "".join(part for _, part in self._tail)
        found = [at for at in (text.find(opener) for opener in self._plan.openers) if at >= 0]
        if not found and gate.at_start and piece.lstrip().startswith(self._plan.start_openers):
            self._tail = [(token, piece)]
            found = [len(piece) - len(piece.lstrip())]
        if not found:
            while self._tail and len(text) - len(self._tail[0][1]) >= self._longest:
                text = text[len(self._tail.pop(0)[1]) :]
            return token
        self._grammar = self._begun(self._tail, min(found))
        self._tail = []
        return token if self._grammar is None else self._follow(self._grammar, token, logits)

    def _follow(self, grammar: Grammar, token: int, logits: Logits) -> int:
        """The token that goes on, and what it leads to."""
        token = self._obey(grammar, token, logits)
        if not self.active:
            return token
        self._text += self._piece(token)
        # A number is whole with any of its digits: it ends where something else follows.
        if (self._plan.ends or self._text.endswith(_CALL_ENDS)) and not self._text[-1:].isdigit() and grammar.may_end:
            self.complete = self._plan.ends and not self._text.lstrip().startswith(self._plan.openers)
            self._text = ""
            self.free()
        return token

    def _may_open_thinking(self, piece: str) -> bool:
        self._text += piece
        begun = self._text.lstrip()
        may = any(opens.startswith(begun) or begun.startswith(opens) for opens in OPENS)
        if not may:
            self._text = ""
        return may


# --- calls without tags -----------------------------------------------------------------------------------------------


_BEFORE: Final = re.compile(r"\s*(?:```(?:json)?\s*|<\|python_tag\|>\s*|<tools>\s*)?\[?\s*")
_BETWEEN: Final = re.compile(r"[\s,;]*")
_NAMED: Final = re.compile(r'\{\s*"name"\s*:\s*"([^"\\]+)"')
_FIRST: Final = tuple("{[`<")
_LONGEST: Final = 200  # characters up to the end of a name: a reply that has named nothing by then is none of this kind


def untagged_name(text: str) -> str:
    """Name in the first untagged call with which a reply begins; empty as long as there is none."""
    head = _BEFORE.match(text)
    named = _NAMED.match(text, head.end() if head else 0)
    return named[1] if named else ""


class Untagged(ReplyGrammar):
    """The untagged calls of one reply.

    Args:
        names: The tools whose arguments are forced.
        vocabulary: The model's.
        rules: Text of the grammar of one call.
        grammar: The same, before its first token; it is copied.
    """

    def __init__(self, names: Sequence[str], vocabulary: TokenVocabulary, rules: str, grammar: Grammar) -> None:
        super().__init__(vocabulary, rules, grammar)
        self._names = frozenset(names)
        self._head = _BEFORE
        self._tokens: list[tuple[int, str]] = []  # since the reply, or what follows a call, began
        self.over = False
        """Nothing is forced in the rest of this reply."""

    def admit(self, token: int, logits: Logits, gate: StreamGate) -> int:
        """The token to commit: this one, or the likeliest that the grammar allows."""
        if self._grammar is not None:
            return self._follow(self._grammar, token, logits)
        if self.over or gate.thinking:
            return token
        self._tokens.append((token, self._piece(token)))
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
        self._grammar = self._begun(self._tokens, at)
        self._tokens = []
        if self._grammar is None:
            self.over = True
            return token
        return self._follow(self._grammar, token, logits)

    def _follow(self, grammar: Grammar, token: int, logits: Logits) -> int:
        token = self._obey(grammar, token, logits)
        if self.active and grammar.may_end:
            self.free()
            self._head = _BETWEEN
        return token


# --- what a request asks of a reply -----------------------------------------------------------------------------------


_KEPT: Final = 8


def free_to_call(request: LLMRequest) -> bool:
    """True if a reply may be a call or text, as the model likes."""
    return bool(request.tools) and request.tool_choice == "auto" and request.response_schema is None


class Plans:
    """Makes the constraints of one loaded model. Only the generating thread uses it.

    Args:
        vocabulary: The model's.
        calls: How the model writes calls; None when it makes none.
        constrain: Whether calls must obey their tools' schemas. None: where a schema can be said in a grammar.
        force_arguments: Calls without the format's tags must obey their schemas too, once they have named a tool.
    """

    def __init__(
        self,
        vocabulary: TokenVocabulary,
        calls: CallFormat | None,
        *,
        constrain: bool | None,
        force_arguments: bool,
    ) -> None:
        self._vocabulary = vocabulary
        self._calls = calls
        self._constrain = constrain
        self._force_arguments = force_arguments
        self._known: OrderedDict[str, tuple[Plan, Grammar]] = OrderedDict()

    def constraint(self, request: LLMRequest, *, may_think: bool) -> Constraint | None:
        """Makes the constraint that the reply to a request has to obey; None when there is none.

        Raises:
            ModelError: Calls are required and there are no tools, or llama.cpp refuses the grammar.
            SchemaError: A schema can't be said in a grammar.
        """
        callable_ = bool(request.tools) and self._calls is not None and request.tool_choice != "none"
        required = request.tool_choice == "required"
        if required and not callable_:
            raise ModelError('tool_choice "required" needs tools')
        if request.response_schema is None and not required and (not callable_ or self._constrain is False):
            return None
        tools = [(tool.name, tool.parameters) for tool in request.tools] if callable_ else []
        key = json.dumps([tools, request.response_schema, required, may_think], sort_keys=True, default=str)
        plan, grammar = self._compiled(
            key, lambda: self._plan(request, callable_=callable_, required=required, may_think=may_think)
        )
        return Constraint(plan, self._vocabulary, grammar)

    def untagged(self, request: LLMRequest) -> Untagged | None:
        """Makes the rules of calls without tags, from the name of a tool on; None when there are none."""
        bare = self._calls is not None and "{" in self._calls.start_openers  # then ``constraint`` begins with the brace
        tools = [tool for tool in request.tools if not getattr(getattr(tool, "traits", None), "motion", False)]
        if not (self._force_arguments and free_to_call(request) and tools) or bare:
            return None
        key = json.dumps(["untagged", [(tool.name, tool.parameters) for tool in tools]], sort_keys=True, default=str)

        def make() -> Plan:
            rules, call = call_grammar(None, tools, strict=False)
            return Plan(rules.text(call))

        plan, grammar = self._compiled(key, make)
        return Untagged([tool.name for tool in tools], self._vocabulary, plan.rules, grammar)

    def _compiled(self, key: str, make: Callable[[], Plan]) -> tuple[Plan, Grammar]:
        """The plan that is known by this key, or a new one, with its grammar."""
        if key not in self._known:
            plan = make()
            self._known[key] = plan, Grammar(self._vocabulary.pointer, plan.rules)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)[1][1].free()
        self._known.move_to_end(key)
        return self._known[key]

    def close(self) -> None:
        """Give the memory back."""
        for _, grammar in self._known.values():
            grammar.free()
        self._known.clear()

    def _plan(self, request: LLMRequest, *, callable_: bool, required: bool, may_think: bool) -> Plan:
        calls = self._calls if callable_ else None
        if calls is None:
            answer = Rules()
            text = answer.text(expression(answer, request.response_schema or {}))
            return Plan(text, whole=True, ends=True, may_think=may_think)
        rules, call = call_grammar(calls.name, request.tools, strict=self._constrain is True)
        if request.response_schema is None and not required:
            return Plan(rules.text(call), calls.openers, calls.start_openers)
        root = f"[ \\n]{{0,2}} {call}"
        answers = ""
        if request.response_schema is not None:
            answer = Rules(prefix="answer-")
            root = f"({root}) | {expression(answer, request.response_schema)}"
            answers = answer.body
        return Plan(
            f"{rules.text(root)}\n{answers}",
            calls.openers,
            calls.start_openers,
            whole=True,
            ends=request.response_schema is not None,
            may_think=may_think,
        )
