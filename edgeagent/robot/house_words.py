"""The words of the house robot: names as people say them, numbers as results give them.

The wording of results is the table in scripts/train_nano/conventions.md, which the nano model is trained on.
"""

from __future__ import annotations

import re
from typing import Final

_ARTICLES: Final = frozenset({"the", "a", "an", "my", "your", "our", "this", "that"})
_LONGEST_NAME: Final = 40
_INDEFINITE: Final = frozenset({"wall", "shelf", "chair", "box", "bench", "plant"})
"""Obstacles of which there is more than one, or that nobody has spoken of."""


def plain_name(text: str) -> str:
    """A place or an object as the flat lists it: lower case, one space between words, no article.

    A name that is not in the flat ends up in an error text, so it is cut to 40 printable characters.
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: 10 * _LONGEST_NAME])
    words = re.sub(r"[\s_]+", " ", printable).strip(" .,!?'\"").casefold().split(" ")
    while len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return " ".join(words)[:_LONGEST_NAME].strip()


def number(value: float, decimals: int = 1) -> str:
    """Rounded, without trailing zeros: 2, 0.5, 1.25."""
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def with_article(obstacle: str) -> str:
    """ "a wall", "the sofa"."""
    return f"{'a' if obstacle in _INDEFINITE else 'the'} {obstacle}"


def plural(count: int, noun: str) -> str:
    """ "1 second", "300 seconds"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
