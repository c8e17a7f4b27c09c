"""A course of training: an app, its phrases and a base model in, a model file with its list of tools out.

Needs the extra ``train``. On the calling thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from edgeagent.check import Trial
from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm.llama import LlamaLLM
from edgeagent.resources import whole_file
from edgeagent.tools import Tool
from edgeagent.train.fine_tuning import LossPoint, TrainingBudget, tune
from edgeagent.train.lessons import Lessons
from edgeagent.train.phrases_file import Phrase
from edgeagent.train.reminders import read_replay, replay_path
from edgeagent.train.weights import Weights, read_weights, retrained

RATE: Final = 2e-3
"""Highest learning rate: the one with which nano's own training ended."""


@dataclass(slots=True)
class Course:
    """One training.

    Args:
        trial: The app with the model that is trained further.
        phrases: Phrases to learn.
        apart: Phrases whose loss is measured, and that are never learnt.
        seed: The same seed with a budget in steps gives the same batches.

    Raises:
        ConfigError: No phrase has a call, or the dialogues that come with edgeagent can't be read.
        ModelError: The model is none of nano's kind.
    """

    trial: Trial
    phrases: Sequence[Phrase]
    apart: Sequence[Phrase]
    seed: str = "1"
    points: list[LossPoint] = field(default_factory=list)
    """The training so far, step by step."""
    _base: Path = field(init=False)
    _weights: Weights = field(init=False)

    def __post_init__(self) -> None:
        if not any(phrase.calls for phrase in self.phrases):
            raise ConfigError("no phrase to learn has a call; write several for each tool")
        llm = self.trial.llm
        if not isinstance(llm, LlamaLLM):
            raise ModelError(f"{llm.name} is no model file, so it can't be trained")
        self._base = llm.path
        self._weights = read_weights(self._base)  # a model of another kind is refused before anything is asked of it

    def run(self, budget: TrainingBudget, out: Path, told: Callable[[LossPoint], object]) -> None:
        """Trains, and writes the model and the list of its tools.

        Args:
            told: Called after each step.

        Raises:
            ConfigError: No agent can make the calls of a phrase, or a file can't be written.
        """
        lessons = Lessons(self.trial.agent, self.trial.llm, self.phrases, read_replay(replay_path()), self.seed)

        def kept(point: LossPoint) -> None:
            self.points.append(point)
            told(point)

        state = tune(self._weights, lessons.batches(), budget, apart=lessons.of(self.apart), rate=RATE, told=kept)
        tools = self.trial.tools
        description = f"edgeagent's nano, trained further for the tools of {self.trial.agent.name}"
        try:
            retrained(self._base, state, out, description=description)
            write_listed(out.with_suffix(".toml"), tools)
        except OSError as error:
            raise ConfigError(f"{out}: the model can't be written: {error.strerror or error}") from None


def write_listed(path: Path, tools: Iterable[Tool]) -> None:
    """Writes the list of the tools that a model was trained for, by which commands know what to warn of."""
    lines = [f"{json.dumps(tool.name)} = {json.dumps(list(tool.parameters.get('properties', {})))}\n" for tool in tools]
    head = "# Tools that this model was trained for: name and parameters. Written by edgeagent train."
    with whole_file(path) as file:
        file.write_text(f"{head}\n\n[tools]\n{''.join(lines)}", encoding="utf-8")
