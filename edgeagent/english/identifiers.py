"""Names of files, addresses, codes and abbreviations as they are read aloud, and the points that end a sentence."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.english.numbers import END, LETTER, ahead, before, cardinal, either, ordinal, rules, spelled

# ruff: noqa: RUF001 - text has dashes and the like that look alike
from edgeagent.english.word_data import lists

_JOINTS: Final[dict[str, str]] = lists("signs").table("joints")
_POWERS: Final = {"²": "squared", "³": "cubed"}
_PIECE: Final = re.compile(rf"{LETTER}+|[0-9]+(?:\.[0-9]+)*|[./@:+%~=&#?-]|[_²³]")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _digits(digits: str) -> str:
    if "." in digits:
        whole, *rest = digits.split(".")
        return " point ".join((cardinal(whole), *map(spelled if len(rest) == 1 else cardinal, rest)))
    return cardinal(digits) if len(digits) <= 3 else spelled(digits)


def pieces(text: str, *, joints: bool, humps: bool = True) -> str:
    """The words and numbers inside a name; what joins them is said or not, the underscore only in addresses of mail."""
    said = []
    for piece in _PIECE.findall(text):
        if piece in _POWERS:
            said.append(_POWERS[piece])
        elif piece in _JOINTS:
            if joints:
                said.append(_JOINTS[piece])
        elif piece[0].isdigit():
            said.append(_digits(piece))
        else:
            said.append(_HUMP.sub(" ", piece) if humps else piece)
    return " ".join(said)


def _web(found: re.Match[str]) -> str:
    """Host and path; what stands behind a question mark is for machines."""
    return pieces(re.split("[?#]", found["rest"])[0].strip("/").replace("_", " "), joints=True, humps=False)


def _mail(found: re.Match[str]) -> str:
    return pieces(found[0], joints=True, humps=False)


def _path(found: re.Match[str]) -> str | None:
    """A path in a file system; one slash between words joins two choices."""
    text = found[0]
    if before(found).isalnum():
        return None
    return pieces(text.replace("_", " "), joints=True)


def _file(found: re.Match[str]) -> str | None:
    """main.py, example.com; a capital after the point begins a sentence that lacks its space."""
    last = found[0].rpartition(".")[2]
    return None if last[0].isupper() and not last.isupper() else pieces(found[0].replace("_", " "), joints=True)


def _identifier(found: re.Match[str]) -> str | None:
    text = found[0].removesuffix("()")
    hump = re.match(r"[a-z]{2,}+[a-z0-9]*+[A-Z]", text)
    if not hump and text.isalpha() and not found[0].endswith("()"):
        return None
    return pieces(text, joints=False)


def _ordinal(found: re.Match[str]) -> str:
    return ordinal(int(found[1].replace(",", "")))


_WEB, _MAIL, _FILE, _DASHED, _MIXED, _SERIES, _PATH = rules(
    (r"(?i:(?:(?:https?|ftp|file)://(?:www\.)?|www\.)(?P<rest>[^\s<>\"'`()\[\]{}*|,;\x00-\x02]*[^\W_/]/?))", _web),
    (r"[A-Za-z0-9][\w.+-]{0,63}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)*+", _mail),
    (rf"{LETTER}[\w-]*+(?:\.(?:{LETTER}|[0-9]+(?={LETTER}))[\w-]*+)++(?:/[\w./-]*\w)?(?:\(\))?{END}", _file),
    (rf"{LETTER}+-[0-9]{{1,12}}(?![^\W_-])", _identifier),
    (r"[^\W_]\w*+(?:(?:\.[0-9]+)++(?!\w))?(?:\(\))?", _identifier),
    (r"[0-9]++(?:\.[0-9]++)++[^\W\d_]\w*+", _identifier),  # 802.11ac
    (r"(?:~|\.{0,2})(?:/[\w.+-]*\w){1,40}/?|\w[\w.-]*(?:/[\w.-]*\w){2,40}/?", _path),
)

DIGIT_RULES: Final = rules((rf"([0-9]{{1,3}}(?:,[0-9]{{3}}){{1,3}}|[0-9]{{1,9}})(?i:st|nd|rd|th){END}", _ordinal))
"""Before numbers."""
MIXED_RULES: Final = (_MAIL, _SERIES, _MIXED)
"""After numbers: 3D, 2nd_floor."""
WORD_RULES: Final = (_WEB, _MAIL, _PATH, _FILE, _DASHED, _MIXED)
DOT_RULES: Final = rules((rf"\.(?={LETTER})", lambda found: "dot" if before(found) in " (\n" else None))
""".NET, .gitignore"""
PATH_RULES: Final = (_PATH,)


_LOOK_BACK: Final = 24
_CODE: Final = re.compile(
    r"\b(?:(?:pin|passcode|password|postcode|zip|zip code|(?:access|door|entry|gate|lock|security|the|your|my) code)"
    r"(?: is| to|:)?|(?:call|dial|ring|phone|emergency|extension|ext\.?)(?: number)?(?: is|:)?) $",
    re.IGNORECASE,
)


def _code(found: re.Match[str]) -> str | None:
    return spelled(found[0]) if _CODE.search(ahead(found, _LOOK_BACK)) else None


CODE_DIGIT_RULES: Final = rules(
    (rf"[0-9]{{3,8}}{END}(?![.,:/-][0-9]| ?[%°$€£]| [a-z]++(?<=s)\b| people\b)", _code),
)


_LISTS: Final = lists("abbreviations")
INSIDE: Final[dict[str, str]] = _LISTS.table("inside")
EITHER: Final[dict[str, str]] = _LISTS.table("either")
NUMBERED: Final[dict[str, str]] = _LISTS.table("numbered")
POINTLESS: Final[dict[str, str]] = _LISTS.table("pointless")


def _may_be_short(name: str) -> bool:
    """False for an abbreviation that begins with a capital, written without: the other word is meant."""
    return name.capitalize() not in _LISTS.capital_only or name[0].isupper()


def _inside(found: re.Match[str]) -> str | None:
    return INSIDE[found[1].lower()] if _may_be_short(found[1]) and not before(found).isalnum() else None


def _either(found: re.Match[str]) -> str | None:
    name = found[1]
    if before(found).isalnum() or not _may_be_short(name) or found[0] in _LISTS.names:  # and the sentence ends
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

ABBREVIATION_RULES: Final = rules(
    (r"w/(o|out)?(?=[ ,])", lambda found: "without" if found[1] else "with"),
    (r"b/c(?=[ ,])", lambda found: "because"),
    (rf"N/A{END}", lambda found: "not applicable"),
    (r"P\. ?O\.(?= [A-Z])", lambda found: "PO"),
    (r"US(?=\$[0-9])", lambda found: ""),
    (rf"(?i:({either(NUMBERED)})\.(?= ?[0-9]))", _numbered),
    (rf"(?i:({either(INSIDE)})\.{END})", _inside),
    (r"(St)\.(?= [A-Z])", _either),
    (rf"(?i:({either(EITHER)}){_GOES_ON})", _either),
    (r"(vs|etc|approx|Mr|Mrs)(?![^\W_.]|\.[^\W_])", lambda found: POINTLESS[found[1]]),
    # Letters with points: the last one stays where it may end the sentence; J. Smith has no pause after the J.
    (r"(?:[A-Z]\.){2,8}(?=\s+[a-z0-9]|[,;:)?!'-])|(?:[A-Z]\.){1,8}[A-Z](?=\.(?:\s|$|[\"”]))", _initials),
    (r"[A-HJ-Z]\.(?=\s+[A-Z])", _initials),
)

_LAST_WORD: Final = re.compile(r"(?:^|[\s(\[\"'“‘*_])((?:[^\W\d_]+\.)*[^\W\d_]+)\.$")


def ends_sentence(text: str, following: str) -> bool:
    """True if the point at the end of a text ends a sentence, seen from the word with it and what follows it."""
    found = _LAST_WORD.search(text[-24:])
    if not found:
        return True
    name = found[1]
    low = name.lower()
    if low in INSIDE and _may_be_short(name):
        return False
    if low in NUMBERED:
        return name == "no" or not following.isdigit()
    if low in EITHER and following.isdigit():
        return False
    initials = name != "I" and all(len(part) == 1 and part.isupper() for part in name.split("."))
    return not (initials and following.isupper())
