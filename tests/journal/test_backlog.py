"""A journal that never raises: what cannot be written waits its turn."""

import errno
import os
import threading
from dataclasses import replace

import pytest

from edgeagent import Message, ToolCall, Usage
from edgeagent.journal import Backlog, Journal

LIMIT_S = 20


@pytest.fixture
def disk(monkeypatch):
    """Set ``disk.full``."""

    class Disk:
        full = False
        write = staticmethod(os.write)

        def __call__(self, file, content):
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.write(file, content)

    made = Disk()
    monkeypatch.setattr(os, "write", made)
    return made


def backlog_of(path):
    journal = Journal.open(path)
    return Backlog(journal, [message.id for message in journal.load().messages])


def loaded(path):
    with Journal.open(path) as journal:
        return journal.load()


def test_each_message_is_written_once(tmp_path):
    one, two = Message.user("one"), Message.user("two")
    backlog = backlog_of(tmp_path / "s")
    backlog.extend([one])
    backlog.extend([one, two])
    backlog.close()
    again = backlog_of(tmp_path / "s")
    again.extend([one, two])
    again.close()
    again.close()
    assert loaded(tmp_path / "s").messages == (one, two)


def test_what_waits_is_written_in_its_order_as_soon_as_there_is_room(tmp_path, disk):
    messages = [Message.user(str(i)) for i in range(4)]
    backlog = backlog_of(tmp_path / "s")
    backlog.extend(messages[:1])
    disk.full = True
    backlog.extend(messages[:3])
    backlog.heard(messages[1].id, "x")
    backlog.usage(Usage(1, 1))
    backlog.usage(Usage(2, 2))
    disk.full = False
    backlog.extend(messages)
    backlog.close()
    found = loaded(tmp_path / "s")
    assert found.messages == (messages[0], replace(messages[1], text="x"), *messages[2:])
    assert found.usage == Usage(2, 2)


def test_what_waits_is_written_at_the_end(tmp_path, disk):
    backlog = backlog_of(tmp_path / "s")
    disk.full = True
    backlog.extend([Message.user("one")])
    disk.full = False
    backlog.close()
    assert [message.text for message in loaded(tmp_path / "s").messages] == ["one"]


def test_what_is_lost_in_the_end_is_logged(tmp_path, disk, caplog):
    backlog = backlog_of(tmp_path / "s")
    disk.full = True
    backlog.extend([Message.user("one"), Message.user("two")])
    backlog.close()
    assert "2 records could not be written" in caplog.text


def test_another_history_takes_the_place_of_what_waits_but_the_usage(tmp_path, disk):
    backlog = backlog_of(tmp_path / "s")
    disk.full = True
    backlog.usage(Usage(2, 2))
    backlog.extend([Message.user("one")])
    other = Message.user("other")
    backlog.replace([other])
    assert len(backlog._waiting) == 2
    disk.full = False
    backlog.close()
    found = loaded(tmp_path / "s")
    assert (found.messages, found.usage) == ((other,), Usage(2, 2))


def test_it_complains_once_each_time(tmp_path, disk):
    backlog = backlog_of(tmp_path / "s")
    complaints = []
    for full in (False, True, True, False, True):
        disk.full = full
        backlog.extend([Message.user("x")])
        complaints.append(backlog.complaint())
    assert [bool(complaint) for complaint in complaints] == [False, True, False, False, True]
    assert "No space left on device" in complaints[1]
    disk.full = False
    backlog.close()


def test_what_no_journal_can_hold_is_left_out_and_what_follows_is_kept(tmp_path):
    backlog = backlog_of(tmp_path / "s")
    backlog.extend([Message.assistant("", [ToolCall("c", "f", {"x": object()})]), Message.user("two")])
    assert "cannot be kept in a journal" in backlog.complaint()
    backlog.close()
    assert [message.text for message in loaded(tmp_path / "s").messages] == ["two"]


def test_what_comes_after_its_end_is_refused_and_logged(tmp_path, caplog):
    backlog = backlog_of(tmp_path / "s")
    backlog.close()
    backlog.extend([Message.user("late")])
    backlog.close()
    assert "it is closed" in caplog.text
    assert loaded(tmp_path / "s").messages == ()


def test_threads_may_write_at_once(tmp_path):
    backlog = backlog_of(tmp_path / "s")
    messages = [Message.user(str(i)) for i in range(50)]
    threads = [threading.Thread(target=backlog.extend, args=(messages,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    backlog.close()
    assert loaded(tmp_path / "s").messages == tuple(messages)
