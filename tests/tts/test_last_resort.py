"""Where a voice fails, espeak-ng goes on."""

import inspect
import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from edgeagent.errors import SpeechError
from edgeagent.tts import EspeakSpeaker, HibariSpeaker, Speaker, SpeechChunk, WithLastResort, WordTime, make_speaker
from tests.tts.listening import NEVER, sound
from tests.tts.tiny_voice import tiny_voice

pytestmark = pytest.mark.timeout(60)
TEXT = "I am driving to the kitchen now."


class Dying:
    """Says two words, a tenth of a second each, and dies."""

    name = "dying"
    rate_hz = 24_000
    language = "en-us"

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        words = (WordTime(0, 1, 0.0), WordTime(2, 4, 0.1))
        yield SpeechChunk(np.full(4800, 0.1, np.float32), self.rate_hz, words)
        raise SpeechError("the voice dying failed")

    def close(self) -> None:
        pass


def test_the_double_has_the_signatures_of_a_speaker() -> None:
    for name in ("speak", "close"):
        ours, theirs = (inspect.signature(getattr(each, name)) for each in (Dying, Speaker))
        assert list(ours.parameters) == list(theirs.parameters)


def espeak() -> Speaker:
    return EspeakSpeaker("en-us")


def test_a_voice_that_dies_in_a_sentence_is_gone_on_for(caplog: pytest.LogCaptureFixture) -> None:
    voice = WithLastResort(Dying(), espeak)
    with caplog.at_level(logging.WARNING):
        chunks = list(voice.speak(TEXT, NEVER))
        assert list(voice.speak(TEXT, NEVER))
    words = [word for chunk in chunks for word in chunk.words]
    assert [TEXT[word.start : word.end] for word in words] == ["I", "am", "driving", "to", "the", "kitchen", "now"]
    times = [word.at_s for word in words]
    assert times == sorted(times)
    assert times[2] >= 0.2
    assert {chunk.rate_hz for chunk in chunks} == {24_000}
    rest = sound(list(espeak().speak(TEXT[4:], NEVER)))
    assert len(sound(chunks)) / 24_000 == pytest.approx(0.2 + len(rest) / espeak().rate_hz, abs=0.01)
    assert [record.message for record in caplog.records] == ["the voice dying failed: espeak-ng speaks instead"]


def test_a_script_that_a_voice_cannot_read_is_read_by_espeak(caplog: pytest.LogCaptureFixture) -> None:
    voice = make_speaker("heart")
    with caplog.at_level(logging.WARNING):
        assert np.abs(sound(list(voice.speak("привет", NEVER)))).max() > 0.1
    assert not caplog.records
    heart = sound(list(voice.speak("Hello.", NEVER)))
    assert np.array_equal(heart, sound(list(HibariSpeaker().speak("Hello.", NEVER))))


def test_a_voice_whose_file_is_damaged_speaks_nevertheless(tmp_path: Path) -> None:
    path = tiny_voice(tmp_path)
    path.write_bytes(path.read_bytes()[:500])
    voice = make_speaker(str(path))
    with pytest.raises(SpeechError, match="is not an ONNX model"):
        voice.load()
    assert len(sound(list(voice.speak("Hello.", NEVER)))) > 4_000


def test_it_stops_while_the_other_one_speaks() -> None:
    stop = Event()
    stream = WithLastResort(Dying(), espeak).speak("I am " + "driving on and on " * 50, stop)
    next(stream)
    next(stream)
    stop.set()
    assert list(stream) == []


def test_where_both_fail_it_is_an_error() -> None:
    def no_espeak() -> Speaker:
        raise SpeechError("espeak-ng is not installed")

    with pytest.raises(SpeechError, match="espeak-ng is not installed"):
        list(WithLastResort(Dying(), no_espeak).speak(TEXT, NEVER))


def test_a_pitch_is_a_setting_of_espeak_alone() -> None:
    with pytest.raises(SpeechError, match="the voice heart has no pitch; espeak-ng's voices have, such as --voice en"):
        make_speaker("heart", pitch=60)
    assert make_speaker("en", pitch=60).name == "espeak-ng en"


@pytest.mark.parametrize("settings", [{"pitch": 60}, {"rate_wpm": 400}, {"rate_wpm": 80}], ids=str)
def test_without_a_name_the_voice_is_one_that_has_the_settings(settings: dict[str, int]) -> None:
    assert make_speaker(**settings).name == "espeak-ng en"
    assert make_speaker(rate_wpm=200, volume=50).name == "Hibari heart"


def test_the_other_voice_has_the_volume_and_the_rate_too() -> None:
    settings = ({"rate_wpm": 100}, {"rate_wpm": 340, "volume": 0})
    slow, fast_and_muted = (sound(list(make_speaker("heart", **each).speak("привет", NEVER))) for each in settings)
    assert len(fast_and_muted) < 0.7 * len(slow)
    assert np.abs(fast_and_muted).max() < 0.01 < np.abs(slow).max()
