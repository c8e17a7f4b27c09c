"""The guards of a model that is too small to know what it was not asked: put into what the app builds.

Knows which models need them; what they do is the hooks'.
"""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Final

from edgeagent.agent import Agent
from edgeagent.agent.handoffs import reached
from edgeagent.app.agent_phrases import app_phrases
from edgeagent.english.completeness import Phrases
from edgeagent.errors import ConfigError
from edgeagent.hooks import GroundedReplyHook, GroundingHook, Hook, RepeatedCallHook, TalkGuardHook, changes
from edgeagent.llm import LLM
from edgeagent.resources import models_dir
from edgeagent.tools import Tool

BY_HAND: Final = 1_000
"""Nobody writes more phrases; those that were drawn from a corpus hold sentences that are broken off, which say nothing
of where one ends."""
_NANO: Final = "edgeagent-nano"
"""The name in the header of the model that comes with edgeagent."""


def is_nano(llm: LLM | None) -> bool:
    """True for the model that comes with edgeagent, for one that was trained as that one, and where either may take
    over: they know English only."""
    return any(_is_nano(model) for model in getattr(llm, "models", (llm,)))


def _is_nano(model: LLM | str | None) -> bool:
    return model == "nano" or getattr(getattr(model, "header", None), "name", None) == _NANO


def add_guards(agent: Agent, *, small: bool = False) -> None:
    """Guards an agent whose model is nano, or another small one, where its builder has not: only what may ask for
    something sets off a tool that does more than tell.

    Args:
        small: The model has few weights, and is to be guarded against talk.
    """
    nano = is_nano(agent.llm)
    if nano:
        add_grounding(agent)
    if (nano or small) and not any(isinstance(hook, TalkGuardHook) for hook in agent.hooks):
        phrases = app_phrases(agent)
        by_hand = phrases if len(phrases) <= BY_HAND else ()
        talks = not nano
        hook = TalkGuardHook(changes, Phrases(by_hand), any_language=talks, english_only=nano, in_words=talks)
        agent.hooks.append(hook)


def add_grounding(agent: Agent) -> list[Hook]:
    """Has an agent whose model is nano ask about arguments, and tell no numbers, that nobody gave, and call nothing
    twice that was asked for once; unless its builder has put such a hook there. Returns the hooks that were added."""
    if not is_nano(agent.llm):
        return []
    kinds: tuple[type[Hook], ...] = (GroundingHook, GroundedReplyHook, RepeatedCallHook)
    added: list[Hook] = [kind() for kind in kinds if not any(isinstance(hook, kind) for hook in agent.hooks)]
    agent.hooks += added
    return added


RECOMMENDED: Final = "qwen2.5-coder-1.5b"
"""Name of the model that is advised for tools that nano does not know.

Qwen2.5-Coder 0.5B and 1.5B were compared on such tools: the first token of the 1.5B tells commands from talk better
(``docs/figures.md``)."""
PULL: Final = (
    f"for a model that reads your tools, pull one: edgeagent models pull {RECOMMENDED}, then --model {RECOMMENDED}"
)
"""Advice about tools that nano does not know."""
_LISTED: Final = "nano.toml"
_NAMED: Final = 3
"""Tools that a warning names; the others are counted."""

Listed = dict[str, frozenset[str]]
"""Names of tools with the names of their parameters."""


def unfamiliar_tools(agent: Agent) -> list[Tool]:
    """The tools of an agent, and of those it hands over to, that its model was not trained for: those of another name
    or with other parameters. Empty for every model but nano.

    Raises:
        ConfigError: The list of nano's tools can't be read.
    """
    found: dict[str, Tool] = {}
    for each in reached(agent):
        llm = each.llm or agent.llm
        if llm is not None and is_nano(llm):
            listed = _listed(llm)
            found |= {tool.name: tool for tool in each.tools if listed.get(tool.name) != _parameters(tool)}
    return list(found.values())


def warning(agent: Agent, app: Path) -> str | None:
    """A sentence about the unfamiliar tools of an app, with what to do; None if there are none.

    Raises:
        ConfigError: The list of nano's tools can't be read.
    """
    tools = unfamiliar_tools(agent)
    return f"{found(tools)}; {advice(app)}" if tools else None


def found(tools: list[Tool]) -> str:
    """The unfamiliar tools, in words."""
    names = [tool.name for tool in tools[:_NAMED]]
    if more := len(tools) - len(names):
        names.append(f"{more} more")
    told = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"nano was not trained on {told}: expect wrong calls"


def advice(app: Path) -> str:
    """Returns advice about unfamiliar tools."""
    file = shlex.quote(str(app))
    own = f"teach nano: edgeagent train --app {file} --phrases FILE"
    return f"count them with: edgeagent check --app {file}; {own}; {PULL}"


def _listed(llm: LLM) -> Listed:
    """The tools that nano was trained for, or a model that was trained as nano: of the file beside the weights, or of
    the file that comes with edgeagent."""
    path = getattr(llm, "path", None)
    beside = path.with_suffix(".toml") if isinstance(path, Path) else None
    file = beside if beside is not None and beside.is_file() else models_dir() / _LISTED
    try:
        tools = tomllib.loads(file.read_text(encoding="utf-8"))["tools"]
        return {name: frozenset(parameters) for name, parameters in tools.items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ConfigError(f"{file}, the list of the tools that nano was trained for, can't be read: {error}") from error


def _parameters(tool: Tool) -> frozenset[str]:
    return frozenset(tool.parameters.get("properties", {}))
