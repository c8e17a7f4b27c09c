"""The cases of ``scripts/bench minds``: ten robots with six tools each, and what people say to them.

A robot is an app file beside a table of cases in ``minds_robots``; four lines of ``minds_talk.txt``, which are about
none of them, are said to each. Half of the cases are kept apart: that half is never looked at while anything is tuned.
Knows no model.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

ROBOTS: Final = Path(__file__).with_name("minds_robots")

_TALK: Final = Path(__file__).with_name("minds_talk.txt")
_TALKS: Final = 4
"""Lines of talk that are said to a robot."""

Kind = Literal["single", "several", "quiet", "report", "talk"]
"""``quiet`` mentions what the robot could do, ``talk`` does not; neither asks for anything."""
Call = tuple[str, dict[str, Any]]
"""Name and arguments."""

_ARTICLE: Final = re.compile(r"^(the|a|an|my|your) ")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A sentence and what is right."""

    robot: str
    number: int
    """From 1, in the robot's table."""
    said: str
    kind: Kind
    right: tuple[tuple[Call, ...], ...]
    """The lists of calls that are right; one empty list where nothing should be called."""
    says: tuple[str, ...] = ()
    """The ways to say the result's number."""
    apart: bool = False
    """True if it belongs to the half that is kept apart."""

    @property
    def name(self) -> str:
        """A name that no other case has."""
        return f"{self.robot}-{self.number}"

    def exact(self, calls: Sequence[Call], schemas: dict[str, dict[str, Any]]) -> bool:
        """True if these calls, in this order, are right.

        Args:
            calls: What was called, after coercion.
            schemas: The JSON Schema of each tool's arguments: an argument that has its default may be left out.
        """
        made = [(name, _filled(arguments, schemas.get(name, {}))) for name, arguments in calls]
        return any(
            made == [(name, _filled(arguments, schemas.get(name, {}))) for name, arguments in right]
            for right in self.right
        )

    def names(self, calls: Sequence[Call]) -> bool:
        """True if the right tools were called, in this order, whatever their arguments."""
        return any([name for name, _ in calls] == [name for name, _ in right] for right in self.right)

    def truthful(self, reply: str) -> bool:
        """True if a reply tells the result's number, and no number that nobody gave."""
        told = reply.lower()
        given = set(_NUMBER.findall(" ".join((self.said, *self.says))))
        return any(way in told for way in self.says) and set(_NUMBER.findall(told)) <= given


@cache
def cases() -> tuple[Case, ...]:
    """All cases, robot by robot: a model evaluates each robot's tools once."""
    tables, talk = sorted(ROBOTS.glob("*.toml")), _TALK.read_text(encoding="utf-8").splitlines()
    said = (talk[at : at + _TALKS] for at in range(0, len(talk), _TALKS))
    return tuple(
        case for table, lines in zip(tables, said, strict=True) for case in (*_read(table), *_talk(table, lines))
    )


def robots() -> tuple[str, ...]:
    """Names of the robots."""
    return tuple(sorted({case.robot for case in cases()}))


def app_file(robot: str) -> Path:
    """The app file of a robot, as ``edgeagent chat --app`` takes it."""
    return ROBOTS / f"{robot}.py"


def _read(table: Path) -> Iterator[Case]:
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["case"]
    for number, row in enumerate(rows, start=1):
        lists = [row.get("calls", []), *row.get("also", [])]
        yield Case(
            robot=table.stem,
            number=number,
            said=row["said"],
            kind=row["kind"],
            right=tuple(tuple((call["name"], call.get("arguments", {})) for call in calls) for calls in lists),
            says=tuple(row.get("says", ())),
            apart=row.get("apart", False),
        )


def _talk(table: Path, lines: Sequence[str]) -> Iterator[Case]:
    """What is only said to a robot, numbered from 101; every second line is kept apart."""
    for number, said in enumerate(lines):
        yield Case(robot=table.stem, number=101 + number, said=said, kind="talk", right=((),), apart=bool(number % 2))


def _filled(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments with their defaults, and texts as they compare: no capitals, no article."""
    properties = schema.get("properties", {})
    defaults = {key: value["default"] for key, value in properties.items() if "default" in value}
    return {key: _plain(value) for key, value in {**defaults, **arguments}.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _ARTICLE.sub("", value.strip().lower())
    return [_plain(item) for item in value] if isinstance(value, list) else value
