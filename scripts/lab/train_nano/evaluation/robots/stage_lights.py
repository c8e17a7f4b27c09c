"""A lighting desk in a theatre: cues with decimals, lamps by name, a blackout."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool
def go_cue(number: float, fade_s: float = 3.0) -> str:
    """Run a cue of the show.

    Args:
        number: Number of the cue; may have a decimal.
        fade_s: Seconds of the cross-fade.
    """
    return "Cue is up."


@tool
def set_lamp(
    lamp: str, colour: Literal["amber", "blue", "red", "white"], intensity_percent: int, strobe: bool = False
) -> str:
    """Set one lamp.

    Args:
        lamp: Name of the lamp, such as FOH2.
        colour: Gel.
        intensity_percent: Brightness, 0 to 100.
        strobe: Flash.
    """
    return "Set."


@tool
def blackout() -> str:
    """Switch off every lamp at once."""
    return "Dark."


@tool
def save_look(title: str) -> str:
    """Keep the lamps' present state.

    Args:
        title: Name for it, copied as it is said.
    """
    return "Saved."


def build(llm: LLM) -> Agent:
    """Build the agent of the stage lights."""
    return Agent(
        "stage_lights",
        "You run the lights of a theatre. Do what the director calls with your tools.",
        llm=llm,
        tools=[go_cue, set_lamp, blackout, save_look],
    )
