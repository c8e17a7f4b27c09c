"""The guards of a model that is too small to know what it was not asked: put into what the app builds.

Knows which models need them; what they do is the hooks'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from edgeagent.agent import Agent
from edgeagent.app.agent_phrases import app_phrases
from edgeagent.english.completeness import Phrases
from edgeagent.hooks import GroundedReplyHook, GroundingHook, Hook, TalkGuardHook
from edgeagent.llm import LLM
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


def add_guards(agent: Agent, keeps: Callable[[Tool], bool], *, small: bool = False) -> None:
    """Guards an agent whose model is nano, or another small one, where its builder has not.

    Args:
        keeps: Tools that only what may ask for something sets off.
        small: The model has few weights, and is to be guarded against talk.
    """
    nano = is_nano(agent.llm)
    if nano:
        add_grounding(agent)
    if (nano or small) and not any(isinstance(hook, TalkGuardHook) for hook in agent.hooks):
        phrases = app_phrases(agent)
        by_hand = phrases if len(phrases) <= BY_HAND else ()
        agent.hooks.append(TalkGuardHook(keeps, Phrases(by_hand), any_language=not nano, english_only=nano))


def add_grounding(agent: Agent) -> None:
    """Has an agent whose model is nano ask about arguments, and tell no numbers, that nobody gave; unless its builder
    has put such a hook there."""
    if is_nano(agent.llm):
        kinds: tuple[type[Hook], ...] = (GroundingHook, GroundedReplyHook)
        agent.hooks += [kind() for kind in kinds if not any(isinstance(hook, kind) for hook in agent.hooks)]
