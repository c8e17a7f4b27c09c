"""App files of tools whose bodies would be noticed."""

from collections.abc import Callable
from pathlib import Path

import pytest

HEAD = """
from enum import Enum
from typing import Literal
from edgeagent import *
from edgeagent.check import RESULT
from edgeagent.hooks import *
from edgeagent.testing import ScriptedLLM, call
from pathlib import Path

RAN = Path(__file__).with_suffix(".ran")

def ran(what):
    with RAN.open("a") as file:
        file.write(what + "\\n")

@tool
def wave(times: int = 1, hand: Literal["left", "right"] = "right") -> str:
    "Wave a hand."
    ran("wave")
    return "waved"

@skill(stop=lambda: ran("stop of walk"))
def walk(steps: int, goal: GoalHandle) -> str:
    "Walk."
    ran("walk")
    return "walked"
"""


class AppFile:
    """A file of a builder's robot."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def bodies(self) -> list[str]:
        """What has run of the tools."""
        ran = self.path.with_suffix(".ran")
        return ran.read_text(encoding="utf-8").splitlines() if ran.exists() else []


@pytest.fixture
def robot(tmp_path: Path) -> Callable[[str], AppFile]:
    """Writes an app file with the tools wave and walk, and what it is given."""

    def write(text: str) -> AppFile:
        path = tmp_path / "robot.py"
        path.write_text(HEAD + text, encoding="utf-8")
        return AppFile(path)

    return write
