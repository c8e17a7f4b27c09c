"""Symbols and punctuation: which are words, which are pauses, which are nothing."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import re
from typing import Final

from edgeagent.tts.text.characters import CLAUSE, STOP
from edgeagent.tts.text.rule import Rule

#: Punctuation of all scripts as what a voice knows.
PAUSES: Final = {
    ",": ",", ";": ";", ":": ":", ".": ".", "!": "!", "?": "?", CLAUSE: ",", STOP: ".",
    "，": ",", "、": ",", "；": ";", "：": ":", "。": ".", "！": "!", "？": "?", "．": ".", "｡": ".",
    "؟": "?", "،": ",", "؛": ";", "।": ".", "॥": ".", "۔": ".", "…": ".", "‼": "!", "⁇": "?", "⁈": "?", "⁉": "!",
}  # fmt: skip
STRENGTH: Final = {"": 0, ",": 1, ";": 2, ":": 2, ".": 3, "!": 4, "?": 5}
_BRACKETS: Final = "()（）"
_DASHES: Final = "-‒–—―−"

_BETWEEN: Final = {
    "+": "plus",
    "−": "minus",
    "*": "times",
    "×": "times",
    "·": "times",
    "÷": "divided by",
    "=": "equals",
    "≡": "equals",
    "≈": "is about",
    "≠": "does not equal",
    "≤": "is at most",
    "≥": "is at least",
    "<": "is less than",
    ">": "is greater than",
    "^": "to the power of",
    "±": "plus or minus",
    "→": "to",
    "⇒": "to",
}
_ALONE: Final = {
    "&": "and",
    "@": "at",
    "%": "percent",
    "‰": "per mille",
    "€": "euros",
    "£": "pounds",
    "°": "degrees",
    "№": "number",
    "§": "section",
    "∞": "infinity",
    "√": "square root of",
}
_LONG: Final = {
    "->": "to",
    "=>": "to",
    "-->": "to",
    "&&": "and",
    "==": "equals",
    "!=": "does not equal",
    "<=": "is at most",
    ">=": "is at least",
}
_EVERY: Final = frozenset("min minute s sec second h hr hour day night week month year person".split())
"""Units that things are counted by: 60 beats/min."""
_OPERANDS: Final = ")]²³°%"

ARROW: Final = re.compile(r"--?>|=>|==|!=|<=|>=|&&")
DOTS: Final = re.compile(r"\.{2,}+|…++")


def _side(char: str) -> bool:
    return char.isalnum() or char in _OPERANDS


def word(text: str, at: int) -> str | None:
    """The words for a symbol, seen between its neighbours, or None where it says nothing."""
    char = text[at]
    left, right = text[max(0, at - 2) : at], text[at + 1 : at + 3]
    near_left, near_right = left[-1:], right[:1]
    far_left = left.rstrip()[-1:] or " "
    far_right = right.lstrip()[:1] or " "
    if char in _ALONE:
        return _ALONE[char]
    if char == "#":
        return _hash(near_left, near_right)
    if char == "/":
        return _slash(text, at)
    numbers = far_left.isdigit() and far_right.isdigit()
    if char in _DASHES and near_left == near_right == " " and numbers:
        return "to" if char in "–—" else "minus"
    if char in "-–—" and _clock(text, at):
        return "to"
    if char in _BETWEEN:
        return _operator(char, far_left, far_right)
    return None


def _operator(char: str, left: str, right: str) -> str | None:
    if char == "+" and left.isalnum() and not right.isalnum():
        return "plus"
    if char in "<>≤≥" and right.isdigit() and not _side(left):
        return _BETWEEN[char].removeprefix("is ")
    sides = _side(left) and (right.isalnum() or right in "(√-−.$€£∞")
    return _BETWEEN[char] if sides and right != " " else None


def _hash(left: str, right: str) -> str | None:
    if left.isalnum():
        return "sharp" if left.isalpha() and not right.isalnum() else None
    return "number" if right.isdigit() else "hashtag" if right.isalpha() else None


def _slash(text: str, at: int) -> str | None:
    left, right = text[max(0, at - 16) : at], text[at + 1 : at + 17]
    if left[-1:] == " " and right[:1] == " " and left.rstrip()[-1:].isdigit() and right.lstrip()[:1].isdigit():
        return "divided by"
    before, after = re.search(r"[^\W_]+$", left), re.match(r"[^\W_]+", right)
    if not before or not after or "or" in (before[0], after[0]):
        return None
    if after[0] in _EVERY:
        return "per"
    return "or" if before[0].islower() and after[0].islower() and len(before[0]) > 1 < len(after[0]) else None


def _clock(text: str, at: int) -> bool:
    """True if a dash stands between times of day, or digits and what is no number."""
    left, right = text[max(0, at - 6) : at].rstrip(), text[at + 1 : at + 7].lstrip()
    return bool(re.search(r":[0-9]{2}$|[0-9] ?[AaPp][Mm]$", left) and re.match("[0-9]", right))


def pause(text: str, at: int) -> str | None:
    """The punctuation that a character makes, or None for none."""
    char = text[at]
    if char in PAUSES:
        return PAUSES[char]
    if char in _BRACKETS:
        touches = text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()
        return None if touches or (char == "(" and at and text[at - 1].isalnum()) else ","
    if char in _DASHES:
        left, right = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
        joins = left.isalnum() and right.isalnum() and char in "-−"
        return None if joins or (right.isalnum() and char in "-−") else ","
    return None


def _long(found: re.Match[str]) -> str | None:
    text, start, end = found.string, found.start(), found.end()
    left, right = text[max(0, start - 2) : start].strip(), text[end : end + 2].strip()
    return _LONG[found[0]] if left and right else None


RULES: Final = (Rule(ARROW, _long),)
