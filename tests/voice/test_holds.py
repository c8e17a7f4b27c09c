"""Who holds what moves, and who releases it: builders, stop words, and ears that hear nothing."""

import pytest

from edgeagent import Agent
from edgeagent.robot import SafetyLatch
from edgeagent.stt import hearing
from edgeagent.voice import EARS_S, RECOGNISERS_S

from .scenes import latch, latched
from .stage import Stage

# --- who holds ------------------------------------------------------------------------------------------------------


def test_a_hold_of_the_builders_is_released_by_nobody_else(drives: Stage) -> None:
    drives.dialogue.latch.hold("a person before the lidar")
    drives.begin()
    drives.pass_s(0.5)
    drives.spot("stop")
    drives.pass_s(0.2)
    drives.pause("the bus stop is far away")
    assert drives.dialogue.latch.reason == "a person before the lidar"
    drives.dialogue.device("lost", "usb")
    drives.dialogue.device("back", "usb")
    drives.settle()
    assert latch(drives) == "held"
    drives.dialogue.latch.release()
    assert latch(drives) == "free"


def test_a_robot_that_hears_nothing_is_held_after_a_re_arm_too(still: Stage) -> None:
    still.dialogue.device("lost", "usb")
    still.settle()
    still.dialogue.stop()
    still.settle()
    assert still.dialogue.rearm()
    still.settle()
    assert latch(still) == "held"
    still.dialogue.device("back", "usb")
    still.settle()
    assert latch(still) == "free"


@pytest.mark.parametrize("why", ["stop word", "microphone"])
def test_a_conversation_that_is_closed_holds_nothing(why: str) -> None:
    agent = Agent("robi", latch=SafetyLatch())
    with Stage(agent=agent) as stage:
        if why == "microphone":
            stage.dialogue.device("lost", "usb")
            stage.settle()
        else:
            stage.spot("stop")
        assert latch(stage) == "held"
    assert agent.latch is not None
    assert agent.latch.state == "free"


def test_two_conversations_on_one_latch_release_nothing_of_each_other() -> None:
    shared = SafetyLatch()
    with (
        Stage("Okay.", agent=Agent("robi", latch=shared)) as one,
        Stage("Okay.", agent=Agent("ben", latch=shared)) as other,
    ):
        for stage in (one, other):
            stage.begin()
            stage.pass_s(0.5)
            stage.spot("stop")
        other.partly("the bus stop is over there")
        assert latch(one) == "held"
        one.partly("the bus stop is over there")
        assert latch(one) == "free"


def test_nothing_moves_while_the_conversation_is_closed() -> None:
    with Stage("Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        stage.dialogue.quit()
        assert latch(stage) == "held"
        agent = stage.agent
    assert agent.latch is not None
    assert agent.latch.state == "free"


# --- who hears nothing ----------------------------------------------------------------------------------------------


def test_a_microphone_that_is_lost_holds_what_moves_until_it_is_back() -> None:
    with Stage(agent=latched()) as stage:
        stage.dialogue.device("lost", "usb")
        stage.settle()
        assert stage.dialogue.latch.state == "held"
        stage.dialogue.device("back", "usb")
        stage.settle()
        assert stage.dialogue.latch.state == "free"


@pytest.mark.parametrize(
    ("parts", "after_s"), [(["ears"], EARS_S), (["keywords", "transcriber"], RECOGNISERS_S), (["keywords"], None)]
)
def test_who_hears_no_stop_word_holds_what_moves(drives: Stage, parts: list[str], after_s: float | None) -> None:
    drives.tell(*(hearing.Trouble(part, "it is gone") for part in parts))
    drives.pass_s(0.8)
    assert latch(drives) == "free", "most troubles are over soon"
    drives.pass_s(3.0 if after_s is None else after_s)
    assert latch(drives) == ("free" if after_s is None else "held")
    drives.tell(hearing.Trouble(parts[0], "it is back", over=True))
    drives.pass_s(0.1)
    assert latch(drives) == "free"


def test_a_card_that_is_back_is_not_heard_before_it_delivers_sound(drives: Stage) -> None:
    drives.dialogue.device("lost", "usb")
    drives.tell(hearing.Trouble("device", "no sound for 1.0 s"))
    drives.dialogue.device("back", "usb")
    drives.settle()
    assert latch(drives) == "held"
    drives.tell(hearing.Trouble("device", "delivers sound again", over=True))
    assert latch(drives) == "free"


def test_one_recogniser_of_two_that_is_back_does_not_stand_for_the_other(drives: Stage) -> None:
    lost = [("keywords", ""), ("transcriber", "ears-app"), ("transcriber", "ears-general")]
    drives.tell(*(hearing.Trouble(part, "it died", source=source) for part, source in lost))
    drives.tell(hearing.Trouble("transcriber", "it is back", over=True, source="ears-general"))
    drives.pass_s(RECOGNISERS_S + 0.5)
    assert latch(drives) == "held"


def test_what_is_only_told_is_no_loss(drives: Stage) -> None:
    drives.tell(*(hearing.Trouble(part, "it is slow", lost=False) for part in ("keywords", "transcriber")))
    drives.pass_s(RECOGNISERS_S + 0.5)
    assert latch(drives) == "free"
