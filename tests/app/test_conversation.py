"""A conversation as a builder has it in a program of his own: the contract's methods, in the simulated room."""

import inspect
import json
import threading
import wave
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeagent import Agent, Conversation, GoalHandle, LlamaLLM, Options, Session, events, skill
from edgeagent.app import RECORDED
from edgeagent.config import Config
from edgeagent.errors import AudioError, BusyError, ConfigError
from edgeagent.hooks import GroundingHook
from edgeagent.robot import SafetyLatch
from edgeagent.testing import Room, RoomSettings, ScriptedLLM, call

STEP_S = 0.04
QUIET = Config(conversation={"chimes": False}, ears={"stop_words": "stop"}, speech={"voice": "en"})
"""espeak-ng's voice is ready at once."""


class Home:
    """A conversation in a room whose clock a test moves."""

    def __init__(self, *replies: str, config: Config = QUIET, token_delay_s: float = 0) -> None:
        self.room = Room(RoomSettings(rate_hz=16_000, record=False))
        self.llm = ScriptedLLM(*replies, token_delay_s=token_delay_s)
        self.agent = Agent("robi", llm=self.llm, latch=SafetyLatch(), phrases=("what time is it",))
        self.conversation = Conversation(self.agent, config=config, input=self.room)
        self.log: list[object] = []

    def pass_until(self, condition: object, limit_s: float = 20.0) -> None:
        for _ in range(round(limit_s / STEP_S)):
            if condition():  # type: ignore[operator]
                return
            self.room.run(STEP_S)
            assert self.conversation.dialogue.settle(20)
        raise AssertionError(f"not within {limit_s} s; the conversation is {self.conversation.state}")


@pytest.fixture(scope="module")
def open_home() -> Iterator[Home]:
    made = Home("It is noon.", "Yes.")
    with made.conversation:
        made.conversation.subscribe(made.log.append)
        made.conversation.start()
        yield made


@pytest.fixture
def home(open_home: Home) -> Home:
    """One conversation for all that leave it as it was."""
    open_home.pass_until(lambda: open_home.conversation.state == "listening")
    open_home.conversation.session.reset()
    return open_home


def test_it_obeys_the_settings(tmp_path: Path) -> None:
    config = replace(
        QUIET,
        max_tokens=9,
        temperature=0.5,
        deadline_s=60.0,
        max_turns=3,
        audit=tmp_path / "audit.jsonl",
        log=tmp_path / "log.jsonl",
        session=tmp_path / "robi.journal",
        pii={"user": "redact"},
    )
    made = Home("It is noon.", config=config)
    with made.conversation as conversation:
        conversation.subscribe(made.log.append)
        conversation.start()
        conversation.hear("write to ada@example.com")
        made.pass_until(lambda: any(isinstance(event, events.AgentEnd) for event in made.log))
        options = conversation.session.options
    request = made.llm.requests[-1]
    assert (request.max_tokens, request.temperature) == (9, 0.5)
    assert request.messages[-1].text == "write to <EMAIL>"
    assert options is not None
    assert (options.deadline_s, options.max_turns) == (60, 3)
    audited = (tmp_path / "audit.jsonl").read_text(encoding="utf-8")
    assert '"point": "on_run_end"' in audited
    assert "ada@example.com" not in audited
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {"agent_end", "voice_state"} <= set(kinds)


def test_a_deadline_of_the_settings_ends_a_run() -> None:
    made = Home("slow " * 100, config=replace(QUIET, deadline_s=0.2), token_delay_s=0.5)
    with made.conversation as conversation:
        conversation.subscribe(made.log.append)
        conversation.start()
        conversation.hear("what time is it")
        made.pass_until(lambda: any(isinstance(event, events.AgentEnd) for event in made.log))
    (ended,) = [event for event in made.log if isinstance(event, events.AgentEnd)]
    assert (ended.reason, ended.abort_reason) == ("aborted", "deadline")


def test_a_session_that_is_given_goes_on_with_its_own_options() -> None:
    agent = Agent("robi", llm=ScriptedLLM("Hello."), latch=SafetyLatch())
    with Session(agent, options=Options(max_tokens=50)) as session:
        session.step("hi")
        config = replace(QUIET, max_tokens=9)
        with Conversation(agent, config=config, input=Room(RoomSettings(rate_hz=16_000)), session=session) as other:
            assert other.session is session
            assert session.options is not None
            assert session.options.max_tokens == 50
        assert len(session.messages()) == 2, "it is still open, and whole"


def test_it_is_recorded_once_until_it_is_closed_and_says_so(tmp_path: Path) -> None:
    home = Home()
    with home.conversation:
        home.conversation.subscribe(home.log.append)
        home.conversation.start()
        recorder = home.conversation.record(tmp_path / "talk.wav")
        with pytest.raises(BusyError, match="is recorded already, in"):
            home.conversation.record(tmp_path / "other.wav")
        home.pass_until(
            lambda: [event for event in home.log if isinstance(event, events.Heard) and event.text == RECORDED]
        )
    assert list(tmp_path.iterdir()) == [recorder.path]
    with wave.open(str(recorder.path)) as file:
        assert (file.getnchannels(), file.getframerate()) == (2, 16_000)
        sound = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    assert np.abs(sound[:, 1].astype(float)).max() > 3_000, "the announcement is on the right"


def test_it_has_the_methods_of_the_contract() -> None:
    wanted = {
        "start": [],
        "run": [],
        "close": [],
        "say": ["text", "priority", "interruptible"],
        "hear": ["text"],
        "listen": ["on"],
        "push_to_talk": ["down"],
        "mute": ["on"],
        "stop": ["reason"],
        "rearm": [],
        "subscribe": ["fn"],
    }
    for name, parameters in wanted.items():
        assert list(inspect.signature(getattr(Conversation, name)).parameters)[1:] == parameters, name
    made = inspect.signature(Conversation).parameters
    assert {"agent", "config", "input", "output", "session"} <= made.keys()


def test_what_is_typed_is_answered_aloud(home: Home) -> None:
    home.conversation.hear("what time is it")
    home.pass_until(lambda: home.conversation.state == "speaking")
    home.pass_until(lambda: home.conversation.state == "listening")
    assert [message.text for message in home.conversation.session.messages()] == ["what time is it", "It is noon."]


def test_the_builder_may_say_something_and_is_told_what_was_heard(home: Home) -> None:
    handle = home.conversation.say("Dinner is ready.")
    home.pass_until(lambda: handle.done)
    assert handle.heard == "Dinner is ready."


def test_muted_it_answers_without_a_sound(home: Home) -> None:
    home.conversation.mute(True)
    handle = home.conversation.say("Dinner is ready.")
    home.pass_until(lambda: handle.done)
    assert home.conversation.dialogue.robot.playback.volume == 0
    home.conversation.mute(False)
    assert home.conversation.dialogue.robot.playback.volume == 1


def test_a_stop_holds_until_it_is_re_armed(home: Home) -> None:
    home.conversation.stop("button")
    assert home.conversation.latch.state == "tripped"
    assert home.agent.latch is home.conversation.latch
    assert home.conversation.rearm()
    assert home.conversation.latch.state == "free"


def test_it_ends_whoever_closes_it_and_leaves_nothing() -> None:
    before = set(threading.enumerate())
    made = Home("Never said.")
    ended = threading.Event()
    waiting = threading.Thread(target=lambda: (made.conversation.run(), ended.set()))
    waiting.start()
    made.conversation.close()
    made.conversation.close()
    assert ended.wait(20)
    waiting.join(20)
    left = [thread for thread in set(threading.enumerate()) - before if not thread.daemon]
    assert left == []


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (Config(conversation={"barge_in": "loud"}, speech=QUIET.speech), "there is no barge-in preset 'loud'"),
        (Config(ears={"stop_words": ""}, speech=QUIET.speech), "stop_words"),
        (Config(ears={"engine": "hal"}, speech=QUIET.speech), "there is no engine 'hal'"),
    ],
)
def test_a_wrong_setting_is_told_before_anything_listens(config: Config, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Home("x", config=config)


def test_two_devices_without_a_common_clock_are_refused() -> None:
    agent = Agent("robi", llm=ScriptedLLM("x"))
    with pytest.raises(AudioError, match="no common clock"):
        Conversation(agent, config=QUIET, input=Room(), output=Room())


def test_a_session_of_another_agent_is_refused() -> None:
    with Session(Agent("other", llm=ScriptedLLM("x"))) as session:
        with pytest.raises(ConfigError, match="the session is one of the agent 'other', not of 'robi'"):
            Conversation(Agent("robi", llm=ScriptedLLM("x")), config=QUIET, input=Room(), session=session)
        assert session.step("hi").reply == "x"


def test_a_latch_that_cannot_be_held_is_refused() -> None:
    class Switch:
        state, reason = "free", ""

        def trip(self, reason: str) -> bool:
            return True

        def subscribe(self, listener: object) -> object:
            return lambda: None

    agent = Agent("robi", llm=ScriptedLLM("x"), latch=Switch())
    with pytest.raises(ConfigError, match="latch is a Switch"):
        Conversation(agent, config=QUIET, input=Room())


def closed_while_closing(home: Home, kind: str) -> bool:
    """Closes it on a thread, and once more by whoever takes an event of that kind; whether both calls returned."""
    told = threading.Event()

    def close_too(event: object) -> None:
        if getattr(event, "kind", "") == kind:
            home.conversation.close()
            told.set()

    home.conversation.subscribe(close_too)
    closing = threading.Thread(target=home.conversation.close, daemon=True)
    closing.start()
    closing.join(20)
    return not closing.is_alive() and told.is_set()


def test_who_is_told_what_was_heard_may_close_it_while_it_is_closed() -> None:
    home = Home()
    home.conversation.start()
    said = home.conversation.say("The washing machine has finished, and somebody should hang up the laundry.")
    home.pass_until(lambda: home.conversation.state == "speaking")
    home.pass_until(lambda: bool(said.heard))
    assert closed_while_closing(home, "heard")


def test_who_is_told_of_the_end_of_a_run_may_close_it_while_it_is_closed() -> None:
    home = Home()
    home.agent.llm = ScriptedLLM("word " * 300, token_delay_s=0.02)
    begun = threading.Event()
    home.conversation.subscribe(lambda event: begun.set() if event.kind == "message_update" else None)
    home.conversation.start()
    home.conversation.hear("what time is it")
    assert begun.wait(20)
    assert closed_while_closing(home, "agent_end")


def test_the_next_conversation_of_a_session_asks_for_itself() -> None:
    agent = Agent("robi", llm=ScriptedLLM("It is noon."), latch=SafetyLatch())
    with Session(agent) as session:
        before = session.callbacks, session.options
        for _ in range(2):
            room = Room(RoomSettings(rate_hz=16_000, record=False))
            with Conversation(agent, config=QUIET, input=room, session=session) as conversation:
                assert session.options is not None
                assert session.options.confirm == conversation.dialogue.robot.person.confirm
        assert (session.callbacks, session.options) == before


def test_an_agent_without_a_model_has_one_in_each_conversation_and_none_after_it() -> None:
    agent = Agent("robi")
    hooks = list(agent.hooks)
    for _ in range(2):
        with Conversation(agent, config=QUIET, input=Room(RoomSettings(rate_hz=16_000))) as conversation:
            assert conversation.session.step("hello").reply
        assert (agent.llm, agent.hooks) == (None, hooks)


def test_the_guards_of_a_builders_model_outlive_a_conversation_that_another_one_follows(nano: LlamaLLM) -> None:
    agent = Agent("robi", llm=nano)
    first, second = (Conversation(agent, config=QUIET, input=Room(RoomSettings(rate_hz=16_000))) for _ in range(2))
    first.close()
    assert any(isinstance(hook, GroundingHook) for hook in agent.hooks)
    second.close()


def test_a_conversation_that_cannot_begin_leaves_the_agent_as_it_was() -> None:
    agent = Agent("robi")
    with pytest.raises(AudioError, match="no common clock"):
        Conversation(agent, config=QUIET, input=Room(), output=Room())
    assert (agent.llm, agent.hooks) == (None, [])


def test_a_device_that_is_busy_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home("It is noon.")
    start, refused = home.room.start, []

    def busy(**ends: object) -> None:
        if not refused:
            refused.append(True)
            raise AudioError("microphone is busy")
        start(**ends)  # type: ignore[arg-type]

    monkeypatch.setattr(home.room, "start", busy)
    with home.conversation as conversation:
        with pytest.raises(AudioError, match="busy"):
            conversation.start()
        conversation.start()
        conversation.hear("what time is it")
        home.pass_until(lambda: len(conversation.session.messages()) > 1)
        with pytest.raises(BusyError, match="started already"):
            conversation.start()
    with pytest.raises(BusyError, match="make another one"):
        conversation.start()


def test_what_is_said_while_it_closes_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home("It is noon.")
    home.conversation.start()
    stop, said = home.room.stop, threading.Event()

    def slow() -> None:
        home.conversation.hear("what time is it")
        said.set()
        stop()

    monkeypatch.setattr(home.room, "stop", slow)
    home.conversation.close()
    assert said.is_set()
    assert home.conversation.session.messages() == []
    assert not home.llm.requests


@pytest.mark.parametrize("text", ["", "...", "?!", "\u200b", "\x00"])
def test_what_has_no_word_is_nothing(home: Home, text: str) -> None:
    asked = len(home.llm.requests)
    home.conversation.hear(text)
    home.room.run(0.4)
    assert home.conversation.dialogue.settle(20)
    assert len(home.llm.requests) == asked


def test_who_closes_it_twice_leaves_no_hold_on_the_robot() -> None:
    home = Home("It is noon.")
    with home.conversation as conversation:
        conversation.start()
        conversation.close()
    assert home.agent.latch is not None
    assert home.agent.latch.state == "free"


class Rover:
    """A conversation with a builder's robot that drives until it is there, or stopped."""

    def __init__(self, *replies: object, **traits: object) -> None:
        self.driving, self.most, self.ends = 0, 0, []
        self.began, self.there = threading.Event(), threading.Event()
        counting = threading.Lock()

        @skill(**traits)  # type: ignore[arg-type]
        def drive(place: str, goal: GoalHandle) -> str:
            """Drives."""
            with counting:
                self.driving += 1
                self.most = max(self.most, self.driving)
            self.began.set()
            while not self.there.wait(0.005) and not goal.cancelled:
                pass
            with counting:
                self.driving -= 1
            self.ends.append(f"{place}: {'cancelled' if goal.cancelled else 'arrived'}")
            return f"arrived in the {place}"

        self.agent = Agent("rover", llm=ScriptedLLM(*replies), tools=[drive])
        self.room = Room(RoomSettings(rate_hz=16_000, record=False))
        self.conversation = Conversation(self.agent, config=QUIET, input=self.room)
        self.conversation.start()

    def begin(self, text: str) -> None:
        self.began.clear()
        self.conversation.hear(text)
        assert self.began.wait(20)

    def pass_until(self, condition: object) -> None:
        Home.pass_until(self, condition)  # type: ignore[arg-type]

    @property
    def said(self) -> list[str]:
        return [message.text for message in self.conversation.session.messages() if message.role == "assistant"]


def test_a_question_is_answered_while_a_builders_skill_drives_on() -> None:
    rover = Rover([call("drive", place="kitchen")], "It is full.")
    with rover.conversation:
        context = rover.conversation.session.context
        assert context.conversing
        rover.begin("drive to the kitchen")
        rover.conversation.hear("how full is your battery")
        rover.pass_until(lambda: "It is full." in rover.said)
        assert rover.agent.goals_at_work == ("drive",)
        rover.there.set()
        rover.pass_until(lambda: "Arrived in the kitchen." in rover.said)
    assert rover.ends == ["kitchen: arrived"]
    assert not context.conversing, "after it, the session cancels as before"


def test_another_drive_replaces_one_that_names_no_resource_and_never_are_there_two() -> None:
    rover = Rover([call("drive", place="kitchen")], [call("drive", place="bedroom")])
    with rover.conversation:
        rover.begin("drive to the kitchen")
        rover.begin("no, the bedroom")
        assert rover.ends == ["kitchen: cancelled"]
        rover.there.set()
        rover.pass_until(lambda: "bedroom: arrived" in rover.ends)
    assert rover.most == 1


def test_a_skill_that_says_cancel_is_cancelled_by_a_question() -> None:
    rover = Rover([call("drive", place="kitchen")], "It is full.", on_interrupt="cancel")
    with rover.conversation:
        rover.begin("drive to the kitchen")
        rover.conversation.hear("how full is your battery")
        rover.pass_until(lambda: "It is full." in rover.said)
        assert rover.ends == ["kitchen: cancelled"]
