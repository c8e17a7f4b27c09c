"""Every point of a run is on disk as a line, without personal data, and nothing that goes wrong there breaks a run."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgeagent import Agent, Message, Session, ToolCall, ToolResult, Usage, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import AfterLLM, AfterTool, AuditLogHook, BeforeLLM, BeforeTool, FirePoint, HookChain, RunStart
from edgeagent.pii import PII
from edgeagent.testing import ScriptedLLM, call


@tool
def drive(distance_m: float) -> str:
    """Drive."""
    return "drove"


MADE = ToolCall("c1", "drive", {"distance_m": 2})


def ended(*new: Message, reply: str = "done", reason: str = "completed") -> Any:
    """What ON_RUN_END is shown of a run."""
    return SimpleNamespace(
        reply=reply, reason=reason, abort_reason=None, error=None, usage=Usage(10, 5), new_messages=new, messages=new
    )


def record_run(chain: HookChain, context: AgentContext, said: str = "go") -> None:
    """A run with one drive."""
    task = Message.user(said)
    asked = Message.assistant("I drive", [MADE])
    result = ToolResult("c1", "drive", "ok", "drove 2 m")
    told, reply = Message.tool(result), Message.assistant("done")
    chain.fire(FirePoint.ON_RUN_START, RunStart(task, context))
    chain.fire(FirePoint.BEFORE_LLM, BeforeLLM([task], [drive], 1))
    chain.fire(FirePoint.AFTER_LLM, AfterLLM("I drive", (MADE,), 1))
    chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(MADE, drive, 1))
    chain.fire(FirePoint.AFTER_TOOL, AfterTool(MADE, result))
    chain.fire(FirePoint.BEFORE_LLM, BeforeLLM([task.copy(), asked.copy(), told], [drive], 2))
    chain.fire(FirePoint.AFTER_LLM, AfterLLM("done", (), 2))
    chain.fire(FirePoint.ON_RUN_END, ended(task, asked, told, reply))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def recorded(path: Path, **settings: Any) -> Callable[..., list[dict[str, Any]]]:
    hook = AuditLogHook(path, **settings)

    def run(said: str = "go") -> list[dict[str, Any]]:
        context = AgentContext(agent_name="robi")
        record_run(HookChain([hook], context), context, said)
        return lines_of(path)

    return run


def test_every_point_is_a_line_with_who_when_and_what(path: Path) -> None:
    records = recorded(path)()
    points = ["on_run_start", "before_llm", "after_llm", "before_tool", "after_tool", "before_llm", "after_llm"]
    assert [record["point"] for record in records] == [*points, "on_run_end"]
    assert {record["agent"] for record in records} == {"robi"}
    assert len({record["run"] for record in records}) == 1
    times = [record["elapsed_s"] for record in records]
    assert times == sorted(times)
    assert records[0]["t"] > 1.6e9
    start, shown, said, before, after, again, _, end = records
    assert start["task"] == "go"
    assert (shown["count"], shown["tools"]) == (1, ["drive"])
    assert said["text"] == "I drive"
    assert said["calls"] == [before["call"]] == [{"id": "c1", "name": "drive", "arguments": {"distance_m": 2}}]
    assert after["result"] == {"status": "ok", "text": "drove 2 m"}
    assert after["duration_s"] >= 0
    assert again["count"] == 3
    assert (end["reply"], end["reason"], end["usage"]) == (
        "done",
        "completed",
        {"input_tokens": 10, "output_tokens": 5},
    )


def test_each_message_is_written_once(path: Path) -> None:
    records = recorded(path)()
    written = [message["id"] for record in records for message in record.get("messages", [])]
    assert len(written) == len(set(written)) == 4
    assert [message["role"] for message in records[5]["messages"]] == ["assistant", "tool"]
    assert [message["text"] for message in records[-1]["messages"]] == ["done"]


def test_each_run_has_an_id_also_with_one_context(path: Path) -> None:
    hook = AuditLogHook(path)
    context = AgentContext()
    for _ in range(2):
        record_run(HookChain([hook], context), context)
    records = lines_of(path)
    assert len({record["run"] for record in records}) == 2
    assert [len(record["messages"]) for record in records if record["point"] == "before_llm"] == [1, 2, 1, 2]


def test_a_sub_agent_is_a_part_of_the_run(path: Path) -> None:
    context = AgentContext(agent_name="robi")
    hook = AuditLogHook(path)
    chain = HookChain([hook], context)
    chain.fire(FirePoint.ON_RUN_START, RunStart(None, context))
    child = context.child()
    child.agent_name = "cook"
    record_run(HookChain([hook], child), child)
    chain.fire(FirePoint.ON_RUN_END, ended())
    records = lines_of(path)
    assert len({record["run"] for record in records}) == 1
    assert [record["agent"] for record in records] == ["robi", *["cook"] * 8, "robi"]
    assert [record["depth"] for record in records if "depth" in record] == [0, 1, 1, 0]


def test_personal_data_is_replaced_unless_told_otherwise(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said = "write to ann@example.com"
    recorded(path)(said)
    assert "ann@example.com" not in path.read_text()
    assert "<EMAIL>" in path.read_text()
    for mode in ("off", "warn"):
        path.unlink()
        recorded(path, pii=PII(log=mode))(said)
        assert "ann@example.com" in path.read_text()
        assert bool(caplog.records) == (mode == "warn")


def test_only_its_owner_may_read_the_file(path: Path) -> None:
    AuditLogHook(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_is_appended_to_and_a_torn_line_in_it_stays_alone(path: Path) -> None:
    assert len(recorded(path)()) == 8
    assert len(recorded(path)()) == 16
    with path.open("a") as file:
        file.write('{"t": 17')
    recorded(path)
    AuditLogHook(path)(FirePoint.AFTER_LLM, AgentContext(), AfterLLM("hi", (), 1))
    lines = path.read_text().splitlines()
    assert lines[16] == '{"t": 17'
    assert json.loads(lines[17])["text"] == "hi"


def test_each_line_is_one_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write
    run = recorded(path)
    monkeypatch.setattr(os, "write", lambda file, data: (written.append(data), write(file, data))[1])
    run()
    assert len(written) == 8
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in written)


def test_a_full_disk_is_told_once_and_keeps_no_gate_shut(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    context = AgentContext()
    chain = HookChain([AuditLogHook(path)], context)

    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        for _ in range(3):
            assert chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(MADE, drive, 1)).result is None
    assert [(record.message, bool(record.exc_info)) for record in caplog.records] == [
        (f"the audit log {path} has gaps: No space left on device; this is told once", False)
    ]
    chain.fire(FirePoint.AFTER_LLM, AfterLLM("room again", (), 1))
    assert json.loads(path.read_text().splitlines()[-1])["text"] == "room again"


def test_a_line_that_was_written_in_part_does_not_spoil_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = AuditLogHook(path)
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, data: write(file, data[:20]))
        hook(FirePoint.AFTER_LLM, AgentContext(), AfterLLM("cut", (), 1))
    hook(FirePoint.AFTER_LLM, AgentContext(), AfterLLM("whole", (), 1))
    assert json.loads(path.read_text().splitlines()[-1])["text"] == "whole"


def test_what_json_can_not_say_is_written_anyway(path: Path) -> None:
    odd = ToolCall("c", "drive", {"what": object(), "half": "\ud800"})
    raw = ToolCall("d", "drive", {}, '{"distance_m":')
    AuditLogHook(path, pii=PII(log="off"))(FirePoint.AFTER_LLM, AgentContext(), AfterLLM("", (odd, raw), 1))
    calls = lines_of(path)[0]["calls"]
    assert calls[0]["arguments"]["what"].startswith("<object")
    assert calls[1]["arguments"] == '{"distance_m":'


def test_runs_at_once_write_whole_lines(path: Path) -> None:
    hook = AuditLogHook(path)
    together = threading.Barrier(4)

    def work() -> None:
        context = AgentContext()
        together.wait(5)
        for _ in range(10):
            record_run(HookChain([hook], context), context, "a long request " * 200)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    records = lines_of(path)
    assert len(records) == 4 * 10 * 8
    assert len({record["run"] for record in records}) == 40


def test_after_close_nothing_is_written(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hook = AuditLogHook(path)
    hook.close()
    hook.close()
    hook(FirePoint.AFTER_LLM, AgentContext(), AfterLLM("late", (), 1))
    assert path.read_text() == ""
    assert "closed" in caplog.text


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"there is no folder {tmp_path / 'logs'}"):
        AuditLogHook(tmp_path / "logs" / "audit.jsonl")


@pytest.mark.parametrize("wrong", ["", 3, None])
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="path"):
        AuditLogHook(wrong)


def test_a_folder_as_a_file_and_a_wrong_pii_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be opened"):
        AuditLogHook(tmp_path)
    wrong: Any = "yes"
    with pytest.raises(ConfigError, match="PII"):
        AuditLogHook(tmp_path / "a", pii=wrong)


# --- its size ---------------------------------------------------------------------------------------------------------


def test_every_request_of_a_session_costs_the_same(path: Path) -> None:
    replies = [reply for _ in range(40) for reply in ([call("drive", distance_m=2)], "I drove.")]
    agent = Agent("robi", llm=ScriptedLLM(*replies), tools=[drive], hooks=[AuditLogHook(path)])
    sizes = []
    with Session(agent) as session:
        for _ in range(40):
            session.step("drive two meters")
            sizes.append(path.stat().st_size)
    assert sizes[-1] - sizes[-2] < 1.1 * (sizes[1] - sizes[0])
    texts = [message["text"] for line in lines_of(path) for message in line.get("messages", ()) if "text" in message]
    assert texts.count("drive two meters") == 40


def test_a_history_that_was_shortened_is_not_told_again(path: Path) -> None:
    agent = Agent("robi", llm=ScriptedLLM("A", "B", "C"), hooks=[AuditLogHook(path)])
    with Session(agent) as session:
        session.step("one")
        session.step("two")
        session.truncate(1)
        session.step("three")
    begun = [line for line in lines_of(path) if line["point"] == "before_llm"]
    assert [[message["text"] for message in line["messages"]] for line in begun] == [["one"], ["two"], ["three"]]


def test_a_history_from_elsewhere_is_told_once(path: Path) -> None:
    hook = AuditLogHook(path)
    for name in ("first", "second"):
        with Session(Agent("robi", llm=ScriptedLLM("A", "B"), hooks=[hook])) as session:
            session.restore([Message.user(f"of the {name}"), Message.assistant("yes")])
            session.step("one")
            session.step("two")
    begun = [line for line in lines_of(path) if line["point"] == "before_llm"]
    assert [len(line["messages"]) for line in begun] == [3, 1, 3, 1]


def test_a_full_file_gives_way_between_two_runs(path: Path) -> None:
    run = recorded(path, max_mb=0.003, files=3)
    for number in range(8):
        run(f"run {number}")
    assert sorted(file.name for file in path.parent.iterdir()) == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
    for file in path.parent.iterdir():
        points = [line["point"] for line in lines_of(file)]
        assert points[0] == "on_run_start"
        assert points[-1] == "on_run_end"


def test_a_builder_s_own_object_is_redacted(path: Path) -> None:
    class Person:
        def __repr__(self) -> str:
            return "ann@example.com"

    odd = ToolCall("c1", "drive", {"to": Person()})
    AuditLogHook(path)(FirePoint.AFTER_LLM, AgentContext(), AfterLLM("", (odd,), 1))
    assert "ann@" not in path.read_text()
    assert "<EMAIL>" in path.read_text()


@pytest.mark.parametrize("wrong", [{"max_mb": 0}, {"files": 0}])
def test_a_limit_that_is_none_is_named(path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        AuditLogHook(path, **wrong)


def test_a_result_is_written_as_the_model_sees_it(tmp_path: Path) -> None:
    @tool
    def read() -> str:
        """Reads a lot."""
        return "x" * 50_000

    path = tmp_path / "audit.jsonl"
    Agent("a", llm=ScriptedLLM([call("read")], "ok"), tools=[read], hooks=[AuditLogHook(path)]).run("go")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    [told] = [record["result"]["text"] for record in records if record["point"] == "after_tool"]
    assert len(told) == 8192
