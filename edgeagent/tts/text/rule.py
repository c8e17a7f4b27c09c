"""One way to read a piece of text aloud."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """Pattern and its words: ``say`` gives them for all of a match, or None if the match is none of its kind."""

    pattern: re.Pattern[str]
    say: Callable[[re.Match[str]], str | None]


def before(found: re.Match[str], group: int | str = 0) -> str:
    """The character in front of a match, or a space."""
    at = found.start(group)
    return found.string[at - 1] if at else " "
