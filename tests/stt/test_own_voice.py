"""Whose word it was: by the frames before its end."""

from edgeagent.stt import OwnVoice


def told(persons: list[bool | None], *, loud: bool = False) -> OwnVoice:
    own = OwnVoice()
    for number, person in enumerate(persons):
        own.take((number + 1) * 0.01, person=person, loud=loud)
    return own


def test_a_word_without_a_person_in_it_is_the_robots_own() -> None:
    assert told([False] * 200).explains(2.0)


def test_a_word_with_a_person_in_it_is_not() -> None:
    assert not told([False] * 150 + [True] * 25 + [False] * 25).explains(2.0)


def test_a_person_long_before_the_word_says_nothing() -> None:
    assert told([True] * 100 + [False] * 100).explains(2.0)


def test_single_frames_are_no_person() -> None:
    assert told(([False] * 9 + [True]) * 20).explains(2.0)


def test_a_word_beyond_doubt_needs_less_of_a_person_than_another() -> None:
    """ "Stop" at 0 dB as the robot begins to speak after a long silence: its echo is not known yet."""
    own = told([None] * 158 + [False] * 16 + [True] * 8 + [False] * 18)
    assert own.explains(2.0)
    assert not own.explains(2.0, sure=True), "it was: the robot drove on"
    assert told([False] * 195 + [True] * 5).explains(2.0, sure=True)


def test_nothing_is_explained_when_the_loudspeaker_is_silent_or_nothing_was_told() -> None:
    assert not told([None] * 200).explains(2.0)
    assert not OwnVoice().explains(2.0)


def test_only_frames_before_the_end_of_a_phrase_explain_it() -> None:
    own = OwnVoice()
    for number in range(150):
        own.take((number + 1) * 0.01, person=number >= 100, loud=False)
    assert own.explains(1.0)
    assert not own.explains(1.3)


def test_silence_before_the_robot_speaks_is_no_person() -> None:
    assert told([None] * 160 + [False] * 40).explains(2.0), "it was: the first words of each answer stopped the robot"


def test_a_word_that_ends_as_the_robot_begins_is_a_persons() -> None:
    own = told([None] * 185 + [False] * 15, loud=True)
    assert not own.explains(2.0)


def test_a_person_who_has_just_finished_says_nothing_of_the_robots_first_word() -> None:
    own = OwnVoice()
    for number in range(200):
        loud = number < 142  # 0.28 s before the robot begins
        own.take((number + 1) * 0.01, person=None if number < 170 else False, loud=loud)
    assert own.explains(2.0)


def test_what_a_person_said_before_a_pause_is_no_part_of_the_robots_first_word() -> None:
    """ "Continue", a fifth of a second, and the robot answers with a word that is loud in the echo at first."""
    own = OwnVoice()
    frames = [(None, True)] * 21 + [(None, False)] * 19 + [(False, False)] * 5 + [(True, False)] * 8
    frames += [(False, False)] * 17
    for number, (person, loud) in enumerate(frames):
        own.take((number + 1) * 0.01, person=person, loud=loud)
    assert own.explains(0.7)


def test_the_pause_inside_a_persons_word_does_not_make_it_the_robots() -> None:
    """The lips are closed for a tenth of a second before the end of "stop"."""
    own = OwnVoice()
    frames = [(None, True)] * 15 + [(None, False)] * 10 + [(False, False)] * 10
    for number, (person, loud) in enumerate(frames):
        own.take((number + 1) * 0.01, person=person, loud=loud)
    assert not own.explains(0.35)
