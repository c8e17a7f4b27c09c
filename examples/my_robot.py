"""A robot of your own. Run it with: edgeagent chat --app examples/my_robot.py"""

from edgeagent import Agent, GoalHandle, skill, tool


@skill
def drive(distance_m: float, goal: GoalHandle) -> str:
    """Drive straight; negative is backwards."""
    for _ in range(int(abs(distance_m) * 10)):  # your motors: a tenth of a metre at a time
        goal.checkpoint()  # ends the skill here when somebody says stop
        goal.cancel_event.wait(0.1)
    return f"drove {'back' if distance_m < 0 else 'forward'} {abs(distance_m):g} m"


@skill
def turn(angle_deg: float) -> str:
    """Turn on the spot; negative is to the right."""
    return f"turned {'right' if angle_deg < 0 else 'left'} {abs(angle_deg):g} degrees"


@tool(read_only=True)
def get_battery() -> str:
    """Battery level."""
    return "battery at 64 percent"


agent = Agent("rover", "You are a robot. Act with the tools.", tools=[drive, turn, get_battery])
