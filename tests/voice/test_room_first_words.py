"""A conversation in a room in which the sound system lost its place: "stop" over the next words of the robot."""

from typing import Any

from edgeagent.config import Config
from edgeagent.llm import LLMRequest
from edgeagent.testing import Rehearsal, RoomSettings, ScriptedLLM, call, synthesised

STORY = (
    "The living room is tidy and the window is closed. The plant on the desk needs a little water today. I have seen "
    "your keys next to the old lamp in the hallway."
)


def reply(request: LLMRequest) -> Any:
    return [call("go_to", place="kitchen")] if request.messages[-1].role == "user" else "Okay."


def test_stop_over_an_echo_as_loud_as_the_person_is_heard_after_an_under_run() -> None:
    room = RoomSettings(rate_hz=16_000, echo_gain_db=0, record=False)
    with Rehearsal(Config(conversation={"chimes": False}), room, llm=ScriptedLLM(*[reply] * 9)) as talk:
        talk.pass_s(0.4)
        talk.room.calibrate(synthesised("Going to the kitchen.", "en", room.rate_hz), room.rate_hz)
        story = talk.conversation.say(STORY)
        assert talk.pass_until(lambda: story.done, 40)
        talk.room.underrun(200)
        talk.pass_s(0.4)
        talk.conversation.hear("go to the kitchen")
        assert talk.pass_until(lambda: talk.conversation.dialogue.robot.sounding, 10)
        talk.say("stop", "rms", after_s=0.25 + room.delay_ms / 1000)
        assert talk.pass_until(lambda: talk.conversation.latch.state == "tripped", 5)
