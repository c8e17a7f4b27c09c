"""A robot that is always on: the unit that is written, and what its command tells systemd while it runs."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeagent.cli import MARK, Notifier, Unit, quoted
from edgeagent.errors import ConfigError
from tests.audio.pulse import Pulse, missing
from tests.processes import descendants, left

LIMIT_S = 60
APP = """
import os, signal, socket

def tell(text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.sendto(text.encode(), os.environ["TOLD"])

@skill(stop=lambda: tell("halted"))
def drive(goal: GoalHandle) -> str:
    "Drives."
    tell("moving")
    goal.cancel_event.wait(600)
    return "halted"

agent = Agent("toy", llm=ScriptedLLM([call("drive")], "I drive."), tools=[drive], phrases=["drive"])
signal.signal(signal.SIGUSR2, lambda *_: agent.follow_up("drive", wake=True))
"""
JUMPING = """
import itertools, time

real, calls = time.time, itertools.count()
time.time = lambda: real() + (1e6 if next(calls) % 2 else -1e6)
"""
"""A wall clock that jumps by days from one look to the next."""
ANALYZE = shutil.which("systemd-analyze")


def unit(**fields: Any) -> Unit:
    made = {"name": "edgeagent", "system": True, "command": (sys.executable, "x"), "folder": Path("/"), "user": "robi"}
    return Unit(**made | fields)


@pytest.fixture
def app(edgeagent: Any) -> Path:
    return edgeagent.app(APP, "my robot%1.py")


# --- the unit -------------------------------------------------------------------------------------------------------


# left out only on a builder's machine without systemd, such as a container, where no unit can be installed either:
# nothing else reads a unit as systemd does. CI runs it: scripts/apt-packages.txt brings systemd
@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: see scripts/apt-packages.txt")
@pytest.mark.parametrize("system", [False, True])
def test_systemd_finds_nothing_to_complain_of(in_process: Any, app: Path, system: bool, tmp_path: Path) -> None:
    options = ["--system", "--user", "daemon"] if system else []
    words = ["--", "--wake-word", "hey robi", "--session", "r$obi"]
    shown = in_process("service", "install", "--app", app, *options, "--print", *words)
    assert shown.returncode == 0, shown.stderr
    path = tmp_path / "edgeagent.service"
    path.write_text(shown.stdout)
    who = "--system" if system else "--user"
    run = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [str(ANALYZE), who, "verify", "--man=no", path],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=os.environ | run,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_unit_says_what_it_should(in_process: Any, app: Path) -> None:
    lines = in_process("service", "install", "--app", app, "--print").stdout.splitlines()
    assert lines[0] == MARK
    for line in ("Type=notify", "WatchdogSec=30", "WatchdogSignal=SIGTERM", "Restart=on-failure"):
        assert line in lines
    assert "StartLimitIntervalSec=0" in lines[: lines.index("[Service]")], "it is never given up"
    (started,) = [line for line in lines if line.startswith("ExecStart=")]
    assert started == f'ExecStart={sys.executable} -m edgeagent talk --wait --app "{app.parent}/my robot%%1.py"'
    assert f"WorkingDirectory={app.parent}" in lines
    assert not [line for line in lines if line.startswith(("User=", "SupplementaryGroups="))]
    assert lines[-1] == "WantedBy=default.target"
    assert unit().text.splitlines()[-1] == "WantedBy=multi-user.target"
    assert "User=robi" in unit().text
    assert "SupplementaryGroups=audio" in unit().text or "audio" not in Path("/etc/group").read_text()


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("--app", "--app"),
        ("hey robi", '"hey robi"'),
        ("", '""'),
        ('say "x"', r'"say \"x\""'),
        ("a\\b", r'"a\\b"'),
        ("50%", "50%%"),
        ("$HOME", "$$HOME"),
        ("a;b", '"a;b"'),
        ("it's", '"it\'s"'),
    ],
)
def test_an_argument_reaches_the_command_as_it_is(argument: str, written: str) -> None:
    assert quoted(argument) == written


def test_systemd_replaces_no_variables_in_the_program_itself() -> None:
    assert "ExecStart=/opt/a$$b/python $$$$HOME\n" in unit(command=("/opt/a$$b/python", "$$HOME")).text


def test_a_unit_has_the_plain_path_of_its_folder(edgeagent: Any, in_process: Any) -> None:
    (edgeagent.cwd / "edgeagent.toml").touch()
    below = edgeagent.cwd / "below"
    below.mkdir()
    lines = in_process("service", "install", "--config", below / ".." / "edgeagent.toml", "--print").stdout.splitlines()
    assert f"WorkingDirectory={edgeagent.cwd}" in lines


@pytest.mark.parametrize("argument", ["a\nExecStartPre=/bin/evil", "a\rb"])
def test_a_line_end_is_refused(argument: str) -> None:
    with pytest.raises(ConfigError, match="line end"):
        _ = unit(command=("/bin/true", argument)).text


def test_a_link_to_a_version_is_kept(edgeagent: Any, tmp_path: Path) -> None:
    version, current = tmp_path / "0.2.0", tmp_path / "current"
    (version / "bin").mkdir(parents=True)
    script = version / "bin" / "edgeagent"
    script.write_text(f"#!{sys.executable}\nfrom edgeagent.cli import main\nmain()\n")
    script.chmod(0o755)
    current.symlink_to(version)
    argv = [current / "bin" / "edgeagent", "service", "install", "--print"]
    shown = subprocess.run(argv, env=edgeagent.environment, capture_output=True, text=True, timeout=LIMIT_S).stdout
    assert f"ExecStart={current}/bin/edgeagent talk --wait\n" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["install", "--app", "no.py"], "no.py is not there"),
        (["install", "--config", "no.toml"], "cannot read the settings"),
        (["install", "--user", "nobody"], "--user is for --system"),
        (["install", "--system", "--user", "no such user"], "this machine has no such user"),
        (["install", "--name", "../x"], "write letters, digits"),
        (["install", "--name", "../x", "--print"], "write letters, digits"),
        (["install", "--print", "--", "--text"], "--text needs somebody at a terminal"),
        (["install", "--print", "--", "--push-to-talk"], "--push-to-talk needs somebody at a terminal"),
        (["status"], "there is no unit"),
        (["uninstall"], "there is no unit"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(in_process: Any, arguments: list[str], told: str) -> None:
    done = in_process("service", *arguments)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", [["--nonsense"], ["--session"], ["nonsense"]])
def test_options_that_talk_has_not_are_refused_before_a_boot(in_process: Any, words: list[str]) -> None:
    done = in_process("service", "install", "--print", "--", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert words[0] in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--engine", "nope"], 2, "--engine: should be one of"),
        (["--barge-in", "fierce"], 2, "--barge-in: should be one of"),
        (["--speed", "1e9"], 2, "--speed: should be from"),
        (["--wake-word", "hey robi/9"], 2, "the threshold of a key phrase"),
        (["--web-port", "70000"], 2, "--web-port: should be from"),
        (["--web-host", "192.0.2.1"], 1, "192.0.2.1"),
        (["--model", "nope"], 3, "there is no model 'nope'"),
        (["--model", "no.gguf"], 3, "there is no model file"),
        (["--voice", "nope"], 4, "has no voice 'nope'"),
        (["--record", "talk.mp3"], 2, "a recording is a WAV file"),
        (["--log", "no/talk.jsonl"], 2, "--log no/talk.jsonl: there is no such folder"),
        (["--audit", "no/talk.jsonl"], 2, "--audit no/talk.jsonl: there is no such folder"),
        (["--session", "no/talk.journal"], 2, "--session no/talk.journal: there is no such folder"),
        (["--session", "robi", "--continue"], 2, "give one of them"),
        (["--input", "no.wav", "--output", "x.wav"], 2, "--input no.wav: there is no such file"),
        (["--input", "no.wav"], 2, "--output FILE.wav"),
        (["--app", "no.py"], 2, "no.py is not there"),
        (["--config", "no.toml"], 2, "cannot read the settings"),
    ],
)
def test_values_that_talk_refuses_install_nothing(
    edgeagent: Any, in_process: Any, words: list[str], code: int, told: str
) -> None:
    done = in_process("service", "install", "--", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr.splitlines()[-1]
    assert not list(edgeagent.home.rglob("*.service"))


def test_a_value_that_is_right_makes_nothing_but_the_unit(
    edgeagent: Any, in_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEAGENT_BARGE_IN", "fierce")  # of the shell's, which the unit has not
    folder = edgeagent.cwd / "robot"
    folder.mkdir()
    (folder / "talks").mkdir()
    (folder / "edgeagent.toml").touch()
    words = ["--session", "robi", "--log", "talks/talk.jsonl", "--model", "nano", "--voice", "en-us"]
    before = sorted(edgeagent.home.rglob("*"))
    done = in_process("service", "install", "--print", "--config", folder / "edgeagent.toml", "--", *words, "--web")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(edgeagent.home.rglob("*")) == before
    assert os.environ["EDGEAGENT_BARGE_IN"] == "fierce"


def test_a_user_without_a_name_gets_a_unit(in_process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    assert in_process("service", "install", "--print").returncode == 0


def test_a_page_whose_port_is_taken_by_the_running_service_is_installed_anew(in_process: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert in_process("service", "install", "--print", "--", "--web-port", str(port)).returncode == 0


def test_a_folder_that_is_no_utf8_is_told_and_leaves_nothing_behind(edgeagent: Any, in_process: Any) -> None:
    folder = edgeagent.cwd / os.fsdecode(b"robot\xff")
    folder.mkdir()
    (folder / "edgeagent.toml").touch()
    done = in_process("service", "install", "--config", folder / "edgeagent.toml")
    assert done.returncode == 2
    assert "is no UTF-8" in done.stderr.splitlines()[-1]
    assert not list((edgeagent.home / ".config").rglob("*.new"))


@pytest.fixture
def systemctl(edgeagent: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemctl that does nothing but note its arguments; what it prints is the last line of a file."""
    folder = edgeagent.home / "bin"
    folder.mkdir()
    script = folder / "systemctl"
    script.write_text(f'#!/bin/sh\necho "$*" >> {folder}/calls\ncat {folder}/answer 2>/dev/null\nexit 0\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def test_it_is_installed_seen_and_removed(edgeagent: Any, in_process: Any, app: Path, systemctl: Path) -> None:
    done = in_process("service", "install", "--app", app)
    assert (done.returncode, done.stdout) == (0, "systemctl --user start edgeagent\n"), done.stderr
    path = edgeagent.home / ".config/systemd/user/edgeagent.service"
    assert path.read_text().startswith(MARK)
    assert list(path.parent.iterdir()) == [path]
    calls = (systemctl / "calls").read_text().splitlines()
    assert calls == ["--user --no-pager daemon-reload", "--user --no-pager enable edgeagent.service"]
    assert in_process("service", "install", "--app", app).returncode == 0, "ours may be written again"

    (systemctl / "answer").write_text("ActiveState=active\nSubState=running\nStatusText=toy listens\nNRestarts=2\n")
    shown = in_process("service", "status")
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[0].split() == ["state", "active"]
    assert "says       toy listens" in shown.stdout
    (systemctl / "answer").write_text("ActiveState=failed\nResult=watchdog\n")
    assert in_process("service", "status").returncode == 1

    assert in_process("service", "uninstall").returncode == 0
    assert not path.exists()


def test_groups_that_the_user_lacks_and_the_line_for_a_start_at_boot_are_told(
    in_process: Any, systemctl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [grp.struct_group((name, "x", 40 + at, [])) for at, name in enumerate(("audio", "dialout", "video"))]
    somebody = pwd.getpwnam("daemon")
    monkeypatch.setattr(grp, "getgrall", lambda: known)
    monkeypatch.setattr(grp, "getgrgid", {one.gr_gid: one for one in known}.__getitem__)
    monkeypatch.setattr(os, "getgroups", lambda: [40])
    monkeypatch.setattr(os, "getuid", lambda: somebody.pw_uid)
    done = in_process("service", "install")
    assert done.returncode == 0
    told = done.stderr.splitlines()
    hint = "you are not in dialout,video; for sound cards and motors: sudo usermod -aG dialout,video daemon"
    assert any(hint in line for line in told)
    assert "to start at boot, before anybody logs in: sudo loginctl enable-linger daemon" in told[-1]


def test_a_unit_goes_though_nobody_answers_for_that_user(
    edgeagent: Any, in_process: Any, app: Path, systemctl: Path
) -> None:
    assert in_process("service", "install", "--app", app).returncode == 0
    (systemctl / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    done = in_process("service", "uninstall")
    assert done.returncode == 0, done.stderr
    assert not (edgeagent.home / ".config/systemd/user/edgeagent.service").exists()


def test_a_unit_of_somebody_else_is_left_alone(edgeagent: Any, in_process: Any, systemctl: Path) -> None:
    path = edgeagent.home / ".config/systemd/user/edgeagent.service"
    path.parent.mkdir(parents=True)
    path.write_text("[Unit]\n")
    for command in ("install", "uninstall"):
        done = in_process("service", command)
        assert (done.returncode, "was not written by edgeagent" in done.stderr) == (2, True)
    assert path.read_text() == "[Unit]\n"
    assert not (systemctl / "calls").exists()


def test_where_systemd_refuses_the_unit_is_there_and_the_line_is_told(
    edgeagent: Any, in_process: Any, systemctl: Path
) -> None:
    (systemctl / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    done = in_process("service", "install")
    assert done.returncode == 0
    assert "Failed to connect to bus; so the unit is not enabled: systemctl --user enable edgeagent" in done.stderr
    assert (edgeagent.home / ".config/systemd/user/edgeagent.service").exists()


# --- what it tells systemd ------------------------------------------------------------------------------------------


class Systemd:
    """The socket of a service manager, and everything that it was told."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self.told: list[str] = []

    def _hear(self, end_s: float) -> str | None:
        """The next that it is told; None if nothing comes until then."""
        if (left_s := end_s - time.monotonic()) <= 0:
            return None
        self._socket.settimeout(left_s)
        try:
            self.told.append(self._socket.recv(4096).decode())
        except TimeoutError:
            return None
        return self.told[-1]

    def next(self, part: str) -> str:
        """Waits until it is told something with that in it, after what it was told before."""
        end_s = time.monotonic() + LIMIT_S
        while (told := self._hear(end_s)) is not None:
            if part in told:
                return told
        raise AssertionError(f"{part} did not come after {self.told}")

    def silent_of(self, part: str, seconds: float) -> None:
        """Waits until nothing with that in it has come for so many seconds; begins anew twice at most."""
        for _ in range(3):
            end_s = time.monotonic() + seconds
            while (told := self._hear(end_s)) is not None and part not in told:
                pass
            if told is None:
                return
        raise AssertionError(f"{part} came again and again: {self.told}")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    manager = Systemd(tmp_path)
    yield manager
    manager.close()


@pytest.mark.real_time
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.timeout(240)
def test_the_command_of_the_unit_waits_for_sound_listens_lives_and_stops_motion_first(
    edgeagent: Any, in_process: Any, systemd: Systemd, app: Path, tmp_path: Path
) -> None:
    (tmp_path / "jumps").mkdir()
    (tmp_path / "jumps" / "sitecustomize.py").write_text(JUMPING)
    lines = in_process("service", "install", "--app", app, "--print", "--", "--log", "/dev/full").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("ExecStart=")]
    argv = shlex.split(line.removeprefix("ExecStart=").replace("%%", "%"))
    with Pulse() as pulse:
        pulse.kill()  # the sound server comes late
        sound = {name: pulse.environment[name] for name in ("XDG_RUNTIME_DIR", "ALSA_CONFIG_PATH")}
        told = {"NOTIFY_SOCKET": str(systemd.path), "WATCHDOG_USEC": "1500000", "TOLD": str(systemd.path)}
        path = f"{tmp_path / 'jumps'}{os.pathsep}{edgeagent.environment['PYTHONPATH']}"
        environment = edgeagent.environment | sound | told | {"PYTHONPATH": path}
        with subprocess.Popen(
            argv,
            cwd=edgeagent.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            try:
                assert "STATUS=waits: " in systemd.next("EXTEND_TIMEOUT_USEC=60000000")
                pulse.start()
                assert "STATUS=toy on scripted listens to" in systemd.next("READY=1")
                for _ in range(2):
                    systemd.next("WATCHDOG=1")
                pulse.kill()
                systemd.next("STATUS=")
                systemd.silent_of("WATCHDOG=1", 1.0)  # it is deaf
                pulse.start()
                systemd.next("WATCHDOG=1")
                process.send_signal(signal.SIGUSR2)  # it drives, which a full disk can't log
                systemd.next("moving")
                systemd.next("WATCHDOG=1")
                below = descendants(process.pid)
                for pid in (*below, process.pid):  # as systemd ends a unit
                    os.kill(pid, signal.SIGTERM)
                systemd.next("halted")  # before it tells of the end
                systemd.next("STOPPING=1")
                _, err = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
    assert process.returncode == 143
    assert left(below) == []
    assert err.decode().count("it is tried again until it can begin") == 1
    assert err.decode().count("the log /dev/full cannot be written") == 1


def test_a_watchdog_that_is_meant_for_another_process_is_none(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(systemd.path))
    monkeypatch.setenv("WATCHDOG_USEC", "1")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    notifier = Notifier()
    notifier.look(lambda: True)
    notifier.ready("listens")
    assert systemd.next("READY") == "READY=1\nSTATUS=listens"
    assert {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & set(os.environ) == set()


def test_who_is_not_alive_is_not_told_of(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(systemd.path))
    monkeypatch.setenv("WATCHDOG_USEC", "3")
    notifier = Notifier()
    threading.Event().wait(0.001)
    notifier.look(lambda: False)
    notifier.status("one line")
    assert systemd.next("STATUS") == "STATUS=one line"
    assert len(systemd.told) == 1
    notifier.look(lambda: True)
    assert systemd.next("WATCHDOG") == "WATCHDOG=1"


def test_a_socket_that_is_gone_or_full_stops_nothing(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(systemd.path))
    notifier = Notifier()
    for _ in range(2_000):
        notifier.status("x" * 2_000)
    systemd.close()
    systemd.path.unlink()
    notifier.stopping()
    notifier.stopping()


def test_an_abstract_socket_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0edgeagent-{os.getpid()}")
        manager.settimeout(LIMIT_S)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@edgeagent-{os.getpid()}")
        Notifier().ready("on\ntwo lines")
        assert manager.recv(100) == b"READY=1\nSTATUS=on two lines"
