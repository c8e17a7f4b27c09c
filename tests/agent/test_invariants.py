"""Random replies, tools, steering, follow-ups and aborts at random moments: what holds for any run holds for each."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    FirePoint,
    GoalHandle,
    HookResult,
    Message,
    Options,
    Session,
    ToolMode,
    events,
    skill,
    tool,
)
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Callbacks

LIMIT_S = 20.0
RUNS = 15
FAULTS: dict[str, Callable[[], Any]] = {
    "set": lambda: {1, 2},
    "nan": lambda: float("nan"),
    "generator": lambda: (i for i in range(3)),
    "object": object,
    "large": lambda: "y" * 50_000,
    "none": lambda: None,
}
RAISED: dict[str, BaseException] = {
    "error": RuntimeError("no luck"),
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "stop": StopIteration("s"),
}


@tool(read_only=True)
def look(n: int) -> str:
    """Looks."""
    return str(n)


@tool
def slow(ms: int) -> str:
    """Takes a while."""
    threading.Event().wait(ms / 1000)
    return "done"


@tool
def broken(kind: str) -> Any:
    """Returns, or raises, what no tool should."""
    if kind in RAISED:
        raise RAISED[kind]
    return FAULTS[kind]()


@skill(resources=("base",))
def move(ms: int, goal: GoalHandle) -> str:
    """Moves."""
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        goal.checkpoint()
        goal.cancel_event.wait(0.005)
    return "moved"


class Chance:
    """Draws replies, options and what somebody does meanwhile."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def a_call(self) -> Any:
        rng = self.rng
        return rng.choice(
            [
                call("look", n=rng.randint(0, 9)),
                call("slow", ms=rng.randint(0, 30)),
                call("broken", kind=rng.choice([*FAULTS, *RAISED])),
                call("move", ms=rng.randint(0, 40)),
                call("no_such_tool", x=1),
                call("look", n="many"),
                call.raw("look", '{"n":'),
            ]
        )

    def reply(self) -> Any:
        kind = self.rng.random()
        if kind < 0.45:
            return [self.a_call() for _ in range(self.rng.randint(1, 5))]
        if kind < 0.9:
            return "some words " * self.rng.randint(1, 4)
        if kind < 0.94:
            return {"text": "cut", "stop": "length", "calls": [self.a_call()] * self.rng.randint(0, 1)}
        return {"text": "part", "error": "boom"} if kind < 0.97 else ValueError("foreign")

    def options(self) -> Options:
        rng = self.rng
        return Options(
            max_turns=rng.randint(1, 8),
            tool_execution_mode=rng.choice(list(ToolMode)),
            max_concurrent_tools=rng.randint(1, 4),
            tool_timeout_s=rng.choice([30, 0.01]),
            abort_grace_s=rng.choice([0, 0.02, 0.5]),
            deadline_s=rng.choice([None, None, 0.05]),
        )

    def disturb(self, session: Session, sent: list[str]) -> None:
        """Steers, follows up and aborts for a while."""
        for i in range(self.rng.randint(0, 4)):
            threading.Event().wait(self.rng.random() * 0.03)
            what = self.rng.random()
            if what < 0.75:
                sent.append(f"message {i}")
                (session.steer if what < 0.4 else session.follow_up)(sent[-1])
            elif what < 0.9:
                session.abort("user", mode=self.rng.choice(["now", "after_turn"]))


def check_events(log: list[events.Event]) -> None:
    """Events are numbered, nest and pair."""
    assert [event.seq for event in log] == list(range(len(log)))
    kinds = [event.kind for event in log]
    assert (kinds[0], kinds[-1], kinds.count("agent_end")) == ("agent_start", "agent_end", 1)
    turn, message, running = False, None, set()
    for event in log:
        match event:
            case events.TurnStart():
                assert not turn
                turn = True
            case events.TurnEnd():
                assert turn
                turn = False
            case events.MessageStart(message=begun):
                assert message is None
                message = begun.id
            case events.MessageEnd(message=ended):
                assert message == ended.id
                message = None
            case events.ToolExecutionStart(call=started):
                running.add(started.id)
            case events.ToolExecutionEnd(call=ended):
                running.discard(ended.id)
    assert (turn, message, running) == (False, None, set())


def check_history(messages: Any) -> None:
    """Every call has exactly one result, right after it and in the order of the calls."""
    open_calls: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert open_calls
            assert message.call_id == open_calls.pop(0)
        else:
            assert not open_calls
            open_calls = [made.id for made in message.tool_calls]
    assert not open_calls


@pytest.mark.parametrize("seed", range(4))
def test_what_holds_for_any_run(seed: int) -> None:
    chance = Chance(seed)
    threads = set(threading.enumerate())
    for _ in range(RUNS):
        llm = ScriptedLLM(*[chance.reply() for _ in range(14)], token_delay_s=chance.rng.choice([0.0, 0.0, 0.002]))
        agent = Agent("a", llm=llm, tools=[look, slow, broken, move], options=chance.options())
        with Session(agent) as session:
            sent: list[str] = []
            handle = session.start("go")
            disturber = threading.Thread(target=chance.disturb, args=(session, sent))
            disturber.start()
            log = list(handle.events())
            disturber.join(LIMIT_S)
            check_events(log)
            assert isinstance(log[-1], events.AgentEnd)
            check_history(log[-1].messages)
            told = [message.text for message in log[-1].messages if message.role == "user"]
            queued = [message.text for message in agent.state.steering_queue + agent.state.follow_up_queue]
            for text in sent:  # none is lost or doubled
                assert told.count(text) + queued.count(text) == 1
    for thread in set(threading.enumerate()) - threads:  # what outlived its run is bounded by the tools' own length
        thread.join(LIMIT_S)
        assert not thread.is_alive()


# --- with hooks, handoffs, questions and calls that outlive their run ----------------------------------------------


@tool(on_interrupt="detach", resources=("oven",))
def bake(ms: int) -> str:
    """Bakes on, whatever happens."""
    threading.Event().wait(ms / 1000)
    return "baked"


@skill(on_interrupt="detach", resources=("base",))
def go_to(place: str, ms: int, goal: GoalHandle) -> str:
    """Drives on while somebody talks."""
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        goal.checkpoint()
        goal.cancel_event.wait(0.005)
    return f"arrived at {place}"


@tool(question=True)
def ask(question: str) -> str:
    """Asks."""
    return ""


@tool(destructive=True)
def wipe() -> str:
    """Wipes."""
    return "wiped"


class Disturber:
    """A hook that proceeds most of the time, and blocks, replaces, ends or raises at random."""

    points = frozenset(FirePoint)

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.priority = rng.choice([-2000, 0, 10])
        self.fail_closed = rng.random() < 0.3
        self.holds_text = rng.random() < 0.3
        self.concurrent = rng.random() < 0.5

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult | None:
        chance = self.rng.random()
        if chance < 0.88:
            return None
        if chance < 0.90:
            raise RuntimeError("the hook broke")
        if chance < 0.92:
            return HookResult.end_turn("enough")
        if chance < 0.94:
            return HookResult.block("no") if self.rng.random() < 0.5 else HookResult.supply("given")
        match point:
            case FirePoint.ON_RUN_START:
                return HookResult.replace(replace(payload, task=Message.user("another task")))
            case FirePoint.BEFORE_LLM:
                return HookResult.replace(replace(payload, messages=payload.messages[-3:]))
            case FirePoint.AFTER_LLM:
                return HookResult.replace(replace(payload, tool_calls=(call("look", n=1), *payload.tool_calls)))
            case FirePoint.BEFORE_TOOL:
                return HookResult.replace(replace(payload, call=replace(payload.call, arguments={"n": 2})))
            case FirePoint.AFTER_TOOL:
                return HookResult.replace(replace(payload, result=replace(payload.result, text="patched")))
            case _:
                return HookResult.replace(replace(payload, reply="replaced"))


class Chances(Chance):
    """As ``Chance``, with more that may happen."""

    def a_call(self) -> Any:
        rng = self.rng
        if rng.random() < 0.5:
            return super().a_call()
        return rng.choice(
            [
                call("bake", ms=rng.randint(0, 40)),
                call("go_to", place=rng.choice(["kitchen", "hall"]), ms=rng.randint(0, 40)),
                call("ask", question="which?"),
                call("wipe"),
                call("handoff_to_cook"),
                call("handoff_to_router"),
                call("helper", task="help"),
            ]
        )

    def options(self) -> Options:
        rng = self.rng
        return replace(
            super().options(),
            steering_check=rng.choice(["after_batch", "after_each_tool"]),
            max_tool_hops=rng.choice([None, 2]),
            on_budget=rng.choice(["last_content", "final_answer"]),
            confirm=lambda name, arguments: rng.random() < 0.5,
            policy_check=lambda name, arguments: "no" if rng.random() < 0.02 else None,
            confirm_timeout_s=0.02,
        )

    def agents(self) -> Agent:
        """A router that may hand over to a cook, who may hand back, and each may ask a helper."""
        tools = [look, slow, broken, move, bake, go_to, ask, wipe]
        helper = Agent("helper", llm=self.llm(), tools=[look, move])
        cook = Agent("cook", llm=self.llm(), tools=[*tools, helper.as_tool()], hooks=[Disturber(self.rng)])
        options = self.options()
        hooks = [Disturber(self.rng) for _ in range(self.rng.randint(0, 2))]
        made = [*tools, helper.as_tool()]
        router = Agent("router", llm=self.llm(), tools=made, handoffs=[cook], hooks=hooks, options=options)
        cook.tools.add(Agent("back", handoffs=[router]).tools.get("handoff_to_router"))
        return router

    def llm(self) -> ScriptedLLM:
        return ScriptedLLM(*[self.reply() for _ in range(60)], token_delay_s=self.rng.choice([0.0, 0.0, 0.002]))


def answer(questions: list[str], box: Any) -> None:
    """Answers the first half of the time."""
    if random.random() < 0.5:
        box.put("yes")


def settle(agent: Agent, before: set[threading.Thread]) -> None:
    """Waits until no body is at work and what they woke has ended. Threads from before are another test's: a Ctrl-C
    inside ``Thread.start`` leaves Python's own bookkeeping behind."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        ours = (thread for thread in threading.enumerate() if thread not in before)
        if not agent.is_running and not any(thread.name.startswith(("tool-", "agent-")) for thread in ours):
            return
        threading.Event().wait(0.005)
    raise AssertionError("something never ended")


@pytest.mark.parametrize("seed", range(100, 104))
def test_what_holds_for_any_run_with_hooks_handoffs_and_detached_calls(seed: int) -> None:
    before = set(threading.enumerate())
    chance = Chances(seed)
    for _ in range(8):
        agent = chance.agents()
        logs: dict[str, list[events.Event]] = {}
        agent.subscribe(lambda event, logs=logs: logs.setdefault(event.run_id, []).append(event))
        with Session(agent) as session:
            sent: list[str] = []
            handle = agent.start("go", callbacks=Callbacks(on_question=answer), context=AgentContext(session=session))
            disturber = threading.Thread(target=chance.disturb, args=(session, sent))
            disturber.start()
            assert handle.wait(LIMIT_S)
            disturber.join(LIMIT_S)
            settle(agent, before)
            for log in logs.values():
                check_events(log)
                check_history(log[-1].messages)  # type: ignore[attr-defined]
            ended = [e.message for log in logs.values() for e in log if e.kind == "message_end"]  # type: ignore[attr-defined]
            told = [m.text for m in ended if m.origin in ("steering", "follow_up")]
            queued = [message.text for message in agent.state.steering_queue + agent.state.follow_up_queue]
            for text in sent:  # none is lost or doubled
                assert told.count(text) + queued.count(text) == 1
            assert not any(target.is_running for target in agent.handoffs)
