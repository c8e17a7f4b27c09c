"""Robots that drive, and one that does nothing."""

import threading
from collections.abc import Iterator

import pytest

from edgeagent import Agent, skill
from edgeagent.robot import SafetyLatch
from edgeagent.testing import call
from edgeagent.tools import GoalHandle

from .scenes import LIMIT_S, LONG, until
from .stage import Stage


@pytest.fixture
def driving() -> tuple[Agent, threading.Event, list[str]]:
    """A robot with a skill that drives until it is stopped."""
    began, ends = threading.Event(), []

    @skill(on_interrupt="detach", pause=lambda: ends.append("paused"), resume=lambda: ends.append("resumed"))
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        began.set()
        try:
            while not goal.cancelled:
                goal.checkpoint()  # raises if the goal is cancelled while it is held
                threading.Event().wait(0.005)
        finally:
            ends.append("stopped")
        return "stopped"

    return Agent("robi", tools=[drive], latch=SafetyLatch()), began, ends


@pytest.fixture
def drives() -> Iterator[Stage]:
    """A conversation with a robot that drives until it is stopped."""
    began = threading.Event()

    @skill(on_interrupt="detach", pause=lambda: None, resume=lambda: None)
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        began.set()
        while not goal.cancelled:
            goal.checkpoint()
            threading.Event().wait(0.005)
        return "stopped"

    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    with Stage([call("drive")], *["Okay."] * 4, agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(LIMIT_S)
        assert until(lambda: stage.dialogue.robot.runs.acting)
        stage.pass_s(1.0)
        yield stage


@pytest.fixture
def still() -> Iterator[Stage]:
    """One with a robot that does nothing."""
    with Stage(LONG, "Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        yield stage
