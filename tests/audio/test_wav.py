"""WAV files of all kinds, whole and broken, from files and from pipes."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import threading
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.audio import WavReader, WavWriter, read_wav, whole_wav
from edgeagent.errors import AudioError

RAMP = np.linspace(-0.9, 0.9, 1000, dtype=np.float32)


def riff(
    data: bytes, *, code: int = 1, channels: int = 1, rate_hz: int = 16_000, bits: int = 16, size: int | None = None
) -> bytes:
    """A WAV with a chunk of odd length before its data."""
    frame = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, rate_hz, rate_hz * frame, frame, bits)
    head = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form
    other = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    return head + other + b"data" + struct.pack("<I", len(data) if size is None else size) + data


def encoded(samples: np.ndarray, code: int, bits: int) -> bytes:
    if code == 3:
        return samples.astype(f"<f{bits // 8}").tobytes()
    if bits == 8:
        return (samples * 127 + 128).astype(np.uint8).tobytes()
    whole = (samples.astype(np.float64) * (2 ** (bits - 1) - 1)).astype("<i4")
    if bits == 24:
        return whole.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    return whole.astype(f"<i{bits // 8}").tobytes()


@pytest.mark.parametrize(("code", "bits"), [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)])
@pytest.mark.parametrize("rate_hz", [8_000, 44_100, 96_000])
def test_every_kind_of_sample_is_read(code: int, bits: int, rate_hz: int) -> None:
    reader = WavReader(io.BytesIO(riff(encoded(RAMP, code, bits), code=code, bits=bits, rate_hz=rate_hz)), "x.wav")
    assert (reader.rate_hz, reader.channels) == (rate_hz, 1)
    assert np.allclose(reader.read(2000), RAMP, atol=0.02 if bits == 8 else 0.001)
    assert len(reader.read(10)) == 0
    assert not reader.truncated


def test_channels_become_one() -> None:
    data = encoded(np.stack([RAMP, RAMP * 0.5], axis=1).reshape(-1), 1, 16)
    for channel, factor in ((None, 0.75), (0, 1.0), (1, 0.5)):
        reader = WavReader(io.BytesIO(riff(data, channels=2)), "x.wav", channel=channel)
        assert np.allclose(reader.read(1000), RAMP * factor, atol=0.001)
    with pytest.raises(AudioError, match="channel 2 is not one of them"):
        WavReader(io.BytesIO(riff(data, channels=2)), "x.wav", channel=2)


def test_the_standard_library_reads_what_is_written_and_the_other_way_round(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    with WavWriter(path, 22_050) as writer:
        writer.write(RAMP)
        writer.write(RAMP * 2)
    with wave.open(str(path)) as read:
        assert (read.getframerate(), read.getnchannels(), read.getsampwidth(), read.getnframes()) == (
            22_050,
            1,
            2,
            2000,
        )
    samples, rate_hz = read_wav(path)
    assert rate_hz == 22_050
    assert np.allclose(samples[:1000], RAMP, atol=0.001)
    assert np.abs(samples).max() <= 1.0


def test_a_file_that_was_cut_gives_what_it_has() -> None:
    reader = WavReader(io.BytesIO(riff(encoded(RAMP, 1, 16))[:-501]), "x.wav")
    assert len(reader.read(2000)) == 749
    assert reader.truncated


def test_a_pipe_without_a_length_is_read_to_its_end() -> None:
    end, begin = os.pipe()

    def write() -> None:
        with os.fdopen(begin, "wb") as pipe:
            for part in (riff(b"", size=0xFFFFFFFF), *[encoded(RAMP, 1, 16)[i : i + 77] for i in range(0, 2000, 77)]):
                pipe.write(part)
                pipe.flush()

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(end, "rb") as pipe:
        reader = WavReader(pipe, "-")
        samples = np.concatenate([reader.read(160) for _ in range(8)])
    writer.join(10)
    assert np.allclose(samples, RAMP, atol=0.001)
    assert not reader.truncated


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"hello, I am a text", "is no WAV file"),
        (b"RIFF\0\0\0\0AVI ", "another kind of RIFF"),
        (b"RIFF\0\0\0\0WAVE", "ends before its data"),
        (b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd", "before its format"),
        (riff(b"", code=85), "format 85"),
        (riff(b"", bits=12), "12 bits"),
        (riff(b"", rate_hz=0), "0 Hz"),
        (riff(b"", channels=0), "0 channels"),
    ],
)
def test_what_is_no_wav_is_an_error_that_says_so(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "x.wav"
    path.write_bytes(content)
    with pytest.raises(AudioError, match=told):
        read_wav(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"none\.wav can't be read: No such file"):
        read_wav(tmp_path / "none.wav")


@given(st.binary(max_size=200), st.integers(0, 60))
def test_damage_anywhere_is_an_audio_error_or_finite_samples(noise: bytes, at: int) -> None:
    content = riff(encoded(RAMP[:50], 1, 16))
    broken = content[:at] + noise + content[at + len(noise) :]
    try:
        samples = WavReader(io.BytesIO(broken), "x.wav").read(500)
    except AudioError:
        return
    assert np.isfinite(samples).all()


def test_a_long_chunk_before_the_sound_is_passed_over() -> None:
    """A picture of an album, for example."""
    content = riff(encoded(RAMP, 1, 16))
    at = content.index(b"LIST")
    picture = b"id3 " + struct.pack("<I", 3_000_001) + b"\xff" * 3_000_002
    assert np.allclose(WavReader(io.BytesIO(content[:at] + picture + content[at:]), "x").read(1000), RAMP, atol=0.001)


@pytest.mark.parametrize("size", [0x7FFFFFFF, 0xFFFFFFFF - 36, 0xFFFFFFFF])
def test_a_length_that_a_pipe_could_not_know_is_none(size: int) -> None:
    reader = WavReader(io.BytesIO(riff(encoded(RAMP, 1, 16), size=size)), "-")
    assert len(reader.read(2000)) == 1000
    assert not reader.truncated


def test_samples_that_are_too_large_or_none_are_made_usable() -> None:
    data = np.array([1e300, -1e300, np.inf, -np.inf, np.nan, 3.0, 0.25, 0.25])
    reader = WavReader(io.BytesIO(riff(data.astype("<f8").tobytes(), code=3, bits=64, channels=2)), "x.wav")
    assert reader.read(10).tolist() == [0.0, 0.0, 0.5, 0.25]


def test_a_full_disk_is_an_audio_error_and_closing_after_it_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "full.wav"
    path.symlink_to("/dev/full")
    writer = WavWriter(path, 16_000)
    with pytest.raises(AudioError, match=r"full\.wav can't be written: No space left"):
        writer.write(np.zeros(100_000, np.float32))
    with contextlib.suppress(AudioError):
        writer.close()
    writer.close()


def test_what_is_appended_to_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    with path.open("ab") as stream, WavWriter(stream, 16_000) as writer:
        writer.write(RAMP)
    content = path.read_bytes()
    assert content[:10] == b"beforeRIFF"
    assert content.count(b"RIFF") == 1
    with path.open("r+b") as stream:
        stream.seek(6)
        with WavWriter(stream, 16_000) as writer:
            writer.write(RAMP[:10])
    content = path.read_bytes()
    assert content[:10] == b"beforeRIFF"
    reader = WavReader(io.BytesIO(content[6:]), "x")
    assert len(reader.read(2000)) == 10


# --- files that are whole or not there --------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, b"before"])
@pytest.mark.parametrize("error", [AudioError, KeyboardInterrupt])
def test_an_error_leaves_what_stood_there_before(
    tmp_path: Path, before: bytes | None, error: type[BaseException]
) -> None:
    path = tmp_path / "x.wav"
    if before is not None:
        path.write_bytes(before)

    def write() -> None:
        with whole_wav(path, 16_000) as writer:
            writer.write(RAMP)
            raise error

    with pytest.raises(error):
        write()
    left = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert left == ({} if before is None else {"x.wav": before})


def test_a_whole_file_keeps_the_mode_and_the_link_of_the_one_before(tmp_path: Path) -> None:
    path, link = tmp_path / "x.wav", tmp_path / "link.wav"
    path.write_bytes(b"before")
    path.chmod(0o640)
    link.symlink_to("x.wav")
    with whole_wav(link, 16_000) as writer:
        writer.write(RAMP)
    assert (len(read_wav(path)[0]), path.stat().st_mode & 0o777, link.is_symlink()) == (1000, 0o640, True)
    assert {each.name for each in tmp_path.iterdir()} == {"x.wav", "link.wav"}


def test_a_pipe_gets_a_whole_file_as_it_grows(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.wav")
    reader = os.open(tmp_path / "pipe.wav", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_wav(tmp_path / "pipe.wav", 16_000) as writer:
            writer.write(RAMP)
        assert os.read(reader, 10_000).startswith(b"RIFF")
    finally:
        os.close(reader)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe.wav"]


def test_a_whole_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(AudioError, match=r"no/x\.wav can't be written: No such file"),
        whole_wav(tmp_path / "no/x.wav", 1),
    ):
        pass
    (tmp_path / "x.wav").mkdir()
    with pytest.raises(AudioError, match=r"x\.wav can't be written: Is a directory"), whole_wav(tmp_path / "x.wav", 1):
        pass
