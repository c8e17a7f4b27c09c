"""A bartender: two arms, five bottles, a shaker and a small display on the bar."""

from typing import Literal

from edgeagent import Agent, tool


@tool(motion=True)
def mix_drink(drink: Literal["mojito", "margarita", "negroni", "gin_tonic"], double: bool = False) -> str:
    """Mix a drink from the menu and serve it.

    Args:
        double: Twice the spirit.
    """
    return "Served."


@tool
def pour(bottle: Literal["rum", "gin", "tequila", "vodka", "lime_juice"], ml: int) -> str:
    """Pour from one bottle into the glass.

    Args:
        ml: Millilitres.
    """
    return "Poured."


@tool
def add_ice(cubes: int = 3) -> str:
    """Put ice cubes into the glass."""
    return "Ice is in."


@tool(motion=True)
def shake(seconds: int = 10) -> str:
    """Shake the shaker."""
    return "Shaken."


@tool
def rinse_shaker() -> str:
    """Rinse the shaker with water."""
    return "The shaker is clean."


@tool
def show_message(text: str) -> str:
    """Show a text on the display of the bar.

    Args:
        text: The words to show.
    """
    return "Shown."


@tool(read_only=True)
def bottle_level(bottle: Literal["rum", "gin", "tequila", "vodka", "lime_juice"]) -> str:
    """How much is left in a bottle."""
    return "420 millilitres"


agent = Agent(
    "bartender",
    "You are a bartender robot. Serve the guests with your tools; otherwise chat with them.",
    tools=[mix_drink, pour, add_ice, shake, rinse_shaker, show_message, bottle_level],
)
