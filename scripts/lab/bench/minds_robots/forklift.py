"""A warehouse forklift: bays by name, metres, a level, and a truth value."""

from edgeagent import Agent, tool


@tool(motion=True)
def fetch_pallet(bay: str) -> str:
    """Drive to a bay and take the pallet from it."""
    return f"The pallet of {bay} is on the forks."


@tool(motion=True)
def stack_pallet(bay: str, level: int) -> str:
    """Put the pallet that is on the forks into a bay.

    Args:
        bay: Name of the bay, such as B12.
        level: Level of the rack, 0 is the floor.
    """
    return "The pallet stands there."


@tool(motion=True)
def fork_height(metres: float) -> str:
    """Bring the forks to a height above the floor, in metres."""
    return "The forks are there."


@tool(motion=True)
def lean_mast(degrees: float) -> str:
    """Lean the mast; positive is forward, negative is back."""
    return "The mast leans."


@tool(read_only=True)
def load_weight() -> str:
    """Weight on the forks."""
    return "840 kilograms"


@tool
def hazard_flash(on: bool) -> str:
    """Switch the flashing hazard light."""
    return "Done."


agent = Agent(
    "forklift",
    "You are an autonomous forklift in a warehouse.",
    tools=[fetch_pallet, stack_pallet, fork_height, lean_mast, load_weight, hazard_flash],
)
