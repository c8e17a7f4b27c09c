"""The gates of a call: policy, before and after, and a person's yes."""

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import pytest

from edgeagent import Agent, FirePoint, HookResult, Options, PolicyViolationError, tool
from edgeagent.hooks import BaseHook
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.session import AuditTrail
from edgeagent.testing import ScriptedLLM, call

from .kit import At, opened

LIMIT_S = 10


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
def fail() -> str:
    """Always fails."""
    raise RuntimeError("no luck")


def test_policy_denies_and_nothing_runs():
    ran = []

    @tool
    def a() -> str:
        """A."""
        ran.append("a")
        return "a"

    @tool
    def b() -> str:
        """B."""
        ran.append("b")
        return "b"

    options = Options(policy_check=lambda name, arguments: "not allowed" if name == "b" else None)
    agent = Agent("x", llm=ScriptedLLM([call("a"), call("b")]), tools=[a, b], options=options)
    with pytest.raises(PolicyViolationError, match="policy denied b: not allowed") as caught:
        agent.run("go")
    assert ran == []
    assert (caught.value.tool, caught.value.reason) == ("b", "not allowed")
    assert [c.result.status for c in caught.value.result.tool_calls] == ["not_run", "denied"]
    assert [m.role for m in caught.value.result.messages] == ["user", "assistant", "tool", "tool"]
    assert not agent.is_running


@pytest.mark.parametrize("refusal", ["denied", "invalid", "unknown"])
def test_a_call_that_hooks_made_of_another_one_is_refused_under_its_own_name(refusal):
    @tool
    def drive(distance_m: float) -> str:
        """Drives."""
        return "arrived"

    to = {
        "denied": ToolCall("", "drive", {"distance_m": 1}),
        "invalid": ToolCall("", "drive", {}),
        "unknown": ToolCall("", "fly", {}),
    }[refusal]
    options = Options(
        policy_check=lambda name, arguments: "not allowed" if name == "drive" else None,
        before_tool_call=lambda made, stop_event: to,
    )
    agent = Agent("x", llm=ScriptedLLM([call("add", a=1, b=1)], "done"), tools=[add, drive], options=options)
    if refusal == "denied":
        with pytest.raises(PolicyViolationError) as caught:
            agent.run("go")
        assert caught.value.tool == "drive"
        result = caught.value.result
    else:
        result = agent.run("go")
    assert [(made.name, made.result.name, made.result.status) for made in result.tool_calls] == [
        (to.name, to.name, refusal)
    ]


def test_a_policy_check_that_denies_with_true_has_a_text_as_its_reason():
    options = Options(policy_check=lambda name, arguments: True)
    agent = Agent("x", llm=ScriptedLLM([call("add", a=1, b=1)]), tools=[add], options=options)
    with pytest.raises(PolicyViolationError) as caught:
        agent.run("go")
    assert caught.value.reason == "True"


def test_a_policy_check_that_raises_denies():
    def check(name, arguments):
        raise ValueError("broken")

    agent = Agent("x", llm=ScriptedLLM([call("add", a=1, b=1)]), tools=[add], options=Options(policy_check=check))
    with pytest.raises(PolicyViolationError, match="broken"):
        agent.run("go")


def test_before_tool_call_may_block_rewrite_and_supply():
    def before(made, stop_event):
        if made.arguments["a"] == 1:
            return ToolResult.blocked("not one")
        if made.arguments["a"] == 2:
            return type(made)(made.id, made.name, {"a": 20, "b": "2"})
        if made.arguments["a"] == 3:
            return ToolResult.ok("supplied")
        if made.arguments["a"] == 4:
            return type(made)(made.id, made.name, {"a": "x", "b": 1})
        raise RuntimeError("gate broke")

    llm = ScriptedLLM([call("add", a=i, b=0) for i in range(1, 6)], "ok")
    result = Agent("x", llm=llm, tools=[add], options=Options(before_tool_call=before)).run("go")
    assert [(c.result.status, c.result.text) for c in result.tool_calls[:3]] == [
        ("blocked", "not one"),
        ("ok", "22"),
        ("ok", "supplied"),
    ]
    assert result.tool_calls[3].result.status == "invalid"
    assert result.tool_calls[4].result.status == "error"
    assert "gate broke" in result.tool_calls[4].result.text


def test_after_tool_call_patches_results_of_refused_calls_too():
    def after(made, result, stop_event):
        return ToolResult(result.call_id, result.name, result.status, result.text.upper())

    llm = ScriptedLLM([call("fail"), call("nope")], "ok")
    result = Agent("x", llm=llm, tools=[fail], options=Options(after_tool_call=after)).run("go")
    assert result.tool_calls[0].result.text == "RUNTIMEERROR: NO LUCK"
    assert "THERE IS NO TOOL CALLED NOPE" in result.tool_calls[1].result.text


@pytest.mark.parametrize(
    ("confirm", "status"),
    [
        (lambda n, a: True, "ok"),
        (lambda n, a: False, "declined"),
        (lambda n, a: None, "declined"),
        (lambda n, a: "no", "declined"),
        (lambda n, a: 1 / 0, "error"),
        (None, "ok"),
    ],
)
def test_destructive_tools_ask_first(confirm, status):
    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    result = Agent("x", llm=ScriptedLLM([call("wipe")], "ok"), tools=[wipe], options=Options(confirm=confirm)).run("go")
    assert result.tool_calls[0].result.status == status
    assert result.tool_calls[0].result.is_error == (status == "error")


def test_no_answer_in_time_declines():
    never = threading.Event()

    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    options = Options(confirm=lambda n, a: never.wait(LIMIT_S), confirm_timeout_s=0.05)
    result = Agent("x", llm=ScriptedLLM([call("wipe")], "ok"), tools=[wipe], options=options).run("go")
    never.set()
    assert result.tool_calls[0].result.status == "declined"


OF_THE_LOOP = sorted(set(get_args(Status)) - {"ok", "error"})


@pytest.mark.parametrize("status", [*OF_THE_LOOP, "success", ""])
@pytest.mark.parametrize("text", ["no luck", ""])
def test_a_body_that_returns_a_status_which_is_not_its_own_is_an_error(status, text):
    @tool
    def grip() -> ToolResult:
        """Grips."""
        return ToolResult("", "", status, text)

    agent = Agent("x", llm=ScriptedLLM([call("grip")], "ok"), tools=[grip])
    sink = []
    agent.subscribe(AuditTrail(SimpleNamespace(emit=sink.append, flush=lambda: None, close=lambda: None)))
    result = agent.run("go")
    assert (result.reason, result.reply) == ("completed", "ok")
    assert result.tool_calls[0].result.status == "error"
    assert result.tool_calls[0].result.text == text or repr(status) in result.tool_calls[0].result.text
    assert sink[-1]["outcome"] == "error"


@pytest.mark.parametrize("who", ["supplied", "after"])
def test_a_hook_that_gives_a_status_which_is_none_is_an_error(who):
    odd = ToolResult("", "", "success", "")
    options = {
        "supplied": {"before_tool_call": lambda made, stop_event: odd},
        "after": {"after_tool_call": lambda made, result, stop_event: odd},
    }[who]
    agent = Agent("x", llm=ScriptedLLM([call("add", a=1, b=2)], "ok"), tools=[add], options=Options(**options))
    made = agent.run("go").tool_calls[0].result
    assert (made.status, made.text[:42]) == ("error", "add gave a result with the status 'success")


@pytest.mark.parametrize("who", ["body", "supplied", "after"])
def test_only_the_policy_denies(who):
    denied = ToolResult("", "", "denied", "no")

    @tool
    def refuse() -> ToolResult:
        """Refuses."""
        return denied if who == "body" else ToolResult.ok("fine")

    options = {
        "body": {},
        "supplied": {"before_tool_call": lambda made, stop_event: denied},
        "after": {"after_tool_call": lambda made, result, stop_event: denied},
    }[who]
    agent = Agent("x", llm=ScriptedLLM([call("refuse")], "ok"), tools=[refuse], options=Options(**options))
    result = agent.run("go")
    assert (result.reason, result.reply) == ("completed", "ok")
    assert (result.tool_calls[0].result.status, result.tool_calls[0].result.text) == ("error", "no")


class Hidden(BaseHook):
    """Shows the model no tool of a name; and makes a call of it of another one, if asked to."""

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.BEFORE_TOOL})

    def __init__(self, name, instead_of=""):
        self.name, self.instead_of = name, instead_of

    def __call__(self, point, ctx, payload):
        if point is FirePoint.BEFORE_LLM:
            shown = [made for made in payload.tools if made.name != self.name]
            return HookResult.replace(replace(payload, tools=shown))
        if payload.call.name == self.instead_of:
            return HookResult.replace(replace(payload, call=replace(payload.call, name=self.name)))
        return None


def test_a_tool_that_the_model_was_not_shown_is_unknown():
    llm = ScriptedLLM([call("fail"), call("add", a=1, b=2)], "ok")
    made = Agent("x", llm=llm, tools=[add, fail], hooks=[Hidden("fail")]).run("go").tool_calls
    assert [c.result.status for c in made] == ["unknown", "ok"]
    assert made[0].result.text == "there is no tool called fail. Tools: add"


def test_a_hook_may_use_what_it_hides():
    llm = ScriptedLLM([call("add", a=1, b=2)], "ok")

    @tool
    def add_well(a: int, b: int) -> str:
        """Adds well."""
        return f"well: {a + b}"

    agent = Agent("x", llm=llm, tools=[add, add_well], hooks=[Hidden("add_well", instead_of="add")])
    assert agent.run("go").tool_calls[0].result.text == "well: 3"


def test_a_denial_counts_more_than_a_hook_that_ends_the_run():
    asked, over = threading.Event(), threading.Event()

    def ends_it(ctx, payload):
        over.set()
        return HookResult.end_turn("bye")

    def rewrites(ctx, payload):
        if payload.call.name == "quiet":
            return None
        asked.set()
        opened(over)
        return HookResult.replace(replace(payload, call=replace(payload.call, arguments={"n": 2})))

    @tool
    def quiet() -> str:
        """Works until the other one is asked about."""
        opened(asked)
        return "worked"

    @tool
    def counted(n: int = 1) -> str:
        """Is denied with 2."""
        return f"ran {n}"

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("quiet"), call("counted")]),
        tools=[quiet, counted],
        hooks=[At(FirePoint.AFTER_TOOL, does=ends_it), At(FirePoint.BEFORE_TOOL, does=rewrites, concurrent=True)],
        options=Options(policy_check=lambda name, arguments: "not two" if arguments.get("n") == 2 else None),
    )
    with pytest.raises(PolicyViolationError, match="not two"):
        agent.run("go")
