"""Warm prefixes with every kind of memory a model can have: attention, sliding windows, recurrent, and both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from edgeagent import LlamaLLM, Message
from edgeagent.llm import EngineSettings, LLMRequest, Logits

RULES = " ".join(f"Rule {i}: go on with it." for i in range(40))
SLACK = 16
ROLL_BACK = ("qwen3", "llama3.2", "gemma4", "gemma2", "mistral")
CAN_NOT = ("qwen3.5", "lfm2", "mamba")


@pytest.fixture
def open_family(cut_file: Callable[[str], Path]) -> Iterator[Callable[..., LlamaLLM]]:
    """Loads a family's model with some memory for prefixes, or none."""
    made: list[LlamaLLM] = []

    def make(family: str, memory_mb: int = 64) -> LlamaLLM:
        settings = EngineSettings(prefix_file=False, prefix_memory_mb=memory_mb)
        made.append(LlamaLLM(cut_file(family), settings=settings))
        return made[-1]

    yield make
    for llm in made:
        llm.close()


@dataclass(frozen=True)
class Turn:
    """One turn: what the model thought after the prompt, what it evaluated, and how much longer the prompt was."""

    logits: Logits
    evaluated: int
    added: int


def talk(llm: LlamaLLM, order: str) -> list[Turn]:
    """Agents that speak in this order, each in its own conversation. The models' replies are not theirs to keep."""
    histories: dict[str, list[Message]] = {}
    lengths: dict[str, int] = {}
    told = []
    for name in order:
        history = histories.setdefault(name, [])
        history.append(Message.user(f"{name} says number {len(history)}"))
        request = LLMRequest(system=f"You are agent {name}. {RULES}", messages=history, max_tokens=1)
        reply = llm.complete(request, Event())
        assert reply.error is None
        history.append(Message.assistant("It is done."))
        stats = llm.stats
        assert llm._loaded is not None
        logits = llm._loaded.engine.logits.copy()
        told.append(Turn(logits, stats.evaluated_tokens, stats.prompt_tokens - lengths.get(name, 0)))
        lengths[name] = stats.prompt_tokens
    return told


@pytest.mark.parametrize("family", ROLL_BACK + CAN_NOT)
def test_a_warm_model_thinks_what_a_cold_one_thinks(family: str, open_family: Callable[..., LlamaLLM]) -> None:
    order = "ABACBCA"
    warm = [turn.logits for turn in talk(open_family(family), order)]
    cold = [turn.logits for turn in talk(open_family(family, memory_mb=0), order)]
    for one, other in zip(warm, cold, strict=True):  # chunks of other sizes round differently
        assert np.corrcoef(one, other)[0, 1] > 0.99


@pytest.mark.parametrize("family", ROLL_BACK + CAN_NOT)
def test_taking_turns_evaluates_the_last_turn_at_most(family: str, open_family: Callable[..., LlamaLLM]) -> None:
    for turn in talk(open_family(family), "ABCABCABC")[3:]:
        assert turn.evaluated <= turn.added + SLACK
