"""A stop word that was spotted: the transcript decides what it meant, or the time does."""

from dataclasses import replace

import pytest

from edgeagent.stt import HeardWord, RecognisedText, SpottedPhrase
from edgeagent.voice import AFTER_SPEECH_S, AFTER_WORD_S, ALONE_S, GUESS_S, StopWatch

STOP = SpottedPhrase("stop", start_s=9.7, end_s=10.0, heard_s=10.05, score=0.9)


def _partial(text: str) -> RecognisedText:
    return RecognisedText(text, final=False)


def _watch(*, sure: bool = False) -> StopWatch:
    watch = StopWatch(["stop", "halt"])
    watch.spotted(replace(STOP, sure=sure))
    return watch


def test_a_guess_that_goes_on_saying_it_trips() -> None:
    watch = _watch()
    assert watch.told(_partial("stop")) is None
    assert watch.due(9.99 + GUESS_S) is None
    assert watch.told(_partial("stop now")) is None
    assert watch.due(10.01 + GUESS_S) == "trip"
    assert not watch.waiting
    assert watch.was_said


def test_a_guess_that_says_something_else_soon_does_not_trip() -> None:
    watch = StopWatch(["freeze"])
    watch.spotted(replace(STOP, phrase="freeze"))
    watch.told(_partial("freeze"))
    watch.told(_partial("freeze easy ground"))
    assert watch.due(10.01 + GUESS_S) is None
    assert watch.told(RecognisedText("where did you grow up")) == "release"


def test_a_word_that_a_guess_has_said_is_not_denied_by_what_follows_it() -> None:
    watch = _watch()
    watch.told(_partial("stop"))
    watch.told(_partial("stop watch"))
    assert watch.told(RecognisedText("stop watch out for the cat"), ended_s=11.5) is None
    watch.speech(ended_s=11.5)
    assert watch.due(11.51 + AFTER_SPEECH_S) == "trip"


def test_a_transcript_that_denies_it_releases() -> None:
    assert _watch().told(RecognisedText("don't stop")) == "release"
    assert _watch().told(RecognisedText("the bus stop is far away")) == "release"
    assert _watch().told(_partial("don't stop")) == "release"


def _looked(
    text: str,
    *others: str,
    began_s: float = 8.0,
    ended_s: float = 10.4,
    confidence: float = 0.8,
    excluded: tuple[str, ...] = ("stop",),
) -> str | None:
    look = RecognisedText(text, understood=False, confidence=confidence, others=others, excluded=excluded)
    return _watch().looked(look, began_s=began_s, ended_s=ended_s)


def test_an_early_look_releases_a_word_that_nothing_heard_is_like() -> None:
    assert _looked("how much charge have you got", "how much charge of you got") == "release"
    assert _looked("how much charge have you got") == "release"


@pytest.mark.parametrize(
    "text",
    [
        "please stop the music now",
        "don't stop the music now",
        "go to the bus stop",
        "halt at the next door",
        "go to the kitchen and start",
        "go to the kitchen no step",
        "turn around",
    ],
)
def test_an_early_look_with_anything_like_a_stop_word_or_too_short_releases_nothing(text: str) -> None:
    assert _looked(text) is None


def test_an_early_look_that_is_doubtful_or_does_not_hold_the_word_releases_nothing() -> None:
    text = "how much charge have you got"
    assert _looked(text, confidence=0.6) is None
    assert _looked(text, "how much charge of you got", confidence=0.6) is None
    assert _looked(text, "how much charge you stop") is None
    assert _looked(text, ended_s=10.2) is None, "its last sound may be missing"
    assert _looked(text, ended_s=10.7) is None, "the word is not among the last, which are scored against it"
    assert _looked(text, began_s=9.8) is None
    assert _looked(text, excluded=()) is None, "it was not looked for, or fits the sound"
    assert _looked(text, excluded=("halt",)) is None


SHORT = RecognisedText("where are you", confidence=0.9, excluded=("stop",))


def test_a_short_transcript_that_excludes_the_word_releases_it() -> None:
    assert _watch().told(SHORT, began_s=9.0, ended_s=10.1, sound_s=8.5) == "release"


@pytest.mark.parametrize(
    ("heard", "sound_s"),
    [
        (replace(SHORT, excluded=()), 8.5),
        (replace(SHORT, excluded=("halt",)), 8.5),
        (replace(SHORT, understood=False), 8.5),
        (replace(SHORT, confidence=0.6), 8.5),
        (replace(SHORT, others=("where are we", "stop")), 8.5),
        (replace(SHORT, text="to the top"), 8.5),
        (replace(SHORT, text="please start"), 8.5),
        (replace(SHORT, text="in the hall"), 8.5),
        (SHORT, 9.2),
        (SHORT, None),
    ],
)
def test_one_that_is_doubtful_like_a_stop_word_or_does_not_hold_the_word_decides_nothing(
    heard: RecognisedText, sound_s: float | None
) -> None:
    watch = _watch()
    assert watch.told(heard, began_s=9.0, ended_s=10.1, sound_s=sound_s) is None
    assert watch.waiting == ("stop",)


def test_a_word_that_was_spotted_twice_is_excluded_by_no_transcript() -> None:
    watch = _watch()
    watch.spotted(SpottedPhrase("stop", 10.5, 10.9, 10.9, 1.0))
    assert watch.told(SHORT, began_s=9.0, ended_s=11.0, sound_s=8.5) is None
    assert watch.waiting == ("stop",)


def test_an_early_look_is_wanted_just_after_the_word_while_somebody_speaks() -> None:
    watch = _watch()
    assert not watch.wants_look(10.2)
    assert watch.wants_look(10.3)
    assert not watch.wants_look(10.5)
    assert watch.wants_look(10.58), "the recogniser may have been busy"
    assert not watch.wants_look(11.0), "the word is not among the last any more"


def test_where_nobody_speaks_the_transcript_comes_soon_and_no_look_is_wanted() -> None:
    watch = _watch()
    watch.speech(ended_s=10.2)
    assert not watch.wants_look(10.4)


def test_another_stop_word_in_the_transcript_counts_as_much() -> None:
    assert _watch().told(RecognisedText("halt")) == "trip"


def test_an_unclear_transcript_decides_nothing() -> None:
    watch = _watch()
    assert watch.told(_partial("st")) is None
    assert watch.told(RecognisedText("hop", understood=False)) is None
    assert watch.waiting


def test_without_a_clear_transcript_it_counts_one_second_after_the_speech() -> None:
    watch = _watch()
    watch.speech(ended_s=10.4)
    assert not watch.due(10.39 + AFTER_SPEECH_S)
    assert watch.due(10.41 + AFTER_SPEECH_S)
    assert not watch.due(20.0), "it is decided once"


@pytest.mark.parametrize(("speech_end_s", "said_until_s"), [(9.6, 9.6), (9.4, 10.0)])
def test_a_spotter_that_is_late_with_a_word_delays_nothing_and_a_word_apart_has_its_own_time(
    speech_end_s: float, said_until_s: float
) -> None:
    watch = StopWatch(["stop"])
    watch.spotted(STOP, speech_end_s=speech_end_s)
    assert not watch.due(said_until_s - 0.01 + AFTER_SPEECH_S)
    assert watch.due(said_until_s + 0.01 + AFTER_SPEECH_S) == "trip"


def test_a_word_that_the_spotter_tells_of_late_is_judged_by_the_words_of_its_speech() -> None:
    denied = RecognisedText("the mechanic looked at the brakes", confidence=0.9)
    for end_s, outcome in ((9.55, "release"), (9.45, None)):
        watch = StopWatch(["stop"])
        watch.told(denied, began_s=7.5, ended_s=end_s, sound_s=7.3, now_s=9.9)
        assert watch.spotted(STOP, speech_end_s=end_s) == outcome


def test_speech_without_an_end_is_not_waited_for() -> None:
    watch = _watch()
    watch.speech(ended_s=None)
    assert not watch.due(9.99 + AFTER_WORD_S)
    assert watch.due(10.01 + AFTER_WORD_S)


def test_speech_that_goes_on_moves_its_end() -> None:
    watch = _watch()
    watch.speech(ended_s=10.1)
    watch.speech(ended_s=None)
    assert not watch.due(10.2 + AFTER_SPEECH_S)


def test_the_transcript_catches_what_the_spotter_missed() -> None:
    watch = StopWatch(["stop"])
    assert watch.told(_partial("stop")) is None, "a partial one is too unsure for that"
    assert watch.told(RecognisedText("stop")) == "trip"
    assert watch.told(RecognisedText("go to the kitchen")) is None


def test_a_word_in_the_robots_own_voice_is_released_where_nobody_else_has_spoken() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(STOP, alone=True)
    assert watch.due(9.99 + ALONE_S) is None
    assert watch.due(10.01 + ALONE_S) == "release"


def test_time_releases_a_word_that_the_robot_was_saying_where_nothing_moves() -> None:
    for moves, outcome in ((False, "release"), (True, "trip")):
        watch = StopWatch(["stop"])
        watch.spotted(STOP, own=True, speech_end_s=10.0)
        assert watch.due(9.99 + AFTER_SPEECH_S, moves=moves) is None
        assert watch.due(10.01 + AFTER_SPEECH_S, moves=moves) == outcome
        assert not watch.waiting


def test_a_word_that_the_robot_was_saying_releases_no_other() -> None:
    watch = StopWatch(["stop", "halt"])
    watch.spotted(STOP, own=True, speech_end_s=10.0)
    watch.spotted(SpottedPhrase("halt", 9.6, 10.1, 10.2, 0.9), speech_end_s=10.0)
    assert watch.due(10.2 + AFTER_SPEECH_S) == "trip"


def test_speech_that_begins_with_the_word_makes_it_count_though_the_robot_speaks() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(STOP, alone=True)
    watch.begun(10.3)
    assert watch.due(10.1 + ALONE_S) is None
    assert watch.due(10.01 + AFTER_WORD_S) == "trip"


def test_speech_that_begins_long_after_the_word_is_another() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(STOP, alone=True)
    watch.begun(10.6)
    assert watch.due(10.01 + ALONE_S) == "release"


def test_a_transcript_says_nothing_of_a_word_that_comes_after_it() -> None:
    watch = _watch()
    assert watch.told(RecognisedText("how full is your battery"), began_s=8.0, ended_s=9.5) is None
    assert watch.waiting
    assert watch.told(RecognisedText("how full is your battery"), began_s=8.0, ended_s=9.8) == "release"


def test_speech_that_begins_long_after_a_word_neither_denies_it_nor_makes_it_wait_longer() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(STOP, speech_end_s=10.0)
    watch.begun(10.8)
    assert watch.told(RecognisedText("how full is your battery"), began_s=10.8, ended_s=10.9) is None
    assert watch.due(10.01 + AFTER_SPEECH_S) == "trip"


def test_a_guess_from_before_the_word_confirms_it_at_most() -> None:
    watch = StopWatch(["stop"])
    watch.told(_partial("the bus stop"), began_s=9.0, now_s=9.9)
    assert watch.spotted(STOP) is None
    watch = StopWatch(["stop"])
    watch.told(_partial("stop"), began_s=9.6, now_s=9.95)
    assert watch.spotted(STOP) is None
    assert watch.due(10.01 + GUESS_S) == "trip"


def test_of_two_words_each_is_decided() -> None:
    watch = _watch()
    watch.spotted(SpottedPhrase("stop", 10.7, 11.0, 11.05, 0.9))
    assert watch.told(_partial("don't stop"), began_s=9.0, now_s=11.1) is None, "the second one waits"
    assert watch.told(RecognisedText("don't stop no don't stop"), began_s=9.0, ended_s=11.1) == "release"


def test_of_two_words_that_nobody_has_said_none_is_a_stop_word_before_the_other() -> None:
    watch = StopWatch(["stop", "freeze"])
    watch.spotted(SpottedPhrase("freeze", 2.86, 3.21, 3.25, 0.9))
    watch.spotted(SpottedPhrase("stop", 3.72, 4.2, 4.25, 0.9))
    heard = RecognisedText("he always leaves his shoes in the hall")
    assert watch.told(heard, began_s=2.41, ended_s=4.07) == "release"


def test_a_stop_that_was_spotted_twice_is_not_released_by_a_transcript_that_lacks_it() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(SpottedPhrase("stop", 3.0, 3.3, 3.35, 0.9))
    watch.spotted(SpottedPhrase("stop", 3.9, 4.2, 4.25, 0.9))
    assert watch.told(RecognisedText("the shop is on top"), began_s=2.8, ended_s=4.2) is None
    assert watch.due(4.21 + AFTER_WORD_S) == "trip"


def test_a_stop_that_was_spotted_twice_is_released_where_nothing_that_was_said_is_like_it() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(SpottedPhrase("stop", 2.3, 2.7, 2.75, 0.9))
    watch.spotted(SpottedPhrase("stop", 4.18, 4.63, 4.7, 0.9))
    words = "some people just like to hear themselves talk"
    heard = RecognisedText(words, others=("some people to swipe your themselves talk",))
    assert watch.told(heard, began_s=2.42, ended_s=4.55) == "release"


@pytest.mark.parametrize(("ended_s", "outcome"), [(9.8, None), (10.6, "release")])
def test_doubtful_words_deny_a_stop_word_only_if_they_took_longer_than_a_command(
    ended_s: float, outcome: str | None
) -> None:
    heard = RecognisedText("what is the problem", confidence=0.1, understood=False, others=("well what a problem",))
    assert _watch().told(heard, began_s=9.0, ended_s=ended_s) == outcome
    assert _watch().told(replace(heard, understood=True, confidence=0.9), began_s=9.0, ended_s=ended_s) == "release"
    mention = replace(heard, text="to stop the note")
    assert _watch(sure=True).told(mention, began_s=9.0, ended_s=ended_s) == outcome
    assert _watch().told(mention, began_s=9.0, ended_s=ended_s) == "release"
    forbidden = replace(heard, text="please do not stop", others=())
    assert _watch().told(forbidden, began_s=9.0, ended_s=ended_s) == "release"


@pytest.mark.parametrize(
    ("sure", "confidence", "outcome"),
    [(True, 0.6, None), (False, 0.6, "release"), (True, 0.7, "release"), (True, None, "release")],
)
def test_a_word_that_the_spotter_is_sure_of_is_denied_in_short_speech_only_by_clear_words(
    sure: bool, confidence: float | None, outcome: str | None
) -> None:
    heard = RecognisedText("just let me know", confidence=confidence)
    assert _watch(sure=sure).told(heard, began_s=9.0, ended_s=9.8) == outcome
    assert _watch(sure=sure).told(heard, began_s=9.0, ended_s=10.6) == "release"


@pytest.mark.parametrize("text", ["the bus stop is far", "where is the next stop", "he stopped there again"])
def test_words_that_tell_of_a_stop_deny_one_in_short_speech_too(text: str) -> None:
    heard = RecognisedText(text, confidence=0.6)
    assert _watch(sure=True).told(heard, began_s=9.0, ended_s=9.9) == "release"


DOUBTFUL = RecognisedText("we are all next time", confidence=0.2, understood=False, others=("will all next time",))

OH = RecognisedText("oh", confidence=0.5, understood=False)


@pytest.mark.parametrize(
    ("heard", "ended_s", "score", "outcome"),
    [
        (DOUBTFUL, 9.7, 0.5, "trip"),
        (DOUBTFUL, 10.6, 0.5, None),
        (DOUBTFUL, 9.7, 0.49, None),
        (replace(DOUBTFUL, understood=True), 9.7, 0.9, None),
        (replace(DOUBTFUL, others=("please don't stop",)), 9.7, 0.9, None),
        (replace(DOUBTFUL, text="don't stock"), 9.7, 0.9, None),
        (replace(DOUBTFUL, text="do not stomp"), 9.7, 0.9, None),
        (replace(DOUBTFUL, excluded=("stop",)), 9.7, 0.9, None),
        (OH, 9.7, 0.5, "trip"),
        (OH, 10.6, 0.3, "trip"),
        (replace(OH, others=("don't stop",)), 9.7, 0.9, None),
        (replace(OH, understood=True), 9.7, 0.5, "trip"),
        (replace(OH, understood=True), 9.7, 0.49, None),
        (replace(OH, text="uh huh", understood=True), 10.6, 0.9, None),
    ],
)
def test_a_stop_word_that_the_spotter_all_but_told_of_counts_in_short_speech_that_nobody_understood(
    heard: RecognisedText, ended_s: float, score: float, outcome: str | None
) -> None:
    word = SpottedPhrase("stop", 9.3, 9.6, 9.7, score)
    assert StopWatch(["stop", "halt"]).told(heard, began_s=9.0, ended_s=ended_s, suspected=word) == outcome


def _timed(*words: tuple[str, float]) -> RecognisedText:
    """A final transcript with the time at which each word begins."""
    heard = tuple(HeardWord(text, start_s, start_s + 0.3) for text, start_s in words)
    return RecognisedText(" ".join(word.text for word in heard), heard)


def test_a_word_whose_end_is_told_too_late_is_not_taken_for_a_second_one() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(SpottedPhrase("stop", 13.92, 14.85, 14.92, 0.84))
    watch.told(_partial("the guy stop"), began_s=13.1, now_s=14.6)
    heard = _timed(("the", 0.48), ("guy", 0.66), ("not", 1.02), ("stop", 1.34), ("there", 1.77))
    assert watch.told(heard, began_s=13.1, ended_s=14.74, sound_s=12.6) == "release"


def test_a_word_that_is_spotted_twice_at_once_is_one() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(SpottedPhrase("stop", 23.8, 24.44, 24.52, 0.81))
    watch.told(_partial("don't stop in"), began_s=24.28, now_s=25.0)
    watch.spotted(SpottedPhrase("stop", 24.36, 24.95, 25.02, 0.85))
    heard = _timed(("don't", 0.46), ("stop", 0.71), ("and", 1.18), ("show", 1.34))
    assert watch.told(heard, began_s=24.28, ended_s=26.45, sound_s=23.78) == "release"


def test_a_word_that_begins_with_the_pause_before_it_is_a_second_one_though_the_transcript_has_lost_it() -> None:
    watch = StopWatch(["stop"])
    watch.told(_partial("don't stop"), began_s=2.0, now_s=3.0)
    watch.spotted(SpottedPhrase("stop", 2.61, 3.61, 3.66, 0.9))
    assert watch.told(_timed(("don't", 0.5), ("stop", 0.75)), began_s=2.0, ended_s=3.5, sound_s=1.5) is None
    assert watch.due(3.62 + AFTER_WORD_S) == "trip"


def test_a_word_that_the_transcript_has_lost_is_not_denied_by_the_one_before_it() -> None:
    watch = StopWatch(["stop"])
    watch.told(_partial("the bus stop is over"), began_s=8.0, now_s=9.5)
    watch.spotted(STOP)
    assert watch.told(RecognisedText("the bus stop is over there"), began_s=8.0, ended_s=10.0) is None
    assert watch.due(10.01 + AFTER_WORD_S) == "trip"


def test_a_word_in_the_robots_own_voice_counts_where_something_moves_when_it_is_due() -> None:
    watch = StopWatch(["stop"])
    watch.spotted(STOP, alone=True, speech_end_s=10.0)
    assert watch.due(10.01 + ALONE_S, moves=True) is None
    assert watch.due(10.01 + AFTER_SPEECH_S) == "trip"
