"""A sorter of parcels: tracking codes, chutes, labels with five lines."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool(motion=True)
def route_parcel(tracking: str, chute: Literal["A", "B", "C", "D"]) -> str:
    """Send a parcel down a chute.

    Args:
        tracking: Code on the parcel.
        chute: Letter of the chute.
    """
    return "Routed."


@tool
def hold_parcel(tracking: str, days: int, reason: str = "") -> str:
    """Keep a parcel back.

    Args:
        tracking: Code on the parcel.
        days: Days to keep it.
        reason: Why, in the clerk's words.
    """
    return "Held."


@tool(read_only=True)
def weigh(tracking: str) -> str:
    """Weight of a parcel, in grams.

    Args:
        tracking: Code on the parcel.
    """
    return "1240 grams"


@tool
def print_label(name: str, street: str, postcode: str, express: bool = False, copies: int = 1) -> str:
    """Print an address label.

    Args:
        name: Who gets the parcel.
        street: Street and number.
        postcode: Copied letter by letter.
        express: Mark as express.
        copies: Number of labels.
    """
    return "Printed."


def build(llm: LLM) -> Agent:
    """Build the agent of the parcel sorter."""
    return Agent(
        "parcel_sorter",
        "You sort parcels in a depot. Do what the clerk asks with your tools.",
        llm=llm,
        tools=[route_parcel, hold_parcel, weigh, print_label],
    )
