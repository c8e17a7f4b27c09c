"""What a request asks of a reply's form, as a plan and its compiled grammar; kept, because requests repeat."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Final

from edgeagent.errors import ModelError
from edgeagent.llm.constraint import Constraint, Plan
from edgeagent.llm.gbnf import Rules
from edgeagent.llm.grammar import Grammar
from edgeagent.llm.parsers import CallFormat
from edgeagent.llm.parsers.grammars import call_grammar
from edgeagent.llm.schema import expression
from edgeagent.llm.types import LLMRequest
from edgeagent.llm.vocab import Vocabulary

_KEPT: Final = 8


class Plans:
    """Makes the constraints of one loaded model. Only the generating thread uses it.

    Args:
        vocabulary: The model's.
        calls: How the model writes calls; None when it makes none.
        constrain: Whether calls must obey their tools' schemas. None: where a schema can be said in a grammar.
    """

    def __init__(self, vocabulary: Vocabulary, calls: CallFormat | None, *, constrain: bool | None) -> None:
        self._vocabulary = vocabulary
        self._calls = calls
        self._constrain = constrain
        self._known: OrderedDict[str, tuple[Plan, Grammar]] = OrderedDict()

    def constraint(self, request: LLMRequest, *, may_think: bool) -> Constraint | None:
        """What the reply to a request has to obey; None when that is nothing.

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
        if key not in self._known:
            plan = self._plan(request, callable_=callable_, required=required, may_think=may_think)
            self._known[key] = plan, Grammar(self._vocabulary.pointer, plan.rules)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)[1][1].free()
        self._known.move_to_end(key)
        plan, grammar = self._known[key]
        return Constraint(plan, self._vocabulary, grammar)

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
