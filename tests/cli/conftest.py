"""The command in a process of its own, with pipes or at a terminal, and without anything of this machine's user."""

import fcntl
import logging
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from functools import cache as once
from pathlib import Path
from typing import Any

import pytest

from tests.forks import Forked, forks

LIMIT_S = 60

# The suite may run where SIGINT is ignored, as in the background of a script; a terminal becomes the controlling one.
START = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
if os.isatty(0) and os.getsid(0) == os.getpid():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""
MAIN = "from edgeagent.cli import main; main()"

# The house robot on a model that does what it is told: CALL ARGUMENTS, or it repeats what it heard.
HOUSE = """
import json
import edgeagent.llm.llama as llama
from edgeagent.testing import ScriptedLLM, call

def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return last.text + "."
    name, _, arguments = last.text.partition(" ")
    known = {tool.name for tool in request.tools}
    return [call(name, **json.loads(arguments or "{}"))] if name in known else "heard " + last.text

llama.LlamaLLM = lambda model, **settings: ScriptedLLM(*[answer] * 1000, name=model)
"""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07")


class Command:
    """``edgeagent`` with an empty home."""

    def __init__(self, checkout: Path, home: Path) -> None:
        self.home = home
        self.cwd = home / "work"
        self.cwd.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("EDGEAGENT_", "XDG_"))}
        for name in ("NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR"):
            kept.pop(name, None)
        self.environment = kept | {
            "HOME": str(home),
            "PYTHONPATH": str(checkout),
            "PYTHONUNBUFFERED": "",
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }

    def app(self, text: str, name: str = "robot.py") -> Path:
        """An app file of that content, with the usual imports before it."""
        path = self.home / name
        imports = "from edgeagent import *\nfrom edgeagent.testing import ScriptedLLM, call\nimport threading\n"
        path.write_text(imports + text, encoding="utf-8")
        return path

    def argv(self, *arguments: object, house: bool = False, before: str = "") -> list[str]:
        program = START + (HOUSE if house else "") + before + MAIN
        return [sys.executable, "-c", program, *map(str, arguments)]

    def start(
        self, *arguments: object, house: bool = False, before: str = "", **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts the command, in a new interpreter where more differs than what a fork can take over.

        Args:
            before: Python that runs first in its process.
        """
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        environment = self.environment | options.pop("env", {})
        options |= {"cwd": self.cwd, "env": environment, "start_new_session": True}
        argv = self.argv(*arguments, house=house, before=before)
        if not before and (loaded := forks(environment)) is not None:
            return Forked(loaded, argv, **options)
        return subprocess.Popen(argv, **options)

    def __call__(
        self, *arguments: object, stdin: bytes = b"", house: bool = False, **options: Any
    ) -> "subprocess.CompletedProcess[str]":
        with self.start(*arguments, house=house, **options) as process:
            try:
                out, err = process.communicate(stdin, timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        texts = [(stream or b"").decode() for stream in (out, err)]
        return subprocess.CompletedProcess(process.args, process.returncode, *texts)


class Terminal:
    """A process at a terminal of 100 columns."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._unread = ""
        self.seen = ""
        self.raw = b""

    def type(self, text: str, encoding: str = "utf-8") -> None:
        os.write(self._master, text.encode(encoding))

    def enter(self, text: str) -> None:
        self.type(text + "\r")

    def expect(self, pattern: str) -> str:
        """Waits until that is shown, after what was expected before. Returns what came until then."""
        end_s = time.monotonic() + LIMIT_S
        while True:
            if found := re.search(pattern, self._unread):
                before, self._unread = self._unread[: found.end()], self._unread[found.end() :]
                return before
            assert time.monotonic() < end_s, f"{pattern!r} did not come after:\n{self.seen}"
            if select.select([self._master], [], [], 0.5)[0] and not self._read():
                raise AssertionError(f"it ended without {pattern!r}:\n{self.seen}")

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says EIO when the other side is closed
            return False
        self.raw += data
        text = _ESCAPES.sub("", data.decode(errors="replace")).replace("\r", "")
        self._unread += text
        self.seen += text
        return bool(data)

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def ends(self) -> int:
        """Waits for its end. Returns the exit code."""
        end_s = time.monotonic() + LIMIT_S
        while time.monotonic() < end_s:
            if select.select([self._master], [], [], 0.2)[0] and not self._read():
                break
            if self.process.poll() is not None and not select.select([self._master], [], [], 0)[0]:
                break
        return self.process.wait(timeout=LIMIT_S)

    def modes(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self._master)


@pytest.fixture(autouse=True)
def levels_of_loggers() -> Iterator[None]:
    """Gives the package's loggers the levels back that a command run in this process has changed."""
    loggers = [logging.getLogger(name) for name in ("edgeagent", *logging.root.manager.loggerDict)]
    before = [(logger, logger.level) for logger in loggers if logger.name.partition(".")[0] == "edgeagent"]
    yield
    for logger, level in before:
        logger.setLevel(level)


@once
def _commands() -> Any:
    """All commands, which are made once: it takes longer than most that are run in this process."""
    import typer

    from edgeagent.cli import commands

    return typer.main.get_command(commands)


@pytest.fixture
def edgeagent(checkout: Path, tmp_path: Path) -> Command:
    return Command(checkout, tmp_path)


@pytest.fixture
def in_process(
    edgeagent: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """As ``edgeagent``, but in this process, which is much faster: for what ends before a model is asked."""
    commands = _commands()
    for name in os.environ:
        if name.startswith(("EDGEAGENT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(edgeagent.home))
    monkeypatch.chdir(edgeagent.cwd)

    def call(*arguments: object) -> "subprocess.CompletedProcess[str]":
        with pytest.raises(SystemExit) as ended:
            commands.main([str(argument) for argument in arguments], prog_name="edgeagent")
        return subprocess.CompletedProcess(arguments, ended.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def at_terminal(edgeagent: Command) -> Iterator[Callable[..., Terminal]]:
    """Starts a command at a terminal; all are killed at the end."""
    started: list[tuple[subprocess.Popen[bytes], int, int]] = []

    def start(*arguments: object, **options: Any) -> Terminal:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        process = edgeagent.start(*arguments, **{"stdin": slave, "stdout": slave, "stderr": slave} | options)
        started.append((process, master, slave))
        return Terminal(process, master)

    yield start
    for process, master, slave in started:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=LIMIT_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        os.close(slave)
        os.close(master)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ``XDG_CACHE_HOME`` of commands with ears, whose models take seconds and are built once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def silent_room(edgeagent: Command, cache: Path) -> list[str]:
    """Files for microphone and loudspeaker, and a voice that is soon loaded, as options: a minute in which nobody
    speaks."""
    import numpy as np

    from edgeagent.audio import WavWriter

    edgeagent.environment["XDG_CACHE_HOME"] = str(cache)
    with WavWriter(edgeagent.cwd / "room.wav", 16_000) as writer:
        writer.write(np.random.default_rng(1).normal(0, 1e-3, 60 * 16_000).astype(np.float32))
    return ["--input", "room.wav", "--output", "robot.wav", "--voice", "en"]
