"""The doctor's rows of hearing: what hears speech, which recogniser would be used, and what keeps it from that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent.app import Vocabulary, chosen_engine, make_transcriber, stop_words
from edgeagent.config import Config
from edgeagent.doctor import Row, ears
from edgeagent.doctor import ears_section as ears_module
from edgeagent.errors import AudioError
from edgeagent.stt import RecognisedText


class Deaf:
    """A recogniser that is there, and takes its time."""

    name = "deaf"
    closed = False

    def begin(self) -> None:
        pass

    def feed(self, samples: Any) -> None:
        self.fed = len(samples)

    def finish(self, stop_event: Event) -> RecognisedText:
        return RecognisedText("")

    def close(self) -> None:
        self.closed = True


def rows(found: Iterator[Row]) -> dict[str, Row]:
    return {row.name: row for row in found}


def looked(tmp_path: Path, config: Config | None = None, make: Any = Deaf) -> dict[str, Row]:
    config = config or Config()
    return rows(ears(make, lambda: stop_words(config), tmp_path, why=lambda: chosen_engine(config)[1]))


def test_all_that_hears_is_told(tmp_path: Path) -> None:
    (tmp_path / "tiny.en").mkdir()
    (tmp_path / "tiny.en" / "model.bin").write_bytes(b"weights")
    (tmp_path / "half").mkdir()
    config = Config(ears={"engine": "sphinx"})
    said = Vocabulary(phrases=("go to the kitchen", "what time is it"))
    found = looked(tmp_path, config, lambda: make_transcriber(config, said))
    assert list(found) == ["voice activity", "pocketsphinx", "whisper", "recogniser", "key phrases"]
    assert {row.status for row in found.values()} <= {"ok", "note"}
    assert 0 < found["voice activity"].value < 1000
    assert found["pocketsphinx"].value > 100_000
    assert found["whisper"].value == ["tiny.en"]
    assert found["recogniser"].value["name"] == "pocketsphinx"
    assert found["recogniser"].value["share"] > 0
    assert "stop" in found["key phrases"].value


def test_the_recogniser_is_given_a_sentence_and_closed(tmp_path: Path) -> None:
    deaf = Deaf()
    config = Config(ears={"engine": "sphinx"})
    assert looked(tmp_path, config, lambda: deaf)["recogniser"].found.startswith("deaf, as the settings say; ready")
    assert deaf.fed > 16_000
    assert deaf.closed


def test_a_model_of_whisper_that_is_not_there_is_a_problem_and_the_rest_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    config = Config(ears={"engine": "whisper", "model": "tiny.en"})
    found = looked(tmp_path, config, lambda: make_transcriber(config, Vocabulary()))
    assert found["recogniser"].status == "problem"
    assert "tiny.en is not on this machine" in found["recogniser"].found
    assert found["key phrases"].status == "ok"


@pytest.mark.parametrize(
    ("words", "status", "part"), [("", "note", "none"), ("---", "problem", "no words"), ("stop/7", "problem", "1e-20")]
)
def test_key_phrases_that_say_nothing_are_told(tmp_path: Path, words: str, status: str, part: str) -> None:
    row = looked(tmp_path, Config(ears={"stop_words": words}))["key phrases"]
    assert row.status == status
    assert part in row.found


def test_without_its_weights_voice_activity_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking() -> None:
        raise AudioError("voice activity needs the weights in faster-whisper, which is not installed")

    monkeypatch.setattr(ears_module, "Silero", lacking)
    assert looked(tmp_path)["voice activity"].status == "problem"
