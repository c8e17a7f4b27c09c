"""Named sessions: found, listed and removed, whoever has them open; and the last one of an app."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgeagent import Agent, BusyError, ConfigError, Session
from edgeagent.journal import Journal, Shelf
from edgeagent.testing import ScriptedLLM


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path / "sessions")
    shelf.prepare()
    return shelf


def talked(shelf: Shelf, name: str, *said: str) -> Path:
    path = shelf.path(name)
    with Session.open(path, Agent("robi", llm=ScriptedLLM(*["Yes."] * len(said)))) as session:
        for text in said:
            session.step(text)
    return path


def test_sessions_are_listed_newest_first_with_their_turns_and_first_words(shelf: Shelf) -> None:
    for at, (name, said) in enumerate({"old": ["hello"], "new": ["go home", "stop there"]}.items()):
        os.utime(talked(shelf, name, *said), (at, at))
    found = shelf.sessions()
    assert [(one.name, one.turns, one.first, one.changed_t) for one in found] == [
        ("new", 2, "go home", 1),
        ("old", 1, "hello", 0),
    ]
    assert found[0].bytes == shelf.path("new").stat().st_size


def test_a_session_in_use_is_listed_and_goes_on(shelf: Shelf) -> None:
    agent = Agent("robi", llm=ScriptedLLM("Yes.", "Yes."))
    with Session.open(shelf.path("robi"), agent) as session:
        session.step("one")
        assert [(one.turns, one.fault) for one in shelf.sessions()] == [(1, "")]
        with pytest.raises(BusyError, match="in use"):
            shelf.remove("robi")
        session.step("two")
    assert shelf.sessions()[0].turns == 2


def test_what_cannot_be_read_is_listed_with_the_reason(shelf: Shelf) -> None:
    shelf.path("notes").write_text("no journal")
    whole = talked(shelf, "torn", "hello")
    with whole.open("ab") as file:
        file.write(b'{"kind": "message", "da')
    found = {one.name: one for one in shelf.sessions()}
    assert found["notes"].fault == "it is no journal of a session"
    assert (found["torn"].turns, found["torn"].fault) == (1, "")


def test_a_journal_of_a_newer_version_is_listed_with_the_reason(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    talked(shelf, "robi", "hello")
    monkeypatch.setattr("edgeagent.journal.records.FORMAT", 0)
    assert "format 1" in shelf.sessions()[0].fault


def test_removing_takes_the_damaged_copies_along(shelf: Shelf) -> None:
    path = talked(shelf, "robi", "hello")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"hello", b"jello") + b"x\n")
    Journal.open(path).close()
    assert len(list(shelf.folder.iterdir())) == 2
    assert shelf.remove("robi") > len(text)
    assert list(shelf.folder.iterdir()) == []
    with pytest.raises(ConfigError, match="there are none"):
        shelf.remove("robi")


@pytest.mark.parametrize("target", ["gone", "kept.journal", "robi.journal"])
def test_of_a_symbolic_link_the_link_alone_is_removed(shelf: Shelf, target: str) -> None:
    kept = talked(shelf, "kept", "hello")
    shelf.path("robi").symlink_to(shelf.folder / target)
    assert {one.name for one in shelf.sessions()} == {"kept", "robi"}
    assert shelf.free_name("robi") == "robi-2"
    shelf.remove("robi")
    assert list(shelf.folder.iterdir()) == [kept]


def test_a_damaged_copy_that_is_a_link_to_nothing_is_removed_too(shelf: Shelf) -> None:
    path = talked(shelf, "robi", "hello")
    path.with_name(f"{path.name}.damaged-1").symlink_to(shelf.folder / "gone")
    shelf.remove("robi")
    assert list(shelf.folder.iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", "a/b", "a.b", "-x", "_x", "a b", "x" * 41, "a\n"])
def test_a_name_never_leads_out_of_the_folder(shelf: Shelf, name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a session"):
        shelf.path(name)


def test_the_last_session_is_known_until_it_is_gone(shelf: Shelf) -> None:
    path = talked(shelf, "robi", "hello")
    assert shelf.last("app one") is None
    shelf.remember("app one", path)
    assert (shelf.last("app one"), shelf.last("app two")) == (path, None)
    assert {file.stat().st_mode & 0o777 for file in (shelf.folder / "last").iterdir()} == {0o600}
    shelf.remove("robi")
    assert shelf.last("app one") is None


def test_a_session_in_a_file_of_its_own_is_listed_by_its_path(shelf: Shelf, tmp_path: Path) -> None:
    path = tmp_path / "robi.journal"
    Journal.open(path).close()
    shelf.remember("folder", path)
    assert [one.name for one in shelf.sessions()] == [str(path)]


def test_a_note_that_cannot_be_written_is_told_and_stops_nothing(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    (shelf.folder / "last").write_text("in the way")
    shelf.remember("folder", shelf.folder / "robi.journal")
    assert "--continue will not know" in caplog.text
    assert shelf.last("folder") is None


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"path": 3}', "{", r'{"path": "a\u0000b"}', "[" * 200_000])
def test_a_broken_note_is_none(shelf: Shelf, tmp_path: Path, note: str) -> None:
    shelf.remember("folder", tmp_path / "x")
    for file in (shelf.folder / "last").iterdir():
        file.write_text(note)
    assert shelf.last("folder") is None
    assert list(shelf.sessions()) == []


def test_a_new_name_is_free_and_made_of_letters(shelf: Shelf) -> None:
    assert shelf.free_name("my robot.v2") == "my-robot-v2"
    Journal.open(shelf.path("house")).close()
    assert shelf.free_name("house") == "house-2"
    assert shelf.free_name("...") == "session"


def test_a_pipe_holds_nobody_up(shelf: Shelf) -> None:
    os.mkfifo(shelf.path("pipe"))
    assert [(one.name, one.fault) for one in shelf.sessions()] == [("pipe", "it is no file")]
    with pytest.raises(ConfigError, match="can't be removed: it is no file"):
        shelf.remove("pipe")
