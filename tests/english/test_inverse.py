"""Numbers and units come out in the nano corpus's form, and nothing else changes."""

import random
import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeagent.english import inverse_normalised, number
from edgeagent.stt import for_error_rate, word_error_rate

FORMS = """
drive two meters forward => drive 2 meters forward
drive two point five metres => drive 2.5 meters
go forward point five meters => go forward 0.5 meters
go forward zero point oh five meters => go forward 0.05 meters
one and a half meters => 1.5 meters
three and a quarter hours => 3.25 hours
2½ m => 2.5 meters
½ m => half a meter
half a metre => half a meter
move ahead a half a meter => move ahead half a meter
a half an hour => half an hour
a half a day's work => a half a day's work
two and a half a meter => 2.5 a meter
a meter and a half => a meter and a half
three quarters of an hour => three quarters of an hour
3/4 of a meter => three quarters of a meter
one and 1/2 meters => 1.5 meters
1-1/2 m => 1.5 meters
1/2m => half a meter
a hundred meters => 100 meters
a hundred and eighty degrees => 180 degrees
two hundred meters and go => 200 meters and go
one thousand two hundred thirty-four => 1234
1,000 meters => 1000 meters
2.0 meters => 2 meters
drive 1,5 meters => drive 1.5 meters
between 0,5 and 1,5 meters => between 0.5 and 1.5 meters
wait 1,5 seconds => wait 1.5 seconds
back 0,25m, then turn 22,5° => back 0.25 meters, then turn 22.5 degrees
turn ninety => turn 90
turn one eighty => turn 180
turn left one twenty => turn left 120
turn right three sixty degrees => turn right 360 degrees
a ninety-degree turn => a 90 degree turn
90° => 90 degrees
set a five-minute timer => set a 5 minute timer
wait 30s => wait 30 seconds
wait for one minute => wait for 1 minute
twenty seconds => 20 seconds
fifty per cent => 50 percent
50% => 50 percent
it is -5°C. => it is minus 5 degrees Celsius
minus five degrees => minus 5 degrees
what is seven minus two? => what is 7 minus 2?
what is one plus one? => what is 1 plus 1?
at seven thirty p.m. => at 7:30 pm
turn it on at seven thirty => turn it on at 7:30
we meet at 7 p.m. today => we meet at 7 pm today
7 a m => 7 am
seven oh five => 7:05
seven o'clock => 7 o'clock
half past 7 => half past seven
nineteen eighty four => 1984
twenty-first => 21st
on the 3rd of may => on the third of may
the thirteenth => the 13th
one two three => 1 2 3
turn hundred eighty degrees => turn 180 degrees
turn hundred and eighty degrees => turn 180 degrees
drive -.5 meters => drive minus 0.5 meters
One, two, three. => 1, 2, 3
one or two meters => 1 or 2 meters
drive two, no, three meters => drive 2, no, 3 meters
Drive two meters. Then stop! => Drive 2 meters. Then stop
Really?! => Really?
turn left two times => turn left 2 times
"""
UNTOUCHED = """
shelves 4,5 and 6,7
open valves 1,2 second from the left
wait 5,10 minutes
boxes 1,2,3 meters
one of them
this one
no one is here
one day i will go
the red one to the left
for the love of it
too much to do for you
wait a second
on second thought
the charging point
thanks a million
a couple of minutes
half an hour
don't stop
hundreds of people
the third one
"""
WORDS = (
    "zero one two three nine ten twelve thirteen twenty thirty ninety hundred thousand million point and a half "
    "quarter quarters oh minus meters metre minute seconds degrees percent per cent p.m. a m am to past first second "
    "third twenty-first 21st 3rd 2 5 30 90 1/2 ½ 3/4 2.50 m 2m 30cm 90° ° 50% 7:30 7pm 1,000 .5 -5 - . , ? ! "
    "five-minute forty-five-degree o'clock the this turn left at or times plus"
).split()


@pytest.mark.parametrize("form", FORMS.strip().splitlines())
def test_numbers_and_units_come_out_in_one_form(form: str) -> None:
    said, written = form.split(" => ")
    assert inverse_normalised(said) == written


@pytest.mark.parametrize("text", UNTOUCHED.strip().splitlines())
def test_words_that_may_be_no_numbers_stay(text: str) -> None:
    assert inverse_normalised(text) == text


@settings(max_examples=100)
@given(st.integers(0, 99_999))
@example(0)
@example(1)
@example(10_000)
@example(99_999)
def test_a_number_in_words_comes_back(value: int) -> None:
    for words in (number(str(value)), number(str(value)).replace("-", " ")):
        assert inverse_normalised(f"{words} meters") == f"{value} meters"
        if value != 1:  # alone it may be a pronoun
            assert inverse_normalised(words) == str(value)


@settings(max_examples=100)
@given(st.integers(0, 9_999), st.text("0123456789", min_size=1, max_size=4))
def test_a_decimal_in_words_comes_back(whole: int, decimals: str) -> None:
    assert inverse_normalised(number(f"{whole}.{decimals}").replace("-", " ")) == f"{whole}.{decimals}"


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join))
@example("zero 3rd")
@example("point 30cm")
@example("thirteen ten 1/2")
def test_twice_is_as_once(text: str) -> None:
    once = inverse_normalised(text)
    assert inverse_normalised(once) == once


@settings(max_examples=150)
@given(st.text(max_size=40))
@example(":")
@example("٣ ² ①")
@example("9" * 5000)
@example("7" * 5000 + ":30")
@example("1" * 5000 + "st")
def test_no_text_is_too_odd(text: str) -> None:
    once = inverse_normalised(text)
    assert inverse_normalised(once) == once
    assert for_error_rate(text) == for_error_rate(text).strip().lower()
    assert word_error_rate(text, text) == 0


@pytest.mark.parametrize("kind", ["dist", "angle", "duration", "count"])
def test_words_and_digits_of_the_nano_corpus_become_one_form(
    kind: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(checkout / "scripts/lab/train_nano"))
    try:
        from slots import KINDS

        draws = [KINDS[kind](random.Random(seed)).surface for seed in range(400)]
    finally:
        for name in ("slots", "lexicon", "spoken"):
            sys.modules.pop(name, None)
    for surface in draws:
        if re.search("turn|revolution|rotation|circle", surface):
            continue  # one turn, a quarter of a turn: they stay in words
        form = inverse_normalised(f"x {surface}")
        left = set(form.replace("-", " ").split()) & set("one two four five six seven twenty ninety hundred".split())
        assert not left, (surface, form)
        assert "metre" not in form


def test_error_rates_count_words_and_no_punctuation() -> None:
    assert for_error_rate("Drive 2.5 m, then STOP!") == "drive two point five meters then stop"
    assert for_error_rate("Mr. Smith met Dr. Jones.") == "mister smith met doctor jones"
    assert for_error_rate("It\u2019s 50% at 7:05 pm.") == "it's fifty percent at seven oh five pm"
    assert word_error_rate("turn left ninety degrees", "Turn left, 90°.") == 0
    assert word_error_rate("go to the kitchen", "go the kitten") == 0.5
    assert word_error_rate("stop", "don't stop now") == 2
    assert word_error_rate("stop", "") == 1
    assert word_error_rate("", "") == 0
