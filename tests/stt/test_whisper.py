"""The real faster-whisper on real weights: a fixture that knows 38 sentences (scripts/lab/train_whisper_fixture).

It shows that the way from sound to text is right, and nothing about accuracy.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as threads
from typing import Any

import numpy as np
import pytest

from edgeagent.english import inverse_normalised
from edgeagent.errors import RecognitionError
from edgeagent.stt import RATE_HZ, RecognisedText, Transcriber, WhisperModel, WhisperOptions, WhisperTranscriber
from tests.stt.speech import spoken

pytest.importorskip("faster_whisper")
pytestmark = [
    pytest.mark.timeout(60),
]
FOLDER = Path(__file__).parent / "whisper_fixture"
DRIVE = "Drive two meters forward."
NEVER = Event()
HARD_LIMIT_S = 20
MOST_BYTES = 4_000_000


def heard(transcriber: WhisperTranscriber, sound: np.ndarray, stop_event: Event = NEVER) -> RecognisedText:
    transcriber.begin()
    transcriber.feed(sound)
    return transcriber.finish(stop_event)


def made(**settings: Any) -> WhisperTranscriber:
    return WhisperTranscriber(FOLDER, WhisperOptions(**{"threads": 1, **settings}))


@pytest.fixture(scope="module")
def whisper() -> Iterator[WhisperTranscriber]:
    transcriber = made()
    yield transcriber
    transcriber.close()


class Gate:
    """Holds a decode inside its first stage until it is opened, and counts the stages."""

    def __init__(self, transcriber: WhisperTranscriber, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.open, self.encoded, self.decoded = Event(), Event(), 0, 0
        model = transcriber._model
        encode, decode = model.encode, model.decode

        def held(sound: np.ndarray, window_s: float) -> Any:
            self.entered.set()
            assert self.open.wait(HARD_LIMIT_S)
            self.encoded += 1
            return encode(sound, window_s)

        def counted(*arguments: Any, **named: Any) -> Any:
            self.decoded += 1
            return decode(*arguments, **named)

        monkeypatch.setattr(model, "encode", held)
        monkeypatch.setattr(model, "decode", counted)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + HARD_LIMIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def decodes() -> list[Thread]:
    return [thread for thread in threads() if thread.name == "whisper"]


def test_the_fixture_knows_its_sentences(whisper: WhisperTranscriber, checkout: Path) -> None:
    sentences = (checkout / "scripts/lab/train_whisper_fixture/sentences.txt").read_text(encoding="utf-8").splitlines()
    assert len(sentences) >= 36
    said = {*sentences[::3], DRIVE, "Where are you?"}
    got = {text: heard(whisper, spoken(text)) for text in said}
    assert {text: one.raw for text, one in got.items()} == {text: text for text in said}
    for text, one in got.items():
        assert one.text == inverse_normalised(text)
        assert one.final
        assert one.understood
        assert one.confidence is not None
        assert 0.3 < one.confidence <= 1
    assert got[DRIVE].text == "Drive 2 meters forward"
    assert got["Where are you?"].text == "Where are you?"


def test_the_fixture_is_small(whisper: WhisperTranscriber) -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= MOST_BYTES
    protocol: Transcriber = whisper
    assert protocol.name == "whisper whisper_fixture"


def test_words_have_times_and_confidences(whisper: WhisperTranscriber) -> None:
    sound = spoken("Bring the cup to the kitchen.")
    words = heard(whisper, sound).words
    assert [word.text for word in words] == ["Bring", "the", "cup", "to", "the", "kitchen."]
    assert [word.start_s for word in words] == sorted(word.start_s for word in words)
    for word in words:
        assert 0 <= word.start_s <= word.end_s <= len(sound) / RATE_HZ + 0.1
        assert word.confidence is not None
        assert 0 <= word.confidence <= 1
    assert words[2].start_s == pytest.approx(0.37, abs=0.2)  # as espeak-ng says
    assert words[5].start_s == pytest.approx(0.93, abs=0.25)


def test_pieces_are_one_utterance_and_begin_forgets(whisper: WhisperTranscriber) -> None:
    whisper.begin()
    whisper.feed(spoken("Follow me."))
    whisper.begin()
    buffer = np.zeros(320, np.float32)
    sound = np.pad(spoken(DRIVE), (3000, 320))
    for at in range(0, len(sound) - 320, 320):
        buffer[:] = sound[at : at + 320]  # the caller uses its buffer again
        whisper.feed(buffer)
    assert whisper.finish(NEVER).raw == DRIVE
    assert whisper.finish(NEVER).raw == ""


@pytest.mark.parametrize(
    "sound",
    [
        np.zeros(0, np.float32),
        np.zeros(3 * RATE_HZ, np.float32),
        np.full(RATE_HZ, 1e-5, np.float32),
        np.full(RATE_HZ, np.nan, np.float32),
        np.random.default_rng(1).standard_normal(2 * RATE_HZ).astype(np.float32) * np.float32(0.01),
        np.random.default_rng(2).standard_normal(2 * RATE_HZ).astype(np.float32) * np.float32(0.3),
    ],
    ids=["nothing", "zeros", "faint", "not a number", "noise", "loud noise"],
)
def test_without_speech_there_is_no_text(whisper: WhisperTranscriber, sound: np.ndarray) -> None:
    got = heard(whisper, sound)
    assert (got.raw, got.text, got.words, got.understood) == ("", "", (), False)


@pytest.mark.parametrize("samples", [1, 50, 199, 400, 1600])
def test_a_click_does_no_harm(whisper: WhisperTranscriber, samples: int) -> None:
    assert heard(whisper, np.full(samples, 0.5, np.float32)).final


def test_speech_longer_than_the_window_is_heard_to_its_end(whisper: WhisperTranscriber) -> None:
    follow, pause = spoken("Follow me."), np.zeros(26 * RATE_HZ, np.float32)
    said = heard(whisper, np.concatenate([spoken(DRIVE), pause, follow, pause, spoken("Stop.")]))
    assert said.raw == f"{DRIVE} Follow me. Stop."
    starts = [word.start_s for word in said.words if word.text in ("Drive", "Follow", "Stop.")]
    assert [start_s // 20 for start_s in starts] == [0, 1, 2]  # the fixture's times are those of its pieces


def test_options_reach_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made(beam_size=3, hot_words=("lidar", " Robi ", ""), compute_type="float32")
    asked: dict[str, Any] = {}
    decode = transcriber._model.decode
    monkeypatch.setattr(
        transcriber._model, "decode", lambda *given, **named: asked.update(named) or decode(*given, **named)
    )
    assert heard(transcriber, spoken(DRIVE)).raw == DRIVE
    assert asked == {"hot_words": "lidar, Robi", "beam_size": 3}
    assert heard(made(language=None), spoken(DRIVE)).text == "Drive 2 meters forward"


def test_the_window_is_as_long_as_the_speech_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    import faster_whisper

    seen = []
    encode = faster_whisper.WhisperModel.encode
    monkeypatch.setattr(
        faster_whisper.WhisperModel, "encode", lambda self, x: seen.append(x.shape[-1]) or encode(self, x)
    )
    assert heard(made(), spoken(DRIVE)).raw == DRIVE
    transcriber = made(window_s=10)
    assert heard(transcriber, spoken(DRIVE)).raw == DRIVE
    heard(transcriber, np.pad(spoken(DRIVE), (0, 9 * RATE_HZ)))
    assert seen[:2] == [1200, 1000]
    assert seen[2] == pytest.approx((len(spoken(DRIVE)) / RATE_HZ + 9 + 1) * 100, abs=2)
    for wrong in (5, 9.9, 31):
        with pytest.raises(RecognitionError, match="window_s"):
            made(window_s=wrong)


def test_the_length_of_the_sound_limits_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made()
    generate, asked = transcriber._model._library.model.generate, []

    class Endless:
        def __getattr__(self, name: str) -> Any:
            return getattr(library, name)

        def generate(self, *arguments: Any, **named: Any) -> Any:
            asked.append(named["max_length"] - len(arguments[1][0]))
            return generate(*arguments, **named)

    library = transcriber._model._library.model
    monkeypatch.setattr(transcriber._model._library, "model", Endless())
    assert heard(transcriber, spoken(DRIVE)).raw == DRIVE
    heard(transcriber, np.pad(spoken(DRIVE), (0, 5 * RATE_HZ)))
    assert asked[0] < 30
    assert asked[1] == asked[0] + 40


def test_the_cost_of_a_decode_is_known_after_the_first() -> None:
    transcriber = made()
    assert transcriber.cost_s is None
    heard(transcriber, spoken(DRIVE))
    assert transcriber.cost_s is not None
    assert transcriber.cost_s > 0


def test_a_stop_leaves_the_decode_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made()
    gate = Gate(transcriber, monkeypatch)
    stop = Event()
    got: list[RecognisedText] = []
    caller = Thread(target=lambda: got.append(heard(transcriber, spoken(DRIVE), stop)))
    caller.start()
    assert gate.entered.wait(HARD_LIMIT_S)
    begun = time.monotonic()
    stop.set()
    caller.join(HARD_LIMIT_S)
    assert time.monotonic() - begun < 1  # while the decode is still inside its stage
    assert not gate.encoded
    assert not got[0].final
    assert got[0].raw == ""
    gate.open.set()
    assert heard(transcriber, spoken("Follow me.")).raw == "Follow me."
    until(lambda: not decodes())
    transcriber.close()


def test_a_stop_that_came_before_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made()
    gate = Gate(transcriber, monkeypatch)
    stop = Event()
    stop.set()
    assert not heard(transcriber, spoken(DRIVE), stop).final
    gate.open.set()
    until(lambda: not decodes())


def test_a_decode_that_is_void_ends_between_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made()
    gate, stop = Gate(transcriber, monkeypatch), Event()
    caller = Thread(target=lambda: heard(transcriber, spoken(DRIVE), stop))
    caller.start()
    assert gate.entered.wait(HARD_LIMIT_S)
    stop.set()
    caller.join(HARD_LIMIT_S)
    gate.open.set()
    until(lambda: not decodes())
    assert (gate.encoded, gate.decoded) == (1, 0)


def test_a_decode_that_fails_is_an_error_and_the_next_one_works(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made()

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(transcriber._model, "decode", broken)
        with pytest.raises(RecognitionError, match="out of memory"):
            heard(transcriber, spoken(DRIVE))
    assert heard(transcriber, spoken(DRIVE)).raw == DRIVE


def test_close_frees_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = made()
    gate = Gate(transcriber, monkeypatch)
    got: list[RecognisedText] = []
    caller = Thread(target=lambda: got.append(heard(transcriber, spoken(DRIVE))))
    caller.start()
    assert gate.entered.wait(HARD_LIMIT_S)
    transcriber.close()
    caller.join(HARD_LIMIT_S)
    assert not got[0].final
    gate.open.set()
    until(lambda: not decodes())
    with pytest.raises(RecognitionError, match="closed"):
        heard(transcriber, spoken(DRIVE))


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def garbage(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(b"\x07garbage" * 40) and None


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (without("model.bin"), "has no model.bin"),
        (without("tokenizer.json"), "has no tokenizer.json"),
        (without("vocabulary.json"), "has no vocabulary.json"),
        (garbage("model.bin"), "can't be loaded"),
        (garbage("tokenizer.json"), "can't be loaded"),
        (garbage("config.json"), "can't be loaded"),
    ],
)
def test_a_folder_that_is_no_model_is_named(tmp_path: Path, damage: Callable[[Path], None], complaint: str) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "broken")
    damage(folder)
    with pytest.raises(RecognitionError, match=complaint) as told:
        WhisperTranscriber(folder)
    assert str(folder) in str(told.value)


def test_what_can_not_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecognitionError, match="there is no Whisper model"):
        WhisperTranscriber(tmp_path / "nothing")
    with pytest.raises(RecognitionError, match="there is no Whisper model"):
        WhisperTranscriber("tiny.en")  # a name that faster-whisper would fetch
    with pytest.raises(RecognitionError, match="is no folder"):
        WhisperTranscriber(FOLDER / "model.bin")
    with pytest.raises(RecognitionError, match="English only"):
        made(language="de")
    for setting in ("beam_size", "threads"):
        with pytest.raises(RecognitionError, match=setting):
            made(**{setting: 0})
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(RecognitionError, match=r"pip install .edgeagent\[whisper\]"):
        made()


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    assert heard(made(), spoken(DRIVE)).raw == DRIVE


def test_a_program_imports_nothing_heavy_may_download_and_ends_in_a_decode(checkout: Path) -> None:
    program = f"""
import os, sys, numpy as np
from threading import Event
from edgeagent.stt import WhisperTranscriber
assert not {{"faster_whisper", "ctranslate2", "av", "onnxruntime"}} & set(sys.modules)
whisper = WhisperTranscriber({str(FOLDER)!r})
assert "onnxruntime" not in sys.modules
from huggingface_hub import constants
assert not constants.HF_HUB_OFFLINE and "HF_HUB_OFFLINE" not in os.environ
whisper.feed(np.random.default_rng(1).standard_normal(32000).astype(np.float32))
stop = Event()
stop.set()
print(whisper.finish(stop).final)
"""
    kept = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, timeout=50, cwd=checkout, env={**kept, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_are_scored_in_their_order_however_many_at_once(workers: int) -> None:
    model = WhisperModel(FOLDER, threads=1, workers=workers)
    encoded = model.encode(spoken(DRIVE), 10.0)
    texts = ["Follow me.", DRIVE, "Where are you?", "Turn left.", "Stop."]
    found = model.fits(encoded, "en", texts)
    assert [fit.tokens for fit in found] == [model.fit(encoded, "en", text).tokens for text in texts]
    assert [fit.log_prob for fit in found] == [
        pytest.approx(model.fit(encoded, "en", text).log_prob, abs=0.01) for text in texts
    ]
    assert max(found, key=lambda fit: fit.log_prob) is found[1]
    assert model.fits(encoded, "en", []) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_scores_that_nobody_wants_end_at_the_next_text(workers: int) -> None:
    model = WhisperModel(FOLDER, threads=1, workers=workers)
    encoded = model.encode(spoken(DRIVE), 10.0)
    asked = []

    def check() -> None:
        asked.append(None)
        if len(asked) > workers:
            raise KeyError("left")

    with pytest.raises(KeyError, match="left"):
        model.fits(encoded, "en", [DRIVE] * 9, check)
    assert len(asked) <= 2 * workers
    assert [thread for thread in threads() if thread.name == "whisper-fit"] == []
