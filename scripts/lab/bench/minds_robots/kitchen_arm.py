"""A kitchen arm over a hob: numbers, two choices, and a default."""

from typing import Literal

from edgeagent import Agent, tool


@tool(motion=True)
def stir(pot: Literal["left", "right"], seconds: int) -> str:
    """Stir one of the two pots.

    Args:
        pot: Which pot.
        seconds: For how long.
    """
    return f"The {pot} pot was stirred."


@tool(motion=True)
def pour(ingredient: str, millilitres: float) -> str:
    """Pour a liquid into the mixing bowl."""
    return f"{ingredient} is in the bowl."


@tool(motion=True)
def chop(item: str, style: Literal["slices", "cubes", "strips"] = "slices") -> str:
    """Cut food on the board."""
    return f"The {item} is cut."


@tool
def hob_power(burner: int, level: int) -> str:
    """Set a burner of the hob.

    Args:
        burner: 1 to 4.
        level: 0 is off, 9 is full power.
    """
    return "The burner is set."


@tool(read_only=True)
def probe_sauce() -> str:
    """Measure the temperature of the sauce."""
    return "74 degrees Celsius"


@tool
def season(spice: str, pinches: int = 1) -> str:
    """Add a spice to the dish."""
    return f"{spice} was added."


agent = Agent(
    "kitchen_arm",
    "You are the robot arm of a small kitchen. Use the tools to help the cook; answer briefly.",
    tools=[stir, pour, chop, hob_power, probe_sauce, season],
)
