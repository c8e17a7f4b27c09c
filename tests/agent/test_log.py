"""The log of a run."""

from __future__ import annotations

import threading

import pytest

from edgeagent import Agent, events
from edgeagent.agent import EventLog
from edgeagent.testing import ScriptedLLM


def notice(seq: int) -> events.Notice:
    return events.Notice(seq=seq, t=0.0, run_id="run", agent="a", turn=0, level="info", text="")


def test_readers_see_all_of_it_whenever_they_come() -> None:
    log = EventLog()
    early: list[events.Event] = []
    reader = threading.Thread(target=lambda: early.extend(log))
    reader.start()
    for seq in range(5):
        log.append(notice(seq))
    late = iter(log)
    assert next(late).seq == 0
    log.append(notice(5))
    log.close()
    reader.join(10)
    assert [event.seq for event in early] == list(range(6))
    assert [event.seq for event in late] == list(range(1, 6))
    assert [event.seq for event in log] == list(range(6))


def test_waiting_ends_with_the_log_or_with_the_time() -> None:
    log = EventLog()
    assert not log.wait(0.001)
    waiter = threading.Thread(target=log.wait)
    waiter.start()
    log.close()
    waiter.join(10)
    assert not waiter.is_alive()
    assert log.wait()


def test_one_end_of_a_subscription_ends_one():
    agent, seen = Agent("a", llm=ScriptedLLM("one")), []
    end, _ = agent.subscribe(seen.append), agent.subscribe(seen.append)
    end()
    end()
    agent.run("hi")
    assert [event.kind for event in seen].count("agent_end") == 1


def test_a_result_whose_time_is_over_before_it_is_asked_for_is_not_there():
    gate = threading.Event()

    def waits(request):
        gate.wait(10)
        return "hello"

    handle = Agent("a", llm=ScriptedLLM(waits)).start("hi")
    with pytest.raises(TimeoutError):
        handle.result(timeout=-1)
    gate.set()
    assert handle.result(10).reply == "hello"
