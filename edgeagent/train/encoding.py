"""Dialogues as token ids, rendered and tokenised by the engine that runs the model later: nothing can differ.

A training row has the tokens of one setting's prefix, then as many of its dialogues as fit. A dialogue attends to the
prefix and to itself only, and its positions go on where the prefix ends, so the prefix is paid once a row. Any thread,
one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgeagent.errors import ModelError
from edgeagent.llm import LLM, LLMRequest
from edgeagent.llm.protocol import ToolSpec
from edgeagent.messages import Message

_REPLY_WEIGHT: Final = 0.4
"""Weight of a reply to results, which is copying; calls and abstaining matter more and weigh 1."""


@dataclass(frozen=True, slots=True)
class EncodedDialogue:
    """Tokens of a dialogue behind its prefix, and the weight of each as a target."""

    ids: list[int]
    weights: list[float]


class Encoder:
    """Encodes for one model.

    Raises:
        ModelError: The model's template puts messages otherwise than nano's, which begins each with the same token and
            keeps the tools in front of all.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        sample = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
        ids = llm.tokenize(LLMRequest(messages=sample))
        self._start = ids[0]
        starts = [at for at, token in enumerate(ids) if token == self._start]
        if len(starts) != len(sample) + 1:
            raise ModelError(f"the chat template of {llm.name} is none of nano's, so the model can't be trained here")
        self._opening = ids[starts[-1] :]
        """Tokens with which the assistant's turn begins."""
        if ids[starts[1] : starts[1] + len(self._opening)] != self._opening:
            raise ModelError(f"the chat template of {llm.name} does not repeat a reply as the model wrote it")
        self._closing = ids[starts[2] - 2 : starts[2]]
        """The end of a turn: a token that the model writes, and a line end."""

    def prefix(self, system: str | None, tools: Sequence[ToolSpec]) -> list[int]:
        """Encodes a system prompt with its tools.

        Raises:
            ModelError: They do not stand in front of all messages.
        """
        asked = [Message("user", "a")]
        tail = self._llm.tokenize(LLMRequest(messages=asked))
        ids = self._llm.tokenize(LLMRequest(system=system, tools=tools, messages=asked))
        if ids[-len(tail) :] != tail:
            raise ModelError(f"the chat template of {self._llm.name} mixes tools and messages")
        return ids[: -len(tail)]

    def dialogue(self, messages: Sequence[Message]) -> EncodedDialogue:
        """Encodes messages behind a prefix. The assistant's tokens have a weight, all others none."""
        ids = self._llm.tokenize(LLMRequest(messages=messages))[: -len(self._opening)]
        starts = [at for at, token in enumerate(ids) if token == self._start]
        weights = [0.0] * len(ids)
        previous = ""
        for message, begin, end in zip(messages, starts, [*starts[1:], len(ids)], strict=True):
            if message.role == "assistant":
                weight = _REPLY_WEIGHT if previous == "tool" else 1.0
                first, last = begin + len(self._opening), end - len(self._closing) + 1
                weights[first:last] = [weight] * (last - first)
            previous = message.role
        return EncodedDialogue(ids, weights)


# --- rows -------------------------------------------------------------------------------------------------------------


Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Arrays of shape (rows, length); weight[i] is that of predicting ids[i + 1] at i."""

    ids: Array
    positions: Array
    segments: Array
    targets: Array
    weights: Array


class TrainingRow:
    """One row that is being filled.

    Args:
        prefix: Tokens that every dialogue of the row sees.
        length: Tokens of the row; the rest stays empty.
    """

    def __init__(self, prefix: Sequence[int], length: int) -> None:
        self.start = len(prefix)
        """Position of a dialogue's first token."""
        self._ids = np.zeros(length, np.int64)
        self._positions = np.zeros(length, np.int64)
        self._segments = np.full(length, -1, np.int64)
        self._weights = np.zeros(length, np.float32)
        self._ids[: self.start] = prefix
        self._positions[: self.start] = np.arange(self.start)
        self._segments[: self.start] = 0
        self._at, self._segment = self.start, 0

    @property
    def room(self) -> int:
        """Tokens that still fit."""
        return len(self._ids) - self._at

    def add(self, tokens: Sequence[int], weights: Sequence[float] | Array, *, gap: int = 0) -> None:
        """Puts a dialogue into the row.

        Args:
            weights: One for each token, as a target.
            gap: Positions that are left out before it, as by a long history.
        """
        n, at = len(tokens), self._at
        self._segment += 1
        self._ids[at : at + n] = tokens
        self._positions[at : at + n] = np.arange(self.start + gap, self.start + gap + n)
        self._segments[at : at + n] = self._segment
        self._weights[at : at + n - 1] = weights[1:]
        self._at += n

    @staticmethod
    def batch(rows: Sequence[TrainingRow]) -> Batch:
        """Stacks rows of one length."""
        ids, positions, segments, weights = (
            np.stack(arrays)
            for arrays in zip(*((r._ids, r._positions, r._segments, r._weights) for r in rows), strict=True)
        )
        return Batch(ids, positions, segments, np.roll(ids, -1, axis=1), weights)
