"""Numbers that are read sign by sign: addresses of networks, codes and postcodes, numbers to dial."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.tts.text.numbers import END, cardinal, spelled
from edgeagent.tts.text.rule import Rule, before

_LOOK_BACK: Final = 24
_CODE: Final = re.compile(
    r"\b(?:pin|passcode|password|postcode|zip|zip code|(?:access|door|entry|gate|lock|security|the|your|my) code)"
    r"(?: is| to|:)? $",
    re.IGNORECASE,
)
_DIAL: Final = re.compile(
    r"\b(?:call|dial|ring|phone|emergency|extension|ext\.?)(?: number)?(?: is|:)? $", re.IGNORECASE
)
_STATE: Final = re.compile(r"(?:, |\b[A-Z][a-z]+ )[A-Z]{2} $")


def _ahead(found: re.Match[str]) -> str:
    return found.string[max(0, found.start() - _LOOK_BACK) : found.start()]


def _signs(text: str) -> str:
    return " ".join(spelled(char) if char.isdigit() else char.upper() for char in text)


def _hardware(found: re.Match[str]) -> str | None:
    """00:1A:2B:3C:4D:5E"""
    return None if before(found).isalnum() else ", ".join(_signs(pair) for pair in re.split("[:-]", found[0]))


def _network(found: re.Match[str]) -> str | None:
    """An IPv6 address: two colons in a row, or eight groups."""
    text = found[0]
    groups = [group for group in text.split(":") if group]
    short = "::" in text and (text[0] == ":" or len(groups) > 2 or any(map(str.isalpha, text)))
    if before(found).isalnum() or not (short or len(groups) == 8):
        return None
    return " ".join("colon" if part == ":" else _signs(part) for part in re.findall(r":|[0-9A-Fa-f]+", text))


def _address(found: re.Match[str]) -> str:
    """10.0.0.1/24, 127.0.0.1:8080"""
    words = " dot ".join(map(spelled, found["address"].split(".")))
    if found["mask"]:
        return f"{words} slash {cardinal(found['mask'])}"
    return f"{words} colon {spelled(found['port'])}"


def _code(found: re.Match[str]) -> str | None:
    ahead, digits = _ahead(found), found[0]
    code = len(digits) >= 3 and _CODE.search(ahead)
    dial = len(digits) >= 3 and _DIAL.search(ahead)
    state = len(digits) == 5 and _STATE.search(ahead)
    return spelled(digits) if code or dial or state else None


_IPV6: Final = r"(?<![:\w])(?=[0-9A-Fa-f:]{0,39}[0-9])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![:\w])"
_MAC: Final = Rule(re.compile(rf"(?:[0-9A-Fa-f]{{2}}[:-]){{5}}[0-9A-Fa-f]{{2}}{END}"), _hardware)
_NETWORK: Final = Rule(re.compile(_IPV6), _network)
DIGIT_RULES: Final = (
    _MAC,
    _NETWORK,
    Rule(
        re.compile(
            rf"(?P<address>[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}})(?:/(?P<mask>[0-9]{{1,2}})|:(?P<port>[0-9]{{1,5}})){END}"
        ),
        _address,
    ),
    Rule(re.compile(rf"[0-9]{{3,8}}{END}(?![.,:/-][0-9]| ?[%°$€£]| [a-z]++(?<=s)\b| people\b)"), _code),
)
WORD_RULES: Final = (_MAC, _NETWORK)
SIGN_RULES: Final = (_NETWORK,)
