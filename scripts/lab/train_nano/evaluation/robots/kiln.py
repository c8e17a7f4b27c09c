"""A potter's kiln: a firing with three numbers, a vent, a door, a thermometer."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool
def fire(
    programme: str, peak_c: int, ramp_c_per_h: float = 100.0, hold_min: int = 20, cool_slowly: bool = False
) -> str:
    """Start a firing.

    Args:
        programme: Code of the programme, such as B6.
        peak_c: Highest temperature in degrees Celsius.
        ramp_c_per_h: Degrees Celsius gained in an hour.
        hold_min: Minutes at the highest temperature.
        cool_slowly: Cool down with closed vents.
    """
    return "Firing."


@tool
def set_vent(percent: int) -> str:
    """Open the vent.

    Args:
        percent: 0 is shut, 100 is wide open.
    """
    return "Vent set."


@tool
def lock_door(locked: bool) -> str:
    """Lock or unlock the kiln's door."""
    return "Done."


@tool(read_only=True)
def read_probe(probe: Literal["top", "middle", "bottom"]) -> str:
    """Temperature at one probe, in degrees Celsius."""
    return "612 degrees Celsius"


def build(llm: LLM) -> Agent:
    """Build the agent of the kiln."""
    return Agent(
        "kiln",
        "You control a pottery kiln. Do what the potter asks with your tools.",
        llm=llm,
        tools=[fire, set_vent, lock_door, read_probe],
    )
