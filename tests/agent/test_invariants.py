"""Random replies, tools, steering, follow-ups and aborts at random moments: what holds for any run holds for each."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from edgeagent import Agent, GoalHandle, Options, Session, ToolMode, events, skill, tool
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 20.0
RUNS = 60
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
