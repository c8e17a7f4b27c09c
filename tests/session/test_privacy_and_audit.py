"""What a session does to personal data, and its audit: which calls, and what came of them."""

import json
import threading

import pytest

from edgeagent import PII, Agent, ConfigError, Session, hooks, tool
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, notices, opened, texts


@tool
def look(at: str = "") -> str:
    """Looks."""
    return "ask bob@example.com"


class Sink:
    """Keeps what it is given."""

    def __init__(self):
        self.records = []
        self.flushed = self.closed = 0
        self.emitted = threading.Event()

    def emit(self, record):
        self.records.append(record)
        if len(self.records) == 2:
            self.emitted.set()

    def flush(self):
        self.flushed += 1

    def close(self):
        self.closed += 1


def session_of(*replies, tools=(look,), **keywords):
    return Session(Agent("a", llm=ScriptedLLM(*replies), tools=tools), **keywords)


# --- personal data --------------------------------------------------------------------------------------------------


def test_nothing_is_done_to_what_people_and_tools_say_unless_asked_for():
    session = session_of([call("look")], "ok")
    handle = session.start("mail ann@example.com")
    handle.result(LIMIT_S)
    assert texts(session.messages())[::2] == ["mail ann@example.com", "ask bob@example.com"]
    assert notices(handle) == []


def test_what_people_say_is_redacted_before_the_model_sees_it():
    session = session_of("A", "B", pii=PII(user="redact"))
    session.steer("and ann@example.com")
    session.step("mail bob@example.com, card 4111 1111 1111 1111")
    seen = [text for request in session.agent.llm.requests for text in texts(request.messages)]
    assert seen[:2] == ["mail <EMAIL>, card <CREDIT_CARD>", "and <EMAIL>"]
    assert "@" not in "".join(seen)


def test_what_tools_return_is_redacted_before_the_model_sees_it():
    session = session_of([call("look")], "ok", pii=PII(tools="redact"))
    session.step("who is ann@example.com?")
    assert texts(session.agent.llm.requests[1].messages) == ["who is ann@example.com?", "", "ask <EMAIL>"]


def test_a_warning_names_the_kind_and_changes_nothing():
    session = session_of([call("look")], "ok", pii=PII(user="warn", tools="warn"))
    handle = session.start("mail ann@example.com")
    handle.result(LIMIT_S)
    assert len(notices(handle)) == 2
    assert all("EMAIL" in text and "@" not in text for text in notices(handle))
    assert texts(session.messages())[::2] == ["mail ann@example.com", "ask bob@example.com"]


def test_the_audit_is_redacted_by_default_and_the_journal_never(tmp_path):
    sink = Sink()
    with session_of([call("look", at="bob@example.com")], "ok", audit=sink, path=tmp_path / "s") as session:
        session.step("go")
    assert sink.records[0]["arguments"] == {"at": "<EMAIL>"}
    assert "bob@example.com" in (tmp_path / "s").read_text()


def test_the_audit_may_be_left_as_it_is():
    sink = Sink()
    session_of([call("look", at="bob@example.com")], "ok", audit=sink, pii=PII(log="off")).step("go")
    assert sink.records[0]["arguments"] == {"at": "bob@example.com"}


# --- where the audit goes -------------------------------------------------------------------------------------------


def test_a_path_is_a_file_of_json_lines_and_closed_with_the_session(tmp_path):
    path = tmp_path / "audit.jsonl"
    with session_of([call("look")], "ok", audit=path, audit_session_id="s7") as session:
        session.step("go")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["type"], r["session_id"], r["tool"], r["outcome"]) for r in records] == [
        ("tool_call", "s7", "look", None),
        ("tool_result", "s7", "look", "success"),
    ]
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_object_is_flushed_after_each_run_and_closed_with_the_session():
    sink = Sink()
    session = session_of("A", [call("look")], "B", audit=sink)
    session.step("one")
    session.step("two")
    assert (len(sink.records), sink.flushed, sink.closed) == (2, 2, 0)
    session.close()
    session.close()
    assert sink.closed >= 1


def test_the_session_has_one_name_in_all_records(tmp_path):
    sink = Sink()
    with session_of([call("look")], [call("look", at="x")], "ok", audit=sink) as session:
        session.step("one")
    names = {record["session_id"] for record in sink.records}
    assert len(names) == 1
    assert None not in names


def test_a_session_on_disk_keeps_its_name(tmp_path):
    sink = Sink()
    for _ in range(2):
        with session_of([call("look")], "ok", audit=sink, path=tmp_path / "s") as session:
            session.step("one")
    assert len({record["session_id"] for record in sink.records}) == 1
    assert len(sink.records) == 4


def test_runs_of_others_are_not_in_it():
    sink = Sink()
    agent = Agent("a", llm=ScriptedLLM([call("look")], "ok", "A"), tools=[look])
    session = Session(agent, audit=sink)
    agent.run("one")
    session.step("two")
    assert (sink.records, sink.flushed) == ([], 1)


def test_a_sink_that_fails_breaks_nothing_and_keeps_no_journal(tmp_path, caplog):
    class Broken(Sink):
        def emit(self, *record):
            raise SystemExit("no room")

        flush = close = emit

    for _ in range(2):
        with session_of([call("look")], "ok", audit=Broken(), path=tmp_path / "s") as session:
            assert session.step("go").reply == "ok"
    assert "a subscriber raised" not in caplog.text


@pytest.mark.parametrize("lacking", ["emit", "flush", "close"])
def test_a_sink_without_a_method_is_refused_by_that_name(tmp_path, lacking):
    sink = Sink()
    setattr(sink, lacking, None)
    with pytest.raises(ConfigError, match=f"audit=.*it lacks {lacking}$"):
        session_of(audit=sink, path=tmp_path / "s")
    session_of(path=tmp_path / "s").close()
    with pytest.raises(ConfigError, match="audit=3"):
        session_of(audit=3)


def test_a_path_that_cannot_be_opened_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be opened"):
        session_of(audit=tmp_path)


# --- calls that outlive their run -----------------------------------------------------------------------------------


def test_a_detached_call_has_its_result_when_it_comes_to_its_end():
    sink, entered, gate = Sink(), threading.Event(), threading.Event()

    @tool(on_interrupt="detach")
    def goal(place: str) -> str:
        """Drives on."""
        entered.set()
        opened(gate)
        return f"in the {place}"

    session = session_of([call("goal", place="kitchen")], "B", tools=[goal], audit=sink)
    handle = session.start("go")
    assert opened(entered)
    session.abort()
    result = handle.result(LIMIT_S)
    assert [made.result.status for made in result.tool_calls] == ["detached"]
    assert [record["type"] for record in sink.records] == ["tool_call"]
    gate.set()
    assert sink.emitted.wait(LIMIT_S)
    began, ended = sink.records
    assert (ended["type"], ended["outcome"]) == ("tool_result", "success")
    assert ended["duration_s"] > 0
    for field in ("session_id", "run_id", "agent", "call_id", "tool", "arguments"):
        assert ended[field] == began[field]


def test_a_detached_call_wakes_the_session_with_its_history():
    entered, gate, told = threading.Event(), threading.Event(), threading.Event()

    @tool(on_interrupt="detach")
    def goal() -> str:
        """Drives on."""
        entered.set()
        opened(gate)
        return "in the kitchen"

    def answer(request):
        told.set()
        return "I am there."

    session = session_of([call("goal")], answer, tools=[goal])
    handle = session.start("go")
    assert opened(entered)
    session.abort()
    handle.result(LIMIT_S)
    gate.set()
    assert opened(told)
    session.agent.abort("user", mode="after_turn")
    request = session.agent.llm.requests[1]
    assert texts(request.messages)[0] == "go"
    assert texts(request.messages)[-1] == "goal has ended: in the kitchen"
    session.close()


def test_a_call_that_ends_after_the_session_reaches_nobody(monkeypatch):
    entered, gate, told = threading.Event(), threading.Event(), threading.Event()

    @tool(on_interrupt="detach")
    def goal() -> str:
        """Drives on."""
        entered.set()
        opened(gate)
        return "in the kitchen"

    def follow_up(message, *, wake):
        try:
            return Session.follow_up(session, message, wake=wake)
        finally:
            told.set()

    sink = Sink()
    agent = Agent("a", llm=ScriptedLLM([call("goal")], "B"), tools=[goal])
    session = Session(agent, audit=sink)
    handle = session.start("go")
    assert opened(entered)
    session.abort()
    handle.result(LIMIT_S)
    session.close()
    monkeypatch.setattr(session, "follow_up", follow_up)
    gate.set()
    assert opened(told)
    assert not agent.has_pending
    assert len(sink.records) == 1
    assert Session(agent).step("two").reply == "B"


# --- one word for all of it -----------------------------------------------------------------------------------------


def test_one_word_says_what_happens_to_personal_data_everywhere(tmp_path):
    @tool
    def find(name: str) -> str:
        """Finds somebody."""
        return "ada@example.org"

    llm = ScriptedLLM([call("find", name="bob@example.org")], "Found.")
    session = Session(Agent("a", llm=llm, tools=[find]), pii="redact", audit=tmp_path / "audit")
    session.step("write to eve@example.org")
    session.close()
    assert [message.text for message in llm.requests[-1].messages] == ["write to <EMAIL>", "", "<EMAIL>"]
    assert "example.org" not in (tmp_path / "audit").read_text()
    assert hooks.PIIHook("warn").pii == PII("warn", "warn", "warn")


@pytest.mark.parametrize("value", ["redcat", True, 3, {"user": "redact"}])
def test_what_says_nothing_about_personal_data_is_refused(value, tmp_path):
    for make in (
        lambda: Session(Agent("a"), pii=value),
        lambda: hooks.PIIHook(value),
        lambda: hooks.AuditLogHook(tmp_path / "log", pii=value),
    ):
        with pytest.raises(ConfigError, match=r"off, warn, redact"):
            make()
