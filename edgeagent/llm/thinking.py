"""The markers around a model's reasoning. Reasoning is shown apart, never spoken and never sent back."""

from __future__ import annotations

from typing import Final

#: Most families; Ministral and Magistral; Gemma 4.
PAIRS: Final = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<|channel>thought", "<channel|>"))
OPENS: Final = tuple(opens for opens, _ in PAIRS)
CLOSES: Final = tuple(closes for _, closes in PAIRS)
MARKERS: Final = (*OPENS, *CLOSES, "<|channel>")
"""Texts that a reply must show, for the gate to see them; some are control tokens."""


def is_open(prompt: str) -> bool:
    """Whether the prompt ends inside reasoning, because the template itself opens it for the model."""
    return prompt.rstrip().endswith(OPENS)


def without_empty(prompt: str) -> str:
    """The prompt without the empty reasoning at its end, with which a template tells the model not to reason."""
    bare = prompt.rstrip()
    for opens, closes in PAIRS:
        at = bare.rfind(opens)
        if at >= 0 and bare.endswith(closes) and not bare[at + len(opens) : -len(closes)].strip():
            return bare[:at]
    return prompt
