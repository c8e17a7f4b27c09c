"""Files and pipes that can be stopped: what a pipe never delivers keeps nobody waiting."""

import os
import threading
from pathlib import Path

import pytest

from edgeagent.audio import FileDevice, StoppableFile
from edgeagent.errors import AudioError

LIMIT_S = 20


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
