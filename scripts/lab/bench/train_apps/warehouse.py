"""A rover in a warehouse, whose tools no generator of ours knows; for `scripts/bench train`."""

from typing import Literal

from edgeagent import Agent, skill, tool


@skill
def drive_to(aisle: int, shelf: Literal["a", "b", "c", "d"]) -> str:
    """Drive to a shelf of an aisle."""
    return f"arrived at aisle {aisle}, shelf {shelf}"


@tool
def scan_pallet(number: int) -> str:
    """Read the label of a pallet."""
    return f"pallet {number}: 24 boxes"


@skill
def raise_fork(height_cm: float) -> str:
    """Raise the fork to a height."""
    return f"fork at {height_cm:g} cm"


@tool
def set_speed(level: Literal["slow", "normal", "fast"]) -> str:
    """Choose the driving speed."""
    return f"speed {level}"


@skill
def pick_order(code: str) -> str:
    """Collect an order by its code."""
    return f"order {code} collected"


@tool(read_only=True)
def get_load() -> str:
    """Weight on the fork."""
    return "load 120 kg"


agent = Agent(
    "rover",
    "You are a rover in a warehouse. Act with the tools.",
    tools=[drive_to, scan_pallet, raise_fork, set_speed, pick_order, get_load],
)
