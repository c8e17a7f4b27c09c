"""A skill that starts is announced, and a silence that lasts is filled: by the room's clock, with the house robot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from edgeagent import Agent, Session, events, skill, tool
from edgeagent.agent import RunHandle
from edgeagent.house import HouseRobot, announcement
from edgeagent.messages import ToolResult
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import GoalHandle, Tool
from edgeagent.voice import Announcer, AnnouncerSettings
from tests.voice.speaking import LIMIT_S, Stage


class Work:
    """Tools, each call of which goes on until it is given leave to end."""

    def __init__(self) -> None:
        self.leave = threading.Semaphore(0)

    @property
    def tools(self) -> list[Tool]:
        @skill
        def go_to(place: str, goal: GoalHandle) -> ToolResult:
            """Drives."""
            return self._wait(f"arrived in the {place}")

        @tool(read_only=True)
        def look_up(word: str) -> ToolResult:
            """Looks something up."""
            return self._wait(f"{word} is a word")

        return [go_to, look_up]

    def _wait(self, text: str) -> ToolResult:
        assert self.leave.acquire(timeout=LIMIT_S)
        return ToolResult.ok(text)


class Scene:
    """A stage, an agent that works, and an announcer that is told of it."""

    def __init__(self, *replies: object, settings: AnnouncerSettings | None = None, delay_s: float = 0) -> None:
        self.stage = Stage()
        self.asking = False
        self.work = Work()
        agent = Agent("robi", llm=ScriptedLLM(*replies, token_delay_s=delay_s), tools=self.work.tools)
        self.session = Session(agent)
        self.announcer = Announcer(
            self.stage.queue,
            self.stage.room.now,
            is_announced=lambda name: name == "go_to",
            tell=announcement,
            is_asking=lambda: self.asking,
            settings=settings or AnnouncerSettings(),
        )
        self.session.subscribe(self.announcer)
        self.session.subscribe(self.stage.queue.begin_reply())
        self.started: SimpleQueue[str] = SimpleQueue()
        self.session.subscribe(self._note)

    def _note(self, event: events.Event) -> None:
        if isinstance(event, events.ToolExecutionStart):
            self.started.put(event.call.name)

    def start(self, text: str = "go") -> RunHandle:
        """Begins a run, and waits until its first tool works."""
        handle = self.session.start(text)
        self.started.get(timeout=LIMIT_S)
        return handle

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.05)):
            self.announcer.tick(self.stage.now_s)
            self.stage.run(0.05)

    def end(self, handle: RunHandle) -> None:
        self.work.leave.release(10)
        handle.result(LIMIT_S)


@pytest.fixture
def scenes() -> Iterator[list[Scene]]:
    made: list[Scene] = []
    yield made
    for scene in made:
        scene.work.leave.release(10)
        scene.session.close()
        scene.stage.close()


def test_a_skill_is_announced_within_a_tenth_of_a_second_and_its_end_told_by_the_model(scenes: list[Scene]) -> None:
    scene = Scene([call("go_to", place="kitchen")], "I am in the kitchen.")
    scenes.append(scene)
    handle = scene.start()
    scene.run(0.1)
    assert scene.stage.voice.spoken == ["On my way to the kitchen."]
    scene.run(3)
    scene.end(handle)
    scene.run(3)
    assert scene.stage.voice.spoken == ["On my way to the kitchen.", "I am in the kitchen."]
    assert all("On my way" not in message.text for message in scene.session.messages())


def test_a_model_that_announces_by_itself_is_left_to_it(scenes: list[Scene]) -> None:
    scene = Scene({"text": "I will go there.", "calls": [call("go_to", place="kitchen")]}, "I am there.")
    scenes.append(scene)
    handle = scene.start()
    scene.run(4)
    assert scene.stage.voice.spoken == ["I will go there."]
    scene.end(handle)


def test_a_skill_that_is_refused_or_over_at_once_is_not_announced(scenes: list[Scene]) -> None:
    scene = Scene([call("go_to", place="attic")], "I know no attic.")
    scenes.append(scene)
    scene.work.leave.release()
    scene.session.start("go").result(LIMIT_S)
    scene.run(3)
    assert scene.stage.voice.spoken == ["I know no attic."]


def test_an_announcement_that_comes_too_late_is_not_said(scenes: list[Scene]) -> None:
    """The person speaks while the skill starts, and still when it has ended."""
    scene = Scene([call("go_to", place="kitchen")], "I am in the kitchen.")
    scenes.append(scene)
    handle = scene.start()
    scene.stage.queue.hold()
    scene.run(0.5)
    assert scene.stage.queue.waiting == 1
    scene.end(handle)
    scene.run(0.5)
    scene.stage.queue.resume()
    scene.run(3)
    assert scene.stage.voice.spoken == ["I am in the kitchen."]


def test_skills_in_a_row_are_announced_once_in_five_seconds(scenes: list[Scene]) -> None:
    rooms = ("kitchen", "bedroom", "bathroom")
    scene = Scene([call("go_to", place=place) for place in rooms], "Done.")
    scenes.append(scene)
    handle = scene.start()
    for seconds in (2.0, 4.0):
        scene.run(seconds)
        scene.work.leave.release()
        assert scene.started.get(timeout=LIMIT_S)
    scene.run(2)
    scene.end(handle)
    scene.run(2)
    assert scene.stage.voice.spoken == ["On my way to the kitchen.", "On my way to the bathroom.", "Done."]


def test_a_silence_is_filled_once_after_its_time(scenes: list[Scene]) -> None:
    scene = Scene([call("look_up", word="robot")], "A robot is a machine.")
    scenes.append(scene)
    handle = scene.start()
    scene.stage.may_begin = False
    scene.run(2.4)
    assert scene.stage.voice.spoken == []
    scene.run(0.3)
    assert scene.stage.voice.spoken == ["One moment."]
    scene.run(8)
    scene.end(handle)
    scene.run(3)
    assert scene.stage.voice.spoken == ["One moment.", "A robot is a machine."]


@pytest.mark.parametrize(("filler", "filler_s"), [("", 0.5), ("Moment.", 30.0)])
def test_the_filler_is_settable(scenes: list[Scene], filler: str, filler_s: float) -> None:
    scene = Scene([call("look_up", word="x")], "Ja.", settings=AnnouncerSettings(filler=filler, filler_s=filler_s))
    scenes.append(scene)
    handle = scene.start()
    scene.run(4)
    assert scene.stage.voice.spoken == []
    scene.end(handle)


def test_no_filler_after_an_announcement(scenes: list[Scene]) -> None:
    scene = Scene([call("go_to", place="kitchen")], "I am in the kitchen.")
    scenes.append(scene)
    handle = scene.start()
    scene.run(6)
    assert scene.stage.voice.spoken == ["On my way to the kitchen."]
    scene.end(handle)


def test_no_filler_while_a_person_is_asked_but_after_the_answer(scenes: list[Scene]) -> None:
    scene = Scene([call("look_up", word="x")], "Found.")
    scenes.append(scene)
    handle = scene.start()
    scene.run(1)
    scene.asking = True
    scene.stage.queue.aside("Which word?")
    scene.run(6)
    assert scene.stage.voice.spoken == ["Which word?"]
    scene.asking = False
    scene.run(2)
    assert scene.stage.voice.spoken == ["Which word?"]
    scene.run(1)
    assert scene.stage.voice.spoken == ["Which word?", "One moment."]
    scene.end(handle)


def test_the_silence_counts_from_the_end_of_what_was_said_before(scenes: list[Scene]) -> None:
    scene = Scene([call("look_up", word="x")], "Found.")
    scenes.append(scene)
    before = scene.stage.queue.say("I tell you something that takes me about three seconds to say.")
    scene.run(0.5)
    handle = scene.start()
    scene.stage.may_begin = False
    while not before.done:
        assert "One moment." not in scene.stage.voice.spoken
        scene.run(0.05)
    scene.run(2.3)
    assert "One moment." not in scene.stage.voice.spoken
    scene.run(0.5)
    assert scene.stage.voice.spoken[-1] == "One moment."
    scene.end(handle)


def test_a_filler_that_waited_until_the_run_spoke_is_not_said(scenes: list[Scene]) -> None:
    scene = Scene([call("look_up", word="x")], "Found it.")
    scenes.append(scene)
    handle = scene.start()
    scene.stage.queue.hold()
    scene.run(4)
    scene.end(handle)
    scene.stage.queue.resume()
    scene.run(3)
    assert scene.stage.voice.spoken == ["Found it."]


def test_every_skill_of_the_house_robot_has_an_announcement() -> None:
    examples = {"distance_m": -1.5, "angle_deg": 90.0, "place": "the Kitchen", "object": "cup"}
    robot = HouseRobot(speed=float("inf"))
    told = {}
    for made in robot.tools:
        if made.traits.is_skill:
            arguments = {name: examples[name] for name in made.parameters["properties"]}
            told[made.name] = announcement(call(made.name, **arguments))
    robot.close()
    assert told == {
        "drive": "Driving back 1.5 meters.",
        "turn": "Turning left.",
        "go_to": "On my way to the kitchen.",
        "pick_up": "I will get the cup.",
        "put_down": "I will bring it to the kitchen.",
        "follow": "I am following you.",
        "dock": "On my way to the dock.",
    }
    assert announcement(call("set_light", place="kitchen", on=True)) == ""
