"""The commands say once, on stderr, that nano does not know the tools of an app."""

import json

import numpy as np
import pytest

from edgeagent.audio import WavWriter
from edgeagent.doctor import examine

SPRAYING = """
@tool
def spray(seconds: float) -> str:
    "Spray water."
    return "sprayed"

agent = Agent("sprinkler", tools=[spray])
"""
WARNING = "nano was not trained on spray: expect wrong calls"


def test_ask_keeps_stdout_for_the_answer(edgeagent) -> None:
    app = edgeagent.app(SPRAYING)
    done = edgeagent("ask", "hello", "--app", app)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert WARNING not in done.stdout
    assert done.stderr.count(WARNING) == 1
    assert done.stderr.startswith("warning: ")


def test_many_questions_are_warned_of_once(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--json", "--app", edgeagent.app(SPRAYING), stdin=b"hello\nhello\n")
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 2
    assert done.stderr.count(WARNING) == 1


@pytest.fixture
def short_silence(edgeagent) -> list[str]:
    """Files for microphone and loudspeaker, and a voice that is soon loaded, as options: a second in which nobody
    speaks."""
    with WavWriter(edgeagent.cwd / "room.wav", 16_000) as writer:
        writer.write(np.random.default_rng(1).normal(0, 1e-3, 16_000).astype(np.float32))
    return ["--input", "room.wav", "--output", "robot.wav", "--voice", "en"]


@pytest.mark.parametrize("command", ["chat", "talk"])
def test_a_conversation_begins_with_it(edgeagent, short_silence: list[str], command: str) -> None:
    sound = short_silence if command == "talk" else []
    done = edgeagent(command, "--app", edgeagent.app(SPRAYING), *sound)
    assert done.returncode == 0
    assert done.stderr.count(WARNING) == 1
    assert WARNING not in done.stdout


def test_the_doctor_has_a_row_for_it(edgeagent, in_process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeagent.doctor.examine", lambda rooms: examine([room for room in rooms if room[0] == "app"]))
    done = in_process("doctor", "--json", "--app", edgeagent.app(SPRAYING))
    section = json.loads(done.stdout)["app"]
    assert section["tools"] == {"found": "spray", "status": "ok", "value": ["spray"]}
    assert section["trained for"]["status"] == "note"
    assert section["trained for"]["found"] == WARNING
    assert "edgeagent models pull" in section["trained for"]["advice"]


def test_the_house_robot_is_not_warned_of(edgeagent) -> None:
    done = edgeagent("ask", "hello", "--speed", "1000")
    assert done.stderr == ""
