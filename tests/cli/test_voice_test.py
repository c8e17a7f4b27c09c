"""``edgeagent voice-test``: on files, at a terminal, and on a sound server; and what is done with its recordings."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import WavWriter
from edgeagent.check import Attempt, PlannedLine, RoomSound, VoiceRecordings, VoiceRun, plan
from edgeagent.errors import AudioError
from edgeagent.stt import RATE_HZ, RecognisedText
from edgeagent.testing import synthesised
from tests.audio.pulse import ASOUND, Pulse, missing

sound = pytest.mark.skipif(missing() is not None, reason=str(missing()))
PHRASES = ["go to the kitchen", "turn left", "where are you"]
APP = f"phrases = {PHRASES!r}\nagent = Agent('a', llm=ScriptedLLM())\n"
SAID = 2
"""Lines of a test on a file."""
QUIET_S, PAUSE_S = 6.0, 3.0
KEPT = Path(".local/state/edgeagent/voice-test")


@pytest.fixture
def command(edgeagent, in_process, ears_cache: Path, monkeypatch: pytest.MonkeyPatch):
    """The command, and ``in_process`` beside it, with a small app."""
    edgeagent.environment["XDG_CACHE_HOME"] = str(ears_cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(ears_cache))
    edgeagent.app(APP)
    return edgeagent


def silently(file: Path, count: int) -> list[object]:
    """A test on a file, as options."""
    return ["voice-test", "--app", "../robot.py", "--silent", "--sentences", count, "--input", file, "--person", "anna"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person who says the lines of a short test, one after the other."""
    parts = [np.zeros(int(QUIET_S * RATE_HZ))]
    for line in plan(PHRASES, count=SAID, over=False):
        speech = synthesised(line.text, "slt", RATE_HZ)
        parts += [0.3 / np.abs(speech).max() * speech, np.zeros(int(PAUSE_S * RATE_HZ))]
    whole = np.concatenate(parts)
    path = tmp_path_factory.mktemp("person") / "person.wav"
    with WavWriter(path, RATE_HZ) as writer:
        writer.write((whole + np.random.default_rng(1).normal(0, 3e-4, len(whole))).astype(np.float32))
    return path


def keep(command, person: str = "anna", count: int = 2) -> Path:
    """Recordings of an earlier test."""
    recordings = VoiceRecordings(lambda told: None, person=person, among=command.home / KEPT)
    for _ in range(count):
        attempt = Attempt(line=PlannedLine("turn left", "command"), parts=1, person=person)
        recordings.keep(np.full(RATE_HZ, 0.1, np.float32), attempt, RecognisedText("turn left"))
    recordings.keep_room(RoomSound(-60.0))
    return recordings.folder


def test_a_test_shows_what_is_said_and_heard_and_keeps_it(command, in_process, file: Path) -> None:
    done = in_process(*silently(file, SAID))
    assert (done.returncode, done.stderr) == (0, "")
    asked = [line.partition("please say: ")[2] for line in done.stdout.splitlines() if "please say: " in line]
    assert asked == [line.text for line in plan(PHRASES, count=SAID, over=False)]
    assert "✓ go to the kitchen" in done.stdout
    report = done.stdout.partition("\n\n")[2]
    assert [
        name for name in ("words wrong", "commands right", "speech", "noise", "clipped") if name not in report
    ] == []
    assert "What to change" in report
    assert "\x1b" not in done.stdout
    (folder,) = (command.home / KEPT).iterdir()
    assert str(folder) in report
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    lines = [json.loads(line) for line in (folder / "transcripts.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == asked


def test_ctrl_c_reports_what_there_is_and_leaves_nothing_running(command, at_terminal, file: Path) -> None:
    terminal = at_terminal(*silently(file, SAID))
    terminal.expect(f"{SAID} of {SAID}")
    terminal.signal(signal.SIGINT)
    terminal.expect("ended early")
    terminal.expect(r"speech +-\d\d dBFS  █+·+")
    terminal.expect("What to change")
    assert terminal.ends() == 130
    (folder,) = (command.home / KEPT).iterdir()
    kept = sorted(path.name for path in folder.iterdir())
    assert kept[0] == "0001.wav"
    assert "room.json" in kept


def test_a_device_that_is_lost_leaves_the_report_of_what_there_is(
    command, in_process, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = VoiceRun._ask

    def lost(run: VoiceRun, line: PlannedLine) -> Attempt:
        if run.attempts:
            raise AudioError("the microphone is gone")
        return ask(run, line)

    monkeypatch.setattr(VoiceRun, "_ask", lost)
    done = in_process(*silently(file, SAID), "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["all"]["lines"]) == (4, 1)
    assert done.stderr.splitlines()[-1] == "error: the microphone is gone"
    (folder,) = (command.home / KEPT).iterdir()
    assert {"person.json", "room.json", "0001.wav"} < {path.name for path in folder.iterdir()}


def test_a_folder_that_can_t_be_made_is_told_before_anybody_speaks(command, in_process, file: Path) -> None:
    (command.home / KEPT).parent.mkdir(parents=True)
    (command.home / KEPT).write_text("")
    done = in_process(*silently(file, SAID))
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing can be kept in" in done.stderr


def test_what_can_t_be_deleted_is_named(command, in_process) -> None:
    stuck, other = keep(command, "anna"), keep(command, "ben")
    (stuck / "0003.wav").mkdir()
    done = in_process("voice-test", "--delete", "--yes")
    assert (done.returncode, done.stdout) == (1, "deleted 2 recordings of 1 test\n")
    assert str(stuck) in done.stderr
    assert not other.exists()


def test_recordings_are_heard_again_without_a_microphone(command, in_process) -> None:
    keep(command)
    done = in_process("voice-test", "--app", "../robot.py", "--again", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["again"], told["all"]["lines"]) == (0, True, 2)
    assert told["all"]["words_wrong"] == {"count": 4, "of": 4}, "a tone is no speech"
    assert told["room"]["noise_db"] == -60.0
    assert all({"name", "found", "do", "setting"} == set(one) for one in told["advice"])


def test_what_is_kept_is_listed_and_deleted(command, in_process) -> None:
    assert in_process("voice-test", "--list").stdout == "no recordings are kept\n"
    folders = [keep(command, "anna"), keep(command, "ben", 3)]
    listed = in_process("voice-test", "--list").stdout.splitlines()
    assert [str(folder) in line for folder, line in zip(folders, listed, strict=True)] == [True, True]
    assert "anna: 2 recordings" in listed[0]
    rows = json.loads(in_process("voice-test", "--list", "--json").stdout)
    assert [(row["person"], row["recordings"]) for row in rows] == [("anna", 2), ("ben", 3)]
    refused = in_process("voice-test", "--delete")
    assert (refused.returncode, refused.stderr) == (2, "error: nobody is there to be asked: say --yes\n")
    done = in_process("voice-test", "--delete", "--person", "ben", "--yes")
    assert done.stdout == "deleted 3 recordings of ben of 1 test\n"
    assert in_process("voice-test", "--delete", "--yes").stdout == "deleted 2 recordings of 1 test\n"
    assert not (command.home / KEPT).exists()


@pytest.mark.parametrize(("answer", "told"), [("n", "nothing was deleted"), ("y", "deleted 2 recordings of 1 test")])
def test_deleting_asks_first(answer: str, told: str, command, at_terminal) -> None:
    folder = keep(command)
    terminal = at_terminal("voice-test", "--delete")
    terminal.expect(r"delete 2 recordings of 1 test in .*\?")
    terminal.enter(answer)
    terminal.expect(told)
    assert terminal.ends() == 0
    assert folder.exists() is (answer == "n")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--again"], 2, "no recordings are kept"),
        (["--again", "--person", "ben"], 2, "of 'ben'"),
        (["--list", "--delete"], 2, "one at a time"),
        (["--input", "x.wav"], 2, "or --silent"),
        (["--output", "x.wav"], 2, "--input FILE.wav"),
        (["--input", "-", "--silent"], 2, "files with names"),
        (["--input", "no.wav", "--silent"], 4, "no.wav can't be read"),
        (["--engine", "vosk"], 2, "sphinx, whisper"),
        (["--app", "no.py"], 2, "no.py is not there"),
        (["--person", "\udcff"], 2, "--person"),
        (["--distance", "\udcff"], 2, "--distance"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(in_process, arguments: list[str], code: int, told: str) -> None:
    done = in_process("voice-test", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_has_examples(in_process) -> None:
    told = in_process("voice-test", "--help").stdout
    assert "Examples" in told
    assert "--delete" in told


def test_without_a_loudspeaker_the_error_says_what_to_do(command, tmp_path: Path) -> None:
    (tmp_path / "asound.conf").write_text(ASOUND)  # of a sound server that does not run
    environment = {"ALSA_CONFIG_PATH": str(tmp_path / "asound.conf"), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = command("voice-test", "--app", "../robot.py", env=environment)
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 1
    assert not (command.home / KEPT).exists()


@sound
@pytest.mark.real_time
def test_a_person_at_a_microphone_is_tested(command, tmp_path: Path) -> None:
    person = tmp_path / "person.wav"
    speech = synthesised("turn left", "slt", RATE_HZ)
    with WavWriter(person, RATE_HZ) as writer:
        writer.write(0.3 / np.abs(speech).max() * speech)
    command.app("phrases = ['turn left']\nagent = Agent('a', llm=ScriptedLLM())\n")
    with Pulse() as pulse:
        environment = pulse.environment | {
            "HOME": str(command.home),
            "XDG_CACHE_HOME": command.environment["XDG_CACHE_HOME"],
        }
        arguments = ["voice-test", "--app", "../robot.py", "--silent", "--sentences", 1]
        with command.start(*arguments, env=environment, stdin=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            shown = []
            for line in process.stdout:
                shown.append(line.decode())
                if "1 of 1  please say: turn left" in shown[-1]:
                    subprocess.run(["paplay", "-d", "room", str(person)], env=pulse.environment, check=True)
            assert process.wait(30) == 0
    told = "".join(shown)
    assert "turn left" in told.partition("please say: turn left")[2]
    assert "1 of 1" in told.partition("commands right")[2]
