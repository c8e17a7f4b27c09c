"""Sessions that go on: by name, with --continue, and the last request asked again."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from edgeagent.cli import built_when_free
from edgeagent.errors import BusyError, ConfigError
from edgeagent.journal import Journal, Record, is_in_use

ECHO = "agent = Agent('toy', llm=ScriptedLLM(*[lambda r: ' | '.join(m.text for m in r.messages)] * 9))"
DRIVES = """
moved = []

@skill
def drive() -> str:
    "Drives."
    moved.append(1)
    return f"drove {len(moved)} m"

@tool(read_only=True)
def battery() -> str:
    "Battery level."
    return "64 percent"

def answer(request):
    last = request.messages[-1]
    return last.text + "." if last.role == "tool" else [call(last.text)] if last.text != "hi" else "hello"

agent = Agent('toy', llm=ScriptedLLM(*[answer] * 20), tools=[drive, battery])
"""


def listed(edgeagent: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in edgeagent("sessions", "list", "--json").stdout.splitlines()]


def test_a_named_session_is_kept_in_the_folder_for_data_and_listed(edgeagent: Any) -> None:
    app = edgeagent.app(ECHO)
    assert edgeagent("ask", "one", "--session", "s", "--app", app).stdout == "one\n"
    assert edgeagent("ask", "two", "--session", "s", "--app", app).stdout == "one | one | two\n"
    assert list(edgeagent.cwd.iterdir()) == []
    (session,) = listed(edgeagent)
    assert (session["name"], session["turns"], session["first"]) == ("s", 2, "one")
    path = Path(edgeagent("sessions", "path", "s").stdout.strip())
    assert path == edgeagent.home / ".local/share/edgeagent/sessions/s.journal"
    assert path.stat().st_mode & 0o777 == 0o600
    shown = edgeagent("sessions", "list").stdout.splitlines()
    assert shown[0].split() == ["NAME", "CHANGED", "TURNS", "SIZE", "BEGINS", "WITH"]
    assert shown[1].split()[0] == "s"
    assert shown[1].endswith("one")
    assert "removed s" in edgeagent("sessions", "remove", "s", "--yes").stderr
    assert not path.exists()


def test_a_file_is_a_file_as_before(edgeagent: Any) -> None:
    app = edgeagent.app(ECHO)
    for named in ("robi.journal", "./robi"):
        edgeagent("ask", "one", "--session", named, "--app", app)
    assert edgeagent("ask", "two", "--session", "robi", "--app", app).stdout == "one | one | two\n"
    assert {path.name for path in edgeagent.cwd.iterdir()} == {"robi", "robi.journal"}


def test_continue_goes_on_with_the_last_session_of_the_app_wherever_it_is_started(edgeagent: Any) -> None:
    app, other = edgeagent.app(ECHO), edgeagent.app(ECHO, "other.py")
    first = edgeagent("ask", "one", "--continue", "--app", app)
    assert first.stdout == "one\n"
    assert "so a new one begins: robot" in first.stderr
    assert edgeagent("ask", "x", "--session", "mine", "--app", other).returncode == 0
    edgeagent.cwd = edgeagent.home
    assert edgeagent("chat", "--continue", "--app", app, stdin=b"two\n").stdout == "one | one | two\n"
    assert edgeagent("ask", "y", "--continue", "--app", other).stdout == "x | x | y\n"
    assert {one["name"] for one in listed(edgeagent)} == {"robot", "mine"}


def test_continue_goes_on_with_the_last_session_of_the_folder(edgeagent: Any) -> None:
    edgeagent("ask", "one", "--session", "a.journal", house=True)
    done = edgeagent("ask", "two", "--continue", "--log", "log.jsonl", house=True)
    assert done.stdout == "heard two\n"
    assert "begins" not in done.stderr
    (session,) = listed(edgeagent)
    assert (session["name"], session["turns"]) == (str(edgeagent.cwd / "a.journal"), 2)


def test_continue_goes_on_with_the_session_that_the_app_file_or_the_settings_name(edgeagent: Any) -> None:
    app = edgeagent.app(ECHO + "\nsession = {'path': 'own.journal'}")
    edgeagent("ask", "one", "--app", app)
    assert edgeagent("ask", "two", "--continue", "--app", app).stdout == "one | one | two\n"
    (edgeagent.cwd / "settings.toml").write_text('session = "set.journal"\n')
    edgeagent("ask", "one", "--continue", "--config", "settings.toml", house=True)
    assert (edgeagent.cwd / "set.journal").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ask", "hi", "--continue", "--session", "s"], "give one of them"),
        (["ask", "--stdin", "--continue"], "new session"),
        (["ask", "hi", "--session", ""], "the name of a session can't be empty"),
        (["sessions", "path", "nobody"], "there is no session 'nobody'"),
        (["sessions", "path", "../x"], "is no name of a session"),
        (["sessions", "remove", "nobody"], "there is no session 'nobody'"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(in_process: Any, arguments: list[str], told: str) -> None:
    done = in_process(*arguments)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1]


def test_removing_asks_first(edgeagent: Any, at_terminal: Any) -> None:
    edgeagent("ask", "one", "--session", "s", "--app", edgeagent.app(ECHO))
    assert "nobody is there to be asked" in edgeagent("sessions", "remove", "s").stderr
    terminal = at_terminal("sessions", "remove", "s")
    terminal.expect("remove the session s")
    terminal.enter("n")
    assert terminal.ends() == 0
    assert "nothing was removed" in terminal.seen
    assert len(listed(edgeagent)) == 1


def test_a_link_to_a_session_that_is_gone_is_listed_asked_about_and_removed(edgeagent: Any) -> None:
    edgeagent("ask", "one", "--session", "s", "--app", edgeagent.app(ECHO))
    link = Path(edgeagent("sessions", "path", "s").stdout.strip()).with_name("robi.journal")
    link.symlink_to("gone.journal")
    assert {one["name"]: "symbolic link" in one["fault"] for one in listed(edgeagent)} == {"s": False, "robi": True}
    assert "nobody is there to be asked" in edgeagent("sessions", "remove", "robi").stderr
    done = edgeagent("sessions", "remove", "robi", "--yes")
    assert (done.returncode, done.stderr) == (0, "removed robi, 0.0 kB\n")
    assert [one["name"] for one in listed(edgeagent)] == ["s"]


def test_an_answer_in_another_encoding_is_a_no(edgeagent: Any, at_terminal: Any) -> None:
    edgeagent("ask", "one", "--session", "s", "--app", edgeagent.app(ECHO))
    edgeagent.environment["PYTHONIOENCODING"] = "utf-8:strict"  # as in a locale such as en_US.UTF-8
    terminal = at_terminal("sessions", "remove", "s")
    terminal.expect("remove the session s")
    terminal.type("\xfcy\r", "latin-1")
    assert terminal.ends() == 0
    assert "nothing was removed" in terminal.seen


def test_no_session_at_all_is_told(in_process: Any) -> None:
    done = in_process("sessions", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no session is kept yet" in done.stderr


def test_one_session_of_another_version_hides_no_other_and_is_told_without_a_traceback(edgeagent: Any) -> None:
    for name in ("new", "old"):
        edgeagent("ask", "one", "--session", name, "--app", edgeagent.app(ECHO))
    with Path(edgeagent("sessions", "path", "new").stdout.strip()).open("ab") as file:
        file.write(Record("usage", {"input_tokens": 9, "cached_tokens": 3}).line())
    faults = {one["name"]: one["fault"] for one in listed(edgeagent)}
    assert faults["old"] == ""
    assert "a usage of another version" in faults["new"]
    done = edgeagent("ask", "two", "--session", "new", "--app", edgeagent.app(ECHO))
    assert done.returncode == 2
    assert "a usage of another version" in done.stderr.splitlines()[-1]


# --- /retry ---------------------------------------------------------------------------------------------------------


def test_a_request_that_only_read_is_asked_again_at_once(edgeagent: Any) -> None:
    done = edgeagent("chat", "--session", "s", "--app", edgeagent.app(DRIVES), stdin=b"battery\n/retry\nhi\n/retry\n")
    assert [line for line in done.stdout.splitlines() if "asked" not in line] == ["64 percent."] * 2 + ["hello"] * 2
    assert "asked again: battery" in done.stdout
    (session,) = listed(edgeagent)
    assert session["turns"] == 2


def test_a_movement_is_never_repeated_without_a_yes(edgeagent: Any) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(DRIVES), stdin=b"drive\n/retry\nno\n/retry\nyes\n/retry\n")
    asked = "it did this, and may do it again: drive (drove 1 m). Ask again? [y/N] "
    assert done.stdout.splitlines() == ["drove 1 m.", "asked again: drive", "drove 2 m."]
    assert done.stderr.count(asked) == 2
    assert done.stderr.count("not asked again") == 2


def test_there_is_nothing_to_ask_again_at_first(edgeagent: Any) -> None:
    assert "nothing to ask again" in edgeagent("chat", "--app", edgeagent.app(ECHO), stdin=b"/retry\n").stderr


def test_at_a_terminal_the_next_line_is_the_answer(edgeagent: Any, at_terminal: Any) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(DRIVES))
    terminal.enter("drive")
    terminal.expect("drove 1 m\\.")
    terminal.enter("/retry")
    terminal.expect("may do it again: drive")
    terminal.enter("")
    terminal.expect("not asked again")
    terminal.enter("/retry")
    terminal.expect("Ask again")
    terminal.enter("y")
    terminal.expect("drove 2 m\\.")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_what_still_moves_is_not_asked_again(edgeagent: Any, at_terminal: Any) -> None:
    waits = DRIVES.replace("@skill\ndef drive() -> str:", "@skill\ndef drive(goal: GoalHandle) -> str:").replace(
        "moved.append(1)", "goal.cancel_event.wait(60)"
    )
    terminal = at_terminal("chat", "--app", edgeagent.app(waits))
    terminal.enter("drive")
    terminal.expect("→ drive")
    terminal.enter("/retry")
    terminal.expect("the robot is at work")
    terminal.enter("/quit")
    assert terminal.ends() == 0


STEERED = DRIVES.replace('return "64 percent"', 'agent.steer("hi"); return "64 percent"')


def test_what_was_said_to_a_request_later_is_not_dropped_without_a_yes(edgeagent: Any) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(STEERED), stdin=b"battery\n/retry\nno\n")
    assert 'what is asked again is "battery", without what you said to it later: "hi". Ask again?' in done.stderr
    assert done.stdout.splitlines() == ["hello"]


def test_a_stop_in_the_place_of_an_answer_stops(edgeagent: Any) -> None:
    script = b"drive\n/retry\n/stop\n/continue\n/retry\n/quit\nhi\n"
    done = edgeagent("chat", "--app", edgeagent.app(DRIVES), stdin=script)
    assert done.stderr.count("not asked again") == 2
    assert "drove 2 m" not in done.stdout
    assert "hello" not in done.stdout


@pytest.mark.parametrize(
    ("why", "waits"), [(OSError(errno.ENOSPC, "No space left"), True), (BusyError("it is in use"), True), (None, False)]
)
def test_a_service_waits_for_room_and_for_a_session_that_its_app_names_and_for_no_other_fault(
    why: Exception | None, waits: bool
) -> None:
    told: list[str] = []
    faults = [ConfigError("it can't begin")]

    def tell(text: str, *, again: bool) -> None:
        told.append(text)

    def made() -> Any:
        if not faults:
            return "the app"
        raise faults.pop() from why

    if waits:
        assert built_when_free(made, None, tell) == "the app"
        assert told == ["it can't begin"]
    else:
        with pytest.raises(ConfigError, match="it can't begin"):
            built_when_free(made, None, tell)


def test_a_look_at_a_session_changes_nothing_in_it(tmp_path: Path) -> None:
    file = tmp_path / "robi.journal"
    assert not is_in_use(file)
    assert not file.exists()
    with Journal.open(file):
        assert is_in_use(file)
    damaged = file.read_bytes() + b"torn"
    file.write_bytes(damaged)
    assert not is_in_use(file)
    assert file.read_bytes() == damaged
