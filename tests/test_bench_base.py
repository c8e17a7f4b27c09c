"""``scripts/bench base --drive``: a drive that ended by itself is no good result."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from edgeagent.errors import DriveError
from edgeagent.tools import GoalHandle

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize(
    ("fails", "good"),
    [
        ("its sensor", False),
        ("its motor", False),
        ("a wall", True),
        ("a stop word that nobody said", False),
    ],
)
def test_what_stops_a_drive_without_a_command_is_a_fault_and_a_wall_is_none(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, fails: str, good: bool
) -> None:
    flat = bench("base_flat")
    sensor = {"its sensor": -1.0, "its motor": 2.0}.get(fails, 0.2)
    printed = "you: turn around\n■ stopped (stop word); it moves again after “continue”\n" if "word" in fails else ""
    monkeypatch.setattr(flat.CountedDriver, "ahead_m", lambda driver: sensor)
    monkeypatch.setattr(flat, "_write_lines", lambda *_: 1)

    def talk(*_: object, cwd: Path, **__: Any) -> SimpleNamespace:
        """A conversation with one drive in it."""
        agent, close = flat.rover(cwd)
        if fails == "its motor":
            monkeypatch.setattr(flat.CountedDriver, "start", Mock(side_effect=DriveError("the cable is out")))
        agent.tools.get("drive").function(distance_m=1.0, goal=GoalHandle())
        close()
        return SimpleNamespace(returncode=0, stdout=printed)

    monkeypatch.setattr(flat.subprocess, "run", talk)
    assert flat.drive(0.0, 1) is good
