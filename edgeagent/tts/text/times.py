"""Times of day in words."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.tts.text.numbers import END, cardinal
from edgeagent.tts.text.rule import Rule

_HALF: Final = r"(?: ?(?P<half>[AaPp])(?:\.[Mm]\.(?=[^\S\n]+[a-z]|[,;:)?!])|\.[Mm](?=\.)|[Mm]))"
"""am, PM, p.m.; the last point stays where it may end the sentence too."""


def _clock(found: re.Match[str]) -> str | None:
    hours, minutes, seconds = int(found["hours"]), found["minutes"], found["seconds"]
    half = f" {found['half'].upper()}M" if found["half"] else ""
    if half and not 1 <= hours <= 12:
        half = ""
    words = f"{_hours(hours, minutes, bare=bool(half or seconds))}{half}"
    if not seconds:
        return words
    count = int(seconds)
    return f"{words} and {cardinal(str(count))} second{'' if count == 1 else 's'}"


def _hours(hours: int, minutes: str, *, bare: bool) -> str:
    hour = cardinal(str(hours))
    if minutes == "00":
        if bare:
            return hour
        if not hours:
            return "midnight"
        return f"{hour} o'clock" if hours <= 12 else f"{hour} hundred"
    return f"{hour} oh {cardinal(minutes[1])}" if minutes[0] == "0" else f"{hour} {cardinal(minutes)}"


def _hour(found: re.Match[str]) -> str:
    return f"{cardinal(str(int(found['hours'])))} {found['half'].upper()}M"


RULES: Final = (
    Rule(
        re.compile(
            r"(?P<hours>[01]?[0-9]|2[0-4]):(?P<minutes>[0-5][0-9])(?::(?P<seconds>[0-5][0-9])(?:\.[0-9]{1,9})?)?"
            rf"(?:{_HALF})?(?:Z|{END})(?!:[0-9]){END}"
        ),
        _clock,
    ),
    Rule(re.compile(rf"(?P<hours>1[0-2]|0?[1-9]){_HALF}{END}"), _hour),
)
