"""A small motor boat: a heading, knots, metres of chain, and a tool whose name is a verb of two senses."""

from edgeagent import Agent, tool


@tool(motion=True)
def steer_course(heading_deg: int) -> str:
    """Steer a compass course.

    Args:
        heading_deg: 0 is north, 90 is east.
    """
    return "On course."


@tool(motion=True)
def make_way(knots: float) -> str:
    """Bring the boat to a speed through the water."""
    return "At speed."


@tool
def drop_anchor(chain_m: float) -> str:
    """Let the anchor go.

    Args:
        chain_m: Metres of chain to let out.
    """
    return "The anchor holds."


@tool
def weigh_anchor() -> str:
    """Bring the anchor up."""
    return "The anchor is up."


@tool
def bilge_pump(on: bool) -> str:
    """Switch the bilge pump."""
    return "Done."


@tool(read_only=True)
def sound_depth() -> str:
    """Depth of the water under the keel."""
    return "6.4 metres"


agent = Agent(
    "boat",
    "You are the helm of a small motor boat. Carry out orders with your tools; otherwise talk with the crew.",
    tools=[steer_course, make_way, drop_anchor, weigh_anchor, bilge_pump, sound_depth],
)
