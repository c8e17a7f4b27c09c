"""``edgeagent keywords tune``."""

from __future__ import annotations

import os
import signal
import tomllib
from pathlib import Path

import pytest

from edgeagent.audio import WavWriter
from edgeagent.config import load_config
from tests.stt.speech import RATE_HZ, VOICES, said, within

LIMIT_S = 30.0


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Recordings of three people."""
    for voice in VOICES:
        for name, text in ((f"stop/{voice}", "stop"), (f"other/{voice}", "what a lovely garden")):
            path = tmp_path / f"{name}.wav"
            path.parent.mkdir(exist_ok=True)
            with WavWriter(path, RATE_HZ) as writer:
                writer.write(said(text, voice))
    return tmp_path


def test_recordings_give_a_table_and_lines_for_the_settings(edgeagent, people: Path) -> None:
    done = edgeagent("keywords", "tune", "stop", "--recordings", people, "--output", "stop.toml")
    assert (done.returncode, done.stderr) == (0, "written to stop.toml\n")
    table, _, lines = done.stdout.partition("\n\n")
    assert "3 of 3" in table
    assert "0 in" in table
    settings = tomllib.loads((edgeagent.cwd / "stop.toml").read_text())
    assert tomllib.loads(lines) == settings
    phrase, _, threshold = settings["ears"]["stop_words"].partition("/")
    assert phrase == "stop"
    assert 0 < float(threshold) <= 1
    assert lines.endswith("# a threshold takes a word from the network: stop\n")
    again = edgeagent("keywords", "tune", "stop", "--recordings", people, "--output", "stop.toml")
    assert again.returncode == 2
    assert "stop.toml exists" in again.stderr


def test_a_pronunciation_is_among_the_lines_for_the_settings(edgeagent, people: Path) -> None:
    done = edgeagent("keywords", "tune", "stop", "--recordings", people, "--said", "Stop=s t aa  p")
    assert done.returncode == 0
    _, _, lines = done.stdout.partition("\n\n")
    path = people / "settings.toml"
    path.write_text(lines)
    assert load_config(path, environ={}).ears["said"] == {"stop": "S T AA P"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["halt", "--recordings", "{people}"], "halt"),
        (["stop", "--recordings", "nowhere"], "no folder"),
        (["stop, halt"], "without commas"),
        (["♥"], "♥"),
        (["stop", "--said", "stop"], "WORD=PHONES"),
        (["stop", "--said", "stop=XX"], "no phone XX"),
        (["h"], "less than 3 sounds"),
        (["!!"], "no words"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(edgeagent, people: Path, arguments: list[str], told: str) -> None:
    done = edgeagent("keywords", "tune", *(one.format(people=people) for one in arguments))
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_ctrl_c_leaves_nothing(edgeagent) -> None:
    scratch = edgeagent.home / "scratch"
    scratch.mkdir()
    with edgeagent.start("keywords", "tune", "stop", "--output", "stop.toml", env={"TMPDIR": str(scratch)}) as process:
        # by what it makes itself: Python tries the place with a file of another name first
        assert within(LIMIT_S, lambda: any(scratch.glob("edgeagent-*")))
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert list(scratch.iterdir()) == []
    assert list(edgeagent.cwd.iterdir()) == []
