"""Calls that contradict the words they are made of are asked about, and the answer runs what was meant."""

from typing import Any

import pytest

from edgeagent import Agent, Session, skill, tool
from edgeagent.hooks import GroundingHook
from edgeagent.testing import ScriptedLLM, call

Call = dict[str, Any]


class Robot:
    """A robot that writes down what it does, and the session that talks to it."""

    def __init__(self, *replies: Any) -> None:
        self.done: list[Any] = []

        @skill
        def drive(distance_m: float) -> str:
            """Drive straight; negative is backwards."""
            return self._do(distance_m)

        @skill
        def turn(angle_deg: float) -> str:
            """Turn on the spot; positive is left."""
            return self._do(angle_deg)

        @skill
        def go_to(place: str) -> str:
            """Drive to a place."""
            return self._do(place)

        @tool
        def set_light(room: str, on: bool) -> str:
            """Switch the light of a room."""
            return self._do((room, on))

        @tool(read_only=True)
        def get_battery() -> str:
            """Tell how full the battery is."""
            return self._do("battery")

        @skill
        def follow() -> str:
            """Follow the person."""
            return self._do("me")

        @skill
        def fetch(thing: str) -> str:
            """Fetch a thing."""
            return self._do(thing)

        @tool(read_only=True)
        def is_free(place: str) -> str:
            """Tell if a place is free."""
            return self._do(place)

        @skill
        def strafe(way_m: float) -> str:
            """Roll to a side; positive is left."""
            return self._do(way_m)

        @skill
        def fly(bearing_deg: int, distance_m: float) -> str:
            """Fly a leg; negative is backwards."""
            return self._do(bearing_deg)

        tools = [
            follow,
            drive,
            turn,
            go_to,
            set_light,
            get_battery,
            fetch,
            is_free,
            *([strafe] if "strafe" in str(replies) else []),
            fly,
        ]
        self.session = Session(Agent("robi", llm=ScriptedLLM(*replies), tools=tools, hooks=[GroundingHook()]))

    def _do(self, value: Any) -> str:
        self.done.append(value)
        return f"{value}: done"

    def hear(self, text: str) -> str:
        return self.session.step(text).reply


KITCHEN, OFFICE, BACK = call("go_to", place="kitchen"), call("go_to", place="office"), call("drive", distance_m=-1)
BATTERY = call("get_battery")
LEFT, WAY = call("turn", angle_deg=90), call("drive", distance_m=2)


@pytest.mark.parametrize(
    ("answer", "done"),
    [
        ("the kitchen", ["kitchen", 90]),
        ("the study please", ["office", 90]),
        ("both", ["kitchen", "office", 90]),
        ("no, fetch the cup", ["cup"]),
        ("not the kitchen but the cup", ["cup"]),
        ("the kitchen or the office or the cup", ["cup"]),
        ("yes, both of them", ["kitchen", "office", 90]),
        ("go to the kitchen, then fetch the cup", ["cup"]),
        ("fetch the cup from the kitchen", ["cup"]),
    ],
)
def test_of_two_things_one_is_meant(answer: str, done: list[Any]) -> None:
    robot = Robot([KITCHEN, OFFICE, LEFT], [call("fetch", thing="cup")], "Done.")
    assert robot.hear("go to the kitchen or the office and turn left") == "Which one: the kitchen or the office?"
    assert robot.done == []
    robot.hear(answer)
    assert robot.done == done


def test_a_yes_to_one_of_two_is_asked_again() -> None:
    robot = Robot([KITCHEN, OFFICE], [KITCHEN], [KITCHEN], "Done.")
    question = robot.hear("go to the kitchen or the office")
    assert robot.hear("yes") == question
    robot.hear("the office")
    assert robot.done == ["office"]


def light(room: str, on: bool) -> Call:
    return call("set_light", room=room, on=on)


KITCHEN_ON = [light("kitchen", True)]
ALL_OFF = [light("kitchen", False), light("office", False)]


@pytest.mark.parametrize(
    ("text", "calls", "answer", "then", "done"),
    [
        ("kitchen or office light on", "lights", "kitchen light off", [ALL_OFF[0]], [("kitchen", False)]),
        ("kitchen or office light on", "lights", "all lights off", ALL_OFF, [("kitchen", False), ("office", False)]),
        ("go to the kitchen or the office", "places", "kitchen light on", KITCHEN_ON, [("kitchen", True)]),
        ("go to the kitchen or the office", "places", "stop everything", [], []),
        ("go to the kitchen or the office", "places", "that is all", [], []),
        ("go to the kitchen or the office", "places", "everything is fine", [], []),
        ("go to the kitchen or the office", "places", "is the kitchen light on", [], []),
        ("go to the kitchen or the office", "places", "where is the kitchen", [], []),
        ("turn east", "turn", "turn off all lights", ALL_OFF, [("kitchen", False), ("office", False)]),
        ("turn east", "turn", "how much battery is left", [BATTERY], ["battery"]),
        ("turn east", "turn", "both", [], []),
        ("drive north one meter", "way", "go back to the kitchen", [KITCHEN], ["kitchen"]),
        ("strafe left", "turn", "turn off all lights", ALL_OFF, [("kitchen", False), ("office", False)]),
        ("go to the kitchen and come back", "back", "what time is it", [BATTERY], ["battery"]),
        ("go to the kitchen and come back", "back", "light on", KITCHEN_ON, [("kitchen", True)]),
        ("go to the kitchen and come back", "back", "go to the office instead", [OFFICE], ["office"]),
        ("go to the kitchen and come back", "back", "all lights off", [ALL_OFF[0]], [("kitchen", False)]),
    ],
)
def test_what_says_more_than_an_answer_is_done_by_itself(
    text: str, calls: str, answer: str, then: list[Call], done: list[Any]
) -> None:
    asked = {
        "lights": [light("kitchen", True), light("office", True)],
        "places": [KITCHEN, OFFICE],
        "turn": [LEFT],
        "way": [call("drive", distance_m=1)],
        "back": [KITCHEN, BACK],
    }
    robot = Robot(asked[calls], then or "Fine.", "Done.")
    robot.hear(text)
    assert robot.done == []
    robot.hear(answer)
    assert robot.done == done


@pytest.mark.parametrize("answer", ["wait", "hm", "hold on", "thanks", "hello", "good morning", "what", "right now"])
@pytest.mark.parametrize(
    ("text", "calls", "then"),
    [
        ("go to the kitchen or the office", [KITCHEN, OFFICE], [KITCHEN]),
        ("turn east", [LEFT], [call("turn", angle_deg=-90)]),
        ("go to the kitchen and come back", [KITCHEN, BACK], [KITCHEN, BACK]),
    ],
)
def test_what_answers_nothing_is_asked_again(text: str, calls: list[Call], then: list[Call], answer: str) -> None:
    robot = Robot(calls, then, "Done.")
    question = robot.hear(text)
    assert question.endswith("?")
    assert robot.hear(answer) == question
    assert robot.done == []


@pytest.mark.parametrize("answer", ["where is the kitchen", "is the kitchen free", "I am in the kitchen"])
def test_a_place_that_is_told_or_asked_about_is_not_chosen(answer: str) -> None:
    robot = Robot([KITCHEN, OFFICE], [KITCHEN], "Done.")
    question = robot.hear("go to the kitchen or the office")
    assert robot.hear(answer) == question
    assert robot.done == []


@pytest.mark.parametrize(
    ("text", "calls", "done"),
    [
        ("go to the kitchen and the office", [KITCHEN, OFFICE], ["kitchen", "office"]),
        ("go to the kitchen and the office, now or never", [KITCHEN, OFFICE], ["kitchen", "office"]),
        ("is the kitchen or the office free", [call("is_free", place=one) for one in ("kitchen", "office")], 2),
        ("fetch the cup or a mug", [call("fetch", thing="cup")], ["cup"]),
        ("go to the kitchen and drive back", [KITCHEN, BACK], ["kitchen", -1]),
        ("go to the kitchen and back up", [KITCHEN, BACK], ["kitchen", -1]),
        ("go to the kitchen, then come back a meter", [KITCHEN, BACK], ["kitchen", -1]),
        ("go to the kitchen, then go back a little", [KITCHEN, call("drive", distance_m=-0.5)], ["kitchen", -0.5]),
        ("kitchen light on and go back", [*KITCHEN_ON, BACK], [("kitchen", True), -1]),
        ("drive forward 1 meter and come back", [call("drive", distance_m=1), BACK], [1, -1]),
        ("turn left 90 degrees, that's north", [LEFT], [90]),
        ("drive forward two meters to the north", [WAY], [2]),
        ("turn left and drive north 2 meters", [LEFT, WAY], [90, 2]),
        ("fly east 2 meters", [call("fly", bearing_deg=90, distance_m=2)], [90]),
        ("go to the east wing", [call("go_to", place="east wing")], ["east wing"]),
        ("strafe 2 meters left", [call("strafe", way_m=2)], [2]),
    ],
)
def test_what_contradicts_nothing_is_done_at_once(text: str, calls: list[Call], done: Any) -> None:
    robot = Robot(calls, "Done.")
    robot.hear(text)
    assert robot.done == done if isinstance(done, list) else len(robot.done) == done


@pytest.mark.parametrize(
    ("answer", "then", "done"),
    [
        ("the office", [OFFICE], ["kitchen", "office"]),
        ("come back to the office please", [OFFICE], ["kitchen", "office"]),
        ("to the office", [KITCHEN, OFFICE], ["kitchen", "office"]),
        ("to me", [KITCHEN, call("follow")], ["kitchen", "me"]),
        ("turn left", [LEFT], [90]),
        ("no", [], []),
        ("never mind, the office is fine", [OFFICE], ["office"]),
    ],
)
def test_where_to_come_back_to_is_asked_and_all_is_done_then(answer: str, then: list[Call], done: list[Any]) -> None:
    robot = Robot([KITCHEN, BACK], then or "Fine.", "Done.")
    assert robot.hear("go to the kitchen and come back") == "Where should I come back to?"
    robot.hear(answer)
    assert robot.done == done


@pytest.mark.parametrize(
    ("text", "calls", "way", "answer", "done"),
    [
        ("turn to face south", [call("turn", angle_deg=180)], "left or right", "left", [90]),
        ("turn east", [LEFT], "left or right", "to the right", [-90]),
        ("turn 45 degrees to the west", [call("turn", angle_deg=45)], "left or right", "right", [-45]),
        ("turn east and go to the kitchen", [LEFT, KITCHEN], "left or right", "right", [-90, "kitchen"]),
        ("move north 2 meters", [WAY], "forward or back", "forwards", [2]),
        ("move north 2 meters", [WAY], "forward or back", "backwards please", [-2]),
        ("move north 2 meters", [WAY], "forward or back", "turn left", [90]),
    ],
)
def test_a_robot_without_a_compass_asks_which_way(
    text: str, calls: list[Call], way: str, answer: str, done: list[Any]
) -> None:
    robot = Robot(calls, [LEFT], "Done.")
    assert robot.hear(text) == f"I have no compass. Which way: {way}?"
    robot.hear(answer)
    assert robot.done == done


@pytest.mark.parametrize(
    ("text", "wanted"), [("sidestep right", call("turn", angle_deg=-90)), ("strafe left 2 meters", WAY)]
)
def test_nobody_is_turned_by_a_way_to_the_side(text: str, wanted: Call) -> None:
    robot = Robot([wanted])
    assert robot.hear(text) == "I can't go to the side."
    assert robot.done == []
