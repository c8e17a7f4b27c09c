"""The journal: what is committed is there again, for its owner alone."""

import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent import ConfigError, EdgeAgentError, Message, ToolCall, ToolResult, Usage
from edgeagent.journal import FORMAT, Journal, Record
from edgeagent.messages import Origin, Status, StopReason
from tests.journal.journals import EXCHANGE, load, write

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


@settings(max_examples=50)
@given(messages)
def test_every_field_of_a_message_comes_back(message):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        write(path, [message])
        assert load(path).messages[0] == message
        with Journal.open(path) as journal:
            journal.replace([message])
        assert load(path).messages[0] == message


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
            path.chmod(0o664)
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
    mode = path.stat().st_mode if path.exists() else None
    with pytest.raises(EdgeAgentError, match=f"the journal {path} cannot be .*{why}"):
        Journal.open(path)
    assert not (tmp_path / "elsewhere").exists()
    assert mode == (path.stat().st_mode if path.exists() else None)
    if kind == "notes":
        assert path.read_text() == "milk, bread\n"


def test_a_journal_of_a_newer_version_keeps_its_mode(tmp_path):
    path = tmp_path / "s"
    path.write_bytes(Record("header", {"format": FORMAT + 1, "session_id": "s1"}).line())
    path.chmod(0o664)
    with pytest.raises(EdgeAgentError, match="reads up to"):
        Journal.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


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
