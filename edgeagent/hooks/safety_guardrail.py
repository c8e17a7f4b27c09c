"""Tools that must not be used, whatever a model asks for."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from edgeagent.errors import ConfigError
from edgeagent.hooks.hook import BaseHook, BeforeTool, FirePoint, HookResult, Payload

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


class SafetyGuardrailHook(BaseHook):
    """BEFORE_TOOL, after the other hooks, so that it judges the call that would run: blocks tools by their names.

    Args:
        blocked: Patterns of names, such as "delete_*"; ``*``, ``?`` and ``[abc]`` as in a shell, case counts.
        allowed: If given, every tool that none of these patterns names is blocked too.

    Raises:
        ConfigError: A pattern is no text, or is empty.
    """

    points = frozenset({FirePoint.BEFORE_TOOL})
    priority = -2000
    fail_closed = True

    def __init__(self, blocked: Iterable[str] = (), allowed: Iterable[str] | None = None) -> None:
        self.blocked = _patterns("blocked", blocked)
        self.allowed = None if allowed is None else _patterns("allowed", allowed)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, BeforeTool):
            return None
        name = payload.call.name
        if _any(self.blocked, name):
            return HookResult.block(f"{name} is blocked on this robot; do not call it again")
        if self.allowed is not None and not _any(self.allowed, name):
            return HookResult.block(f"{name} is not among the tools that are allowed on this robot")
        return None


def _any(patterns: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _patterns(argument: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"SafetyGuardrailHook({argument}={given!r}): it should be a list of names or patterns")
    patterns = []
    for pattern in given:
        if not isinstance(pattern, str) or not pattern:
            raise ConfigError(f"SafetyGuardrailHook({argument}=...): {pattern!r} is no name or pattern")
        patterns.append(pattern)
    return tuple(patterns)
