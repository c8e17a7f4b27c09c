"""What a model calls with arguments that nobody gave is asked about, and done after a yes."""

from typing import Any, Literal

import pytest

from edgeagent import Agent, Message, RunResult, Session, Tool, ToolCall, skill, tool
from edgeagent.hooks import GroundingHook
from edgeagent.testing import ScriptedLLM, call

Call = dict[str, Any]


class Robot:
    """A robot that writes down what it does, and the session that talks to it."""

    def __init__(self, *replies: Any, **settings: Any) -> None:
        self.done: list[tuple[str, Any]] = []

        @skill
        def drive(distance_m: float) -> str:
            """Drive straight; negative is backwards."""
            return self._do("drive", distance_m)

        @skill
        def turn(angle_deg: float) -> str:
            """Turn on the spot; positive is left."""
            return self._do("turn", angle_deg)

        @skill
        def fall(angle_deg: float) -> str:
            """Fall over; positive is left."""
            raise RuntimeError("the motor is hot")

        @skill
        def go_to(place: str) -> str:
            """Drive to a place."""
            return self._do("go_to", place)

        @tool
        def set_timer(duration_s: int) -> str:
            """Start a timer."""
            return self._do("set_timer", duration_s)

        @tool
        def set_level(level: int, mode: Literal["eco", "boost"] = "eco") -> str:
            """Set the level."""
            return self._do("set_level", level)

        @tool
        def note(text: str) -> str:
            """Keep a text."""
            return self._do("note", text)

        @tool(read_only=True)
        def scan() -> str:
            """Nearest obstacle."""
            return "nearest obstacle: wall, 1.2 m ahead, beyond it the office"

        tools = [*self._other_tools(), drive, turn, fall, go_to, set_timer, set_level, note, scan]
        self.agent = Agent("robi", llm=ScriptedLLM(*replies), tools=tools, hooks=[GroundingHook(**settings)])
        self.session = Session(self.agent)

    def _other_tools(self) -> list[Tool]:
        @tool
        def drop_anchor(chain_m: float) -> str:
            """Let the anchor go."""
            return self._do("drop_anchor", chain_m)

        @tool
        def pour(volume_ml: float) -> str:
            """Pour a drink."""
            return self._do("pour", volume_ml)

        @tool
        def open_vent(percent: int) -> str:
            """Set the vent; 0 is closed."""
            return self._do("open_vent", percent)

        @skill
        def fly(bearing_deg: int, distance_m: float) -> str:
            """Fly a leg."""
            return self._do("fly", bearing_deg)

        @tool
        def load(weight_kg: float) -> str:
            """Load so much."""
            return self._do("load", weight_kg)

        @tool
        def keep(days: int) -> str:
            """Keep it so long."""
            return self._do("keep", days)

        @skill
        def hoist(metres: float) -> str:
            """Raise the gondola; negative lowers."""
            return self._do("hoist", metres)

        @tool
        def alarm(hour: int) -> str:
            """Ring at an hour."""
            return self._do("alarm", hour)

        return [drop_anchor, pour, open_vent, fly, load, keep, hoist, alarm]

    def _do(self, name: str, value: Any) -> str:
        self.done.append((name, value))
        return f"{name}: done"

    def hear(self, text: str) -> RunResult:
        return self.session.step(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("drive two meters", call("drive", distance_m=2)),
        ("drive 50 cm", call("drive", distance_m=0.5)),
        ("drive too meters", call("drive", distance_m=2)),
        ("reverse too metres and thirty centimetres", call("drive", distance_m=-2.3)),
        ("drive 3 feet", call("drive", distance_m=0.9144)),
        ("drive 3 feet", call("drive", distance_m=0.9)),
        ("drive -3 m", call("drive", distance_m=-3)),
        ("drive minus two meters", call("drive", distance_m=-2)),
        ("back up two meters", call("drive", distance_m=-2)),
        ("drive two meters back", call("drive", distance_m="-2")),
        ("look back next drive another meter", call("drive", distance_m=1)),
        ("drive a little", call("drive", distance_m=0.5)),
        ("turn left a little", call("turn", angle_deg=15)),
        ("just a smidge to the right", call("turn", angle_deg=-15)),
        ("nudge forward", call("drive", distance_m=0.5)),
        ("drive forward", call("drive", distance_m=1)),
        ("drive two meters twice", call("drive", distance_m=2)),
        ("drive two meters three times", call("drive", distance_m=6)),
        ("drive two plus three meters", call("drive", distance_m=5)),
        ("turn right 45 degrees", call("turn", angle_deg=-45)),
        ("turn left right now", call("turn", angle_deg=90)),
        ("turn around", call("turn", angle_deg=180)),
        ("half a turn", call("turn", angle_deg=180)),
        ("turn left a bit", call("turn", angle_deg=15)),
        ("a minute and a half", call("set_timer", duration_s=90)),
        ("go to the kichen", call("go_to", place="kitchen")),
        ("go to the couch", call("go_to", place="sofa")),
        ("level four", call("set_level", level=4)),
        ("level four", call("set_level", level=4, mode="eco")),
        ("keep in mind that the milk is empty", call("note", text="buy milk, bread and six eggs tomorrow")),
        ("choose the third level", call("set_level", level=3)),
        ("the 13th level please", call("set_level", level=13)),
        ("could you choose the ninth level for me", call("set_level", level=9)),
        ("set the timer to two minutes and choose level one", call("set_level", level=1)),
        ("set a tiemr for 10 mintues", call("set_timer", duration_s=600)),
        ("drvie 2 meteres", call("drive", distance_m=2)),
        ("set a timer for 20 seconds, no, minutes", call("set_timer", duration_s=1200)),
        ("drive thirty meters, sorry, I mean centimeters", call("drive", distance_m=0.3)),
        ("drive 2/3 of a meter", call("drive", distance_m=0.667)),
        ("drive 1 1/2 meters", call("drive", distance_m=1.5)),
        ("open the vent 3/4", call("open_vent", percent=75)),
        ("choose level 3 on 12/25", call("set_level", level=3)),
        ("go to dock 3 and one half meter forward", call("drive", distance_m=0.5)),
        ("turn left 90 and one half meter forward", call("drive", distance_m=0.5)),
        ("drive three and one half meters", call("drive", distance_m=3.5)),
        ("drive 2/3 of 6 meters", call("drive", distance_m=4)),
        ("drive 2 meters and a half turn left", call("drive", distance_m=2)),
        ("turn it up to three notches", call("set_level", level=3)),
        ("set the alarm to 5 pm", call("alarm", hour=5)),
        ("set the alarm to 5 pm", call("alarm", hour=17)),
        ("pour 200 ml per cup", call("pour", volume_ml=200)),
        ("turn around but slow", call("turn", angle_deg=180)),
        ("go to the kitchen instead of the office", call("go_to", place="kitchen")),
        ("instead of the office, the kitchen please", call("go_to", place="kitchen")),
        ("the lights can stay on except the office. now to the office", call("go_to", place="office")),
        ("not the office. other than that, go to the kitchen", call("go_to", place="kitchen")),
        ("instead of coffee, tea in the kitchen please", call("go_to", place="kitchen")),
        ("go nowhere except to the kitchen", call("go_to", place="kitchen")),
        ("not the office, instead of the office go to the kitchen", call("go_to", place="kitchen")),
        ("avoid the office and go to the kitchen", call("go_to", place="kitchen")),
        ("without entering the office go to the kitchen", call("go_to", place="kitchen")),
        ("go to the kitchen without spilling the kitchen tea", call("go_to", place="kitchen")),
        ("go to the kitchen without stopping", call("go_to", place="kitchen")),
        ("I like all but the last, go to the kitchen", call("go_to", place="kitchen")),
        ("turn all lights off but first go to the kitchen", call("go_to", place="kitchen")),
        ("turn all the lights on and leave them on in the kitchen", call("go_to", place="kitchen")),
        ("leave the kitchen light on and go to the kitchen", call("go_to", place="kitchen")),
        ("leave the office and go to the kitchen", call("go_to", place="kitchen")),
        ("drive 2 meters until you see a door", call("drive", distance_m=2)),
        ("drive until you see a door, then drive 2 meters", call("drive", distance_m=2)),
    ],
)
def test_what_was_said_is_done_at_once(text: str, wanted: Call) -> None:
    robot = Robot([wanted], "Done.")
    assert robot.hear(text).reply == "Done."
    assert len(robot.done) == 1


@pytest.mark.parametrize("text", ["go left for a meter", "drive 1 meter to the right", "move a meter left"])
def test_a_way_to_the_side_is_asked_about_where_the_robot_would_drive_straight_on(text: str) -> None:
    robot = Robot([call("drive", distance_m=1)], [call("drive", distance_m=1)], "Done.")
    assert robot.hear(text).reply == "I can't go to the side. Drive 1 meter? Say yes."
    assert not robot.done
    calls = robot.hear("yes").tool_calls
    assert robot.done == [("drive", 1)]
    assert str(calls[0].arguments["distance_m"]) == "1", "whole as it was called"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("turn left, one meter", [call("turn", angle_deg=90), call("drive", distance_m=1)]),
        ("go left one meter", [call("turn", angle_deg=90), call("drive", distance_m=1)]),
        ("one meter forward on the left", [call("drive", distance_m=1)]),
        ("drive one meter and go to the left door", [call("drive", distance_m=1)]),
        ("drive one meter, turn left", [call("drive", distance_m=1), call("turn", angle_deg=90)]),
    ],
)
def test_a_side_beside_a_turn_or_a_straight_way_is_no_way_to_the_side(text: str, wanted: list[Call]) -> None:
    robot = Robot(wanted, "Done.")
    robot.hear(text)
    assert len(robot.done) == len(wanted)


@pytest.mark.parametrize(
    ("text", "value", "question"),
    [
        ("drive 2/3 of a meter", 3, "Drive 0.67 meters? Say yes."),
        ("drive 1/2 a meter", 2, "Drive 0.5 meters? Say yes."),
        ("drive 3/4 of the way", 3, "How far?"),
        ("drive two thirds of a meter", 2, "Drive 0.67 meters? Say yes."),
        ("drive as it is 24/7", 7, "How far?"),
        ("drive on 12/25", 12, "How far?"),
        ("drive on 12/25", 1, "How far?"),
        ("go to dock 3 and one half meter forward", 3.5, "How far?"),
        ("go to alpha 3 and one half meters forward", 3.5, "How far?"),
        ("go to alpha 3 and one half meters forward", 0.5, "How far?"),
        ("turn left 90 and one third of a meter", 90.33, "How far?"),
        ("drive 0.123456 meters", 0.1268, "Drive 0.12 meters? Say yes."),
        ("drive 1/2.5 m", 5, "How far?"),
        ("drive 1.5/2 m", 2, "How far?"),
        ("drive 1/2/3 meters", 3, "How far?"),
        ("drive 1/2/3 meters", 1, "How far?"),
        ("drive to gate 1/2", 0.5, "How far?"),
        ("we are 1/2 done, drive on", 0.5, "How far?"),
        ("drive 2/3 of 6 meters", 6, "Drive 4 meters? Say yes."),
        ("drive 1/2 1/2 m", 0.25, "How far?"),
        ("drive 1/2 1/2 m", 0.5, "How far?"),
        ("take three steps forward", 3, "How far?"),
        ("move back a couple of paces", -2, "How far?"),
        ("take 3 steps of 0.5 meters", 1.5, "How far?"),
        ("slow down", 1, "How far?"),
        ("step aside", 1, "How far?"),
        ("drive at 2 meters per second", 2, "How far?"),
        ("drive on until you are 2 meters from the wall", 2, "How far?"),
    ],
)
def test_a_number_of_a_fraction_or_of_a_date_is_no_distance(text: str, value: float, question: str) -> None:
    robot = Robot([call("drive", distance_m=value)], "Done.")
    assert robot.hear(text).reply == question
    assert not robot.done


def test_a_fraction_without_a_unit_is_no_answer() -> None:
    robot = Robot([call("open_vent", percent=30)], [call("open_vent", percent=1)], "Done.")
    assert robot.hear("open the vent").reply == "How many percent?"
    assert robot.hear("3/4").reply == "How many percent?"
    assert not robot.done


def test_a_part_of_what_was_done_before_has_its_number() -> None:
    robot = Robot(
        [call("drive", distance_m=6)], "Done.", [call("drive", distance_m=-2)], [call("drive", distance_m=-4)], "Done."
    )
    robot.hear("drive 6 meters")
    assert robot.hear("now two thirds of that back").reply == "How far?"
    assert robot.hear("now 2/3 of that back").reply == "Done."
    assert robot.done == [("drive", 6), ("drive", -4)]


@pytest.mark.parametrize(
    ("text", "copied", "meant"),
    [
        ("drive 300 cm", call("drive", distance_m=300), ("drive", 3)),
        ("drive back 3 feet", call("drive", distance_m=-3), ("drive", -0.914)),
        ("start a timer of 2 minutes", call("set_timer", duration_s=2), ("set_timer", 120)),
        ("pour a lemonade of 30 cl", call("pour", volume_ml=30), ("pour", 300)),
        ("pour half a liter", call("pour", volume_ml=0.5), ("pour", 500)),
        ("pour a tenth of a liter", call("pour", volume_ml=100), ("pour", 100)),
    ],
)
def test_a_number_that_was_copied_without_its_unit_is_converted(
    text: str, copied: Call, meant: tuple[str, Any]
) -> None:
    robot = Robot([copied], "Done.")
    assert robot.hear(text).reply == "Done."
    assert robot.done == [meant]


def test_a_number_that_no_whole_number_is_converted_to_is_asked_about() -> None:
    robot = Robot([call("set_timer", duration_s=5)])
    assert robot.hear("set a timer for 5 milliseconds").reply == "Set timer 0 seconds? Say yes."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("open the vent halfway", call("open_vent", percent=50)),
        ("the vent wide open please", call("open_vent", percent=100)),
        ("close the vent", call("open_vent", percent=0)),
        ("fly south for 3 meters", call("fly", bearing_deg=180, distance_m=3)),
        ("go due north 3 m", call("fly", bearing_deg=360, distance_m=3)),
        ("pour half a ton", call("load", weight_kg=500)),
        ("keep it for a week", call("keep", days=7)),
        ("lower it by 2 meters", call("hoist", metres=-2)),
    ],
)
def test_shares_the_compass_and_further_units_are_known(text: str, wanted: Call) -> None:
    robot = Robot([wanted], "Done.")
    assert robot.hear(text).reply == "Done."


@pytest.mark.parametrize(
    ("text", "wanted", "question"),
    [
        ("turn east", call("turn", angle_deg=90.5), "How many degrees?"),
        ("turn to 3 o'clock", call("turn", angle_deg=3), "How many degrees?"),
        ("set a timer for 5 pm", call("set_timer", duration_s=5), "How long?"),
        ("open the vent halfway", call("open_vent", percent=30), "How many percent?"),
        ("fly west for 3 meters", call("fly", bearing_deg=90, distance_m=3), "How many degrees?"),
        ("pour something", call("pour", volume_ml=300), "How many liters?"),
    ],
)
def test_another_share_or_point_of_the_compass_is_asked_about(text: str, wanted: Call, question: str) -> None:
    robot = Robot([wanted])
    assert robot.hear(text).reply == question
    assert robot.done == []


@pytest.mark.parametrize(
    ("text", "there", "back"),
    [
        ("turn 192 to the right and back", call("turn", angle_deg=-192), call("turn", angle_deg=192)),
        ("drive two meters forward and back again", call("drive", distance_m=2), call("drive", distance_m=-2)),
    ],
)
def test_a_way_there_and_back_is_done_at_once(text: str, there: Call, back: Call) -> None:
    robot = Robot([there, back], "Done.")
    assert robot.hear(text).reply == "Done."
    robot = Robot([there], [back], "Done.")
    assert robot.hear(text).reply == "Done."
    assert len(robot.done) == 2
    robot = Robot([back])
    assert robot.hear(text).reply.endswith("Say yes."), "nothing was gone that could be taken back"


def test_and_back_of_one_way_gives_no_other_a_direction() -> None:
    calls = [call("turn", angle_deg=-90), call("drive", distance_m=2), call("drive", distance_m=-2)]
    robot = Robot(calls)
    robot.hear("turn left 90 degrees, drive forward two meters and back")
    assert robot.done == []


@pytest.mark.parametrize(
    ("text", "wanted", "question"),
    [
        ("drive two thousand meters", call("drive", distance_m=23), "Drive 2000 meters? Say yes."),
        ("drive 100 meters", call("drive", distance_m=1), "Drive 100 meters? Say yes."),
        ("drive -3 m", call("drive", distance_m=3), "Drive back 3 meters? Say yes."),
        ("drive minus two meters", call("drive", distance_m=2), "Drive back 2 meters? Say yes."),
        ("drive two meters back", call("drive", distance_m=2), "Drive back 2 meters? Say yes."),
        ("drive 3 feet", call("drive", distance_m=5), "Drive 0.91 meters? Say yes."),
        ("turn right 30 degrees", call("turn", angle_deg=30), "Turn right 30 degrees? Say yes."),
        ("drive", call("drive", distance_m=7), "How far?"),
        ("drive at 0.5 m/s for 2 seconds", call("drive", distance_m=0.5), "How far?"),
        ("turn left a little", call("turn", angle_deg=90), "How many degrees?"),
        ("turn left just a whisker", call("turn", angle_deg=90), "How many degrees?"),
        ("turn a hair to the right", call("turn", angle_deg=-90), "How many degrees?"),
        ("drop the anchor", call("drop_anchor", chain_m=1), "How far?"),
        ("set a timer", call("set_timer", duration_s=600), "How long?"),
        ("set a level", call("set_level", level=3), "What level do you mean?"),
        ("level 4", call("set_level", level=40), "Set level, level 4? Say yes."),
        ("level 4", call("set_level", level=4, mode="boost"), "Did you mean the boost? Say yes."),
        ("pick up the phone call, would you", call("go_to", place="phone"), "Did you mean the phone? Say yes."),
        ("go to the moon", call("go_to", place="balcony"), "Did you mean the balcony? Say yes."),
        (
            "look after all the plants",
            call("go_to", place="balcony"),
            "I can do one place at a time. Did you mean the balcony? Say yes.",
        ),
        ("drive 12 meters", call("drive", distance_m=12), "Drive 12 meters? Say yes."),
        ("turn right 1000 degrees", call("turn", angle_deg=-1000), "Turn right 1000 degrees? Say yes."),
        ("choose a better level", call("set_level", level=1), "What level do you mean?"),
        ("choose the third level", call("set_level", level=4), "What level do you mean?"),
    ],
)
def test_what_nobody_said_and_what_goes_far_is_asked_about(text: str, wanted: Call, question: str) -> None:
    robot = Robot([wanted])
    result = robot.hear(text)
    assert (robot.done, result.reply, result.reason) == ([], question, "completed")


def test_a_yes_runs_exactly_what_was_asked_about_whatever_the_model_makes_of_it() -> None:
    robot = Robot([call("drive", distance_m=23)], [call("go_to", place="kitchen")], "Driven.")
    robot.hear("drive two thousand meters")
    assert robot.hear("yes please").reply == "Driven."
    assert robot.done == [("drive", 2000)]


def test_nothing_of_a_reply_runs_before_the_yes_and_all_of_it_after() -> None:
    robot = Robot([call("turn", angle_deg=90), call("drive", distance_m=40)], "Okay.", "Done.")
    assert robot.hear("turn left and drive 40 meters").reply == "Turn left 90 degrees, then drive 40 meters? Say yes."
    assert robot.done == []
    robot.hear("yes")
    assert robot.done == [("turn", 90), ("drive", 40)]


def test_a_no_does_nothing_and_a_later_yes_does_nothing_either() -> None:
    robot = Robot([call("drive", distance_m=23)], [call("drive", distance_m=23)], "Yes what?")
    robot.hear("drive 2000 meters")
    assert robot.hear("no").reply == "Okay, I will not do that."
    assert robot.hear("yes").reply == "Yes what?"
    assert robot.done == []


@pytest.mark.parametrize(
    ("text", "calls", "answer", "done"),
    [
        ("drive 30 meters", [call("drive", distance_m=30)], "no, 3", [("drive", 3)]),
        ("drive 30 meters", [call("drive", distance_m=30)], "ok but only 2 meters", [("drive", 2)]),
        ("drive 30 meters", [call("drive", distance_m=30)], "no, not 30", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "no, 12", []),
        ("drive back 30 meters", [call("drive", distance_m=-30)], "no, 3", [("drive", -3)]),
        (
            "drive 30 meters, turn left",
            [call("drive", distance_m=30), call("turn", angle_deg=90)],
            "3 meters",
            [("drive", 3), ("turn", 90)],
        ),
        ("drive 30 meters and 20 back", [call("drive", distance_m=30), call("drive", distance_m=-20)], "no, 3", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "timer 10", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "2 lights on", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "battery 2", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "volume 3", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "alarm at 7", []),
        ("drive 30 meters", [call("drive", distance_m=30)], "at 7", []),
        ("turn 900 degrees", [call("turn", angle_deg=900)], "timer 10", []),
    ],
)
def test_a_number_beside_a_no_takes_the_place_of_a_long_way(text: str, calls: Any, answer: str, done: Any) -> None:
    robot = Robot(calls, "Hm?", "Hm?")
    robot.hear(text)
    robot.hear(answer)
    assert robot.done == done


@pytest.mark.parametrize(
    ("answer", "then", "done"),
    [
        ("no, the office", [call("go_to", place="office")], [("go_to", "office")]),
        ("no", [call("go_to", place="office")], []),
        ("no, never", [call("go_to", place="office")], []),
        ("not the office", [call("go_to", place="office")], []),
        ("no, the office", "Fine.", []),
    ],
)
def test_a_name_beside_a_no_is_a_correction(answer: str, then: Any, done: list[Any]) -> None:
    robot = Robot([call("go_to", place="kitchen")], then, "Done.")
    robot.hear("go to the chapel")
    robot.hear(answer)
    assert robot.done == done


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("stay here and go there", "Which place do you mean?"),
        ("drive over there", "Which place do you mean?"),
        ("go to the chapel", "Did you mean the office? Say yes."),
        ("go where we eat", "Did you mean the office? Say yes."),
    ],
)
def test_a_name_is_only_offered_where_a_word_may_have_meant_it(text: str, question: str) -> None:
    robot = Robot([call("go_to", place="office")], [call("go_to", place="kitchen")], "Done.")
    assert robot.hear(text).reply == question
    robot.hear("the kitchen")
    assert robot.done == [("go_to", "kitchen")]


@pytest.mark.parametrize(
    ("first", "done", "then", "wanted", "answer", "last"),
    [
        ("turn left", call("turn", angle_deg=90), "a bit less", call("turn", angle_deg=15), "yes", ("turn", -15)),
        ("turn right", call("turn", angle_deg=-90), "a bit less", call("turn", angle_deg=-15), "10", ("turn", 10)),
        ("turn left", call("turn", angle_deg=90), "too far, 20 less", call("turn", angle_deg=20), "no", ("turn", 90)),
        ("drive 1 meter", call("drive", distance_m=1), "too much", call("drive", distance_m=1), "no", ("drive", 1)),
    ],
)
def test_less_is_not_done_by_doing_more(
    first: str, done: Call, then: str, wanted: Call, answer: str, last: tuple[str, float]
) -> None:
    robot = Robot([done], "Done.", [wanted], "Hm?", "Done.")
    robot.hear(first)
    assert robot.hear(then).reply.endswith("? Say yes.")
    robot.hear(answer)
    assert robot.done[-1] == last


@pytest.mark.parametrize(
    ("then", "wanted"),
    [
        ("a bit more", call("turn", angle_deg=15)),
        ("less than before: 45 degrees", call("turn", angle_deg=45)),
        ("left again, not too far", call("turn", angle_deg=90)),
        ("turn left a bit less", call("turn", angle_deg=15)),
        ("turn left 45 degrees but not too much", call("turn", angle_deg=45)),
    ],
)
def test_more_and_what_is_compared_is_done(then: str, wanted: Call) -> None:
    robot = Robot([call("turn", angle_deg=90)], "Done.", [wanted], "Done.")
    robot.hear("turn left")
    robot.hear(then)
    assert len(robot.done) == 2


def test_something_else_is_something_else() -> None:
    robot = Robot([call("drive", distance_m=23)], [call("go_to", place="kitchen")], "There.", "Yes what?")
    robot.hear("drive 2000 meters")
    robot.hear("go to the kitchen")
    robot.hear("yes")
    assert robot.done == [("go_to", "kitchen")]


@pytest.mark.parametrize(
    ("text", "wanted", "answer", "done"),
    [
        ("drive 3 feet", call("drive", distance_m=5), "no, two meters", ("drive", 2)),
        ("drive", call("drive", distance_m=7), "five meters", ("drive", 5)),
        ("back up", call("drive", distance_m=-7), "two", ("drive", -2)),
        ("turn right", call("turn", angle_deg=-33), "45 degrees", ("turn", -45)),
        ("set a timer", call("set_timer", duration_s=600), "five minutes", ("set_timer", 300)),
        ("set a level", call("set_level", level=3), "make it 7 please", ("set_level", 7)),
    ],
)
def test_a_number_answers_the_question(text: str, wanted: Call, answer: str, done: tuple[str, float]) -> None:
    robot = Robot([wanted], "What?", "Done.")
    robot.hear(text)
    robot.hear(answer)
    assert robot.done == [done]


def test_a_number_that_goes_far_is_read_back_too() -> None:
    robot = Robot([call("drive", distance_m=7)], "What?", "What?", "Done.")
    robot.hear("drive")
    assert robot.hear("fifty meters").reply == "Drive 50 meters? Say yes."
    robot.hear("yes")
    assert robot.done == [("drive", 50)]


@pytest.mark.parametrize(
    ("first", "done", "then", "wanted"),
    [
        ("turn left 45", call("turn", angle_deg=45), "turn back", call("turn", angle_deg=-45)),
        ("turn left 45", call("turn", angle_deg=45), "undo that", call("turn", angle_deg=-45)),
        ("turn left 45", call("turn", angle_deg=45), "the other way, twice as far", call("turn", angle_deg=-90)),
        ("turn around", call("turn", angle_deg=180), "and back", call("turn", angle_deg=-180)),
        ("drive two meters", call("drive", distance_m=2), "and return", call("drive", distance_m=-2)),
        ("drive two meters", call("drive", distance_m=2), "a third of it back", call("drive", distance_m=-0.67)),
        ("drive two meters", call("drive", distance_m=2), "three times that", call("drive", distance_m=6)),
        ("a timer for 5 minutes", call("set_timer", duration_s=300), "make it ten", call("set_timer", duration_s=600)),
        ("a timer for 1 hour", call("set_timer", duration_s=3600), "two", call("set_timer", duration_s=7200)),
        (
            "timer 15 minutes",
            call("set_timer", duration_s=900),
            "oops, I meant seconds",
            call("set_timer", duration_s=15),
        ),
        ("drive 3 meters", call("drive", distance_m=3), "feet, not meters", call("drive", distance_m=0.914)),
    ],
)
def test_what_was_done_before_is_taken_back_and_changed(first: str, done: Call, then: str, wanted: Call) -> None:
    robot = Robot([done], "Done.", [wanted], "Done.")
    robot.hear(first)
    robot.hear(then)
    assert robot.done[1:] == [(wanted.name, *wanted.arguments.values())]


@pytest.mark.parametrize(
    ("then", "asked"),
    [
        ("other side", False),
        ("now to the other side", False),
        ("the other lamp", True),
        ("do not look to the other side", True),
    ],
)
def test_the_other_side_is_the_contrary_of_what_was_done(then: str, asked: bool) -> None:
    looked: list[str] = []

    @tool
    def look(direction: Literal["left", "right"]) -> str:
        """Point the camera."""
        looked.append(direction)
        return "looking"

    replies = ([call("look", direction="left")], "Done.", [call("look", direction="right")], "Done.")
    session = Session(Agent("robi", llm=ScriptedLLM(*replies), tools=[look], hooks=[GroundingHook()]))
    session.step("look left")
    assert (session.step(then).reply == "Did you mean right? Say yes.") is asked
    assert looked == (["left"] if asked else ["left", "right"])


@pytest.mark.parametrize(
    ("first", "done", "then", "wanted"),
    [
        ("turn right 45", call("turn", angle_deg=-45), "turn right like before", call("turn", angle_deg=45)),
        ("turn left 45", call("turn", angle_deg=45), "turn left and come back", call("turn", angle_deg=-45)),
        ("turn left 45", call("turn", angle_deg=45), "do not turn back", call("turn", angle_deg=-45)),
        ("turn left 45", call("turn", angle_deg=45), "the other lamp", call("turn", angle_deg=-45)),
        ("turn left 45", call("turn", angle_deg=45), "the other way", call("turn", angle_deg=-30)),
        ("turn left 700", call("turn", angle_deg=700), "undo that", call("turn", angle_deg=-680)),
        ("turn left 45", call("turn", angle_deg=45), "make it ten", call("turn", angle_deg=600)),
        (
            "timer 15 minutes",
            call("set_timer", duration_s=900),
            "oops, I meant seconds",
            call("set_timer", duration_s=5),
        ),
        ("back up 3 meters", call("drive", distance_m=-3), "drive back", call("drive", distance_m=3)),
        ("drive 2 meters", call("drive", distance_m=2), "wait before you bring it", call("drive", distance_m=-2)),
        ("drive 2 meters", call("drive", distance_m=2), "wave three times, drive", call("drive", distance_m=6)),
        (
            "a timer for 5 minutes",
            call("set_timer", duration_s=300),
            "set the level to 10",
            call("set_level", level=600),
        ),
        ("3 feet and one meter", call("drive", distance_m=1), "drive 2", call("drive", distance_m=0.61)),
    ],
)
def test_what_takes_nothing_back_is_asked_about(first: str, done: Call, then: str, wanted: Call) -> None:
    robot = Robot([done], "Done.", [wanted], "Done.")
    robot.hear(first)
    asked = robot.hear(then)
    assert robot.done[1:] == []
    assert asked.reply.endswith(("?", "Say yes.")), asked.reply


def test_what_was_not_done_is_not_taken_back() -> None:
    robot = Robot([call("fall", angle_deg=45)], "It did not work.", [call("fall", angle_deg=-45)], "Done.")
    robot.hear("fall left 45 degrees")
    assert robot.hear("undo that").reply == "How many degrees?"


def test_what_results_and_earlier_turns_tell_is_known() -> None:
    robot = Robot(
        [call("scan")],
        [call("drive", distance_m=1.2)],
        "Done.",
        [call("drive", distance_m=0.6)],
        "Done.",
        [call("go_to", place="office")],
        "Done.",
    )
    robot.hear("drive to the wall")
    robot.hear("half of that again")
    robot.hear("go there")
    assert robot.done == [("drive", 1.2), ("drive", 0.6), ("go_to", "office")]


def test_a_result_is_read_to_its_end_and_in_its_brackets() -> None:
    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return f"{'nothing to see. ' * 200}a shed (2.75 m)"

    @skill
    def approach(distance_m: float, place: str) -> str:
        """Drive up to something."""
        return "arrived"

    llm = ScriptedLLM([call("look")], [call("approach", distance_m=2.75, place="shed")], "Done.")
    robot = Agent("robi", llm=llm, tools=[look, approach], hooks=[GroundingHook()])
    assert robot.run("drive up to what you see").reply == "Done."


def test_a_builder_sets_limits_and_other_names() -> None:
    robot = Robot([call("drive", distance_m=3)], [call("go_to", place="dock")], "Done.", limits={"distance_m": 2})
    assert robot.hear("drive three meters").reply == "Drive 3 meters? Say yes."
    robot = Robot([call("go_to", place="dock")], "Done.", other_names={"dock": ["nest"]})
    assert robot.hear("go to your nest").reply == "Done."


def test_two_doubts_are_not_settled_by_one_yes() -> None:
    robot = Robot([call("drive", distance_m=7), call("go_to", place="garage")], "Yes what?")
    assert robot.hear("drive somewhere").reply == "How far?"
    robot.hear("yes")
    assert robot.done == []


def test_the_question_is_what_is_told_and_kept() -> None:
    robot = Robot({"text": "On my way.", "calls": [call("drive", distance_m=23)]})
    told: list[str] = []
    robot.session.subscribe(lambda event: told.append(event.delta) if event.kind == "message_update" else None)
    robot.hear("drive 2000 meters")
    assert told == ["Drive 2000 meters? Say yes."]
    assert [message.text for message in robot.session.messages()] == [
        "drive 2000 meters",
        "Drive 2000 meters? Say yes.",
    ]


def test_a_yes_in_another_conversation_is_none() -> None:
    robot = Robot([call("drive", distance_m=23)], "Yes what?")
    robot.hear("drive 2000 meters")
    other = Session(robot.agent)
    other.restore([Message.user("hello"), Message.assistant("Hello.")])
    other.step("yes")
    assert robot.done == []


class Warehouse:
    """A robot whose tools take codes, and the session that talks to it."""

    def __init__(self, reply: Any) -> None:
        self.done: list[Any] = []

        @tool
        def scan_pallets(codes: list[str]) -> str:
            """Read pallets."""
            self.done.append(codes)
            return "read"

        @tool
        def visit_gates(numbers: list[int]) -> str:
            """Drive by gates."""
            self.done.append(numbers)
            return "visited"

        @tool
        def fetch_part(code: str, speed: Literal["slow", "fast"] = "slow") -> str:
            """Bring a part."""
            self.done.append((code, speed))
            return "fetched"

        self.agent = Agent(
            "w", llm=ScriptedLLM([reply], "."), tools=[scan_pallets, visit_gates, fetch_part], hooks=[GroundingHook()]
        )

    def hear(self, text: str) -> RunResult:
        return Session(self.agent).step(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("scan the pallets", call("scan_pallets", codes=["}}</tool_call>"])),
        ("scan the pallets", call("scan_pallets", codes=["A-17"])),
        ("scan pallets A-17 and B-2", call("scan_pallets", codes=["A-17", "B-3"])),
        ("fetch part K-317", call("fetch_part", code='K-317"}}')),
        ("fetch part K-317", call("fetch_part", code="<tool_call>")),
        ("fetch part K-317", call("fetch_part", code="K-371")),
        ("fetch a part", call("fetch_part", code="")),
        ("scan the pallets", call("scan_pallets", codes=[" "])),
        ("fetch part K-317", call("fetch_part", code="a text of more words than a name has }}</tool_call>")),
        ("fetch part K-317", call("fetch_part", code="K-317", speed="fast")),
        ("visit gates 3 and 5", call("visit_gates", numbers=[3, 6])),
        ("go to gates 3 and 5", call("visit_gates", numbers=[3, 4, 5])),
        ("drive to gate 9, I mean visit gates 2 to 4", call("visit_gates", numbers=[7])),
    ],
)
def test_texts_that_nobody_said_are_asked_about(text: str, wanted: Call) -> None:
    robot = Warehouse(wanted)
    assert robot.hear(text).reply.endswith(("?", "Say yes."))
    assert not robot.done


ROOMS = [call("set_light", place=place, on=False) for place in ("kitchen", "office", "garage")]


class Lights(Robot):
    """A robot with lights, too."""

    def _other_tools(self) -> list[Tool]:
        @tool
        def set_light(place: str, on: bool) -> str:
            """Switch a room's light."""
            return self._do("set_light", place)

        return [set_light]


@pytest.mark.parametrize("text", ["turn all the lights off", "lights off in every room", "lights off everywhere"])
def test_all_of_a_kind_are_done_without_a_question(text: str) -> None:
    robot = Lights(ROOMS, "Done.")
    assert robot.hear(text).reply == "Done."
    assert robot.done == [("set_light", place) for place in ("kitchen", "office", "garage")]


@pytest.mark.parametrize(
    ("text", "calls", "asked"),
    [
        ("lights off", ROOMS, "the kitchen, the office and the garage"),
        ("don't turn all the lights off", ROOMS, "the kitchen, the office and the garage"),
        ("all of it off", [*ROOMS[:1], call("set_light", place="office", on=True)], "the kitchen and the office"),
        ("go to all of them", [call("go_to", place="dock"), call("go_to", place="hall")], "the dock and the hall"),
    ],
)
def test_several_names_that_nobody_said_are_asked_about_in_one_question(text: str, calls: Any, asked: str) -> None:
    robot = Lights(calls, "Of course.", "Done.")
    assert robot.hear(text).reply == f"Did you mean {asked}? Say yes."
    assert not robot.done
    robot.hear("yes")
    assert [place for _, place in robot.done] == asked.replace("the ", "").replace(" and ", ", ").split(", ")


@pytest.mark.parametrize(
    "text",
    [
        "all the lights off except the office",
        "all off apart from the office and the kitchen",
        "all the lights off except for the kitchen",
        "everything off except in the office please",
        "all lights off except the one in the garage",
        "everything off but the kitchen",
        "turn off every light but the office one",
        "all lights off but leave the garage lit",
        "Turn all the lights off and keep the kitchen on.",
        "not the kitchen light, the other one",
        "without switching on the kitchen light go to all rooms",
        "all lights, avoiding the garage",
        "lights off but not in the garage",
        "keep the kitchen light on and turn off the office light",
    ],
)
def test_what_is_left_out_is_not_proposed(text: str) -> None:
    robot = Lights(ROOMS)
    assert robot.hear(text).reply == "Which place do you mean?"
    assert not robot.done


@pytest.mark.parametrize(
    ("text", "on", "asked"),
    [
        ("leave the kitchen light on and go to the office", True, False),
        ("keep the kitchen light on and turn left", True, False),
        ("leave the kitchen light off and go to the office", False, False),
        ("leave the kitchen light on and go to the office", False, True),
        ("keep the kitchen light off and go to the office", True, True),
    ],
)
def test_what_is_left_as_it_is_said_is_not_asked_about(text: str, on: bool, asked: bool) -> None:
    robot = Lights([call("set_light", place="kitchen", on=on)], "Done.")
    assert (robot.hear(text).reply == "Which place do you mean?") is asked
    assert robot.done == ([] if asked else [("set_light", "kitchen")])


@pytest.mark.parametrize("answer", ["yes", "all of them", "yes please", "okay", "do it", "everything"])
def test_what_is_left_out_stays_so_while_that_is_asked_about(answer: str) -> None:
    wanted = [call("go_to", place="kitchen")]
    robot = Robot(wanted, wanted, wanted, "Done.")
    question = robot.hear("go everywhere but the kitchen").reply
    assert question == "Which place do you mean?"
    assert "Which place do you mean?" in robot.hear(answer).reply
    assert not robot.done
    robot.hear("the kitchen after all")
    assert robot.done == [("go_to", "kitchen")]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("avoid the kitchen and go to the office", "kitchen"),
        ("go to the office without entering the kitchen", "kitchen"),
        ("without going through the hall go to the office", "hall"),
        ("go anywhere but the hall", "hall"),
    ],
)
def test_a_place_to_keep_away_from_is_not_gone_to(text: str, place: str) -> None:
    robot = Robot([call("go_to", place=place)])
    assert robot.hear(text).reply == "Which place do you mean?"
    assert not robot.done


def test_a_yes_to_a_list_is_one_to_all_that_nobody_named() -> None:
    robot = Warehouse(call("scan_pallets", codes=["A-17", "B-9", "C-1"]))
    assert robot.hear("scan pallet A-17").reply == "Did you mean B-9 and C-1? Say yes."


def test_a_question_about_an_earlier_task_does_not_take_the_place_of_a_new_one() -> None:
    stopped = Message("tool", "stopped after 0.3 m", call_id="c", name="drive", status="interrupted")
    drive = Message("assistant", "", tool_calls=(ToolCall("c", "drive", {"distance_m": 12}),))
    robot = Robot([call("drive", distance_m=12)])
    robot.session.restore([Message.user("drive 12 meters"), drive, stopped])
    assert robot.hear("drive 12 meters").reply == "Drive 12 meters? Say yes."


def test_what_is_said_after_a_failure_is_asked_about_beside_it() -> None:
    robot = Robot([call("lift")], [call("drive", distance_m=12)])

    @tool
    def lift() -> str:
        """Lift."""
        agent.steer("then drive 12 meters")
        raise ValueError("too heavy")

    agent = Agent("robi", llm=robot.agent.llm, tools=[*robot.agent.tools, lift], hooks=[GroundingHook()])
    assert agent.run("lift").reply.endswith("too heavy. Drive 12 meters? Say yes.")


def test_a_reply_without_calls_reads_nothing_of_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("edgeagent.hooks.argument_doubts.words_of", lambda text: read.append(text) or text.split())
    assert Robot("Hello.").hear("hello").reply == "Hello."
    assert not read


def test_a_value_outside_of_its_choices_never_runs() -> None:
    robot = Warehouse(call("fetch_part", code="K-317", speed="ultra"))
    robot.hear("fetch part K-317 ultra")
    assert not robot.done


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("scan pallets A-17 and b2", call("scan_pallets", codes=["A-17", "B2"])),
        ("scan pallet a seventeen", call("scan_pallets", codes=["A-17"])),
        ("fetch part K-317 fast", call("fetch_part", code="K-317", speed="fast")),
        ("fetch the <left> one", call("fetch_part", code="<left>")),
        ("visit gates three, 5 and nine", call("visit_gates", numbers=[3, 5, 9])),
        ("visit gates 2 to 4", call("visit_gates", numbers=[2, 3, 4])),
    ],
)
def test_texts_that_were_said_are_not_asked_about(text: str, wanted: Call) -> None:
    robot = Warehouse(wanted)
    robot.hear(text)
    assert len(robot.done) == 1
