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
        """Drive straight; negative is backwards."""
        done.append(("drive", distance_m))
        return "driven"

    @tool
    def turn(angle_deg: float) -> str:
        """Turn on the spot; positive is left."""
        done.append(("turn", angle_deg))
        return "turned"

    @tool
    def set_light(place: str, on: bool) -> str:
        """Switch a light."""
        done.append(("set_light", place, on))
        return "switched"

    @tool(read_only=True)
    def scan() -> str:
        """Nearest obstacle."""
        done.append(("scan",))
        return "a wall"

    @tool
    def wave(hands: list[int] | None = None) -> str:
        """Wave."""
        done.append(("wave",) if hands is None else ("wave", *hands))
        return "waved"

    @tool
    def hop() -> str:
        """Leave the ground."""
        done.append(("hop",))
        return "hopped"

    tools = [go_to, drive, turn, set_light, scan, wave, hop]
    return Agent("robi", llm=ScriptedLLM(*replies), tools=tools, hooks=[RepeatedCallHook()])


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


LEFT, RIGHT, BACK = call("turn", angle_deg=90), call("turn", angle_deg=-90), call("drive", distance_m=-1)
ON, OFF = call("set_light", place="kitchen", on=True), call("set_light", place="kitchen", on=False)


@pytest.mark.parametrize(
    ("first", "then", "repeated"),
    [
        (METER, "bear with me", METER),
        (METER, "hold on a second", METER),
        (METER, "hold on a second", BACK),
        (METER, "half asleep", METER),
        (METER, "in other words", METER),
        (METER, "off the record", BACK),
        (METER, "now left", METER),
        (METER, "no, the office", METER),
        (METER, "and the garage one", METER),
        (METER, "the bathroom too", METER),
        (LEFT, "and now the garage", LEFT),
        (LEFT, "straight away", RIGHT),
        (LEFT, "that's too much", LEFT),
        (KITCHEN, "the other bottle", KITCHEN),
        (KITCHEN, "ready?", KITCHEN),
        (ON, "hang on, someone's here", OFF),
        (ON, "the office off", OFF),
        (WAVE, "nearly there", WAVE),
        (WAVE, "enough", WAVE),
        (METER, "watch out", METER),
        (METER, "down to earth", METER),
        (METER, "what's up", METER),
        (ON, "enough", ON),
        (METER, "enough", METER),
        (METER, "slow down", METER),
    ],
)
def test_what_new_words_do_not_ask_for_is_not_done_again(first: Any, then: str, repeated: Any) -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, [first], "Done.", [repeated], "Done.")) as session:
        session.step("please begin")
        result = session.step(then)
    assert len(done) == 1
    assert result.reply == "Sorry, I did not understand that."


@pytest.mark.parametrize(
    ("first", "then", "repeated"),
    [
        (METER, "again", METER),
        (METER, "once more", METER),
        (METER, "further", METER),
        (METER, "and back", BACK),
        (METER, "the other way", BACK),
        (METER, "three times", METER),
        (METER, "1 meter", METER),
        (METER, "forward", METER),
        (METER, "go on to the office", WAVE),
        (METER, "forward to the office", METER),
        (METER, "do that again please", METER),
        (LEFT, "left", LEFT),
        (LEFT, "now right", RIGHT),
        (LEFT, "left, then right", LEFT),
        (LEFT, "90 degrees", LEFT),
        (LEFT, "turn there", LEFT),
        (KITCHEN, "kitchen", KITCHEN),
        (KITCHEN, "where we cook", KITCHEN),
        (ON, "off", OFF),
        (ON, "lights", OFF),
        (ON, "the kitchen one too", ON),
        (WAVE, "a wave, please", WAVE),
        (WAVE, "showtime", WAVE),
        (WAVE, "after me", WAVE),
        (WAVE, "stay with me", WAVE),
        (WAVE, "to me", WAVE),
        (WAVE, "louder", WAVE),
        (METER, "slower", BACK),
        (METER, "slow down", BACK),
        (METER, "too fast", BACK),
        (METER, "up", METER),
        (ON, "dark please", OFF),
        (ON, "out", OFF),
        (ON, "that's enough", OFF),
        (ON, "finish", OFF),
        (ON, "end it", OFF),
        (ON, "stand up", OFF),
        (ON, "release", OFF),
        (call("hop"), "hop", call("hop")),
        (call("hop"), "do hop for us", call("hop")),
    ],
)
def test_what_new_words_ask_for_is_done_again(first: Any, then: str, repeated: Any) -> None:
    done: list[tuple[Any, ...]] = []
    with Session(robot(done, [first], "Done.", [repeated], "Done.")) as session:
        session.step("showtime")
        session.step(then)
    assert len(done) == 2


def test_an_answer_and_what_only_tells_may_repeat() -> None:
    done: list[tuple[Any, ...]] = []
    replies = [[METER], "Did you mean that?", [METER], "Done.", [call("scan")], "A wall.", [call("scan")], "A wall."]
    with Session(robot(done, *replies)) as session:
        for said in ("please begin", "hm", "what is there", "anything else"):
            session.step(said)
    assert [name for name, *_ in done] == ["drive", "drive", "scan", "scan"]
