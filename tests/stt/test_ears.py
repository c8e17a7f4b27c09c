"""The ears in the simulated room: what is told, in which order, and when, whatever the recogniser is or does."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import Endpointer, EndpointSettings, FileDevice
from edgeagent.errors import AudioError, RecognitionError
from edgeagent.stt import (
    LEVEL_S,
    RATE_HZ,
    Ears,
    FinalTranscript,
    HardEnd,
    RecognisedText,
    SoftEnd,
    SpeechResumed,
    SpeechStarted,
    Trouble,
)
from edgeagent.testing import synthesised
from tests.stt.listening import Foresight, Listening, Notes, listening

LIMIT_S = 30.0


# --- what is told ---------------------------------------------------------------------------------------------------


def test_speech_that_goes_on_is_heard_again_as_a_whole() -> None:
    notes = Notes()
    with listening(notes) as here:
        here.say("drive forward", at_s=1.5)
        end_s = here.say("two meters", at_s=2.9)
        here.run(5.0)
    assert here.kinds() == [
        "SpeechStarted",
        "SoftEnd",
        "FinalTranscript",
        "SpeechResumed",
        "SoftEnd",
        "FinalTranscript",
        "HardEnd",
    ]
    short, long = notes.finished
    assert np.array_equal(long[: len(short)], short)
    assert here.of(FinalTranscript)[1].at_s == pytest.approx(end_s, abs=0.15)


def test_a_decode_that_speech_makes_void_is_stopped_and_never_told() -> None:
    notes = Notes()
    stopped = threading.Event()

    def finishing(stop_event: threading.Event) -> RecognisedText | None:
        if len(notes.finished) > 1:
            return None
        assert stop_event.wait(LIMIT_S)
        stopped.set()
        return RecognisedText("a part", final=False)

    notes.finishing = finishing
    with listening(notes) as here:
        here.say("drive forward", at_s=1.5)
        here.say("two meters", at_s=2.9)
        here.room.run(5.0)
        assert stopped.wait(LIMIT_S)
        assert here.ears.settle(LIMIT_S)
    assert here.kinds() == [
        "SpeechStarted",
        "SoftEnd",
        "SpeechResumed",
        "SoftEnd",
        "FinalTranscript",
        "HardEnd",
    ] or here.kinds() == [
        "SpeechStarted",
        "SoftEnd",
        "SpeechResumed",
        "SoftEnd",
        "HardEnd",
        "FinalTranscript",
    ]  # fmt: skip - the room did not wait for the decode
    assert "a part" not in [event.transcript.text for event in here.of(FinalTranscript)]


def test_the_end_is_expected_in_a_pause_and_not_while_speech_goes_on() -> None:
    transcriber = Foresight()
    with listening(transcriber, endpoint=EndpointSettings(soft_end_ms=500)) as here:
        pause_s = here.say("bring me the cup", 1.0)
        end_s = here.say("and the towel", pause_s + 0.1)
        here.run(end_s + 1.2)
    [heard] = transcriber.finished
    pauses = transcriber.expected[::2]
    assert [expected for expected, _ in transcriber.expected] == [True, False] * (len(pauses) - 1) + [True]
    assert len(pauses) > 1
    begin_s = here.of(SpeechStarted)[0].begin_s
    assert any(begin_s + seconds == pytest.approx(pause_s, abs=0.2) for _, seconds in pauses)
    assert begin_s + pauses[-1][1] == pytest.approx(end_s, abs=0.15)
    assert pauses[-1][1] < len(heard) / RATE_HZ


def expected_at_the_end(transcriber: Foresight, here: Listening) -> float | None:
    """When the transcriber was told to expect the end that came, by the room's clock; None if it was not."""
    [start] = here.of(SpeechStarted)
    expected, seconds = transcriber.expected[-1] if transcriber.expected else (False, 0.0)
    return start.begin_s + seconds if expected else None


def test_speech_that_is_soft_after_a_bang_is_no_end() -> None:
    """The level falls far, as at an end, but voice activity hears that somebody speaks on."""
    transcriber = Foresight()
    sound = 0.1 * synthesised("turn around and go home", "slt", RATE_HZ)
    bang_at = len(sound) - round(0.45 * RATE_HZ)
    sound[bang_at : bang_at + 800] += np.random.default_rng(1).choice([-0.6, 0.6], 800) * np.exp(-np.arange(800) / 300)
    with listening(transcriber) as here:
        here.room.say(sound, RATE_HZ, 1.0)
        here.run(1.0 + len(sound) / RATE_HZ + 1.0)
        told = expected_at_the_end(transcriber, here)
        assert told is None or told > here.of(SoftEnd)[-1].at_s - 0.05
    assert any(expected for expected, _ in transcriber.expected), "the bang is no test otherwise"


def test_a_pause_that_was_no_soft_end_is_forgotten_when_speech_goes_on_after_it() -> None:
    """Where a decode costs too much it waits for the hard end, and what was expected at the soft end is void."""

    class Slow(Foresight):
        cost_s = 0.3

    transcriber = Slow()
    with listening(transcriber, speculate_under_s=0.1) as here:
        here.say("drive forward", at_s=1.5)
        here.say("two meters", at_s=2.9)
        here.run(2.9)
        assert here.kinds()[-1] == "SoftEnd"
        assert transcriber.expected[-1][0]
        while "SpeechResumed" not in here.kinds():
            here.run(0.01)
        assert not transcriber.expected[-1][0]


@pytest.mark.parametrize("robot_speaks", [False, True])
def test_no_end_is_expected_while_the_robot_speaks(robot_speaks: bool) -> None:
    """Its canceller silences more than its own voice; a person is heard in the other sound, which a recogniser gets."""
    endpointer = Endpointer()
    quiet = np.random.default_rng(0).normal(0, 1e-4, 2 * RATE_HZ).astype(np.float32)
    speech = np.trim_zeros(np.where(np.abs(said := synthesised("bring me the cup", "slt", RATE_HZ)) > 0.01, said, 0))
    for sound in (quiet, speech[: len(speech) // 160 * 160]):
        endpointer.feed(sound)
    assert endpointer.speaking
    over = {"far_active": True, "microphone_db": -30.0, "double_talk": 0.9} if robot_speaks else {}
    faded = []
    for begin in range(0, 2_400, 160):
        endpointer.feed(quiet[begin : begin + 160], **over)
        faded.append(endpointer.faded_at is not None)
    assert any(faded) is not robot_speaks


def test_an_end_that_is_due_already_comes_at_once() -> None:
    with listening(Notes()) as here:
        here.say("bring me the cup", 1.0)
        here.run(2.4)
        assert here.kinds() == ["SpeechStarted", "SoftEnd", "FinalTranscript"]
        here.ears.hard_end_ms = 300
        assert here.ears.settle(LIMIT_S)
        assert here.kinds()[-1] == "HardEnd"


def test_all_of_the_sound_reaches_the_transcriber_once() -> None:
    notes = Notes()
    with listening(notes) as here:
        here.say("turn on the light in the office", at_s=1.5)
        here.run(4.5)
    (heard,) = notes.finished
    kept = here.of(HardEnd)[0].samples
    assert np.array_equal(kept[: len(heard)], heard), "until the soft end; what was kept goes on until the hard end"
    assert len(heard) / RATE_HZ == pytest.approx(
        here.of(SoftEnd)[0].at_s - here.of(SpeechStarted)[0].at_s + 0.7, abs=0.1
    )


def test_without_speculation_the_decode_begins_at_the_hard_end() -> None:
    notes = Notes()
    with listening(notes, speculative=False) as here:
        here.say("drive forward", at_s=1.5)
        here.say("two meters", at_s=2.9)
        here.run(5.0)
    assert here.kinds() == ["SpeechStarted", "SoftEnd", "SpeechResumed", "SoftEnd", "HardEnd", "FinalTranscript"]
    (heard,) = notes.finished
    assert np.array_equal(heard, here.of(HardEnd)[0].samples)


def test_speculation_is_off_while_a_decode_costs_seconds_and_it_is_said() -> None:
    class Slow(Notes):
        cost_s: float | None = None

    notes = Slow()
    with listening(notes) as here:
        for number, cost_s in enumerate((None, 3.2, 3.2, 0.1)):
            notes.cost_s = cost_s
            here.say("turn left", at_s=1.5 + 2.5 * number)
            here.run(2.5 if number else 3.5)
    kinds = here.kinds(SpeechStarted, SoftEnd)
    assert kinds == ["FinalTranscript", "HardEnd", "Trouble", "HardEnd", "FinalTranscript", "HardEnd",
                     "FinalTranscript", "Trouble", "FinalTranscript", "HardEnd"]  # fmt: skip
    slow, fast = here.of(Trouble)
    assert slow.part == "transcriber"
    assert "3.2 s" in slow.text
    assert "certain" in slow.text
    assert "first pause again" in fast.text
    assert (slow.over, fast.over) == (False, True)


def test_levels_are_a_clock_and_tell_who_speaks() -> None:
    with listening(Notes()) as here:
        end_s = here.say("how full is your battery", at_s=2.0)
        here.run(4.0)
    times = np.array([level.now_s for level in here.levels])
    while_heard = times[(times > 2.3) & (times < end_s)]
    assert np.allclose(np.diff(while_heard), LEVEL_S, atol=0.002)
    in_silence = times[times < 1.9]
    assert np.allclose(np.diff(in_silence), 0.1, atol=0.011)
    assert times[-1] == pytest.approx(4.0, abs=0.1)
    voiced = times[[level.voiced for level in here.levels]]
    assert voiced[0] == pytest.approx(2.15, abs=0.15)
    assert voiced[-1] == pytest.approx(end_s + 0.2, abs=0.15)
    loud = max(level.level_db for level in here.levels)
    assert -30 < loud < -10
    assert max(level.level_db for level in here.levels if 1.0 < level.now_s < 1.9) < loud - 25
    assert not any(level.far_active for level in here.levels)


def test_the_hard_end_of_the_open_utterance_can_be_set() -> None:
    def late_s(milliseconds: float) -> float:
        with listening(Notes()) as here:
            end_s = here.say("turn left", at_s=1.5)
            here.run(end_s - 0.1)
            assert here.of(SpeechStarted)
            here.ears.hard_end_ms = milliseconds
            assert here.ears.hard_end_ms == milliseconds
            here.run(2.0)
            ((told_s, ended),) = [(told_s, event) for told_s, event in here.told if isinstance(event, HardEnd)]
        return told_s - ended.at_s

    assert late_s(300) == pytest.approx(0.3, abs=0.05)
    assert late_s(1300) == pytest.approx(1.3, abs=0.05)


def test_the_soft_end_can_be_set_and_stays() -> None:
    with listening(Notes()) as here:
        here.ears.soft_end_ms = 400
        for at_s in (1.5, 4.0):
            here.say("turn left", at_s=at_s)
        here.run(6.0)
        late = [told_s - event.at_s for told_s, event in here.told if isinstance(event, SoftEnd)]
    assert late == [pytest.approx(0.4, abs=0.05)] * 2


def test_what_is_said_to_closed_ears_is_lost_and_the_clock_goes_on() -> None:
    with listening(Notes()) as here:
        here.say("go to the kitchen", at_s=1.5)
        here.run(2.0)
        here.ears.listen(False)
        here.run(0.05)
        assert here.kinds() == ["SpeechStarted", "SoftEnd", "HardEnd", "FinalTranscript"]
        here.say("turn left", at_s=4.0)
        here.run(3.5)
        assert len(here.told) == 4
        assert here.levels[-1].now_s == pytest.approx(5.5, abs=0.1)
        here.ears.listen(True)
        here.say("turn right", at_s=7.0)
        here.run(3.5)
    assert here.of(SpeechStarted)[-1].at_s == pytest.approx(7.0, abs=0.1)
    assert [event.utterance for event in here.of(HardEnd)] == [1, 2]
    assert here.ears.utterance == 2


def test_end_now_is_soft_and_hard_end_at_once() -> None:
    with listening(Notes()) as here:
        here.say("could you go to the sofa", at_s=1.5)
        here.run(2.2)
        here.ears.end_now()
        here.run(0.02)
        assert here.kinds() == ["SpeechStarted", "SoftEnd", "HardEnd", "FinalTranscript"]
        here.ears.end_now()
        here.run(0.02)
    assert len(here.told) == 4


# --- the end --------------------------------------------------------------------------------------------------------


def test_close_ends_a_decode_that_goes_on_and_leaves_no_thread() -> None:
    notes = Notes()
    begun = threading.Event()

    def finishing(stop_event: threading.Event) -> RecognisedText:
        begun.set()
        assert stop_event.wait(LIMIT_S)
        return RecognisedText("", final=False)

    notes.finishing = finishing
    here = Listening(notes)
    here.ears.open_sound()
    here.say("turn left", at_s=1.5)
    here.room.run(3.0)
    assert begun.wait(LIMIT_S)
    here.ears.close()
    here.ears.close()
    assert notes.closed == 1
    assert not {"ears", "transcriber"} & {thread.name for thread in threading.enumerate()}
    told = len(here.told)
    here.room.run(1.0)
    assert len(here.told) == told


def test_ears_that_were_never_opened_can_be_closed() -> None:
    notes = Notes()
    Listening(notes).ears.close()
    assert notes.closed == 1


def test_a_device_without_a_microphone_is_refused(tmp_path: Path) -> None:
    device = FileDevice(output=tmp_path / "out.wav")
    with pytest.raises(AudioError, match="no microphone"):
        Ears(device, Notes(), lambda event: None)
    device.stop()


# --- recognisers that fail ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RecognitionError("its process died"), ZeroDivisionError("oh")])
def test_a_recogniser_that_fails_is_told_and_hears_the_next_utterance(error: Exception) -> None:
    notes = Notes()

    def finishing(stop_event: threading.Event) -> None:
        if len(notes.finished) == 1:
            raise error

    notes.finishing = finishing
    with listening(notes) as here:
        here.say("turn left", at_s=1.5)
        here.say("turn right", at_s=4.0)
        here.run(6.0)
    assert here.kinds(SpeechStarted, SoftEnd, HardEnd) == ["Trouble", "FinalTranscript", "FinalTranscript"]
    assert str(error) in here.of(Trouble)[0].text
    first, second = here.of(FinalTranscript)
    assert (first.transcript.text, first.transcript.understood) == ("", False)
    assert second.transcript.understood


def test_a_decode_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeagent.stt.ears.LIMIT_S", 0.2)
    notes = Notes()

    def finishing(stop_event: threading.Event) -> RecognisedText:
        assert stop_event.wait(LIMIT_S)
        return RecognisedText("hal", final=False)

    notes.finishing = finishing
    with listening(notes) as here:
        here.say("turn left", at_s=1.5)
        here.run(2.0)
        while not here.of(FinalTranscript):
            here.room.run(0.1)
            assert here.ears.settle(LIMIT_S)
    assert "given up" in here.of(Trouble)[0].text
    (heard,) = here.of(FinalTranscript)
    assert (heard.transcript.text, heard.transcript.understood) == ("", False)


def test_a_listener_that_raises_is_logged_and_told_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def take(event: object) -> None:
        told.append(type(event).__name__)
        if isinstance(event, SpeechStarted):
            raise KeyError("mine")

    here = Listening(Notes(), endpoint=EndpointSettings(hard_end_ms=300))
    here.ears.close()
    here.ears = Ears(here.room, Notes(), take)
    here.ears.open_sound()
    here.say("turn left", at_s=1.5)
    here.run(3.5)
    here.ears.close()
    assert "HardEnd" in told
    assert "what listens to the ears raised" in caplog.text


def test_resumed_comes_with_the_number_of_its_utterance() -> None:
    with listening(Notes()) as here:
        here.say("turn left", at_s=1.5)
        here.say("drive forward", at_s=4.0)
        here.say("two meters", at_s=5.4)
        here.run(7.5)
    assert [event.utterance for event in here.of(SpeechResumed)] == [2]
    assert {event.utterance for event in here.of(FinalTranscript)} == {1, 2}
