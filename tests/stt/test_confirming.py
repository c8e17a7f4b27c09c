"""Whether a key phrase was meant, by the transcript."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.stt import HeardWord, RecognisedText, confirm, forbids, missed, occurrences, starts
from tests.stt.stop_sentences import COMMANDS, NO_COMMAND, listed

WORDS = ("stop", "halt", "freeze")


def test_of_210_sentences_that_hold_no_command_none_is_confirmed_and_all_are_denied() -> None:
    verdicts = {line: confirm(line, word) for line, word in listed(NO_COMMAND)}
    assert len(verdicts) == 210
    assert {line: verdict for line, verdict in verdicts.items() if verdict != "denied"} == {}
    assert [line for line in verdicts if missed(line, WORDS)] == []


def test_of_80_commands_all_are_confirmed() -> None:
    commands = listed(COMMANDS)
    assert len(commands) == 80
    assert [line for line, word in commands if confirm(line, word) != "confirmed"] == []
    assert [line for line, word in commands if missed(line, WORDS) != word] == []


@pytest.mark.parametrize("times", [1, 6])
def test_words_that_stand_for_any_short_word_deny_nothing(times: int) -> None:
    assert confirm(RecognisedText(" ".join(["huh"] * times), confidence=0.8), "halt") == "unclear"
    assert confirm(RecognisedText("oh i see what you mean now", confidence=0.8), "halt") == "denied"


@pytest.mark.parametrize(
    "negation", ["don't", "do not", "never", "don't you ever", "please don't", "no don't", "don\u2019t"]
)
@pytest.mark.parametrize("rest", ["", " now", " the robot", " moving please", " there okay"])
def test_what_is_forbidden_is_never_confirmed(negation: str, rest: str) -> None:
    assert confirm(f"{negation} stop{rest}", "stop") == "denied"
    assert confirm(f"robot, {negation} stop{rest}", "stop") == "denied"


def test_a_doubtful_transcript_decides_nothing() -> None:
    assert confirm("top", "stop") == "unclear"
    assert confirm(RecognisedText("the shop was on the hill", understood=False), "stop") == "unclear"
    assert confirm(RecognisedText("the shop was on the hill", final=False), "stop") == "unclear"
    assert confirm(RecognisedText("the shop was on the hill", confidence=0.9), "stop") == "denied"
    assert confirm("", "stop") == "unclear"


def doubtful(text: str, *others: str) -> RecognisedText:
    return RecognisedText(text, understood=False, confidence=0.2, others=others)


def test_a_doubtful_transcript_denies_if_all_that_it_may_have_been_is_long_and_nothing_in_it_like_the_phrase() -> None:
    assert confirm(doubtful("this really get to walk out", "this room gets a lot of sun"), "stop") == "denied"
    assert confirm(doubtful("this really get to walk out", "this room gets a lot of sun"), "freeze") == "denied"
    assert confirm(doubtful("i mean the shop again", "i mean the chopin"), "stop") == "unclear"
    assert confirm(doubtful("i mean the one again", "i mean stop again"), "stop") == "unclear"
    assert confirm(doubtful("it is in the house", "please top it there"), "stop") == "unclear"
    assert confirm(doubtful("is it in the hall", "now go on there"), "halt") == "unclear"
    assert confirm(doubtful("the reason is there again", "the breeze is there again"), "freeze") == "unclear"


def test_a_confident_transcript_that_is_not_understood_denies_if_the_recogniser_can_think_of_nothing_else() -> None:
    def heard(text: str, confidence: float | None) -> RecognisedText:
        return RecognisedText(text, understood=False, confidence=confidence)

    assert confirm(heard("turn left 90 degrees", 0.97), "stop") == "denied"
    assert confirm(heard("turn left 90 degrees", 0.2), "stop") == "unclear"
    assert confirm(heard("turn left 90 degrees", None), "stop") == "unclear"
    assert confirm(heard("turn around", 0.97), "stop") == "unclear", "it is as short as a command to stop"
    assert confirm(heard("is it on the step", 0.97), "stop") == "unclear"


def test_a_sure_transcript_denies_no_phrase_that_may_have_been_heard_instead() -> None:
    sure = RecognisedText("can you please talk now", confidence=0.63, others=("can you please stop now",))
    assert confirm(sure, "stop") == "unclear"
    assert confirm(sure, "halt") == "denied"


@pytest.mark.parametrize(
    "text", ["roll my stop", "will they stop", "my stop", "the bus stop", "a stop", "i'm on my stop"]
)
def test_what_is_around_the_word_in_a_short_doubtful_transcript_denies_nothing(text: str) -> None:
    assert confirm(doubtful(text), "stop") == "unclear"
    assert confirm(RecognisedText(text, final=False), "stop") == "unclear"
    assert confirm(text, "stop") == "denied"


def test_another_form_of_the_word_within_a_long_doubtful_sentence_denies_it() -> None:
    assert confirm(doubtful("the elevator stopped at week 2 floors"), "stop") == "denied"
    assert (
        confirm(doubtful("the elevator stopped at week 2 floors", "the elevator stop at two floors"), "stop")
        == "unclear"
    )
    assert confirm(RecognisedText("the elevator stopped at week", final=False), "stop") == "unclear"


@pytest.mark.parametrize(
    "text",
    [
        "stopped the motor now please",
        "hey robi stopped",
        "go to the kitchen stopped",
        "she stopped it",
        "okay now please stopped it",
        "hey robi please stopped the car",
        "no no no stopped it now",
        "i said stopped right now",
        "will you please stopped the robot",
        "robot robot robot stopped stopped",
    ],
)
def test_another_form_of_the_word_where_a_command_may_stand_denies_nothing(text: str) -> None:
    assert confirm(doubtful(text), "stop") == "unclear"


@pytest.mark.parametrize("text", ["don't stop", "let's not stop", "never stop now"])
def test_a_short_doubtful_transcript_denies_by_its_negation(text: str) -> None:
    assert confirm(doubtful(text), "stop") == "denied"


def test_a_short_or_only_doubtful_transcript_denies_nothing() -> None:
    assert confirm(doubtful("but i got", "buddy i got it there"), "stop") == "unclear"
    assert confirm(doubtful("buddy i got it there", "but i got"), "stop") == "unclear"
    assert confirm(doubtful("buddy i got it there"), "stop") == "unclear"
    partly = RecognisedText("buddy i got it there", final=False, others=("body i got it there",))
    assert confirm(partly, "stop") == "unclear"


def test_a_wake_word_of_two_words_is_confirmed() -> None:
    assert confirm("hey robi what time is it", "hey robi") == "confirmed"
    assert confirm("Hey, Robi!", "hey robi") == "confirmed"
    assert confirm("the robot said hello", "hey robi") == "denied"


def test_a_text_without_words_is_no_command() -> None:
    assert confirm("♥ ... 8-)", "stop") == "unclear"
    assert missed("", WORDS) is None


@pytest.mark.parametrize("text", ["スタート", "привет", "ß", "Ω", "你好。 停", "καλημέρα, πώς είσαι σήμερα", "\u200b"])
def test_a_text_of_another_script_is_no_command_and_no_error(text: str) -> None:
    assert confirm(text, "stop") != "confirmed"
    assert confirm(doubtful(text, "стой", "stop"), "stop") == "unclear"
    assert missed(RecognisedText(text), WORDS) is None


def test_words_of_another_script_leave_the_english_ones_what_they_are() -> None:
    assert confirm("привет, don't stop", "stop") == "denied"
    assert confirm("привет robot, stop!", "stop") != "denied"
    assert confirm("please, stop! привет", "stop") == "confirmed"


@given(st.text(max_size=40), st.sampled_from([*WORDS, "hey robi", "стоп"]))
@settings(max_examples=100)
def test_no_transcript_is_an_error(text: str, phrase: str) -> None:
    assert confirm(text, phrase) in ("confirmed", "denied", "unclear")
    assert confirm(doubtful(text, text), phrase) in ("confirmed", "denied", "unclear")


def test_it_counts_how_often_the_phrases_are_there() -> None:
    assert occurrences("Stop, don't stop at the bus-stop.", ["stop", "halt"]) == 3
    assert occurrences("go to the kitchen", ["stop"]) == 0


def test_a_later_phrase_is_forbidden_by_its_own_negator_only() -> None:
    assert forbids("the bus stop is far don't stop", ["stop"], after=1)
    assert not forbids("don't stop at the door stop", ["stop"], after=1)
    assert not forbids("don't stop", ["stop"], after=1), "there is no other"


def test_stop_words_of_several_kinds_are_counted_as_one_kind() -> None:
    assert forbids("don't stop and don't halt", ["stop", "halt"], after=1)
    assert occurrences("don't stop it", ["stop", "stop it"]) == 1
    assert occurrences("emergency stop stop", ["stop", "emergency stop"]) == 2


def test_a_robot_that_is_called_by_its_name_is_stopped() -> None:
    assert missed(RecognisedText("max stop", understood=True), ["stop"]) == "stop"
    assert missed(RecognisedText("Robi, stop now!"), ["stop"]) == "stop"
    assert missed(RecognisedText("bus stop"), ["stop"]) is None
    assert missed(RecognisedText("max stop", understood=False), ["stop"]) is None


def test_the_times_of_the_phrases_are_those_of_their_words_whatever_the_punctuation() -> None:
    words = (HeardWord("Don't", 0.5, 0.7), HeardWord("Stop,", 0.7, 1.1), HeardWord("stop!", 1.4, 1.8))
    assert starts(words, ["stop"]) == [0.7, 1.4]
