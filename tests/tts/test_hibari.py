"""Hibari's own voice speaks, tells its words, stops, and refuses clearly what it can't read."""

import subprocess
import sys
import threading
from pathlib import Path
from threading import Event

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeagent.errors import SpeechError
from edgeagent.tts import HibariSpeaker, UnreadableError, make_speaker
from tests.tts.listening import NEVER, sound, spoken, words

pytestmark = pytest.mark.timeout(60)
RATE_HZ = 24_000


@pytest.fixture(scope="module")
def heart() -> HibariSpeaker:
    voice = HibariSpeaker()
    voice.load()
    return voice


def level_db(samples: np.ndarray) -> np.ndarray:
    """Of each 10 ms."""
    frames = samples[: len(samples) // 240 * 240].reshape(-1, 240)
    return 10 * np.log10(np.mean(frames.astype(float) ** 2, axis=1) + 1e-12)


def test_it_speaks_in_chunks_of_at_most_a_tenth_of_a_second(heart: HibariSpeaker) -> None:
    assert (heart.name, heart.rate_hz, heart.language) == ("Hibari heart", RATE_HZ, "en-us")
    chunks = spoken("Hello, I am driving to the kitchen. Wait there!", heart)
    assert all(0 < len(chunk.samples) <= RATE_HZ / 10 for chunk in chunks)
    assert all(chunk.samples.dtype == np.float32 and chunk.samples.ndim == 1 for chunk in chunks)
    assert 2 < len(sound(chunks)) / RATE_HZ < 5
    assert 0.2 < np.abs(sound(chunks)).max() <= 1


def test_a_sentence_begins_and_ends_without_waiting(heart: HibariSpeaker) -> None:
    """The network surrounds each sentence with up to half a second of silence."""
    levels = level_db(sound(spoken("I am driving to the kitchen.", heart)))
    loud = np.flatnonzero(levels > -45)
    assert loud[0] <= 5
    assert 5 <= len(levels) - loud[-1] <= 25


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world. I don't know!",
        "I am in the well-known café, at the “door”…",
        "Take 21 apples to room 305 of the house.",
        "No. No. No. No.",
        "rock 'n' roll (really)",
    ],
)
def test_every_word_has_its_place_and_its_time(heart: HibariSpeaker, text: str) -> None:
    chunks = spoken(text, heart)
    found = [text[word.start : word.end] for word in words(chunks)]
    assert found == [bare for word in text.split() if (bare := word.strip(".,!“”…'()"))]
    times = [word.at_s for word in words(chunks)]
    assert times == sorted(times)
    begun = 0
    for chunk in chunks:
        assert all(begun <= round(word.at_s * RATE_HZ) < begun + len(chunk.samples) for word in chunk.words)
        begun += len(chunk.samples)


def test_its_own_marks_are_only_text(heart: HibariSpeaker) -> None:
    """Between brackets and slashes it would read phonemes."""
    with_mark, without = "[robot](/hWlO/)", "robot (hWlO)"
    assert len(sound(spoken(with_mark, heart))) >= 0.8 * len(sound(spoken(without, heart)))


def test_a_word_begins_where_its_sound_begins(heart: HibariSpeaker) -> None:
    """After a comma there is silence: the word behind it begins where the sound comes back."""
    chunks = spoken("Stop, please, kitchen, table.", heart)
    levels = level_db(sound(chunks))
    for word in words(chunks)[1:]:
        at = round(word.at_s * 100)
        near = levels[max(at - 15, 0) : at + 15]
        assert near.min() < -45  # the pause
        assert levels[at : at + 15].max() > -35  # the word


def test_times_go_on_from_sentence_to_sentence_and_over_long_texts(heart: HibariSpeaker) -> None:
    text = "The robot drives to the kitchen, and then it waits for the end of the song. " * 10
    chunks = spoken(text, heart)
    assert len(words(chunks)) == len(text.split())
    begins = [word.at_s for word in words(chunks) if text[word.start : word.end] == "The"]
    assert np.diff(begins) == pytest.approx(len(sound(chunks)) / RATE_HZ / 10, abs=0.05)


def test_the_rate_and_the_volume_are_heard(heart: HibariSpeaker) -> None:
    text = "I am driving to the kitchen."
    usual = sound(spoken(text, heart))
    quiet = sound(spoken(text, HibariSpeaker(volume=20)))
    assert np.abs(quiet).max() == pytest.approx(np.abs(usual).max() / 5, rel=0.01)
    fast_and_loud = sound(spoken(text, HibariSpeaker(rate_wpm=300, volume=200)))
    assert len(fast_and_loud) < 0.75 * len(usual)
    assert np.abs(fast_and_loud).max() <= 1


def test_a_text_always_sounds_the_same(heart: HibariSpeaker) -> None:
    assert np.array_equal(sound(spoken("Hello there.", heart)), sound(spoken("Hello there.", heart)))


def test_threads_do_not_disturb_each_other(heart: HibariSpeaker) -> None:
    alone = sound(spoken("One, two, three.", heart))
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(sound(spoken("One, two, three.", heart)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 3
    assert all(np.array_equal(each, alone) for each in found)


def test_it_stops_between_chunks_and_before_it_begins(heart: HibariSpeaker) -> None:
    stop = Event()
    stream = heart.speak("A long sentence that nobody wants to hear any more. " * 20, stop)
    next(stream)
    stop.set()
    assert list(stream) == []
    assert list(heart.speak("Hello", stop)) == []
    assert not [thread for thread in threading.enumerate() if thread.name == "onnx-stop"]


@pytest.mark.parametrize("text", ["", " \n", "...", "\u0301", "\N{PARTY POPPER} —", "\x00\x1b"])
def test_nothing_to_say_is_silence(heart: HibariSpeaker, text: str) -> None:
    assert spoken(text, heart) == []


@pytest.mark.parametrize(("text", "word"), [("hello 日本", "日本"), ("so привет", "привет"), ("the שלום", "שלום")])
def test_what_it_cannot_read_is_refused_before_a_sound(heart: HibariSpeaker, text: str, word: str) -> None:
    with pytest.raises(UnreadableError, match=f"can't read '{word}'"):
        next(heart.speak(text, NEVER))


def test_a_word_without_end_is_spoken_and_stopped(heart: HibariSpeaker) -> None:
    stop = Event()
    stream = heart.speak("a" * 5_000 + " " + "12345678901234567890" * 10, stop)
    assert len(next(stream).samples) > 0
    stop.set()
    assert list(stream) == []


def test_a_mark_without_a_letter_is_not_spoken(heart: HibariSpeaker) -> None:
    text = "hello \u0301"
    assert "hello" in [text[word.start : word.end] for word in words(spoken(text, heart))]


def test_closed_it_loads_again(heart: HibariSpeaker) -> None:
    before = sound(spoken("Hello.", heart))
    heart.close()
    assert np.array_equal(sound(spoken("Hello.", heart)), before)


# --- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [{"rate_wpm": 80}, {"rate_wpm": 400}, {"volume": 201}, {"volume": -1}])
def test_a_number_out_of_range_is_refused(setting: dict[str, int]) -> None:
    with pytest.raises(SpeechError, match="is out of range"):
        HibariSpeaker(**setting)


def test_a_file_that_is_missing_broken_or_another_network_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpeechError, match=r"there is no voice .*gone\.onnx"):
        HibariSpeaker(tmp_path / "gone.onnx")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    with pytest.raises(SpeechError, match=r"broken\.onnx is not a voice of Hibari"):
        HibariSpeaker(broken).load()
    other = tmp_path / "other.onnx"
    same = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g", [same], [helper.make_tensor_value_info("y", 1, [1])]
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), str(other))
    with pytest.raises(SpeechError, match=r"other\.onnx is not a voice of Hibari"):
        HibariSpeaker(other).load()


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_without_what_hibari_needs_it_says_how_to_install_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SpeechError, match=r'pip install "edgeagent\[voice\]"'):
        HibariSpeaker().load()


WITHOUT = """
import sys
sys.modules["hibari"] = None
from edgeagent.errors import SpeechError
from edgeagent.tts import HibariSpeaker
voice = HibariSpeaker()
assert not {"hibari", "onnx", "onnxruntime"} & {name for name, module in sys.modules.items() if module}
try:
    voice.load()
except SpeechError as error:
    print(error)
"""


def test_without_hibari_it_says_how_to_install_it_and_not_before_it_speaks() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=30)
    assert 'pip install "edgeagent[voice]"' in done.stdout, done.stderr


def test_no_voice_is_fetched_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    with pytest.raises(SpeechError, match="edgeagent models pull emma fetches it"):
        make_speaker("emma")
