"""How fast Whisper is here is measured once, and remembered."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeagent.stt import MOST_S, WhisperModel, WhisperOptions, cost, known_cost, open_model

pytest.importorskip("faster_whisper")
pytestmark = pytest.mark.timeout(60)
FOLDER = Path(__file__).parent / "whisper_fixture"
OPTIONS = WhisperOptions(threads=1, beam_size=2)


@pytest.fixture(scope="module")
def model() -> WhisperModel:
    return open_model(FOLDER, OPTIONS)


def test_it_is_measured_once(model: WhisperModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_cost(FOLDER, OPTIONS, cache=tmp_path) is None
    seconds = cost(model, FOLDER, OPTIONS, cache=tmp_path)
    assert seconds > 0
    assert known_cost(FOLDER, OPTIONS, cache=tmp_path) == pytest.approx(seconds, abs=0.001)

    def again(*_: Any) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(model, "encode", again)
    assert cost(model, FOLDER, OPTIONS, cache=tmp_path) == pytest.approx(seconds, abs=0.001)


def test_another_model_or_window_is_another_measurement(model: WhisperModel, tmp_path: Path) -> None:
    cost(model, FOLDER, OPTIONS, cache=tmp_path)
    assert known_cost(tmp_path / "base", OPTIONS, cache=tmp_path) is None
    assert known_cost(FOLDER, replace(OPTIONS, window_s=30), cache=tmp_path) is None


def test_a_machine_that_was_too_slow_is_measured_again_the_next_day(model: WhisperModel, tmp_path: Path) -> None:
    cost(model, FOLDER, OPTIONS, cache=tmp_path)
    [file] = tmp_path.iterdir()
    [(key, entry)] = json.loads(file.read_text()).items()
    for seconds, age_s, known in ((MOST_S + 1, 60, True), (MOST_S + 1, 90_000, False), (MOST_S / 2, 1e7, True)):
        kept = {"seconds": seconds, "measured_s": entry["measured_s"] - age_s}
        file.write_text(json.dumps({key: kept}), encoding="utf-8")
        assert (known_cost(FOLDER, OPTIONS, cache=tmp_path) == seconds) is known


@pytest.fixture(scope="module")
def measured(model: WhisperModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with one measurement."""
    cache = tmp_path_factory.mktemp("measured")
    cost(model, FOLDER, OPTIONS, cache=cache)
    return cache


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a": 1}',
        "null",
        '{"%s": {"seconds": "fast"}}',
        '{"%s": 3}',
        '{"%s": {"seconds": NaN, "measured_s": 0}}',
    ],
)
def test_a_damaged_cache_is_no_measurement(measured: Path, text: str) -> None:
    [file] = measured.iterdir()
    whole = file.read_text()
    [key] = json.loads(whole)
    file.write_text(text.replace("%s", key), encoding="utf-8")
    assert known_cost(FOLDER, OPTIONS, cache=measured) is None
    file.write_text(whole, encoding="utf-8")


@pytest.mark.parametrize("text", ["{", '{"a": 1}'])
def test_where_the_cache_is_damaged_it_is_measured_again(model: WhisperModel, tmp_path: Path, text: str) -> None:
    cost(model, FOLDER, OPTIONS, cache=tmp_path)
    [file] = tmp_path.iterdir()
    file.write_text(text, encoding="utf-8")
    assert cost(model, FOLDER, OPTIONS, cache=tmp_path) > 0
    assert known_cost(FOLDER, OPTIONS, cache=tmp_path)


def test_where_nothing_can_be_kept_it_is_measured_each_time(
    model: WhisperModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with caplog.at_level(logging.INFO, "edgeagent.stt"):
        assert cost(model, FOLDER, OPTIONS, cache=tmp_path / "file") > 0
    assert "can't be kept" in caplog.text
