"""Folders of voice tests: their names and modes, failures while they are written, and deleting them."""

import errno
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import WavWriter
from edgeagent.check import Attempt, PlannedLine, VoiceRecordings, delete_kept, kept_tests
from edgeagent.stt import RATE_HZ, RecognisedText, Recordings

SOUND = np.full(RATE_HZ // 10, 0.1, np.float32)
TOLD = RecognisedText("turn left")


def recordings(root: Path, person: str = "anna", count: int = 1) -> VoiceRecordings:
    kept = VoiceRecordings(lambda told: None, person=person, among=root)
    for _ in range(count):
        kept.keep(SOUND, Attempt(line=PlannedLine("turn left", "command"), parts=1, person=person), TOLD)
    return kept


def test_the_folder_is_there_before_the_first_recording_and_goes_without_any(tmp_path: Path) -> None:
    kept = recordings(tmp_path / "root", count=0)
    kept.begin()
    assert [test.person for test in kept_tests(among=tmp_path / "root")] == ["anna"]
    kept.close()
    assert list(tmp_path.iterdir()) == []
    kept = recordings(tmp_path / "root")
    kept.close()
    assert (kept.folder / "0001.wav").exists()


@pytest.mark.parametrize("person", ["a" * 300, "ä" * 300, "😀" * 300, "語" * 300])
def test_a_long_name_is_cut_in_the_folder_s_name_alone(person: str, tmp_path: Path) -> None:
    kept = recordings(tmp_path, person)
    assert len(os.fsencode(kept.folder.name)) < 80
    assert kept_tests(person, among=tmp_path)[0].count == 1


def test_tests_of_one_second_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda form: "2026-01-02-030405")
    folders = {recordings(tmp_path).folder.name for _ in range(3)}
    assert folders == {"2026-01-02-030405-anna", "2026-01-02-030405-anna-2", "2026-01-02-030405-anna-3"}
    assert [test.count for test in kept_tests("anna", among=tmp_path)] == [1, 1, 1]


def test_recordings_are_found_by_their_person_without_any_line(tmp_path: Path) -> None:
    kept = recordings(tmp_path)
    (kept.folder / "transcripts.jsonl").write_text("")
    (test,) = kept_tests("anna", among=tmp_path)
    assert test.person == "anna"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_recording_without_its_line_is_removed(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    kept = Recordings(tmp_path, told.append)

    def fail(*arguments: object, **options: object) -> str:
        assert (tmp_path / "0001.wav").stat().st_size > 44
        raise error

    monkeypatch.setattr(json, "dumps", fail)
    if isinstance(error, OSError):
        assert kept.keep(SOUND, TOLD) == ""
        assert "No space left" in told[0]
    else:
        with pytest.raises(KeyboardInterrupt):
            kept.keep(SOUND, TOLD)
    assert list(tmp_path.glob("*.wav")) == []


def test_another_program_s_recording_is_not_overwritten(tmp_path: Path) -> None:
    first, second = Recordings(tmp_path), Recordings(tmp_path)
    assert [first.keep(SOUND, TOLD), second.keep(SOUND, TOLD)] == ["0001.wav", "0002.wav"]


def test_files_that_are_there_get_the_mode_of_their_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "transcripts.jsonl").touch(0o644)
    Recordings(tmp_path).keep(SOUND, TOLD)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_links_are_left_out(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    kept = recordings(root)
    elsewhere.mkdir()
    with WavWriter(elsewhere / "0001.wav", RATE_HZ) as writer:
        writer.write(SOUND)
    (root / "0-link").symlink_to(elsewhere)
    assert [test.folder for test in kept_tests(among=root)] == [kept.folder]
    assert delete_kept(kept_tests(among=root))[1] == {}
    assert (elsewhere / "0001.wav").exists()


def test_deleting_goes_on_after_a_failure_and_names_what_is_left(tmp_path: Path) -> None:
    stuck, other = recordings(tmp_path, "anna"), recordings(tmp_path, "ben")
    tests = kept_tests(among=tmp_path)
    (stuck.folder / "0002.wav").mkdir()  # which no unlink removes, not even root's
    deleted, left = delete_kept(tests)
    assert [test.folder for test in deleted] == [other.folder]
    assert list(left) == [stuck.folder]
    assert [test.person for test in kept_tests("anna", among=tmp_path)] == ["anna"]
