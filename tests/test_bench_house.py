"""``scripts/bench house``: it counts lines, names and constants, and traces a typed line to the motor."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_architecture import FILE, named


@pytest.fixture
def house(bench: Callable[[str], ModuleType]) -> ModuleType:
    return bench("house")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("LIMIT_S: Final = 0.5", 1),
        ("_FIRST: Final[int] = -1", 1),
        ("SIZE = 1 << 20", 1),
        ("DOUBLE: Final = 2 * SIZE", 1),
        ("BAND_HZ: Final = (300, 3400)", 1),
        ("class Field:\n    WIDTH: int = 3", 1),
        ("NAME: Final = 'robi'", 0),
        ("ON: Final = True", 0),
        ("KINDS: Final = FIRST | SECOND", 0),
        ("class Options:\n    max_turns: int = 15", 0),
        ("def f():\n    LOCAL = 3", 0),
    ],
)
def test_a_number_with_a_name_is_a_constant(house: ModuleType, text: str, count: int) -> None:
    assert house.constants(text) == count


def test_a_name_that_two_files_use_is_found_and_a_front_is_no_such_name(house: ModuleType) -> None:
    found = {
        Path("agent/__init__.py"): "class Run: ...",
        Path("agent/run.py"): "class Part: ...\nclass Limit: ...",
        Path("voice/__init__.py"): "",
        Path("voice/run.py"): "class Line:\n    class Part: ...",
    }
    assert house.twice(found) == ["Part", "run.py"]


def test_a_small_file_is_counted_and_a_front_apart(house: ModuleType) -> None:
    found = {Path("a.py"): "x\n" * 59, Path("b.py"): "x\n" * 60, Path("c/__init__.py"): "", Path("__main__.py"): ""}
    assert house.small(found) == (1, 2)


def test_the_way_of_a_typed_line_begins_at_the_session_and_ends_at_the_motor(house: ModuleType) -> None:
    steps = house.way(scripted=True)
    assert (steps[0].file, steps[0].function) == ("session/session.py", "Session.start")
    assert steps[-1].function == "Drivetrain._move"
    assert {"MainThread", "agent-robi", "tool-drive"} <= {step.thread for step in steps}
    assert {"agent/loop.py", "tools/execution.py", "robot/commands.py"} <= {step.file for step in steps}
    assert len(set(steps)) == len(steps)


def test_the_first_walk_of_the_page_on_architecture_is_the_way(house: ModuleType, checkout: Path) -> None:
    page = (checkout / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = page.partition("### A typed line to the motor")[2].partition("\n### ")[0].partition("\n2. ")[2]
    steps = {(step.file, step.function) for step in house.way(scripted=False)}
    told = [(file, names) for file, names in FILE.findall(walk) if not file.startswith("tests/")]
    assert len(told) > 20
    for file, names in told:
        assert file in {ran for ran, _ in steps}, file
        for name in named(names):
            assert {(file, name), (file, f"{name}.__init__")} & steps, f"{file}: {name}"


def test_no_thread_is_traced_any_more_when_the_way_is_known(house: ModuleType) -> None:
    before = sys.getprofile(), threading.getprofile()
    house.way(scripted=True)
    assert (sys.getprofile(), threading.getprofile()) == before


def test_the_table_has_a_row_for_every_bound(
    house: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    way = [house.Step("MainThread", "session/session.py", "Session.start")]
    monkeypatch.setattr(house, "way", lambda *, scripted: way)
    monkeypatch.setattr(sys, "argv", ["bench", "--way"])
    house.main()
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split("  ")[0] == "measured"
    assert [row.split("  ")[0] for row in rows if not row.startswith(" ")] == [
        "package, lines",
        "package, files",
        "agent and voice, lines",
        "English, lines",
        "English, files",
        "files under 60 lines, fronts apart",
        "names of files or classes used twice",
        "numeric constants",
        "files on a line's way to the motor, shipped model",
        "files on a line's way to the motor, scripted model",
        "MainThread",
    ]
