"""What was probably said: candidates from two recognisers and the app's sentences, and the choice among them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeagent.english import lists
from edgeagent.stt import (
    AppSentences,
    Fit,
    HeardWord,
    Hypotheses,
    Hypothesis,
    as_spoken,
    as_written,
    best_of,
    means_another,
    with_phrase,
    written_with,
)

APP = AppSentences(
    [
        "drive forward one meter",
        "please drive forward two meters",
        "drive back three meters",
        "pick up the red cube",
        "go to the kitchen",
        "don't go to the kitchen",
        "you needn't go to the office",
        "turn left",
        "stop",
    ]
)
QUIET_DB = 45.0


def heard(app: str = "", general: str = "") -> Hypotheses:
    """By PocketSphinx, in a quiet room."""

    def of(text: str) -> Hypothesis:
        return Hypothesis(tuple(HeardWord(word, 0.0, 0.1, 0.5) for word in text.split()), 1.0, 0.5, -3.0)

    return Hypotheses(of(app), of(general), QUIET_DB)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dry forward two meters", "drive forward two meters"),
        ("pick out the red cube", "pick up the red cube"),
        ("go to the kitten", "go to the kitchen"),
        ("pig out the red cube", "pick up the red cube"),
    ],
)
def test_what_is_near_to_the_apps_sentences_is_a_candidate(written: str, meant: str) -> None:
    assert meant in APP.candidates(written, heard())


def test_what_pocketsphinx_heard_in_the_place_of_a_word_is_a_candidate() -> None:
    found = APP.candidates("for all ahead forty centimeters", heard("roll ahead forty centimeters"))
    assert found[0] == "roll ahead forty centimeters"
    assert "point your camera up" in APP.candidates("weight your camera up", heard("point your camera"))


@pytest.mark.parametrize("text", ["you", "thank you"])
def test_what_whisper_writes_for_noise_is_no_speech_unless_it_is_understood(text: str) -> None:
    assert best_of(APP, [(text, Fit(-9.0, 1))], heard("turn left")).text == ""
    assert best_of(APP, [(text, Fit(-0.1, 1))], heard(text)).text == text
    assert best_of(APP, [("turn", Fit(-9.0, 1))], heard("turn left")).text == "turn"


def test_a_number_is_exchanged_only_for_one_that_was_heard() -> None:
    assert not any("three" in text or "one" in text for text in APP.candidates("drive back two meters", heard()))
    assert "drive back three meters" in APP.candidates("drive back two meters", heard("drive back three meters"))


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ("go to room two", "go to room one"),
        ("drive two meters forward", "drive half a meter forward"),
        ("drive forward five meters", "drive forward a meter"),
        ("turn right in the living room", "turn left in the living room"),
        ("turn on the light in the kitchen", "turn off the light in the kitchen"),
        ("look up at the shelf", "look down at the shelf"),
        ("take the first door", "take the third door"),
        ("close the gripper now", "open the gripper now"),
    ],
)
def test_the_contrary_of_what_whisper_wrote_is_heard_and_never_guessed(said: str, other: str) -> None:
    app = AppSentences([other])
    assert other not in app.candidates(said, heard())
    assert other in app.candidates(said, heard(other))
    fits = [(said, Fit(-1.5, 8)), (other, Fit(-2.0, 8))]
    assert not best_of(app, fits, heard(other, said)).understood


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("drive forwards a bit", "drive forward a bit"),
        ("drive ahead", "drive forward"),
        ("close it", "shut it"),
        ("turn left then right", "turn left and right"),
        ("turn on the light", "turn the light"),
    ],
)
def test_other_words_for_the_same_way_are_no_contrary(text: str, other: str) -> None:
    assert not means_another(text, other)
    assert not means_another(other, text)


def test_a_word_that_sounds_like_a_number_may_be_one() -> None:
    app = AppSentences(["drive four meters"])
    assert "drive four meters" in app.candidates("drive for meters", heard())
    fits = [("drive for meters", Fit(-1.0, 4)), ("drive four meters", Fit(-1.5, 4))]
    assert best_of(app, fits, heard("drive four meters")).understood
    assert means_another("drive to meters", "drive four meters")


def test_a_negation_comes_and_goes_only_if_it_was_heard() -> None:
    assert "don't go to the kitchen" not in APP.candidates("oh go to the kitchen", heard())
    assert "you need to go home" not in AppSentences(["you need to go home"]).candidates("you needn't go home", heard())
    assert "don't go to the kitchen" in APP.candidates("oh go to the kitchen", heard("don't go to the kitchen"))


WORDS = st.lists(
    st.sampled_from("go to the kitchen drive forward two meters don't stop red cube a i".split()), max_size=8
)
TEXTS = WORDS.map(" ".join)


@given(TEXTS, TEXTS, TEXTS)
def test_there_are_few_candidates_each_once_and_likelier_than_the_text(text: str, app: str, general: str) -> None:
    found = APP.candidates(text, heard(app, general))
    assert len(found) <= 7
    assert len({text, *found}) == len(found) + 1
    assert all(found)
    if text:
        assert all(APP.prior(each, heard(app)) > APP.prior(text, heard(app)) for each in found)


def test_of_two_that_fit_alike_the_app_knows_the_better_one() -> None:
    fits = [("dry forward two meters", Fit(-2.0, 5)), ("drive forward two meters", Fit(-3.5, 5))]
    assert best_of(APP, fits, heard("drive forward two meters")).text == "drive forward two meters"


def test_what_fits_far_better_counts_whatever_the_app_knows() -> None:
    fits = [("my sister has a new kitten", Fit(-1.0, 6)), ("go to the kitchen", Fit(-30.0, 4))]
    assert best_of(APP, fits, heard("go to the kitchen")).text == "my sister has a new kitten"


def test_a_text_that_whisper_wrote_twice_is_no_other_amount() -> None:
    once, twice = "drive forward two meters", "drive forward two meters drive forward two meters"
    fits = [(twice, Fit(-3.4, 12)), (once, Fit(-1.8, 6))]
    best = best_of(APP, fits, heard(once, once))
    assert (best.text, best.understood) == (once, True)
    said_twice = [(twice, Fit(-1.8, 12)), (once, Fit(-9.0, 6))]
    assert best_of(APP, said_twice, heard(twice)).text == twice


def test_of_free_speech_no_word_is_dropped_or_changed_for_the_app() -> None:
    """Each word that the app does not know costs a text something: so a shorter one won."""
    said, shorter = "it was the age of wisdom it was the age of foolishness", "it was the age of wisdom it was the age"
    fits = [(said, Fit(-9.0, 12)), (shorter, Fit(-8.5, 9)), ("drove to the age of wisdom", Fit(-14.0, 6))]
    assert best_of(APP, fits, heard("drive forward")).text == said
    part = [("in its power to do for them", Fit(-5.0, 7)), ("stop", Fit(-4.7, 2))]
    assert best_of(APP, part, heard("stop")).text == "in its power to do for them"
    twice = [("turn left turn left turn left", Fit(-4.0, 7)), ("turn left", Fit(-3.0, 3))]
    assert best_of(APP, twice, heard("turn left")).text == "turn left"


def test_agreement_is_understood_and_guesses_in_noise_are_not() -> None:
    fits = [("go to the kitchen", Fit(-0.5, 5)), ("go to the kitten", Fit(-6.0, 5))]
    sure = best_of(APP, fits, heard("go to the kitchen", "go to the kitchen"))
    assert sure.understood
    noise = Hypotheses(heard("turn left").app, heard("uh the").general, 10.0)
    doubtful = best_of(APP, [("know the kid chin", Fit(-12.0, 5)), ("turn left", Fit(-12.5, 3))], noise)
    assert not doubtful.understood
    assert doubtful.probability < sure.probability


def test_what_is_understood_depends_on_pocketsphinx_and_on_the_noise() -> None:
    fits = [("go to the kitchen", Fit(-4.0, 5)), ("go to the kitten", Fit(-6.0, 5))]
    agreed = best_of(APP, fits, heard("go to the kitchen"))
    assert best_of(APP, fits, heard("turn left")).probability < agreed.probability
    noisy = Hypotheses(heard("go to the kitchen").app, clear_db=10.0)
    assert best_of(APP, fits, noisy).probability < agreed.probability
    assert not best_of(APP, fits, Hypotheses(noisy.app, clear_db=3.0)).understood, "as loud as the noise alone"


def test_more_words_than_a_stop_phrase_has_may_be_likely_though_they_are_not_understood() -> None:
    def best(text: str, *rivals: str, app: str = "") -> Any:
        fits = [(each, Fit(-9.0 - 3 * place, 7)) for place, each in enumerate((text, *rivals))]
        return best_of(APP, fits, heard(app or text))

    likely = best("back up half the meter please", "back up at the meter please", app="back up a meter")
    assert (likely.likely, likely.understood) == (True, False)
    assert not best("back the meter", app="back up a meter").likely, "as short as a stop phrase"
    assert not best("go to the kitchen then", app="don't go to the kitchen").likely, "perhaps forbidden"
    assert not best("don't back up half a meter", app="don't back up a meter").likely, "forbidden"
    assert not best_of(APP, [("go to the kitchen", Fit(-0.5, 5))], heard("go to the kitchen")).likely, "understood"


def best_as(app: str, *fits: tuple[str, Fit], pocketsphinx: str | None = None, clear_db: float = QUIET_DB) -> Any:
    """What is told of the app's only sentence, which scores best."""
    known = app if pocketsphinx is None else pocketsphinx
    best = best_of(AppSentences([app]), fits, Hypotheses(heard(known).app, clear_db=clear_db))
    assert best.text == app
    return best


def test_what_is_in_doubt_only_for_others_tells_all_that_is_possible() -> None:
    cup = [("grab the cup", Fit(-5.6, 4)), ("crab the cup", Fit(-3.7, 4)), ("that cup", Fit(-19.0, 3))]
    best = best_as("grab the cup", *cup)
    assert not best.understood
    assert [text for text, _ in best.possible] == ["grab the cup", "crab the cup"], "the third has next to no share"
    (_, most), (_, least) = best.possible
    assert 0.5 < most < 0.7
    assert most + least == pytest.approx(1.0, abs=0.01)
    drive = [("drive two meters", Fit(-2.0, 4)), ("drive ten meters", Fit(-2.5, 4)), ("try two meters", Fit(-1.0, 4))]
    possible = dict(best_as("drive two meters", *drive).possible)
    assert list(possible) == ["drive two meters", "try two meters", "drive ten meters"]


def test_what_is_in_doubt_for_more_than_others_tells_nothing_possible() -> None:
    near = ("grab the cup", Fit(-5.6, 4)), ("crab the cup", Fit(-3.7, 4))
    assert best_as("grab the cup", *near).possible
    assert best_as("grab the cup", *near, pocketsphinx="don't grab the cup").possible == (), "perhaps forbidden"
    assert best_as("grab the cup", near[0], ("don't grab the cup", Fit(-5.0, 5))).possible == (), "perhaps forbidden"
    unfit = best_as("grab the cup", ("grab the cup", Fit(-19.0, 4)), ("crab a cup", Fit(-18.5, 4)))
    assert unfit.possible == (), "no lead would be enough"
    assert best_as("grab the cup", *near, clear_db=3.0).possible == (), "as loud as the noise alone"
    assert best_as("grab the cup", ("grab the cup", Fit(-0.5, 4))).possible == (), "it is understood"


@pytest.mark.parametrize(
    "heard",
    [
        "don't open your gripper",
        "do not open your gripper",
        "please don't open the gripper",
        "you must not open the gripper",
    ],
)
def test_a_negation_that_one_recogniser_hears_in_the_same_words_is_not_passed_over(heard: str) -> None:
    near = ("open your gripper", Fit(-1.5, 4)), ("open the gripper", Fit(-4.0, 4))
    assert best_as("open your gripper", *near, pocketsphinx="not the printer").understood
    assert not best_as("open your gripper", *near, pocketsphinx=heard).understood


def test_a_number_in_other_words_is_no_other_number() -> None:
    near = ("drive two and a half meters", Fit(-1.0, 6)), ("drive two point five meters", Fit(-1.5, 6))
    assert best_as("drive two and a half meters", *near).understood
    assert not best_as("drive two and a half meters", near[0], ("drive two point nine meters", Fit(-1.5, 6))).understood


def test_few_words_that_no_sentence_of_the_app_has_may_have_been_a_stop_word() -> None:
    fits = [("eight", Fit(-2.0, 1))]
    few = best_of(APP, fits, heard("eight"))
    assert 0.6 < few.probability < 0.8
    assert not few.understood
    assert best_as("eight", *fits).understood, "the app knows it"


def test_a_text_that_nearly_forbids_is_doubtful() -> None:
    fits = [("grab the cup", Fit(-1.0, 4)), ("don't grab the cup", Fit(-1.1, 6))]
    assert best_of(APP, fits[:1], heard("grab the cup")).understood
    assert not best_of(APP, fits, heard("grab the cup")).understood


def test_more_is_asked_where_a_recogniser_hears_a_negation() -> None:
    fits = [("go to the kitchen", Fit(-6.0, 5)), ("don't go to the kitchen", Fit(-8.5, 7))]
    assert best_of(APP, fits[:1], heard("go to the kitchen")).understood
    assert not best_of(APP, fits, heard("don't go to the kitchen")).understood


@example([("the", -2.0, 0)], "", "")
@given(st.lists(st.tuples(TEXTS, st.floats(-80, 0), st.integers(0, 20)), min_size=1, max_size=10), TEXTS, TEXTS)
def test_the_best_is_one_of_the_candidates(made: list[tuple[str, float, int]], app: str, general: str) -> None:
    best = best_of(APP, [(text, Fit(log_prob, tokens)) for text, log_prob, tokens in made], heard(app, general))
    known = {text for text, *_ in made}
    nobody = not best.text and not best.understood and known & set(lists("heard").texts("of_noise"))
    assert best.text in known or nobody
    assert 0 <= best.probability <= 1
    assert best.text or not best.understood


@pytest.mark.parametrize(
    ("spoken", "written"),
    [("drive two point five meters", "Drive 2.5 meters."), ("where are you", "Where are you."), ("stop", "Stop.")],
)
def test_spoken_words_are_written_as_whisper_writes(spoken: str, written: str) -> None:
    assert as_written(spoken) == written
    assert as_spoken(written) == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("29340", "two nine three four zero"),
        ("Room 29340.", "room two nine three four zero"),
        ("29,340 people", "twenty nine thousand three hundred forty people"),
        ("3.14159", "three point one four one five nine"),
        ("1969", "one thousand nine hundred sixty nine"),
    ],
)
def test_digits_without_a_comma_were_said_one_by_one(written: str, spoken: str) -> None:
    assert as_spoken(written) == spoken


def test_words_of_another_script_stay_as_they_are() -> None:
    assert as_spoken("Привет robot") == "привет robot"


def test_a_phrase_may_have_been_said_in_place_of_the_last_words_or_beside_them() -> None:
    assert with_phrase("turn left", "stop") == ["stop left", "turn stop", "stop", "turn stop left", "turn left stop"]
    texts = with_phrase("how much charge have you got left", "stop")
    assert "how much charge stop you got left" in texts
    assert "how much charge have you stop" in texts
    assert "stop much charge have you got left" not in texts
    assert with_phrase("", "stop") == ["stop"]


def test_a_phrase_among_a_few_words_may_be_a_sentence_of_its_own() -> None:
    texts = written_with("come here", "stop")
    assert {"Stop.", "Stop here.", "Come stop.", "Come here stop.", "Stop come here."} <= set(texts)
    assert {"Stop. Come here.", "Come here. Stop."} <= set(texts)
    assert len(set(texts)) == len(texts)
