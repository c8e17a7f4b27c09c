"""Batches of an app's lessons: rows of its own dialogues, and rows of other robots' dialogues between them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from edgeagent.agent import Agent
from edgeagent.agent.handoffs import reached
from edgeagent.errors import ConfigError
from edgeagent.llm import LLM
from edgeagent.messages import Message
from edgeagent.train.app_dialogues import AppAuthor, TaughtApp, calling
from edgeagent.train.encoding import Batch, EncodedDialogue, Encoder, TrainingRow
from edgeagent.train.phrases_file import Phrase
from edgeagent.train.reminders import Reminder

ROW: Final = 512
"""Tokens of a row, longer where the tools of an app need it."""
_ROWS: Final = 3
"""Rows of a step."""
_DIALOGUES: Final = 256
"""Tokens of a row that are left for dialogues behind the tools."""
REPLAYED: Final = 0.25
"""Share of rows with other robots' dialogues."""
_MEASURED: Final = 8
"""Rows of phrases kept apart whose loss is measured; more take memory and tell the same."""
_MISSES: Final = 4
_STEP: Final = 64
"""Rows are as long as a multiple of so many tokens."""


class Lessons:
    """Makes batches for one app, endlessly and by a seed.

    Args:
        agent: The app's agent, whose tools have lost their bodies.
        llm: The model that is trained; it renders and tokenises.

    Raises:
        ConfigError: No agent can make the calls of any phrase, or the tools leave no room in the model's window.
        ModelError: The model's template is none of nano's.
    """

    def __init__(
        self, agent: Agent, llm: LLM, phrases: Sequence[Phrase], replay: Sequence[Reminder], seed: str
    ) -> None:
        self._rng = random.Random(f"edgeagent train {seed}")
        self._encoder = Encoder(llm)
        self._replay = list(replay)
        self._prefixes: dict[int, list[int]] = {}
        self._agents: list[tuple[list[int], AppAuthor]] = []
        for each in reached(agent):
            tools = tuple(each.tools)
            names = {tool.name for tool in tools}
            mine = tuple(p for p in phrases if all(call.name in names for call in p.calls))
            if any(phrase.calls for phrase in mine):
                bodies = each.tools.tools.values()
                author = AppAuthor(TaughtApp(each.instructions, tools, mine), bodies, replay, self._rng)
                self._agents.append((self._encoder.prefix(each.instructions, tools), author))
        if not self._agents:
            raise ConfigError("no agent of the app has all the tools of a phrase; write phrases for the tools of each")
        longest = max(len(prefix) for prefix, _ in self._agents)
        self.length = max(ROW, -(-(longest + _DIALOGUES) // _STEP) * _STEP)
        """Tokens of a row."""
        if self.length > llm.context_window:
            raise ConfigError(
                f"the tools and instructions take {longest} tokens of a window of {llm.context_window}; shorten them"
            )

    def batches(self) -> Iterator[Batch]:
        """Endless batches."""
        while True:
            yield TrainingRow.batch([self._row() for _ in range(_ROWS)])

    def of(self, phrases: Sequence[Phrase]) -> Batch | None:
        """Phrases as they are, each as a dialogue of one turn, at most a few rows; None where none has a call."""
        rows: list[TrainingRow] = []
        for prefix, author in self._agents:
            names = {tool.name for tool in author.app.tools}
            row = TrainingRow(prefix, self.length)
            for phrase in phrases:
                if not phrase.calls or any(call.name not in names for call in phrase.calls):
                    continue
                one = self._encoder.dialogue([Message("user", phrase.say), calling(phrase.calls)])
                if len(one.ids) > row.room:
                    rows.append(row)
                    row = TrainingRow(prefix, self.length)
                if len(one.ids) <= row.room:
                    row.add(one.ids, one.weights)
            rows.append(row)
        filled = [row for row in rows if row.room < self.length - row.start]
        return TrainingRow.batch(filled[:_MEASURED]) if filled else None

    def _row(self) -> TrainingRow:
        rng = self._rng
        if rng.random() < REPLAYED:
            made = self._replayed()
            if made is not None:
                return made
        prefix, author = rng.choice(self._agents)
        return self._filled(prefix, author.dialogue)

    def _replayed(self) -> TrainingRow | None:
        """A row of another robot; None where its tools are too long for it."""
        rng = self._rng
        # the house, which is the first, as often as all others together
        index = 0 if rng.random() < 0.5 else rng.randrange(len(self._replay))
        setting = self._replay[index]
        if index not in self._prefixes:
            self._prefixes[index] = self._encoder.prefix(setting.system, setting.tools)
        prefix = self._prefixes[index]
        if len(prefix) > self.length - _DIALOGUES:
            return None
        return self._filled(prefix, lambda: list(rng.choice(setting.dialogues)))

    def _filled(self, prefix: list[int], draw: Callable[[], list[Message]]) -> TrainingRow:
        row = TrainingRow(prefix, self.length)
        misses = 0
        while misses < _MISSES and row.room > _STEP // 2:
            one: EncodedDialogue = self._encoder.dialogue(draw())
            if len(one.ids) <= row.room:
                row.add(one.ids, one.weights)
            else:
                misses += 1
        return row
