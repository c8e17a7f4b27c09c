"""Words that come late: a stop among them counts, and nothing that is said meanwhile is lost."""

from edgeagent.stt import hearing
from edgeagent.voice import State

from .scenes import LONG, latch, late, transcribed, until
from .stage import Stage


def test_a_stop_counts_though_somebody_speaks_again_before_its_words_are_known(drives: Stage) -> None:
    transcribed(drives, *_with("stop", late(drives)))
    assert latch(drives) == "tripped"


def _with(text: str, utterance: tuple[int, float]) -> tuple[int, str, float]:
    return utterance[0], text, utterance[1]


def test_a_stop_counts_though_the_microphone_is_lost_before_its_words_are_known(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.5)
    utterance, ended_s = drives.ears.utterance, drives.now_s
    drives.tell(hearing.SoftEnd(utterance, ended_s), hearing.HardEnd(utterance, ended_s, cut=False))
    drives.dialogue.device("lost", "usb")
    drives.settle()
    transcribed(drives, utterance, "stop", ended_s)
    assert latch(drives) == "tripped"


def test_a_command_is_answered_though_somebody_speaks_again_before_its_words_are_known(still: Stage) -> None:
    transcribed(still, *_with("what time is it", late(still)))
    assert until(lambda: [m.text for m in still.session.messages()][:1] == ["what time is it"])
    assert until(lambda: still.state is State.HEARING), "who speaks again has the floor"
    assert still.ears.hard_end_ms > 0, "and is not cut"
    still.pause("")
    still.end()
    still.pass_until(lambda: still.state is State.LISTENING)
    still.pass_s(0.1)
    assert [event.text for event in still.log if event.kind == "heard"] == [LONG]


def test_a_noise_whose_words_come_late_does_not_end_what_is_said_meanwhile(still: Stage) -> None:
    transcribed(still, *_with("", late(still)))
    assert still.state is State.HEARING
    assert still.ears.hard_end_ms > 0


def test_an_utterance_that_was_too_long_is_answered_with_what_follows(still: Stage) -> None:
    transcribed(still, *_with("go to the kitchen", late(still, cut=True)))
    assert not still.session.messages()
    still.pause("and bring me a cup")
    still.pass_s(0.7)
    still.end()
    still.pass_until(lambda: still.state is State.LISTENING)
    assert still.session.messages()[0].text == "go to the kitchen and bring me a cup"


def test_a_stop_over_the_robots_voice_counts_when_its_words_come_after_it_went_on(still: Stage) -> None:
    still.say("count to sixteen")
    still.pass_until(lambda: still.state is State.SPEAKING)
    still.pass_s(0.5)
    still.begin()
    still.pass_s(0.3)
    utterance, ended_s = still.ears.utterance, still.now_s
    still.tell(hearing.SoftEnd(utterance, ended_s))
    still.pass_s(0.35)
    still.end()
    still.pass_s(0.4)
    assert still.state is State.SPEAKING
    transcribed(still, utterance, "stop", ended_s)
    assert latch(still) == "tripped"
    assert still.state is State.LISTENING
    assert [event.phrase for event in still.log if event.kind == "keyword"] == ["stop"]
