"""A session on disk: nothing that was committed is lost when the process dies, and nothing is done twice."""

import contextlib
import os
import random
import signal
import stat
import subprocess
import sys
import threading

import pytest

from edgeagent import Agent, BusyError, ConfigError, EdgeAgentError, Message, Session, Usage, hooks, tool
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, assert_whole, exchange, on_disk, opened, texts

# --- kill -9 --------------------------------------------------------------------------------------------------------

SAY = """
import os, sys, threading

def say(line):
    "One write, because threads speak at once."
    os.write(1, (line + "\\n").encode())

"""
IN_A_TOOL = """
from edgeagent import Agent, Session, tool
from edgeagent.testing import ScriptedLLM, call

@tool
def note(n: int) -> str:
    "Notes."
    say(f"ran note {n}")
    return f"noted {n}"

@tool(timeout_s=1000)
def hang() -> str:
    "Never ends."
    say("ran hang")
    threading.Event().wait()

llm = ScriptedLLM("A", [call("note", n=1)], [call("note", n=2), call("hang")], "never")
session = Session.open(sys.argv[1], Agent("a", llm=llm, tools=[note, hang]))
session.step("one")
session.step("two")
"""

BESIDE_A_KILL = """
import signal
from edgeagent import Agent, Session, tool
from edgeagent.testing import ScriptedLLM, call

@tool
def note() -> str:
    "Notes."
    say("ran note")
    return "noted"

@tool(mode="sequential")
def die() -> str:
    "Ends the process."
    say("ran die")
    os.kill(os.getpid(), signal.SIGKILL)

llm = ScriptedLLM([call("note"), call("die"), call("note")])
Session.open(sys.argv[1], Agent("a", llm=llm, tools=[note, die])).step("go")
"""
MANY_STEPS = """
from edgeagent import Agent, Session, tool
from edgeagent.testing import ScriptedLLM, call

@tool
def note(n: int) -> str:
    "Notes."
    say(f"ran {n}")
    return f"noted {n} " + "x" * (n * 37 % 500)

first = int(sys.argv[2])
replies = []
for i in range(first, first + 2000):
    replies += [[call("note", n=i)], f"reply {i}"]
session = Session.open(sys.argv[1], Agent("a", llm=ScriptedLLM(*replies, context_window=10**6), tools=[note]))
say("open")

def tell(event):
    if event.kind == "message_end":
        say(f"committed {event.message.id}")

session.subscribe(tell)
for i in range(first, first + 2000):
    session.step(f"task {i}")
    if i % 7 == 6:
        session.truncate(1000)
"""


@contextlib.contextmanager
def start(program, *arguments):
    """A process that is dead at the end, and after a while in any case."""
    command = [sys.executable, "-c", SAY + program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def never_called():
    ran = []

    def make(name):
        @tool(name=name)
        def body(n: int = 0) -> str:
            """Must not run again."""
            ran.append(name)
            return "x"

        return body

    return [make("note"), make("hang")], ran


def test_after_a_kill_in_the_middle_of_a_tool_everything_is_there_and_nothing_is_run_again(tmp_path):
    path = tmp_path / "s"
    with start(IN_A_TOOL, path) as process:
        lines = {process.stdout.readline().strip() for _ in range(3)}
        assert lines == {"ran note 1", "ran note 2", "ran hang"}
        process.send_signal(signal.SIGKILL)
    tools, ran = never_called()
    llm = ScriptedLLM("B")
    with Session.open(path, Agent("a", llm=llm, tools=tools)) as session:
        history = session.messages()
        assert [m.role for m in history] == "user assistant user assistant tool assistant tool tool".split()
        assert texts(history[:3]) == ["one", "A", "two"]
        assert history[4].text == "noted 1"
        assert history[7].status == "outcome_unknown"
        assert_whole(history)
        assert any("hang" in notice for notice in session.notices)
        assert session.step("three").reply == "B"
        assert "nobody knows how far it got" in llm.requests[0].messages[7].text
    assert ran == []
    with Session.open(path, Agent("a")) as again:
        assert again.messages()[:8] == history, "the same unknown outcome, not another one"
        assert again.notices == ()


def test_after_a_kill_a_finished_tool_has_its_result_although_a_sibling_did_not_end(tmp_path):
    path = tmp_path / "s"
    with start(BESIDE_A_KILL, path) as process:
        assert process.wait(LIMIT_S) == -signal.SIGKILL
        assert process.stdout.read().split("\n") == ["ran note", "ran die", ""]
    with Session.open(path, Agent("a")) as session:
        results = session.messages()[2:]
        assert [m.status for m in results] == ["ok", "outcome_unknown", "outcome_unknown"]
        assert results[0].text == "noted"
        assert_whole(session.messages())
        found = session.messages()
    with Session.open(path, Agent("a")) as again:
        assert again.messages() == found


def test_a_result_is_on_disk_while_a_sibling_stalls_and_there_once_when_the_run_has_ended(tmp_path):
    path, gate, written = tmp_path / "s", threading.Event(), []

    @tool
    def grip() -> str:
        """Opens the gripper."""
        return "the gripper is open"

    @tool
    def stall() -> str:
        """Waits."""
        opened(gate)
        return "waited"

    def tell(event):
        if event.kind == "tool_execution_end" and not gate.is_set():
            written.append(event.result.text in path.read_text())
            gate.set()

    llm = ScriptedLLM([call("stall"), call("grip")], "done")
    with Session.open(path, Agent("a", llm=llm, tools=[grip, stall])) as session:
        session.subscribe(tell)
        session.step("go")
        history = session.messages()
    assert written == [True]
    whole = path.read_bytes()
    with Session.open(path, Agent("a")) as again:
        assert again.messages() == history
        assert again.notices == ()
    assert texts(history) == ["go", "", "waited", "the gripper is open", "done"]
    assert path.read_bytes() == whole


def test_after_a_kill_at_any_moment_every_committed_message_is_there(tmp_path):
    path, chance = tmp_path / "s", random.Random(2)
    committed, ran = [], []
    for attempt in range(3):
        with start(MANY_STEPS, path, attempt * 10_000) as process:
            assert process.stdout.readline() == "open\n"
            lines = [process.stdout.readline() for _ in range(chance.randint(1, 150))]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().split("\n")[:-1]
        said = [line.split() for line in lines]
        committed += [line[1] for line in said if line[0] == "committed"]
        ran += [line[1] for line in said if line[0] == "ran"]
        with Session.open(path, Agent("a")) as session:
            history = session.messages()
        known = [message.id for message in history]
        assert [i for i in committed if i not in known] == []
        assert [i for i in known if i in set(committed)] == committed, "in their order, each once"
        assert_whole(history)
        asked = {str(made.arguments["n"]) for message in history for made in message.tool_calls}
        assert set(ran) <= asked, "no tool has run whose call is not on disk"
    assert len(ran) == len(set(ran))


# --- when what is on disk -------------------------------------------------------------------------------------------


def test_an_assistant_message_is_on_disk_before_its_tool_starts_and_a_result_before_the_next_model_call(tmp_path):
    path = tmp_path / "s"
    seen = []

    @tool
    def note(n: int) -> str:
        """Notes."""
        asked = [made["arguments"]["n"] for message in on_disk(path) for made in message.get("tool_calls", [])]
        seen.append((n, n in asked))
        return f"noted {n}"

    def next_call(request):
        written = on_disk(path)
        seen.append((texts(request.messages), [message.get("text", "") for message in written]))
        return [call("note", n=3)] if len(seen) < 5 else "ok"

    llm = ScriptedLLM([call("note", n=1), call("note", n=2)], next_call, next_call)
    with Session.open(path, Agent("a", llm=llm, tools=[note])) as session:
        session.step("go")
    assert sorted(seen[:2]) == [(1, True), (2, True)]
    assert seen[3] == (3, True)
    for held, written in (seen[2], seen[4]):
        assert held == written


def test_a_result_is_on_disk_before_the_agent_that_was_handed_over_to_is_asked(tmp_path):
    path = tmp_path / "s"
    seen = []

    @tool
    def note(n: int = 1) -> str:
        """Notes."""
        return "noted"

    def ask(request):
        seen.extend(message.get("text", "") for message in on_disk(path) if message["role"] == "tool")
        return "from the target"

    target = Agent("target", llm=ScriptedLLM([call("note"), call("note", n=2)], ask), tools=[note])
    router = Agent(
        "router", llm=ScriptedLLM([call("note"), call("handoff_to_target")]), tools=[note], handoffs=[target]
    )
    with Session.open(path, router) as session:
        assert session.step("go").reply == "from the target"
        history = session.messages()
    assert seen[0] == "noted"
    assert len(seen) == 2, "the results of the target are not in the history of the router"
    with Session.open(path, router) as again:
        assert again.messages() == history


def test_a_message_is_on_disk_when_its_end_is_told(tmp_path):
    path = tmp_path / "s"
    missing = []

    def check(event):
        if event.kind == "message_end" and event.message.id not in [m["id"] for m in on_disk(path)]:
            missing.append(event.message.text)

    @tool
    def note() -> str:
        """Notes."""
        return "noted"

    llm = ScriptedLLM([call("note")], "last words")
    with Session.open(path, Agent("a", llm=llm, tools=[note])) as session:
        session.subscribe(check)
        session.step("go")
    assert missing == []


# --- one process, one session ---------------------------------------------------------------------------------------

OPEN = """
import sys
from edgeagent import Agent, Session
try:
    Session.open(sys.argv[1], Agent("a"))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_second_process_is_refused(tmp_path):
    with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("A"))) as session:
        with start(OPEN, tmp_path / "s") as process:
            told, _ = process.communicate(timeout=LIMIT_S)
        assert told.startswith(f"BusyError the journal {tmp_path / 's'} is in use")
        assert session.step("one").reply == "A"


def test_a_second_session_of_the_process_is_refused_until_the_first_is_closed(tmp_path):
    first = Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("A")))
    with pytest.raises(BusyError):
        Session.open(tmp_path / "s", Agent("a"))
    first.step("one")
    first.close()
    with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("B"))) as second:
        second.step("two")
    with Session.open(tmp_path / "s", Agent("a")) as third:
        assert texts(third.messages()) == ["one", "A", "two", "B"]


def test_a_session_that_could_not_be_made_leaves_the_journal_free(tmp_path):
    with pytest.raises(ConfigError):
        Session(Agent("a", hooks=[hooks.PersistSessionHook(tmp_path / "t")]), path=tmp_path / "s")
    with pytest.raises(ConfigError):
        Session.open(tmp_path / "s", Agent("a"), audit=tmp_path)
    Session.open(tmp_path / "s", Agent("a")).close()


# --- what comes back ------------------------------------------------------------------------------------------------


def test_usage_comes_back(tmp_path):
    with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM({"text": "A", "usage": Usage(10, 1)}))) as session:
        session.step("one")
    with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM({"text": "B", "usage": Usage(5, 2)}))) as session:
        assert session.usage == Usage(10, 1)
        session.step("two")
    with Session.open(tmp_path / "s", Agent("a")) as session:
        assert session.usage == Usage(15, 3)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda s: s.truncate(1), ["two", "B"]),
        (lambda s: s.reset(), []),
        (lambda s: s.restore(exchange("other", "C")), ["other", "C"]),
    ],
    ids=["truncate", "reset", "restore"],
)
def test_what_was_changed_between_runs_comes_back(tmp_path, change, expected):
    with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("A", "B", "D"))) as session:
        session.step("one")
        session.step("two")
        change(session)
        assert texts(session.messages()) == expected
        session.step("three")
    with Session.open(tmp_path / "s", Agent("a")) as again:
        assert texts(again.messages()) == [*expected, "three", "D"]


def test_a_torn_last_record_is_dropped_and_told(tmp_path):
    path = tmp_path / "s"
    with Session.open(path, Agent("a", llm=ScriptedLLM("A", "B"))) as session:
        session.step("one")
        whole = path.read_bytes()
        session.step("two")
    path.write_bytes(whole + b'{"kind": "message", "data": {"role": "us')
    with Session.open(path, Agent("a", llm=ScriptedLLM("C"))) as again:
        assert texts(again.messages()) == ["one", "A"]
        assert [notice for notice in again.notices if "was not written to its end" in notice]
        again.step("three")
    with Session.open(path, Agent("a")) as third:
        assert texts(third.messages()) == ["one", "A", "three", "C"]
        assert third.notices == ()


@pytest.mark.parametrize("umask", [0, 0o022])
def test_only_its_owner_reads_it(tmp_path, umask):
    before = os.umask(umask)
    try:
        with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("A"))) as session:
            session.step("one")
            session.reset()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


def test_for_robots_that_lose_power_every_record_is_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("A")), durability="power") as session:
        synced.clear()
        session.step("one")
        assert len(synced) >= len(on_disk(tmp_path / "s")) == 2
    synced.clear()
    with Session.open(tmp_path / "t", Agent("a", llm=ScriptedLLM("A"))) as session:
        session.step("one")
    assert synced == []


def test_a_wrong_durability_or_folder_is_named(tmp_path):
    with pytest.raises(ConfigError, match="durability='disk'"):
        Session.open(tmp_path / "s", Agent("a"), durability="disk")
    with pytest.raises(EdgeAgentError, match=f"there is no folder {tmp_path / 'no'}"):
        Session.open(tmp_path / "no" / "s", Agent("a"))


def test_the_journal_has_what_was_said_as_it_was_said(tmp_path):
    path = tmp_path / "s"

    @tool
    def look() -> str:
        """Looks."""
        return "mail bob@example.com"

    with Session.open(
        path, Agent("a", llm=ScriptedLLM([call("look")], "I will mail bob@example.com."), tools=[look])
    ) as s:
        s.step("mail ann@example.com")
    assert texts(Message(**m) for m in on_disk(path) if "tool_calls" not in m and "usage" not in m) == [
        "mail ann@example.com",
        "mail bob@example.com",
    ]
    assert "I will mail bob@example.com." in path.read_text()
