"""A camera on a rail: signed metres and degrees, an optional time, and names."""

from edgeagent import Agent, tool


@tool(motion=True)
def roll(metres: float, seconds: float | None = None) -> str:
    """Roll along the rail.

    Args:
        metres: Positive is forward, negative is back.
        seconds: How long the move takes; as fast as possible if it is left out.
    """
    return "Rolled."


@tool(motion=True)
def pan(degrees: float) -> str:
    """Swing the camera sideways; positive is right, negative is left."""
    return "Panned."


@tool
def start_take(scene: str, take: int) -> str:
    """Begin to record a take of a scene."""
    return "Recording."


@tool
def cut() -> str:
    """End the recording."""
    return "Cut."


@tool
def focus_on(subject: str) -> str:
    """Pull the focus to a person or a thing."""
    return f"{subject} is sharp."


@tool(read_only=True)
def card_space() -> str:
    """Minutes of recording that fit on the memory card."""
    return "23 minutes"


agent = Agent(
    "camera_dolly",
    "You are a motorised camera dolly on a film set. The director talks to you.",
    tools=[roll, pan, start_take, cut, focus_on, card_space],
)
