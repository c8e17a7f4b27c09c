"""Processes of a Python that has loaded the package before: to load it takes longer than most commands do.

A fork is a process as any other, with its own pipes, terminal, signals, session and end of Python. What a fork can't
show is how the package loads, or how Python starts: that is for a new interpreter.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

SERVER = r"""
import functools, gc, importlib, json, os, pkgutil, select, signal, socket, sys
import edgeagent, edgeagent.cli, typer

requests = socket.socket(fileno=int(sys.argv[1]))
for found in pkgutil.walk_packages(edgeagent.__path__, "edgeagent."):
    # The driver of a base has what is frozen here looked through at the end of every fork.
    if not found.name.startswith(("edgeagent.__main__", "edgeagent.robot.", "edgeagent.train")):
        importlib.import_module(found.name)
for name in sys.argv[2:]:
    importlib.import_module(name)
typer.main.get_command = functools.cache(typer.main.get_command)
typer.main.get_command(edgeagent.cli.commands)
gc.collect()
gc.freeze()


def opened(number, stream, mode, buffering):
    # As Python opens a standard stream when it starts.
    how = {"encoding": stream.encoding, "errors": stream.errors, "newline": "\n", "closefd": False}
    return open(number, mode, buffering, **how)


def begin(told, files):
    # Makes this fork what a process with that environment, folder, and files would be.
    os.setsid()
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["environment"])
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if number in told["ignored"] else signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = sys.__stdin__ = opened(0, sys.stdin, "r", -1)
    sys.stdout = sys.__stdout__ = opened(1, sys.stdout, "w", -1)
    sys.stderr = sys.__stderr__ = opened(2, sys.stderr, "w", 1)
    sys.argv = ["-c", *told["arguments"]]


children = {}
program = None
while program is None:
    for ready in select.select([requests, *children], [], [])[0]:
        if ready is not requests:
            pid, ended = children.pop(ready)
            os.write(ended, str(os.waitpid(pid, 0)[1]).encode())
            os.close(ready)
            os.close(ended)
            continue
        message, files, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        if not message:
            os._exit(0)
        if pid := os.fork():
            children[os.pidfd_open(pid)] = pid, files[3]
            for file in files[:3]:
                os.close(file)
            requests.send(str(pid).encode())
            continue
        for file in [requests.detach(), files[3], *children, *(ended for _, ended in children.values())]:
            os.close(file)
        told = json.loads(message)
        begin(told, files[:3])
        program = told["program"]
        break
exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
"""
LIBRARIES = ["prompt_toolkit.shortcuts", "rich.table", "typer.rich_utils"]
"""What commands load beside the package; nothing that looks for devices or starts threads."""


STARTS = ("PYTHON", "LC_", "LANG", "LD_")
"""Beginnings of the names of variables that count when Python starts, and not later."""


class Forks:
    """A process that has loaded the package, and the way to it.

    Args:
        environment: What the process starts with.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number = theirs.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(number), *LIBRARIES],
            env=environment, pass_fds=[number], stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        theirs.close()

    def begin(self, told: Mapping[str, Any], files: list[int]) -> int:
        """Has a fork begin. Returns its process id.

        Args:
            files: Those of stdin, stdout and stderr, and one into which the status of its end is written.
        """
        socket.send_fds(self._way, [json.dumps(told).encode()], files)
        return int(self._way.recv(64))

    def close(self) -> None:
        self._way.close()
        self._process.wait()


_loaded: list[tuple[dict[str, str], Forks]] = []
"""The one process of this suite, with what it started with; it ends with the suite."""


def forks(environment: Mapping[str, str]) -> Forks | None:
    """Returns the process that has loaded the package, once for all tests; none for an environment that Python itself
    looks at when it starts, if the first one was another."""
    starts = {name: value for name, value in environment.items() if name.startswith(STARTS)}
    if not _loaded:
        _loaded.append((starts, Forks(environment)))
        atexit.register(_loaded[0][1].close)
    return _loaded[0][1] if _loaded[0][0] == starts else None


class Forked(subprocess.Popen[bytes]):
    """``subprocess.Popen`` of ``[python, "-c", program, *arguments]`` in a session of its own, by way of a fork."""

    def __init__(self, forks: Forks, args: list[str], **options: Any) -> None:
        self._forks = forks
        super().__init__(args, **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        cwd, env = rest[4:6]
        pipes = rest[9:15]
        self._ended, ended = os.pipe()
        given = [number if file == -1 else file for number, file in enumerate((pipes[0], pipes[3], pipes[5]))]
        told = {
            "program": args[2],
            "arguments": args[3:],
            "cwd": os.fspath(cwd),
            "environment": dict(env),
            "ignored": [one for one in (signal.SIGHUP, signal.SIGTERM) if signal.getsignal(one) == signal.SIG_IGN],
        }
        self.pid = self._forks.begin(told, [*given, ended])
        self._child_created = True
        os.close(ended)
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if not select.select([self._ended], [], [], 0 if wait_flags else None)[0]:
            return 0, 0
        status = int(os.read(self._ended, 64) or signal.SIGKILL)  # nothing of a fork that lost its parent
        os.close(self._ended)
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)
        return self.returncode
