"""Hooks are called in one order, each with what the one before left, and one that fails does as it declares."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from edgeagent import EdgeAgentError, Message, ToolCall, ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.hooks import (
    UNSAFE,
    AfterLLM,
    BaseHook,
    BeforeTool,
    FirePoint,
    Hook,
    HookChain,
    HookError,
    HookResult,
    TimingHook,
)


@tool
def drive(distance_m: float) -> str:
    """Drive."""
    return "drove"


class Does(BaseHook):
    """A hook that does what it is told."""

    def __init__(
        self, does: Callable[..., Any], *points: FirePoint, priority: int = 0, fail_closed: bool = False
    ) -> None:
        self.points = frozenset(points or {FirePoint.AFTER_LLM})
        self.priority = priority
        self.fail_closed = fail_closed
        self._does = does

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult | None:
        answer: HookResult | None = self._does(payload)
        return answer


SAID = AfterLLM("hello", (), 1)
CALLED = BeforeTool(ToolCall("c", "drive", {"distance_m": 2}), drive, 1)


def appends(letter: str) -> Callable[[AfterLLM], HookResult]:
    return lambda payload: HookResult.replace(AfterLLM(payload.text + letter, (), 1))


def fire(*hooks: BaseHook, point: FirePoint = FirePoint.AFTER_LLM, payload: Any = SAID) -> Any:
    return HookChain(hooks, AgentContext()).fire(point, payload)


def raises(_: object) -> None:
    raise ValueError("broken")


def test_higher_priority_comes_first_and_equal_ones_in_the_order_of_registration() -> None:
    hooks = [Does(appends(letter), priority=p) for letter, p in (("a", 0), ("b", 5), ("c", 0), ("d", -1), ("e", 5))]
    assert fire(*hooks).payload.text == "hellobeacd"


def test_a_hook_is_called_at_its_points_only() -> None:
    called: list[Any] = []
    hook = Does(called.append, FirePoint.BEFORE_LLM)
    fire(hook)
    assert called == []


def test_the_first_that_ends_the_turn_wins() -> None:
    fired = fire(Does(appends("a")), Does(lambda _: HookResult.end_turn("bye")), Does(appends("b")))
    assert (fired.payload.text, fired.reply) == ("helloa", "bye")


def test_a_call_may_be_blocked_or_answered() -> None:
    point = FirePoint.BEFORE_TOOL
    blocked = fire(Does(lambda _: HookResult.block("no"), point), point=point, payload=CALLED)
    assert (blocked.result.status, blocked.result.text) == ("blocked", "no")
    supplied = fire(Does(lambda _: HookResult.supply("2 m"), point), point=point, payload=CALLED)
    assert (supplied.result.status, supplied.result.value) == ("ok", "2 m")


@pytest.mark.parametrize(
    "answer", [HookResult.block("no"), HookResult.supply("x"), HookResult.replace(CALLED), "a string", 3]
)
def test_an_answer_that_the_point_does_not_know_is_a_failure(answer: Any) -> None:
    assert fire(Does(lambda _: answer), Does(appends("b"))).payload.text == "hellob"
    assert fire(Does(lambda _: answer, fail_closed=True)).reply == UNSAFE


def test_a_hook_that_raises_is_skipped_or_ends_the_run() -> None:
    assert fire(Does(raises), Does(appends("b"))).payload.text == "hellob"
    assert fire(Does(raises, fail_closed=True), Does(appends("b"))).reply == UNSAFE


def test_before_a_tool_a_hook_that_raises_keeps_the_gate_shut() -> None:
    with pytest.raises(HookError, match="broken"):
        fire(Does(raises, FirePoint.BEFORE_TOOL), point=FirePoint.BEFORE_TOOL, payload=CALLED)


def test_one_thread_at_a_time_unless_it_says_otherwise() -> None:
    for concurrent in (False, True):
        inside, most, together = [0], [0], threading.Barrier(2)
        lock = threading.Lock()

        def body(_: object, inside: list[int] = inside, most: list[int] = most, lock: threading.Lock = lock) -> None:
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            threading.Event().wait(0.05)
            with lock:
                inside[0] -= 1

        hook = Does(body)
        hook.concurrent = concurrent
        chain = HookChain([hook], AgentContext())

        def run(chain: HookChain = chain, together: threading.Barrier = together) -> None:
            together.wait(5)
            chain.fire(FirePoint.AFTER_LLM, SAID)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        assert most[0] == (2 if concurrent else 1)


def test_each_hook_has_state_of_its_own_for_a_run() -> None:
    context = AgentContext()
    one, two = Does(appends("a")), Does(appends("b"))
    context.state_of(one)["count"] = 1
    assert context.state_of(two) == {}
    assert context.hook_state[id(one)] == {"count": 1}


async def asynchronous(point: object, ctx: object, payload: object) -> None:
    return None


@pytest.mark.parametrize("wrong", ["text", BaseHook(), asynchronous, object(), TimingHook])
def test_what_is_no_hook_is_refused(wrong: Any) -> None:
    with pytest.raises(EdgeAgentError, match="hook"):
        HookChain([wrong], AgentContext())


def test_text_is_held_only_for_a_hook_that_sees_it() -> None:
    holds = Does(appends("a"))
    holds.holds_text = True
    assert HookChain([holds], AgentContext()).holds()
    elsewhere = Does(appends("a"), FirePoint.BEFORE_LLM)
    elsewhere.holds_text = True
    assert not HookChain([elsewhere], AgentContext()).holds()


def test_messages_and_results_are_what_they_were() -> None:
    assert HookResult.supply(ToolResult.error("no")).result == ToolResult.error("no")
    assert HookResult.proceed().action == "proceed"
    assert isinstance(Message.user("a").text, str)


def test_a_hook_of_the_protocol_has_its_defaults() -> None:
    class Quiet(Hook):
        points = frozenset({FirePoint.BEFORE_LLM})

        def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult | None:
            return None

    hook = Quiet()
    assert (hook.priority, hook.fail_closed, hook.holds_text, hook.concurrent) == (0, False, False, False)
    assert list(HookChain([hook], AgentContext())) == [hook]


def test_a_priority_that_is_no_number_is_refused() -> None:
    class Vague(BaseHook):
        points = frozenset({FirePoint.BEFORE_LLM})
        priority = None  # type: ignore[assignment]  # the mistake that is refused

    with pytest.raises(EdgeAgentError, match=r"`priority` should be a number, not None"):
        HookChain([Vague()], AgentContext())
