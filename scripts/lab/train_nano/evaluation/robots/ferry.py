"""A small car ferry: piers, ramps, the horn and words for the passengers."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool(motion=True)
def cross_to(pier: Literal["north", "south", "island"], knots: float = 6.0) -> str:
    """Sail across to a pier.

    Args:
        pier: Pier to make fast at.
        knots: Speed through the water.
    """
    return "Moored."


@tool(motion=True)
def move_ramp(end: Literal["bow", "stern"], lowered: bool) -> str:
    """Lower or raise a car ramp."""
    return "Ramp moved."


@tool
def sound_horn(blasts: int, seconds: float = 1.0) -> str:
    """Sound the horn.

    Args:
        blasts: Number of blasts.
        seconds: Length of each blast.
    """
    return "Sounded."


@tool
def call_vehicles(plates: list[str]) -> str:
    """Ask the drivers of vehicles to come to the car deck.

    Args:
        plates: Number plates, letter by letter.
    """
    return "Called."


def build(llm: LLM) -> Agent:
    """Build the agent of the ferry."""
    return Agent(
        "ferry",
        "You run a small car ferry. Carry out the captain's orders with your tools; otherwise talk.",
        llm=llm,
        tools=[cross_to, move_ramp, sound_horn, call_vehicles],
    )
