"""What the tests of the robot share: a robot without waiting, and ways to look at a motion step by step."""

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from edgeagent.house import HouseRobot, Point, Program, ProgramEnd, Scene

Eventually = Callable[[Callable[[], bool]], None]
Play = Callable[..., ProgramEnd]


def length(points: tuple[Point, ...]) -> float:
    """Metres along a polyline."""
    return sum(a.distance(b) for a, b in itertools.pairwise(points))


@pytest.fixture
def house() -> Iterator[HouseRobot]:
    """Simulated as fast as the machine can."""
    robot = HouseRobot(speed=math.inf)
    yield robot
    robot.close()


@pytest.fixture
def alone(house: HouseRobot) -> HouseRobot:
    """A robot whose person stands in the bathroom and stays there."""
    bathroom = house.world.scene.flat.room("bathroom")
    assert bathroom is not None
    house.world.scene.person.place(bathroom.people[0])
    house.world.scene.person.stand(1e6)
    return house


@pytest.fixture
def play() -> Play:
    """Runs a motion program on a bare scene, without world or threads; ``look`` sees the scene after every step."""

    def run(scene: Scene, program: Program, look: Callable[[Scene], object] = lambda _: None) -> ProgramEnd:
        while True:
            try:
                command = next(program)
            except StopIteration as end:
                outcome = end.value
                break
            scene.step(*command)
            look(scene)
        while not scene.base.still:
            scene.step()
            look(scene)
        assert isinstance(outcome, ProgramEnd)
        return outcome

    return run


@pytest.fixture
def eventually() -> Eventually:
    """Waits for a state that another thread brings about, for 10 s at most."""

    def wait(predicate: Callable[[], bool]) -> None:
        never, limit_s = threading.Event(), time.monotonic() + 10
        while not predicate():
            assert time.monotonic() < limit_s, "it did not happen within 10 s"
            never.wait(0.002)

    return wait
