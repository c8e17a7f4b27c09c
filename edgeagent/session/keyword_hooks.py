"""The keywords of a session that are hooks in another dress: one mechanism, two doors. A hook and its keyword together,
set away from its default, are an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, get_args

from edgeagent.agent import Agent, Options
from edgeagent.agent.run_options import check_callback
from edgeagent.errors import ConfigError
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.hooks.pii_redaction import PIIHook
from edgeagent.journal import Durability
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


def check_keywords(
    *,
    agent: object,
    path: object,
    resolve_model: object,
    response_schema: object,
    options: object,
    durability: object,
    out: object,
    status: object,
) -> None:
    """Refuses values that would only fail later, or never be obeyed.

    Raises:
        ConfigError: A keyword has a value that can't be.
    """
    if not isinstance(agent, Agent):
        raise ConfigError(f"Session({agent!r}): it should be an Agent")
    if resolve_model is not None:
        check_callback(resolve_model, "Session(resolve_model={})")
    if options is not None and not isinstance(options, Options):
        raise ConfigError(f"Session(options={options!r}): it should be Options, such as Options(max_turns=3)")
    if path is not None and (not isinstance(path, str | os.PathLike) or not os.fspath(path)):
        raise ConfigError(f"Session(path={path!r}): it should be the path of a file")
    if response_schema is not None and not isinstance(response_schema, dict):
        raise ConfigError(f"Session(response_schema={response_schema!r}): it should be a JSON Schema, a dict")
    if durability not in get_args(Durability):
        raise ConfigError(f"Session(durability={durability!r}): it should be one of {', '.join(get_args(Durability))}")
    for name, stream in (("out", out), ("status", status)):
        if stream is not None and not callable(getattr(stream, "write", None)):
            raise ConfigError(f"Session({name}={stream!r}): it should be a text stream, such as sys.stdout")


def refuse_both(agent: Agent, kind: type, keyword: str) -> None:
    """Raises:
    ConfigError: The agent has a hook of this kind, and the keyword is given.
    """
    if any(isinstance(hook, kind) for hook in agent.hooks):
        raise ConfigError(f"both {kind.__name__} and Session({keyword}=...) are given; use one of them")
