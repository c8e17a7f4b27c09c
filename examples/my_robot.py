"""A robot of your own. Run it with: edgeagent chat --app examples/my_robot.py"""

from edgeagent import Agent, GoalHandle, skill, tool


@skill
def drive(distance_m: float, goal: GoalHandle) -> str:
    """Drive straight; negative is backwards."""
    for _ in range(int(abs(distance_m) * 10)):  # your motors: a tenth of a metre at a time
        goal.checkpoint()  # ends the skill here when somebody says stop
        goal.cancel_event.wait(0.1)
    return f"drove {'back' if distance_m < 0 else 'forward'} {abs(distance_m):g} m"


@tool(read_only=True)
def get_battery() -> str:
    """Battery level."""
    return "battery at 64 percent"


@tool
def wave(times: int) -> str:
    """Wave the arm."""
    return f"waved {times} times"


agent = Agent("rover", "You are a robot. Act with the tools.", tools=[drive, get_battery, wave])
