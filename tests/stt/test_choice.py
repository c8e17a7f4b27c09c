"""Which hypothesis counts, on hypotheses made by hand."""

from dataclasses import replace

import pytest

from edgeagent.stt import Choice, HeardWord, Hypothesis, sentences
from tests.stt.speech import PHRASES


@pytest.fixture(scope="module")
def choice() -> Choice:
    return Choice(sentences(PHRASES), str)


def of(text: str, score: float, confidence: float = 0.9) -> Hypothesis:
    words = tuple(HeardWord(word, at / 4, at / 4 + 0.25, confidence) for at, word in enumerate(text.split()))
    return Hypothesis(words, score, confidence, -3.0)


@pytest.mark.parametrize(
    ("app", "general"),
    [
        (of("go to the kitchen", -10), of("don't go to the kitchen", -20)),
        (of("turn left", -10), of("she never turned left", -20)),
        (of("go to the kitchen", -10), of("i wouldn't go to the kitchen", -20)),
        (of("do not go to the kitchen", -20), of("go to the kitchen", -10)),
    ],
)
def test_a_command_that_one_of_the_models_hears_forbidden_is_not_understood(
    choice: Choice, app: Hypothesis, general: Hypothesis
) -> None:
    assert not choice.between(app, general).understood


def test_a_negation_that_is_almost_heard_counts_where_somebody_says_it_so(choice: Choice) -> None:
    heard, general = of("go and turn left", -10, 0.8), of("going to learn it", -12, 0.5)
    assert choice.between(heard, general).understood
    assert not choice.between(replace(heard, others=("go and turn left", "don't turn left")), general).understood
    assert choice.between(replace(heard, others=("go and turn left", "go don't left")), general).understood
    sure = replace(of("go to the kitchen", -10, 0.95), others=("don't go to the kitchen",))
    assert choice.between(sure, of("going to the kitchen", -14, 0.9)).understood


def test_what_only_the_general_model_explains_is_not_understood_where_the_apps_almost_hears_a_negation(
    choice: Choice,
) -> None:
    heard, app = of("go and turn it", -10), of("go and turn left", -11)
    assert choice.between(app, heard).understood
    assert not choice.between(replace(app, others=("don't turn left",)), heard).understood


def test_a_report_that_may_have_a_negation_in_it_is_not_understood(choice: Choice) -> None:
    heard, general = of("you need to turn left", -10, 0.95), of("you need a turn left", -12)
    assert choice.between(heard, general).understood
    assert not choice.between(replace(heard, others=("you needn't turn left",)), general).understood
    assert not choice.between(heard, replace(general, others=("you won't turn left",))).understood
    assert choice.between(of("turn left", -10), replace(general, others=("you won't turn left",))).understood


def test_what_allows_motion_is_understood_only_where_its_contrary_is_much_less_likely() -> None:
    choice, general = Choice(["you can move again"], str), of("you can prove again", -12)
    heard = of("you can move again", -10)
    others = ("you can move a", "you can moving", "you can't move again")
    assert choice.between(replace(heard, others=others), general).understood
    assert not choice.between(replace(heard, others=others[1:]), general).understood
    assert not choice.between(heard, replace(general, others=("you can't prove again",))).understood
    assert not choice.between(of("you can move again", -10, 0.4), general).understood
    assert not choice.between(of("you can move again", -10, 0.7), general, 20.0).understood


def test_what_else_it_may_have_been_is_told_the_other_models_first(choice: Choice) -> None:
    app = replace(of("turn left", -10), others=("turn left", "turn on the left", "learn it"))
    general = replace(of("learn it", -20), others=("learn it", "learn that"))
    assert choice.between(app, general).others == ("learn it", "turn on the left", "learn that")
    assert choice.between(of("", -10), of("", -20)).others == ()


def test_where_both_hear_a_negation_it_is_understood(choice: Choice) -> None:
    heard = choice.between(of("don't go to the kitchen", -10), of("i don't know the kitchen", -20))
    assert heard.understood
    assert heard.raw == "don't go to the kitchen"


def test_the_model_that_leads_is_believed_and_doubt_is_told(choice: Choice) -> None:
    assert choice.between(of("turn left", -10), of("learn it", -10.2)).raw == "learn it"
    assert choice.between(of("turn left", -10), of("learn it", -12)).raw == "turn left"
    assert not choice.between(of("turn left", -10, 0.15), of("learn it", -12)).understood


def test_in_noise_more_is_asked_for(choice: Choice) -> None:
    general = of("learn it", -11, 0.5)
    doubtful = of("go to the kitchen", -10, 0.45)
    assert 0.6 < choice.probability(doubtful, general) < 0.7
    unknown = of("please turn left", -10, 0.9)
    assert 0.5 < choice.probability(unknown, general) < 0.6
    assert choice.between(unknown, general, 35.0).understood
    assert not choice.between(unknown, general, 20.0).understood
    assert choice.between(doubtful, general, 20.0).understood
    assert not choice.between(doubtful, general, 5.0).understood
    assert not choice.between(of("turn left", -12), of("learn it", -10, 0.6), 20.0).understood


def test_what_is_short_needs_confidence_whatever_else_tells_for_it(choice: Choice) -> None:
    """What allows motion again and a "yes" are."""
    general = of("learn it", -20, 0.9)
    assert not choice.between(of("turn left", -10, 0.4), general).understood
    assert choice.between(of("turn left", -10, 0.5), general).understood
    assert not choice.between(of("turn left", -10, 0.5), general, 20.0).understood
    assert choice.between(of("turn left", -10, 0.85), general, 20.0).understood


def test_what_somebody_says_so_is_likelier_than_a_word_salad(choice: Choice) -> None:
    general = of("learn it", -11, 0.5)
    said, salad = (of(text, -10, 0.5) for text in ("go to the kitchen", "kitchen the to go"))
    assert choice.between(said, general).understood
    assert not choice.between(salad, general).understood
    assert choice.probability(said, general) > choice.probability(of("go to kitchen the", -10, 0.5), general)


def test_words_a_lead_and_the_other_model_make_it_likelier(choice: Choice) -> None:
    said, general = of("go to the kitchen", -10, 0.5), of("learn it", -11, 0.5)
    before = choice.probability(said, general)
    assert choice.probability(of("go to the kitchen", -10, 0.8), general) > before
    assert choice.probability(said, of("learn it", -13, 0.5)) > before
    assert choice.probability(said, of("learn it", -11, 0.9)) > before
    assert choice.probability(said, of("don't learn it", -11, 0.5)) < before
    assert choice.probability(said, replace(general, score=None)) == choice.probability(said, of("learn it", -99, 0.5))
    for confidence in (0.0, 1.0):
        assert 0 < choice.probability(of("go", -10, confidence), of("go", -10, confidence)) < 1


def test_a_breath_before_half_that_is_heard_as_an_a_makes_nothing_less_sure() -> None:
    choice, general = Choice(sentences(["move ahead half a meter"]), str), of("learn it", -20, 0.1)
    heard = of("move ahead a half a meter", -10)
    words = tuple(replace(word, confidence=0.01 if at == 2 else 0.6) for at, word in enumerate(heard.words))
    transcript = choice.between(replace(heard, words=words, confidence=0.3), general)
    assert (transcript.text, transcript.understood) == ("move ahead half a meter", True)
    assert transcript.confidence == pytest.approx(0.6)
    assert not choice.between(of("move ahead a half the meter", -10, 0.6), general).understood
    assert choice.between(of("one and a half a meter", -10), general).text == "one and a half a meter"
