"""The conversation does what the table says, over a real mouth and a real loop."""

import inspect
import threading
from collections.abc import Callable

import pytest

from edgeagent import Agent, ToolContext, skill, tool
from edgeagent.robot import SafetyLatch
from edgeagent.stt import hearing
from edgeagent.stt.ears import Ears
from edgeagent.testing import call
from edgeagent.tools import GoalHandle
from edgeagent.voice.completeness import Phrases
from edgeagent.voice.presets import PRESETS
from edgeagent.voice.settings import DialogueSettings
from edgeagent.voice.table import TABLE, Event, State

from .stage import PlayedEars, Stage

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
QUIET = DialogueSettings(chimes=False)


def _with(**changes: object) -> DialogueSettings:
    return DialogueSettings(chimes=False, **changes)  # type: ignore[arg-type]


def _latched() -> Agent:
    return Agent("robi", latch=SafetyLatch())


def test_the_played_ears_are_like_the_real_ones() -> None:
    for name in ("start", "listen", "settle", "close"):
        real, played = inspect.signature(getattr(Ears, name)), inspect.signature(getattr(PlayedEars, name))
        assert [p.replace(annotation=p.empty) for p in real.parameters.values()] == [
            p.replace(annotation=p.empty) for p in played.parameters.values()
        ], name
    for name in ("hard_end_ms", "soft_end_ms", "utterance", "now_s"):
        assert hasattr(Ears, name) or name in inspect.getsource(Ears.__init__), name


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", Event)
def test_every_cell_does_its_action_and_goes_to_its_state(state: State, event: Event) -> None:
    with Stage() as stage:
        dialogue, states, done = stage.dialogue, stage.dialogue.turns.states, []
        states.actions = {action: lambda action=action: done.append(action) for action in states.actions}
        states._what_goes_on = lambda: State.LISTENING
        states.look = lambda: None  # type: ignore[method-assign]
        states.now = state
        fired = threading.Event()
        dialogue._post(lambda: (states.fire(event), fired.set()))
        assert fired.wait(10)
        cell = TABLE[state, event]
        assert done == [cell.action]
        assert dialogue.state == {"stay": state, "back": State.LISTENING}.get(cell.then, cell.then)


# --- a turn --------------------------------------------------------------------------------------------------------


def test_a_question_is_answered_aloud() -> None:
    with Stage("It is noon.") as stage:
        stage.say("what time is it")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.states() == ["hearing", "thinking", "speaking", "listening"]
        assert [m.text for m in stage.session.messages()] == ["what time is it", "It is noon."]
        stage.pass_s(0.1)
        assert [event.text for event in stage.log if event.kind == "heard"] == ["It is noon."]


def test_a_complete_command_ends_soon_and_an_unfinished_one_late() -> None:
    with Stage("Going.", settings=_with(phrases=Phrases(["go to the kitchen"]))) as stage:
        stage.begin()
        stage.pause("go to the")
        assert stage.ears.hard_end_ms == PRESETS["balanced"].unfinished_end_ms
        stage.pass_s(1.2)
        assert not stage.session.messages()
        stage.go_on()
        stage.pause("go to the kitchen")
        assert _waited_ms(stage) == pytest.approx(PRESETS["balanced"].command_end_ms, abs=60)
        assert stage.ears.hard_end_ms == PRESETS["balanced"].reopen_ms, "it may go on"
        assert stage.session.messages()[0].text == "go to the kitchen"


def _waited_ms(stage: Stage) -> float:
    """Silence until the turn is over."""
    since_s = stage.now_s
    stage.pass_until(lambda: stage.state is not State.HEARING, 3.0)
    return (stage.now_s - since_s) * 1000


@pytest.mark.parametrize(
    ("text", "probability", "ends"),
    [
        ("the kitchen is nice", 0.9, "command_end_ms"),
        ("the kitchen is nice", 0.1, "unfinished_end_ms"),
        ("go to the kitchen", 0.9, "command_end_ms"),
        ("go to the kitchen", 0.1, "statement_end_ms"),
        ("what time is it", 0.9, "question_end_ms"),
        ("go to the", 0.9, "unfinished_end_ms"),
    ],
)
def test_a_turn_end_model_decides_where_the_words_do_not(text: str, probability: float, ends: str) -> None:
    with Stage("Yes.") as stage:
        stage.begin()
        stage.pause(text)
        stage.tell(hearing.Judged(stage.ears.utterance, probability))
        assert _waited_ms(stage) == pytest.approx(getattr(PRESETS["balanced"], ends), abs=60)


def test_what_is_not_understood_is_asked_about_and_never_acted_on() -> None:
    with Stage() as stage:
        stage.say("hop to the kick", understood=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert stage.session.messages() == []
        assert not stage.llm.requests


def test_what_is_not_understood_but_unfinished_is_waited_for_before_it_is_asked_about() -> None:
    with Stage("Right.") as stage:
        stage.begin()
        stage.pause("turn right by", understood=False)
        assert _waited_ms(stage) == pytest.approx(PRESETS["balanced"].unfinished_end_ms, abs=60)


def test_a_noise_is_no_turn() -> None:
    with Stage() as stage:
        stage.say("", understood=False)
        assert stage.state is State.LISTENING
        assert not stage.llm.requests


def test_speech_that_goes_on_after_a_hard_end_makes_one_turn_of_both_parts() -> None:
    with Stage("Wrong.", "Right.", token_delay_s=0) as stage:
        held = threading.Event()
        model = _Waiting(stage.llm, held)
        stage.agent.llm = model  # type: ignore[assignment]
        stage.begin()
        stage.pause("go to the kitchen")
        stage.ears.on_event(hearing.Ended(stage.ears.utterance, stage.now_s, cut=False))
        assert _until(lambda: stage.state is State.THINKING)
        stage.ears.utterance += 1
        stage.ears.on_event(hearing.Started(stage.ears.utterance, stage.now_s))
        assert _until(lambda: stage.state is State.HEARING)
        stage.ears.on_event(hearing.SoftEnded(stage.ears.utterance, stage.now_s))
        stage.ears.on_event(
            hearing.Transcribed(stage.ears.utterance, hearing.Transcript("and bring me a cup"), stage.now_s, 0.1)
        )
        stage.ears.on_event(hearing.Ended(stage.ears.utterance, stage.now_s, cut=False))
        assert _until(lambda: model.asked == 2)
        held.set()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        texts = [m.text for m in stage.session.messages() if m.role == "user"]
        assert texts == ["go to the kitchen and bring me a cup"]


class _Waiting:
    """A model that answers when it is allowed to, or stopped."""

    def __init__(self, inner: object, go: threading.Event) -> None:
        self._inner, self._go = inner, go
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def stream(self, request: object, stop_event: threading.Event):  # type: ignore[no-untyped-def]
        self.asked += 1
        while not self._go.wait(0.01):
            if stop_event.is_set():
                break
        return self._inner.stream(request, stop_event)  # type: ignore[attr-defined]


def _until(condition: Callable[[], bool], limit_s: float = 10.0) -> bool:
    end = threading.Event()
    for _ in range(int(limit_s / 0.01)):
        if condition():
            return True
        end.wait(0.01)
    return False


def _answer_to_half(stage: Stage, text: str) -> None:
    """Somebody says half of something, and pauses until the robot begins to answer."""
    stage.begin()
    stage.pause(text)
    stage.pass_until(lambda: stage.state in (State.SPEAKING, State.ACTING))


def _asked(stage: Stage) -> list[str]:
    return [m.text for m in stage.session.messages() if m.role == "user" and m.origin != "marker"]


def test_speech_that_goes_on_after_the_answer_has_begun_is_one_turn_and_the_answer_is_taken_back() -> None:
    with Stage(LONG, "Right.") as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        assert stage.state is State.HELD
        stage.pause("drive forward two meters")
        stage.pass_s(0.4)
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["drive forward two meters", "Right."]
        assert stage.kinds().count("speech_start") == 2
        assert [e.soft for e in stage.log if e.kind == "speech_end"] == [True, False, True, False]


def test_speech_that_goes_on_after_it_was_asked_about_is_answered_as_a_whole() -> None:
    with Stage("Right.") as stage:
        stage.begin()
        stage.pause("please try to me", understood=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("please drive to the bedroom")
        stage.pass_s(0.4)
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["please drive to the bedroom", "Right."]


@pytest.mark.parametrize("spotted", [True, False])
def test_a_stop_that_follows_at_once_stops_though_it_belongs_to_the_same_utterance(
    driving: tuple[Agent, threading.Event, list[str]], spotted: bool
) -> None:
    agent, _, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.3)
        if spotted:
            stage.spot("stop")
            stage.partly("drive forward stop")
            assert stage.dialogue.latch.state == "tripped", "it begins what goes on"
        stage.pause("drive forward stop")
        assert stage.dialogue.latch.state == "tripped"
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert len(stage.llm.requests) == 1


def test_never_mind_that_follows_at_once_cancels_though_it_belongs_to_the_same_utterance(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, _, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pause("drive forward never mind")
        stage.end()
        assert _until(lambda: not agent.goals_at_work)
        assert len(stage.llm.requests) == 1


def test_a_noise_after_the_answer_has_begun_lets_it_go_on() -> None:
    with Stage(LONG) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        assert stage.state is State.HELD
        stage.pause("drive forward")
        assert stage.state is State.SPEAKING
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["drive forward", LONG]


@pytest.mark.parametrize(
    ("rest", "asked"),
    [
        ("what time is it", "what time is it"),
        ("please go to the kitchen", "please go to the kitchen"),
        ("no to the kitchen", "no to the kitchen"),
        ("two meters", "drive forward two meters"),
        ("to the window", "drive forward to the window"),
        ("and turn around", "drive forward and turn around"),
    ],
)
def test_only_what_is_no_utterance_of_its_own_belongs_to_what_was_answered(rest: str, asked: str) -> None:
    with Stage(LONG, "Right.") as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause(f"drive forward {rest}")
        stage.pass_s(1.4)
        assert _until(lambda: len(stage.llm.requests) == 2)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert _asked(stage)[-1] == asked
        assert len(_asked(stage)) == (1 if asked.startswith("drive") else 2)


def test_speech_whose_beginning_was_taken_for_a_noise_still_belongs_to_the_turn() -> None:
    with Stage(LONG, "Right.") as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("drive forward")
        stage.pass_s(0.4)
        assert stage.ears.hard_end_ms == PRESETS["balanced"].reopen_ms
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("drive forward two meters")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["drive forward two meters", "Right."]


@pytest.mark.parametrize(
    ("whole", "asked"),
    [
        ("drive forward two meters", ["drive forward", "drive forward two meters"]),
        ("drive forward and turn left", ["drive forward", "turn left"]),
    ],
)
def test_what_half_of_a_turn_has_begun_stays_in_history_and_the_rest_is_asked(whole: str, asked: list[str]) -> None:
    driven: list[str] = []

    @skill(on_interrupt="detach", resources=["base"])
    def drive(goal: GoalHandle, how: str) -> str:
        """Drives until it is replaced."""
        driven.append(how)
        while how == "on" and not goal.cancelled:
            goal.checkpoint()
        return "stopped"

    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    with Stage([call("drive", how="on")], [call("drive", how="anew")], "Right.", "Yes.", agent=agent) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        assert stage.state is State.HEARING
        stage.pause(whole)
        stage.end()
        assert _until(lambda: driven == ["on", "anew"]), "the second replaces the first"
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [text.removeprefix("and ") for text in _asked(stage)][:2] == asked


# --- interrupting --------------------------------------------------------------------------------------------------


def _speaking(stage: Stage) -> None:
    stage.say("count to sixteen")
    stage.pass_until(lambda: stage.state is State.SPEAKING)
    stage.pass_s(1.0)


def test_two_words_over_the_robots_voice_interrupt_it_and_history_has_what_was_heard() -> None:
    with Stage(LONG, "Okay.") as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(0.1)
        assert stage.state is State.HELD
        stage.partly("what a doubt the")
        stage.partly("what about the")
        assert stage.state is State.HELD, "it is a guess"
        stage.partly("what about the kitchen")
        assert stage.state is State.HEARING
        stage.pause("what about the kitchen")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        cut = stage.session.messages()[1]
        assert LONG.startswith(cut.text)
        assert 1 <= len(cut.text.split()) < 10
        assert [m.origin for m in stage.session.messages()][2] == "marker"
        assert stage.session.messages()[-1].text == "Okay."


def test_a_backchannel_lets_the_robot_go_on_where_it_was_held() -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(0.1)
        stage.pause("uh-huh")
        stage.end()
        assert stage.state is State.SPEAKING
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[1].text == LONG
        told = [event for event in stage.log if event.kind == "playback"]
        assert [event.state for event in told] == ["playing", "held", "playing", "stopped"]
        assert told[1].position_s == pytest.approx(1.0, abs=0.3)
        stage.pass_s(0.1)
        assert [event.text for event in stage.log if event.kind == "heard"] == [LONG]


def test_a_second_interrupts_whatever_is_said() -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(1.0)
        assert stage.state is State.HELD, "the silence before a soft end is no speech"
        stage.pass_s(0.15)
        assert stage.state is State.HEARING


@pytest.mark.parametrize(
    "heard", [["we die at", "they need"], ["and he", "and he you"], ["can and", "can and"], ["mm", "mm hmm", "mm hmm"]]
)
def test_what_begins_no_command_is_no_interruption_until_it_is_long(heard: list[str]) -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        for text in heard:
            stage.partly(text)
            stage.pass_s(0.3)
        assert stage.state is State.HELD
        stage.pause("an amnesia", understood=False)
        stage.end()
        assert stage.state is State.SPEAKING


def test_words_that_are_known_and_no_backchannel_interrupt_however_short_they_are() -> None:
    with Stage(LONG, "Okay.") as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(0.2)
        stage.pause("that is enough")
        assert stage.state is State.HEARING


@pytest.mark.parametrize("heard", ["and you", "but i see", "its great"])
def test_a_backchannel_that_is_misheard_lets_it_go_on(heard: str) -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(0.2)
        stage.pause(heard)
        stage.end()
        assert stage.state is State.SPEAKING


def test_an_unfinished_phrase_over_its_voice_is_waited_for_and_then_the_robot_goes_on() -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(0.2)
        stage.pause("set the")
        assert stage.state is State.HELD
        stage.pass_s(0.7)
        assert stage.state is State.SPEAKING


def test_a_backchannel_may_last_longer_than_half_a_second() -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        stage.partly("oh")
        stage.pass_s(0.7)
        stage.partly("oh i see")
        assert stage.state is State.HELD
        stage.pause("oh i see")
        stage.end()
        assert stage.state is State.SPEAKING


def test_a_false_alarm_resumes() -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.begin()
        stage.pass_s(0.1)
        stage.tell(hearing.SoftEnded(stage.ears.utterance, stage.now_s))
        stage.pass_s(0.5)
        assert stage.state is State.HELD
        stage.pass_s(0.2)
        assert stage.state is State.SPEAKING


def test_with_off_only_a_stop_word_interrupts() -> None:
    with Stage(LONG, agent=_latched(), settings=_with(preset=PRESETS["off"])) as stage:
        _speaking(stage)
        stage.begin()
        stage.partly("what about the")
        stage.pass_s(0.8)
        assert stage.state is State.SPEAKING
        stage.spot("stop")
        assert stage.state is State.HELD


def test_louder_is_obeyed_while_the_robot_goes_on() -> None:
    with Stage(LONG) as stage:
        _speaking(stage)
        stage.dialogue.robot.playback.volume = 0.5
        stage.begin()
        stage.pass_s(0.1)
        stage.pause("louder")
        stage.end()
        assert stage.state is State.SPEAKING
        assert stage.dialogue.robot.playback.volume > 0.6


def test_a_muted_robot_stays_mute_whatever_its_volume_is_set_to() -> None:
    with Stage() as stage:
        robot = stage.dialogue.robot
        robot.mute(on=True)
        stage.say("quieter")
        assert robot.playback.volume == 0
        robot.mute(on=False)
        assert 0.5 < robot.playback.volume < 0.9


def test_without_a_model_it_says_so_and_motion_stays_allowed() -> None:
    with Stage(agent=_latched()) as stage:
        stage.agent.llm = None
        stage.say("what time is it")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert stage.dialogue.latch.state == "free"


# --- stop words ----------------------------------------------------------------------------------------------------


@pytest.fixture
def driving() -> tuple[Agent, threading.Event, list[str]]:
    """A robot with a skill that drives until it is stopped."""
    began, ends = threading.Event(), []

    @skill(on_interrupt="detach", pause=lambda: ends.append("paused"), resume=lambda: ends.append("resumed"))
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        began.set()
        while not goal.cancelled:
            goal.checkpoint()
            threading.Event().wait(0.005)
        ends.append("stopped")
        return "stopped"

    return Agent("robi", tools=[drive], latch=SafetyLatch()), began, ends


def test_a_stop_word_halts_at_once_and_its_transcript_trips(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.spot("stop")
        assert stage.dialogue.latch.state == "held"
        stage.partly("stop")
        assert stage.dialogue.latch.state == "tripped"
        assert _until(lambda: "stopped" in ends)
        stage.pause("stop")
        stage.end()
        assert len(stage.llm.requests) == 1, "no model is asked"


def test_a_guess_before_the_end_does_not_trip_where_a_dont_may_stand_before_the_word() -> None:
    with Stage("All right.", agent=_latched()) as stage:
        stage.begin()
        stage.pass_s(0.6)
        stage.spot("stop")
        stage.partly("stop")
        assert stage.dialogue.latch.state == "held"
        stage.pause("please do not stop")
        assert stage.dialogue.latch.state == "free"


def test_a_stop_word_that_was_none_lets_the_robot_drive_on(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], "I see.", agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.spot("stop")
        stage.pause("the bus stop is far away")
        assert stage.dialogue.latch.state == "free"
        stage.end()
        assert _until(lambda: ends == ["paused", "resumed"]), ends
        stage.dialogue.stop()
        assert _until(lambda: "stopped" in ends)


def test_a_stop_word_in_the_robots_own_voice_lets_it_go_on_where_nobody_has_spoken() -> None:
    with Stage(LONG, agent=_latched()) as stage:
        _speaking(stage)
        stage.pass_s(1.0)
        stage.spot("stop")
        assert stage.state is State.HELD
        assert stage.dialogue.latch.state == "held"
        stage.pass_s(1.0)
        assert stage.dialogue.latch.state == "free"
        assert stage.state is State.SPEAKING
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[1].text == LONG


def test_a_stop_word_over_the_robots_voice_counts_where_somebody_has_spoken() -> None:
    with Stage(LONG, agent=_latched()) as stage:
        _speaking(stage)
        stage.pass_s(1.0)
        stage.spot("stop")
        stage.begin()
        stage.pause("", understood=False)
        stage.end()
        stage.pass_s(1.2)
        assert stage.dialogue.latch.state == "tripped"


@pytest.mark.parametrize(("heard", "understood", "trips"), [("nice", True, False), ("nice", False, True)])
def test_a_backchannel_over_the_robots_voice_is_no_stop_word(heard: str, understood: bool, trips: bool) -> None:
    with Stage(LONG, agent=_latched()) as stage:
        _speaking(stage)
        stage.begin()
        stage.spot("stop")
        stage.pause(heard, understood=understood)
        stage.end()
        stage.pass_s(1.2)
        assert stage.dialogue.latch.state == ("tripped" if trips else "free")


def test_a_backchannel_is_not_enough_where_something_moves(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.spot("stop")
        stage.pause("nice")
        stage.end()
        stage.pass_s(1.2)
        assert stage.dialogue.latch.state == "tripped"


def test_without_a_transcript_a_stop_word_counts() -> None:
    with Stage(agent=_latched()) as stage:
        stage.spot("stop")
        stage.pass_s(0.9)
        assert stage.dialogue.latch.state == "held"
        stage.pass_s(0.2)
        assert stage.dialogue.latch.state == "tripped"


def test_the_transcript_catches_a_stop_word_that_the_spotter_missed() -> None:
    with Stage(agent=_latched()) as stage:
        stage.say("stop")
        assert stage.dialogue.latch.state == "tripped"


def test_a_trip_lasts_until_somebody_says_continue() -> None:
    with Stage(agent=_latched()) as stage:
        stage.say("stop")
        stage.say("continue")
        assert stage.dialogue.latch.state == "free"
        assert not stage.llm.requests


def test_motion_asked_for_while_it_is_off_is_answered_in_words_of_ours(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.dialogue.stop("button")
        stage.settle()
        stage.say("drive on")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(0.1)
        assert stage.session.messages()[-1].text == QUIET.stopped
        assert QUIET.stopped in [event.text for event in stage.log if event.kind == "heard"]
        assert not began.is_set()
        assert len(stage.llm.requests) == 1


def test_a_second_stop_silences_a_robot_that_was_stopped_already() -> None:
    with Stage(LONG, agent=_latched()) as stage:
        stage.say("stop")
        _speaking(stage)
        stage.say("stop")
        assert stage.state is State.LISTENING
        heard = [event.text for event in stage.log if event.kind == "heard"]
        assert heard
        assert heard != [LONG]


def test_a_stop_while_the_model_thinks_stops_the_model() -> None:
    with Stage("never said", agent=_latched()) as stage:
        go = threading.Event()
        stage.agent.llm = _Waiting(stage.llm, go)  # type: ignore[assignment]
        stage.begin()
        stage.pause("tell me a story")
        stage.ears.on_event(hearing.Ended(stage.ears.utterance, stage.now_s, cut=False))
        assert _until(lambda: stage.state is State.THINKING)
        stage.dialogue.stop("button")
        assert _until(lambda: stage.state is State.LISTENING)
        stage.settle()
        assert stage.dialogue.latch.reason == "button"


def test_stop_typed_while_nothing_goes_on_is_for_the_model() -> None:
    with Stage("There is nothing to stop.", agent=_latched()) as stage:
        stage.dialogue.hear("stop")
        stage.settle()
        stage.pass_s(0.5)
        assert stage.dialogue.latch.state == "free"
        assert len(stage.llm.requests) == 1


def test_stop_typed_while_it_speaks_stops_it() -> None:
    with Stage(LONG, agent=_latched()) as stage:
        _speaking(stage)
        stage.dialogue.hear("stop")
        stage.settle()
        assert stage.dialogue.latch.state == "tripped"
        assert stage.state is State.LISTENING


def test_a_microphone_that_is_lost_holds_what_moves_until_it_is_back() -> None:
    with Stage(agent=_latched()) as stage:
        stage.dialogue.device("lost", "usb")
        stage.settle()
        assert stage.dialogue.latch.state == "held"
        stage.dialogue.device("back", "usb")
        stage.settle()
        assert stage.dialogue.latch.state == "free"


# --- while it moves ------------------------------------------------------------------------------------------------


def test_a_question_is_answered_while_the_robot_drives_on(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], "Eighty percent.", agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.say("how full is your battery")
        stage.pass_until(lambda: any(m.text == "Eighty percent." for m in stage.session.messages()))
        stage.pass_until(lambda: stage.state is State.ACTING)
        assert ends == []
        assert stage.agent.goals_at_work == ("drive",)


def test_what_is_said_while_a_tool_works_is_not_lost() -> None:
    release = threading.Event()

    @tool(timeout_s=20)
    def grind(context: ToolContext) -> str:
        """Grinds coffee."""
        release.wait(15)
        return "ground"

    with Stage([call("grind")], "Yes.", agent=Agent("robi", tools=[grind])) as stage:
        stage.say("grind some coffee")
        stage.pass_until(lambda: stage.state is State.ACTING)
        stage.say("are you there")
        release.set()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        texts = [m.text for m in stage.session.messages() if m.role == "user" and m.origin in ("user", "steering")]
        assert texts == ["grind some coffee", "are you there"]
        assert stage.session.messages()[-1].text == "Yes."


# --- sleeping ------------------------------------------------------------------------------------------------------


def test_asleep_it_hears_nothing_but_its_wake_word() -> None:
    with Stage("Hello.", settings=_with(wake_words=("hey robi",))) as stage:
        assert stage.state is State.ASLEEP
        stage.say("what time is it")
        assert stage.state is State.ASLEEP
        stage.say("hey robi what time is it")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["what time is it", "Hello."]
        stage.pass_until(lambda: stage.state is State.ASLEEP, limit_s=QUIET.follow_up_s + 1)


def test_after_an_answer_no_wake_word_is_needed() -> None:
    with Stage("One.", "Two.", settings=_with(wake_words=("hey robi",))) as stage:
        stage.spot("hey robi")
        stage.say("say one")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(2.0)
        stage.say("say two")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == "Two."


# --- by itself -----------------------------------------------------------------------------------------------------


def test_what_the_builder_says_waits_for_a_pause() -> None:
    with Stage() as stage:
        stage.begin()
        handle = stage.dialogue.say("Dinner is ready.")
        stage.pass_s(0.3)
        assert not handle.begun
        stage.pause("", understood=False)
        stage.end()
        stage.pass_until(lambda: handle.done)
        assert handle.heard == "Dinner is ready."


def test_a_follow_up_that_arrives_while_a_person_speaks_is_told_after_it() -> None:
    with Stage("Your tea is ready.", "It is noon.") as stage:
        stage.begin()
        stage.session.follow_up("[timer] 60 seconds are over", wake=True)
        stage.pass_s(0.5)
        assert not any(_loudest(block) for block in stage.ears.played)
        stage.pause("what time is it")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(0.1)
        heard = [event.text for event in stage.log if event.kind == "heard"]
        assert heard == ["Your tea is ready.", "It is noon."]


def _loudest(block: object) -> float:
    return float(abs(block).max())  # type: ignore[arg-type]


def test_until_the_model_is_warm_it_asks_for_a_moment() -> None:
    with Stage("It is noon.", "Still noon.") as stage:
        stage.dialogue.robot.ready = False
        said: list[str] = []
        stage.dialogue.robot.queue.aside = said.append  # type: ignore[assignment,return-value]
        stage.say("what time is it")
        stage.dialogue.robot.ready = True
        stage.say("and now")
        assert said == [QUIET.not_ready]


def test_it_ends_cleanly_in_the_middle_of_a_word() -> None:
    before = {thread.name for thread in threading.enumerate()}
    with Stage(LONG) as stage:
        _speaking(stage)
    assert _until(lambda: {thread.name for thread in threading.enumerate()} <= before)
