"""The ways a key phrase is listened for."""

import pytest

from edgeagent.stt import phone_patterns

STOP = {"stop": ["S T AA P"]}


def test_a_short_phrase_has_to_be_surer_in_the_midst_of_talk_than_between_pauses() -> None:
    found = {one.phones: one.threshold(1e-28) for one in phone_patterns(["stop"], STOP) if one.when == "always"}
    assert found["S T AA P"] == 1
    assert found["SIL SIL SIL S T AA P SIL"] == pytest.approx(1e-28)
    assert 1e-28 < found["P L IY Z S T AA P SIL"] < found["S T AA P SIL"] < 1


def test_over_the_robots_voice_a_short_phrase_by_itself_may_be_less_sure() -> None:
    made = phone_patterns(["stop"], STOP)
    usual = {one.phones: one.threshold(1e-28) for one in made if one.when == "always"}
    over = {one.phones: one.threshold(1e-28) for one in made if one.when == "speaking"}
    assert {"S T AA P", "SIL SIL SIL S T AA P SIL"} <= over.keys() < usual.keys()
    assert all(threshold < usual[phones] for phones, threshold in over.items())
    long = phone_patterns(["okay", "robot"], {"okay": ["OW K EY"], "robot": ["R OW B"]})
    assert {one.when for one in long} == {"always"}


def test_over_the_robots_first_words_it_may_be_less_sure_still() -> None:
    made = phone_patterns(["stop"], STOP)
    over = {one.phones: one.stricter for one in made if one.when == "speaking"}
    early = {one.phones: one.stricter for one in made if one.when == "early"}
    assert early.keys() == over.keys()
    assert all(stricter < over[phones] for phones, stricter in early.items())


def test_the_vowel_of_london_is_listened_for_too() -> None:
    assert any("S T AO P" in pattern.phones for pattern in phone_patterns(["stop"], STOP))


def test_a_long_phrase_is_listened_for_anywhere_in_each_pronunciation() -> None:
    known = {"hey": ["HH EY"], "robi": ["R OW B AY", "R OW B IY"]}
    found = phone_patterns(["hey", "robi"], known)
    assert [pattern.phones for pattern in found] == ["HH EY R OW B AY", "HH EY R OW B IY"]
    assert [pattern.threshold(1e-30) for pattern in found] == [pytest.approx(1e-30)] * 2


def test_no_threshold_leaves_its_range() -> None:
    assert all(
        1e-60 <= pattern.threshold(t) <= 1 for pattern in phone_patterns(["stop"], STOP) for t in (1e-50, 1e-20, 1.0)
    )


def test_a_long_phrase_has_the_vowel_of_london_too() -> None:
    known = {"okay": ["OW K EY"], "robot": ["R OW B AA T"]}
    assert [one.phones for one in phone_patterns(["okay", "robot"], known)] == [
        "OW K EY R OW B AA T",
        "OW K EY R OW B AO T",
    ]
