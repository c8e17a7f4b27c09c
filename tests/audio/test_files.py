"""Files and pipes as a device: the same calls as a sound card makes, in real time or as fast as it goes."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import FileDevice, Resampler, StoppableFile, WavWriter, read_wav
from edgeagent.errors import AudioError, ConfigError

LIMIT_S = 20


@pytest.fixture
def spoken(tmp_path: Path) -> Path:
    path = tmp_path / "in.wav"
    with WavWriter(path, 16_000) as writer:
        writer.write(np.linspace(-0.5, 0.5, 4_000, dtype=np.float32))
    return path


def test_a_file_is_read_block_by_block_and_silence_follows(spoken: Path) -> None:
    device = FileDevice(input=spoken, paced=False)
    taken: list[tuple[np.ndarray, float]] = []
    enough = threading.Event()

    def take(block: np.ndarray, at_s: float) -> None:
        taken.append((block, at_s))
        if len(taken) == 30:
            enough.set()

    device.start(take=take)
    assert enough.wait(LIMIT_S)
    device.stop()
    assert device.ended.is_set()
    assert (device.input_rate_hz, device.output_rate_hz) == (16_000, None)
    assert {block.shape for block, _ in taken} == {(160,)}
    assert [at for _, at in taken[:3]] == [0.0, 0.01, 0.02]
    sound = np.concatenate([block for block, _ in taken])
    assert np.allclose(sound[:4000], np.linspace(-0.5, 0.5, 4000), atol=0.001)
    assert not sound[4000:].any()


def test_the_clock_of_a_file_is_that_of_its_samples(tmp_path: Path) -> None:
    """A block of 22,050 Hz is no whole number of samples."""
    path = tmp_path / "in.wav"
    with WavWriter(path, 22_050) as writer:
        writer.write(np.zeros(22_050, np.float32))
    device = FileDevice(input=path, output=tmp_path / "out.wav", output_rate_hz=11_025, paced=False)
    heard, played = [], []
    enough = threading.Event()

    def take(block: np.ndarray, at_s: float) -> None:
        if at_s < 1:
            heard.append(len(block))
        else:
            enough.set()

    device.start(fill=lambda block, at_s: played.append(len(block)), take=take)
    assert enough.wait(LIMIT_S)
    device.stop()
    assert sum(heard) == 22_050
    assert sum(played[:100]) == 11_025


def test_what_is_played_is_written(tmp_path: Path) -> None:
    device = FileDevice(output=tmp_path / "out.wav", output_rate_hz=8_000, paced=False)
    done = threading.Event()

    def fill(block: np.ndarray, at_s: float) -> None:
        block[:] = at_s
        if at_s >= 0.5:
            done.set()

    device.start(fill=fill)
    assert done.wait(LIMIT_S)
    device.stop()
    device.stop()
    samples, rate_hz = read_wav(tmp_path / "out.wav")
    assert rate_hz == 8_000
    assert len(samples) >= 51 * 80
    assert samples[50 * 80] == pytest.approx(0.5, abs=0.001)


def test_a_paced_file_takes_its_time(spoken: Path) -> None:
    device = FileDevice(input=spoken)
    began_s = time.monotonic()
    device.start(take=lambda block, at_s: None)
    assert device.ended.wait(LIMIT_S)
    device.stop()
    assert time.monotonic() - began_s >= 0.24


def test_a_callback_that_raises_ends_it_and_is_told(spoken: Path) -> None:
    device = FileDevice(input=spoken, paced=False)

    def take(block: np.ndarray, at_s: float) -> None:
        raise ValueError("no room")

    device.start(take=take)
    assert device.ended.wait(LIMIT_S)
    with pytest.raises(AudioError, match="no room"):
        device.stop()


def test_files_that_can_t_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"none\.wav can't be read"):
        FileDevice(input=tmp_path / "none.wav")
    for output in (tmp_path / "no" / "out.wav", tmp_path):
        with pytest.raises(AudioError, match="can't be written"):
            FileDevice(output=output)


def test_a_device_that_was_never_started_leaves_no_file_and_overwrites_none(spoken: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.wav"
    there.write_bytes(b"of yesterday")
    for output in (tmp_path / "new.wav", there):
        device = FileDevice(input=spoken, output=output)
        assert device.output_rate_hz == 48_000
        device.stop()
    assert not (tmp_path / "new.wav").exists()
    assert there.read_bytes() == b"of yesterday"


@pytest.mark.parametrize(("from_hz", "to_hz"), [(44_100, 16_000), (48_000, 16_000), (16_000, 44_100), (22_050, 48_000)])
def test_a_stream_resampled_in_pieces_is_the_tone_that_it_was(from_hz: int, to_hz: int) -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(from_hz) / from_hz).astype(np.float32)
    resampler = Resampler(from_hz, to_hz)
    out = [resampler.process(part) for part in np.array_split(tone, 97)] + [resampler.process(tone[:0], last=True)]
    made = np.concatenate(out)
    assert abs(len(made) - to_hz) <= 2
    expected = np.sin(2 * np.pi * 440 * np.arange(len(made)) / to_hz)
    assert np.abs(made - expected)[500:-500].max() < 0.001


def test_equal_rates_pass_through() -> None:
    samples = np.ones(7, np.float32)
    assert Resampler(16_000, 16_000).process(samples) is samples


def test_a_file_that_ends_earlier_than_it_says_is_told(spoken: Path, caplog: pytest.LogCaptureFixture) -> None:
    spoken.write_bytes(spoken.read_bytes()[:-1000])
    device = FileDevice(input=spoken, paced=False)
    device.start(take=lambda block, at_s: None)
    assert device.ended.wait(LIMIT_S)
    device.stop()
    assert "ends earlier than it says" in caplog.text


def test_the_same_file_at_both_ends_is_refused_and_not_overwritten(spoken: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.wav"
    link.symlink_to(spoken)
    before = spoken.read_bytes()
    for output in (spoken, link):
        with pytest.raises(ConfigError, match="same file"):
            FileDevice(input=spoken, output=output)
    assert spoken.read_bytes() == before


def test_silence_comes_before_the_input(spoken: Path) -> None:
    blocks: list[np.ndarray] = []
    device = FileDevice(input=spoken, paced=False, silence_s=0.1)
    device.start(take=lambda block, at_s: blocks.append(block))
    assert device.ended.wait(LIMIT_S)
    device.stop()
    sound = np.concatenate(blocks)
    assert not sound[:1_600].any()
    assert np.allclose(sound[1_600:5_600], np.linspace(-0.5, 0.5, 4_000), atol=0.001)


def test_no_silence_comes_before_a_pipe(spoken: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.wav"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_bytes(spoken.read_bytes()), daemon=True)
    feeder.start()
    blocks: list[np.ndarray] = []
    device = FileDevice(input=pipe, paced=False, silence_s=0.1)
    device.start(take=lambda block, at_s: blocks.append(block))
    assert device.ended.wait(LIMIT_S)
    device.stop()
    feeder.join(LIMIT_S)
    assert np.concatenate(blocks)[0] == pytest.approx(-0.5, abs=0.001)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.wav"
    os.mkfifo(path)
    return path


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abcdef")
    file = StoppableFile(path)
    assert [file.read(4), file.read(4), file.read(4)] == [b"abcd", b"ef", b""]
    file.close()
    file.close()


def test_a_pipe_is_read_as_it_delivers(pipe: Path) -> None:
    writer = os.open(pipe, os.O_RDWR)
    file = StoppableFile(pipe)
    os.write(writer, b"ab")
    late = threading.Timer(0.05, os.write, (writer, b"cd"))
    late.start()
    assert file.read(4) == b"abcd"
    late.join()
    file.close()
    os.close(writer)


def test_a_reader_that_waits_is_stopped(pipe: Path) -> None:
    writer = os.open(pipe, os.O_RDWR)
    file = StoppableFile(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(file.read(4)), daemon=True)
    reader.start()
    file.stop()
    file.stop()
    reader.join(LIMIT_S)
    assert read == [b""]
    file.close()
    file.stop()
    os.close(writer)


def test_a_device_ends_though_its_pipe_stalls(pipe: Path, fixture_wav: bytes) -> None:
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, fixture_wav)
    device = FileDevice(input=pipe, paced=False)
    heard = threading.Event()
    device.start(take=lambda block, at_s: heard.set())
    assert heard.wait(LIMIT_S)
    ending = threading.Thread(target=device.stop, daemon=True)
    ending.start()
    ending.join(LIMIT_S)
    assert not ending.is_alive()
    os.close(writer)


@pytest.fixture
def fixture_wav() -> bytes:
    """The head of an endless WAV, and 50 ms of silence."""
    rate, width = 16_000, 2
    head = b"RIFF" + b"\xff" * 4 + b"WAVEfmt " + (16).to_bytes(4, "little") + (1).to_bytes(2, "little")
    head += (1).to_bytes(2, "little") + rate.to_bytes(4, "little") + (rate * width).to_bytes(4, "little")
    head += width.to_bytes(2, "little") + (8 * width).to_bytes(2, "little") + b"data" + b"\xff" * 4
    return head + bytes(rate * width // 20)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="Is a directory"):
        FileDevice(input=tmp_path)
