"""The table of section 4: each status, when a call gets it, whether it is an error, and whether it started."""

from __future__ import annotations

import threading

import pytest

from edgeagent import (
    Agent,
    FirePoint,
    GoalHandle,
    HookResult,
    Options,
    PolicyViolationError,
    ToolContext,
    ToolResult,
    skill,
    tool,
)
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, first, opened, raises

P = FirePoint


@tool
def fine() -> str:
    """Fine."""
    return "fine"


@tool
def bad() -> str:
    """Bad."""
    raise RuntimeError("no luck")


@tool
def says_bad() -> ToolResult:
    """Says that it failed."""
    return ToolResult.error("out of milk")


@tool(destructive=True)
def wipe() -> str:
    """Wipes."""
    return "wiped"


@tool(question=True)
def ask(question: str) -> str:
    """Asks."""
    raise NotImplementedError


@skill
def fails() -> ToolResult:
    """Fails."""
    return ToolResult.error("blocked by a wall")


@skill
def move() -> str:
    """Moves."""
    return "moved"


class Run:
    """One run whose second request, if there is one, ends it; and the calls' ends and starts."""

    def __init__(self, calls, *, tools, latch=None, hooks=(), during=None, **options):
        reply = calls if isinstance(calls, dict) else {"calls": calls}
        self.llm = ScriptedLLM(reply, "ok")
        self.agent = Agent("a", llm=self.llm, tools=tools, latch=latch, hooks=hooks, options=Options(**options))
        self.handle = self.agent.start("go")
        if during is not None:
            during(self)
        assert self.handle.wait(LIMIT_S)
        try:
            self.result = self.handle.result(LIMIT_S)
        except PolicyViolationError as error:
            self.result = error.result
        log = list(self.handle.events())
        self.started = [e.call.name for e in log if e.kind == "tool_execution_start"]
        self.ended = [e.call.name for e in log if e.kind == "tool_execution_end"]
        assert calls_are_answered(self.result.messages)

    def status_of(self, name):
        return next(made.result for made in self.result.tool_calls if made.name == name)


def abort_when_started(run):
    first(run.handle, "tool_execution_start")
    run.agent.abort()


def steers():
    """A tool that steers its own agent."""
    box = []

    @tool
    def steer() -> str:
        """Steers."""
        box[0].steer("no")
        return ""

    return steer, lambda run: box.append(run.agent)


def gated(**traits):
    """A read-only tool that stays until it is stopped, or for ever."""
    stays = traits.pop("stays", False)
    gate = threading.Event()

    @tool(**{"read_only": True, **traits})
    def hang(ctx: ToolContext) -> str:
        """Hangs."""
        while not gate.wait(0.005):
            if ctx.should_stop() and not stays:
                return "stopped"
        return "let go"

    return hang, gate


def deny(name, arguments):
    return "not allowed" if name == "fine" else None


ROWS = [
    # status, is_error, started, how
    ("ok", False, True, lambda: (Run([call("fine")], tools=[fine]), "fine")),
    ("error", True, True, lambda: (Run([call("bad")], tools=[bad]), "bad")),
    ("error", True, True, lambda: (Run([call("says_bad")], tools=[says_bad]), "says_bad")),
    ("error", True, False, lambda: (Run([call("fine")], tools=[fine], hooks=[At(P.BEFORE_TOOL, does=raises)]), "fine")),
    ("error", True, False, lambda: (Run([call("fine")], tools=[fine], before_tool_call=lambda c, s: 1 / 0), "fine")),
    ("error", True, False, lambda: (Run([call("wipe")], tools=[wipe], confirm=lambda n, a: 1 / 0), "wipe")),
    ("error", True, True, lambda: (Run([call("ask", question="?")], tools=[ask]), "ask")),
    ("unknown", True, False, lambda: (Run([call("nope")], tools=[fine]), "nope")),
    ("invalid", True, False, lambda: (Run([call("fine", x=1)], tools=[fine]), "fine")),
    ("invalid", True, False, lambda: (Run([call.raw("fine", '{"a":')], tools=[fine]), "fine")),
    ("blocked", True, False, lambda: (blocked_by_hook(), "fine")),
    (
        "blocked",
        True,
        False,
        lambda: (Run([call("fine")], tools=[fine], before_tool_call=lambda c, s: ToolResult.blocked("no")), "fine"),
    ),
    ("blocked", True, False, lambda: (blocked_by_latch(), "move")),
    ("declined", False, False, lambda: (Run([call("wipe")], tools=[wipe], confirm=lambda n, a: False), "wipe")),
    ("declined", False, False, lambda: (declined_too_late(), "wipe")),
    ("denied", True, False, lambda: (Run([call("fine")], tools=[fine], policy_check=deny), "fine")),
    ("denied", True, False, lambda: (Run([call("fine")], tools=[fine], policy_check=lambda n, a: 1 / 0), "fine")),
    ("skipped", True, False, lambda: (skipped(), "fine")),
    ("not_run", True, False, lambda: (not_run_by_abort(), "fine")),
    ("not_run", True, False, lambda: (not_run_by_end(), "fine")),
    (
        "not_run",
        True,
        False,
        lambda: (Run([call("wipe"), call("fine")], tools=[fine, wipe], policy_check=deny), "wipe"),
    ),
    ("not_run", True, False, lambda: (Run({"calls": [call("fine")], "stop": "length"}, tools=[fine]), "fine")),
    ("not_run", True, False, lambda: (Run([call("fails"), call("move")], tools=[fails, move]), "move")),
    ("interrupted", True, True, lambda: (interrupted(), "hang")),
    ("timed_out", True, True, lambda: (timed_out(), "hang")),
    ("outcome_unknown", True, True, lambda: (abandoned(), "hang")),
    ("detached", False, True, lambda: (detached(), "hang")),
]


def blocked_by_hook():
    return Run([call("fine")], tools=[fine], hooks=[At(P.BEFORE_TOOL, does=lambda c, p: HookResult.block("no"))])


def blocked_by_latch():
    latch = SafetyLatch()
    latch.trip("test")
    return Run([call("move")], tools=[move], latch=latch)


def declined_too_late():
    gate = threading.Event()
    run = Run([call("wipe")], tools=[wipe], confirm=lambda n, a: opened(gate), confirm_timeout_s=0.05)
    gate.set()
    return run


def skipped():
    steer, bind = steers()
    gate = threading.Event()

    def hold(ctx, p):
        opened(gate)

    def during(run):
        bind(run)
        gate.set()

    hooks = [At(P.BEFORE_LLM, does=hold)]
    return Run(
        [call("steer"), call("fine")], tools=[steer, fine], hooks=hooks, steering_check="after_each_tool", during=during
    )


def not_run_by_abort():
    hang, _ = gated()
    options = {"tool_execution_mode": "sequential", "during": abort_when_started}
    return Run([call("hang"), call("fine")], tools=[hang, fine], **options)


def not_run_by_end():
    end = At(P.AFTER_TOOL, does=lambda ctx, p: HookResult.end_turn("enough"))
    return Run([call("bad"), call("fine")], tools=[bad, fine], hooks=[end], tool_execution_mode="sequential")


def interrupted():
    hang, _ = gated()
    return Run([call("hang")], tools=[hang], during=abort_when_started)


def timed_out():
    hang, gate = gated(stays=True, timeout_s=0.02)
    run = Run([call("hang")], tools=[hang])
    gate.set()
    return run


def abandoned():
    hang, gate = gated(stays=True)
    run = Run([call("hang")], tools=[hang], abort_grace_s=0.02, during=abort_when_started)
    gate.set()
    return run


def detached():
    hang, gate = gated(stays=True, on_interrupt="detach")
    run = Run([call("hang")], tools=[hang], during=abort_when_started)
    run.llm._replies.append("told")
    gate.set()
    return run


@pytest.mark.parametrize(
    ("status", "is_error", "started", "how"), ROWS, ids=[f"{r[0]}-{i}" for i, r in enumerate(ROWS)]
)
def test_each_row_of_the_table(status, is_error, started, how):
    run, name = how()
    result = run.status_of(name)
    assert (result.status, result.is_error) == (status, is_error)
    assert (name in run.started) == started
    assert run.ended.count(name) == 1, "one end each, with a start or without"
    assert result.text, "the model is told why"


def test_every_status_has_its_row():
    from typing import get_args

    from edgeagent.messages import Status

    assert set(get_args(Status)) == {row[0] for row in ROWS}


def test_a_busy_resource_blocks():
    hang, gate = gated(stays=True, resources=("camera",), timeout_s=0.02)

    @tool(resources=("camera",))
    def picture() -> str:
        """Takes a picture."""
        return "click"

    run = Run([call("hang"), call("picture")], tools=[hang, picture])
    gate.set()
    result = run.status_of("picture")
    assert (result.status, result.text) == ("blocked", "camera is still busy with hang")
    assert "picture" not in run.started


def test_a_denial_of_a_rewritten_call_lets_siblings_finish_and_then_fails_the_run():
    both, denied = threading.Barrier(2), threading.Event()

    @tool
    def slow() -> str:
        """Slow."""
        both.wait(LIMIT_S)
        opened(denied)
        return "done"

    @tool
    def drive(m: int) -> str:
        """Drives."""
        return "drove"

    def rewrite(made, stop_event):
        if made.name != "drive":
            return None
        both.wait(LIMIT_S)
        return type(made)(made.id, made.name, {"m": 100})

    def policy(name, arguments):
        return "too far" if arguments.get("m") == 100 else None

    def see(event):
        if event.kind == "tool_execution_end" and event.result.status == "denied":
            denied.set()

    llm = ScriptedLLM([call("slow"), call("drive", m=1), call("slow")], "never")
    options = Options(before_tool_call=rewrite, policy_check=policy, max_concurrent_tools=2, on_event=see)
    agent = Agent("a", llm=llm, tools=[slow, drive], options=options)
    with pytest.raises(PolicyViolationError, match="too far") as caught:
        agent.run("go")
    assert [made.result.status for made in caught.value.result.tool_calls] == ["ok", "denied", "not_run"]
    assert calls_are_answered(caught.value.result.messages)


def test_a_skill_that_is_cancelled_by_its_handle_is_interrupted_and_the_run_goes_on():
    @skill
    def roam(goal: GoalHandle) -> str:
        """Roams."""
        goal.cancel_event.wait(LIMIT_S)
        goal.checkpoint()
        return "roamed"

    run = Run([call("roam")], tools=[roam], during=cancel)
    assert (run.status_of("roam").status, run.result.reply) == ("interrupted", "ok")


def cancel(run):
    started = first(run.handle, "tool_execution_start")
    assert run.handle.goals[started.call.id].cancel()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("saw 1", "saw 1"),
        ({"a": 1}, '{"a": 1}'),
        ([], "[]"),
        (0, "0"),
        (None, "done"),
        ("", ""),
        pytest.param(object(), "", id="no JSON"),
    ],
)
def test_a_success_has_the_text_of_its_value(value, text):
    made = ToolResult.ok(value)
    assert (made.text, made.value) == (text, value)
