"""The journal: what is committed is there again, whatever happened to the process or to the file."""

import errno
import fcntl
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import BusyError, ConfigError, EdgeAgentError, Message, ToolCall, ToolResult, Usage
from edgeagent.journal.journal import Journal
from edgeagent.journal.records import Record
from edgeagent.messages import Origin, Status, StopReason

LIMIT_S = 60

ASKED = ToolCall("call_1", "drive", {"distance_m": 2.5})
EXCHANGE = [
    Message.user("fahr zwei Meter, bitte — 走 🤖"),
    Message("assistant", "", tool_calls=(ASKED,), stop_reason="tool_calls", thinking="two metres"),
    Message.tool(ToolResult("call_1", "drive", "ok", "arrived\n\u2028after 2.5 m")),
    Message("assistant", "I am there.", stop_reason="stop", usage=Usage(120, 5)),
]


def write(path, messages):
    with Journal.open(path) as journal:
        for message in messages:
            journal.append(message)


def load(path):
    with Journal.open(path) as journal:
        return journal.load()


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_a_new_journal_is_empty_and_keeps_what_is_appended(tmp_path):
    path = tmp_path / "session.jsonl"
    with Journal.open(path, session_id="s1") as journal:
        found = journal.load()
        assert (found.messages, found.usage, found.notices) == ((), Usage(), ())
        for message in EXCHANGE:
            journal.append(message)
    with Journal.open(path, session_id="another") as again:
        assert again.session_id == "s1"
        found = again.load()
    assert found.messages == tuple(EXCHANGE)
    assert found.notices == ()


def test_a_journal_names_its_session_itself(tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        name = journal.session_id
    with Journal.open(tmp_path / "a") as journal:
        assert journal.session_id == name
    with Journal.open(tmp_path / "b") as journal:
        assert journal.session_id != name


def test_each_line_is_json_that_other_programs_read(tmp_path):
    write(tmp_path / "s", EXCHANGE)
    program = "import json, sys; print(*[json.loads(line)['kind'] for line in open(sys.argv[1], encoding='utf-8')])"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "s")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["header"] + 4 * ["message"]


def test_a_replacement_takes_the_place_of_all_before(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        for message in EXCHANGE:
            journal.append(message)
        journal.replace([Message("user", "so far: a drive", origin="summary", id="m1"), EXCHANGE[3]])
        journal.append(Message("user", "and back", id="m2"))
        assert [m.text for m in journal.load().messages] == ["so far: a drive", "I am there.", "and back"]
        journal.replace([])
        assert journal.load().messages == ()


def test_a_message_is_cut_to_what_was_heard(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        for message in EXCHANGE:
            journal.append(message)
        journal.heard(EXCHANGE[3].id, "I am")
        journal.heard("msg_of_nobody", "x")
    assert load(tmp_path / "s").messages == (*EXCHANGE[:3], replace(EXCHANGE[3], text="I am"))


def test_the_last_usage_counts(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        journal.usage(Usage(10, 1))
        journal.usage(Usage(30, 3))
    assert load(tmp_path / "s").usage == Usage(30, 3)


def test_data_that_is_no_json_is_left_out_and_said(tmp_path, caplog):
    write(tmp_path / "s", [Message("map", "the house", data=object(), id="m1")])
    assert load(tmp_path / "s").messages == (Message("map", "the house", id="m1"),)
    assert "data of a message is no JSON" in caplog.text


def test_arguments_that_are_no_json_are_refused(tmp_path):
    with Journal.open(tmp_path / "s") as journal:
        with pytest.raises(EdgeAgentError, match="cannot be kept in a journal"):
            journal.append(Message.assistant("", [ToolCall("c", "f", {"x": object()})]))
        journal.append(EXCHANGE[0])
        assert journal.load().messages == (EXCHANGE[0],)


# surrogates too: a terminal hands them over for bytes that are no UTF-8
texts = st.text(st.characters() | st.sampled_from(["\ud83d", "\ude00", "\n", "\u2028", "\0", '"']), max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
results = st.builds(
    ToolResult, texts, texts, st.sampled_from(get_args(Status)), texts, value=anything, terminate=st.booleans()
)
calls = st.builds(
    ToolCall,
    texts,
    texts,
    st.dictionaries(texts, anything, max_size=3),
    raw=st.none() | texts,
    result=st.none() | results,
    agent=st.none() | texts,
)
messages = st.builds(
    Message,
    texts,
    texts,
    thinking=texts,
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    stop_reason=st.none() | st.sampled_from(get_args(StopReason)),
    error=st.none() | texts,
    usage=st.none() | st.builds(Usage, st.integers(0), st.integers(0)),
    call_id=st.none() | texts,
    name=st.none() | texts,
    status=st.none() | st.sampled_from(get_args(Status)),
    origin=st.sampled_from(get_args(Origin)),
    data=anything,
    id=texts,
)


@given(messages)
def test_every_field_of_a_message_comes_back(message):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        write(path, [message])
        assert load(path).messages[0] == message
        with Journal.open(path) as journal:
            journal.replace([message])
        assert load(path).messages[0] == message


# --- a process that died ----------------------------------------------------------------------------------------------


def test_a_record_torn_at_any_byte_is_dropped_and_said(tmp_path):
    path = tmp_path / "s"
    write(path, EXCHANGE)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for length in range(start, len(whole)):
        path.write_bytes(whole[:length])
        with Journal.open(path) as journal:
            found = journal.load()
            assert found.messages == tuple(EXCHANGE[:3])
            assert path.stat().st_size == start
            assert [("not written to its end" in notice) for notice in found.notices] == [True] * (length > start)
            journal.append(EXCHANGE[3])
        assert path.read_bytes() == whole
        assert load(path).notices == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_a_journal_torn_in_its_first_record_begins_anew(tmp_path):
    path = tmp_path / "s"
    write(path, [])
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        write(path, EXCHANGE[:1])
        assert load(path).messages == tuple(EXCHANGE[:1])


def test_zeros_that_a_power_cut_left_at_the_end_are_dropped(tmp_path):
    path = tmp_path / "s"
    write(path, EXCHANGE)
    with path.open("ab") as file:
        file.write(bytes(4096))
    found = load(path)
    assert found.messages == tuple(EXCHANGE)
    assert len(found.notices) == 1


def test_an_open_call_has_an_unknown_outcome_and_keeps_it(tmp_path):
    path = tmp_path / "s"
    write(path, EXCHANGE[:2])
    found = load(path)
    result = found.messages[2]
    assert (result.role, result.call_id, result.name, result.status) == ("tool", "call_1", "drive", "outcome_unknown")
    assert "nobody knows how far it got" in result.text
    assert found.notices == (result.text,)
    again = load(path)
    assert again.messages == found.messages
    assert again.notices == ()


def test_results_come_back_in_the_order_asked_with_the_missing_one_between(tmp_path):
    path = tmp_path / "s"
    asked = Message.assistant("", [ToolCall(f"c{i}", "look") for i in range(3)])
    late, early = (Message.tool(ToolResult(f"c{i}", "look", "ok", f"seen {i}")) for i in (2, 0))
    write(path, [asked, late, early])
    found = load(path).messages
    assert [(m.call_id, m.status) for m in found[1:]] == [("c0", "ok"), ("c1", "outcome_unknown"), ("c2", "ok")]
    assert load(path).messages == found


@given(st.lists(st.sampled_from(["user", "ask", "result", "stray"]), max_size=12), st.randoms())
def test_every_call_has_exactly_one_result_right_after_it(script, chance):
    history, asked = [], []
    for step in script:
        if step == "ask":
            made = [ToolCall(f"c{len(asked) + i}", "f") for i in range(chance.randint(1, 3))]
            asked += made
            history.append(Message.assistant("", made))
        elif step == "result" and asked:
            history.append(Message.tool(ToolResult(chance.choice(asked[-3:]).id, "f", "ok", "done")))
        elif step == "stray":
            history.append(Message("note", "of the app"))
        else:
            history.append(Message.user("hi"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        write(path, history)
        found = load(path).messages
        assert load(path).messages == found
    for i, message in enumerate(found):
        if message.tool_calls:
            following = found[i + 1 : i + 1 + len(message.tool_calls)]
            assert [m.call_id for m in following] == [call.id for call in message.tool_calls]
    assert {m.id for m in history if m.role != "tool"} <= {m.id for m in found}


WRITER = """
import sys
from edgeagent import Message
from edgeagent.journal.journal import Journal
journal = Journal.open(sys.argv[1])
known = len(journal.load().messages)
print("open", flush=True)
for i in range(known, 10**9):
    message = Message("user", f"{i} " + "x" * (i * 37 % 500))
    journal.append(message)
    print(message.id, flush=True)
    if i % 50 == 49:
        journal.replace(journal.load().messages)
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def test_kill_9_at_any_moment_loses_nothing_committed(tmp_path):
    path, committed, chance = tmp_path / "s", [], random.Random(1)
    for _ in range(5):
        with start(WRITER, path) as writer:
            assert writer.stdout.readline() == "open\n"
            committed += [writer.stdout.readline().strip() for _ in range(chance.randint(1, 120))]
            writer.send_signal(signal.SIGKILL)
            committed += writer.stdout.read().split("\n")[:-1]
        found = [m.id for m in load(path).messages]
        assert found[: len(committed)] == committed
        assert len(found) - len(committed) <= 1, "at most the one that was not yet told of"
        committed = found


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path):
    path = tmp_path / "s"
    with start(WRITER, path) as writer:
        assert writer.stdout.readline() == "open\n"
        with pytest.raises(BusyError, match=f"{path} is in use"):
            Journal.open(path)
        writer.kill()
        writer.wait(LIMIT_S)
        Journal.open(path).close()


def test_a_second_session_of_this_process_is_refused_until_the_first_is_closed(tmp_path):
    first = Journal.open(tmp_path / "s")
    with pytest.raises(BusyError):
        Journal.open(tmp_path / "s")
    first.close()
    first.close()
    Journal.open(tmp_path / "s").close()
    with pytest.raises(EdgeAgentError, match="closed"):
        first.append(EXCHANGE[0])


# --- a file that is damaged -------------------------------------------------------------------------------------------


@given(st.data())
def test_a_changed_byte_anywhere_keeps_what_stands_before_and_the_file_aside(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        write(path, [Message.user(str(i)) for i in range(6)])
        whole = bytearray(path.read_bytes())
        texts_before = [m.text for m in load(path).messages]
        at = data.draw(st.integers(20, len(whole) - 2), label="byte")
        whole[at] ^= data.draw(st.integers(1, 255), label="change")
        path.write_bytes(whole)
        with Journal.open(path) as journal:
            found = journal.load()
            kept = [m.text for m in found.messages]
            assert kept == texts_before[: max(whole[:at].count(b"\n") - 1, 0)], "the first line is the header"
            assert len(found.notices) == 1
            assert "is damaged" in found.notices[0]
            assert str(path) + ".damaged-1" in found.notices[0]
            journal.append(Message.user("on"))
        aside = Path(folder) / "s.damaged-1"
        assert aside.read_bytes() == whole
        assert stat.S_IMODE(aside.stat().st_mode) == 0o600
        again = load(path)
        assert [m.text for m in again.messages] == [*kept, "on"]
        assert again.notices == ()


def test_no_file_set_aside_takes_the_place_of_another(tmp_path):
    path = tmp_path / "s"
    for number in (1, 2):
        write(path, EXCHANGE)
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"fahr", b"geh ", 1))
        load(path)
        assert (tmp_path / f"s.damaged-{number}").exists()


def test_what_a_newer_version_wrote_is_left_alone(tmp_path):
    path = tmp_path / "s"
    path.write_bytes(Record("header", {"format": 2, "session_id": "s"}).line())
    whole = path.read_bytes()
    with pytest.raises(EdgeAgentError, match=r"has format 2; this edgeagent reads up to 1"):
        Journal.open(path)
    assert path.read_bytes() == whole
    path.write_bytes(Record("header", {"format": 1, "session_id": "s"}).line() + Record("dream", {}).line())
    with pytest.raises(EdgeAgentError, match=r"a record 'dream'"):
        load(path)
    path.write_bytes(
        Record("header", {"format": 1, "session_id": "s"}).line()
        + Record("message", {"role": "user", "mood": 1}).line()
    )
    with pytest.raises(EdgeAgentError, match=r"message of another version.*mood"):
        load(path)


# --- a disk that is full ----------------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from edgeagent import EdgeAgentError, Message
from edgeagent.journal.journal import Journal
journal = Journal.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
count = 0
try:
    while True:
        journal.append(Message.user("x" * 100))
        count += 1
except EdgeAgentError as error:
    print(error)
assert len(journal.load().messages) == count, "what was written is there, and nothing else"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(Message.user("room again"))
print(count)
"""


@pytest.mark.parametrize("limit", [1000, 1001, 1234])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, limit):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "s"), str(limit)], capture_output=True, text=True, check=True
    )
    complaint, count = done.stdout.splitlines()
    assert complaint == f"the journal {tmp_path / 's'} cannot be written: File too large"
    found = load(tmp_path / "s")
    assert len(found.messages) == int(count) + 1 >= 3
    assert found.messages[-1].text == "room again"
    assert found.notices == ()


class FullDisk:
    """``os.write`` with room for so many bytes."""

    write = staticmethod(os.write)

    def __init__(self, room: int) -> None:
        self.room = room

    def __call__(self, file: int, content: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.write(file, bytes(content)[: self.room])
        self.room -= written
        return written


def test_a_write_that_ends_at_any_byte_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "s"
    write(path, EXCHANGE[:1])
    whole = path.read_bytes()
    with Journal.open(path) as journal:
        for room in range(len(Record("usage", {"input_tokens": 1, "output_tokens": 1}).line())):
            monkeypatch.setattr(os, "write", FullDisk(room))
            with pytest.raises(EdgeAgentError, match=f"{path} cannot be written: No space left"):
                journal.usage(Usage(1, 1))
            assert path.read_bytes() == whole


def test_a_piece_that_could_not_be_taken_back_at_once_is_taken_back_before_the_next_record(tmp_path, monkeypatch):
    path = tmp_path / "s"
    with Journal.open(path) as journal:
        with monkeypatch.context() as broken:
            broken.setattr(os, "write", FullDisk(20))
            broken.setattr(os, "ftruncate", FullDisk(0))
            with pytest.raises(EdgeAgentError, match="cannot be written"):
                journal.append(EXCHANGE[0])
        assert journal.load().messages == ()
        journal.append(EXCHANGE[3])
    assert load(path).messages == (EXCHANGE[3],)


# --- compaction -------------------------------------------------------------------------------------------------------


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


# --- power and privacy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("durability", "files", "folders"), [("process", 0, 0), ("power", 4, 1)])
def test_with_power_each_record_waits_for_the_disk(tmp_path, monkeypatch, durability, files, folders):
    synced, sync = [], os.fsync

    def note(file):
        synced.append(stat.S_ISDIR(os.fstat(file).st_mode))
        sync(file)

    monkeypatch.setattr(os, "fsync", note)
    with Journal.open(tmp_path / "s", durability=durability) as journal:
        journal.append(EXCHANGE[0])
        journal.usage(Usage(1, 1))
        journal.replace([])
    assert (synced.count(False), synced.count(True)) == (files, folders)


def test_an_unknown_durability_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"durability='battery'.*process, power"):
        Journal.open(tmp_path / "s", durability="battery")


@pytest.mark.parametrize("umask", [0, 0o777])
def test_only_its_owner_reads_it(tmp_path, umask):
    before = os.umask(umask)
    try:
        write(tmp_path / "s", EXCHANGE)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    (tmp_path / "s").chmod(0o644)
    load(tmp_path / "s")
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


# --- a path that is wrong ---------------------------------------------------------------------------------------------


def wrong_path(folder, kind):
    path = folder / "s"
    match kind:
        case "link":
            path.symlink_to(folder / "elsewhere")
        case "folder":
            path.mkdir()
        case "no folder":
            path = folder / "missing" / "s"
        case "pipe":
            os.mkfifo(path)
        case "notes":
            path.write_text("milk, bread\n")
    return path


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("link", "symbolic link"),
        ("folder", "Is a directory"),
        ("no folder", "there is no folder .*missing"),
        ("pipe", "no ordinary file"),
        ("notes", "no journal of a session"),
    ],
)
def test_a_wrong_path_is_told_as_such_and_left_alone(tmp_path, kind, why):
    path = wrong_path(tmp_path, kind)
    with pytest.raises(EdgeAgentError, match=f"the journal {path} cannot be .*{why}"):
        Journal.open(path)
    assert not (tmp_path / "elsewhere").exists()
    if kind == "notes":
        assert path.read_text() == "milk, bread\n"


def test_a_file_of_somebody_else_is_told_as_such(tmp_path):
    path = tmp_path / "s"
    write(path, [])
    path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:  # root may read everything
            try:
                os.seteuid(65534)
            except OSError:
                pytest.skip("this namespace has no other user")
        with pytest.raises(EdgeAgentError, match=f"the journal {path} cannot be opened: Permission denied"):
            Journal.open(path)
    finally:
        if user == 0:
            os.seteuid(user)
