"""Which utterances are stop phrases, of which grade, and when they count (contract, case 19)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.english import RELEASES, STOP_PHRASES, Grade, Phrases, Release, Situation, StopPhrases
from edgeagent.voice import Kind, kind_of

ROVER = StopPhrases(names=["Rover", "hey rover"])
IDLE = Situation(busy=False, moves=False, asked=False)
SPEAKS = Situation(busy=True, moves=False, asked=False)
DRIVES = Situation(busy=True, moves=True, asked=False)
DRIVES_AND_ASKS = Situation(busy=True, moves=True, asked=True)
ASKS = Situation(busy=True, moves=False, asked=True)
ASKS_ALOUD = Situation(busy=True, moves=False, asked=True, speaks=True)

TRIPS = "stop; Stop!; STOP STOP STOP; halt; freeze!!; stop it; stop now; no, stop; please stop; stop, please; "
TRIPS += "rover stop; Rover, please stop it; can you stop; wait, stop; stop, halt; stop... stop; cancel, stop"
CANCELS = "cancel; cancel that; please cancel that; cancel that, rover; cancel cancel; never mind; no, cancel that"
HOLDS = "wait; hold on; wait wait; please wait; wait, rover; hold on, hold on; no, wait; just a second; Wait!; "
HOLDS += "hang on a sec; bear with me, please; hold your horses"
NOS = "no; No!; no no no; no please; rover, no"
NONE = """
don't stop
do not halt
never stop
please don't wait
don't cancel that
the bus stop
non-stop
stop sign
stop the timer
stop at the door
stop in two meters
stop 2
stop following me
when does it stop
wait ten seconds
wait for me
wait in the kitchen
hold on to the cup
bear with me while I look for it
one second more
cancel the timer
no thanks
oh no
no problem
no, the kitchen
no don't
yes
rover
please
"""


@pytest.mark.parametrize(
    ("texts", "grade"), [(TRIPS, Grade.TRIP), (CANCELS, Grade.CANCEL), (HOLDS, Grade.HOLD), (NOS, Grade.CANCEL)]
)
def test_politeness_repetition_and_the_robots_name_may_stand_around_a_phrase(texts: str, grade: Grade) -> None:
    for text in texts.split("; "):
        row = ROVER.read(text)
        assert row is not None, text
        assert row.grade is grade, text


@pytest.mark.parametrize("text", ["", *NONE.strip().split("\n")])
def test_anything_else_in_an_utterance_makes_it_none(text: str) -> None:
    assert ROVER.read(text) is None


@pytest.mark.parametrize("row", STOP_PHRASES)
def test_no_phrase_is_one_when_it_is_forbidden_or_goes_on(row) -> None:  # type: ignore[no-untyped-def]
    for text in (f"don't {row.words}", f"don\u2019t {row.words}", f"never {row.words}", f"{row.words} at the door"):
        assert ROVER.read(text) is None, text


def test_another_robots_name_is_not_this_ones() -> None:
    assert StopPhrases(names=["max"]).read("max stop")
    assert ROVER.read("max stop") is None


@pytest.mark.parametrize("name", ["R2D2", "K-9", "Robot 5"])
def test_a_name_with_a_number_may_stand_around_a_phrase(name: str) -> None:
    named = StopPhrases(names=[name])
    assert named.read(f"{name}, stop!")
    assert kind_of(f"stop {name.lower()}", phrases=Phrases(called=[name])) is Kind.STOP


@pytest.mark.parametrize("text", ["(stop)", "[Stop!]", "<stop>"])
def test_brackets_around_all_of_it_hide_no_stop(text: str) -> None:
    row = ROVER.read(text)
    assert row is not None
    assert row.grade is Grade.TRIP


@pytest.mark.parametrize("text", ["\uff33\uff34\uff2f\uff30", "st\u00adop", "\uff33top\uff01"])
def test_full_width_letters_and_soft_hyphens_hide_no_stop(text: str) -> None:
    row = ROVER.read(text)
    assert row is not None
    assert row.grade is Grade.TRIP


def test_stop_words_of_an_app_trip_whatever_they_are_in_the_table() -> None:
    own = StopPhrases(trips=["basta", "wait", ""])
    assert [own.read(text).grade for text in ("basta!", "wait", "stop")] == [Grade.TRIP] * 3  # type: ignore[union-attr]


@pytest.mark.parametrize("situation", [IDLE, SPEAKS, DRIVES, DRIVES_AND_ASKS, ASKS])
def test_a_spoken_stop_counts_in_every_state_and_a_typed_one_while_something_goes_on(situation: Situation) -> None:
    assert ROVER.grade("stop", situation) is Grade.TRIP
    assert ROVER.grade("stop", situation, typed=True) is (Grade.TRIP if situation.busy else None)


@pytest.mark.parametrize("typed", [True, False])
def test_wait_and_cancel_are_ordinary_words_while_nothing_goes_on(typed: bool) -> None:
    for text in ("wait", "hold on", "cancel", "cancel that", "no"):
        assert ROVER.grade(text, IDLE, typed=typed) is None, text


def test_wait_holds_and_cancel_cancels_while_something_moves_or_speaks() -> None:
    for situation in (SPEAKS, DRIVES, DRIVES_AND_ASKS, ASKS_ALOUD):
        assert ROVER.grade("wait", situation) is Grade.HOLD
        assert ROVER.grade("cancel that", situation) is Grade.CANCEL
    assert ROVER.grade("wait", ASKS) is None, "an answer"


def test_no_cancels_while_something_moves_and_no_question_is_open() -> None:
    assert ROVER.grade("no!", DRIVES) is Grade.CANCEL
    for situation in (IDLE, SPEAKS, ASKS, DRIVES_AND_ASKS, ASKS_ALOUD):
        assert ROVER.grade("no!", situation) is None


def test_go_on_releases_speech_and_continue_alone_motion() -> None:
    assert ROVER.release("go on") is Release.SPEECH
    assert ROVER.release("rover, go on please") is Release.SPEECH
    assert ROVER.release("continue") is Release.MOTION
    assert ROVER.release("okay, continue") is Release.MOTION
    for text in ("don't continue", "no continue", "continue to the kitchen", "stop continue", "", "wait"):
        assert ROVER.release(text) is None, text
    assert ROVER.read("continue, stop").grade is Grade.TRIP  # type: ignore[union-attr]


def test_no_phrase_both_stops_and_releases() -> None:
    assert not {row.words for row in STOP_PHRASES} & {words for words, _ in RELEASES}


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    ROVER.read(text)
    ROVER.release(text)


@pytest.mark.timeout(20)
def test_a_very_long_text_keeps_nobody_waiting() -> None:
    assert ROVER.read("stop " * 20_000)
    assert ROVER.read("stop " * 20_000 + "sign") is None


@pytest.mark.parametrize("text", ["start", "Top!", "start now", "rover, start", "stuff it"])
def test_what_sounds_like_a_stop_alone_is_near_one(text: str) -> None:
    assert ROVER.is_near_stop(text)


@pytest.mark.parametrize("text", ["", "stop", "start the timer", "go to the top", "cancel", "do not start", "star"])
def test_other_words_are_near_no_stop(text: str) -> None:
    assert not ROVER.is_near_stop(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("stop and tell me where you are", "tell me where you are"),
        ("Robot, stop now and then go home", "go home"),
        ("please stop then look around", "look around"),
        ("stop", ""),
        ("stop and", ""),
        ("stop and halt", ""),
        ("stop and freeze right there", ""),
        ("stop and wait here", ""),
        ("go home and stop", ""),
        ("don't stop and tell me where you are", ""),
        ("wait and tell me where you are", ""),
    ],
)
def test_what_is_wanted_beside_a_phrase_that_trips_follows_a_joining_word(text: str, wanted: str) -> None:
    assert StopPhrases(names=["robot"]).beside(text) == wanted
