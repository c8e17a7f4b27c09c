"""A greenhouse: a truth value, litres, per cent, and beds by name."""

from edgeagent import Agent, tool


@tool
def irrigate(bed: str, litres: float) -> str:
    """Give a bed water.

    Args:
        bed: Letter of the bed, A to F.
        litres: Amount of water.
    """
    return f"Bed {bed} was watered."


@tool
def vent_roof(percent: int) -> str:
    """Open the roof vents so far; 0 closes them."""
    return "The vents have moved."


@tool
def shade_cloth(drawn: bool) -> str:
    """Draw the shade cloth over the plants, or take it away."""
    return "The cloth has moved."


@tool(read_only=True)
def soil_moisture(bed: str) -> str:
    """Moisture of the soil of one bed, in per cent."""
    return f"bed {bed}: 31 percent"


@tool
def mist(minutes: int) -> str:
    """Run the misting nozzles for some minutes."""
    return "Misting has begun."


@tool(read_only=True)
def list_ripe() -> str:
    """Name what is ripe for harvest today."""
    return "tomatoes in bed C and peppers in bed E"


agent = Agent(
    "greenhouse",
    "You look after a greenhouse.",
    tools=[irrigate, vent_roof, shade_cloth, soil_moisture, mist, list_ripe],
)
