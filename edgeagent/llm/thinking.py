"""The markers around a model's reasoning. Reasoning is shown apart, never spoken and never sent back."""

from __future__ import annotations

from typing import Final

OPEN: Final = "<think>"
CLOSE: Final = "</think>"


def is_open(prompt: str) -> bool:
    """Whether the prompt ends inside reasoning, because the template itself opens it for the model."""
    return prompt.rstrip().endswith(OPEN)
