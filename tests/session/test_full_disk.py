"""A disk that is full: the robot goes on talking, says so once, and keeps what it can as soon as there is room."""

import errno
import os
import subprocess
import sys

import pytest

from edgeagent import Agent, Session, hooks, tool
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, assert_whole, notices, texts


@tool
def note() -> str:
    """Notes."""
    return "noted"


class Disk:
    """``os.write`` of a disk that can be filled."""

    def __init__(self, monkeypatch):
        self.full = False
        write = os.write

        def guarded(file, content):
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, content)

        monkeypatch.setattr(os, "write", guarded)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def session_of(path, *replies):
    return Session.open(path, Agent("a", llm=ScriptedLLM(*replies), tools=[note]))


def test_the_robot_goes_on_and_says_so_once(tmp_path, disk):
    with session_of(tmp_path / "s", "A", [call("note")], "B", [call("note")], "C") as session:
        session.step("one")
        disk.full = True
        told = []
        for task, reply in (("two", "B"), ("three", "C")):
            handle = session.start(task)
            assert handle.result(LIMIT_S).reply == reply
            told += notices(handle)
        assert len(told) == 1
        assert "No space left on device" in told[0]
        assert str(tmp_path / "s") in told[0]
        assert texts(m for m in session.messages() if m.role == "user") == ["one", "two", "three"]


def test_the_log_is_not_flooded(tmp_path, disk, caplog):
    with session_of(tmp_path / "s", *(["A"] * 10)) as session:
        disk.full = True
        for _ in range(10):
            session.step("one")
    assert 1 <= len([r for r in caplog.records if "No space left" in r.getMessage()]) <= 2


def test_what_could_not_be_kept_is_kept_when_there_is_room_again(tmp_path, disk):
    with session_of(tmp_path / "s", "A", [call("note")], "B", "C") as session:
        session.step("one")
        disk.full = True
        session.step("two")
        disk.full = False
        session.step("three")
        history = session.messages()
        usage = session.usage
    with session_of(tmp_path / "s") as again:
        assert again.messages() == history
        assert again.usage == usage
        assert_whole(history)


@pytest.mark.parametrize("act", [lambda s: s.reset(), lambda s: s.truncate(1), lambda s: s.restore([])])
def test_a_change_that_could_not_be_kept_is_kept_when_there_is_room_again(tmp_path, disk, act):
    with session_of(tmp_path / "s", "A", "B", "C") as session:
        session.step("one")
        session.step("two")
        disk.full = True
        act(session)
        disk.full = False
        session.step("three")
        history = session.messages()
    with session_of(tmp_path / "s") as again:
        assert again.messages() == history


def test_a_change_that_could_not_be_kept_is_kept_when_the_session_is_closed_at_the_latest(tmp_path, disk):
    with session_of(tmp_path / "s", "A") as session:
        session.step("one")
        disk.full = True
        session.reset()
        disk.full = False
    with session_of(tmp_path / "s") as again:
        assert again.messages() == []


def test_a_hook_whose_journal_could_not_be_mended_on_a_full_disk_keeps_what_comes_when_there_is_room(tmp_path, disk):
    path = tmp_path / "s"
    with session_of(path, [call("note")], "A") as session:
        session.step("one")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    open_call = next(number for number, line in enumerate(lines) if '"tool_calls"' in line and "note" in line)
    path.write_text("".join(lines[: open_call + 1]), encoding="utf-8")
    hook = hooks.PersistSessionHook(path)
    agent = Agent("a", llm=ScriptedLLM("B", "C"), hooks=[hook])
    disk.full = True
    agent.run("two")
    disk.full = False
    agent.run("three")
    hook.close()
    with Session.open(path, Agent("a", llm=ScriptedLLM())) as session:
        assert "three" in texts(session.messages())


def test_it_is_said_again_when_the_disk_is_full_again(tmp_path, disk):
    told = []
    with session_of(tmp_path / "s", "A", "B", "C", "D") as session:
        for full in (True, False, True, True):
            disk.full = full
            handle = session.start("go")
            handle.result(LIMIT_S)
            told.append(len(notices(handle)))
    assert told == [1, 0, 1, 0]


def test_an_audit_without_room_is_one_line_and_the_session_goes_on(tmp_path, caplog):
    agent = Agent("a", llm=ScriptedLLM([call("note")], "A", [call("note")], "B"), tools=[note])
    with Session.open(tmp_path / "s", agent, audit="/dev/full") as session:
        assert [session.step(text).reply for text in ("one", "two")] == ["A", "B"]
        history = session.messages()
    with session_of(tmp_path / "s") as again:
        assert again.messages() == history
        assert again.notices == ()
    told = "the audit trail /dev/full has gaps: No space left on device; further failures are only counted"
    assert [(record.getMessage(), bool(record.exc_info)) for record in caplog.records] == [(told, False)]


def test_a_hook_of_ones_own_says_what_it_repaired(tmp_path):
    path = tmp_path / "s"
    with session_of(path, "A") as session:
        session.step("one")
    with path.open("ab") as file:
        file.write(b'{"kind": "message", "da')
    handle = Agent("a", llm=ScriptedLLM("B"), hooks=[hooks.PersistSessionHook(path)]).start("two")
    handle.result(LIMIT_S)
    assert [text for text in notices(handle) if "was not written to its end" in text]


LIMITED = """
import resource, signal, sys
from edgeagent import Agent, Session
from edgeagent.testing import ScriptedLLM

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
session = Session.open(sys.argv[1], Agent("a", llm=ScriptedLLM(*["word " * 30] * 20)))
told = []
session.subscribe(lambda event: told.append(event.text) if event.kind == "notice" else None)
for i in range(20):
    assert session.step(f"task {i}").reply
print(len(told), len(session.messages()))
session.close()
"""


def test_a_file_that_may_not_grow_is_as_good_as_a_full_disk(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "s"), "2000"],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    assert done.stdout.split() == ["1", "40"]
    with session_of(tmp_path / "s") as session:
        kept = [message.text for message in session.messages() if message.role == "user"]
        assert 2 <= len(kept) < 20
        assert kept == [f"task {i}" for i in range(len(kept))]
        assert session.notices == ()
