"""The rules of a conversation in a room, with real ears, model, mouth and robot: flite speaks the person's lines."""

from collections.abc import Iterator

import pytest

from edgeagent.config import Config
from edgeagent.messages import Message
from edgeagent.testing import Rehearsal, RoomSettings
from edgeagent.voice import State

COUNT = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen."


@pytest.fixture(scope="module")
def talk() -> Iterator[Rehearsal]:
    """A quiet room without reverberation: what is tested is what is done with words, not how they are heard."""
    room = RoomSettings(rate_hz=16_000, rt60_s=0, echo_gain_db=-20, record=False)
    with Rehearsal(Config(conversation={"chimes": False}), room) as made:
        made.pass_s(0.5)
        yield made


@pytest.fixture(autouse=True)
def fresh(talk: Rehearsal) -> None:
    talk.conversation.stop("the next test")
    talk.settle()
    talk.pass_s(0.5)
    talk.conversation.rearm()
    assert talk.pass_until(lambda: talk.state is State.LISTENING, 10)
    talk.conversation.session.reset()


def say(talk: Rehearsal, text: str, voice: str = "slt") -> None:
    """Until a second after the end of what is said."""
    said = talk.say(text, voice)
    talk.pass_until(lambda: talk.now_s >= said.end_s + 1.0, 20)


def answers(talk: Rehearsal) -> list[Message]:
    return [m for m in talk.conversation.session.messages() if m.role == "assistant" and m.text]


def test_a_question_is_answered_and_the_answer_is_in_history_when_it_was_heard(talk: Rehearsal) -> None:
    say(talk, "what time is it")
    assert talk.pass_until(lambda: talk.state is State.LISTENING, 8)
    assert [m.text for m in answers(talk)] == ["It is 14:00."]


def test_a_spoken_stop_halts_the_drive_until_somebody_says_that_it_may_move(talk: Rehearsal) -> None:
    say(talk, "go to the garage", "rms")
    assert talk.pass_until(lambda: talk.state is State.ACTING, 8)
    asked = len(talk.conversation.session.messages())
    said = talk.say("stop", "rms")
    assert talk.pass_until(lambda: talk.conversation.latch.state != "free", 3)
    assert talk.now_s <= said.end_s + 0.3
    assert talk.pass_until(lambda: talk.conversation.latch.state == "tripped", 3)
    talk.pass_s(1.5)
    assert talk.state is State.LISTENING, "it does not go on acting when nothing moves any more"
    assert len([m for m in talk.conversation.session.messages() if m.role == "user"]) <= max(asked, 1)
    say(talk, "continue", "rms")
    assert talk.conversation.latch.state == "free"


def test_a_sentence_over_its_voice_ends_what_it_says(talk: Rehearsal) -> None:
    handle = talk.conversation.say(COUNT)
    talk.pass_s(2.0)
    talk.say("that is enough thank you very much", "rms")
    assert talk.pass_until(lambda: handle.done, 4)
    assert 0 < len(handle.heard) < len(handle.text)
    talk.pass_s(2.0)


def test_a_slow_speaker_who_goes_on_when_the_robot_has_begun_to_answer_is_one_turn(talk: Rehearsal) -> None:
    handle = talk.conversation.say(COUNT)  # it knows its own voice in this room
    assert talk.pass_until(lambda: handle.done, 10)
    talk.pass_s(0.5)
    first = talk.say("turn left", "rms")
    said = talk.say("ninety degrees", "rms", after_s=first.end_s - talk.now_s + 0.4)
    talk.pass_until(lambda: talk.now_s >= said.end_s + 1.5, 20)
    assert talk.pass_until(lambda: talk.state is State.LISTENING, 15)
    messages = talk.conversation.session.messages()
    assert [m.text for m in messages if m.role == "user"][-1] == "turn left 90 degrees"
    assert [made.arguments["angle_deg"] for m in messages for made in m.tool_calls][-1] == 90


def test_a_backchannel_lets_it_speak_on(talk: Rehearsal) -> None:
    handle = talk.conversation.say(COUNT)
    talk.pass_s(2.0)
    talk.say("uh huh", "slt")
    assert talk.pass_until(lambda: handle.done, 10)
    assert handle.heard == handle.text
