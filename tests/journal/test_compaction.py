"""A journal that is rewritten without what is dead: when it is, what stays in it, and what it costs."""

import fcntl
import os
import stat
import time
import tracemalloc

import pytest

from edgeagent import BusyError, EdgeAgentError, Message, Usage
from edgeagent.journal import Journal, Record
from tests.journal.journals import EXCHANGE, FullDisk, load, write

LINE = "word " * 40
LAST = [Message.user(f"last {j}") for j in range(10)]


def fill(journal):
    """Replaces the history until the file is as long as a file may be that holds little."""
    journal.usage(Usage(7, 8))
    while journal.path.stat().st_size <= 65_536:
        journal.replace([Message.user(f"{j} {LINE}") for j in range(10)])


def test_a_file_of_replaced_messages_is_rewritten(tmp_path):
    path = tmp_path / "s"
    with Journal.open(path, session_id="s1") as journal:
        fill(journal)
        journal.replace(LAST)
        assert path.stat().st_size < 2000
        journal.append(EXCHANGE[0])
        with pytest.raises(BusyError):
            Journal.open(path)
    with Journal.open(path) as journal:
        assert journal.session_id == "s1"
        found = journal.load()
    assert found.messages == (*LAST, EXCHANGE[0])
    assert found.usage == Usage(7, 8)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_a_file_that_is_mostly_alive_is_left_alone(tmp_path):
    path = tmp_path / "s"
    messages = [Message.user(f"{i} {LINE}") for i in range(600)]
    write(path, messages)
    file = path.stat().st_ino
    with Journal.open(path) as journal:
        journal.replace(messages)
    assert path.stat().st_ino == file
    assert load(path).messages == tuple(messages)


def test_a_long_history_is_written_a_line_for_each_message(tmp_path):
    path = tmp_path / "s"
    messages = [Message.user(str(i)) for i in range(5000)]
    with Journal.open(path) as journal:
        journal.append(EXCHANGE[0])
        journal.replace(messages)
        assert max(map(len, path.read_bytes().splitlines())) < 200
        journal.append(EXCHANGE[0])
    assert load(path).messages == (*messages, EXCHANGE[0])


def test_a_journal_that_is_reopened_knows_what_is_dead(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        fill(journal)
    with Journal.open(tmp_path / "s") as journal:
        journal.replace(LAST)
    assert (tmp_path / "s").stat().st_size < 2000
    assert load(tmp_path / "s").usage == Usage(7, 8)


def test_what_was_replaced_is_not_read_again(tmp_path, monkeypatch):
    path = tmp_path / "s"
    with Journal.open(path) as journal:
        for i in range(100):
            journal.append(Message.user(f"old {i}"))
        journal.usage(Usage(7, 8))
        journal.replace(LAST)
        journal.append(EXCHANGE[0])
    with Journal.open(path) as journal:
        made = []
        monkeypatch.setattr("edgeagent.journal.records.message_of", lambda data: made.append(data) or Message(**data))
        assert journal.load().messages == (*LAST, EXCHANGE[0])
        assert len(made) == 11
        assert journal.load().usage == Usage(7, 8)


def test_a_journal_is_never_read_as_a_whole(tmp_path):
    path = tmp_path / "s"
    with Journal.open(path) as journal:
        for _ in range(100):
            journal.append(Message.user("x" * 200_000))
        (path.parent / "long").write_bytes(path.read_bytes() + Record("history", {"messages": []}).line())
    damaged = bytearray((tmp_path / "long").read_bytes())
    damaged[-200_000] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    del damaged
    for name, count in (("long", 0), ("damaged", 99)):
        tracemalloc.start()
        try:
            with Journal.open(tmp_path / name) as journal:
                _, peak = tracemalloc.get_traced_memory()
                assert len(journal.load().messages) == count
        finally:
            tracemalloc.stop()
        assert peak < 4_000_000, "of 20 MB"


def test_who_waited_at_a_file_that_was_rewritten_meanwhile_gets_the_new_one(tmp_path, monkeypatch):
    path, flock = tmp_path / "s", fcntl.flock
    first = Journal.open(path)
    fill(first)

    def rewrite_then_lock(file, flags):
        monkeypatch.setattr(fcntl, "flock", flock)
        before = path.stat().st_ino
        first.replace(LAST)
        assert path.stat().st_ino != before
        first.append(EXCHANGE[0])
        first.close()
        flock(file, flags)

    monkeypatch.setattr(fcntl, "flock", rewrite_then_lock)
    with Journal.open(path) as second:
        assert second.load().messages[-1] == EXCHANGE[0]
        second.append(EXCHANGE[3])
    assert load(path).messages[-1] == EXCHANGE[3]


def test_a_rewrite_without_room_leaves_the_old_file_in_use(tmp_path, monkeypatch):
    path = tmp_path / "s"
    with Journal.open(path) as journal:
        fill(journal)
        before = journal.load().messages
        (tmp_path / "s.compacting").write_text("left by a crash")
        with monkeypatch.context() as full:
            full.setattr(os, "write", FullDisk(100))
            with pytest.raises(EdgeAgentError, match="cannot be written: No space left"):
                journal.replace(LAST)
        assert [entry.name for entry in tmp_path.iterdir()] == ["s"]
        assert journal.load().messages == before
        journal.append(EXCHANGE[0])
    assert load(path).messages == (*before, EXCHANGE[0])


def test_where_no_new_file_can_be_made_the_old_one_gets_longer(tmp_path, monkeypatch):
    path = tmp_path / "s"
    with Journal.open(path) as journal:
        fill(journal)
        with monkeypatch.context() as guarded:
            guarded.setattr(type(path), "replace", lambda *_: (_ for _ in ()).throw(PermissionError(13, "not allowed")))
            journal.replace(LAST)
        assert [entry.name for entry in tmp_path.iterdir()] == ["s"]
        journal.append(EXCHANGE[0])
    assert load(path).messages == (*LAST, EXCHANGE[0])


def test_the_cost_of_a_message_does_not_grow_with_the_history(tmp_path):
    def seconds(count):
        path = tmp_path / str(count)
        began = time.thread_time()
        write(path, [Message.user(f"message {i}") for i in range(count)])
        assert len(load(path).messages) == count
        return time.thread_time() - began

    few_s, many_s = seconds(500), seconds(5_000)
    assert many_s < 40 * few_s, "10 times the messages; a cost that grows with them takes 100 times as long"


def test_the_cost_of_what_was_heard_does_not_grow_with_the_history(tmp_path):
    def seconds(count):
        path = tmp_path / str(count)
        with Journal.open(path) as journal:
            for i in range(count):
                message = Message("assistant", f"answer {i}")
                journal.append(message)
                journal.heard(message.id, "ans")
        began = time.thread_time()
        assert {message.text for message in load(path).messages} == {"ans"}
        return time.thread_time() - began

    few_s, many_s = seconds(500), seconds(5_000)
    assert many_s < 30 * few_s, "10 times the cuts; a search through the history takes 100 times as long"
