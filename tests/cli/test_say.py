"""``edgeagent say``: on a real sound server, and into files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import read_wav
from tests.audio.pulse import ASOUND, Pulse, missing
from tests.robot.bases import until

sound = pytest.mark.skipif(missing() is not None, reason=str(missing()))
SILENCE = 10 ** (-50 / 20)


@pytest.fixture
def wav(in_process, edgeagent, monkeypatch) -> Callable[..., np.ndarray]:
    """Says something into a file, and returns its samples."""

    def say(*arguments: object, stdin: bytes = b"") -> np.ndarray:
        read, write = os.pipe()
        with os.fdopen(write, "wb") as pipe:
            pipe.write(stdin)  # less than a pipe holds
        with os.fdopen(read) as pipe:
            monkeypatch.setattr("sys.stdin", pipe)
            done = in_process("say", "--output", "out.wav", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        samples, rate_hz = read_wav(edgeagent.cwd / "out.wav")
        assert rate_hz == (22_050 if "--voice" in arguments else 24_000)
        return samples

    return say


def test_a_text_becomes_a_file(wav) -> None:
    short, long = wav("hello"), wav("hello", "there,", "how", "are", "you")
    assert 0.2 < len(short) / 24_000 < 1.5
    assert len(long) > len(short)
    assert np.abs(long).max() > 0.1


def test_numbers_are_spoken_as_words_and_markdown_is_not_spoken(wav) -> None:
    assert np.array_equal(wav("**Yes**, `21 °C`."), wav("Yes, twenty-one degrees Celsius."))


def test_a_pipe_is_spoken(wav) -> None:
    assert np.array_equal(wav(stdin=b"One. And two.\n"), wav("One. And two."))


def test_settings_are_heard(wav, edgeagent) -> None:
    usual = wav("this is a test")
    quick = wav("--rate", 300, "--volume", 20, "this is a test")
    assert len(quick) < len(usual)
    assert np.abs(quick).max() < np.abs(usual).max() / 2
    (edgeagent.home / "s.toml").write_text("[speech]\nrate_wpm = 300\n")
    assert len(wav("--config", edgeagent.home / "s.toml", "this is a test")) < len(usual)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--voice", "klingon-x", "hi"], 4, "klingon-x"),
        (["--voice", "no.onnx", "hi"], 4, "no.onnx"),
        (["--rate", "5000", "hi"], 2, "from 80 to 450"),
        (["   "], 2, "the text is empty"),
        (["--output", "x.wav"], 2, "there is nothing to say: stdin is empty"),
        (["--output", "x.mp3", "hello"], 2, "x.mp3: sound is read from WAV files"),
        (["--output", "no/such/folder/x.wav", "hi"], 4, "can't be written"),
        (["--voice", "en", "--output", "full.wav", "hi"], 4, "full.wav can't be written: No space left"),
        (["--voice", "text.md", "hi"], 4, "text.md is no voice: the file of a Piper voice ends in .onnx"),
        (["--voice", "heart", "--pitch", "20", "hi"], 4, "the voice heart has no pitch; espeak-ng's voices have"),
        (["--voice", "heart", "--rate", "400", "hi"], 4, "a Hibari voice has 88 to 350"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    in_process, edgeagent, monkeypatch, arguments: list[str], code: int, told: str
) -> None:
    (edgeagent.cwd / "full.wav").symlink_to("/dev/full")
    (edgeagent.cwd / "text.md").write_text("hello")
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        done = in_process("say", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("before", [None, b"before"])
def test_what_fails_in_the_middle_leaves_the_file_that_stood_there_or_none(edgeagent, before: bytes | None) -> None:
    path = edgeagent.cwd / "out.wav"
    if before is not None:
        path.write_bytes(before)
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, -1))\n"
    full += "sys.dont_write_bytecode = True\n"  # Python keeps what it could write of a compiled module
    done = edgeagent("say", "--voice", "en", "--output", "out.wav", "one two three " * 40, before=full)
    assert (done.returncode, done.stderr) == (4, "error: out.wav can't be written: File too large\n")
    assert [each.name for each in edgeagent.cwd.iterdir()] == ([] if before is None else ["out.wav"])
    assert before is None or path.read_bytes() == before


def test_numbers_are_said_in_the_language_of_the_voice(edgeagent) -> None:
    """Two processes, because espeak-ng says the same text a little differently when it says it again."""
    digits, words = (
        edgeagent.start("say", "--voice", "de", "--output", "-", f"{count} Kisten") for count in ("21", "einundzwanzig")
    )
    (sound, told), in_words = (process.communicate(timeout=60) for process in (digits, words))
    assert (sound[:4], told) == (b"RIFF", b"")
    assert in_words == (sound, b"")


def test_a_file_may_be_called_wav_in_capitals(in_process, edgeagent) -> None:
    done = in_process("say", "--voice", "en", "--output", "OUT.WAV", "hello")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(read_wav(edgeagent.cwd / "OUT.WAV")[0]) > 2000


def test_garbage_in_a_pipe_is_no_reason_to_fail(wav) -> None:
    noise = np.random.default_rng(5).integers(0, 256, 4_500).astype(np.uint8).tobytes()
    assert len(wav(stdin=noise + b" c# g# F++ "))


def test_what_is_appended_to_a_file_leaves_it_alone(edgeagent, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    with (
        path.open("ab") as target,
        edgeagent.start("say", "--voice", "en", "--output", "-", "hi", stdout=target) as process,
    ):
        assert process.wait(60) == 0
    assert path.read_bytes().startswith(b"beforeRIFF")


def test_a_full_stdout_is_told_in_a_line(edgeagent) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        edgeagent.start("say", "--voice", "en", "--output", "-", "hi", stdout=full) as process,
    ):
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert err.decode().splitlines() == ["error: stdout can't be written: No space left on device"]


def test_text_without_a_word_is_silence(wav) -> None:
    assert len(wav("🎉 ```\ncode\n```")) == 0


@sound
@pytest.mark.real_time
def test_it_is_heard_from_the_loudspeaker(edgeagent) -> None:
    with Pulse() as pulse:
        recorder = pulse.recorder()
        assert recorder.stdout is not None
        begun = recorder.stdout.read(4800)
        recorded = [begun]  # read all the time: a full pipe would stop the recorder
        reader = threading.Thread(target=lambda: recorded.append(recorder.stdout.read()))
        reader.start()
        done = edgeagent("say", "-v", "I am back at the dock", env=pulse.environment | {"HOME": str(edgeagent.home)})
        assert done.returncode == 0, done.stderr
        assert "under-runs" in done.stderr
        recorder.terminate()
        reader.join(20)
        recorder.stdout.close()
        heard = np.frombuffer(b"".join(recorded), "<i2") / 32768
    loud = np.flatnonzero(np.abs(heard) > SILENCE)
    assert 1.0 < (loud[-1] - loud[0]) / 48_000 < 3.0


@sound
@pytest.mark.real_time
def test_ctrl_c_ends_it_in_the_middle(edgeagent) -> None:
    with Pulse() as pulse:
        recorder = pulse.recorder()
        assert recorder.stdout is not None
        argv = ["say", "one two three four five six seven eight nine ten " * 2]
        with edgeagent.start(*argv, env=pulse.environment | {"HOME": str(edgeagent.home)}) as process:
            while np.abs(np.frombuffer(recorder.stdout.read(4800), "<i2")).max() < 1000:
                assert process.poll() is None
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=20)
        recorder.terminate()
        recorder.stdout.close()
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


@sound
@pytest.mark.real_time
def test_a_server_that_dies_in_the_middle_is_told_once_and_the_rest_is_said(edgeagent) -> None:
    with Pulse() as pulse:
        recorder = pulse.recorder()
        assert recorder.stdout is not None
        argv = ["say", "one two three four five six seven eight nine ten " * 2]
        with edgeagent.start(*argv, env=pulse.environment | {"HOME": str(edgeagent.home)}) as process:
            while np.abs(np.frombuffer(recorder.stdout.read(4800), "<i2")).max() < 1000:
                assert process.poll() is None
            recorder.stdout.close()
            pulse.kill()
            assert process.stderr is not None
            lost = process.stderr.readline()
            pulse.start()
            _, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"does not answer any more" in lost + rest
    told = re.findall(rb"does not answer|default is back", lost + rest)
    # a machine that has no time for the new server for half a second loses it a second time, and tells that too
    assert told == [b"does not answer", b"default is back"] * max(1, len(told) // 2)


@sound
@pytest.mark.real_time
def test_ctrl_c_ends_it_while_a_sound_server_hangs(edgeagent) -> None:
    with Pulse() as pulse:
        server = pulse._children[0]
        server.send_signal(signal.SIGSTOP)
        try:
            with edgeagent.start("say", "hi", env=pulse.environment | {"HOME": str(edgeagent.home)}) as process:
                mapped = Path(f"/proc/{process.pid}/maps")
                assert until(lambda: "libasound_module_pcm_pulse" in mapped.read_text()), "it reaches for the server"
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(1)
                os.killpg(process.pid, signal.SIGINT)
                process.communicate(timeout=8)
        finally:
            server.send_signal(signal.SIGCONT)
    assert process.returncode == 130


def test_without_a_loudspeaker_the_error_says_what_to_do(edgeagent, tmp_path: Path) -> None:
    (tmp_path / "asound.conf").write_text(ASOUND)  # of a sound server that does not run
    environment = {"ALSA_CONFIG_PATH": str(tmp_path / "asound.conf"), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = edgeagent("say", "hi", env=environment)
    assert done.returncode == 4
    assert "--output FILE.wav" in done.stderr
