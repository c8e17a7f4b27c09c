"""A rover between vines: rows by name, centimetres of soil, kilograms behind it."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool(motion=True)
def spray_rows(rows: list[str], litres: float, agent: Literal["sulphur", "copper", "water"] = "water") -> str:
    """Spray some rows of vines.

    Args:
        rows: Names of the rows, such as C4.
        litres: Litres for each row.
        agent: Liquid in the tank.
    """
    return "Sprayed."


@tool(motion=True)
def tow(trailer: str, load_kg: float, slowly: bool = False) -> str:
    """Pull a trailer to the cellar.

    Args:
        trailer: Name of the trailer.
        load_kg: Kilograms on the trailer.
        slowly: At walking pace.
    """
    return "Towed."


@tool(read_only=True)
def soil_moisture(row: str, depth_cm: int = 20) -> str:
    """Moisture of the soil in a row.

    Args:
        row: Name of the row.
        depth_cm: Depth of the probe in centimetres.
    """
    return "31 percent"


@tool
def scare_birds(minutes: float) -> str:
    """Play hawk cries.

    Args:
        minutes: Length.
    """
    return "Playing."


def build(llm: LLM) -> Agent:
    """Build the agent of the vineyard rover."""
    return Agent(
        "vineyard_rover",
        "You are a rover in a vineyard. Do what the vintner says with your tools.",
        llm=llm,
        tools=[spray_rows, tow, soil_moisture, scare_birds],
    )
