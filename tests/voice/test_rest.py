"""Motion that a spoken turn asks for waits until the person can hardly go on, and is undone if that happens."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, cast

import pytest

from edgeagent import Agent, GoalHandle, skill, tool
from edgeagent.llm import LLM, LLMRequest
from edgeagent.messages import Message
from edgeagent.robot import SafetyLatch
from edgeagent.stt import RecognisedText, hearing
from edgeagent.testing import call
from edgeagent.tools import SchemaSignature, Tool, ToolTraits
from edgeagent.voice import PRESETS, AnnouncerSettings, RestOfTurn, State, lacks_amount

from .scenes import Waiting, latch, quiet, transcribed, until
from .stage import Stage

AFTER_S = 0.6
"""Long enough for the robot to tell of the motion."""
STEP_S, LATE_S = 0.02, 0.4
"""Between two looks at the time, and what a busy machine adds."""
SETTINGS = quiet(
    preset=replace(PRESETS["balanced"], motion_after_ms=1000 * AFTER_S), announcer=AnnouncerSettings(again_s=0)
)


def _reply(request: LLMRequest) -> Any:
    """The last word that somebody has said is where to turn."""
    told = request.messages[-1]
    return [call("turn", to=told.text.rpartition(" ")[2])] if told.role == "user" else "Turned."


class Turner(Stage):
    """A robot that turns where it is told to."""

    def __init__(self) -> None:
        self.turned: list[str] = []
        self.may_end = threading.Event()
        self.may_end.set()

        @skill(resources=["base"])
        def turn(goal: GoalHandle, to: str) -> str:
            """Turns."""
            self.turned.append(to)
            self.may_end.wait(10)
            return "turned"

        agent = Agent("robi", tools=[turn], latch=SafetyLatch())
        super().__init__(*[_reply] * 9, agent=agent, settings=SETTINGS)

    def turn_left(self, *, aloud: bool = False) -> float:
        """Somebody says "turn left" until the time that it returns, and pauses until the model has called for it, or
        the robot says so."""
        self.begin()
        self.pass_s(0.4)
        paused_s = self.now_s
        self.pause("turn left")
        self.pass_until(lambda: bool(self.llm.requests))
        if aloud:
            self.pass_until(lambda: self.state is State.SPEAKING)
            self.pass_s(0.1)
        assert self.turned == []
        assert latch(self) == "held"
        return paused_s

    @property
    def told(self) -> list[str]:
        return [message.text for message in self.session.messages() if self._is_asked(message)]

    @staticmethod
    def _is_asked(message: Message) -> bool:
        return message.role == "user" and message.origin != "marker"


def test_motion_begins_once_nobody_goes_on() -> None:
    with Turner() as stage:
        paused_s = stage.turn_left()
        stage.pass_until(lambda: stage.turned == ["left"])
        assert AFTER_S - STEP_S <= stage.now_s - paused_s < AFTER_S + LATE_S
        assert latch(stage) == "free"


def test_motion_begins_at_once_where_the_utterance_is_over() -> None:
    with Turner() as stage:
        stage.begin()
        stage.pass_s(0.4)
        stage.pause("turn left")
        stage.end()
        assert until(lambda: stage.turned == ["left"])


@pytest.mark.parametrize(
    ("text", "after_s"),
    [
        ("turn left", 1.2),
        ("turn left 90 degrees", AFTER_S),
        ("turn left ninety degrees", AFTER_S),
        ("turn around", AFTER_S),
    ],
)
def test_motion_waits_longer_for_an_amount_that_was_not_told(text: str, after_s: float) -> None:
    turned: list[float] = []

    @tool(motion=True)
    def turn(degrees: float | None = None) -> str:
        """Turns."""
        turned.append(degrees or 0.0)
        return "turned"

    preset = replace(SETTINGS.preset, amount_after_ms=1200)
    agent = Agent("robi", tools=[turn], latch=SafetyLatch())
    reply = [call("turn", degrees=90)]
    with Stage(reply, "Turned.", agent=agent, settings=replace(SETTINGS, preset=preset)) as stage:
        stage.begin()
        stage.pass_s(0.4)
        stage.pause(text)
        paused_s = stage.now_s
        stage.pass_until(lambda: bool(turned))
        assert after_s - STEP_S <= stage.now_s - paused_s < after_s + LATE_S


def test_of_two_motions_at_once_the_one_that_lacks_an_amount_is_waited_for() -> None:
    rest = RestOfTurn(SafetyLatch())
    rest.begin(1.4, amount_until_s=1.6)
    assert rest.hold(lacks_amount=True)
    assert rest.hold()
    rest.tick(1.5)
    assert rest.holds
    rest.tick(1.6)
    assert not rest.holds


def test_a_motion_that_lacks_an_amount_is_waited_for_after_another_has_begun() -> None:
    rest = RestOfTurn(latch := SafetyLatch())
    rest.begin(1.4, amount_until_s=1.6)
    assert rest.hold()
    rest.tick(1.4)
    assert latch.state == "free"
    assert rest.hold(lacks_amount=True)
    rest.tick(1.6)
    assert latch.state == "free"
    assert rest.until_s is None


def test_motion_that_begins_leaves_the_time_of_what_is_asked_next() -> None:
    rest = RestOfTurn(latch := SafetyLatch())
    rest.begin(1.4, amount_until_s=1.6)
    assert rest.hold()
    rest.begin(2.4, amount_until_s=2.6)
    rest.let_begin()
    assert latch.state == "free"
    rest.tick(2.5)
    assert not rest.hold()
    assert rest.hold(lacks_amount=True)


def test_motion_that_is_called_for_while_something_sounds_waits_as_well() -> None:
    rest = RestOfTurn(SafetyLatch())
    rest.begin(1.4)
    rest.tick(1.45 - 0.15)
    assert rest.hold()


@pytest.mark.parametrize(
    ("schema", "lacks"),
    [
        ({"type": "number"}, True),
        ({"type": ["integer", "null"]}, True),
        ({"anyOf": [{"type": "number"}, {"type": "null"}, True]}, True),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, True),
        ({"type": "string"}, False),
        ({"type": None, "anyOf": None}, False),
        ({"type": 5}, False),
        (True, False),
    ],
)
def test_a_number_that_a_tool_takes_is_found_in_any_schema(schema: object, lacks: bool) -> None:
    signature = SchemaSignature({"type": "object", "properties": {"much": schema}}, description="Moves.", injected={})
    made = Tool(lambda arguments, context: "ok", ToolTraits(motion=True), name="move", signature=signature)
    assert lacks_amount(made, "move on") is lacks
    assert not any(lacks_amount(made, f"move on by {amount}") for amount in ("2 metres", "two metres", "half a metre"))
    assert not lacks_amount(made, "turn around")


def test_sound_after_a_pause_may_be_speech_before_it_is_known_for_that() -> None:
    with Turner() as stage:
        stage.begin()
        stage.pass_s(0.4)
        stage.pause("turn left")
        paused_s = stage.now_s
        stage.ears.level_db = -50.0
        stage.pass_until(lambda: bool(stage.llm.requests))
        sound_s = 0.15 - STEP_S
        assert stage.now_s - paused_s >= SETTINGS.preset.command_end_ms / 1000 + sound_s
        stage.pass_until(lambda: stage.turned == ["left"])
        assert AFTER_S + sound_s <= stage.now_s - paused_s < AFTER_S + sound_s + LATE_S


def test_what_is_typed_moves_at_once() -> None:
    with Turner() as stage:
        stage.dialogue.hear("turn left", typed=True)
        assert until(lambda: stage.turned == ["left"])


def test_a_correction_leaves_the_motion_undone_that_waited() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.go_on()
        stage.pass_s(1.5)
        assert stage.turned == [], "who speaks on may take it back"
        stage.pause("turn left sorry i mean right")
        stage.pass_until(lambda: stage.turned == ["right"])
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.told == ["turn left sorry i mean right"]


def test_it_is_told_of_while_it_waits() -> None:
    with Turner() as stage:
        stage.may_end.clear()
        stage.turn_left(aloud=True)
        stage.pass_until(lambda: stage.turned == ["left"])
        stage.pass_s(1.5)
        stage.may_end.set()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(2.0)
        said = [event.text for event in stage.log if event.kind == "heard"]
        assert said == ["Turning the left.", "Turned."], "it is announced once"


@pytest.mark.parametrize("aloud", [False, True])
@pytest.mark.parametrize("heard", ["turn left", ""])
def test_a_noise_that_follows_lets_it_begin(heard: str, aloud: bool) -> None:
    with Turner() as stage:
        stage.turn_left(aloud=aloud)
        stage.go_on()
        stage.pass_s(0.5)
        assert stage.turned == []
        stage.pause(heard, understood=bool(heard))
        stage.pass_until(lambda: stage.turned == ["left"], 4.0)
        stage.pass_s(2.0)
        assert next(event.text for event in stage.log if event.kind == "heard") == "Turning the left."


def test_it_waits_for_some_seconds_of_speech_at_most() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.go_on()
        stage.pass_s(3.5)
        assert stage.turned == []
        stage.pass_until(lambda: stage.turned == ["left"], 1.0)


def test_a_stop_while_it_waits_leaves_nothing_held() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.dialogue.stop("button")
        stage.settle()
        stage.pass_s(1.0)
        assert stage.turned == []
        assert stage.dialogue.rearm()
        assert latch(stage) == "free"


def test_a_conversation_that_ends_meanwhile_holds_nothing() -> None:
    with Turner() as stage:
        stage.turn_left()
        held = stage.dialogue.latch
    assert held.state != "held"


@pytest.mark.parametrize("aloud", [False, True])
def test_a_rest_that_is_not_understood_leaves_it_undone_and_is_asked_about(aloud: bool) -> None:
    with Turner() as stage:
        stage.turn_left(aloud=aloud)
        stage.go_on()
        stage.pass_s(0.5)
        stage.pause("turn left so my might", understood=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(1.0)
        assert stage.turned == []
        assert stage.told == []
        assert latch(stage) == "free"
        stage.say("turn right")
        stage.pass_until(lambda: stage.turned == ["right"])


@pytest.mark.parametrize(
    ("rest", "turned"),
    [("louder", ["left"]), ("be quiet", ["left"]), ("please go to the right", ["left", "right"])],
)
@pytest.mark.parametrize("aloud", [False, True])
def test_what_is_about_something_else_leaves_the_motion_to_begin(rest: str, turned: list[str], aloud: bool) -> None:
    with Turner() as stage:
        stage.turn_left(aloud=aloud)
        stage.go_on()
        stage.pass_s(0.6)
        assert stage.turned == []
        stage.pause(f"turn left {rest}")
        stage.pass_until(lambda: stage.turned == turned, 3.0)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert latch(stage) == "free"


def test_a_wait_that_was_spotted_and_was_none_does_not_undo_the_motion() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.go_on()
        stage.pass_s(0.3)
        stage.spot_wait("wait")
        stage.pass_s(0.3)
        stage.pause("turn left what time is it")
        stage.pass_until(lambda: bool(stage.turned), 3.0)
        assert stage.turned[0] == "left"


def test_motion_waits_on_where_an_utterance_is_cut_for_its_length() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.go_on()
        stage.tell(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=True))
        stage.pass_s(0.5)
        assert stage.turned == []


def test_a_correction_of_what_was_done_is_asked_alone() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.pass_until(lambda: stage.turned == ["left"])
        stage.go_on()
        stage.pass_s(0.5)
        stage.pause("turn left sorry i mean right")
        stage.pass_until(lambda: stage.turned == ["left", "right"])
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.told == ["turn left", "sorry i mean right"]


def test_motion_that_was_let_go_slowly_is_not_begun_by_its_correction() -> None:
    with Turner() as stage:
        slow = threading.Event()
        stage.dialogue.latch.subscribe(lambda state, reason: slow.wait(0.04 if str(state) == "free" else 0))
        stage.turn_left()
        stage.go_on()
        stage.pass_s(0.5)
        stage.pause("turn left sorry i mean right")
        stage.pass_until(lambda: bool(stage.turned))
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.turned == ["right"]


@pytest.mark.parametrize("aloud", [False, True])
@pytest.mark.parametrize(("rest", "turned"), [("no the right", ["right"]), ("no", [])])
def test_a_no_may_be_the_beginning_of_a_correction_while_the_motion_waits(
    rest: str, turned: list[str], aloud: bool
) -> None:
    with Turner() as stage:
        stage.turn_left(aloud=aloud)
        stage.go_on()
        stage.pass_s(0.3)
        stage.pause("turn left no")
        stage.pass_s(0.6)
        if rest != "no":
            stage.go_on()
            stage.pass_s(0.4)
            stage.pause(f"turn left {rest}")
        stage.pass_s(3.0)
        assert stage.turned == turned
        assert latch(stage) == "free"


def test_a_run_that_has_not_called_for_motion_yet_is_undone_where_the_rest_is_not_understood() -> None:
    with Turner() as stage:
        go = threading.Event()
        stage.agent.llm = cast(LLM, Waiting(stage.llm, go))
        stage.begin()
        stage.pause("turn left")
        for _ in range(40):
            stage.ears.block()
        assert until(lambda: stage.state is State.THINKING)
        stage.ears.on_event(hearing.SpeechResumed(stage.ears.utterance, stage.now_s))
        for _ in range(40):
            stage.ears.block()
        stage.ears.on_event(hearing.SoftEnd(stage.ears.utterance, stage.now_s))
        heard = RecognisedText("turn left so my might", understood=False)
        stage.ears.on_event(hearing.FinalTranscript(stage.ears.utterance, heard, stage.now_s, 0.1))
        stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        assert until(lambda: stage.state is not State.HEARING)
        go.set()
        stage.pass_s(2.0)
        assert stage.turned == []


def test_motion_waits_on_for_words_that_come_after_the_end_of_the_utterance() -> None:
    with Turner() as stage:
        stage.turn_left()
        stage.go_on()
        stage.pass_s(0.5)
        stage.tell(hearing.SoftEnd(stage.ears.utterance, stage.now_s))
        stage.tell(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        stage.pass_s(0.5)
        assert stage.turned == []
        transcribed(stage, stage.ears.utterance, "turn left sorry i mean right", stage.now_s)
        stage.pass_until(lambda: stage.turned == ["right"])
