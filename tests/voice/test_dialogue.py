"""The conversation does what the table says, over a real mouth and a real loop."""

import inspect
import threading

import pytest

from edgeagent import Agent, ToolContext, tool
from edgeagent.stt import Ears, hearing
from edgeagent.testing import call
from edgeagent.voice import AFTER_WORD_S, TABLE, State, TableEvent

from .scenes import LIMIT_S, LONG, QUIET, count_to_sixteen, latched, quiet, until
from .stage import PlayedEars, Stage


def test_the_played_ears_are_like_the_real_ones() -> None:
    for name in ("open_sound", "listen", "settle", "doubt", "look_early", "close"):
        real, played = inspect.signature(getattr(Ears, name)), inspect.signature(getattr(PlayedEars, name))
        assert [p.replace(annotation=p.empty) for p in real.parameters.values()] == [
            p.replace(annotation=p.empty) for p in played.parameters.values()
        ], name
    for name in ("hard_end_ms", "soft_end_ms", "utterance", "now_s", "blocks"):
        assert hasattr(Ears, name) or name in inspect.getsource(Ears.__init__), name


def test_it_is_alive_while_sound_comes_and_its_thread_turns() -> None:
    with Stage() as stage:
        stage.pass_s(0.1)
        assert stage.dialogue.is_alive()
        stage.pass_s(0.1)
        assert stage.dialogue.is_alive()
        stage.settle()
        assert not stage.dialogue.is_alive(), "no sound came"
        stage.pass_s(0.1)
        assert stage.dialogue.is_alive()
        hangs, goes_on = threading.Event(), threading.Event()
        stage.dialogue.subscribe(lambda event: (hangs.set(), goes_on.wait(20)))
        stage.ears.utterance += 1
        stage.ears.on_event(hearing.SpeechStarted(stage.ears.utterance, stage.now_s))
        for _ in range(100):
            stage.ears.block()
        assert hangs.wait(20), "nothing was told"
        stage.dialogue.is_alive()
        stage.ears.block()
        assert not stage.dialogue.is_alive(), "the thread hangs"
        goes_on.set()


@pytest.mark.parametrize("state", State)
def test_every_cell_does_its_action_and_goes_to_its_state(state: State) -> None:
    with Stage() as stage:
        dialogue, turns, done = stage.dialogue, stage.dialogue.turns, []
        turns._actions = {action: lambda action=action: done.append(action) for action in turns._actions}
        # the cells of the table alone, without what they set going
        turns._what_goes_on = lambda: State.LISTENING  # type: ignore[method-assign]
        turns.look = lambda: None  # type: ignore[method-assign]
        for event in TableEvent:
            done.clear()
            turns.state = state
            fired = threading.Event()
            dialogue._post(lambda event=event, fired=fired: (turns.fire(event), fired.set()))
            assert fired.wait(10)
            cell = TABLE[state, event]
            assert done == [cell.action], event
            assert dialogue.state == {"stay": state, "back": State.LISTENING}.get(cell.then, cell.then), event


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


def test_a_stop_phrase_with_an_escape_sequence_in_it_is_heard_as_one(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.dialogue.hear("\x1b[31mstop\x1b[0m")
        stage.pass_until(lambda: stage.dialogue.latch.state == "tripped")


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
    with Stage("Hello.", settings=quiet(wake_words=("hey robi",))) as stage:
        assert stage.state is State.ASLEEP
        stage.say("what time is it")
        assert stage.state is State.ASLEEP
        stage.say("hey robi what time is it")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["what time is it", "Hello."]
        stage.pass_until(lambda: stage.state is State.ASLEEP, limit_s=QUIET.follow_up_s + 1)


def test_a_wake_word_that_was_spotted_counts_with_its_transcript() -> None:
    with Stage("Hello.", settings=quiet(wake_words=("hey robi",))) as stage:
        stage.begin()
        stage.spot("hey robi")
        stage.pass_s(0.1)
        assert stage.state is State.ASLEEP
        assert stage.ears.doubted == ("hey robi",)
        stage.pause("hey rob what time is it")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == "Hello."
        assert stage.ears.doubted == ()
        assert [event.confirmed for event in stage.log if event.kind == "keyword"] == [None, True]


def test_a_wake_word_that_was_looked_for_in_vain_wakes_nobody() -> None:
    with Stage("Hello.", settings=quiet(wake_words=("hey robi",))) as stage:
        stage.begin()
        stage.spot("hey robi")
        stage.pause("take a picture of us", excluded=("hey robi",))
        stage.end()
        stage.pass_s(AFTER_WORD_S + 0.5)
        assert stage.state is State.ASLEEP
        assert not stage.llm.requests
        assert [event.confirmed for event in stage.log if event.kind == "keyword"] == [None, False]


def test_a_wake_word_in_speech_that_does_not_end_wakes_it_after_a_while() -> None:
    with Stage("Hello.", settings=quiet(wake_words=("hey robi",))) as stage:
        stage.begin()
        stage.spot("hey robi")
        stage.pass_s(AFTER_WORD_S - 0.1)
        assert stage.state is State.ASLEEP
        stage.pass_s(0.2)
        assert stage.state is State.HEARING
        stage.pause("hey robi what time is it")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[-1].text == "Hello."


def test_after_an_answer_no_wake_word_is_needed() -> None:
    with Stage("One.", "Two.", settings=quiet(wake_words=("hey robi",))) as stage:
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


def test_it_has_settled_when_what_was_told_is_done_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage("Okay.") as stage:
        look, done = stage.dialogue.turns.look, []

        def slow() -> None:
            threading.Event().wait(0.01)
            look()
            done.append(True)

        monkeypatch.setattr(stage.dialogue.turns, "look", slow)
        stage.ears.on_event(hearing.SpeechStarted(1, stage.now_s, begin_s=stage.now_s))
        assert stage.dialogue.settle(LIMIT_S)
        assert stage.state is State.HEARING
        assert len(done) >= 2, "the looks after what was told, and after the first mark"


def test_until_the_model_is_warm_it_asks_for_a_moment() -> None:
    with Stage("It is noon.", "Still noon.") as stage:
        stage.dialogue.robot.ready = False
        said: list[str] = []
        stage.dialogue.robot.queue.aside = said.append  # type: ignore[assignment,return-value]
        stage.say("what time is it")
        stage.dialogue.robot.ready = True
        stage.say("and now")
        assert said == [QUIET.not_ready]


def test_without_a_model_it_says_so_and_motion_stays_allowed() -> None:
    with Stage(agent=latched()) as stage:
        stage.agent.llm = None
        stage.say("what time is it")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert stage.dialogue.latch.state == "free"


def test_a_muted_robot_stays_mute_whatever_its_volume_is_set_to() -> None:
    with Stage() as stage:
        robot = stage.dialogue.robot
        robot.mute(on=True)
        stage.say("quieter")
        assert robot.playback.volume == 0
        robot.mute(on=False)
        assert 0.5 < robot.playback.volume < 0.9


def test_it_ends_cleanly_in_the_middle_of_a_word() -> None:
    before = {thread.name for thread in threading.enumerate()}
    with Stage(LONG) as stage:
        count_to_sixteen(stage)
    assert until(lambda: {thread.name for thread in threading.enumerate()} <= before)
