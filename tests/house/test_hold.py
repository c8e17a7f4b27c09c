"""The house robot under its agent's latch: a hold makes it wait, a trip stops it."""

import threading
from contextlib import closing

from edgeagent import Agent
from edgeagent.house import HouseRobot
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 20


def moving(house: HouseRobot) -> None:
    """Waits until the base has begun to move."""
    began, end = house.world.scene.base.odometer_m, threading.Event()
    for _ in range(2000):
        if house.world.scene.base.odometer_m > began + 0.05:
            return
        end.wait(0.005)
    raise TimeoutError


def test_a_held_drive_waits_and_arrives_once_it_is_released() -> None:
    with closing(HouseRobot(speed=20)) as house:
        llm = ScriptedLLM([call("drive", distance_m=2)], "done")
        handle = Agent("robi", llm=llm, tools=house.tools, latch=house.latch).start("go")
        moving(house)
        house.latch.hold("stop word")
        assert not handle.wait(0.3)
        assert house.world.scene.base.odometer_m < 1.5
        house.latch.release()
        result = handle.result(LIMIT_S)
        assert (result.tool_calls[0].result.status, result.tool_calls[0].result.text) == ("ok", "drove forward 2 m")


def test_a_tripped_drive_is_stopped_for_safety_and_motion_waits_until_it_is_re_armed() -> None:
    with closing(HouseRobot(speed=20)) as house:
        turn = [call("turn", angle_deg=90)]
        llm = ScriptedLLM([call("drive", distance_m=2)], turn, "no", turn, "")
        agent = Agent("robi", llm=llm, tools=house.tools, latch=house.latch)
        handle = agent.start("go")
        moving(house)
        house.latch.trip("stop word")
        stopped = handle.result(LIMIT_S)
        assert (stopped.reason, stopped.abort_reason) == ("aborted", "safety_stop")
        drove, turned = stopped.tool_calls[0].result, agent.run("turn").tool_calls[0].result
        assert (drove.status, turned.status) == ("interrupted", "blocked")
        assert "stopped for safety" in drove.text
        assert "stopped for safety" in turned.text
        house.latch.rearm()
        assert agent.run("go on").tool_calls[0].result.status == "ok"


def test_a_drive_that_was_held_and_then_tripped_leaves_nothing_behind_that_holds_the_next_one() -> None:
    with closing(HouseRobot(speed=20)) as house:
        llm = ScriptedLLM([call("drive", distance_m=2)], [call("turn", angle_deg=90)], "")
        agent = Agent("robi", llm=llm, tools=house.tools, latch=house.latch)
        handle = agent.start("go")
        moving(house)
        house.latch.hold("stop word")
        assert not handle.wait(0.2)
        house.latch.trip("stop word")
        assert handle.result(LIMIT_S).tool_calls[0].result.status == "interrupted"
        house.latch.rearm()
        handle = agent.start("go on")
        try:
            assert handle.wait(LIMIT_S / 4), "the base is held for ever"
            assert handle.result(0).tool_calls[0].result.status == "ok"
        finally:
            handle.abort("safety_stop")
