"""A journal that is rewritten without what is dead: when it is, what stays in it, and what it costs."""

import fcntl
import os
import stat
import time

import pytest

from edgeagent import BusyError, EdgeAgentError, Message, Usage
from edgeagent.journal.journal import Journal
from tests.journal.journals import EXCHANGE, FullDisk, load, write


def fill(journal):
    for i in range(100):
        journal.replace([Message.user(f"{i}.{j}") for j in range(10)])
    journal.usage(Usage(7, 8))
    journal.heard(journal.load().messages[0].id, "cut")


def test_a_file_of_replaced_messages_is_rewritten(tmp_path):
    path = tmp_path / "s"
    with Journal.open(path, session_id="s1") as journal:
        fill(journal)
        size, before = path.stat().st_size, journal.load()
        assert journal.compact()
        assert path.stat().st_size < size / 50
        assert not journal.compact()
        journal.append(EXCHANGE[0])
        with pytest.raises(BusyError):
            Journal.open(path)
    with Journal.open(path) as journal:
        assert journal.session_id == "s1"
        found = journal.load()
    assert found.messages == (*before.messages, EXCHANGE[0])
    assert found.messages[0].text == "cut"
    assert found.usage == Usage(7, 8)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_a_file_that_is_mostly_alive_is_left_alone(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        for i in range(600):
            journal.append(Message.user(str(i)))
        journal.replace(journal.load().messages)
        assert not journal.compact()


def test_a_journal_that_is_reopened_knows_what_is_dead(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        fill(journal)
    with Journal.open(tmp_path / "s") as journal:
        journal.load()
        assert journal.compact()


def test_who_waited_at_a_file_that_was_rewritten_meanwhile_gets_the_new_one(tmp_path, monkeypatch):
    path, flock = tmp_path / "s", fcntl.flock
    first = Journal.open(path)
    fill(first)

    def rewrite_then_lock(file, flags):
        monkeypatch.setattr(fcntl, "flock", flock)
        assert first.compact()
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
        (tmp_path / "s.compacting").write_text("left by a crash")
        with monkeypatch.context() as full:
            full.setattr(os, "write", FullDisk(100))
            with pytest.raises(EdgeAgentError, match="cannot be rewritten: No space left"):
                journal.compact()
        assert [entry.name for entry in tmp_path.iterdir()] == ["s"]
        journal.append(EXCHANGE[0])
    assert load(path).messages[-1] == EXCHANGE[0]


def test_the_cost_of_a_message_does_not_grow_with_the_history(tmp_path):
    def seconds(count):
        path = tmp_path / str(count)
        began = time.thread_time()
        write(path, [Message.user(f"message {i}") for i in range(count)])
        assert len(load(path).messages) == count
        return time.thread_time() - began

    few_s, many_s = seconds(1_000), seconds(10_000)
    assert many_s < 40 * few_s, "10 times the messages; a cost that grows with them takes 100 times as long"
