"""The real Piper speaks with a voice of some kilobytes, stops, tells the words, and refuses clearly."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from threading import Event

import numpy as np
import pytest

pytest.importorskip("piper")
pytest.importorskip("onnx")

from edgeagent.errors import SpeechError
from edgeagent.tts import EspeakSpeaker, PiperSpeaker, Speaker
from tests.tts.listening import NEVER, sound, spoken, words
from tests.tts.tiny_voice import HOP, RATE_HZ, frames_of, tiny_voice

pytestmark = pytest.mark.timeout(60)
LONG = "The robot drives to the kitchen, and then it waits for the end of the song. " * 20


@pytest.fixture(scope="module")
def plain_voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A voice that does not tell how long its phonemes take."""
    return tiny_voice(tmp_path_factory.mktemp("plain"), times=False)


@pytest.fixture(scope="module")
def exact_voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_voice(tmp_path_factory.mktemp("exact"))


def seconds(speaker: Speaker, text: str) -> float:
    return len(sound(spoken(text, speaker))) / speaker.rate_hz


def test_it_speaks_in_chunks_of_at_most_a_tenth_of_a_second(plain_voice: Path) -> None:
    speaker = PiperSpeaker(plain_voice)
    assert (speaker.name, speaker.rate_hz) == ("tiny", RATE_HZ)
    chunks = spoken("Hello, I am driving to the kitchen. Wait there!", speaker)
    assert all(0 < len(chunk.samples) <= RATE_HZ / 10 for chunk in chunks)
    assert all(chunk.samples.dtype == np.float32 and chunk.samples.ndim == 1 for chunk in chunks)
    assert all(chunk.rate_hz == RATE_HZ for chunk in chunks)
    assert np.abs(sound(chunks)).max() == pytest.approx(1, abs=1e-3)


def test_the_sound_is_as_long_as_the_model_makes_it(plain_voice: Path) -> None:
    speaker = PiperSpeaker(plain_voice)
    voice = speaker.load()
    ids = voice.phonemes_to_ids(voice.phonemize("Hello there.")[0])
    assert len(sound(spoken("Hello there.", speaker))) == HOP * sum(frames_of(ids))
    assert len(sound(spoken("Hello there.", PiperSpeaker(plain_voice, length_scale=2)))) == HOP * sum(frames_of(ids, 2))


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world. I don't know!",
        "the end of the line",  # "of the" is one word to espeak-ng
        "I am in the well-known café, at the “door”…",
        "Take 21 apples to room 305 of the house.",  # and these are several
        "No. No. No. No.",
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_every_word_has_its_place_and_its_time(plain_voice: Path, exact_voice: Path, text: str, exact: bool) -> None:
    speaker = PiperSpeaker(exact_voice if exact else plain_voice)
    chunks = spoken(text, speaker)
    stripped = [word.strip(".,!“”…") for word in text.split()]
    assert [text[word.start : word.end] for word in words(chunks)] == stripped
    times = [word.at_s for word in words(chunks)]
    assert times == sorted(set(times))
    begun = 0
    for chunk in chunks:
        assert all(begun <= round(word.at_s * RATE_HZ) < begun + len(chunk.samples) for word in chunk.words)
        begun += len(chunk.samples)


def test_with_alignments_a_word_begins_where_its_sound_begins(exact_voice: Path) -> None:
    """Spaces are silent in this voice: each word but the first begins where the sound comes back."""
    chunks = spoken("four small robots waited near that old door", PiperSpeaker(exact_voice))
    samples = sound(chunks)
    loud = np.abs(samples.reshape(-1, HOP)).max(axis=1) > 0.05
    # a pad between two phonemes is one silent frame; a space has frames of its own and a pad on each side
    begins = [at for at in range(5, len(loud)) if loud[at] and not loud[at - 4 : at].any()]
    times = [round(word.at_s * RATE_HZ / HOP) for word in words(chunks)]
    assert times[1:] == begins[-7:]


def test_guessed_times_are_told_once_and_are_near_those_of_the_voice(
    plain_voice: Path, exact_voice: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "four small robots waited near that old door"
    exact = words(spoken(text, PiperSpeaker(exact_voice)))
    shared = words(spoken(text, PiperSpeaker(plain_voice)))
    assert [word.start for word in exact] == [word.start for word in shared]
    assert max(abs(one.at_s - other.at_s) for one, other in zip(exact, shared, strict=True)) < 0.3
    assert [record.message for record in caplog.records] == [
        "the voice tiny does not tell how long its words take: their times are guessed"
    ]


def test_times_go_on_from_clause_to_clause(exact_voice: Path) -> None:
    speaker = PiperSpeaker(exact_voice)
    chunks = spoken(LONG, speaker)
    assert len(words(chunks)) == len(LONG.split())
    begins = [word.at_s for word in words(chunks) if LONG[word.start : word.end] == "The"]
    assert np.diff(begins) == pytest.approx(len(sound(chunks)) / RATE_HZ / 20, abs=1e-3)


def test_the_file_of_a_voice_stays_as_it_was_pulled(tmp_path: Path) -> None:
    path = tiny_voice(tmp_path)
    before = path.read_bytes()
    PiperSpeaker(path).load()
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["tiny.onnx", "tiny.onnx.json"]


def test_a_volume_makes_it_quieter_and_never_clips(plain_voice: Path) -> None:
    usual, quiet, loud = (
        np.abs(sound(spoken("Hello there.", PiperSpeaker(plain_voice, volume=volume)))).max()
        for volume in (100, 20, 200)
    )
    assert (usual, quiet, loud) == (pytest.approx(1, abs=1e-3), pytest.approx(0.2, abs=1e-3), pytest.approx(1))


def test_a_long_sentence_is_synthesised_in_clauses(plain_voice: Path) -> None:
    speaker = PiperSpeaker(plain_voice)
    text = "I drive to the kitchen now and look, and then I come back to the living room again, and wait."
    voice = speaker.load()
    assert len(voice.phonemize(text)) == 1
    runs = 0
    session = voice.session

    class Counting:
        def run(self, *args: object) -> object:
            nonlocal runs
            runs += 1
            return session.run(*args)

    voice.session = Counting()
    stream = speaker.speak(text, NEVER)
    next(stream)
    assert runs == 1
    assert len(list(stream)) > 10
    assert runs == 2  # the last comma is too near the end


def test_it_stops_between_chunks(plain_voice: Path) -> None:
    stop = Event()
    stream = PiperSpeaker(plain_voice).speak(LONG, stop)
    next(stream)
    stop.set()
    assert list(stream) == []
    assert list(PiperSpeaker(plain_voice).speak("Hello", stop)) == []


def test_it_stops_in_the_middle_of_a_clause(tmp_path: Path) -> None:
    """A slow voice, on which a clause takes minutes."""
    speaker = PiperSpeaker(tiny_voice(tmp_path, labour=200_000))
    speaker.load()
    stop = Event()
    threading.Timer(0.2, stop.set).start()
    begun = time.perf_counter()
    assert list(speaker.speak("Hello there.", stop)) == []
    assert time.perf_counter() - begun < 10
    assert not [thread for thread in threading.enumerate() if thread.name == "onnx-stop"]


def test_it_works_on_as_many_threads_as_it_is_given(tmp_path: Path) -> None:
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        pytest.skip("threads are counted in /proc")
    path = tiny_voice(tmp_path, labour=300)

    def count() -> int:
        return len(list(tasks.iterdir()))

    one = PiperSpeaker(path)
    one.load()
    before = count()
    two = PiperSpeaker(path, threads=3)
    assert two.load() is two.load()
    assert count() == before + 2  # the caller is the third
    begun, used = time.perf_counter(), time.process_time()
    spoken("Hello there.", one)
    assert time.process_time() - used < 1.3 * (time.perf_counter() - begun) + 0.1


def test_speakers_on_threads_and_espeak_do_not_disturb_each_other(plain_voice: Path) -> None:
    """Piper has an espeak-ng of its own inside."""
    shared = PiperSpeaker(plain_voice)
    german = PiperSpeaker(tiny_voice(plain_voice.parent / "de", language="de"))
    espeak = EspeakSpeaker("fr")
    text = "One, two, three, four. " * 10
    alone = [sound(spoken(text, speaker)) for speaker in (shared, german, espeak)]
    found: dict[int, np.ndarray] = {}

    def speak(number: int, speaker: Speaker) -> None:
        found[number] = sound(spoken(text, speaker))

    threads = [
        threading.Thread(target=speak, args=item) for item in enumerate((shared, german, espeak, shared, espeak))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert np.array_equal(found[0], alone[0])
    assert np.array_equal(found[3], alone[0])
    assert np.array_equal(found[1], alone[1])
    assert len(found[2]) == pytest.approx(len(alone[2]), rel=0.03)


def test_closed_it_loads_again(plain_voice: Path) -> None:
    speaker = PiperSpeaker(plain_voice)
    first = speaker.load()
    speaker.close()
    speaker.close()
    assert spoken("Hello", speaker)
    assert speaker.load() is not first


@pytest.mark.parametrize("text", ["", " \n\t ", "\0\x01", "\ud800", "...", "\U0001f600"])
def test_nothing_to_say_is_silence(plain_voice: Path, text: str) -> None:
    assert spoken(text, PiperSpeaker(plain_voice)) == []


@pytest.mark.parametrize("text", ["one [[ bæt ]] two", "one <b> two", "one\0two", "one \x0150s two", "one [[[ two"])
def test_markup_and_commands_are_only_text(plain_voice: Path, text: str) -> None:
    found = [text[word.start : word.end] for word in words(spoken(text, PiperSpeaker(plain_voice)))]
    assert (found[0], found[-1]) == ("one", "two")


def test_ten_kilobytes_are_spoken(plain_voice: Path) -> None:
    text = ("The quick brown fox jumps over the lazy dog near the river. " * 200)[:10_000]
    samples = count = 0
    for chunk in PiperSpeaker(plain_voice, length_scale=0.2).speak(text, NEVER):
        samples += len(chunk.samples)
        count += len(chunk.words)
    assert count == len(text.split())
    assert samples > 20 * RATE_HZ


def test_a_word_without_end_is_spoken_and_stopped(plain_voice: Path) -> None:
    stop = Event()
    stream = PiperSpeaker(plain_voice).speak("a" * 50_000, stop)
    for _ in range(50):
        next(stream)
    stop.set()
    assert list(stream) == []


def test_a_voice_with_several_speakers(tmp_path: Path) -> None:
    path = tiny_voice(tmp_path, speakers=3)
    low, high = (sound(spoken("Hello", PiperSpeaker(path, speaker=speaker))) for speaker in (None, "robot2"))
    assert np.array_equal(high, sound(spoken("Hello", PiperSpeaker(path, speaker=2))))
    crossings = [np.count_nonzero(np.diff(np.signbit(samples))) for samples in (low, high)]
    assert crossings[1] > 1.5 * crossings[0]
    for wrong in (3, -1, "nobody"):
        with pytest.raises(SpeechError, match="0 to 2, or by name: robot0, robot1"):
            PiperSpeaker(path, speaker=wrong)


def test_a_file_that_is_missing_is_named(tmp_path: Path, plain_voice: Path) -> None:
    with pytest.raises(SpeechError, match=r"there is no voice .*nobody\.onnx"):
        PiperSpeaker(tmp_path / "nobody.onnx")
    alone = tmp_path / "alone.onnx"
    alone.write_bytes(plain_voice.read_bytes())
    with pytest.raises(SpeechError, match=r"alone\.onnx\.json is missing"):
        PiperSpeaker(alone)


@pytest.mark.parametrize("content", [b"", b"not a voice", b"\x08\x08" * 3000])
def test_a_voice_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tiny_voice(tmp_path)
    path.write_bytes(content)
    with pytest.raises(SpeechError, match=r"not an ONNX model|not the model"):
        spoken("Hello", PiperSpeaker(path))


def test_a_voice_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tiny_voice(tmp_path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(SpeechError, match="not an ONNX model"):
        PiperSpeaker(path).load()


def test_a_model_of_something_else_is_refused(tmp_path: Path) -> None:
    import piper

    path = tiny_voice(tmp_path)
    path.write_bytes((Path(piper.__file__).parent / "tashkeel" / "model.onnx").read_bytes())
    with pytest.raises(SpeechError, match="not the model of this Piper voice: its inputs are"):
        PiperSpeaker(path).load()
    several = tiny_voice(tmp_path, name="several", speakers=2)
    config = several.with_name("several.onnx.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_speakers": 1}))
    with pytest.raises(SpeechError, match="not the model of this Piper voice: its inputs are"):
        PiperSpeaker(several).load()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"audio": 3}', "null"])
def test_a_configuration_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    path = tiny_voice(tmp_path)
    path.with_name("tiny.onnx.json").write_text(content)
    with pytest.raises(SpeechError, match=r"tiny\.onnx\.json"):
        PiperSpeaker(path)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"audio": None}, "has no 'audio'"),
        ({"audio": {"sample_rate": "fast"}}, "invalid literal"),
        ({"audio": {"sample_rate": 3}}, "sample_rate is 3"),
        ({"espeak": {}}, "has no 'voice'"),
        ({"phoneme_id_map": {"a": [1]}}, "phoneme_id_map has no _"),
        ({"phoneme_type": "pinyin"}, "'pinyin'"),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(tmp_path: Path, config: dict[str, object], complaint: str) -> None:
    with pytest.raises(SpeechError, match=complaint):
        PiperSpeaker(tiny_voice(tmp_path, **config))


@pytest.mark.parametrize("language", ["xx", "fo", ""])  # no such voice; a voice without its dictionary
def test_a_language_that_its_data_lacks_is_refused(tmp_path: Path, language: str) -> None:
    with pytest.raises(SpeechError, match=f"can't read.*{language!r}"):
        PiperSpeaker(tiny_voice(tmp_path, language=language)).load()


@pytest.mark.parametrize("setting", [{"threads": 0}, {"length_scale": 0}, {"length_scale": 11}, {"speaker": 1}])
def test_a_number_out_of_range_is_refused(plain_voice: Path, setting: dict[str, float]) -> None:
    with pytest.raises(SpeechError):
        PiperSpeaker(plain_voice, **setting)


@pytest.mark.parametrize("module", ["piper", "onnxruntime", "onnx"])
def test_without_piper_it_says_how_to_install_it(
    plain_voice: Path, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    speaker = PiperSpeaker(plain_voice)
    with pytest.raises(SpeechError, match=r'pip install "edgeagent\[piper\]"'):
        speaker.load()


def test_nothing_of_piper_is_loaded_before_it_speaks(plain_voice: Path) -> None:
    program = (
        "import sys\nfrom edgeagent.tts import PiperSpeaker\nPiperSpeaker(sys.argv[1])\n"
        "assert not {'piper', 'onnx', 'onnxruntime'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(plain_voice)], check=True, timeout=30)


def test_without_its_data_the_process_lives(plain_voice: Path, tmp_path: Path) -> None:
    """espeak-ng inside Piper calls exit(1) when it finds none."""
    program = (
        "import sys, pathlib, piper.phonemize_espeak as data\n"
        "data.ESPEAK_DATA_DIR = pathlib.Path(sys.argv[2])\n"
        "from edgeagent.errors import SpeechError\n"
        "from edgeagent.tts import PiperSpeaker\n"
        "try: PiperSpeaker(sys.argv[1]).load()\n"
        "except SpeechError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, str(plain_voice), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, env=dict(os.environ))
    assert "has no phontab" in done.stdout
