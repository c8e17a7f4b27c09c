"""``talk --record`` and ``replay`` of what it kept: two channels, announced aloud, and the lines at their times."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeagent.app import RECORDED
from edgeagent.audio import WavWriter, read_wav
from edgeagent.testing import synthesised
from tests.audio.pulse import Pulse, missing

RATE_HZ = 16_000
LIMIT_S = 60


@pytest.fixture
def command(edgeagent: Any, ears_cache: Path) -> Any:
    edgeagent.environment["XDG_CACHE_HOME"] = str(ears_cache)
    return edgeagent


def room(folder: Path, asked: str = "") -> list[str]:
    """A room in which somebody asks something, or nobody does, as options."""
    parts = [np.zeros(RATE_HZ // 2, np.float32)]
    if asked:
        speech = synthesised(asked, "slt", RATE_HZ)
        parts = [np.zeros(2 * RATE_HZ, np.float32), 0.3 / np.abs(speech).max() * speech, np.zeros(RATE_HZ, np.float32)]
    whole = np.concatenate(parts)
    whole += np.random.default_rng(1).normal(0, 1e-3, len(whole)).astype(np.float32)
    with WavWriter(folder / "room.wav", RATE_HZ) as writer:
        writer.write(whole.astype(np.float32))
    return ["--input", "room.wav", "--output", "robot.wav"]


def channels(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        assert file.getnchannels() == 2
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2).T / 32767


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.real_time
def test_a_recorded_talk_has_both_ends_says_so_and_is_shown_again(command: Any, in_process: Any) -> None:
    done = command("talk", *room(command.cwd, "what time is it"), "--record", "talk.wav")
    assert done.returncode == 0, done.stderr
    left, right = channels(command.cwd / "talk.wav")
    near, _ = read_wav(command.cwd / "room.wav")
    robot, robot_hz = read_wav(command.cwd / "robot.wav")
    assert abs(np.abs(left).max() - np.abs(near).max()) < 0.05
    assert abs(np.abs(right).max() - np.abs(robot).max()) < 0.05
    assert robot_hz == 48_000
    told = lines(command.cwd / "talk.lines.jsonl")
    texts = [line["text"] for line in told]
    assert texts[0] == f"robi: {RECORDED}"
    assert texts[-4:] == ["you: what time is it", "  → get_time", "  ← it is 14:00", "robi: It is 14:00."]
    asked_s = next(line["at_s"] for line in told if line["text"].startswith("you"))
    assert 2 < asked_s < len(left) / RATE_HZ + 1
    assert {(command.cwd / name).stat().st_mode & 0o777 for name in ("talk.wav", "talk.lines.jsonl")} == {0o600}

    (command.cwd / "talk.wav").rename(command.cwd / "kept.wav")
    (command.cwd / "talk-2.lines.jsonl").symlink_to(command.cwd / "elsewhere")
    words = ("talk", *room(command.cwd), "--record", "talk.wav")
    with command.start(*words, stdin=subprocess.DEVNULL) as again:
        assert any(b"recording in talk-3.wav" in line for line in again.stderr)
        again.kill()
        again.communicate(timeout=LIMIT_S)
    assert (command.cwd / "talk-3.lines.jsonl").exists()
    assert lines(command.cwd / "talk.lines.jsonl") == told, "lines are never overwritten"
    assert not (command.cwd / "elsewhere").exists(), "lines never go through a link"
    (command.cwd / "kept.wav").rename(command.cwd / "talk.wav")

    command.environment["ALSA_CONFIG_PATH"] = "/dev/null"
    shown = command("replay", "talk.wav")
    assert shown.returncode == 0
    assert "so it is not played" in shown.stderr
    assert [line.partition(" s  ")[2] for line in shown.stdout.splitlines()] == texts
    as_json = in_process("replay", "talk.wav", "--json").stdout.splitlines()
    assert [json.loads(line) for line in as_json] == told


@pytest.mark.real_time
def test_a_killed_talk_leaves_a_recording_that_can_be_read(command: Any, silent_room: list[str]) -> None:
    arguments = ("talk", *silent_room, "--record", "talk.wav")
    with command.start(*arguments, stdin=subprocess.DEVNULL, house=True) as process:
        while not process.stderr.readline().startswith(b"ready"):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
    left, _ = channels(command.cwd / "talk.wav")
    assert len(left) >= RATE_HZ
    assert np.abs(left[: RATE_HZ // 2]).max() <= 0.1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["talk", "--record", "talk.mp3"], "name it talk.wav"),
        (["talk", "--record", "no/talk.wav"], "there is no such folder"),
        (["replay", "no.wav"], "no.wav cannot be read"),
        (["replay", "no.wav", "--json"], "no.wav cannot be read"),
        (["replay", "no.wav", "--prompts"], "are for a file of --audit"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(in_process: Any, arguments: list[str], told: str) -> None:
    done = in_process(*arguments)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1]


def test_lines_that_are_none_are_told_and_one_that_was_cut_is_left_out(in_process: Any, edgeagent: Any) -> None:
    with WavWriter(edgeagent.cwd / "talk.wav", RATE_HZ, channels=2) as writer:
        writer.write(np.zeros((160, 2), np.float32))
    file = edgeagent.cwd / "talk.lines.jsonl"
    file.write_text('{"at_s": 2, "text": "x", "tone": "x"}\n{"at_s": "soon"}\n{"at_s": 3, "text": "y", "tone": "x"}\n')
    done = in_process("replay", "talk.wav", "--json")
    assert (done.returncode, "talk.lines.jsonl:2: this is no line" in done.stderr) == (2, True)
    file.write_text('{"at_s": 2, "text": "later", "tone": "x"}\n{"at_s": 1.5, "te')
    assert json.loads(in_process("replay", "talk.wav", "--json").stdout)["text"] == "later"


@pytest.mark.real_time
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_recording_is_played_and_its_lines_come_at_their_times(command: Any) -> None:
    tone = (0.4 * np.sin(2 * np.pi * 440 * np.arange(1.2 * RATE_HZ) / RATE_HZ)).astype(np.float32)
    with WavWriter(command.cwd / "talk.wav", RATE_HZ, channels=2) as writer:
        writer.write(np.stack([tone, tone], axis=1))
    texts = [(0.2, "first"), (1.0, "second")]
    lined = [json.dumps({"at_s": at_s, "text": text, "tone": "plain"}) for at_s, text in texts]
    (command.cwd / "talk.lines.jsonl").write_text("\n".join(lined) + "\n")
    with Pulse() as pulse:
        recorder, heard = pulse.recorder(), bytearray()
        reading = threading.Thread(target=lambda: heard.extend(recorder.stdout.read()))
        reading.start()
        env = {name: pulse.environment[name] for name in ("XDG_RUNTIME_DIR", "ALSA_CONFIG_PATH")}
        done = command("replay", "talk.wav", env=env)
        recorder.kill()
        reading.join(LIMIT_S)
        recorder.stdout.close()
    assert (done.returncode, done.stdout) == (0, "    0.2 s  first\n    1.0 s  second\n"), done.stderr
    assert np.abs(np.frombuffer(bytes(heard[: len(heard) // 2 * 2]), "<i2").astype(float)).max() > 5_000


def test_a_chat_in_place_of_a_talk_says_that_it_is_not_recorded(edgeagent: Any) -> None:
    done = edgeagent("talk", "--text", "--record", "talk.wav", house=True, stdin=b"")
    assert done.returncode == 0
    assert "so type, and nothing is recorded" in done.stderr
    assert not list(edgeagent.cwd.glob("talk*"))


def test_a_folder_of_a_recording_that_is_a_file_is_told_early(in_process: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = in_process("talk", "--record", tmp_path / "file" / "talk.wav")
    assert done.returncode == 2
    assert "there is no such folder" in done.stderr
