"""What AuditLogHook wrote is read as runs and turns, however it ends; what is no audit log is told by its line."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgeagent import Message, ToolCall, ToolResult, Usage, tool
from edgeagent.context import AgentContext
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks import (
    AfterLLM,
    AfterTool,
    AuditLogHook,
    BeforeLLM,
    BeforeTool,
    FirePoint,
    HookChain,
    RunRecord,
    RunStart,
    read,
)


@tool
def drive(distance_m: float) -> str:
    """Drive."""
    return "drove"


ONE, TWO = ToolCall("c1", "drive", {"distance_m": 2}), ToolCall("c2", "drive", {"distance_m": 3})


def line(elapsed_s: float, point: str, run: str = "r1", agent: str = "robi", **content: Any) -> str:
    record = {"t": 1_700_000_000 + elapsed_s, "run": run, "agent": agent, "point": point, "elapsed_s": elapsed_s}
    return json.dumps({**record, **content}) + "\n"


def call_of(name: str) -> dict[str, Any]:
    return {"id": name, "name": "drive", "arguments": {}}


def lines(run: str = "r1") -> list[str]:
    """A run of 10 s: the model works for 2 s and 1 s, two drives of 4 s and 5 s begin together."""
    tools = [
        line(3, "before_tool", run, hop=1, call=call_of("a")),
        line(3, "before_tool", run, hop=1, call=call_of("b")),
        line(7, "after_tool", run, call=call_of("a"), result={"status": "ok", "text": "x"}, duration_s=4),
        line(8, "after_tool", run, call=call_of("b"), result={"status": "error", "text": "y"}, duration_s=5),
    ]
    usage = {"input_tokens": 7, "output_tokens": 3}
    return [
        line(0, "on_run_start", run, depth=0, task="go"),
        line(1, "before_llm", run, hop=1, count=1, messages=[], tools=["drive"]),
        line(3, "after_llm", run, hop=1, text="on my way", calls=[call_of("a"), call_of("b")]),
        *tools,
        line(8, "before_llm", run, hop=2, count=4, messages=[], tools=["drive"]),
        line(9, "after_llm", run, hop=2, text="done", calls=[]),
        line(10, "on_run_end", run, depth=0, reply="done", reason="completed", usage=usage, messages=[]),
    ]


def runs_of(tmp_path: Path, text: str | bytes) -> list[RunRecord]:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read(path))


def test_a_run_has_its_turns_and_they_have_their_calls(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, "".join(lines()))
    assert (run.id, run.agent, run.t, run.task) == ("r1", "robi", 1_700_000_000, "go")
    assert (run.reply, run.reason, run.elapsed_s) == ("done", "completed", 10)
    assert (run.input_tokens, run.output_tokens) == (7, 3)
    assert [(turn.number, turn.model_s, turn.text, turn.messages) for turn in run.turns] == [
        (1, 2, "on my way", 1),
        (2, 1, "done", 4),
    ]
    assert [(made.id, made.status, made.text, made.duration_s) for made in run.turns[0].calls] == [
        ("a", "ok", "x", 4),
        ("b", "error", "y", 5),
    ]


def test_time_is_the_models_the_tools_or_neither_and_two_tools_at_once_count_once(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, "".join(lines()))
    assert (run.model_s, run.tools_s, run.other_s) == (3, 5, 2)


def test_runs_that_were_written_side_by_side_are_told_apart(tmp_path: Path) -> None:
    mixed = [each for pair in zip(lines("r1"), lines("r2"), strict=True) for each in pair]
    runs = runs_of(tmp_path, "".join(mixed))
    assert [run.id for run in runs] == ["r1", "r2"]
    assert [len(run.turns) for run in runs] == [2, 2]


@pytest.mark.parametrize("kept", [3, 40, 150])
def test_a_torn_last_line_is_passed_over(tmp_path: Path, kept: int) -> None:
    whole = lines()
    (run,) = runs_of(tmp_path, "".join(whole[:-1]) + whole[-1][:kept])
    assert run.reason is None
    assert len(run.turns) == 2


def test_a_torn_line_in_the_middle_is_passed_over(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, "".join(lines("r1")[:4]) + '{"t": 1700\n\n' + "".join(lines("r2")))
    assert [(run.id, run.reason) for run in runs] == [("r2", "completed"), ("r1", None)]


def test_an_empty_file_holds_no_run(tmp_path: Path) -> None:
    assert runs_of(tmp_path, "") == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("hello\n", 1),
        (b"GGUF\x03\x00\x00\x00" * 100, 1),
        ('{"kind": "agent_start", "t": 1}\n', 1),
        ("[1]\n", 1),
        ('{"t": "now", "run": "r", "agent": "a", "point": "on_run_start", "elapsed_s": 0}\n', 1),
        ('{"t": 1e999, "run": "r", "agent": "a", "point": "on_run_start", "elapsed_s": 0}\n', 1),
        ('{"t": 1, "run": "r", "agent": "a", "point": "nowhere", "elapsed_s": 0}\n', 1),
        ("".join(lines()[:2]) + "what?\n", 3),
        ("".join(lines()[:2]) + line(2, "after_llm", hop=1, text="x", calls=5), 3),
        ("".join(lines()[:2]) + line(2, "before_llm"), 3),
    ],
)
def test_what_is_no_audit_log_is_told_with_its_line(tmp_path: Path, text: str | bytes, number: int) -> None:
    with pytest.raises(EdgeAgentError, match=rf"audit\.jsonl:{number}: .* no record of an audit log; --audit FILE"):
        runs_of(tmp_path, text)


def test_what_a_hook_kept_from_the_log_is_read_from_the_messages(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    context = AgentContext(agent_name="robi")
    chain = HookChain([AuditLogHook(path)], context)
    task, said = Message.user("go"), Message.assistant("I will drive", [ONE, TWO])
    refused = [Message.tool(ToolResult(made.id, "drive", "not_run", "ended")) for made in (ONE, TWO)]
    chain.fire(FirePoint.ON_RUN_START, RunStart(task, context))
    chain.fire(FirePoint.BEFORE_LLM, BeforeLLM([task], [drive], 1))
    new = (task, said, *refused, Message.assistant("I did not do it."))
    result = SimpleNamespace(reply="I did not do it.", reason="stopped", abort_reason=None, error=None)
    chain.fire(FirePoint.ON_RUN_END, SimpleNamespace(**vars(result), usage=Usage(), new_messages=new))
    (run,) = read(path)
    assert (run.reason, run.turns[0].text, run.turns[0].model_s) == ("stopped", "I will drive", None)
    assert [(made.status, made.duration_s) for made in run.turns[0].calls] == [("not_run", None)] * 2


def test_what_the_hook_writes_of_a_sub_agent_is_one_run(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    context = AgentContext(agent_name="robi")
    hook = AuditLogHook(path)
    result = SimpleNamespace(reply="hi", reason="completed", abort_reason=None, error=None, usage=Usage(1, 1))
    end = SimpleNamespace(**vars(result), new_messages=())

    def part(chain: HookChain, inner: AgentContext | None = None) -> None:
        chain.fire(FirePoint.ON_RUN_START, RunStart(Message.user("cook"), context))
        chain.fire(FirePoint.BEFORE_LLM, BeforeLLM([], [], 1))
        chain.fire(FirePoint.AFTER_LLM, AfterLLM("ok", (ONE,), 1))
        chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(ONE, drive, 1))
        if inner is not None:
            inner.agent_name = "cook"
            part(HookChain([hook], inner))
        chain.fire(FirePoint.AFTER_TOOL, AfterTool(ONE, ToolResult("c1", "drive", "ok", "drove")))
        chain.fire(FirePoint.ON_RUN_END, end)

    part(HookChain([hook], context), context.child())
    (run,) = read(path)
    assert (run.agent, run.reason) == ("robi", "completed")
    assert [turn.agent for turn in run.turns] == ["robi", "cook"]
