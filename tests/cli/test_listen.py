"""``edgeagent listen``: on files, at a terminal, and on a real sound server; alone and with what can go wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import WavWriter, read_wav
from edgeagent.testing import synthesised
from tests.audio.pulse import ASOUND, Pulse, missing
from tests.processes import descendants

sound = pytest.mark.skipif(missing() is not None, reason=str(missing()))
RATE_HZ = 16_000
APP = """
phrases = ["go to the kitchen", "go to the bathroom", "where are you", "stop", "turn left", "what time is it"]
agent = Agent("a", llm=ScriptedLLM())
"""


@pytest.fixture
def listen(edgeagent, in_process, ears_cache: Path, monkeypatch: pytest.MonkeyPatch):
    """``listen`` in this process, with a small app."""
    edgeagent.environment["XDG_CACHE_HOME"] = str(ears_cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(ears_cache))
    app = edgeagent.app(APP)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return in_process("listen", "--app", app, *arguments)

    run.command = edgeagent
    run.app = app
    return run


def talk(path: Path, *lines: tuple[str, str]) -> Path:
    parts = []
    for text, voice in lines:
        speech = synthesised(text, voice, RATE_HZ)
        parts += [np.zeros(int(1.2 * RATE_HZ), np.float32), 0.3 / np.abs(speech).max() * speech]
    whole = np.concatenate([*parts, np.zeros(RATE_HZ // 10)])
    whole += np.random.default_rng(1).normal(0, 3e-4, len(whole))
    with WavWriter(path, RATE_HZ) as writer:
        writer.write(whole.astype(np.float32))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = (
        ("go to the bathroom", "slt"),
        ("stop", "rms"),
        ("the bus stop is far away", "slt"),
        ("where are you", "slt"),
    )
    return talk(tmp_path_factory.mktemp("talk") / "talk.wav", *lines)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("short") / "talk.wav", ("go to the bathroom", "slt"))


def test_a_file_is_heard_to_its_end(listen, file: Path) -> None:
    done = listen("--input", file)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "go to the bathroom"
    assert lines[1:3] == ["stop", "key phrase: stop"]
    assert lines[-1] == "where are you", "the file ends with it"
    assert "key phrase: stop" not in lines[3:]
    assert "\x1b" not in done.stdout


def test_verbose_tells_how_long_it_took(listen, short: Path) -> None:
    assert "go to the bathroom  [0." in listen("--input", short, "-v").stdout


@pytest.mark.real_time
def test_json_has_the_events_of_the_voice(listen, file: Path) -> None:
    done = listen.command("listen", "--app", listen.app, "--input", "-", "--json", stdin=file.read_bytes())
    assert (done.returncode, done.stderr) == (0, "")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["kind"] for event in told} == {"speech_start", "partial", "speech_end", "transcript", "keyword"}
    assert all(isinstance(event["t"], float) and event["run_id"] is None for event in told)
    first = [event for event in told if event["kind"] != "partial"][:4]
    assert [event["kind"] for event in first] == ["speech_start", "speech_end", "speech_end", "transcript"]
    assert [first[1]["soft"], first[2]["soft"]] == [True, False]
    transcript = first[3]
    assert transcript["text"] == "go to the bathroom"
    assert [word["text"] for word in transcript["words"]] == ["go", "to", "the", "bathroom"]
    assert set(transcript["words"][0]) == {"text", "start_s", "end_s", "confidence"}
    assert 0 < transcript["latency_s"] < 0.4
    assert transcript["engine"].startswith("pocketsphinx")
    keywords = [(event["phrase"], event["confirmed"]) for event in told if event["kind"] == "keyword"]
    assert ("stop", True) in keywords


def test_what_was_said_is_kept_with_its_text_and_numbers_go_on(listen, short: Path) -> None:
    folder = listen.command.cwd / "people"
    for count in (1, 2):
        assert listen("--input", short, "--record", "people").returncode == 0
        names = [f"{number:04}.wav" for number in range(1, count + 1)]
        assert sorted(path.name for path in folder.glob("*.wav")) == names
        lines = [json.loads(line) for line in (folder / "transcripts.jsonl").read_text().splitlines()]
        assert [line["file"] for line in lines] == names
    assert lines[0]["text"] == "go to the bathroom"
    samples, rate_hz = read_wav(folder / "0001.wav")
    assert rate_hz == RATE_HZ
    assert 1.5 < len(samples) / RATE_HZ < 3.0
    assert np.abs(samples).max() > 0.1
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert (folder.stat().st_mode & 0o777, modes) == (0o700, {0o600}), "voices are for their owner alone"


def test_a_file_of_silence_has_no_words(listen, tmp_path: Path) -> None:
    with WavWriter(tmp_path / "silence.wav", RATE_HZ) as writer:
        writer.write(np.zeros(3 * RATE_HZ, np.float32))
    done = listen("--input", tmp_path / "silence.wav")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_whisper_hears_a_file(listen, checkout: Path, tmp_path: Path) -> None:
    pytest.importorskip("faster_whisper")
    path = talk(tmp_path / "talk.wav", ("turn left", "slt"))
    done = listen("--input", path, "--engine", "whisper", "--model", checkout / "tests/stt/whisper_fixture", "-v")
    assert (done.returncode, done.stderr) == (0, "")
    assert "whisper whisper_fixture]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--input", "no.wav"], 4, "no.wav can't be read"),
        (["--input", "robot.wav"], 4, "robot.wav"),
        (["--engine", "vosk"], 2, "sphinx, whisper"),
        (["--language", "de"], 2, "English only"),
        (["--engine", "whisper", "--model", "nowhere"], 4, "nowhere"),
        (["--engine", "whisper", "--model", "small.en"], 4, "models pull small.en"),
        (["--record", "/proc/nothing"], 2, "nothing can be kept"),
        (["--app", "no.py"], 2, "no.py is not there"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(listen, arguments: list[str], code: int, told: str, short: Path) -> None:
    (listen.command.cwd / "robot.wav").write_text("no sound")
    chosen = arguments if "--input" in arguments else ["--input", str(short), *arguments]
    done = listen(*chosen)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_phrase_that_nobody_can_say_is_told(edgeagent, in_process, file: Path) -> None:
    app = edgeagent.app("agent = Agent('a', llm=ScriptedLLM(), phrases=['press ★★★'])\n")
    done = in_process("listen", "--input", file, "--app", app)
    assert done.returncode == 2
    assert "★★★" in done.stderr
    assert "no letters" in done.stderr


def test_a_reader_that_goes_away_in_the_middle_of_a_file_ends_it(listen, tmp_path: Path) -> None:
    file, command = talk(tmp_path / "talk.wav", *[("go to the kitchen", "slt")] * 12), listen.command
    with command.start("listen", "--app", listen.app, "--input", file, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(30) == 128 + signal.SIGPIPE
    assert err == b""


def test_at_a_terminal_there_is_a_meter_and_what_is_certain_stays(listen, at_terminal, file: Path) -> None:
    terminal = at_terminal("listen", "--app", listen.app, "--input", file)
    terminal.expect(r"-\d\d dB")
    terminal.expect("go to the bathroom  0.")
    terminal.expect("key phrase: stop")
    assert terminal.ends() == 0
    assert "█" in terminal.seen
    assert terminal.raw.endswith(b"\r\x1b[2K"), "the meter is gone"


@sound
@pytest.mark.real_time
def test_a_microphone_is_heard_until_a_signal_ends_it(listen, tmp_path: Path) -> None:
    path = talk(tmp_path / "talk.wav", ("go to the kitchen", "slt"))
    command, numbers = listen.command, (signal.SIGINT, signal.SIGTERM)
    with Pulse() as pulse, contextlib.ExitStack() as started:
        environment = pulse.environment | {
            "HOME": str(command.home),
            "XDG_CACHE_HOME": command.environment["XDG_CACHE_HOME"],
        }
        words = ["listen", "--app", listen.app, "--json"]
        two = [started.enter_context(command.start(*words, env=environment, stdin=subprocess.DEVNULL)) for _ in numbers]
        player = subprocess.Popen(
            ["sh", "-c", 'while :; do paplay -d room "$0"; done', str(path)], env=pulse.environment
        )
        try:
            for process, number in zip(two, numbers, strict=True):
                assert process.stdout is not None
                kinds = []
                for line in process.stdout:
                    kinds.append(json.loads(line)["kind"])
                    if kinds[-1] == "transcript":
                        break
                assert kinds[:1] == ["speech_start"], process.stderr.read()
                processes = descendants(process.pid)
                assert len(processes) == 3
                os.killpg(process.pid, number)
                _, err = process.communicate(timeout=20)
                assert (process.returncode, err) == (128 + number, b"")
                assert not any(Path(f"/proc/{pid}").exists() for pid in processes)
        finally:
            for process in (player, *two):
                process.kill()
                process.wait()


def test_without_a_microphone_the_error_says_what_to_do(listen, tmp_path: Path) -> None:
    (tmp_path / "asound.conf").write_text(ASOUND)  # of a sound server that does not run
    environment = {"ALSA_CONFIG_PATH": str(tmp_path / "asound.conf"), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = listen.command("listen", "--app", listen.app, env=environment)
    assert (done.returncode, done.stdout) == (4, "")
    assert "--input FILE.wav" in done.stderr
