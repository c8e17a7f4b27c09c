"""Both ends of a device in one file: aligned by the device's times, whole after a kill, never over another file."""

from __future__ import annotations

import os
import shutil
import wave
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from edgeagent.audio import StereoRecorder, WavWriter
from edgeagent.errors import AudioError

RATE_HZ = 16_000
LIMIT_S = 10


def channels(path: Path) -> np.ndarray:
    """Left and right, shape (2, samples), as the standard library reads them."""
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, RATE_HZ)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2).T / 32767


def played(
    recorder: StereoRecorder, sound: np.ndarray, *, in_hz: int, out_hz: int, late_s: float, in_step: bool
) -> None:
    """The loudspeaker plays a sound at ``out_hz``, the microphone hears it at ``in_hz``, both on one clock.

    A block of the loudspeaker is asked for ``late_s`` before it is heard. ``in_step``: the recorder is never behind.
    """
    seconds = len(sound) / RATE_HZ
    blocks = round(seconds * 100)
    times = np.arange(len(sound)) / RATE_HZ

    def block(number: int, rate_hz: int) -> np.ndarray:
        at = np.arange(rate_hz // 100) / rate_hz + number / 100
        return np.interp(at, times, sound).astype(np.float32)

    ahead = round(late_s * 100)
    for number in range(-ahead, blocks):
        if number + ahead < blocks:
            recorder.far(block(number + ahead, out_hz), 5.0 + (number + ahead) / 100)
        if number >= 0:
            recorder.near(block(number, in_hz), 5.0 + number / 100)
            while in_step and not recorder._queue.empty():
                os.sched_yield()


@pytest.mark.parametrize("in_step", [False, True])
@pytest.mark.parametrize(
    ("in_hz", "out_hz", "late_s"), [(16_000, 48_000, 0.0), (48_000, 48_000, 0.06), (44_100, 24_000, 0.2)]
)
def test_what_is_played_and_heard_at_once_stands_side_by_side(
    tmp_path: Path, in_hz: int, out_hz: int, late_s: float, in_step: bool
) -> None:
    t = np.arange(4 * RATE_HZ) / RATE_HZ
    sound = (0.5 * np.sin(2 * np.pi * (200 + 150 * t) * t)).astype(np.float32)
    recorder = StereoRecorder(tmp_path / "talk.wav", in_hz, out_hz)
    played(recorder, sound, in_hz=in_hz, out_hz=out_hz, late_s=late_s, in_step=in_step)
    recorder.close()
    left, right = channels(recorder.path)
    assert len(left) == pytest.approx(len(sound), abs=RATE_HZ // 50)
    middle = slice(RATE_HZ, 3 * RATE_HZ)
    lags = {lag: np.dot(left[middle], np.roll(right, lag)[middle]) for lag in range(-40, 41)}
    assert abs(max(lags, key=lags.__getitem__)) <= 1
    assert np.abs(left[middle] - right[middle]).max() < 0.1


def test_a_microphone_that_was_away_leaves_silence_and_the_rest_keeps_its_time(tmp_path: Path) -> None:
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None)
    tone = np.full(160, 0.5, np.float32)
    for number in [*range(100), *range(300, 400)]:
        recorder.near(tone, number / 100)
    recorder.close()
    left, right = channels(recorder.path)
    assert len(left) == pytest.approx(4 * RATE_HZ, abs=RATE_HZ // 10)
    assert np.abs(left[RATE_HZ * 3 // 2 : RATE_HZ * 5 // 2]).max() == 0
    assert left[-100:].min() > 0.4
    assert np.abs(right).max() == 0


def test_a_microphone_that_was_away_for_minutes_costs_the_disk_no_write_for_each_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    write = WavWriter.write
    monkeypatch.setattr(WavWriter, "write", lambda self, made: (writes.append(len(made)), write(self, made))[1])
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, RATE_HZ)
    tone = np.full(160, 0.5, np.float32)
    for number in [*range(100), *range(30_000, 30_100)]:
        recorder.far(tone, number / 100)
        recorder.near(tone, number / 100)
    recorder.close()
    assert not channels(recorder.path)[0][2 * RATE_HZ : 299 * RATE_HZ].any()
    assert sum(writes) == pytest.approx(301 * RATE_HZ, abs=RATE_HZ // 10)
    assert len(writes) < 1000


def test_a_file_that_is_there_is_never_overwritten_and_its_owner_alone_reads_it(tmp_path: Path) -> None:
    for name in ("talk.wav", "talk-2.wav", "talk-3.wav"):
        recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None)
        assert recorder.path == tmp_path / name
        recorder.close()
        recorder.close()
        assert recorder.path.stat().st_mode & 0o777 == 0o600


def test_while_it_records_the_file_is_whole_up_to_a_second(tmp_path: Path) -> None:
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None)
    seen = Event()
    settle = recorder._writer.settle
    recorder._writer.settle = lambda: (settle(), seen.set())  # type: ignore[method-assign]
    for number in range(110):
        recorder.near(np.full(160, 0.5, np.float32), number / 100)
    assert seen.wait(LIMIT_S)
    copy = shutil.copy(recorder.path, tmp_path / "killed.wav")
    assert len(channels(Path(copy))[0]) >= RATE_HZ
    recorder.close()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"talk\.wav can't be written: No such file"):
        StereoRecorder(tmp_path / "none" / "talk.wav", RATE_HZ, None)


def test_a_full_disk_ends_the_recording_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    ended = Event()
    made = os.open

    def full(path: object, *rest: int) -> int:
        return made("/dev/full" if str(path).endswith("talk.wav") else path, os.O_WRONLY)  # type: ignore[arg-type]

    monkeypatch.setattr("edgeagent.audio.stereo_recorder.os.open", full)
    (tmp_path / "talk.wav").symlink_to("/dev/full")
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None, on_end=lambda why: (told.append(why), ended.set()))
    for number in range(300):
        recorder.near(np.zeros(160, np.float32), number / 100)
    assert ended.wait(LIMIT_S)
    recorder.near(np.zeros(160, np.float32), 4.0)
    recorder.close()
    assert len(told) == 1
    assert "No space left on device" in told[0]


def test_a_recording_leaves_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    ended = Event()
    left = iter((10**9, 10**9, 150_000_000))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=next(left)))
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None, on_end=lambda why: (told.append(why), ended.set()))
    for number in range(400):
        recorder.near(np.full(160, 0.5, np.float32), number / 100)
    assert ended.wait(LIMIT_S)
    recorder.close()
    assert told == ["the disk has only 150 MB left"]
    assert RATE_HZ <= len(channels(recorder.path)[0]) <= 3 * RATE_HZ


def test_where_there_is_no_room_a_recording_is_over_before_it_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    ended = Event()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10**8))
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None, on_end=lambda why: (told.append(why), ended.set()))
    assert recorder.is_over
    assert ended.wait(LIMIT_S)
    recorder.close()
    assert told == ["the disk has only 100 MB left"]


def test_a_disk_that_does_not_keep_up_ends_the_recording(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = StereoRecorder(tmp_path / "talk.wav", RATE_HZ, None, on_end=told.append)
    stuck, write = Event(), recorder._writer.write
    recorder._writer.write = lambda samples: (stuck.wait(LIMIT_S), write(samples))  # type: ignore[method-assign]
    for number in range(2_100):
        recorder.near(np.zeros(160, np.float32), number / 100)
    stuck.set()
    recorder.close()
    assert told == ["the disk does not keep up"]
    assert len(channels(recorder.path)[0]) < RATE_HZ
