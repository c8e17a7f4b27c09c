"""Files of robots with their tools, and what people say to each tool: read and checked.

One thing a line: ``robot NAME``; ``tool NAME: SENTENCE``; ``PARAMETER: TYPE``, then ``?`` or ``= DEFAULT``, then
``| DESCRIPTION``; ``- PHRASE [PARAMETER=VALUE]`` is one call; ``? PHRASE => PARAMETER`` lacks what is needed; ``x PHRASE``
is served by no tool of the robot; ``~ PHRASE`` asks for nothing. ``{x}`` in a phrase is a value as it is said, ``{x#}`` a
figure without its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from grammar import GrammarError, read_all

TEXTS: Final = ("code", "person", "title", "thing")
_NAME: Final = re.compile(r"[a-z]\w*")
_PARAMETER: Final = re.compile(
    r"(?P<name>\w+): (?P<type>.+?)(?: (?P<optional>\?)| = (?P<default>.+?))?(?: \| (?P<told>.+))?"
)
_TEXT: Final = re.compile(rf"({'|'.join(TEXTS)})( list)?(?:\((.*)\))?( list)?")
_FIGURE: Final = re.compile(r"(int|number)(?: (-?[\d.]+)-(-?[\d.]+))?( list)?")
_USUAL: Final = ("1", "40")
"""Bounds of figures that have none in the file."""
_CHOICES: Final = re.compile(r"(\w+(?:\|\w+)+)( list)?")
_SLOT: Final = re.compile(r"\{(\w+)(#?)\}")
_FIXED: Final = re.compile(r"\s*\[([^\]]*)\]$")


@dataclass(frozen=True, slots=True)
class FleetParameter:
    """A parameter as its line has it.

    Attributes:
        kind: One of ``TEXTS``, "int", "number", "bool" or "choice".
        words: Examples of a text, or the choices.
        low, high: Bounds of a figure.
    """

    name: str
    kind: str
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    is_list: bool = False
    is_optional: bool = False
    default: Any = None
    described: str = ""


@dataclass(frozen=True, slots=True)
class FleetPhrase:
    """What is said: words with slots, and values that stand in other words."""

    text: str
    fixed: dict[str, Any] = field(default_factory=dict)
    missing: str = ""

    @property
    def slots(self) -> tuple[tuple[str, bool], ...]:
        """Names of parameters, and if the figure stands without its unit."""
        return tuple((name, bool(bare)) for name, bare in _SLOT.findall(self.text))

    @property
    def names(self) -> set[str]:
        """Parameters that it gives."""
        return {name for name, _ in self.slots} | set(self.fixed)

    def filled(self, said: dict[tuple[str, bool], str]) -> str:
        """The words with the values as they are said."""
        return _SLOT.sub(lambda slot: said[slot[1], bool(slot[2])], self.text)


@dataclass(frozen=True, slots=True)
class FleetTool:
    """A tool with what is said to it."""

    name: str
    description: str
    parameters: list[FleetParameter] = field(default_factory=list)
    phrases: list[FleetPhrase] = field(default_factory=list)
    unfinished: list[FleetPhrase] = field(default_factory=list)

    @property
    def needed(self) -> set[str]:
        """Parameters that a call can't do without."""
        return {one.name for one in self.parameters if not one.is_optional}

    @property
    def is_asked_for_plainly(self) -> bool:
        """True if a phrase gives what is needed and no more, so that there is one when the rest is left out."""
        return any(phrase.names == self.needed for phrase in self.phrases)


@dataclass(frozen=True, slots=True)
class FleetRobot:
    """A robot: its tools, orders that none of them serves, and talk."""

    name: str
    tools: list[FleetTool] = field(default_factory=list)
    unserved: list[str] = field(default_factory=list)
    talk: list[str] = field(default_factory=list)


def load(paths: list[Path]) -> tuple[FleetRobot, ...]:
    """Reads all files.

    Raises:
        GrammarError: a line cannot be read; all of them are named.
    """
    return read_all(paths, _read)


def _read(path: Path, errors: list[str]) -> Iterator[FleetRobot]:
    robots: list[FleetRobot] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            _take(text, robots)
        except (ValueError, IndexError) as error:
            errors.append(f"{path.name}:{number}: {error}: {text}")
    errors += [f"{path.name}: {one.name} has no tool" for one in robots if not one.tools]
    errors += [
        f"{path.name}: {robot.name}: no phrase gives {tool.name} what is needed alone"
        for robot in robots
        for tool in robot.tools
        if not tool.is_asked_for_plainly
    ]
    return iter(robots)


def _take(text: str, robots: list[FleetRobot]) -> None:
    if text.startswith("robot "):
        robots.append(FleetRobot(text.removeprefix("robot ").strip()))
        return
    robot = robots[-1]
    if text.startswith("tool "):
        name, _, told = text.removeprefix("tool ").partition(":")
        if not _NAME.fullmatch(name.strip()) or any(name.strip() == one.name for one in robot.tools):
            raise GrammarError("a tool has a name of its own, and a description")
        robot.tools.append(FleetTool(name.strip(), told.strip()))
    elif text.startswith("x "):
        robot.unserved.append(text[2:].strip())
    elif text.startswith("~ "):
        robot.talk.append(text[2:].strip())
    elif text.startswith(("- ", "? ")):
        _take_phrase(text, robot.tools[-1])
    else:
        robot.tools[-1].parameters.append(_parameter(text))


def _parameter(text: str) -> FleetParameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        raise GrammarError("a parameter is NAME: TYPE")
    name, kind, told = match["name"], match["type"].strip(), match["told"] or ""
    common: dict[str, Any] = {"is_optional": bool(match["optional"] or match["default"]), "described": told}
    if kind == "bool":
        one = FleetParameter(name, "bool", **common)
    elif found := _TEXT.fullmatch(kind):
        words = tuple(filter(None, (word.strip() for word in (found[3] or "").split(";"))))
        one = FleetParameter(name, found[1], words, is_list=bool(found[2] or found[4]), **common)
    elif found := _FIGURE.fullmatch(kind):
        low, high = (float(one or usual) for one, usual in zip(found.groups()[1:3], _USUAL, strict=True))
        one = FleetParameter(name, found[1], (), low, high, is_list=bool(found[4]), **common)
    elif found := _CHOICES.fullmatch(kind):
        one = FleetParameter(name, "choice", tuple(found[1].split("|")), is_list=bool(found[2]), **common)
    else:
        raise GrammarError(f"no type {kind!r}")
    if match["default"] is None:
        return one
    return FleetParameter(*(value_of(one, match["default"]) if part == "default" else getattr(one, part) for part in one.__slots__))  # fmt: skip


def value_of(parameter: FleetParameter, text: str) -> Any:
    """A value as it stands in a file.

    Raises:
        GrammarError: the parameter does not take it.
    """
    text = text.strip()
    if parameter.is_list:
        items = FleetParameter(parameter.name, parameter.kind, parameter.words, parameter.low, parameter.high)
        return [value_of(items, one) for one in text.strip("()").split(";")]
    if parameter.kind == "bool":
        if text.lower() not in ("true", "false"):
            raise GrammarError(f"{parameter.name} is true or false")
        return text.lower() == "true"
    if parameter.kind == "choice":
        if text not in parameter.words:
            raise GrammarError(f"{parameter.name} has no choice {text!r}")
        return text
    if parameter.kind in ("int", "number"):
        value = float(text)
        return int(value) if value == int(value) else value
    return text


def _take_phrase(text: str, tool: FleetTool) -> None:
    body, missing = text[2:].strip(), ""
    if text.startswith("? "):
        body, _, missing = (part.strip() for part in body.rpartition("=>"))
        missing = missing.partition(",")[0].strip()
    fixed: dict[str, Any] = {}
    known = {one.name: one for one in tool.parameters}
    if found := _FIXED.search(body):
        body = body[: found.start()].strip()
        for pair in found[1].split(","):
            name, _, value = (part.strip() for part in pair.partition("="))
            fixed[name] = value_of(known[name], value) if name in known else value
    phrase = FleetPhrase(body, fixed, missing)
    if unknown := phrase.names - set(known):
        raise GrammarError(f"no parameter {sorted(unknown)}")
    if re.search(r"[\[\]{}]", _SLOT.sub("", body)):
        raise GrammarError("a bracket that is neither a slot nor at the end")
    if missing:
        if missing not in tool.needed or missing in phrase.names:
            raise GrammarError(f"{missing!r} is not needed, or not missing")
        tool.unfinished.append(phrase)
        return
    if lacking := tool.needed - phrase.names:
        raise GrammarError(f"without {sorted(lacking)}")
    if any(known[name].kind == "bool" for name, _ in phrase.slots):
        raise GrammarError("a boolean is given in brackets")
    tool.phrases.append(phrase)
