"""What kind of thing somebody has said."""

from pathlib import Path

import pytest

from edgeagent.english import Phrases
from edgeagent.stt import RecognisedText
from edgeagent.voice import Kind, kind_of
from tests.english.test_completeness import HOUSE

KINDS = {
    Kind.STOP: "stop; Stop!; halt; freeze; robot stop; please stop; stop please; stop now",
    Kind.CONTROL: "louder; repeat that; cancel that; continue; you can move; volume fifty percent; go to sleep; wait",
    Kind.UNFINISHED: "drive to the; and then; turn; drive two; can you; what time; the; go to the kitchen and; um",
    Kind.QUESTION: "what time is it; how full is your battery; where are you; is the light on; are you charging; "
    "what's in front of you; can you hear me; do you know what time it is; battery?; who are you; which lights are on; "
    "why is the light on; does the office have a window; how about the kitchen; what can you do",
    Kind.CORRECTION: "no the bedroom; no, the bedroom; I meant the kitchen; not left, right; "
    "not the kitchen the bedroom; no no the garage; sorry, the bedroom; actually the bedroom; the bedroom instead; "
    "no go to the bedroom; "
    "no wait, the kitchen; I said the kitchen; make that three meters; the other way; not left but right; "
    "wrong room; no i meant the office; actually, go to the kitchen; oh no the bedroom; wait, the kitchen",
    Kind.COMMAND: "go to the kitchen; drive two meters; turn left; could you please turn around; "
    "bring me the red cube; turn on the kitchen light; set a timer for ten minutes; lights on; come here; "
    "I want you to go to the garage; "
    "forward two meters; to the kitchen; pick up the bottle and bring it to me; go home; stop at the sofa; "
    "would you mind going to the kitchen; why don't you go to the kitchen; don't go to the kitchen; stop the timer",
    Kind.STATEMENT: "the kitchen is nice; I like the garden; my brother is here; it is raining; thank you; hello; "
    "the bus stop is far; yes; no; okay; no thanks; no problem; no it is fine; good morning; i had a long day",
    Kind.UNCLEAR: "; ...; [music]; (coughs)",
}
EVERY = [(kind, text) for kind, texts in KINDS.items() for text in texts.split("; ")]


@pytest.mark.parametrize(("kind", "text"), EVERY)
def test_what_is_said_in_silence(kind: Kind, text: str) -> None:
    assert kind_of(text, phrases=HOUSE) is kind


@pytest.mark.parametrize(
    "text",
    "uh-huh; uh huh; mhm; mm-hmm; m h m m; Mm hm.; hmm; okay; OK; yeah; yes; right; sure; all right; I see; got it; "
    "good; oh; really; oh really; yeah okay; okay okay; I see, thanks; wow; of course; that makes sense; go on; "
    "that's right; yeah yeah yeah; ah; aha; cool; great thank you; exactly; oh I see; interesting; understood; "
    "huh; and".split("; "),
)
def test_over_the_robot_s_voice_it_is_a_backchannel(text: str) -> None:
    assert kind_of(text, phrases=HOUSE, speaking=True) is Kind.BACKCHANNEL
    assert kind_of(text, phrases=HOUSE) is not Kind.BACKCHANNEL


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("stop", Kind.STOP),
        ("okay stop", Kind.STOP),
        ("no", Kind.STATEMENT),
        ("okay go to the kitchen", Kind.COMMAND),
        ("yeah but where are you", Kind.STATEMENT),
        ("right, turn left", Kind.COMMAND),
        ("what time is it", Kind.QUESTION),
        ("no the bedroom", Kind.CORRECTION),
        ("continue", Kind.CONTROL),
        ("be quiet", Kind.CONTROL),
        ("drive to the", Kind.UNFINISHED),
        ("i see the cup", Kind.STATEMENT),
        ("right now", Kind.STATEMENT),
    ],
)
def test_over_the_robot_s_voice_what_is_more_than_a_backchannel_stays_what_it_is(text: str, kind: Kind) -> None:
    assert kind_of(text, phrases=HOUSE, speaking=True) is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yes", Kind.ANSWER),
        ("okay", Kind.ANSWER),
        ("no", Kind.ANSWER),
        ("no thanks", Kind.ANSWER),
        ("yes please", Kind.ANSWER),
        ("go ahead", Kind.ANSWER),
        ("the kitchen", Kind.ANSWER),
        ("living room", Kind.ANSWER),
        ("five minutes", Kind.ANSWER),
        ("the red one", Kind.ANSWER),
        ("anna", Kind.ANSWER),
        ("never mind", Kind.ANSWER),
        ("repeat that", Kind.CONTROL),
        ("cancel that", Kind.ANSWER),
        ("go to the kitchen", Kind.COMMAND),
        ("what do you mean", Kind.QUESTION),
        ("stop", Kind.STOP),
        ("to the", Kind.UNFINISHED),
        ("no the bedroom", Kind.CORRECTION),
    ],
)
@pytest.mark.parametrize("speaking", [False, True])
def test_what_is_said_to_an_open_question(text: str, kind: Kind, speaking: bool) -> None:
    assert kind_of(text, phrases=HOUSE, speaking=speaking, question_open=True) is kind


def test_what_was_not_understood_is_unclear_but_a_stop_is_a_stop() -> None:
    guess = RecognisedText("go to the kitchen", understood=False)
    assert kind_of(guess, phrases=HOUSE) is Kind.UNCLEAR
    assert kind_of(guess, phrases=HOUSE, speaking=True) is Kind.UNCLEAR
    assert kind_of(RecognisedText("yes", understood=False), phrases=HOUSE, question_open=True) is Kind.UNCLEAR
    assert kind_of(RecognisedText("stop", understood=False), phrases=HOUSE) is Kind.STOP


def test_what_a_recogniser_leaves_open_is_unfinished() -> None:
    assert kind_of(RecognisedText("go to the kitchen", raw="Go to the kitchen..."), phrases=HOUSE) is Kind.UNFINISHED
    assert kind_of(RecognisedText("go to the kitchen", raw="Go to the kitchen."), phrases=HOUSE) is Kind.COMMAND


def test_the_stop_words_of_an_app_are_added_to_those_of_every_robot() -> None:
    own = Phrases(["go to the kitchen"], stops=["basta", "hold it"])
    assert kind_of("basta!", phrases=own) is Kind.STOP
    assert kind_of("robot hold it", phrases=own) is Kind.STOP
    assert kind_of("halt", phrases=own) is Kind.STOP
    assert kind_of("don't hold it", phrases=own) is not Kind.STOP


def test_the_page_has_every_kind(checkout: Path) -> None:
    page = (checkout / "docs" / "reference" / "voice-words.md").read_text(encoding="utf-8")
    assert all(f"\n| `{kind}` |" in page for kind in Kind)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["go to the kitchen and ", "can you please just ", "mm hmm ", "when you ", "what is "])
def test_a_recogniser_that_repeats_itself_keeps_nobody_waiting(text: str) -> None:
    assert kind_of(text * 200, phrases=HOUSE, speaking=True) in Kind


@pytest.mark.parametrize(
    "text", ["don't stop", "never stop", "the bus stop", "when does it stop", "stop sign", "non-stop"]
)
def test_a_stop_word_in_other_talk_is_no_stop(text: str) -> None:
    assert kind_of(text, phrases=HOUSE) is not Kind.STOP
