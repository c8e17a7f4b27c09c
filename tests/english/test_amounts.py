"""Amounts in sentences, units of parameters, and directions."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeagent.english import (
    amounts_in,
    amounts_of,
    derived,
    in_units_of,
    orientation,
    sign_of,
    tells_amount,
    unit_of,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("drive two thousand meters", [(2000, "length")]),
        ("drive -3 m", [(-3, "length")]),
        ("drive minus two meters", [(-2, "length")]),
        ("3 feet", [(0.9144, "length")]),
        ("six inches and two yards", [(0.1524, "length"), (1.8288, "length")]),
        ("half a meter", [(0.5, "length")]),
        ("40cm", [(0.4, "length")]),
        ("250 mm", [(0.25, "length")]),
        ("a couple of meters", [(2, "length")]),
        ("one more metre", [(1, "length")]),
        ("three quarters of a meter", [(0.75, "length")]),
        ("a quarter of an hour", [(900, "time")]),
        ("an hour and a half", [(5400, "time")]),
        ("a 5-minute timer", [(300, "time")]),
        ("two full turns", [(720, "angle")]),
        ("half a turn", [(180, "angle")]),
        ("a quarter turn left", [(90, "angle")]),
        ("turn one eighty", [(180, "")]),
        ("do that three times", [(3, "times")]),
        ("50 percent", [(50, "percent")]),
        ("a nice day, one of them", []),
        ("on the count of three turn around", []),
        ("exactly minute and forty three seconds", [(60, "time"), (43, "time")]),
        ("turn and drive two meters", [(2, "length")]),
        ("take another book", []),
        ("nine tenths of a meter", [(0.9, "length")]),
        ("three tenths of a meter", [(0.3, "length")]),
        ("two meters, not three", [(2, "length")]),
        ("two meters, not thirty five", [(2, "length")]),
        ("not more than three meters", [(3, "length")]),
        ("why not two meters", [(2, "length")]),
        ("hundred and eighty degrees", [(180, "angle")]),
        ("drive 2/3 of a meter", [(0.6667, "length")]),
        ("drive 2 / 3 of a meter", [(0.6667, "length")]),
        ("drive 2/3rds of a meter", [(0.6667, "length")]),
        ("turn 1/4 turn", [(90, "angle")]),
        ("wait 1/2 an hour", [(1800, "time")]),
        ("drive 1/2m", [(0.5, "length")]),
        ("drive 1-1/2 m", [(1.5, "length")]),
        ("drive 1 1/2 m", [(1.5, "length")]),
        ("drive one and 1/2 meters", [(1.5, "length")]),
        ("drive 2 2/3 meters", [(2.6667, "length")]),
        ("turn 90 and half a meter forward", [(90, ""), (0.5, "length")]),
        ("drive 1⅔ m", [(1.6667, "length")]),
        ("drive two and two thirds meters", [(2.6667, "length")]),
        ("drive seven sixteenths of a meter", [(0.4375, "length")]),
        ("one sixth of a meter", [(0.1667, "length")]),
        ("two hundredths of a meter", [(0.02, "length")]),
        ("three halves of a meter", [(1.5, "length")]),
        ("an hour and 1/2", [(5400, "time")]),
        ("dim to 1/2", [(0.5, "")]),
        ("set it to three quarters", [(0.75, "")]),
        ("drive 3/4 of the way", [(75, "percent")]),
        ("drive 3/2 m", [(1.5, "length")]),
        ("drive three and one half meters", [(3.5, "length")]),
        ("drive exactly two and a third meters", [(2.3333, "length")]),
        ("turn 2 and one half turns", [(900, "angle")]),
        ("turn right, drive 3 and 1/2 meters", [(3.5, "length")]),
        ("go to dock 3 and one half meter on", [(3, ""), (0.5, "length")]),
        ("go to dock 3 and a half meter on", [(3, ""), (0.5, "length")]),
        ("lift shelf 2 and one half meters", [(2, ""), (0.5, "length")]),
        ("gate 3 1/2 meters ahead", [(3, ""), (0.5, "length")]),
        ("gates 3 and 2/3 m ahead", [(3, ""), (0.6667, "length")]),
        ("room 2 half a meter on", [(2, ""), (0.5, "length")]),
        ("box 5 and two thirds of the bricks", [(5, ""), (66.6667, "percent")]),
        ("turn left 90 and one half meter on", [(90, ""), (0.5, "length")]),
        ("turn left 90 and 1/2 m on", [(90, ""), (0.5, "length")]),
        ("turn 90 and one third of a meter", [(90, ""), (0.3333, "length")]),
        ("drive 2 meters and 1/2 turn left", [(2, "length"), (180, "angle")]),
        ("drive 2 meters and a half turn left", [(2, "length"), (180, "angle")]),
        ("drive 2/3 of 6 meters", [(4, "length")]),
        ("drive half of the 6 meters", [(3, "length")]),
        ("drive two thirds of a 3 meter lane", [(2, "length")]),
        ("open the vent two thirds of the way", [(66.6667, "percent")]),
        ("open 24/7", []),
        ("on 12/25", []),
        ("drive 2/0 m", []),
        ("drive 1/2.5 m", []),
        ("drive 1.5/2 m", []),
        ("drive 1,000/2 m", []),
        ("drive 1 / 2 / 3 m", []),
        ("drive 1/2/3 meters", []),
        ("drive 12/25/2026 meters", []),
        ("drive 1.2.3 m", []),
        ("drive 1/2, 3 meters", [(0.5, ""), (3, "length")]),
        ("shelf 2 third box", [(2, "")]),
        ("the sixth meter", []),
        ("take two steps back", [(2, "other")]),
        ("drive at 2 m/s", [(2, "other")]),
        ("drive at 2 mps", [(2, "other")]),
        ("200 ml per plant", [(0.2, "volume")]),
        ("wait till the door is open, move 2 meters away from it", [(2, "length")]),
        ("drive two meters per second for 5 seconds", [(2, "other"), (5, "time")]),
        ("drive till 2 meters before the door and turn 90 degrees", [(2, "other"), (90, "angle")]),
        ("wait until 5 minutes have passed", [(300, "time")]),
        ("drive until you have gone two meters", [(2, "length")]),
        ("drive 2 meters, second door on the left", [(2, "length")]),
        ("be there at 5 o'clock", [(5, "other")]),
        ("", []),
    ],
)
def test_what_is_said(text: str, values: list[tuple[float, str]]) -> None:
    told = [(round(one.value * (-1 if one.negative else 1), 4), one.dimension) for one in amounts_in(text)]
    assert told == values


@pytest.mark.parametrize("text", ["turn ninety degrees", "turn around", "drive a bit further", "open it fully"])
def test_how_much_is_told_with_a_number_or_without(text: str) -> None:
    assert tells_amount(text)


@pytest.mark.parametrize("text", ["turn left", "drive back", "go on", ""])
def test_how_much_is_not_told(text: str) -> None:
    assert not tells_amount(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 hour 30 minutes", 5400),
        ("2 meters and 50 centimeters", 2.5),
        ("2 plus 3 meters", 5),
        ("10 minus 4 meters", 6),
        ("two meters three times", 6),
        ("one meter eighty", 1.8),
        ("three minutes, no, make that eight", 480),
        ("a timer for 1 minute 30", 90),
        ("in two hours fifteen", 8100),
        ("an eighth of a turn", 45),
        ("fourty five degrees", 45),
        ("wake me up in minute and forty three seconds", 103),
        ("dim to 3/4", 75),
    ],
)
def test_what_is_said_or_follows_from_it(text: str, value: float) -> None:
    words = words_of(text)
    known = [*amounts_of(words), *derived(amounts_of(words), words)]
    assert any(one.is_about(value) for one in known)


@pytest.mark.parametrize(
    ("text", "value", "fits"),
    [
        ("2/3 of a meter", 0.667, True),
        ("2/3 of a meter", 0.67, True),
        ("2/3 of a meter", 0.7, False),
        ("2/3 of a meter", 0.66, False),
        ("2 2/3 meters", 2.67, True),
        ("2 2/3 meters", 2.7, False),
        ("a third of a turn", 119, False),
        ("1/3 foot", 0.1, True),
        ("0.123456 meters", 0.1268, False),
        ("latitude 48.137154", 49.5, False),
        ("0.333333 meters", 0.33, False),
    ],
)
def test_only_a_fraction_that_no_decimals_tell_may_be_rounded(text: str, value: float, fits: bool) -> None:
    assert amounts_in(text)[0].is_about(value) is fits


@pytest.mark.parametrize(
    "text",
    [
        "drive 1/2 1/2 m",
        "go to alpha 3 and one half meters",
        "turn left 90 2/3 m",
        "gate 1/2",
        "set it to three quarters",
    ],
)
def test_a_fraction_of_which_nobody_knows_what_it_belongs_to_is_vague(text: str) -> None:
    words = words_of(text)
    (one,) = amounts_of(words)
    assert one.vague
    assert all(more.dimension == "percent" for more in derived([one], words))
    assert not list(in_units_of([one], ["5 meters"]))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("distance_m", ("length", 1)),
        ("height_cm", ("length", 0.01)),
        ("angle_deg", ("angle", 1)),
        ("duration_s", ("time", 1)),
        ("minutes", ("time", 60)),
        ("percent", ("percent", 1)),
        ("speed", None),
        ("number_of_times", None),
        ("m", None),
        ("in_stock", None),
    ],
)
def test_the_unit_that_a_name_tells(name: str, unit: tuple[str, float] | None) -> None:
    assert unit_of(name) == unit


def test_a_description_tells_which_direction_is_negative() -> None:
    for text, positive in (
        ("Drive straight; negative is backwards.", "forward"),
        ("Turn on the spot; positive is left.", "left"),
        ("Turn; positive is to the right", "right"),
        ("Lift; negative means down", "up"),
    ):
        found = orientation(text)
        assert found is not None
        assert found[0][0] == positive
    assert orientation("Play a song.") is None
    found = orientation("positive is left")
    assert found is not None
    left, right = found[0][1], found[1][1]
    assert sign_of(words_of("turn left right now"), left, right) == 1
    assert sign_of(words_of("turn right"), left, right) == -1
    assert sign_of(words_of("turn left, sorry, right"), left, right) == 0
    assert sign_of(words_of("turn right then drive two meters"), left, right) == -1
    assert sign_of(words_of("turn 90 degrees right, not left"), left, right) == -1
    assert sign_of(words_of("turn 90 degrees counter-clockwise"), left, right) == 1


@example("0M0")
@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    words = words_of(text)
    for one in (*amounts_in(text), *derived(amounts_of(words), words)):
        assert one.value >= 0
        assert 0 <= one.start < one.end <= len(words)


def test_many_numbers_and_units_do_not_give_each_with_each() -> None:
    words = [
        word for number in range(300) for word in (str(number % 10), ("meters", "feet", "times", "and")[number % 4])
    ]
    said = amounts_of(words)
    assert len(said) == 300
    assert len(list(derived(said, words))) < 20 * len(said)


def test_words_of_a_text_are_read_once_and_are_the_callers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("edgeagent.english.tokens.inverse_normalised", lambda text: read.append(text) or text)
    words = words_of("a text that no other test has")
    words.append("more")
    assert words_of("a text that no other test has") == words[:-1]
    assert len(read) == 1


def test_a_number_takes_each_unit_of_an_earlier_text_once() -> None:
    numbers = amounts_in("7; 8; 9")
    assert [one.value for one in in_units_of(numbers, ["five minutes", "hello"])] == [420, 480, 540]
    assert len(list(in_units_of(numbers, ["1 m; 2 m; 3 m; 1 min; 2 min"]))) == 2 * len(numbers)
    assert list(in_units_of(numbers, ["hello"])) == []
