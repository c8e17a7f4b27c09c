"""An arm in a blood laboratory: tubes by code, a centrifuge, racks."""

from typing import Literal

from edgeagent import LLM, Agent, tool


@tool
def spin(tubes: list[str], rpm: int, minutes: float = 10.0) -> str:
    """Spin tubes in the centrifuge.

    Args:
        tubes: Code of each tube.
        rpm: Turns a minute.
        minutes: Length.
    """
    return "Spun."


@tool
def label_tube(tube: str, text: str) -> str:
    """Print text on a tube's label.

    Args:
        tube: Code of the tube.
        text: Copied as it is said.
    """
    return "Labelled."


@tool(motion=True)
def store(tube: str, rack: str, climate: Literal["room", "fridge", "freezer"] = "fridge") -> str:
    """Put a tube away.

    Args:
        tube: Code of the tube.
        rack: Letter of the rack.
        climate: Where the rack stands.
    """
    return "Stored."


@tool(motion=True)
def discard(tube: str) -> str:
    """Throw a tube into the sharps bin."""
    return "Discarded."


def build(llm: LLM) -> Agent:
    """Build the agent of the lab arm."""
    return Agent(
        "lab_arm",
        "You are an arm in a blood laboratory. Carry out what the technician asks with your tools, nothing else.",
        llm=llm,
        tools=[spin, label_tube, store, discard],
    )
