"""Phrases become sentences of spoken words."""

import time

import pytest

from edgeagent.errors import ConfigError
from edgeagent.stt import NEGATIONS, sentences, spoken_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Go to the kitchen!", "go to the kitchen"),
        ("Drive 2.5 m, please.", "drive two point five meters please"),
        ("turn 45°", "turn forty five degrees"),
        ("don’t go – to the café", "don't go to the cafe"),  # noqa: RUF001
        ("set_light in the office to 50%", "set_light in the office to fifty percent".replace("_", " ")),
        ('say "hello" (twice)', "say hello twice"),
    ],
)
def test_a_text_is_put_as_it_is_said(text: str, words: str) -> None:
    assert sentences([text], negate=False) == [words]


@pytest.mark.parametrize("word", ["###", "♥♥", "сто", "你好"])
def test_a_word_without_letters_is_an_error_that_names_it(word: str) -> None:
    with pytest.raises(ConfigError, match="no letters") as raised:
        sentences(["go to the kitchen", f"go {word} on"])
    assert word in str(raised.value)


@pytest.mark.parametrize(("phrase", "complaint"), [("", "no words"), ("!?", "no words"), ("a " * 600, "longer")])
def test_a_phrase_that_is_none_is_an_error(phrase: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        sentences([phrase])


def test_a_phrase_with_a_name_is_heard_with_the_other_names_too() -> None:
    rooms = ["kitchen", "living room", "bedroom"]
    made = sentences(["go to the living room", "look up"], names=[rooms], negate=False)
    assert {"go to the kitchen", "go to the bedroom", "living room"} <= set(made)
    assert sum(sentence.startswith("look") for sentence in made) == 1


def test_every_name_gets_its_turn_though_there_are_many() -> None:
    rooms = [f"room {letter}x" for letter in "abcdefghijklmnopqrst"]
    made = sentences(["go to room ax", "show me room bx", "leave room cx"], names=[rooms], negate=False)
    assert all(any(room in sentence and sentence != room for sentence in made) for room in rooms)


def test_the_model_knows_how_commands_are_forbidden() -> None:
    made = sentences(["go to the kitchen"])
    assert {f"{negation} go to the kitchen" for negation in NEGATIONS} <= set(made)


def test_phrases_that_forbid_by_themselves_are_left_as_they_are() -> None:
    phrases = ["go to the kitchen", "do not go to the office"]
    assert sentences(phrases) == phrases
    assert len(sentences(phrases, negate=True)) > 2


def test_two_thousand_phrases_take_a_moment_and_keep_their_order() -> None:
    phrases = [f"bring item {number} to shelf {number % 97}" for number in range(2000)]
    start_s = time.process_time()
    made = sentences(phrases)
    assert time.process_time() - start_s < 2
    assert made[:2] == ["bring item zero to shelf zero", "bring item one to shelf one"]
    assert made == sentences(phrases)


def test_words_are_the_same_whatever_the_apostrophe() -> None:
    assert spoken_words("Don`t") == spoken_words("don't") == ["don't"]
