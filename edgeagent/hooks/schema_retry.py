"""A call whose arguments were refused is answered with the tool's parameters, so that a small model gets it right."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgeagent.errors import ConfigError
from edgeagent.hooks.hook import AfterTool, BaseHook, FirePoint, HookResult, Payload

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

_NOT_NEEDED: Final = frozenset({"title", "description", "additionalProperties", "default"})
_NAMED: Final = frozenset({"properties", "$defs"})
"""Keywords whose keys are a builder's names, not keywords."""
_LONGEST: Final = 1200
"""Characters of a schema that a small window has room for."""


class SchemaRetryHook(BaseHook):
    """At AFTER_TOOL, for a result that is "invalid": adds the parameters and asks for the call again.

    Args:
        max_retries: How often, for each tool in one run.

    Raises:
        ConfigError: ``max_retries`` is below 0.
    """

    points = frozenset({FirePoint.AFTER_TOOL})

    def __init__(self, max_retries: int = 1) -> None:
        given: object = max_retries
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise ConfigError(f"SchemaRetryHook(max_retries={given!r}): it should be a whole number, 0 or more")
        self.max_retries = max_retries

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, AfterTool) or payload.result.status != "invalid" or ctx.tool_registry is None:
            return None
        tool = ctx.tool_registry.get(payload.call.name)
        asked: Counter[str] = ctx.state_of(self).setdefault("asked", Counter())
        if tool is None or asked[tool.name] >= self.max_retries:
            return None
        asked[tool.name] += 1
        text = (
            f"{payload.result.text}\nParameters of {tool.name}: {_shown(tool.parameters)}\n"
            f"Call {tool.name} again with arguments of this form."
        )
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))


def _shown(parameters: dict[str, Any]) -> str:
    """The schema without its prose; of a very long one only the names and types."""
    shown = json.dumps(_short(parameters), ensure_ascii=False, separators=(",", ":"), default=repr)
    if len(shown) <= _LONGEST:
        return shown
    types = {name: item.get("type", "any") for name, item in parameters.get("properties", {}).items()}
    names = {"type": "object", "properties": types, "required": parameters.get("required", [])}
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"), default=repr)


def _short(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                key: {name: _short(inner) for name, inner in value.items()} if key in _NAMED else _short(value)
                for key, value in schema.items()
                if key not in _NOT_NEEDED
            }
        case list():
            return [_short(item) for item in schema]
    return schema
