"""A call that a reply repeats is made once, unless it was asked for more than once."""

from typing import Any

import pytest

from edgeagent import Agent, Session, tool
from edgeagent.hooks import RepeatedCallHook
from edgeagent.testing import ScriptedLLM, call


def robot(done: list[tuple[Any, ...]], *replies: Any) -> Agent:
    @tool
    def go_to(place: str) -> str:
        """Go to a place."""
        done.append(("go_to", place))
        return "there"

    @tool
    def drive(distance_m: float) -> str:
        """Drive straight."""
        done.append(("drive", distance_m))
        return "driven"

    @tool
    def wave(hands: list[int] | None = None) -> str:
        """Wave."""
        done.append(("wave",) if hands is None else ("wave", *hands))
        return "waved"

    return Agent("robi", llm=ScriptedLLM(*replies), tools=[go_to, drive, wave], hooks=[RepeatedCallHook()])


KITCHEN, OFFICE = call("go_to", place="kitchen"), call("go_to", place="office")
WAVE, METER = call("wave"), call("drive", distance_m=1)


@pytest.mark.parametrize(
    ("said", "calls", "made"),
    [
        ("go to the kitchen", [KITCHEN, KITCHEN], ["go_to"]),
        ("go to the kitchen", [KITCHEN] * 5, ["go_to"]),
        ("wave, then go to the kitchen", [WAVE, KITCHEN, WAVE, KITCHEN], ["wave", "go_to"]),
        ("wave, then go to the kitchen", [WAVE, KITCHEN, KITCHEN], ["wave", "go_to"]),
        ("go to the kitchen, to the office and back", [KITCHEN, OFFICE, KITCHEN], ["go_to", "go_to", "go_to"]),
        ("go one meter and then go on", [METER, METER], ["drive", "drive"]),
        ("wave twice", [WAVE, WAVE], ["wave", "wave"]),
        ("wave three times", [WAVE, WAVE, WAVE], ["wave", "wave", "wave"]),
        ("wave and wave", [WAVE, WAVE], ["wave", "wave"]),
        ("keep waving", [WAVE, WAVE], ["wave", "wave"]),
        ("patrol: kitchen, office, kitchen, office", [KITCHEN, OFFICE, KITCHEN, OFFICE], ["go_to"] * 4),
        ("one meter and then go on", [call("drive", distance_m="1")] * 2, ["drive", "drive"]),
        ("wave, and once more", [WAVE, WAVE], ["wave", "wave"]),
        ("wave", [call("wave", hands=[1]), call("wave", hands=[1])], ["wave", "wave"]),
    ],
)
def test_what_was_asked_for_once_is_called_once(said: str, calls: list[Any], made: list[str]) -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, calls, "Done.")) as session:
        session.step(said)
    assert [name for name, *_ in done] == made


def test_what_was_asked_for_before_a_question_counts() -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, "Shall I really?", [WAVE, WAVE], "Done.")) as session:
        session.step("wave two times")
        session.step("yes please")
    assert done == [("wave",), ("wave",)]


@pytest.mark.parametrize("said", ["undo that", "No, revert the last one!"])
def test_what_is_to_be_undone_is_not_done_again(said: str) -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, [WAVE], "Done.", [WAVE], "I waved.")) as session:
        session.step("wave")
        result = session.step(said)
    assert (done, result.reply, result.reason) == ([("wave",)], "I can't undo that.", "completed")


def test_what_is_asked_for_beside_is_done_again() -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, [WAVE], "Done.", [call("drive", distance_m=-1), WAVE], "Done.")) as session:
        session.step("wave")
        session.step("undo the last drive, then wave to them again")
    assert done == [("wave",), ("drive", -1), ("wave",)]


def test_what_undoes_is_done() -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, [METER], "Done.", [call("drive", distance_m=-1)], [METER], "Done.")) as session:
        session.step("drive one meter")
        session.step("undo that")
    assert done == [("drive", 1), ("drive", -1), ("drive", 1)]


def test_a_later_reply_may_do_the_same_again() -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, [KITCHEN], [KITCHEN], "Done.")) as session:
        session.step("go to the kitchen")
    assert len(done) == 2
