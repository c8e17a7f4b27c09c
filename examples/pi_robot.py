"""A robot on a Raspberry Pi's pins (docs/robot.md). Run it with: .venv/bin/python examples/pi_robot.py"""

from contextlib import suppress

from edgeagent import Agent, Conversation, GoalHandle, robot, skill
from edgeagent.config import load_config

latch = robot.SafetyLatch()
stop_button = robot.GpioStopButton(6, latch)
driver = robot.BaseDriver(robot.Sabertooth(port="/dev/serial0", full_speed_mps=0.6, track_m=0.3))
ahead = robot.GpioDistance(echo=24, trigger=23)
neck = robot.GpioServo(12)


@skill(resources=["neck"])
def look(angle_deg: float, goal: GoalHandle) -> str:
    """Turn the head; negative is to the right."""
    for wait_s in neck.sweep(angle_deg):
        goal.checkpoint()
        goal.cancel_event.wait(wait_s)
    return f"looking at {angle_deg:g} degrees"


tools = [*robot.base_tools(driver, distance=ahead), look]
agent = Agent("pico", "You are a robot. Act with the tools.", tools=tools, latch=latch)


def talk(conversation: Conversation) -> None:
    """Hears while the button on pin 5 is pressed, and shows what it does."""
    with robot.GpioTalkButton(5, conversation.push_to_talk), robot.GpioLight((17, 27, 22), conversation):
        conversation.run()


if __name__ == "__main__":
    settings = load_config(flags={"conversation.push_to_talk": True})
    with suppress(KeyboardInterrupt), driver, Conversation(agent, config=settings) as conversation:
        talk(conversation)
