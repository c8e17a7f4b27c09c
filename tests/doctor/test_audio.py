"""The doctor's rows of sound: a machine without any is well, and what was set and is missing is a problem."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeagent.doctor import Row, audio
from edgeagent.doctor import audio_section as audio_module
from edgeagent.errors import AudioError
from tests.audio.pulse import Pulse, missing

sound = pytest.mark.skipif(missing() is not None, reason=str(missing()))
LIMIT_S = 60
QUICK = {"voice": "en-us"}
"""A voice that is there at once."""
BEGIN = """
import json, sys
from edgeagent.doctor import audio
import edgeagent.doctor.sound_section as sound
sound.WATCHED_S, sound._SENTENCE = 1.0, "I speak while I listen, and what I hear of myself is taken out again."
def tell(rows):
    print(json.dumps({row.name: [row.status, row.found, row.advice, row.value] for row in rows}), flush=True)
"""


def told(environment: dict[str, str], program: str) -> list[dict[str, Any]]:
    """What a process with these devices tells."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(found: Iterable[Row]) -> dict[str, Row]:
    return {row.name: row for row in found}


@pytest.fixture
def soundless(monkeypatch: pytest.MonkeyPatch) -> None:
    """PortAudio is not installed, and there is no card."""

    def library() -> None:
        raise AudioError("PortAudio is not there: sudo apt install libportaudio2")

    monkeypatch.setattr(audio_module, "library", library)
    monkeypatch.setattr(audio_module, "_cards", list)


@sound
@pytest.mark.real_time
def test_devices_server_voice_and_echo_are_told_and_what_is_set_and_missing_is_a_problem(tmp_path: Path) -> None:
    program = f"""
    tell(audio({{}}, {{}}))
    tell(audio({{"input": "jabra", "output": "def", "echo": "hardware"}}, {{"voice": "de"}}))
    tell(audio({{"input": "{tmp_path}/no.wav", "output": "{tmp_path}/a.wav", "echo": "off"}}, {{"voice": "klingon-x"}}))
    """
    with Pulse() as pulse:
        usual, named, files = told(pulse.environment, program)
        pulse.kill()
        program = f"tell(audio({{}}, {QUICK})); tell(audio({{'output': 'USB'}}, {QUICK}))"
        without, wanted = told(pulse.environment, program)
    assert {status for status, *_ in usual.values()} == {"ok"}
    assert "pulseaudio" in usual["sound server"][1]
    assert "default (ALSA)" in usual["device 0"][1]
    assert "44,100 Hz" in usual["device 0"][1]
    assert "default microphone" in usual["device 0"][1]
    assert usual["loudspeaker"][3] == {"name": "default", "rate_hz": 44_100}
    assert 0 < usual["voice"][3]["first_sample_ms"] < 1000
    assert usual["echo"][3] == "webrtc"

    assert named["microphone"][0] == "problem"
    assert "'jabra'" in named["microphone"][1]
    assert "default" in named["microphone"][1]
    assert named["loudspeaker"][0] == "ok"
    assert "espeak-ng de" in named["voice"][1]
    assert (named["echo"][0], named["echo"][3]) == ("ok", "hardware")

    assert (files["microphone"][0], files["loudspeaker"][0]) == ("problem", "ok")
    assert files["echo"][0] == "note"
    assert files["voice"][0] == "problem"

    assert [without[end][0] for end in ("microphone", "loudspeaker")] == ["note", "note"]
    assert "text mode works" in without["microphone"][2]
    assert "problem" not in {status for status, *_ in without.values()}
    assert (wanted["microphone"][0], wanted["loudspeaker"][0]) == ("note", "problem")


@pytest.mark.usefixtures("soundless")
def test_without_portaudio_there_is_a_note_unless_a_device_is_set() -> None:
    usual = rows(audio({}, {}))
    assert (usual["portaudio"].status, usual["voice"].status) == ("note", "ok")
    assert rows(audio({"output": "hello.wav"}, QUICK))["portaudio"].status == "note"
    assert rows(audio({"output": "USB"}, QUICK))["portaudio"].status == "problem"


@pytest.mark.usefixtures("soundless")
def test_an_echo_setting_that_there_is_not_is_a_problem() -> None:
    row = rows(audio({"echo": "magic"}, QUICK))["echo"]
    assert row.status == "problem"
    assert "webrtc, hardware, off" in row.advice


@pytest.mark.usefixtures("soundless")
def test_a_piper_voice_is_loaded_and_one_that_is_missing_told(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from tests.tts.tiny_voice import tiny_voice

    path = tiny_voice(tmp_path)
    row = rows(audio({}, {"voice": str(path)}))["voice"]
    assert row.status == "ok"
    assert row.value["rate_hz"] == 22_050
    path.unlink()
    gone = rows(audio({}, {"voice": str(path)}))["voice"]
    assert gone.status == "problem"
    assert str(path) in gone.found


def test_looking_for_a_server_starts_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    (tmp_path / "pactl").write_text(f"#!/bin/sh\ntouch {asked}\n")
    (tmp_path / "pactl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("PULSE_SERVER", raising=False)
    monkeypatch.setattr(audio_module, "_SYSTEM", tmp_path)
    assert audio_module._server() is None
    assert not asked.exists()


@sound
@pytest.mark.real_time
def test_an_echo_is_found_and_removed_though_the_robot_was_not_heard_alone_at_first() -> None:
    program = """
    from edgeagent.audio.echo import EchoCanceller
    known, asked = EchoCanceller.removed_db.fget, []
    EchoCanceller.removed_db = property(lambda self: asked.append(self) if not asked else known(self))
    sound.TRIES = 4
    tell(sound.sound({}, {}))
    """
    with Pulse(echo=True) as pulse:
        (found,) = told(pulse.environment, program)
    assert found["echo found"][0] == "ok", found
    assert -100 < found["echo found"][3]["delay_ms"] < 1000
    assert -6 < found["echo found"][3]["gain_db"] < 6
    assert found["echo removed"][3] > 6, found
    assert "under-runs" in found["in time"][1]


@sound
@pytest.mark.real_time
def test_without_an_echo_it_is_said_that_there_is_none() -> None:
    noise = ["pacat", "--latency-msec=10", "-d", "room", "--volume=20000", "/dev/urandom"]
    with (
        Pulse() as pulse,
        subprocess.Popen(noise, env=pulse.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as room,
    ):
        try:
            (found,) = told(pulse.environment, "sound.TRIES, sound._SENTENCE = 1, 'Hello.'\ntell(sound.sound({}, {}))")
        finally:
            room.kill()
    assert found["echo found"][0] == "note", found
    assert "does not hear the loudspeaker" in found["echo found"][1]
    assert "echo removed" not in found
    assert "in time" in found


def test_files_are_not_measured() -> None:
    from edgeagent.doctor import sound as measured

    (row,) = measured({"input": "a.wav"}, {})
    assert row.status == "note"


@sound
@pytest.mark.real_time
def test_ctrl_c_ends_it_quietly(ears_cache: Path) -> None:
    program = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from edgeagent.cli import main\nmain()"
    with Pulse(echo=True) as pulse:
        recorder = pulse.recorder()
        assert recorder.stdout is not None
        with subprocess.Popen(
            [sys.executable, "-c", program, "doctor", "--sound"],
            env=pulse.environment | {"EDGEAGENT_VOICE": QUICK["voice"], "XDG_CACHE_HOME": str(ears_cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                while np.abs(np.frombuffer(recorder.stdout.read(4800), "<i2")).max(initial=0) < 1000:
                    assert process.poll() is None
                os.killpg(process.pid, signal.SIGINT)
                out, err = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
        recorder.terminate()
        recorder.stdout.close()
    assert process.returncode == 130
    assert b"\naudio\n" in out
    assert b"Traceback" not in out + err


def test_help_has_the_option() -> None:
    argv = [sys.executable, "-c", "from edgeagent.cli import main; main()", "doctor", "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert "edgeagent doctor --sound" in done.stdout
