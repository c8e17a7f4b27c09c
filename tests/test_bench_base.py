"""``scripts/bench base --drive``: a drive that ended by itself is no good result."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from edgeagent.errors import DriveError
from edgeagent.tools import GoalHandle

EVENTS = (
    {"kind": "keyword", "phrase": "freeze", "confirmed": None},
    {"kind": "transcript", "text": "turn left ninety degrees"},
    {"kind": "keyword", "phrase": "freeze", "confirmed": False},
    {"kind": "keyword", "phrase": "halt", "confirmed": None},
    {"kind": "transcript", "text": "turn around"},
    {"kind": "transcript", "text": "go on"},
)
"""The log of a conversation in which one stop word that was spotted was denied, and another one was not."""


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
    bench: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fails: str,
    good: bool,
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
        if "word" in fails:
            (cwd / "events").write_text("\n".join(map(json.dumps, EVENTS)), encoding="utf-8")
        close()
        return SimpleNamespace(returncode=0, stdout=printed)

    monkeypatch.setattr(flat.subprocess, "run", talk)
    assert flat.drive(0.0, 1) is good
    told = [line.strip() for line in capsys.readouterr().out.splitlines() if "spotted" in line]
    assert told == (["spotted and not denied: 'halt' in 'turn around'"] if "word" in fails else [])
