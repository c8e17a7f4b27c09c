"""A conversation in a room whose noise hides the robot's echo: it does not hear itself, and hears a person."""

from functools import partial
from typing import Any

from edgeagent.config import Config
from edgeagent.testing import Rehearsal, RoomSettings, ScriptedLLM

STORY = (
    "The living room is tidy and the window is closed. The plant on the desk needs a little water today. I have seen "
    "your keys next to the old lamp in the hallway. The battery is nearly full, and nobody has called."
)


def in_noise(echo_gain_db: float) -> tuple[Rehearsal, list[Any]]:
    """A conversation, and its events."""
    room = RoomSettings(rt60_s=0.3, echo_gain_db=echo_gain_db, noise_snr_db=10, record=False)
    talk, events = Rehearsal(Config(conversation={"chimes": False}), room, llm=ScriptedLLM(*["Okay."] * 9)), list[Any]()
    talk.conversation.subscribe(events.append)
    talk.pass_s(0.4)
    return talk, events


def test_the_robot_does_not_interrupt_itself() -> None:
    talk, events = in_noise(-14)
    with talk:
        for _ in range(3):
            assert talk.pass_until(partial(getattr, talk.conversation.say(STORY), "done"), 60)
            talk.pass_s(2.0)
    assert [event for event in events if event.kind in ("speech_start", "keyword")] == []


def test_a_person_who_speaks_over_the_robot_is_heard() -> None:
    talk, events = in_noise(-20)
    with talk:
        talk.conversation.say(STORY)
        assert talk.pass_until(lambda: talk.conversation.dialogue.robot.sounding, 10)
        talk.say("cancel that", "en-us+f3", tempo=0.8, after_s=2.4)
        assert talk.pass_until(lambda: any(event.kind == "speech_start" for event in events), 3.6)
