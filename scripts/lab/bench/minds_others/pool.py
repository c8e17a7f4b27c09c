"""A pool cleaner: it scrubs, doses chlorine, and runs the pump and the lights of a garden pool."""

from typing import Literal

from edgeagent import Agent, tool


@tool(motion=True)
def clean(area: Literal["floor", "walls", "waterline"], minutes: int = 30) -> str:
    """Scrub one part of the pool."""
    return "Cleaned."


@tool
def set_pump(percent: int) -> str:
    """Set the power of the filter pump."""
    return "The pump is set."


@tool
def add_chlorine(grams: float) -> str:
    """Dose chlorine into the water."""
    return "Dosed."


@tool
def pool_lights(on: bool) -> str:
    """Switch the underwater lights."""
    return "Done."


@tool(motion=True)
def return_to_dock() -> str:
    """Go back to the charging dock at the edge."""
    return "Docked."


@tool(read_only=True)
def water_temperature() -> str:
    """Temperature of the water."""
    return "24.5 degrees"


@tool(read_only=True)
def ph_value() -> str:
    """The pH of the water."""
    return "7.3"


agent = Agent(
    "pool",
    "You are the cleaning robot of a garden pool. Carry out wishes with your tools; otherwise talk with the family.",
    tools=[clean, set_pump, add_chlorine, pool_lights, return_to_dock, water_temperature, ph_value],
)
