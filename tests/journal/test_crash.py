"""A journal whose process died or whose file was damaged: what was committed before is there, and the rest is said."""

import random
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import BusyError, EdgeAgentError, Message, ToolCall, ToolResult
from edgeagent.journal import Journal, Record
from tests.journal.journals import EXCHANGE, load, write

LIMIT_S = 60


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
from edgeagent.journal import Journal
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
    for _ in range(3):
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


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([Record("header", {"format": "2", "session_id": "s"})], "has format '2'; this edgeagent reads up to 1"),
        ([Record("header", {"format": 1})], "has a header of another version.*session_id"),
        ([Record("usage", {"input_tokens": 9, "cached_tokens": 3})], "has a usage of another version.*cached_tokens"),
        ([Record("history", {})], "has a history of another version.*messages"),
        ([Record("message", [])], "has a message of another version"),
        ([Record("message", {"role": 3})], "has a message of another version"),
        ([Record(["message"], {})], "has a record of another version"),
    ],
)
def test_a_whole_record_of_another_version_is_told_as_such(tmp_path, records, told):
    path = tmp_path / "s"
    begun = [] if records[0].kind == "header" else [Record("header", {"format": 1, "session_id": "s"})]
    path.write_bytes(b"".join(record.line() for record in [*begun, *records]))
    with pytest.raises(EdgeAgentError, match=f"the journal {path} cannot be read: it {told}"):
        load(path)
