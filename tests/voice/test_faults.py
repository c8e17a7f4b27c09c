"""What breaks while people talk: devices, voices, models and tools. The conversation goes on, and nothing is left."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from edgeagent import Agent, ToolCall, ToolContext, skill, tool
from edgeagent.errors import SpeechError
from edgeagent.robot import SafetyLatch
from edgeagent.stt import RecognisedText, SpottedPhrase, hearing
from edgeagent.testing import call
from edgeagent.tools import GoalHandle
from edgeagent.tts import EspeakSpeaker, SpeechChunk
from edgeagent.voice import DialogueSettings, State, Telling

from .scenes import LIMIT_S, LONG, until
from .stage import RATE_HZ, Stage

WAKING = DialogueSettings(chimes=False, wake_words=("hey robi",))


class Thinking:
    """A model that answers when it is allowed to, or stopped."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.go = threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def stream(self, request: object, stop_event: threading.Event):  # type: ignore[no-untyped-def]
        while not self.go.wait(0.005) and not stop_event.is_set():
            pass
        return self._inner.stream(request, stop_event)  # type: ignore[attr-defined]


@skill(on_interrupt="detach", pause=lambda: None, resume=lambda: None)
def drive(goal: GoalHandle) -> str:
    """Drives until it is told to stop; a drive that can't wait would end with a hold, and the model be asked."""
    while not goal.cancelled:
        goal.checkpoint()
        threading.Event().wait(0.005)
    return "stopped"


def stage_in(state: State) -> Stage:
    """A conversation that is in a state."""
    replies = [[call("drive")]] if state is State.ACTING else [LONG]
    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    settings = WAKING if state is State.ASLEEP else None
    stage = Stage(*replies, "Here I am.", "And again.", agent=agent, settings=settings)
    match state:
        case State.HEARING:
            stage.begin()
        case State.THINKING:
            stage.agent.llm = Thinking(stage.llm)  # type: ignore[assignment]
            stage.begin()
            stage.pause("tell me a story")
            stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        case State.ACTING:
            stage.say("drive on")
        case State.SPEAKING | State.HELD:
            stage.say("count to sixteen")
            stage.pass_until(lambda: stage.state is State.SPEAKING)
            stage.pass_s(1.0)
            if state is State.HELD:
                stage.begin()
                stage.pass_s(0.1)
    assert until(lambda: stage.state is state), stage.state
    return stage


def at_rest(stage: Stage) -> None:
    """It came back to listening, answers again, and every call has one result."""
    if isinstance(stage.agent.llm, Thinking):
        stage.agent.llm.go.set()
    stage.pass_until(lambda: stage.state in (State.LISTENING, State.ASLEEP))
    stage.say("hey robi are you there" if stage.dialogue.settings.wake_words else "are you there")
    stage.pass_until(lambda: stage.state is State.LISTENING and not stage.dialogue.robot.busy)
    assert [m.text for m in stage.session.messages()][-1] in ("Here I am.", "And again.", LONG)
    assert_one_result_each(stage)


def assert_one_result_each(stage: Stage) -> None:
    messages = stage.session.messages()
    asked = [made.id for message in messages for made in message.tool_calls]
    assert [message.call_id for message in messages if message.role == "tool"] == asked


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No thread outlives its conversation."""
    before = set(threading.enumerate())
    yield
    left = lambda: [one.name for one in set(threading.enumerate()) - before if one.is_alive()]  # noqa: E731
    assert until(lambda: not left()), left()


# --- devices -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_a_device_that_vanishes_holds_motion_and_the_conversation_goes_on_when_it_is_back(state: State) -> None:
    with stage_in(state) as stage:
        stage.dialogue.device("lost", "usb")
        assert until(lambda: stage.dialogue.latch.state == "held")
        assert until(lambda: stage.state not in (State.HEARING, State.HELD)), "who vanished has no turn"
        stage.dialogue.device("back", "usb")
        assert until(lambda: stage.dialogue.latch.state == "free")
        if state is State.ACTING:
            stage.dialogue.robot.session.agent.cancel_goals()
        at_rest(stage)


@pytest.mark.parametrize("state", State)
def test_it_closes_in_every_state(state: State) -> None:
    with stage_in(state) as stage:
        stage.dialogue.close()
        assert until(lambda: not stage.agent.state.is_streaming)
        assert not stage.agent.goals_at_work
        assert_one_result_each(stage)


@pytest.mark.parametrize("state", State)
def test_a_stop_word_stops_in_every_state(state: State) -> None:
    with stage_in(state) as stage:
        asked = len(stage.llm.requests)
        if state not in (State.HEARING, State.HELD):
            stage.ears.utterance += 1
            stage.ears.on_event(hearing.SpeechStarted(stage.ears.utterance, stage.now_s - 0.1))
        stage.ears.on_event(
            hearing.KeywordSpotted(SpottedPhrase("stop", stage.now_s - 0.3, stage.now_s, stage.now_s, 0.9))
        )
        assert stage.dialogue.latch.state == "held", "at once, on the thread that spotted it"
        stage.ears.on_event(hearing.SoftEnd(stage.ears.utterance, stage.now_s))
        stage.ears.on_event(hearing.FinalTranscript(stage.ears.utterance, RecognisedText("stop"), stage.now_s, 0.1))
        assert until(lambda: stage.dialogue.latch.state == "tripped")
        stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        assert until(lambda: stage.state in (State.LISTENING, State.ASLEEP)), stage.state
        stage.settle()
        assert not stage.dialogue.robot.busy
        assert not stage.agent.goals_at_work
        assert len(stage.llm.requests) <= max(asked, 1), "no model is asked"
        stage.dialogue.rearm()
        at_rest(stage)


# --- voices --------------------------------------------------------------------------------------------------------


class Hoarse:
    """A voice that fails in the middle of a sentence, a number of times."""

    def __init__(self, inner: EspeakSpeaker, failures: int) -> None:
        self._inner, self.failures = inner, failures

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def speak(self, text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
        for number, chunk in enumerate(self._inner.speak(text, stop_event)):
            if self.failures and number == 2:
                self.failures -= 1
                raise SpeechError("the voice is hoarse")
            yield chunk


def test_a_voice_that_fails_in_mid_sentence_is_told_and_the_next_answer_is_spoken() -> None:
    with Stage(LONG, "Here I am.") as stage:
        stage.mouth.speaker = Hoarse(stage.speaker, 1)
        stage.say("count to sixteen")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(0.2)
        assert [e.name for e in stage.log if e.kind == "device"] == ["voice: the voice is hoarse"]
        heard = stage.session.messages()[1].text
        assert LONG.startswith(heard)
        assert heard != LONG
        at_rest(stage)


def test_a_voice_that_fails_is_told_of_what_the_robot_says_by_itself_too() -> None:
    with Stage("Here I am.") as stage:
        stage.mouth.speaker = Hoarse(stage.speaker, 1)
        said = stage.dialogue.say(LONG)
        stage.pass_until(lambda: said.done)
        assert said.heard != LONG
        stage.pass_s(0.2)
        assert [e.name for e in stage.log if e.kind == "device"] == ["voice: the voice is hoarse"]
        at_rest(stage)


# --- models and tools ----------------------------------------------------------------------------------------------


def test_a_model_that_never_stops_is_stopped_by_two_words() -> None:
    with Stage("and so on " * 100_000, "Here I am.", token_delay_s=0.001) as stage:
        stage.begin()
        stage.pause("tell me everything")
        stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        assert until(lambda: _block(stage) and stage.state is State.SPEAKING)
        stage.ears.utterance += 1
        stage.ears.on_event(hearing.SpeechStarted(stage.ears.utterance, stage.now_s - 0.6))
        for text in ("go to sleep", "go to sleep now"):
            stage.ears.on_event(hearing.PartialTranscript(stage.ears.utterance, RecognisedText(text, final=False)))
        assert until(lambda: not stage.dialogue.robot.runs.active)
        emitted = stage.llm.emitted
        stage.pause("that is enough")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.llm.emitted == emitted + len("Here I am.".split())
        assert stage.session.messages()[-1].text == "Here I am."


def _block(stage: Stage) -> bool:
    """10 ms pass, though the model never rests."""
    stage.ears.block()
    return True


@pytest.fixture
def stuck() -> Iterator[tuple[Agent, threading.Event]]:
    """A tool that hangs, whatever it is told."""
    began, release = threading.Event(), threading.Event()

    @tool(read_only=True, timeout_s=60)
    def ponder(context: ToolContext) -> str:
        """Thinks about it."""
        began.set()
        release.wait(LIMIT_S)
        return "too late"

    yield Agent("robi", tools=[ponder], latch=SafetyLatch()), began
    release.set()


def test_a_tool_that_hangs_does_not_keep_the_next_question_waiting(stuck: tuple[Agent, threading.Event]) -> None:
    agent, began = stuck
    with Stage([call("ponder")], "Here I am.", agent=agent) as stage:
        stage.say("ponder that")
        assert began.wait(LIMIT_S)
        stage.say("are you there")
        assert until(lambda: len(stage.llm.requests) == 2), "the tool is given up after its grace, by the wall's clock"
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == "Here I am."
        assert [m.status for m in stage.session.messages() if m.role == "tool"] == ["outcome_unknown"]


def test_a_tool_that_hangs_does_not_keep_a_stop_waiting(stuck: tuple[Agent, threading.Event]) -> None:
    agent, began = stuck
    with Stage([call("ponder")], "Here I am.", agent=agent) as stage:
        stage.say("ponder that")
        assert began.wait(LIMIT_S)
        stage.say("stop")
        assert stage.dialogue.latch.state == "tripped"
        assert until(lambda: not stage.dialogue.robot.runs.active)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert_one_result_each(stage)


def test_a_tool_that_hangs_does_not_keep_it_from_closing(stuck: tuple[Agent, threading.Event]) -> None:
    agent, began = stuck
    with Stage([call("ponder")], agent=agent) as stage:
        stage.say("ponder that")
        assert began.wait(LIMIT_S)
        stage.dialogue.close()
        assert until(lambda: not stage.agent.state.is_streaming)


def test_an_announcement_function_that_raises_takes_no_event_from_the_conversation() -> None:
    def announcement(made: ToolCall) -> str:
        raise ValueError("no words")

    settings = DialogueSettings(chimes=False, telling=Telling(announcement=announcement))
    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    with Stage([call("drive")], agent=agent, settings=settings) as stage:
        stage.say("drive on")
        stage.pass_until(lambda: "tool_execution_start" in [event.kind for event in stage.log])
        assert stage.state is State.ACTING
        stage.agent.cancel_goals()


# --- interruptions -------------------------------------------------------------------------------------------------


ANSWER = "The quick brown fox jumps over the lazy dog, and then it runs away into the deep dark forest to sleep."


def words_played(stage: Stage, since: int, times: list[float]) -> int:
    """How many words of the answer begin in what the loudspeaker has played, by the times of the voice itself."""
    loud = np.flatnonzero(np.abs(np.concatenate(stage.ears.played[since:])) > 1e-5)
    played_s = (loud[-1] - loud[0] + 1) / RATE_HZ if len(loud) else 0.0
    return sum(at_s - times[0] < played_s for at_s in times)


def test_fifty_interruptions_at_random_moments() -> None:
    random = np.random.default_rng(7)
    with Stage(*[ANSWER] * 50) as stage:
        spoken = list(stage.speaker.speak(ANSWER, threading.Event()))
        times = [word.at_s for chunk in spoken for word in chunk.words]
        assert len(times) == len(ANSWER.split())
        wrong = []
        for number in range(50):
            since = len(stage.ears.played)
            stage.say("tell me about the fox", seconds=0.05)
            after = round(random.uniform(0.0, 5.0) / 0.01)
            for block in range(after):
                stage.ears.block()
                if block % 10 == 0 or block == after - 1:
                    stage.settle()
            stage.begin(ago_s=0.6)
            stage.partly("go to the")
            stage.partly("go to the right")
            stage.pause("")
            stage.end()
            stage.pass_s(0.1)
            assert stage.state is State.LISTENING
            heard = [m.text for m in stage.session.messages() if m.role == "assistant"]
            text, expected = "".join(heard), words_played(stage, since, times)
            if abs(len(text.split()) - expected) > 1 or not ANSWER.startswith(text):
                wrong.append((number, after, text, expected))
            del stage.ears.played[:-1]
            stage.session.reset()
        assert not wrong
