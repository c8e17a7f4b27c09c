"""A robot in a garden, whose tools no generator of ours knows; for `scripts/bench train`."""

from typing import Literal

from edgeagent import Agent, skill, tool


@skill
def water_bed(bed: int, minutes: float) -> str:
    """Water a bed for some minutes."""
    return f"watered bed {bed} for {minutes:g} minutes"


@skill
def mow(area: Literal["front lawn", "back lawn", "orchard"]) -> str:
    """Mow a piece of grass."""
    return f"mowed the {area}"


@skill
def plant(seed: str, row: int) -> str:
    """Put seeds into a row."""
    return f"planted {seed} in row {row}"


@tool(read_only=True)
def measure_soil(bed: int) -> str:
    """How wet the soil of a bed is."""
    return f"bed {bed}: 31 percent"


@tool
def set_valve(number: int, open: bool) -> str:
    """Open or close a valve of the water pipe."""
    return f"valve {number} {'open' if open else 'closed'}"


@skill
def fetch_tool(tool: Literal["rake", "hose", "shovel", "shears"]) -> str:
    """Bring a garden tool."""
    return f"here is the {tool}"


@skill
def trim_hedge(side: Literal["north", "south", "east", "west"], height_cm: float) -> str:
    """Cut the hedge of a side to a height."""
    return f"the {side} hedge is {height_cm:g} cm high"


@tool
def scare_birds() -> str:
    """Make a loud noise against birds."""
    return "the birds are gone"


@tool(read_only=True)
def get_rain() -> str:
    """Rain of the last day."""
    return "4 millimeters of rain"


@skill
def return_to_shed() -> str:
    """Drive back into the shed."""
    return "in the shed"


agent = Agent(
    "gardener",
    "You are a robot in a garden. Act with the tools.",
    tools=[
        water_bed,
        mow,
        plant,
        measure_soil,
        set_valve,
        fetch_tool,
        trim_hedge,
        scare_birds,
        get_rain,
        return_to_shed,
    ],
)
