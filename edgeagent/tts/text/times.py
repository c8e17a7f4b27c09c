"""Times of day, and how long something takes, in words."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import re
from typing import Final

from edgeagent.tts.text.numbers import END, cardinal
from edgeagent.tts.text.rule import Rule

_POINTS: Final = r"\.[Mm]\.(?=[^\S\n]+[a-z]|[,;:)?!])|\.[Mm](?=\.)|[Mm]"
_HALF: Final = rf"(?: ?(?P<half>[AaPp])(?:{_POINTS}))"
"""am, PM, p.m.; the last point stays where it may end the sentence too."""
_FIRST_HALF: Final = r"(?: ?(?P<first_half>[AaPp])(?:\.[Mm]\.|[Mm]))?"
_MINUTES: Final = "(?::[0-5][0-9])?"
_HOUR: Final = "(?:1[0-2]|0?[1-9])"


def _clock(found: re.Match[str]) -> str | None:
    hours, minutes, seconds = int(found["hours"]), found["minutes"], found["seconds"] or "00"
    half = f" {found['half'].upper()}M" if found["half"] else ""
    if half and not 1 <= hours <= 12:
        half = ""
    count = int(seconds)
    words = f"{_hours(hours, minutes, bare=bool(half or count))}{half}"
    return f"{words} and {_counted(count, 'second')}" if count else words


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
    return _with_half(found["hours"], found["half"])


def _with_half(clock: str, half: str | None) -> str:
    hours, _, minutes = clock.replace(".", ":").partition(":")
    return f"{_hours(int(hours), minutes or '00', bare=True)}{f' {half.upper()}M' if half else ''}"


def _range(found: re.Match[str]) -> str:
    return f"{_with_half(found['since'], found['first_half'])} to {_with_half(found['until'], found['half'])}"


def _point(found: re.Match[str]) -> str:
    return _with_half(found["clock"], found["half"])


def _counted(count: int, word: str) -> str:
    return f"{cardinal(str(count))} {word}{'' if count == 1 else 's'}"


def _duration(found: re.Match[str]) -> str | None:
    parts = [(found[name], name[:-1]) for name in ("hours", "minutes", "seconds") if found[name]]
    if len(parts) < 2:
        return None
    return " ".join(_counted(int(count), word) for count, word in parts)


RULES: Final = (
    # 9-9:30, 8-10pm, 8 a.m. - 10 a.m., 8:30-9 pm
    Rule(
        re.compile(
            rf"(?P<since>{_HOUR}{_MINUTES}){_FIRST_HALF}(?:[-–—]| [-–—] )(?P<until>{_HOUR}{_MINUTES}){_HALF}{END}"
        ),
        _range,
    ),
    Rule(
        re.compile(
            rf"(?P<since>[01]?[0-9]|2[0-4]){_FIRST_HALF}(?P<half>)[-–—](?P<until>(?:[01]?[0-9]|2[0-4]):[0-5][0-9])(?!:){END}"
        ),
        _range,
    ),
    Rule(re.compile(rf"(?P<clock>{_HOUR}\.[0-5][0-9]){_HALF}{END}"), _point),
    Rule(
        re.compile(
            r"(?P<hours>[01]?[0-9]|2[0-4]):(?P<minutes>[0-5][0-9])(?::(?P<seconds>[0-5][0-9])(?:\.[0-9]{1,9})?)?"
            rf"(?:{_HALF}| ?h)?(?:Z|{END})(?!:[0-9]){END}"
        ),
        _clock,
    ),
    Rule(re.compile(rf"(?P<hours>{_HOUR}){_HALF}{END}"), _hour),
    # 1h 20m, 2m30s, 1 h 5 min 10 s
    Rule(
        re.compile(
            r"(?:(?P<hours>[0-9]{1,4}) ?h(?:rs?)? ?)?(?:(?P<minutes>[0-9]{1,4}) ?m(?:ins?)?)?"
            rf"(?: ?(?P<seconds>[0-9]{{1,4}}) ?s(?:ecs?)?)?{END}"
        ),
        _duration,
    ),
    Rule(
        re.compile(rf"(?P<hours>[0-9]{{1,2}})h(?P<minutes>[0-5][0-9])(?P<seconds>){END}"),
        _duration,
    ),
)
