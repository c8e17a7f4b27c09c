"""Phrases that people say to an agent: those that its ears are built of. Pure functions, any thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from edgeagent.agent import Agent
from edgeagent.agent.handoffs import reached
from edgeagent.errors import ConfigError
from edgeagent.resources import models_dir

_COMMANDS: Final = "phrases/house.txt"
_TALK: Final = "phrases/house_talk.txt"
_EARS: Final = "phrases/house_ears.txt"
_CONVERSATION: Final = "phrases/conversation.txt"
_HOUSE_EXAMPLES: Final = ("go to the kitchen", "how full is your battery?")
_EXAMPLES: Final = 2


def app_phrases(agent: Agent) -> list[str]:
    """Everything that an agent and those it hands over to are known to be told, in a settled order, none twice.

    Their own phrases and those of their tools; where there are none at all, the names of the tools. Not cleaned:
    that is for ``edgeagent.stt.phrases.sentences``.
    """
    phrases = list(dict.fromkeys(_phrases(agent)))
    return phrases or [tool.name.replace("_", " ").replace("-", " ") for tool in agent.tools]


def examples(agent: Agent) -> list[str]:
    """Two things to say to an agent, of its own phrases and those of its tools, if possible of two of them; none, where
    there are no phrases."""
    if _is_house(agent.phrases):
        return list(_HOUSE_EXAMPLES)
    sources = [agent.phrases, *(tool.traits.phrases for tool in agent.tools)]
    first = [phrases[0] for phrases in sources if phrases]
    return list(dict.fromkeys((*first, *_phrases(agent))))[:_EXAMPLES]


def name_groups(agent: Agent) -> list[list[str]]:
    """Names of one kind that take one another's place in the phrases: what a tool with phrases can choose among."""
    groups = []
    for tool in agent.tools:
        for parameter in tool.parameters.get("properties", {}).values() if tool.traits.phrases else ():
            names = [name for name in parameter.get("enum", ()) if isinstance(name, str)]
            if len(names) > 1 and names not in groups:
                groups.append(names)
    return groups


def ears_phrases(agent: Agent) -> list[str]:
    """Returns the phrases that the ears' language model of an agent is built of: its phrases, and for the house robot
    more of the same kind and other talk too. A model that has only commands hears a command in everything.
    """
    phrases = app_phrases(agent)
    return list(dict.fromkeys((*phrases, *house_heard()))) if _is_house(phrases) else phrases


def house_heard() -> tuple[str, ...]:
    """All that the ears know of what is said to the house robot: commands, questions, and what holds neither, such as
    negations, reports and small talk.

    Raises:
        ConfigError: A file is missing.
    """
    return (*house_phrases(), *_lines(_TALK), *_lines(_EARS))


def house_phrases() -> tuple[str, ...]:
    """Commands and questions for the house robot: draws of the corpus that the nano model learnt from.

    Raises:
        ConfigError: The file is missing.
    """
    return _lines(_COMMANDS)


def conversation_phrases() -> tuple[str, ...]:
    """Returns what people say to every robot that talks: controls, a yes or a no, backchannels, and the contrary of
    "you can move".

    Raises:
        ConfigError: The file is missing.
    """
    return _lines(_CONVERSATION)


def _is_house(phrases: Iterable[str]) -> bool:
    return set(house_phrases()).issubset(phrases)


@lru_cache(maxsize=4)
def _lines(name: str) -> tuple[str, ...]:
    path = models_dir() / name
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise ConfigError(f"what people say can't be read ({error}): install edgeagent again") from error


def _phrases(agent: Agent) -> Iterator[str]:
    for each in reached(agent):
        yield from each.phrases
        for tool in each.tools:
            yield from tool.traits.phrases
