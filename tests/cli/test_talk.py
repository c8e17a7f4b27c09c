"""``edgeagent talk``, with files in place of microphone and loudspeaker, and at a terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import WavWriter, read_wav
from edgeagent.cli import FIRST_REPEAT_S, LET_GO_S, TalkButton
from edgeagent.testing import synthesised
from tests.processes import descendants, left

RATE_HZ = 16_000
END_S = 8
GO = 'go_to {"place": "kitchen"}'
SOON = "--voice", "en"
"""A voice that is soon loaded, where nobody hears it."""


@pytest.fixture
def command(edgeagent, cache: Path):
    edgeagent.environment["XDG_CACHE_HOME"] = str(cache)
    return edgeagent


def room(folder: Path, *lines: str, rate_hz: int = RATE_HZ) -> list[str]:
    """What is said in it, as options."""
    parts = [np.zeros(2 * rate_hz, np.float32)]
    for text in lines:
        speech = synthesised(text, "slt", rate_hz)
        parts += [0.3 / np.abs(speech).max() * speech, np.zeros(rate_hz, np.float32)]
    whole = np.concatenate(parts)
    whole += np.random.default_rng(1).normal(0, 1e-3, len(whole)).astype(np.float32)
    with WavWriter(folder / "room.wav", rate_hz) as writer:
        writer.write(whole)
    return ["--input", "room.wav", "--output", "robot.wav"]


def test_without_the_model_of_the_ears_no_file_is_left(command) -> None:
    done = command("talk", *room(command.cwd, "hello"), "--engine", "whisper", house=True)
    assert (done.returncode, "edgeagent models pull tiny.en" in done.stderr) == (4, True)
    assert not (command.cwd / "robot.wav").exists()


def test_what_is_said_in_a_file_of_any_rate_is_answered_aloud_and_no_library_complains_at_the_end(command) -> None:
    done = command("talk", *room(command.cwd, "what time is it", rate_hz=22_050), "--log", "log.jsonl")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "you: what time is it",
        "  → get_time",
        "  ← it is 14:00",
        "robi: It is 14:00.",
    ]
    assert done.stderr.splitlines()[-1].startswith("ready: robi on nano listens to room.wav"), done.stderr
    spoken, _ = read_wav(command.cwd / "robot.wav")
    assert np.abs(spoken).max() > 0.05
    kinds = [json.loads(line)["kind"] for line in (command.cwd / "log.jsonl").read_text().splitlines()]
    assert {"transcript", "speech_end", "agent_end", "heard"} <= set(kinds)


def test_without_sound_the_error_names_what_to_do_and_text_does_it(command) -> None:
    command.environment["ALSA_CONFIG_PATH"] = "/dev/null"
    done = command("talk")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("error: ALSA")
    assert done.stderr.endswith("to type instead: edgeagent talk --text\n")
    done = command("talk", "--text", stdin=b"what time is it\n")
    assert (done.returncode, done.stdout) == (0, "It is 14:00.\n")
    assert "warning: ALSA" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--barge-in", "often"], ["--engine", "ear"], ["--wake-word", "???"], ["--text", "--engine", "ear"]]
)
def test_a_wrong_setting_is_told_before_a_device_is_looked_for(in_process, monkeypatch, arguments: list[str]) -> None:
    monkeypatch.setenv("ALSA_CONFIG_PATH", "/dev/null")
    done = in_process("talk", *arguments)
    assert done.returncode == 2, done.stderr
    assert arguments[-1] in done.stderr


def test_who_names_a_file_that_is_none_is_not_told_to_type_instead(in_process, command) -> None:
    (command.cwd / "notes.wav").write_text("no sound")
    done = in_process("talk", "--input", "notes.wav", "--output", "out.wav")
    assert done.returncode == 4
    assert done.stderr.endswith("error: notes.wav is no WAV file: it does not begin with RIFF\n")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--barge-in", "often"], 2, "--barge-in: should be one of eager, balanced, strict, off, not 'often'"),
        (["--engine", "ear"], 2, "--engine: should be one of fused, sphinx, whisper, not 'ear'"),
        (["--input", "a.mp3", "--output", "b.wav"], 2, "a.mp3: sound is read from WAV files"),
        (["--push-to-talk"], 2, "push-to-talk needs a terminal"),
        (["--text", "--json"], 2, "--log writes for both"),
        (["--wake-word", "???"], 2, "???"),
        (["--voice", "klingon-x"], 4, "klingon-x"),
        (["--model", "no-such"], 3, "no-such"),
        (["--input", "no.wav", "--output", "out.wav"], 4, "no.wav can't be read"),
        (["--output", "one.wav"], 2, "--input has to be one too"),
        (["--app", "no.py"], 2, "no.py is not there"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(in_process, command, arguments: list[str], code: int, told: str) -> None:
    files = [] if {"--input", "--output"} & set(arguments) else room(command.cwd)
    done = in_process("talk", *files, *arguments)
    assert done.returncode == code, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert told in line


@pytest.fixture
def talks(at_terminal, command) -> Callable:
    """At a terminal, in a room where nobody speaks, with a model that does what it is told."""

    def start(*arguments: object, env: dict[str, str] | None = None):
        terminal = at_terminal("talk", *room(command.cwd), *SOON, *arguments, house=True, env=env or {})
        terminal.expect("is ready")
        terminal.expect("listening")
        return terminal

    return start


def test_what_a_library_writes_past_python_does_not_disturb_the_screen() -> None:
    """As PortAudio does when a card is pulled out."""
    program = """
import os
from edgeagent.cli import streams
with streams.own_screen():
    os.write(2, b"Expression failed")
os.write(2, b"afterwards")
"""
    master, slave = os.openpty()
    with os.fdopen(master, "rb", buffering=0) as terminal:
        try:
            subprocess.run([sys.executable, "-c", program], stderr=slave, timeout=30, check=True)
        finally:
            os.close(slave)
        assert terminal.read(100) == b"afterwards"


def test_a_line_that_is_typed_is_heard_and_the_answer_is_shown_and_the_space_bar_opens_the_ears(talks) -> None:
    terminal = talks("--push-to-talk")
    terminal.expect("space to talk")
    terminal.enter("/cancel")
    terminal.expect("nothing goes on that could be cancelled")
    terminal.enter("get_time")
    terminal.expect("→ get_time")
    terminal.expect("robi: it is 14:00.\n")
    terminal.enter("/why")
    terminal.expect("model call 2 of 2 · robi")
    terminal.enter("/louder")
    terminal.enter("/nonsense")
    terminal.expect("there is no /nonsense")
    terminal.enter("/help")
    terminal.expect("/continue +allows motion again")
    terminal.type(" ")
    terminal.expect("-[0-9]+ dB")
    terminal.enter("two words")  # a space in a line is one
    terminal.expect("robi: heard two words")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_a_stop_trips_and_continue_allows_motion_again(talks) -> None:
    terminal = talks()
    stops = {
        "/stop": lambda: terminal.enter("/stop"),
        "SIGUSR1": lambda: os.kill(terminal.process.pid, signal.SIGUSR1),
        "Ctrl-C": lambda: terminal.type("\x03"),
    }
    for how, stop in stops.items():
        terminal.enter(GO)
        terminal.expect("→ go_to kitchen")
        stop()
        tripped = rf"■ stopped \({how}\)"
        terminal.expect(f"(?s){tripped}.*← interrupted|← interrupted.*{tripped}")
        terminal.expect("STOPPED")
        terminal.enter(GO)
        terminal.expect("← stopped for safety")
        terminal.enter("/continue")
    terminal.enter(GO)
    terminal.expect("robi: On my way to the kitchen")
    terminal.type("\x03")
    terminal.expect("Ctrl-C again leaves")
    terminal.type("\x03")
    assert terminal.ends() == 0


@pytest.mark.parametrize(
    ("said", "shown", "number"),
    [(GO, "→ go_to kitchen", signal.SIGHUP), ("one two three four five six", "speaking", signal.SIGTERM)],
    ids=["while it drives", "while it speaks"],
)
def test_a_signal_ends_it_with_nothing_left_running(talks, said: str, shown: str, number: signal.Signals) -> None:
    terminal = talks()
    terminal.enter(said)
    terminal.expect(shown)
    below = descendants(terminal.process.pid)
    assert below, "the recognisers are processes of their own"
    terminal.process.send_signal(number)
    assert terminal.ends() == 128 + number
    assert left(below) == []


def test_without_a_terminal_a_signal_leaves(command) -> None:
    with command.start("talk", *room(command.cwd), *SOON, stdin=subprocess.DEVNULL, house=True) as process:
        assert process.stderr is not None
        while b"ready" not in process.stderr.readline():
            assert process.poll() is None
        below = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=END_S)
    assert (process.returncode, out) == (128 + signal.SIGTERM, b"")
    assert b"Traceback" not in err
    assert left(below) == []


def test_a_press_opens_the_ears_and_another_one_closes_them() -> None:
    button = TalkButton()
    button.press(10.0)
    button.look(15.0)
    assert button.down
    button.press(15.0)
    assert not button.down


def test_a_key_that_repeats_is_held_until_it_does_so_no_more() -> None:
    button = TalkButton()
    button.press(10.0)
    at_s = 10.0 + 0.9 * FIRST_REPEAT_S
    for _ in range(40):
        button.press(at_s)
        button.look(at_s + LET_GO_S / 2)
        assert button.down
        at_s += 0.05
    button.look(at_s + LET_GO_S)
    assert not button.down
    button.press(at_s + 1)
    assert button.down
