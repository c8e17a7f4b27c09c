"""Plans of the form that a request asks of a reply, each with its compiled grammar; kept, because requests repeat."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from edgeagent.errors import ModelError
from edgeagent.llm.constraint import Constraint, Plan
from edgeagent.llm.declared import Declared, declared_rules, may_force
from edgeagent.llm.gbnf import Rules
from edgeagent.llm.grammar import Grammar, TokenVocabulary
from edgeagent.llm.parsers import CallFormat
from edgeagent.llm.parsers.grammars import call_grammar
from edgeagent.llm.protocol import LLMRequest
from edgeagent.llm.schema import expression

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
        force_arguments: bool = False,
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

    def declared(self, request: LLMRequest) -> Declared | None:
        """Makes the rules of calls without tags, from the name of a tool on; None when there are none."""
        bare = self._calls is not None and "{" in self._calls.start_openers  # then ``constraint`` begins with the brace
        tools = [tool for tool in request.tools if may_force(tool)]
        if not (self._force_arguments and free_to_call(request) and tools) or bare:
            return None
        key = json.dumps(["declared", [(tool.name, tool.parameters) for tool in tools]], sort_keys=True, default=str)
        plan, grammar = self._compiled(key, lambda: Plan(declared_rules(tools)))
        return Declared([tool.name for tool in tools], self._vocabulary, plan.rules, grammar)

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
