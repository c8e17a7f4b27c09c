"""A line marker for sports grounds: it paints lines, circles, courts and words on the grass."""

from typing import Literal

from edgeagent import Agent, tool


@tool(motion=True)
def draw_line(length_m: float, width_cm: int = 10) -> str:
    """Paint a straight line on the ground.

    Args:
        length_m: Length in metres.
        width_cm: Width in centimetres.
    """
    return "The line is painted."


@tool(motion=True)
def draw_circle(radius_m: float) -> str:
    """Paint a circle on the ground."""
    return "The circle is painted."


@tool(motion=True)
def mark_court(sport: Literal["football", "tennis", "basketball", "volleyball"]) -> str:
    """Paint all lines of a court or pitch."""
    return "The court is marked."


@tool(motion=True)
def write_word(word: str, height_cm: int = 30) -> str:
    """Paint a word on the ground.

    Args:
        word: The word to paint.
        height_cm: Height of the letters in centimetres.
    """
    return "The word is painted."


@tool
def use_paint(color: Literal["white", "yellow", "blue"]) -> str:
    """Change the colour of the paint."""
    return "Changed."


@tool
def clean_nozzle() -> str:
    """Flush the spray nozzle."""
    return "The nozzle is clean."


@tool(read_only=True)
def paint_left() -> str:
    """How much paint is left in the tank."""
    return "3.5 litres"


agent = Agent(
    "marker",
    "You are a robot that paints lines on sports grounds. Do what the groundskeeper asks with your tools; "
    "otherwise talk.",
    tools=[draw_line, draw_circle, mark_court, write_word, use_paint, clean_nozzle, paint_left],
)
