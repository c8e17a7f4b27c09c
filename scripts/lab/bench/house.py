"""``scripts/bench house``: the size of the package, and the files on a typed line's way to the motor.

Counts lines, files, names and constants by reading the package, and traces one chat turn on the simulated house robot.
The columns beside the figures are those of the issue that asks for a smaller house. Its suite's minutes are not
measured here: ``scripts/test`` prints them.
"""

from __future__ import annotations

import argparse
import ast
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import edgeagent
from edgeagent.app import App, build
from edgeagent.config import Config
from edgeagent.testing import ScriptedLLM, call

PACKAGE: Final = Path(edgeagent.__file__).parent
_SMALL: Final = 60
"""Lines from which on a file needs no reason to stand alone."""
_ADDED_BEFORE: Final = 64_051 - 47_834
"""Net lines that other issues added between the filing of this one and its first step; they count apart."""
_FRONTS: Final = ("__init__.py", "__main__.py")
_LINE: Final = "drive forward 0.5 meters"
_MOTOR: Final = "Drivetrain._move"
"""Function that moves the simulated base by one step; it is the end of the way."""
_LIMIT_S: Final = 60.0
"""Seconds that the shipped model has for the turn."""


class Step(NamedTuple):
    """One function on the way, where it is called for the first time."""

    thread: str
    file: str
    function: str


class Figure(NamedTuple):
    """One row of the table, in words: a figure may be two numbers."""

    what: str
    now: str
    at_the_start: str
    at_most: str


# --- what stands in the files ---------------------------------------------------------------------------------------


def modules(folder: Path) -> dict[Path, str]:
    """The text of every Python file of a folder."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}


def lines(texts: Iterable[str]) -> int:
    """All lines, blank ones included."""
    return sum(len(text.splitlines()) for text in texts)


def small(found: dict[Path, str]) -> tuple[int, int]:
    """Counts files under 60 lines: modules, and apart from them fronts, which are lists of names."""
    under = [path.name in _FRONTS for path, text in found.items() if lines([text]) < _SMALL]
    return under.count(False), under.count(True)


def twice(found: dict[Path, str]) -> list[str]:
    """Names of files, and of classes, that stand for more than one of them; fronts all have the same name."""
    files = Counter(path.name for path in found if path.name not in _FRONTS)
    classes = Counter(name for text in found.values() for name in _classes(text))
    return sorted(name for names in (files, classes) for name, count in names.items() if count > 1)


def _classes(text: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}


def constants(text: str) -> int:
    """Counts numbers with a name: ``Final`` or in capitals, of the module or of a class."""
    tree = ast.parse(text)
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    return sum(_is_constant(statement) for body in bodies for statement in body)


def _is_constant(statement: ast.stmt) -> bool:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.expr() as value):
            return ("Final" in ast.unparse(kind) or name.isupper()) and _is_number(value)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name.isupper() and _is_number(value)
    return False


def _is_number(value: ast.expr) -> bool:
    """True for a number, a row of numbers, and arithmetic with at least one number in it."""
    match value:
        case ast.Tuple(elts=[_, *_] as items):
            return all(map(_is_number, items))
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            named = (ast.Name, ast.Attribute, ast.Call)
            sides = [_is_number(left), _is_number(right)]
            return any(sides) and all(isinstance(side, named) or _is_number(side) for side in (left, right))
        case ast.Constant(value=number):
            return isinstance(number, int | float) and not isinstance(number, bool)
    return False


# --- a typed line's way to the motor --------------------------------------------------------------------------------


def way(*, scripted: bool) -> list[Step]:
    """Traces one turn, from ``Session.start`` to the first step of the motor, on every thread.

    Args:
        scripted: A script calls the tool, in place of the shipped model.

    Raises:
        RuntimeError: The motor was not reached.
    """
    app = build(Config())
    try:
        if scripted:
            app.agent.llm = ScriptedLLM([call("drive", distance_m=0.5)], "Done.")
        else:
            app.load()
        return _traced(app)
    finally:
        app.close()


def _traced(app: App) -> list[Step]:
    steps: dict[Step, None] = {}
    moved = threading.Event()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or moved.is_set() or not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        path = Path(frame.f_code.co_filename).relative_to(PACKAGE)
        steps[Step(threading.current_thread().name, str(path), frame.f_code.co_qualname)] = None
        if frame.f_code.co_qualname == _MOTOR:
            moved.set()

    with _Profile(note):
        run = app.session.start(_LINE)
        moved.wait(_LIMIT_S)
    app.session.abort()
    run.wait(_LIMIT_S)
    if not moved.is_set():
        raise RuntimeError(f"{_LINE!r} has not reached {_MOTOR}")
    return list(steps)


class _Profile:
    """Has a function called of every Python call, on this thread and on those that start meanwhile."""

    def __init__(self, note: Callable[[FrameType, str, Any], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        self._before = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        here, others = self._before
        sys.setprofile(here)
        threading.setprofile(others)


# --- the table ------------------------------------------------------------------------------------------------------


def figures(ways: dict[str, int]) -> list[Figure]:
    """The rows of the table.

    Args:
        ways: Number of files on the way, by who calls the tool.
    """
    package, english = modules(PACKAGE), modules(PACKAGE / "english")
    core = [*modules(PACKAGE / "agent").values(), *modules(PACKAGE / "voice").values()]
    under, fronts = small(package)
    return [
        Figure("package, lines", f"{lines(package.values()):,}", "47,834", "36,000"),
        Figure("  of these added by issues before this one", f"{_ADDED_BEFORE:,}", "", "4,000, apart"),
        Figure("package, files", f"{len(package)}", "347", "180"),
        Figure("agent and voice, lines", f"{lines(core):,}", "8,992", "5,500"),
        Figure("English, lines", f"{lines(english.values()):,}", "5,642", "3,400"),
        Figure("English, files", f"{len(english)}", "41", "12"),
        Figure("files under 60 lines, fronts apart", f"{under} and {fronts}", "73 and 17", "15"),
        Figure("names of files or classes used twice", f"{len(twice(package))}", "57", "0"),
        Figure("numeric constants", f"{sum(map(constants, package.values()))}", "718", "400"),
        *(Figure(f"files on a line's way to the motor, {who}", f"{count}", "70", "35") for who, count in ways.items()),
    ]


def printed(table: Sequence[Sequence[str]]) -> None:
    """Prints columns; numbers stand at the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        print("  ".join(cells).rstrip())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench house", description="Measure the size of the package.")
    parser.add_argument("--way", action="store_true", help="print every function on a typed line's way to the motor")
    parser.add_argument("--twice", action="store_true", help="print the names that are used twice")
    arguments = parser.parse_args()
    ways = {"shipped model": way(scripted=False), "scripted model": way(scripted=True)}
    counts = {who: len({step.file for step in steps}) for who, steps in ways.items()}
    printed([("measured", "now", "at the start", "at most"), *figures(counts)])
    if arguments.twice:
        print(*twice(modules(PACKAGE)), sep="\n")
    if arguments.way:
        for step in ways["shipped model"]:
            print(f"{step.thread:<24} {step.file:<28} {step.function}")


if __name__ == "__main__":
    main()
