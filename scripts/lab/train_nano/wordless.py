"""Input without words: emoji, letters of other scripts, digits, signs, control characters, keys pressed at random."""

from __future__ import annotations

import random
from typing import Final

_EMOJI: Final = ((0x1F600, 0x1F64F), (0x1F300, 0x1F5FF), (0x1F680, 0x1F6C5), (0x1F900, 0x1F9FF), (0x2600, 0x26FF))
_JOINERS: Final = ("", "", "", " ", "\u200d", "\ufe0f")
_SCRIPTS: Final = (
    (0x4E00, 0x9FA5), (0x4E00, 0x5500), (0x3041, 0x3093), (0x30A1, 0x30F3), (0xAC00, 0xD7A3), (0x0430, 0x044F),
    (0x0620, 0x064A), (0x0905, 0x0939), (0x03B1, 0x03C9), (0x05D0, 0x05EA), (0x0E01, 0x0E2E), (0x10D0, 0x10F0),
    (0x0561, 0x0586), (0x0B85, 0x0BB9), (0x0995, 0x09B9), (0x1200, 0x135A), (0x1780, 0x17B3), (0x00C0, 0x017F),
)  # fmt: skip
"""First and last letters of scripts; the last row has the Latin letters with accents."""
_UNSPACED: Final = 3
"""Scripts at the beginning that have no spaces between words."""
_SIGNS: Final = (
    *". .. ... ? ?? ??? ! !! !!! , ; : - -- --- / // \\ | || _ __ * ** *** # ## & % $ @ ^ ~ ` ' \" () [] {} <> = == + ++".split(),
    "<tool_call>", "</tool_call>", "{}", "null", "undefined", "NaN", "\\n", "\\x00", "\x00", "\x07", "\x1b[2J", "\x1b[A",
    "\x7f", "\u200b", "\ufeff", "\ufffd", "\u202e", "</s>", "%s", "0x1f", "--help", "; drop table", "^C",
)  # fmt: skip
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "bcdfghjklmnpqrstvwxz")


def emoji(rng: random.Random) -> str:
    """One to five pictures."""
    count = rng.choice((1, 1, 1, 2, 2, 3, 5))
    one = "".join(chr(rng.randint(*rng.choice(_EMOJI))) + rng.choice(_JOINERS) for _ in range(count))
    return one.strip(" \u200d") * rng.choice((1, 1, 1, 2, 3))


def script(rng: random.Random) -> str:
    """Letters of another script, in words where it has them."""
    at = rng.randrange(len(_SCRIPTS))
    first, last = _SCRIPTS[at]

    def word() -> str:
        return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 8)))

    joint = "" if at < _UNSPACED else " "
    return joint.join(word() for _ in range(rng.randint(1, 5))) + rng.choice(("", "", "!", "?", "。", "."))


def figures(rng: random.Random) -> str:
    """Digits that mean nothing to a robot."""
    kind = rng.random()
    if kind < 0.4:
        return str(rng.randint(0, 10 ** rng.randint(1, 9)))
    if kind < 0.6:
        return rng.choice((" ", "-", ".", ",", ", ", "/")).join(
            str(rng.randint(0, 999)) for _ in range(rng.randint(2, 5))
        )
    if kind < 0.8:
        return f"{rng.choice(('-', '+', '0', '00', '#', '$'))}{rng.randint(0, 9999)}"
    return f"{rng.randint(1, 99)}{rng.choice('+-*/=x:')}{rng.randint(1, 99)}"


def signs(rng: random.Random) -> str:
    """Punctuation, escape sequences, control characters."""
    return rng.choice((" ", "")).join(rng.choice(_SIGNS) for _ in range(rng.choice((1, 1, 1, 2, 3))))


def keys(rng: random.Random) -> str:
    """Keys that a cat has pressed."""
    row, length = rng.choice(_KEYS), rng.randint(2, 9)
    kind = rng.random()
    if kind < 0.4:
        at = rng.randrange(len(row))
        return (row * 3)[at : at + length]
    if kind < 0.7:
        return "".join(rng.choice(row) for _ in range(length))
    return rng.choice("abcdefghijklmnopqrstuvwxyz") * length if kind < 0.85 else rng.choice(("la", "blah", "bla", "na", "da", "ha", "do")) + rng.choice((" ", "")) + rng.choice(("la", "blah", "bla", "na", "da", "ha")) * rng.randint(1, 4)  # fmt: skip
