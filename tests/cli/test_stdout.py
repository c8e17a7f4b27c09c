"""stdout carries what a command answers and nothing else, whoever prints."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any

import pytest

NOISY = """
import ctypes, os, subprocess, sys
print("while it is imported")
@tool
def wave() -> str:
    "Wave."
    print("by print")
    print("by the first stdout", file=sys.__stdout__, flush=True)
    os.write(1, b"by a system call\\n")
    ctypes.CDLL(None).puts(b"by a C library")
    ctypes.CDLL(None).fflush(None)
    subprocess.run(["echo", "by a process"])
    return "waved"
agent = Agent("toy", llm=ScriptedLLM(*[[call("wave")], "I waved."] * 3), tools=[wave])
"""
SAID = ["while it is imported", "by print", "by the first stdout", "by a system call", "by a C library", "by a process"]
CHATTER = """
@tool(read_only=True, timeout_s=0.05)
def chatter() -> None:
    "Never return."
    while True:
        print("chatter" * 10_000, flush=True)
agent = Agent("toy", llm=ScriptedLLM([call("chatter")], "I gave up."), tools=[chatter])
"""


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["ask", "wave"], b""),
        (["ask", "wave", "--json"], b""),
        (["ask", "--stdin", "--json"], b"wave\n"),
        (["chat"], b"wave\n"),
    ],
)
def test_what_a_tool_prints_goes_to_stderr(edgeagent: Any, arguments: list[str], stdin: bytes) -> None:
    done = edgeagent(*arguments, "--app", edgeagent.app(NOISY), stdin=stdin)
    assert done.returncode == 0
    shown = done.stdout
    assert (json.loads(shown)["reply"] + "\n" if "--json" in arguments else shown) == "I waved.\n"
    assert [text for text in SAID if text not in done.stderr] == []


def test_a_tool_that_was_left_behind_prints_to_stderr_until_the_end(edgeagent: Any) -> None:
    """Read slowly, so that the tool is in the midst of its printing when the process ends."""
    with edgeagent.start("ask", "chatter", "--app", edgeagent.app(CHATTER)) as process:
        shown = b""
        while more := os.read(process.stderr.fileno(), 1 << 14):
            shown += more
            threading.Event().wait(0.01)
        assert (process.wait(30), process.stdout.read()) == (0, b"I gave up.\n")
        assert b"chatter" in shown


def test_at_a_terminal_it_is_shown_above_the_line_to_type(edgeagent: Any, at_terminal: Any) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(NOISY))
    terminal.expect(">")
    terminal.enter("wave")
    terminal.expect(r"(?s)by print.*toy: I waved\.|toy: I waved\..*by print")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_json_on_stdout_has_nothing_that_can_not_be_seen(edgeagent: Any) -> None:
    hidden = "a\u202eb\u200bc\u2066d\u0085e\u009cf\ufeff"
    app = edgeagent.app(f"agent = Agent('toy', llm=ScriptedLLM({hidden!r}))")
    done = edgeagent("ask", "hello \u202e", "--json", "--app", app)
    assert json.loads(done.stdout)["reply"] == hidden
    assert done.stdout.isascii()


@pytest.mark.parametrize(("closed", "code"), [(">&-", 1), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 1)])
def test_an_answer_to_a_stdout_that_is_closed_is_an_error(edgeagent: Any, closed: str, code: int) -> None:
    app = edgeagent.app("agent = Agent('a', llm=ScriptedLLM('hi'))")
    argv = ["bash", "-c", f'exec "$@" {closed}', "bash", *edgeagent.argv("ask", "hello", "--app", app)]
    done = subprocess.run(argv, env=edgeagent.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("the answer cannot be written" in done.stderr) == (closed == ">&-")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["chat", "--help"]])
def test_what_is_told_without_a_command_is_an_error_in_a_line_where_it_cannot_be_written(
    edgeagent: Any, arguments: list[str]
) -> None:
    argv = ["bash", "-c", 'exec "$@" >/dev/full', "bash", *edgeagent.argv(*arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the answer cannot be written: No space left on device\n"
