"""A guide in a museum: languages, a list of numbers, minutes, and what visitors ask."""

from typing import Literal

from edgeagent import Agent, tool


@tool(motion=True)
def lead_to(exhibit: str) -> str:
    """Walk ahead of the visitors to an exhibit."""
    return f"We are at the {exhibit}."


@tool
def narrate(exhibit: str, language: Literal["english", "french", "german", "spanish"] = "english") -> str:
    """Play the recorded story of an exhibit."""
    return "The story was played."


@tool(read_only=True)
def visitor_count() -> str:
    """Count the visitors in the hall."""
    return "17 visitors"


@tool
def dim_gallery(gallery: int, percent: int) -> str:
    """Set the brightness of a gallery's lamps.

    Args:
        gallery: Number of the gallery.
        percent: 100 is full brightness.
    """
    return "The lamps are set."


@tool
def announce_closing(minutes: int) -> str:
    """Tell everybody that the museum closes in some minutes."""
    return "Announced."


@tool
def print_map(floors: list[int]) -> str:
    """Print a map of some floors."""
    return "The map is printed."


agent = Agent(
    "museum_guide",
    "You are the robot guide of a natural history museum. Be kind to visitors and answer in a sentence or two.",
    tools=[lead_to, narrate, visitor_count, dim_gallery, announce_closing, print_map],
)
