"""The house robot as the command line has it: a flat of its own, timers that speak up, a deadline in its own time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from edgeagent import events
from edgeagent.app import INSTRUCTIONS, App, build
from edgeagent.config import Config
from edgeagent.llm import LLMRequest
from edgeagent.messages import ToolCall
from edgeagent.testing import ScriptedLLM, call

WAIT_S = 20

Build = Callable[..., App]


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds the app on a scripted model."""

    def make(*replies: Any, live: bool = False, **settings: Any) -> App:
        monkeypatch.setattr("edgeagent.llm.llama.LlamaLLM", lambda model, **settings: ScriptedLLM(*replies, name=model))
        return build(Config(**{"speed": 1000.0, **settings}), live=live)

    return make


def position(app: App) -> tuple[float, float]:
    assert app.robot is not None
    pose = app.robot.world.snapshot().robot
    return pose.x, pose.y


def test_it_has_the_words_and_the_tools_that_the_model_was_trained_with(house: Build) -> None:
    with house("hi") as app:
        app.session.step("hello")
        request = app.llm.requests[0]  # type: ignore[attr-defined]
    assert request.system == INSTRUCTIONS
    assert [tool.name for tool in request.tools][:3] == ["drive", "turn", "go_to"]
    assert len(request.tools) == 15


def test_it_moves_and_every_renewal_is_the_same_flat_again(house: Build) -> None:
    drive = [call("drive", distance_m=2.0)]
    with house(drive, "done", drive, "done") as app:
        start = position(app)
        app.session.step("drive")
        end = position(app)
        assert end != start
        app.renew()
        assert position(app) == start
        assert not app.session.messages()
        app.session.step("drive")
        assert position(app) == end


def test_subscribers_outlive_a_renewal(house: Build) -> None:
    seen: list[str] = []
    with house("a", "b") as app:
        app.subscribe(lambda event: seen.append(event.kind))
        app.session.step("one")
        app.renew()
        app.session.step("two")
    assert seen.count("agent_end") == 2


def test_a_timer_that_ends_speaks_up_by_itself(house: Build) -> None:
    spoke = threading.Event()

    def answer(request: LLMRequest) -> str:
        text = request.messages[-1].text
        if text.startswith("[timer]"):
            spoke.set()
        return text

    with house([call("set_timer", duration_s=5)], "set", answer, live=True, speed=100.0) as app:
        app.session.step("five seconds")
        assert spoke.wait(WAIT_S)


@pytest.mark.parametrize("speed", [50.0, 1000.0])
@pytest.mark.parametrize("live", [False, True])
def test_the_deadline_is_one_of_the_robots_time(house: Build, speed: float, live: bool) -> None:
    with house([call("drive", distance_m=4.0)], "done", deadline_s=3, speed=speed, live=live) as app:
        assert app.robot is not None
        result = app.session.step("drive")
        driven_s = app.robot.world.time_s
    assert (result.reason, result.abort_reason) == ("aborted", "deadline")
    done = result.tool_calls[0].result
    assert done is not None
    assert done.status == "interrupted"
    assert "of 4 m" in done.text
    assert live or 3 <= driven_s < 5, "and the base came to rest"


def test_the_result_of_a_deadline_is_the_same_at_every_speed(house: Build) -> None:
    texts = set()
    for speed in (20.0, 300.0, 1000.0):
        with house([call("drive", distance_m=4.0)], "done", deadline_s=3, speed=speed) as app:
            done = app.session.step("drive").tool_calls[0].result
            assert done is not None
            texts.add(done.text)
    assert len(texts) == 1


def test_a_slow_model_does_not_use_up_the_robots_time(house: Build) -> None:
    def slow(request: LLMRequest) -> list[ToolCall]:
        threading.Event().wait(1.0)  # 1,000 simulated seconds
        return [call("drive", distance_m=1.0)]

    with house(slow, "done", deadline_s=800, live=True) as app:  # 0.8 s by the wall's clock, on a busy machine too
        assert app.session.step("drive").reason == "completed"


def test_a_model_that_hangs_is_ended_by_the_wall_clock(house: Build) -> None:
    with house({"text": "a b"}, deadline_s=0.2) as app:
        app.llm._prefill_delay_s = 60  # type: ignore[attr-defined]
        result = app.session.step("hello")
    assert (result.reason, result.abort_reason) == ("aborted", "deadline")
    assert result.elapsed_s < WAIT_S


def test_close_stops_a_robot_that_moves(house: Build) -> None:
    moving = threading.Event()
    app = house([call("drive", distance_m=4.0)], "done", speed=1.0)
    app.subscribe(lambda event: moving.set() if isinstance(event, events.ToolExecutionStart) else None)
    handle = app.session.start("drive")
    assert moving.wait(WAIT_S)
    app.close()
    result = handle.result(timeout=WAIT_S)
    assert (result.reason, result.abort_reason) == ("aborted", "safety_stop")
    assert app.robot is not None
    assert app.robot.world.scene.base.still


def test_a_model_that_does_not_stop_does_not_keep_the_program(
    house: Build, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("edgeagent.session.session.CLOSE_S", 0.1)
    released, asked = threading.Event(), threading.Event()

    def deaf(request: LLMRequest) -> str:
        asked.set()
        released.wait(WAIT_S)
        return "at last"

    app = house(deaf)
    handle = app.session.start("hello")
    assert asked.wait(WAIT_S)
    app.close()
    assert "it is left behind" in caplog.text
    released.set()
    assert handle.wait(WAIT_S)
