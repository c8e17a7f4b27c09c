"""Training rows: one setting's prefix, then as many of its dialogues as fit.

Rows are a function of seed and step alone: a resumed run sees what an unbroken one sees.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from generate import Generator, with_system
from grammar import Grammar
from template import IM_END, IM_START, render
from tokenizers import Tokenizer

from edgeagent.train import Batch, TrainingRow

WINDOW: Final = 4096
ROW: Final = 512
LONG_EVERY: Final = 40
"""Every so many steps the rows are whole windows, each one long session."""

_GAP_SHARE: Final = 0.06
"""Share of dialogues moved to a random later position, as after a long history."""

_REPLY_WEIGHT: Final = 0.4
"""A reply to results is copying; calls and abstaining matter more."""

_FIRST_WEIGHT: Final = 3.0
"""Of the first token of what the assistant writes, which decides between a call and words."""

_USER_WEIGHT: Final = 0.05
_LONGEST_PREFIX: Final = 400
"""Tokens of a setting; one with more would leave no room for its dialogues."""
_SHORTEST: Final = 40
"""Room left in a row that is not worth another dialogue, in tokens."""


class RowMaker:
    """Turns dialogues into rows of token ids."""

    def __init__(self, grammar: Grammar, tokenizer: Tokenizer, seed: int | str) -> None:
        self._grammar = grammar
        self._tokenizer = tokenizer
        self._seed = seed
        self._start = tokenizer.token_to_id(IM_START)
        self._end = tokenizer.token_to_id(IM_END)
        self._roles = {role: tokenizer.encode(f"{role}\n").ids for role in ("user", "assistant", "tool")}

    def batch(self, step: int, tokens: int) -> Batch:
        """The rows of a step, about ``tokens`` tokens in all."""
        long = step % LONG_EVERY == LONG_EVERY - 1
        length = WINDOW if long else ROW
        generator = Generator(self._grammar, f"{self._seed} step {step}")
        rows = [self._row(generator, length, long=long) for _ in range(max(1, tokens // length))]
        return TrainingRow.batch(rows)

    def _row(self, generator: Generator, length: int, *, long: bool) -> TrainingRow:
        while True:
            setting = generator.setting()
            tools = list(setting.tools)
            head = render(with_system(setting, []), tools)
            prefix = self._tokenizer.encode(head).ids
            if len(prefix) <= _LONGEST_PREFIX:
                break
        row = TrainingRow(prefix, length)
        misses = 0
        while row.room > _SHORTEST and misses < 5:
            messages: list[dict[str, Any]] = generator.dialogue(setting, turns=80 if long else None)
            tokens = self._tokenizer.encode(render(with_system(setting, messages), tools)[len(head) :]).ids
            if long:
                tokens = tokens[: row.room]
            if len(tokens) > row.room:
                misses += 1
                continue
            gap = 0
            if not long and generator.rng.random() < _GAP_SHARE:
                gap = generator.rng.randint(0, WINDOW - row.start - len(tokens))
            row.add(tokens, self._weights(tokens), gap=gap)
        return row

    def _weights(self, tokens: list[int]) -> np.ndarray:
        """The weight of each token as a target: what the assistant writes, its end included; a little of the user."""
        out = np.zeros(len(tokens), np.float32)
        weight, previous, i = 0.0, "", 0
        while i < len(tokens):
            if tokens[i] == self._start:
                role = next((r for r, seq in self._roles.items() if tokens[i + 1 : i + 1 + len(seq)] == seq), "")
                weight = {"assistant": _REPLY_WEIGHT if previous == "tool" else 1.0, "user": _USER_WEIGHT}.get(
                    role, 0.0
                )
                previous = role
                i += 1 + len(self._roles.get(role, ()))
                if role == "assistant" and i < len(tokens):
                    out[i] = _FIRST_WEIGHT
                    i += 1
                continue
            out[i] = weight
            if tokens[i] == self._end:
                weight = 0.0
            i += 1
        return out
