"""A call in words, by rules, for tools that nobody has written sentences for."""

import pytest

from edgeagent.testing import call
from edgeagent.voice import announcement, command, report


@pytest.mark.parametrize(
    ("made", "wanted", "going"),
    [
        (call("go_to", place="kitchen"), "go to the kitchen", "Going to the kitchen."),
        (call("drive", distance_m=1.5), "drive 1.5 m", "Driving 1.5 m."),
        (call("delete_map"), "delete map", "Deleting map."),
        (call("delete-map", name="my map"), "delete map my map", "Deleting map my map."),
        (call("grip", force=3), "grip 3", "Gripping 3."),
        (call("lie_down"), "lie down", "Lying down."),
        (call("see"), "see", "Seeing."),
        (call("set_lamp", on=False), "set lamp off", "Setting lamp off."),
        (call("turn", angle_deg=-90.0), "turn -90 degrees", "Turning -90 degrees."),
        (call("turn", angle_deg=1), "turn 1 degree", "Turning 1 degree."),
        (call("rest", time_min=1.0), "rest 1 minute", "Resting 1 minute."),
        (call("load", items=["a", "b"], where=None), "load", "Loading."),
        (call("water", plant="  the \n fern "), "water the fern", "Watering the fern."),
        (call("_"), "_", "_ing."),
    ],
)
def test_a_call_in_words(made: object, wanted: str, going: str) -> None:
    assert command(made) == wanted
    assert announcement(made) == going


def test_a_long_argument_is_cut() -> None:
    assert len(command(call("say", text="word " * 100))) < 80


def test_a_result_is_a_sentence() -> None:
    assert report("go_to", "arrived in the kitchen") == "Arrived in the kitchen."
    assert report("water", "Done!") == "Done!"
    assert report("water_plants", "") == "Water plants has ended."
