"""The real espeak-ng speaks, stops, tells the words, and refuses clearly."""

import gc
import subprocess
import sys
import threading
import time
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.errors import SpeechError
from edgeagent.tts import EspeakSpeaker, Speaker, SpeechChunk, espeak_library, voices
from tests.tts.listening import NEVER, sound, words

pytestmark = pytest.mark.timeout(60)
LONG = "The robot drives to the kitchen, and then it waits for the end of the song. " * 30


def spoken(text: str, speaker: Speaker | None = None) -> list[SpeechChunk]:
    return list((speaker or EspeakSpeaker()).speak(text, NEVER))


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "espeak"]


def wait_for_no_worker() -> None:
    for worker in workers():
        worker.join(10)
    assert not workers()


def test_it_speaks_in_chunks_of_at_most_a_tenth_of_a_second() -> None:
    speaker = EspeakSpeaker()
    chunks = spoken("Hello, I am driving to the kitchen.", speaker)
    assert {chunk.rate_hz for chunk in chunks} == {speaker.rate_hz}
    assert all(0 < len(chunk.samples) <= speaker.rate_hz / 10 for chunk in chunks)
    assert all(chunk.samples.dtype == np.float32 and chunk.samples.ndim == 1 for chunk in chunks)
    samples = sound(chunks)
    assert 1.5 < len(samples) / speaker.rate_hz < 4
    assert 0.1 < np.abs(samples).max() <= 1


@pytest.mark.parametrize(
    ("voice", "text", "expected"),
    [
        ("en", "Hello, world. I don't know!", "Hello world I don't know"),
        ("en", "the end of the line", "the end of the line"),  # "of the" is one word to espeak-ng
        (
            "en",
            "In the émigré's well-known café;\n3.5 naïve “apples”…",
            "In the émigré's well-known café 3.5 naïve apples",
        ),
        ("en", "cafe\u0301 \U0001f600 fine", "cafe\u0301 fine"),
        ("de", "Ich fahre über die Straße, größer.", "Ich fahre über die Straße größer"),
        ("fr", "Où est l'école ?", "Où est l'école"),
        ("ru", "Привет, как дела?", "Привет как дела"),
        ("cmn", "你好。世界。", "你 好 世 界"),
    ],
)
def test_every_word_has_its_place_and_its_time(voice: str, text: str, expected: str) -> None:
    chunks = spoken(text, EspeakSpeaker(voice))
    assert [text[word.start : word.end] for word in words(chunks)] == expected.split()
    times = [word.at_s for word in words(chunks)]
    assert times == sorted(times)
    assert len(set(times)) == len(times)


def test_a_word_is_in_the_chunk_in_which_it_begins() -> None:
    begun = 0
    for chunk in spoken(LONG):
        end = begun + len(chunk.samples)
        assert all(begun <= round(word.at_s * chunk.rate_hz) < end for word in chunk.words)
        begun = end


def test_the_times_of_the_words_are_those_of_the_sound() -> None:
    """The pause before "now" is longer than any within the words, and the time of "now" is at its end."""
    chunks = spoken("Wait. Now.")
    samples, rate = sound(chunks), chunks[0].rate_hz
    first, now = words(chunks)
    level = np.array([np.abs(samples[at : at + rate // 50]).max() for at in range(0, len(samples), rate // 50)])
    quiet = np.flatnonzero(level[: int(now.at_s * 50) + 4] < 0.01)
    assert first.at_s < 0.1
    assert abs(quiet[-1] / 50 - now.at_s) < 0.1
    assert level[int(now.at_s * 50) :].max() > 0.1


def test_the_first_sound_comes_long_before_the_last() -> None:
    speaker = EspeakSpeaker()
    begun = time.perf_counter()
    stream = speaker.speak(LONG, NEVER)
    next(stream)
    assert time.perf_counter() - begun < 0.5  # 3 ms on an idle machine
    assert sum(1 for _ in stream) > 1000


def test_it_stops_in_the_middle_of_a_word() -> None:
    stop = Event()
    word = "supercalifragilisticexpialidocious" * 5
    stream = EspeakSpeaker().speak(word, stop)
    heard = [next(stream), next(stream)]
    stop.set()
    heard += stream
    assert len(heard) <= 3
    wait_for_no_worker()
    assert len(sound(spoken(word))) > 10 * len(sound(heard))


def test_stopped_before_it_begins_it_says_nothing() -> None:
    stop = Event()
    stop.set()
    assert list(EspeakSpeaker().speak("Hello", stop)) == []
    assert spoken("Hello")


def test_a_listener_may_leave_at_any_time() -> None:
    speaker = EspeakSpeaker()
    for kept in (1, 30):
        stream = speaker.speak(LONG, NEVER)
        for _ in range(kept):
            next(stream)
        del stream
        gc.collect()
    wait_for_no_worker()
    assert spoken("Hello", speaker)


def test_a_listener_that_pauses_keeps_nobody_from_speaking() -> None:
    paused = EspeakSpeaker().speak(LONG, NEVER)
    first = next(paused)
    assert spoken("Hello", EspeakSpeaker("de"))
    wait_for_no_worker()  # also while the listener pauses
    assert len(sound([first, *paused])) > 60 * first.rate_hz


def test_speakers_take_turns_on_threads_and_each_keeps_its_settings() -> None:
    speakers = {
        "slow": EspeakSpeaker("en", rate_wpm=90),
        "fast": EspeakSpeaker("en-us+f3", rate_wpm=300, pitch=80),
        "german": EspeakSpeaker("de", volume=30),
    }
    text = "One, two, three, four. " * 20  # two turns
    alone = {name: sound(spoken(text, speaker)) for name, speaker in speakers.items()}
    together: dict[str, np.ndarray] = {}

    def speak(name: str, speaker: EspeakSpeaker) -> None:
        together[name] = sound(spoken(text, speaker))

    threads = [threading.Thread(target=speak, args=item) for item in speakers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for name, samples in alone.items():
        # noise in the consonants and the pitch's flutter go on from utterance to utterance, so not to the sample
        assert len(together[name]) == pytest.approx(len(samples), rel=0.03)
        assert np.abs(together[name]).max() == pytest.approx(np.abs(samples).max(), rel=0.25)
    assert len(alone["slow"]) > 2 * len(alone["fast"])
    assert np.abs(alone["german"]).max() < 0.6 * np.abs(alone["slow"]).max()


def test_while_another_speaks_a_stop_is_seen() -> None:
    stop = Event()
    speaker = EspeakSpeaker()
    with espeak_library.held():
        stream = speaker.speak("Hello", stop)
        threading.Timer(0.05, stop.set).start()
        assert list(stream) == []
    assert spoken("Hello", speaker)


@pytest.mark.parametrize("text", ["", " \n\t ", "\0\x01\x02", "\ud800", "\U0001f600"])
def test_nothing_to_say_is_silence(text: str) -> None:
    assert spoken(text) == []


@pytest.mark.parametrize(
    ("markup", "same"),
    [
        ("one <break time='5s'/> two", None),
        ("one [[h@l'oU]] two", None),
        ("one \x0150s \x0190p two", "one  50s  90p two"),
        ("one\0two", "one two"),
    ],
)
def test_markup_and_commands_are_only_text(markup: str, same: str | None) -> None:
    chunks = spoken(markup)
    found = [markup[word.start : word.end] for word in words(chunks)]
    assert found[0] == "one"
    assert found[-1] == "two"
    assert len(sound(chunks)) < 8 * chunks[0].rate_hz
    if same is not None:
        assert len(sound(chunks)) == pytest.approx(len(sound(spoken(same))), rel=0.03)


def test_ten_kilobytes_are_spoken_to_the_end() -> None:
    text = ("The quick brown fox jumps over the lazy dog near the river. " * 200)[:10_000]
    samples = count = 0
    for chunk in EspeakSpeaker(rate_wpm=450).speak(text, NEVER):
        samples += len(chunk.samples)
        count += len(chunk.words)
    assert count == len(text.split())
    assert samples > 120 * 22050


def test_fifty_kilobytes_without_a_space_are_spoken_and_stopped() -> None:
    stop = Event()
    stream = EspeakSpeaker().speak("a" * 50_000, stop)
    for _ in range(600):  # past the first piece
        next(stream)
    stop.set()
    assert len(list(stream)) <= 1


@pytest.mark.parametrize("voice", ["da", "en", "hi", "nl"])
@pytest.mark.parametrize(
    "text",
    [
        "well,-do it",
        "(-\u0907\u0938",
        "_-do",
        "--do",
        "well \u2225-Y",
        "'-\u4e2d",
        "Q\u092d\u091a-\u0908\u0934\u0923\u091f \u0938\u0908\u0943\u0923\u092e. EJN, \u093f\u0921\u0914'",
        "\u00a1-\u0907",
    ],
)
def test_what_crashes_espeak_ng_does_not_reach_it(voice: str, text: str) -> None:
    assert spoken(text, EspeakSpeaker(voice))  # the whole process would be gone


@settings(max_examples=30)
@given(st.text(max_size=120))
def test_any_text_is_spoken_with_words_in_order(text: str) -> None:
    chunks = spoken(text)
    places = [(word.start, word.end) for word in words(chunks)]
    assert places == sorted(set(places))
    assert all(0 <= start < end <= len(text) for start, end in places)
    times = [word.at_s for word in words(chunks)]
    assert times == sorted(times)
    assert all(0 <= at <= len(sound(chunks)) / 22050 for at in times)


@pytest.mark.parametrize(
    ("voice", "near"),
    [
        ("germn", "de (German)"),
        ("en-zz", "en-us"),
        ("english", "en-gb"),
        ("xx", "en-us"),
        ("", "en-us"),
        ("en\0", "en"),
    ],
)
def test_an_unknown_voice_is_refused_and_near_ones_named(voice: str, near: str) -> None:
    with pytest.raises(SpeechError, match="has no voice") as caught:
        EspeakSpeaker(voice)
    assert near in str(caught.value)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(SpeechError, match="no variant 'nosuch'"):
        EspeakSpeaker("en+nosuch")


def test_a_language_without_a_dictionary_is_refused() -> None:
    with pytest.raises(SpeechError, match="fo_dict"):
        EspeakSpeaker("fo")  # listed by the wheel, which lacks it: espeak-ng would be silent


@pytest.mark.parametrize("setting", [{"rate_wpm": 0}, {"rate_wpm": 451}, {"pitch": 101}, {"volume": -1}])
def test_a_number_out_of_range_is_refused(setting: dict[str, int]) -> None:
    with pytest.raises(SpeechError, match="out of range"):
        EspeakSpeaker(**setting)


def test_voices_are_listed_by_language() -> None:
    assert {voice.language for voice in voices()} > {"en-gb", "en-us", "de", "fr-fr"}
    assert {"en-gb", "en-us"} <= {voice.language for voice in voices("en")}
    assert all("en" in voice.languages[0] for voice in voices("en"))
    assert voices("en_US")[0].name == "English (America)"
    assert voices("fo") == voices("qq") == []


def test_every_voice_that_is_listed_speaks() -> None:
    for voice in voices():
        assert len(sound(spoken("One, two.", EspeakSpeaker(voice.language)))) > 5000, voice


BROKEN = """
import sys, types
loader = types.ModuleType("espeakng_loader")
loader.get_library_path = lambda: sys.argv[1]
sys.modules["espeakng_loader"] = loader if sys.argv[1] else None
from edgeagent.errors import SpeechError
from edgeagent.tts import EspeakSpeaker
try:
    EspeakSpeaker("en")
except SpeechError as error:
    print(error)
"""


def complaint(library: str) -> str:
    """What a new process says of an espeak-ng that lies elsewhere."""
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, library], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


def installed() -> Path:
    import espeakng_loader

    return Path(espeakng_loader.get_library_path())


def test_without_the_library_it_says_how_to_install_it(tmp_path: Path) -> None:
    assert 'pip install "edgeagent[voice]"' in complaint("")
    assert "does not load" in complaint(str(tmp_path / "libespeak-ng.so"))


def test_without_its_data_it_says_what_is_missing(tmp_path: Path) -> None:
    library = tmp_path / "libespeak-ng.so"
    library.symlink_to(installed())
    assert "has no phontab, phonindex" in complaint(str(library))


@pytest.mark.parametrize("lost", ["en_dict", "phondata"])
def test_with_a_part_of_its_data_it_says_which_part(tmp_path: Path, lost: str) -> None:
    library = tmp_path / "libespeak-ng.so"
    library.symlink_to(installed())
    data = tmp_path / "espeak-ng-data"
    whole = installed().parent / "espeak-ng-data"
    for path in whole.rglob("*"):
        name = path.relative_to(whole)
        if path.is_file() and str(name) != lost:
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            (data / name).symlink_to(path)
    assert lost.rpartition("/")[2] in complaint(str(library))


def test_a_path_that_espeak_would_cut_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 160)
    folder.mkdir()
    (folder / "libespeak-ng.so").symlink_to(installed())
    (folder / "espeak-ng-data").symlink_to(installed().parent / "espeak-ng-data")
    assert "longer than 159 bytes" in complaint(str(folder / "libespeak-ng.so"))
