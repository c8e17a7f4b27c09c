"""A feeder for pets: grams, a time of day as text, and names."""

from edgeagent import Agent, tool


@tool
def serve(pet: str, grams: int) -> str:
    """Fill the bowl of a pet with food."""
    return f"The bowl of {pet} is filled."


@tool
def refresh_water() -> str:
    """Replace the water in the drinking bowl."""
    return "The water is fresh."


@tool
def give_treat(pet: str) -> str:
    """Throw one treat to a pet."""
    return f"{pet} got a treat."


@tool
def schedule_meal(pet: str, at: str, grams: int) -> str:
    """Plan a meal for later today.

    Args:
        pet: Name of the pet.
        at: Time of day as HH:MM, 24 hours.
        grams: Amount of food.
    """
    return "It is planned."


@tool(read_only=True)
def food_left() -> str:
    """Food that is left in the hopper."""
    return "650 grams"


@tool
def cat_flap(locked: bool) -> str:
    """Lock or unlock the cat flap."""
    return "Done."


agent = Agent(
    "pet_feeder",
    "You are a friendly pet feeder. You feed Luna the cat and Rex the dog.",
    tools=[serve, refresh_water, give_treat, schedule_meal, food_left, cat_flap],
)
