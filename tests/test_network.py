"""No command but ``models pull`` opens a socket of a network, as the kernel sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 100
STRACE = shutil.which("strace")
NETWORK = ("AF_INET", "AF_INET6", "AF_NETLINK")


def _can_trace() -> bool:
    if STRACE is None:
        return False
    return subprocess.run([STRACE, "-o", os.devnull, "true"], capture_output=True, timeout=30).returncode == 0


pytestmark = pytest.mark.skipif(not _can_trace(), reason="strace is missing, or may not trace here")


def opened(folder: Path, *arguments: str) -> list[str]:
    """The sockets of a network that a command opens, its children included."""
    trace = folder / "trace"
    home = {"HOME": str(folder), "EDGEAGENT_MODELS": str(folder / "models"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    strace = [str(STRACE), "-f", "--seccomp-bpf", "-e", "trace=socket", "-o", str(trace)]
    command = [*strace, sys.executable, "-m", "edgeagent", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | home, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S
    )
    assert done.returncode in (0, 2, 3, 4), done.stderr.decode()
    return [line for line in trace.read_text().splitlines() if any(kind in line for kind in NETWORK)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("offline")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("ask", "--speed", "1000", "go to the kitchen"),
        ("say", "--output", "said.wav", "go to the kitchen"),
        ("say", "--voice", "joe", "--output", "said.wav", "a voice that is not here"),
        ("listen", "--input", "command.wav"),
        ("listen", "--engine", "whisper", "--input", "command.wav"),
        ("talk", "--input", "command.wav", "--output", "talk.wav"),
        ("doctor", "--json"),
        ("models", "list"),
        ("models", "info", "tiny.en"),
        ("models", "verify"),
        ("voices", "all"),
    ],
    ids=" ".join,
)
def test_a_command_opens_no_socket_of_a_network(folder: Path, arguments: tuple[str, ...]) -> None:
    command = folder / "command.wav"
    if not command.exists():
        say = [sys.executable, "-m", "edgeagent", "say", "--output", str(command), "where are you"]
        subprocess.run(say, check=True, timeout=LIMIT_S)
    assert opened(folder, *arguments) == []


def test_pulling_does(folder: Path) -> None:
    assert opened(folder, "models", "pull", "tiny.en", "--from", "hub") != []
