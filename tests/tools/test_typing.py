"""A decorated function keeps its signature for type checkers."""

import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

RIGHT = """
from edgeagent import Agent, GoalHandle, Tool, skill, tool

@tool
def drive(distance_m: float, *, fast: bool = False) -> str:
    return "drove"

@tool(read_only=True, phrases=["look"])
def look(at: str) -> list[int]:
    return [1]

@skill(resources=("base",))
def turn(angle_deg: float, goal: GoalHandle) -> None: ...

class Arm:
    @tool
    def grip(self, force_n: float) -> int:
        return 1

class Base:
    def halt(self) -> None: ...

    @skill(stop=halt)
    def back_up(self, distance_m: float) -> str:
        return "backed up"

one: str = drive(2.0, fast=True)
two: list[int] = look(at="door")
three: int = Arm().grip(2.0)
turn(90.0, GoalHandle())
drive.traits.motion
some: list[Tool] = [drive, look, turn, Arm().grip]
Agent("a", tools=some)
"""
WRONG = {
    'drive("far")': "arg-type",
    "drive(2.0, quickly=True)": "call-arg",
    "drive()": "call-arg",
    "look(at=3)": "arg-type",
    "number: int = look(at='door')": "assignment",
    "turn(90.0)": "call-arg",
    "Arm().grip('hard')": "arg-type",
    "text: str = Arm().grip(2.0)": "assignment",
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> dict[str, str]:
    """What mypy --strict says, by the line of the program. What it knows of the package is kept for the next run."""
    kept = Path(platformdirs.user_cache_dir("edgeagent-tests")) / "mypy"
    folder = tmp_path_factory.mktemp("typing")
    lines = [*RIGHT.splitlines(), *WRONG]
    (folder / "robot.py").write_text("\n".join(lines) + "\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", f"--cache-dir={kept}"]
    done = subprocess.run(
        [*mypy, "robot.py"], cwd=folder, env={"MYPYPATH": str(checkout)}, capture_output=True, text=True, timeout=600
    )
    assert done.stderr == ""
    found = [
        line.split(":", 2) for line in done.stdout.splitlines() if line.startswith("robot.py") and ": error:" in line
    ]
    return {lines[int(number) - 1]: told for _, number, told in found}


@pytest.mark.timeout(600)
def test_right_calls_are_right_and_wrong_ones_are_found(complaints: dict[str, str]) -> None:
    assert {line: told.rpartition("[")[2].rstrip("]") for line, told in complaints.items()} == WRONG
