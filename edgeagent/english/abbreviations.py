"""Abbreviations written with points: what they stand for, and whether a sentence can end at one."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import re
from typing import Final

from edgeagent.english.numbers import Rule, before
from edgeagent.english.word_lists import lists

_LISTS: Final = lists("abbreviations")
INSIDE: Final[dict[str, str]] = _LISTS.table("inside")
EITHER: Final[dict[str, str]] = _LISTS.table("either")
NUMBERED: Final[dict[str, str]] = _LISTS.table("numbered")
POINTLESS: Final[dict[str, str]] = _LISTS.table("pointless")


def _names(table: dict[str, str]) -> str:
    return "|".join(sorted(map(re.escape, table), key=len, reverse=True))


def _inside(found: re.Match[str]) -> str | None:
    name = found[1]
    if before(found).isalnum() or (name.capitalize() in _LISTS.capital_only and not name[0].isupper()):
        return None
    return INSIDE[name.lower()]


def _either(found: re.Match[str]) -> str | None:
    name = found[1]
    if before(found).isalnum() or (name.capitalize() in _LISTS.capital_only and not name[0].isupper()):
        return None
    if name == "St" and re.match(r"\. [A-Z]", found.string[found.end(1) : found.end(1) + 3]):
        return "Saint"
    return EITHER[name.lower()]


def _numbered(found: re.Match[str]) -> str | None:
    return None if before(found).isalnum() or found[1] == "no" else NUMBERED[found[1].lower()]


def _initials(found: re.Match[str]) -> str:
    return found[0].replace(".", "")


_GOES_ON: Final = r"(?:\.(?=\s+[a-z0-9]|[,;:)?!])|(?=\.))"
"""The point is taken in where it can't end the sentence too."""

WORD_RULES: Final = (
    Rule(re.compile(r"w/(o|out)?(?=[ ,])"), lambda found: "without" if found[1] else "with"),
    Rule(re.compile(r"b/c(?=[ ,])"), lambda found: "because"),
    Rule(re.compile(r"N/A(?![^\W_])"), lambda found: "not applicable"),
    Rule(re.compile(r"P\. ?O\.(?= [A-Z])"), lambda found: "PO"),
    Rule(re.compile(r"US(?=\$[0-9])"), lambda found: ""),
    Rule(re.compile(rf"({_names(NUMBERED)})\.(?= ?[0-9])", re.IGNORECASE), _numbered),
    Rule(re.compile(rf"({_names(INSIDE)})\.(?![^\W_])", re.IGNORECASE), _inside),
    Rule(re.compile(r"(St)\.(?= [A-Z])"), _either),
    Rule(re.compile(rf"({_names(EITHER)}){_GOES_ON}", re.IGNORECASE), _either),
    Rule(re.compile(r"(vs|etc|approx|Mr|Mrs)(?![^\W_.]|\.[^\W_])"), lambda found: POINTLESS[found[1]]),
    # Letters with points: the last one stays where it may end the sentence; J. Smith has no pause after the J.
    Rule(
        re.compile(r"(?:[A-Z]\.){2,8}(?=\s+[a-z0-9]|[,;:)?!'-])|(?:[A-Z]\.){1,8}[A-Z](?=\.(?:\s|$|[\"”]))"), _initials
    ),
    Rule(re.compile(r"[A-HJ-Z]\.(?=\s+[A-Z])"), _initials),
)

_LAST_WORD: Final = re.compile(r"(?:^|[\s(\[\"'“‘*_])((?:[^\W\d_]+\.)*[^\W\d_]+)\.$")


def ends_sentence(text: str, following: str) -> bool:
    """True if the point at the end of a text ends a sentence, seen from the word with it and what follows it."""
    found = _LAST_WORD.search(text[-24:])
    if not found:
        return True
    name = found[1]
    low = name.lower()
    if low in INSIDE and (low.capitalize() not in _LISTS.capital_only or name[0].isupper()):
        return False
    if low in NUMBERED:
        return name == "no" or not following.isdigit()
    if low in EITHER and following.isdigit():
        return False
    initials = name != "I" and all(len(part) == 1 and part.isupper() for part in name.split("."))
    return not (initials and following.isupper())
