"""A gondola that cleans windows of a tower."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool(motion=True)
def clean_panes(
    floor: int, panes: list[str], soap: bool, passes: int = 1, pressure: Literal["low", "medium", "high"] = "medium"
) -> str:
    """Clean windows of one floor.

    Args:
        floor: Number of the floor.
        panes: Codes of the panes, such as N3.
        soap: With soap.
        passes: How often each pane is wiped.
        pressure: Of the water jet.
    """
    return "Cleaned."


@tool(motion=True)
def hoist(metres: float) -> str:
    """Raise the gondola; negative lowers.

    Args:
        metres: Metres up.
    """
    return "Hoisted."


@tool(motion=True)
def park_gondola() -> str:
    """Bring the gondola to the roof and lock it."""
    return "Parked."


@tool(read_only=True)
def wind_speed() -> str:
    """Wind at the gondola, in metres a second."""
    return "4.1 metres a second"


def build(llm: LLM) -> Agent:
    """Build the agent of the facade cleaner."""
    return Agent(
        "facade_cleaner",
        "You clean the windows of a tower from a gondola. Follow the foreman's orders with your tools.",
        llm=llm,
        tools=[clean_panes, hoist, park_gondola, wind_speed],
    )
