"""Recordings of voice tests, which are heard again: by the recogniser of now, by another one, with other thresholds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeagent.app import Vocabulary
from edgeagent.audio import Samples
from edgeagent.check import (
    Attempt,
    KeptUtterance,
    PlannedLine,
    Tally,
    VoiceRecordings,
    VoiceScore,
    better_thresholds,
    compared,
    delete_kept,
    heard_again,
    kept_attempts,
    kept_room,
    kept_tests,
    read_recordings,
)
from edgeagent.config import Config
from edgeagent.stt import RATE_HZ, RecognisedText
from edgeagent.testing import synthesised

COMMANDS = ("go to the kitchen", "turn left", "where are you", "look to the left")
NOISE = 3e-4


def said(text: str, voice: str = "slt") -> Samples:
    sound = synthesised(text, voice, RATE_HZ)
    pause = np.zeros(RATE_HZ // 2, np.float32)
    padded = np.concatenate((pause, 0.3 / np.abs(sound).max() * sound, pause))
    return (padded + np.random.default_rng(1).normal(0, NOISE, len(padded))).astype(np.float32)


def taken(line: PlannedLine, voice: str = "slt") -> KeptUtterance:
    return KeptUtterance(Attempt(line=line, parts=1, person="anna"), said(line.text, voice))


@pytest.fixture(scope="module")
def recorded() -> list[KeptUtterance]:
    lines = [PlannedLine(text, "command") for text in COMMANDS]
    stops = [taken(PlannedLine("stop", "stop", "stop"), voice) for voice in ("slt", "rms", "awb")]
    return [*(taken(line) for line in lines), *stops, taken(PlannedLine("the bus stop is far away", "talk", "stop"))]


def kept(folder: Path, recorded: list[KeptUtterance], person: str = "anna") -> VoiceRecordings:
    recordings = VoiceRecordings(lambda told: None, person=person, among=folder)
    for one in recorded:
        recordings.keep(one.sound, replace(one.attempt, person=person), RecognisedText("something else"))
    return recordings


def test_kept_recordings_are_heard_with_the_settings_of_now(recorded: list[KeptUtterance], tmp_path: Path) -> None:
    kept(tmp_path, recorded)
    (test,) = kept_tests(among=tmp_path)
    read = read_recordings(kept_attempts(test))
    assert [one.attempt.line for one in read] == [one.attempt.line for one in recorded]
    score = VoiceScore(heard_again(read, Config(), Vocabulary(phrases=COMMANDS)))
    assert score.right("command").count >= 3
    assert score.right("stop").count == 3
    assert score.false_trips.count == 0


def test_what_was_not_noticed_stays_unheard(recorded: list[KeptUtterance]) -> None:
    unnoticed = replace(recorded[0], attempt=replace(recorded[0].attempt, parts=0))
    (one,) = heard_again([unnoticed], Config(), Vocabulary(phrases=COMMANDS))
    assert (one.heard, one.right) == ("", False)


def test_a_threshold_with_fewer_false_alarms_is_found_near_the_present_one(recorded: list[KeptUtterance]) -> None:
    alike = [taken(PlannedLine(text, "command")) for text in ("the shop is at the top", "turn left", "where are you")]
    stops = [one for one in recorded if one.attempt.line.kind == "stop"]
    (found,) = better_thresholds([*stops, *alike], Config(ears={"stop_words": "stop/1e-50"}))
    assert found.phrase == "stop"
    assert found.heard == found.heard_now == Tally(3, 3)
    assert (found.alarms, found.alarms_now) == (0, 1)
    assert 1e-50 < found.value <= 1e-5


def test_one_recording_of_a_word_tells_nothing_about_its_threshold(recorded: list[KeptUtterance]) -> None:
    assert better_thresholds(recorded[:5], Config(ears={"stop_words": "stop/1e-50"})) == []


def test_recognisers_are_compared_on_the_same_recordings(recorded: list[KeptUtterance], checkout: Path) -> None:
    pytest.importorskip("faster_whisper")
    config = Config(ears={"engine": "sphinx", "model": str(checkout / "tests/stt/whisper_fixture")})
    attempts = [replace(one.attempt, heard=one.attempt.line.text, raw=one.attempt.line.text) for one in recorded]
    own, both, other = compared(recorded, config, Vocabulary(phrases=COMMANDS), attempts)
    assert (own.name, both.name, other.name) == ("sphinx", "fused", "whisper")
    assert (own.words.count, own.words.of) == (0, other.words.of)
    assert other.decode_s is not None
    missing = Config(ears={"engine": "sphinx", "model": "small.en"})
    assert compared(recorded, missing, Vocabulary(phrases=COMMANDS), attempts) == []


def test_each_person_s_recordings_can_be_deleted(recorded: list[KeptUtterance], tmp_path: Path) -> None:
    kept(tmp_path, recorded[:2], "anna")
    ben = kept(tmp_path, recorded[:1], "Ben / B.")
    deleted, left = delete_kept(kept_tests("ANNA", among=tmp_path))
    assert ([test.count for test in deleted], left) == ([2], {})
    assert [test.folder for test in kept_tests(among=tmp_path)] == [ben.folder]
    assert [test.count for test in delete_kept(kept_tests("ben / b.", among=tmp_path))[0]] == [1]
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}/*"))


def test_broken_lines_and_files_are_left_out(recorded: list[KeptUtterance], tmp_path: Path) -> None:
    folder = kept(tmp_path, recorded[:2]).folder
    with (folder / "transcripts.jsonl").open("a") as file:
        file.write('not json\n[1]\n{"file": "0001.wav"}\n')
    (folder / "0002.wav").write_bytes(b"no sound")
    (folder / "room.json").write_text("{}")
    (test,) = kept_tests(among=tmp_path)
    assert [one.attempt.line.text for one in read_recordings(kept_attempts(test))] == [COMMANDS[0]]
    assert kept_room(test) is None


def test_the_ears_benchmark_reads_them(
    recorded: list[KeptUtterance], tmp_path: Path, checkout: Path, monkeypatch
) -> None:
    monkeypatch.syspath_prepend(str(checkout / "scripts" / "lab"))
    from bench import ears_recordings

    found, wrong = ears_recordings.recordings(kept(tmp_path, recorded[:2]).folder)
    assert ([one.text for one in found], wrong) == (list(COMMANDS[:2]), [])
