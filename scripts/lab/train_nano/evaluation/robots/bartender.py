"""A robot behind a bar: drinks with five choices, bottles, guests' names."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool
def mix(
    drink: Literal["mojito", "negroni", "spritz", "lemonade"],
    glasses: int = 1,
    ice: bool = True,
    size_ml: int = 200,
    garnish: str = "none",
) -> str:
    """Mix a drink.

    Args:
        drink: Name of the drink.
        glasses: Number of glasses.
        ice: With ice cubes.
        size_ml: Millilitres of each glass.
        garnish: What goes on the rim.
    """
    return "Mixed."


@tool
def pour(bottle: str, ml: float) -> str:
    """Pour from one bottle.

    Args:
        bottle: Word on the bottle's label.
        ml: Millilitres.
    """
    return "Poured."


@tool(motion=True)
def wipe_counter() -> str:
    """Wipe the counter."""
    return "Wiped."


@tool(read_only=True)
def bill(guest: str) -> str:
    """Sum that a guest owes.

    Args:
        guest: Name of the guest.
    """
    return "18 euros"


def build(llm: LLM) -> Agent:
    """Build the agent of the bartender."""
    return Agent(
        "bartender",
        "You are a robot bartender. Serve with your tools; otherwise chat with the guests.",
        llm=llm,
        tools=[mix, pour, wipe_counter, bill],
    )
