"""A line for each point; a stream that takes nothing more does not matter."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from edgeagent import Message, ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.hooks import AfterLLM, AfterTool, BeforeLLM, BeforeTool, EchoingHook, FirePoint, HookChain, RunStart
from edgeagent.testing import call


@tool
def drive(distance_m: float) -> str:
    """Drive."""
    return "drove"


CONTEXT = AgentContext(agent_name="robi")
MADE = call("drive", distance_m=2)
PAYLOADS: list[tuple[FirePoint, Any]] = [
    (FirePoint.ON_RUN_START, RunStart(Message.user("go"), CONTEXT)),
    (FirePoint.BEFORE_LLM, BeforeLLM([Message.user("go")], [drive], 1)),
    (FirePoint.AFTER_LLM, AfterLLM("I go", (MADE,), 1)),
    (FirePoint.BEFORE_TOOL, BeforeTool(MADE, drive, 1)),
    (FirePoint.AFTER_TOOL, AfterTool(MADE, ToolResult(MADE.id, "drive", "ok", "drove"))),
    (FirePoint.ON_RUN_END, SimpleNamespace(reason="completed", elapsed_s=1.5, reply="done")),
]


def test_each_point_is_one_line() -> None:
    stream = io.StringIO()
    chain = HookChain([EchoingHook(stream)], CONTEXT)
    for point, payload in PAYLOADS:
        chain.fire(point, payload)
    assert stream.getvalue().splitlines() == [
        "[robi] on_run_start: go",
        "[robi] before_llm: hop 1, 1 message, 1 tool; last: user: go",
        '[robi] after_llm: hop 1, "I go" → drive {"distance_m": 2}',
        '[robi] before_tool: drive {"distance_m": 2}',
        "[robi] after_tool: drive: ok: drove",
        "[robi] on_run_end: completed after 1.50 s: done",
    ]


def test_long_and_wild_text_stays_on_one_short_line() -> None:
    stream = io.StringIO()
    EchoingHook(stream)(FirePoint.ON_RUN_START, CONTEXT, RunStart(Message.user("a\n\x1b[2J" + "b" * 1000), CONTEXT))
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert len(line) < 200
    assert "\x1b" not in line


def test_without_a_stream_it_is_stderr_as_it_is_then(capsys: pytest.CaptureFixture[str]) -> None:
    EchoingHook()(FirePoint.BEFORE_TOOL, CONTEXT, BeforeTool(MADE, drive, 1))
    assert capsys.readouterr().err.startswith("[robi] before_tool: drive")


def test_a_stream_that_is_closed_keeps_no_gate_shut_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    stream.close()
    chain = HookChain([EchoingHook(stream)], CONTEXT)
    for _ in range(3):
        assert chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(MADE, drive, 1)).result is None
    assert len(caplog.records) == 1
