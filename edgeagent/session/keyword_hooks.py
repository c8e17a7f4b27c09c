"""The keywords of a session that are hooks in another dress: one mechanism, two doors. A hook and its keyword together,
set away from its default, are an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from edgeagent.agent import Agent
from edgeagent.errors import ConfigError
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.hooks.pii_redaction import PIIHook
from edgeagent.llm import LLM
from edgeagent.pii import PII

_COMPACTION: Final = {"compaction_threshold": 80, "compaction_target": 50, "max_context_tokens": None}
"""The keywords and their defaults."""


def compaction_hook(
    agent: Agent, threshold: int | None, target: int | None, max_context_tokens: int | None
) -> ContextCompactionHook:
    """The agent's own hook, or one of the keywords; None and 0 are the default.

    Raises:
        ConfigError: Both are given, or a number is out of its range.
    """
    own = next((hook for hook in agent.hooks if isinstance(hook, ContextCompactionHook)), None)
    given = zip(_COMPACTION.items(), (threshold, target, max_context_tokens), strict=True)
    chosen: dict[str, Any] = {keyword: value or default for (keyword, default), value in given}
    if own is None:
        return ContextCompactionHook(*chosen.values())
    for keyword, value in chosen.items():
        if value != _COMPACTION[keyword]:
            refuse_both(agent, ContextCompactionHook, keyword)
    return own


def pii_hook(agent: Agent, pii: PII) -> PIIHook | None:
    """The hook for what people say and tools return, if something happens to that.

    Raises:
        ConfigError: The agent has one too.
    """
    if pii.user == "off" and pii.tools == "off":
        return None
    refuse_both(agent, PIIHook, "pii")
    return PIIHook(pii)


def models_of(value: LLM | str | Sequence[LLM | str] | None) -> tuple[LLM | str, ...]:
    """The fallback models; one model, or one name, is a list of one, and None an empty one.

    Raises:
        ConfigError: One of them is neither a model nor a name.
    """
    value = value or ()
    given = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    for model in given:
        if not isinstance(model, str) and not callable(getattr(model, "stream", None)):
            raise ConfigError(f"Session(fallback_models=...): {model!r} is neither a model nor the name of one")
    return given


def refuse_both(agent: Agent, kind: type, keyword: str) -> None:
    """Raises:
    ConfigError: The agent has a hook of this kind, and the keyword is given.
    """
    if any(isinstance(hook, kind) for hook in agent.hooks):
        raise ConfigError(f"both {kind.__name__} and Session({keyword}=...) are given; use one of them")
