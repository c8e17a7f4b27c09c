"""How fast Whisper is here, and with how many threads, is measured once, and remembered."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeagent.stt import MOST_S, Speed, WhisperModel, WhisperOptions, known_speed, speed

pytest.importorskip("faster_whisper")
pytestmark = pytest.mark.timeout(60)
FOLDER = Path(__file__).parent / "whisper_fixture"
OPTIONS = WhisperOptions(threads=1, beam_size=2)


def test_it_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_speed(FOLDER, OPTIONS, cache=tmp_path) is None
    measured = speed(FOLDER, OPTIONS, cache=tmp_path)
    assert measured.seconds > 0
    assert measured.threads == 1
    kept = Speed(pytest.approx(measured.seconds, abs=0.001), 1)
    assert known_speed(FOLDER, OPTIONS, cache=tmp_path) == kept

    def again(*_: Any) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(WhisperModel, "encode", again)
    assert speed(FOLDER, OPTIONS, cache=tmp_path) == kept


@pytest.mark.parametrize(("slower", "threads"), [(1.0, 1), (1.05, 1), (2.0, 4), (0.5, 1)])
def test_more_threads_are_taken_where_they_are_worth_their_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slower: float, threads: int
) -> None:
    """Args: ``slower``: the time with half as many threads, beside that with all of them."""
    tried = []

    def took(folder: Path, options: WhisperOptions, threads: int) -> Speed:
        tried.append(threads)
        return Speed(0.5 * slower ** (len(tried) - 1), threads)

    monkeypatch.setattr("edgeagent.stt.whisper_speed._measured", took)
    monkeypatch.setattr("edgeagent.stt.whisper_speed.most_threads", lambda: 4)
    assert speed(FOLDER, replace(OPTIONS, threads=None), cache=tmp_path).threads == threads
    assert tried == ([4, 2] if threads == 4 else [4, 2, 1])
    tried.clear()
    assert speed(FOLDER, replace(OPTIONS, threads=3), cache=tmp_path).threads == 3
    assert tried == [3]


def test_another_model_or_window_is_another_measurement(tmp_path: Path) -> None:
    speed(FOLDER, OPTIONS, cache=tmp_path)
    assert known_speed(tmp_path / "base", OPTIONS, cache=tmp_path) is None
    assert known_speed(FOLDER, replace(OPTIONS, window_s=30), cache=tmp_path) is None
    assert known_speed(FOLDER, replace(OPTIONS, threads=None), cache=tmp_path) is None


def test_a_machine_that_was_too_slow_is_measured_again_the_next_day(tmp_path: Path) -> None:
    speed(FOLDER, OPTIONS, cache=tmp_path)
    [file] = tmp_path.iterdir()
    [(key, entry)] = json.loads(file.read_text()).items()
    for seconds, age_s, known in ((MOST_S + 1, 60, True), (MOST_S + 1, 90_000, False), (MOST_S / 2, 1e7, True)):
        kept = {"seconds": seconds, "threads": 1, "measured_s": entry["measured_s"] - age_s}
        file.write_text(json.dumps({key: kept}), encoding="utf-8")
        assert (known_speed(FOLDER, OPTIONS, cache=tmp_path) == Speed(seconds, 1)) is known


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with one measurement."""
    cache = tmp_path_factory.mktemp("measured")
    speed(FOLDER, OPTIONS, cache=cache)
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
        '{"%s": {"seconds": NaN, "threads": 1, "measured_s": 0}}',
        '{"%s": {"seconds": 1, "threads": 0, "measured_s": 0}}',
        '{"%s": {"seconds": 1, "threads": Infinity, "measured_s": 0}}',
        '{"%s": {"seconds": 1, "measured_s": 0}}',
    ],
)
def test_a_damaged_cache_is_no_measurement(measured: Path, text: str) -> None:
    [file] = measured.iterdir()
    whole = file.read_text()
    [key] = json.loads(whole)
    file.write_text(text.replace("%s", key), encoding="utf-8")
    assert known_speed(FOLDER, OPTIONS, cache=measured) is None
    file.write_text(whole, encoding="utf-8")


@pytest.mark.parametrize("text", ["{", '{"a": 1}'])
def test_where_the_cache_is_damaged_it_is_measured_again(tmp_path: Path, text: str) -> None:
    speed(FOLDER, OPTIONS, cache=tmp_path)
    [file] = tmp_path.iterdir()
    file.write_text(text, encoding="utf-8")
    assert speed(FOLDER, OPTIONS, cache=tmp_path).seconds > 0
    assert known_speed(FOLDER, OPTIONS, cache=tmp_path)


def test_where_nothing_can_be_kept_it_is_measured_each_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"")
    with caplog.at_level(logging.INFO, "edgeagent.stt"):
        assert speed(FOLDER, OPTIONS, cache=tmp_path / "file").seconds > 0
    assert "can't be kept" in caplog.text
