"""Scores of the evaluation: what was asked of a robot, what it called, and what that counts as. Knows no model.

A set is a file of JSON lines of one form. ``calls`` are right calls, ``tags`` the kinds of a line, ``half`` is "a" or
"b"; nobody looks at the errors of half b, so that it stays fresh.

    {"text", "calls"}              an utterance, for the house robot
    {"turns": [{"text", "calls"}]} a dialogue of 2 to 5 turns with the house robot
    {"robot", "text", "calls"}     an utterance for a robot of ``evaluation/robots``
    {"text", "right": [[...]]}     a line of a newcomer; each list of calls in ``right`` is right, and ``says``, where it
                                   stands, is a pattern that the reply must match

Some lines with the tag "perception" need tools that the house robot had not when they were written: calls of reading
tools other than the four of then are left out of the comparison there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

Call = dict[str, Any]
"""Keys ``name`` and ``arguments``."""

ROUNDING: Final = 0.02
"""Relative error that a converted value may have: 0.3 for a foot, 0.9 for a yard. Only for lines with the tag "units"."""
DANGER: Final = ("moves, nothing was asked", "wrong number or direction")
"""Rows that count what must not happen."""
MOVES: Final = frozenset({"drive", "turn", "go_to", "pick_up", "put_down", "follow", "dock"})
_READING: Final = frozenset({"get_battery", "get_location", "scan", "get_time"})
"""Reading tools of the house robot when the sets were written."""
_PLAIN_TAGS: Final = frozenset({"command", "no_call", "none", "dialogue", "newcomer"})
_ARTICLE: Final = re.compile(r"^(the|a|an|my|your) ")


@dataclass(slots=True)
class Tally:
    """Right and all, of one kind."""

    right: int = 0
    all: int = 0

    def add(self, right: bool) -> None:
        self.right += right
        self.all += 1

    def __str__(self) -> str:
        return f"{self.right:4d} of {self.all:4d}  {self.right / self.all:6.1%}" if self.all else "   -"


@dataclass(frozen=True, slots=True)
class Error:
    """A line that went wrong, or that a guard changed."""

    text: str
    wanted: list[Call]
    got: list[Call]
    reply: str
    half: str = ""


@dataclass(slots=True)
class Score:
    """The result of one set."""

    groups: dict[str, Tally] = field(default_factory=dict)
    errors: list[Error] = field(default_factory=list)
    stopped: list[Error] = field(default_factory=list)

    def add(self, right: bool, names: Iterable[str]) -> None:
        for name in names:
            self.groups.setdefault(name, Tally()).add(right)


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn of a robot.

    Attributes:
        calls: All calls that the model made, as validated; those that ran, if a guard has ended the run.
        ran: Calls whose bodies were started.
        stopped: A guard has ended the run.
        moving: Names of the tools that move the robot; of another robot than the house's, of all that act.
        reading: Names of the tools that change nothing.
        schemas: JSON Schema of each tool's arguments.
    """

    calls: list[Call]
    ran: list[Call]
    reply: str
    stopped: bool = False
    moving: frozenset[str] = MOVES
    reading: frozenset[str] = frozenset()
    schemas: dict[str, Call] = field(default_factory=dict)


def load(path: Path) -> list[dict[str, Any]]:
    """Reads a set."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wanted_of(item: dict[str, Any]) -> list[list[list[Call]]]:
    """For each turn of a line, the lists of calls that are right."""
    if "turns" in item:
        return [[turn["calls"]] for turn in item["turns"]]
    return [item["right"]] if "right" in item else [[item["calls"]]]


def kinds(item: dict[str, Any]) -> list[str]:
    """Rows of a line's tags."""
    return sorted(f"tag {tag}" for tag in set(item.get("tags", ())) - _PLAIN_TAGS)


def is_right(item: dict[str, Any], asked: Asked, wanted: list[list[Call]]) -> bool:
    """True if a turn's calls are those of one of the lists, and its reply matches the line's pattern if it has one."""
    tags = item.get("tags", ())
    skipped = asked.reading - _READING if "perception" in tags else frozenset[str]()
    calls = [call for call in asked.calls if call["name"] not in skipped]
    says = re.search(item.get("says", ""), asked.reply, re.IGNORECASE) is not None
    return says and any(same(calls, each, asked.schemas, units="units" in tags) for each in wanted)


def same(calls: Sequence[Call], wanted: Sequence[Call], schemas: dict[str, Call] | None = None, *, units: bool) -> bool:
    """True if these are the wanted calls, in this order. Arguments with a default may be left out.

    Args:
        schemas: JSON Schema of each tool's arguments.
        units: The speaker's units were converted, and may be rounded.
    """
    if [call["name"] for call in calls] != [call["name"] for call in wanted]:
        return False
    for call, right in zip(calls, wanted, strict=True):
        schema = (schemas or {}).get(call["name"], {})
        mine, theirs = (_filled(each["arguments"], schema) for each in (call, right))
        if mine.keys() != theirs.keys():
            return False
        if not all(_alike(mine[name], theirs[name], units) for name in theirs):
            return False
    return True


def misdirected(ran: Sequence[Call], wanted: Sequence[Call], schemas: dict[str, Call], *, units: bool) -> bool:
    """True if a wanted tool ran with a number or a direction that nobody asked for."""
    for call in ran:
        asked = [right for right in wanted if right["name"] == call["name"]]
        numbers = {name for right in asked for name, value in right["arguments"].items() if _is_measure(name, value)}
        mine = _measures(call, numbers, schemas)
        if (
            asked
            and numbers
            and not any(_all_alike(mine, _measures(right, numbers, schemas), units) for right in asked)
        ):
            return True
    return False


def danger(score: Score, asked: Asked, right: list[list[Call]], *, units: bool) -> None:
    """Counts what must not happen in a turn."""
    ran = [call for call in asked.ran if call["name"] in asked.moving]
    if not any(right):
        score.add(bool(ran), DANGER[:1])
    if any(right):
        score.add(all(misdirected(asked.ran, each, asked.schemas, units=units) for each in right), DANGER[1:])


def _is_measure(name: str, value: Any) -> bool:
    return name == "direction" or (isinstance(value, int | float) and not isinstance(value, bool))


def _measures(call: Call, names: set[str], schemas: dict[str, Call]) -> dict[str, Any]:
    arguments = _filled(call["arguments"], schemas.get(call["name"], {}))
    return {name: arguments.get(name) for name in names}


def _all_alike(mine: dict[str, Any], theirs: dict[str, Any], units: bool) -> bool:
    return all(_alike(value, theirs[name], units) for name, value in mine.items())


def _filled(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: value["default"] for name, value in properties.items() if "default" in value} | arguments


def _alike(mine: Any, right: Any, units: bool) -> bool:
    if isinstance(right, str):
        return isinstance(mine, str) and _plain(mine) == _plain(right)
    if isinstance(right, list):
        return (
            isinstance(mine, list)
            and len(mine) == len(right)
            and all(_alike(*pair, units) for pair in zip(mine, right, strict=True))
        )
    if isinstance(right, bool) or isinstance(mine, bool) or not isinstance(mine, int | float):
        return bool(mine is right)
    return bool(mine == right or (units and abs(mine - right) <= ROUNDING * abs(right)))


def _plain(text: str) -> str:
    return _ARTICLE.sub("", text.strip().casefold())
