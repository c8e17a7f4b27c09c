"""A small app, its phrases, and what else lessons need."""

from typing import Literal

import pytest

from edgeagent import Agent, Tool, tool
from edgeagent.train import Reminder, read_replay, replay_path


@pytest.fixture(scope="session")
def tools() -> list[Tool]:
    @tool
    def scan_pallet(number: int) -> str:
        """Read the label of a pallet."""
        return f"pallet {number}: {number * 8} boxes"

    @tool
    def raise_fork(height_cm: float) -> str:
        """Raise the fork."""
        return f"fork at {height_cm:g} cm"

    @tool
    def set_speed(level: Literal["slow", "normal", "fast"]) -> str:
        return f"speed {level}"

    @tool
    def pick_order(code: str, gift: bool = False) -> str:
        return "picked"

    @tool
    def set_lamp(on: bool) -> str:
        return f"lamp {'on' if on else 'off'}"

    return [scan_pallet, raise_fork, set_speed, pick_order, set_lamp]


@pytest.fixture
def agent(tools: list[Tool]) -> Agent:
    return Agent("rover", "You are a rover. Act with the tools.", tools=tools)


PHRASES = """\
# what people say

scan the third pallet = scan_pallet(number=3)
scan pallet 12 = scan_pallet(number=12)
raise the fork to 80 centimeters = raise_fork(height_cm=80)
lift the fork half a meter = raise_fork(height_cm=50)
set the speed to fast = set_speed(level="fast")
pick order B17 = pick_order(code="B17")
turn the lamp on = set_lamp(on=true)
scan pallet two and switch the lamp off = scan_pallet(number=2); set_lamp(on=False)
who built you = none "Two friends."
"""


@pytest.fixture
def phrases_file(tmp_path):
    path = tmp_path / "phrases.txt"
    path.write_text(PHRASES, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def replay() -> list[Reminder]:
    return read_replay(replay_path())
