"""A greenhouse, whose tools nano has not seen: edgeagent check --app greenhouse.py --cases greenhouse.toml"""

from typing import Literal

from edgeagent import Agent, tool


@tool
def mist_bench(bench: str, seconds: int = 10) -> str:
    """Spray fine water over the plants of one bench."""
    return f"misted {bench} for {seconds} s"


@tool
def set_vent(opening_percent: int, side: Literal["north", "south", "both"] = "both") -> str:
    """Open or close the roof flaps."""
    return f"vent {side} at {opening_percent} percent"


@tool
def label_pot(code: str, species: str) -> str:
    """Print a sticker for a plant."""
    return f"{code}: {species}"


@tool(read_only=True)
def soil_report(benches: list[str]) -> str:
    """How wet the earth is."""
    return f"{len(benches)} benches are dry"


agent = Agent(
    "greenhouse", "You tend a greenhouse. Use the tools.", tools=[mist_bench, set_vent, label_pot, soil_report]
)
