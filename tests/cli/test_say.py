"""``edgeagent say``: on a real sound server, and into files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import read_wav
from tests.audio.pulse import ASOUND, Pulse, missing

pytestmark = pytest.mark.real_time

sound = pytest.mark.skipif(missing() is not None, reason=str(missing()))
SILENCE = 10 ** (-50 / 20)


def wav(edgeagent, *arguments: object, **options) -> np.ndarray:
    done = edgeagent("say", "--output", "out.wav", *arguments, **options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    samples, rate_hz = read_wav(edgeagent.cwd / "out.wav")
    assert rate_hz == (22_050 if "--voice" in arguments else 24_000)
    return samples


def test_a_text_becomes_a_file(edgeagent) -> None:
    short, long = wav(edgeagent, "hello"), wav(edgeagent, "hello", "there,", "how", "are", "you")
    assert 0.2 < len(short) / 24_000 < 1.5
    assert len(long) > len(short)
    assert np.abs(long).max() > 0.1


def test_numbers_are_spoken_as_words_and_markdown_is_not_spoken(edgeagent) -> None:
    assert np.array_equal(wav(edgeagent, "It is 21 °C."), wav(edgeagent, "It is twenty-one degrees Celsius."))
    assert np.array_equal(wav(edgeagent, "**Yes**, `sir`."), wav(edgeagent, "Yes, sir."))


def test_a_pipe_is_spoken(edgeagent) -> None:
    assert np.array_equal(
        wav(edgeagent, stdin=b"One sentence. And one more.\n"), wav(edgeagent, "One sentence. And one more.")
    )


def test_settings_are_heard(edgeagent) -> None:
    usual = wav(edgeagent, "this is a test")
    assert len(wav(edgeagent, "--rate", 300, "this is a test")) < len(usual)
    quiet = wav(edgeagent, "--volume", 20, "this is a test")
    assert np.abs(quiet).max() < np.abs(usual).max() / 2
    (edgeagent.home / "s.toml").write_text("[speech]\nrate_wpm = 300\n")
    assert len(wav(edgeagent, "--config", edgeagent.home / "s.toml", "this is a test")) < len(usual)


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
        (["--output", "full.wav", "hi"], 4, "full.wav can't be written: No space left"),
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
    done = edgeagent("say", "--voice", "en", "--output", "out.wav", "one two three " * 40, before=full)
    assert (done.returncode, done.stderr) == (4, "error: out.wav can't be written: File too large\n")
    assert [each.name for each in edgeagent.cwd.iterdir()] == ([] if before is None else ["out.wav"])
    assert before is None or path.read_bytes() == before


def test_numbers_are_said_in_the_language_of_the_voice(edgeagent) -> None:
    digits, words = (wav(edgeagent, "--voice", "de", f"Es sind {count} Kisten.") for count in ("21", "einundzwanzig"))
    assert np.array_equal(digits, words)


def test_a_file_may_be_called_wav_in_capitals(edgeagent) -> None:
    done = edgeagent("say", "--output", "OUT.WAV", "hello")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(read_wav(edgeagent.cwd / "OUT.WAV")[0]) > 2000


def test_garbage_in_a_pipe_is_no_reason_to_fail(edgeagent) -> None:
    noise = np.random.default_rng(5).integers(0, 256, 20_000).astype(np.uint8).tobytes()
    assert len(wav(edgeagent, stdin=noise + b" c# g# F++ "))


def test_what_is_appended_to_a_file_leaves_it_alone(edgeagent, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    with path.open("ab") as target, edgeagent.start("say", "--output", "-", "hello", stdout=target) as process:
        assert process.wait(60) == 0
    assert path.read_bytes().startswith(b"beforeRIFF")


def test_a_full_stdout_is_told_in_a_line(edgeagent) -> None:
    with Path("/dev/full").open("wb") as full, edgeagent.start("say", "--output", "-", "hi", stdout=full) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert err.decode().splitlines() == ["error: stdout can't be written: No space left on device"]


def test_text_without_a_word_is_silence(edgeagent) -> None:
    assert len(wav(edgeagent, "🎉 ```\ncode\n```")) == 0


@sound
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
def test_ctrl_c_ends_it_in_the_middle(edgeagent) -> None:
    with Pulse() as pulse:
        recorder = pulse.recorder()
        assert recorder.stdout is not None
        argv = ["say", "one two three four five six seven eight nine ten " * 5]
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
def test_ctrl_c_ends_it_while_a_sound_server_hangs(edgeagent) -> None:
    with Pulse() as pulse:
        server = pulse._children[0]
        server.send_signal(signal.SIGSTOP)
        try:
            with edgeagent.start("say", "hi", env=pulse.environment | {"HOME": str(edgeagent.home)}) as process:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(4)
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
