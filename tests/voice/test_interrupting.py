"""What is said over the robot's voice interrupts it, or lets it go on where it was held."""

import pytest

from edgeagent import events
from edgeagent.stt import hearing
from edgeagent.voice import PRESETS, State

from .scenes import LONG, count_to_sixteen, latched, quiet
from .stage import Stage


def test_two_words_over_the_robots_voice_interrupt_it_and_history_has_what_was_heard() -> None:
    with Stage(LONG, "Okay.") as stage:
        count_to_sixteen(stage)
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
        count_to_sixteen(stage)
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
        count_to_sixteen(stage)
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
        count_to_sixteen(stage)
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
        count_to_sixteen(stage)
        stage.begin()
        stage.pass_s(0.2)
        stage.pause("that is enough")
        assert stage.state is State.HEARING


@pytest.mark.parametrize("heard", ["and you", "but i see", "its great"])
def test_a_backchannel_that_is_misheard_lets_it_go_on(heard: str) -> None:
    with Stage(LONG) as stage:
        count_to_sixteen(stage)
        stage.begin()
        stage.pass_s(0.2)
        stage.pause(heard)
        stage.end()
        assert stage.state is State.SPEAKING


def test_an_unfinished_phrase_over_its_voice_is_waited_for_and_then_the_robot_goes_on() -> None:
    with Stage(LONG) as stage:
        count_to_sixteen(stage)
        stage.begin()
        stage.pass_s(0.2)
        stage.pause("set the")
        assert stage.state is State.HELD
        stage.pass_s(0.7)
        assert stage.state is State.SPEAKING


def test_a_backchannel_may_last_longer_than_half_a_second() -> None:
    with Stage(LONG) as stage:
        count_to_sixteen(stage)
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
        count_to_sixteen(stage)
        stage.begin()
        stage.pass_s(0.1)
        stage.tell(hearing.SoftEnd(stage.ears.utterance, stage.now_s))
        stage.pass_s(0.5)
        assert stage.state is State.HELD
        stage.pass_s(0.2)
        assert stage.state is State.SPEAKING


def test_with_off_only_a_stop_word_interrupts() -> None:
    with Stage(LONG, agent=latched(), settings=quiet(preset=PRESETS["off"])) as stage:
        count_to_sixteen(stage)
        stage.begin()
        stage.partly("what about the")
        stage.pass_s(0.8)
        assert stage.state is State.SPEAKING
        stage.spot("stop")
        assert stage.state is State.HELD


def test_louder_is_obeyed_while_the_robot_goes_on() -> None:
    with Stage(LONG) as stage:
        count_to_sixteen(stage)
        stage.dialogue.robot.playback.volume = 0.5
        stage.begin()
        stage.pass_s(0.1)
        stage.pause("louder")
        stage.end()
        assert stage.state is State.SPEAKING
        assert stage.dialogue.robot.playback.volume > 0.6


def test_the_robot_is_held_already_when_a_barge_in_is_told() -> None:
    with Stage(LONG) as stage:
        count_to_sixteen(stage)
        held: list[bool] = []

        def take(event: events.Event | events.VoiceEvent) -> None:
            if isinstance(event, events.BargeIn) and event.action == "hold":
                held.append(stage.dialogue.robot.queue.held)

        stage.dialogue.subscribe(take)
        stage.begin()
        stage.pass_s(0.1)
        assert held == [True]


def test_words_that_are_typed_over_speech_that_nobody_may_interrupt_are_answered() -> None:
    with Stage("It is noon.") as stage:
        stage.dialogue.say(LONG, priority="urgent", interruptible=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.dialogue.hear("what time is it", typed=True)
        stage.pass_until(lambda: any(message.text == "It is noon." for message in stage.session.messages()))
