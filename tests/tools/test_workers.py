"""The threads of workers: used again, few, gone after a moment, and nobody is kept alive by them."""

import contextvars
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from edgeagent import Agent, BusyError, tool
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import MAX_IDLE, Threads

LIMIT_S = 10


def done_on(pool: Threads, name: str = "work") -> threading.Thread:
    """The thread that did some work of this pool, when it waits for more."""
    found: list[threading.Thread] = []
    done = threading.Event()

    def work() -> None:
        found.append(threading.current_thread())
        done.set()

    pool.run(work, name)
    assert done.wait(LIMIT_S)
    while found[0] not in pool._idle and found[0].is_alive():
        threading.Event().wait(0.001)
    return found[0]


def test_a_thread_is_used_again_under_the_name_of_its_work() -> None:
    pool = Threads()
    first = done_on(pool, "a")
    assert first.name == "a"
    assert first.daemon
    assert done_on(pool, "b") is first
    assert first.name == "b"


def test_a_thread_ends_when_there_is_no_more_work_for_a_moment() -> None:
    pool = Threads()
    thread = done_on(pool)
    thread.join(LIMIT_S)
    assert not thread.is_alive()
    assert done_on(pool) is not thread


def test_work_never_waits_for_other_work_and_few_threads_wait_for_more() -> None:
    pool = Threads()
    count = 2 * MAX_IDLE
    together = threading.Barrier(count + 1)
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        together.wait(LIMIT_S)

    for _ in range(count):
        pool.run(work, "work")
    together.wait(LIMIT_S)
    assert len(set(threads)) == count
    for thread in threads:
        while thread not in pool._idle and thread.is_alive():
            threading.Event().wait(0.001)
    assert sum(thread.is_alive() for thread in threads) <= MAX_IDLE


def test_what_work_sets_in_its_context_is_gone_with_it() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    pool = Threads()
    seen: list[str] = []
    done = threading.Semaphore(0)

    def work() -> None:
        seen.append(variable.get())
        variable.set("set")
        done.release()

    for _ in range(2):
        pool.run(work, "work")
        assert done.acquire(timeout=LIMIT_S)
    assert seen == ["unset", "unset"]


def test_work_that_raises_ends_its_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # pytest would tell of it in a later test
    pool = Threads()
    done = threading.Event()

    def work() -> None:
        done.set()
        raise RuntimeError("on purpose")

    pool.run(work, "work")
    assert done.wait(LIMIT_S)
    done_on(pool)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_child_of_a_fork_starts_threads_of_its_own() -> None:
    program = """
import os, threading
from edgeagent.tools import Threads

def works(pool):
    done = threading.Event()
    pool.run(done.set, "work")
    return done.wait(10)

pool = Threads()
assert works(pool)
while not pool._idle:
    pass
child = os.fork()
if child == 0:
    os._exit(0 if works(pool) else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_run_that_is_over_is_not_kept_by_the_thread_that_worked_for_it() -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "seen"

    agent = Agent("a", llm=ScriptedLLM([call("look")], "x"), tools=[look])
    agent.run("go")
    gone = weakref.ref(agent)
    del agent
    for _ in range(100):  # the run's own thread may still be on its way out
        gc.collect()
        if gone() is None:
            return
        threading.Event().wait(0.001)
    raise AssertionError("the agent is still there")


def test_a_thread_that_worked_for_a_run_is_not_inside_it_any_more() -> None:
    agent = Agent("a", llm=ScriptedLLM([call("wait")], [call("wait")], "x"))
    inside: list[bool] = []

    @tool
    def wait() -> str:
        """Waits for its own run."""
        try:
            handle.result(LIMIT_S)
        except BusyError:
            inside.append(True)
        return "refused"

    agent.tools.add(wait)
    ready = threading.Event()
    agent.subscribe(lambda event: ready.wait(LIMIT_S))
    handle = agent.start("go")
    ready.set()
    assert handle.result(LIMIT_S).reply == "x"
    assert inside == [True, True]
    outside: list[str] = []
    done = threading.Event()

    def later() -> None:
        outside.append(handle.result(LIMIT_S).reply)
        done.set()

    agent._workers.threads.run(later, "later")
    assert done.wait(LIMIT_S)
    assert outside == ["x"]
