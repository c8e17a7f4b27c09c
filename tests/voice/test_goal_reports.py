"""A skill that outlived its run is reported in words of ours; the model is not asked to make sense of its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from edgeagent import Agent, LlamaLLM, Session, events
from edgeagent.app import INSTRUCTIONS
from edgeagent.house import HouseRobot, report
from edgeagent.messages import Message
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import GoalHandle, Tool, skill
from edgeagent.voice import GoalReports, State

from .scenes import LONG, until
from .stage import Stage

LIMIT_S = 20


class Ride:
    """A skill that arrives when it is told to."""

    def __init__(self, *, result: str = "arrived in the bedroom") -> None:
        self.arrive = threading.Event()
        self._result = result

    @property
    def tool(self) -> Tool:
        @skill(on_interrupt="detach", resources=("base",))
        def go_to(place: str) -> str:
            """Drives."""
            assert self.arrive.wait(LIMIT_S)
            return self._result

        return go_to


def ended(session: Session, *, run: int) -> threading.Event:
    """Set when that many more runs have ended."""
    over, left = threading.Event(), [run]

    def count(event: events.Event) -> None:
        if isinstance(event, events.AgentEnd):
            left[0] -= 1
            if left[0] == 0:
                over.set()

    session.subscribe(count)
    return over


def interrupted(session: Session, text: str) -> None:
    """Asks, and interrupts the run as soon as its skill works."""
    handle = session.start(text)
    for event in handle.events():
        if isinstance(event, events.ToolExecutionStart):
            handle.abort("barge_in")


@contextmanager
def driven(replies: list[Any]) -> Iterator[Session]:
    """A robot that drives to the bedroom and was asked something meanwhile."""
    pause = threading.Event()

    @skill(on_interrupt="detach", resources=("base",))
    def go_to(place: str, goal: GoalHandle) -> str:
        """Drives."""
        while place == "bedroom":
            goal.checkpoint()
            pause.wait(0.01)
        return f"arrived at the {place}"

    llm = ScriptedLLM([call("go_to", place="bedroom")], *replies)
    with Session(Agent("robi", llm=llm, tools=[go_to], hooks=[GoalReports(report)])) as session:
        interrupted(session, "go to the bedroom")
        session.step("how full is your battery?")
        yield session


def noted(session: Session) -> threading.Event:
    """Set when the session has been told something for its next request."""
    told, note = threading.Event(), session.note

    def told_so(*args: Any, **keywords: Any) -> None:
        note(*args, **keywords)
        told.set()

    session.note = told_so
    return told


def shown(session: Session) -> list[str]:
    """The texts of the last request, from the first result of a tool."""
    messages = session.agent.llm.requests[-1].messages
    first = next(place for place, message in enumerate(messages) if message.role == "tool")
    texts = [message.text for message in messages[first:]]
    return [text for text in texts if text != "how full is your battery?"]


def test_the_end_of_a_goal_is_told_without_the_model_and_kept_from_it_later() -> None:
    ride = Ride()
    llm = ScriptedLLM([call("go_to", place="bedroom")], "80 percent.", "Yes.")
    with Session(Agent("robi", llm=llm, tools=[ride.tool], hooks=[GoalReports(report)])) as session:
        interrupted(session, "go to the bedroom")
        assert session.step("how full is your battery?").reply == "80 percent."
        over = ended(session, run=1)
        ride.arrive.set()
        assert over.wait(LIMIT_S)
        history = [(message.role, message.text) for message in session.messages()]
        assert history[-2:] == [
            ("user", "go_to has ended: arrived in the bedroom"),
            ("assistant", "I am in the bedroom."),
        ]
        assert len(llm.requests) == 2, "the model was not asked"
        session.step("really?")
        seen = [message.text for message in llm.requests[-1].messages]
        assert seen[-2:] == ["I am in the bedroom.", "really?"]
        assert not any("has ended" in text for text in seen)


@pytest.mark.parametrize("why", ["cancelled", "stopped for safety"])
def test_a_goal_that_was_stopped_is_shown_as_stopped_and_no_more_as_going_on(why: str) -> None:
    with driven(["80 percent.", "Nothing.", "No."]) as session:
        over = noted(session)
        if why == "cancelled":
            session.agent.cancel_goals()
        else:
            session.agent.abort("safety_stop")
        assert over.wait(LIMIT_S)
        session.step("what are you doing?")
        session.step("really?")
        assert shown(session) == [why, "80 percent.", "what are you doing?", "Nothing.", "really?"]


def test_a_goal_that_was_replaced_is_shown_as_replaced() -> None:
    with driven(["80 percent.", [call("go_to", place="sofa")], "I am there."]) as session:
        session.step("to the sofa")
        assert shown(session)[0] == "replaced by go_to(sofa)"


def test_of_two_goals_each_is_shown_its_own_end() -> None:
    arrive = threading.Event()

    @skill(on_interrupt="detach", resources=("base",))
    def go_to(place: str, goal: GoalHandle) -> str:
        """Drives."""
        while place == "bedroom" or not arrive.wait(0.01):
            goal.checkpoint()
            threading.Event().wait(0.01)
        return f"arrived at the {place}"

    llm = ScriptedLLM([call("go_to", place="bedroom")], [call("go_to", place="sofa")], "Yes.")
    with Session(Agent("robi", llm=llm, tools=[go_to], hooks=[GoalReports(report)])) as session:
        over = noted(session)
        interrupted(session, "go to the bedroom")
        interrupted(session, "go to the sofa")
        assert over.wait(LIMIT_S)
        told = ended(session, run=1)
        arrive.set()
        assert told.wait(LIMIT_S)
        session.step("where are you?")
        results = [message.text for message in llm.requests[-1].messages if message.role == "tool"]
        assert results == ["replaced by go_to(sofa)", "arrived at the sofa"]


def test_a_person_who_tells_during_a_run_that_something_has_ended_is_understood() -> None:
    def tell(request: object) -> str:
        session.steer("dinner has ended: come down")
        return "80 percent."

    llm = ScriptedLLM(tell, "I come.")
    with Session(Agent("robi", llm=llm, hooks=[GoalReports(report)])) as session:
        session.step("how full is your battery?")
        assert llm.requests[-1].messages[-1].text == "dinner has ended: come down"


def test_it_is_told_after_the_answer_of_a_run_that_goes_on() -> None:
    ride = Ride()

    def arrive(request: object) -> str:
        ride.arrive.set()
        assert told.wait(LIMIT_S)
        return "80 percent."

    llm = ScriptedLLM([call("go_to", place="bedroom")], arrive)
    with Session(Agent("robi", llm=llm, tools=[ride.tool], hooks=[GoalReports(report)])) as session:
        told = threading.Event()
        follow_up = session.follow_up

        def noted(*args: object, **keywords: object) -> object:
            made = follow_up(*args, **keywords)
            told.set()
            return made

        session.follow_up = noted
        interrupted(session, "go to the bedroom")
        session.step("how full is your battery?")
        said = [message.text for message in session.messages() if message.role == "assistant" and message.text]
        assert said == ["80 percent.", "I am in the bedroom."]


def test_other_follow_ups_and_people_go_to_the_model() -> None:
    llm = ScriptedLLM("a", "b", "c")
    with Session(Agent("robi", llm=llm, hooks=[GoalReports(report)])) as session:
        session.step("go_to has ended: what does that mean?")
        session.step(Message.user("[timer] 5 seconds are over", origin="follow_up"))
        session.step(Message.user("the war has ended: hooray", origin="follow_up"))
    assert [request.messages[-1].text for request in llm.requests] == [
        "go_to has ended: what does that mean?",
        "[timer] 5 seconds are over",
        "the war has ended: hooray",
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("go_to", "arrived at the sofa", "I am at the sofa."),
        ("drive", "drove back 2 m", "I drove back 2 m."),
        ("turn", "turned left 90 degrees", "I turned left 90 degrees."),
        ("pick_up", "picked up the cup in the bathroom", "I picked up the cup in the bathroom."),
        ("put_down", "put the cup down at the sofa", "I put the cup down at the sofa."),
        ("follow", "followed you for 60 s", "I followed you for 60 s."),
        ("dock", "docked and charging", "I am docked and charging."),
        ("go_to", "blocked by the sofa after 0.7 m", "I could not go there: blocked by the sofa after 0.7 m."),
        ("follow", "lost you after 12 s", "I could not follow you: lost you after 12 s."),
        ("dock", "the battery ran out after 2 m", "I could not dock: the battery ran out after 2 m."),
    ],
)
def test_results_of_the_house_robot_in_its_own_words(name: str, text: str, said: str) -> None:
    assert report(name, text) == said


def test_nano_arrives_and_stays_there(nano: LlamaLLM) -> None:
    """Without the hook it takes the end of the drive for a command, and drives again."""
    robot = HouseRobot(speed=8)
    for one in robot.tools:
        if one.traits.is_skill:
            one.traits = replace(one.traits, on_interrupt="detach")
    agent = Agent("robi", INSTRUCTIONS, llm=nano, tools=robot.tools, latch=robot.latch)
    agent.hooks.append(GoalReports(report))
    with Session(agent) as session:
        interrupted(session, "go to the bedroom")
        over = ended(session, run=2)
        session.start("how full is your battery?")
        assert over.wait(LIMIT_S)
        said = [message.text for message in session.messages() if message.role == "assistant" and message.text]
        calls = [made.name for message in session.messages() for made in message.tool_calls]
        assert said == ["My battery is at 80 percent.", "I am in the bedroom."]
        assert calls == ["go_to", "get_battery"]
        assert session.step("where are you?").reply == "I am in the bedroom."
    robot.close()


NOTE = "drive has ended: replaced by drive(5)"


def test_a_note_goes_with_the_request_that_takes_the_place_of_another() -> None:
    with Stage(LONG, "Right.") as stage:
        stage.session.note(NOTE)
        stage.begin()
        stage.pause("drive forward")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_s(0.3)
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("drive forward two meters")
        stage.pass_s(0.4)
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [message.text for message in stage.llm.requests[-1].messages] == [NOTE, "drive forward two meters"]


def test_a_note_is_no_part_of_what_was_asked_too_early() -> None:
    with Stage("Right.", "Right.", token_delay_s=3.0) as stage:
        stage.session.note(NOTE)
        runs = stage.dialogue.robot.runs
        runs.ask("go to the")
        assert until(lambda: stage.llm.requests)
        assert runs.unnoticed == "go to the"
        assert runs.discard(5.0)
        assert [note.text for note in stage.session.agent.notes] == [NOTE], "it goes with the next request"
