"""The audit trail: what was called, and what came of it."""

import contextlib
import errno
import json
import os
import stat
import threading
import time
from typing import get_args

import pytest

from edgeagent import Agent, ConfigError, Options, PolicyViolationError, ToolCall, ToolContext, ToolResult, tool
from edgeagent.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from edgeagent.messages import Status
from edgeagent.pii import PII
from edgeagent.session import OUTCOMES, AuditFile, AuditTrail
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10
FIELDS = "type t session_id run_id agent call_id tool arguments outcome error duration_s".split()


class Sink:
    """Keeps what it is given."""

    def __init__(self):
        self.records = []
        self.flushed = self.closed = 0

    def emit(self, record):
        self.records.append(record)

    def flush(self):
        self.flushed += 1

    def close(self):
        self.closed += 1


@tool
def look(at: str = "") -> str:
    """Looks at something."""
    return f"a {at}"


@tool
def fail() -> str:
    """Fails."""
    raise ValueError("no arm, ask bob@example.com")


@tool(destructive=True)
def erase() -> str:
    """Erases the map."""
    return "erased"


def run(*replies, pii=None, stop_event=None, tools=(look, fail, erase), **options):
    """One run of an agent with a trail; its records."""
    sink = Sink()
    trail = AuditTrail(sink, "s1", pii=pii)
    agent = Agent("robi", llm=ScriptedLLM(*replies, "ok"), tools=tools, options=Options(**options))
    agent.subscribe(trail)
    with contextlib.suppress(PolicyViolationError):
        agent.start("go", stop_event=stop_event).result(LIMIT_S)
    assert trail.failures == 0
    assert sink.flushed == 1
    return sink.records


def test_a_call_has_a_record_when_it_begins_and_one_when_it_is_over():
    before = time.time()
    began, ended = run([call("look", at="cup")])
    assert list(began) == list(ended) == FIELDS
    assert before <= began["t"] <= ended["t"] <= time.time()
    both = {"session_id": "s1", "agent": "robi", "tool": "look", "arguments": {"at": "cup"}, "error": None}
    assert both.items() <= began.items()
    assert both.items() <= ended.items()
    assert began["call_id"] == ended["call_id"]
    assert began["run_id"] == ended["run_id"]
    assert (began["type"], began["outcome"], began["duration_s"]) == ("tool_call", None, None)
    assert (ended["type"], ended["outcome"]) == ("tool_result", "success")


def test_the_duration_is_the_bodys():
    released = threading.Event()

    @tool
    def wait() -> str:
        """Waits."""
        threading.Timer(0.05, released.set).start()
        return str(released.wait(LIMIT_S))

    ended = run([call("wait")], tools=[wait])[1]
    assert 0.03 <= ended["duration_s"] < LIMIT_S


@pytest.mark.parametrize(
    ("replies", "options", "outcome", "error"),
    [
        ([call("fail")], {}, "error", "ValueError: no arm, ask <EMAIL>"),
        ([call("lok")], {}, "error", "look"),
        ([call("look", where="x")], {}, "error", "where"),
        ([call("erase")], {"confirm": lambda name, arguments: False}, "declined", None),
        ([call("look")], {"policy_check": lambda name, arguments: "not here"}, "policy_denied", "not here"),
        ([call("look")], {"before_tool_call": lambda c, e: ToolResult.blocked("no")}, "error", "no"),
        ({"calls": [call("look")], "stop": "length"}, {}, "cancelled", "cut"),
    ],
)
def test_each_way_to_end_has_its_outcome(replies, options, outcome, error):
    ended = run(replies, **options)[-1]
    assert ended["type"] == "tool_result"
    assert ended["outcome"] == outcome
    assert (error or "") in (ended["error"] or "")
    assert (ended["error"] is None) == (error is None)


@pytest.mark.parametrize(
    ("replies", "options", "outcome"),
    [
        ([call("lok", at="cup")], {}, "error"),
        ([call("look", where="x")], {}, "error"),
        ([call("erase")], {"confirm": lambda name, arguments: False}, "declined"),
        ([call("look")], {"policy_check": lambda name, arguments: "not here"}, "policy_denied"),
        ([call("look")], {"before_tool_call": lambda c, e: ToolResult.blocked("no")}, "error"),
        ({"calls": [call("look")], "stop": "length"}, {}, "cancelled"),
    ],
)
def test_a_call_that_never_began_has_both_records_too(replies, options, outcome):
    asked, ended = run(replies, **options)
    assert (asked["type"], asked["outcome"], asked["duration_s"]) == ("tool_call", None, None)
    assert (ended["type"], ended["outcome"], ended["duration_s"]) == ("tool_result", outcome, 0)
    same = ("session_id", "run_id", "agent", "call_id", "tool", "arguments")
    assert [asked[name] for name in same] == [ended[name] for name in same]


def test_arguments_that_nobody_could_read_are_the_text():
    for record in run([call.raw("look", '{"at": "bob@example.com')]):
        assert record["arguments"] == '{"at": "<EMAIL>'


def test_a_time_out_and_a_stop_are_told_apart():
    released = threading.Event()

    @tool(timeout_s=0.05)
    def stuck() -> str:
        """Never returns by itself."""
        return str(released.wait(LIMIT_S))

    try:
        assert run([call("stuck")], tools=[stuck])[-1]["outcome"] == "timed_out"
    finally:
        released.set()

    stop = threading.Event()

    @tool(read_only=True)
    def obedient(ctx: ToolContext) -> str:
        """Is stopped while it runs."""
        stop.set()
        return str(ctx.stop_event.wait(LIMIT_S))

    assert run([call("obedient")], tools=[obedient], stop_event=stop)[-1]["outcome"] == "cancelled"


def test_every_status_has_an_outcome():
    assert set(OUTCOMES) == set(get_args(Status))


def test_the_calls_of_a_sub_agent_are_recorded_under_its_name():
    sink, inner = Sink(), {"seq": 0, "run_id": "run_inner", "agent": "helper", "turn": 1}
    trail = AuditTrail(sink)
    made = ToolCall("c1", "look")
    outer = {"seq": 5, "t": 1.0, "run_id": "run_outer", "agent": "robi", "turn": 1, "call": ToolCall("c0", "helper")}
    trail(ToolExecutionUpdate(update=ToolExecutionStart(t=1.0, call=made, **inner), **outer))
    ended = ToolExecutionEnd(t=3.5, call=made, result=ToolResult("c1", "look", "ok", "a cup"), **inner)
    trail(ToolExecutionUpdate(update=ended, **outer))
    trail(ToolExecutionUpdate(update="half way", **outer))
    assert [(r["type"], r["run_id"], r["agent"], r["duration_s"]) for r in sink.records] == [
        ("tool_call", "run_inner", "helper", None),
        ("tool_result", "run_inner", "helper", 2.5),
    ]


# --- personal data ----------------------------------------------------------------------------------------------------


def test_personal_data_is_redacted_unless_told_otherwise():
    assert run([call("look", at="bob@example.com")])[0]["arguments"] == {"at": "<EMAIL>"}
    off = run([call("look", at="bob@example.com")], pii=PII(log="off"))
    assert off[0]["arguments"] == {"at": "bob@example.com"}


def test_a_warning_keeps_it_and_says_so(caplog):
    warned = run([call("look", at="bob@example.com")], pii=PII(log="warn"))
    assert warned[0]["arguments"] == {"at": "bob@example.com"}
    assert "the audit of look" in caplog.text
    assert "bob@" not in caplog.text
    caplog.clear()
    run([call("look", at="the cup")], pii=PII(log="warn"))
    assert not caplog.records


@pytest.mark.parametrize("mode", ["off", "warn", "redact"])
def test_what_a_sink_does_to_a_record_reaches_no_call(mode):
    class Vandal(Sink):
        def emit(self, record):
            record["arguments"]["x"].append(2)

    made = ToolCall("c1", "note", {"x": [1]})
    trail = AuditTrail(Vandal(), pii=PII(log=mode))
    trail(ToolExecutionStart(seq=0, t=1.0, run_id="r", agent="a", turn=1, call=made))
    assert made.arguments == {"x": [1]}
    assert trail.failures == 0


# --- sinks ------------------------------------------------------------------------------------------------------------


def test_a_failing_sink_breaks_no_run_and_is_logged_once(caplog):
    class Broken(Sink):
        def emit(self, record):
            raise ConnectionError("gone")

        flush = close = lambda self: 1 / 0

    trail = AuditTrail(Broken())
    agent = Agent("a", llm=ScriptedLLM([call("look")], [call("look", at="x")], "done"), tools=[look])
    agent.subscribe(trail)
    assert agent.run("go").reply == "done"
    trail.close()
    assert trail.failures == 6
    assert [record.message for record in caplog.records if record.name == "edgeagent.session.audit"] == [
        "the audit trail has gaps: its sink failed; further failures are only counted"
    ]


def test_closing_closes_the_sink():
    sink = Sink()
    AuditTrail(sink).close()
    assert sink.closed == 1


@pytest.mark.parametrize("umask", [0, 0o022])
def test_a_path_is_appended_to_as_json_lines_that_only_its_owner_reads(tmp_path, umask):
    path, before = tmp_path / "audit.jsonl", os.umask(umask)
    try:
        for _ in range(2):
            trail = AuditTrail(str(path), "s1")
            agent = Agent("a", llm=ScriptedLLM([call("look", at="Tür")], "ok"), tools=[look])
            agent.subscribe(trail)
            agent.run("go")
            trail.close()
            trail.close()
            assert trail.failures == 0
    finally:
        os.umask(before)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [record["type"] for record in records] == 2 * ["tool_call", "tool_result"]
    assert records[0]["arguments"] == {"at": "Tür"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_a_full_disk_cut_harms_no_other(tmp_path, monkeypatch):
    trail = AuditTrail(tmp_path / "audit.jsonl")
    began = ToolExecutionStart(seq=0, t=1.0, run_id="r", agent="a", turn=1, call=ToolCall("c1", "look"))
    write = os.write
    with monkeypatch.context() as full:
        room = [30]

        def fill(file, content):
            if not room:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, content[: room.pop()])

        full.setattr(os, "write", fill)
        trail(began)
    trail(began)
    trail(began)
    trail.close()
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert len(lines[0]) == 30
    assert [json.loads(line)["call_id"] for line in lines[1:]] == ["c1", "c1"]
    assert trail.failures == 1


def test_what_is_no_json_is_shown(tmp_path):
    trail = AuditTrail(tmp_path / "audit.jsonl")
    made = ToolCall("c1", "look", {"at": {1, 2}, "name": "\udcff"})
    trail(ToolExecutionStart(seq=0, t=1.0, run_id="r", agent="a", turn=1, call=made))
    trail.close()
    assert trail.failures == 0
    assert json.loads((tmp_path / "audit.jsonl").read_text())["arguments"]["at"] == "{1, 2}"


def test_a_path_that_cannot_be_opened_is_told_at_once(tmp_path):
    with pytest.raises(ConfigError, match=f"the audit trail {tmp_path} cannot be opened: Is a directory"):
        AuditTrail(tmp_path)


def test_a_file_that_is_full_gives_way_and_the_oldest_goes(tmp_path):
    agent = Agent("robi", llm=ScriptedLLM(*[[call("look")], "ok"] * 20), tools=[look])
    trail = AuditTrail(AuditFile(tmp_path / "a", max_mb=0.001, files=2))
    agent.subscribe(trail)
    for _ in range(20):
        agent.run("look")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "a.1"]
    assert all(file.stat().st_size <= 1000 for file in tmp_path.iterdir())
    assert all(json.loads(line)["tool"] == "look" for line in (tmp_path / "a").read_text().splitlines())
    assert trail.failures == 0


@pytest.mark.parametrize("wrong", [{"max_mb": -1}, {"files": 0}])
def test_a_limit_that_is_none_is_named(tmp_path, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        AuditFile(tmp_path / "a", **wrong)
