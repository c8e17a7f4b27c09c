"""Training rows: the tokens of one setting's prefix, then as many of its dialogues as fit.

A dialogue attends to the prefix and to itself only, and its positions go on where the prefix ends, so the prefix is
paid once a row. Knows nothing of tools or templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
