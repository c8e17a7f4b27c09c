"""What goes wrong in a room with real engines: recognisers that die, a microphone that stops, two people at once, and
the robot's own voice with its stop word and its wake word in it.
"""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from edgeagent.config import Config
from edgeagent.stt import KeyPhraseSpotter
from edgeagent.testing import Rehearsal, RoomSettings, ScriptedLLM
from edgeagent.voice import State

TEMPTING = "I will stop at the kitchen door. Stop. Hey robi is what you call me. Hey robi."


class Watched(Rehearsal):
    """A rehearsal that keeps what happened."""

    def __init__(self, config: Config, room: RoomSettings | None = None, **more: Any) -> None:
        self.log: list[Any] = []
        super().__init__(config, room, **more)
        self.conversation.subscribe(self.log.append)

    def said(self, kind: str) -> list[Any]:
        return [event for event in self.log if event.kind == kind]


def parrot(request: Any) -> str:
    return "Here I am."


APP = """
from edgeagent import Agent
phrases = ["how full is your battery", "go to the kitchen right now please", "where are you"]
agent = Agent("robi", "You are a robot.", phrases=phrases)
"""


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """One conversation for all of them: what breaks must mend."""
    app = tmp_path_factory.mktemp("app") / "robi.py"
    app.write_text(APP, encoding="utf-8")
    config = Config(app=app, conversation={"chimes": False}, ears={"wake_words": "hey robi"})
    room = RoomSettings(rate_hz=16_000, rt60_s=0, echo_gain_db=-20, record=False)
    with Watched(config, room, llm=ScriptedLLM(*[parrot] * 50)) as made:
        yield made
    left = [one for one in threading.enumerate() if one is not threading.current_thread() and not one.daemon]
    assert not left


@pytest.fixture(autouse=True)
def awake(talk: Watched) -> None:
    talk.pass_s(1.0)
    talk.conversation.rearm()
    talk.say("hey robi", "awb")
    talk.pass_s(2.5)
    assert talk.pass_until(lambda: talk.state is State.LISTENING, 4)
    talk.pass_s(0.5)
    talk.conversation.session.reset()
    talk.log.clear()


def answered(talk: Watched, text: str, voice: str = "slt") -> bool:
    before = len(talk.said("heard"))
    talk.say(text, voice)
    return talk.pass_until(lambda: len(talk.said("heard")) > before and talk.state is State.LISTENING, 12)


def test_a_recogniser_that_dies_in_the_middle_of_an_utterance_is_back_and_the_utterance_is_answered(
    talk: Watched,
) -> None:
    said = talk.say("how full is your battery")
    talk.pass_until(lambda: talk.now_s >= said.start_s + 0.8, 2)
    for pid in talk.conversation.dialogue.ears._transcription._transcriber.pids:  # type: ignore[attr-defined]
        os.kill(pid, signal.SIGKILL)
    assert talk.pass_until(lambda: bool(talk.said("heard")), 12)
    assert [m.text for m in talk.conversation.session.messages()] == ["how full is your battery", "Here I am."]
    assert any("died" in event.name for event in talk.said("device"))


def test_a_spotter_that_dies_is_back_and_hears_its_phrase_and_meanwhile_a_stop_word_stops(talk: Watched) -> None:
    spotter = talk.conversation.dialogue.ears._spotter
    assert isinstance(spotter, KeyPhraseSpotter)
    assert spotter.sphinx.pid is not None
    os.kill(spotter.sphinx.pid, signal.SIGKILL)
    talk.say("stop")
    assert talk.pass_until(lambda: talk.conversation.latch.state == "tripped", 4)
    talk.pass_s(1.0)
    talk.say("hey robi", "awb")
    assert talk.pass_until(lambda: any(event.phrase == "hey robi" for event in talk.said("keyword")), 4)


def test_a_microphone_that_stops_holds_motion_until_it_delivers_again(talk: Watched) -> None:
    take, talk.room._take = talk.room._take, None
    try:
        waiting = threading.Event()
        for _ in range(100):
            talk.room.run(0.05)
            if talk.conversation.latch.state == "held":
                break
            waiting.wait(0.02)
        assert talk.conversation.latch.state == "held"
    finally:
        talk.room._take = take
    talk.pass_s(0.2)
    assert talk.conversation.latch.state == "free"
    assert answered(talk, "where are you")


def test_two_people_at_once_are_one_turn_at_most_and_nothing_is_left(talk: Watched) -> None:
    talk.say("how full is your battery", "slt")
    talk.say("go to the kitchen right now please", "rms", after_s=0.2)
    talk.pass_s(3)
    assert talk.pass_until(lambda: talk.state is State.LISTENING, 8)
    assert len([m for m in talk.conversation.session.messages() if m.role == "user"]) <= 1
    assert answered(talk, "where are you")


def test_its_own_stop_word_and_wake_word_are_not_meant_for_it(talk: Watched) -> None:
    handle = talk.conversation.say(TEMPTING)
    assert talk.pass_until(lambda: handle.done, 25)
    assert handle.heard == TEMPTING
    assert talk.conversation.latch.state == "free"
    assert not [event for event in talk.said("barge_in") if event.action == "final"]
