"""Steering and follow-up: where they enter, and that none is lost or doubled."""

import threading

from edgeagent import Agent, Options, QueueMode, tool
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10


def agent_with_gate(*replies, **options):
    """An agent whose tool ``work`` waits for the gate."""
    gate = threading.Event()

    @tool
    def work() -> str:
        """Works."""
        gate.wait(LIMIT_S)
        return "worked"

    return Agent("a", llm=ScriptedLLM(*replies), tools=[work], options=Options(**options)), gate


def texts(llm, index):
    return [m.text for m in llm.requests[index].messages if m.role == "user"]


def test_steering_enters_after_the_running_tools():
    agent, gate = agent_with_gate([call("work"), call("work")], "ok")
    handle = agent.start("go")
    next(e for e in handle.events() if e.kind == "tool_execution_start")
    assert agent.steer("left") is None
    gate.set()
    result = handle.result(LIMIT_S)
    assert [c.result.status for c in result.tool_calls] == ["ok", "ok"]
    assert [m.role for m in agent.llm.requests[1].messages] == ["user", "assistant", "tool", "tool", "user"]
    assert agent.llm.requests[1].messages[-1].origin == "steering"


def test_a_follow_up_waits_until_the_model_stops(shorthand):
    agent = Agent("a", llm=ScriptedLLM("A", "B"))
    agent.follow_up("b")
    handle = agent.start("a")
    assert shorthand(handle.events()) == (
        "AS TS MS(u) ME(u) MS(a) MU+ ME(a) TE TS MS(u) ME(u) MS(a) MU+ ME(a) TE AE(completed)"
    )
    assert handle.result(LIMIT_S).reply == "B"


def test_steering_goes_before_a_follow_up():
    agent, gate = agent_with_gate([call("work")], "one", "two")
    handle = agent.start("go")
    next(e for e in handle.events() if e.kind == "tool_execution_start")
    agent.follow_up("later")
    agent.steer("now")
    gate.set()
    handle.result(LIMIT_S)
    assert texts(agent.llm, 1) == ["go", "now"]
    assert texts(agent.llm, 2) == ["go", "now", "later"]


def test_one_at_a_time_and_all():
    for mode, requests in ((QueueMode.ONE_AT_A_TIME, 4), (QueueMode.ALL, 2)):
        agent = Agent("a", llm=ScriptedLLM(*"wxyz"), options=Options(followup_mode=mode))
        for text in ("1", "2", "3"):
            agent.follow_up(text)
        agent.run("0")
        assert len(agent.llm.requests) == requests
        assert texts(agent.llm, requests - 1) == ["0", "1", "2", "3"]


def test_wake_starts_a_run_when_the_agent_is_idle():
    agent = Agent("a", llm=ScriptedLLM("hello"))
    handle = agent.follow_up("timer", wake=True)
    assert handle.result(LIMIT_S).reply == "hello"
    assert agent.llm.requests[0].messages[-1].origin == "follow_up"
    assert agent.follow_up("later") is None
    assert agent.has_pending


def test_a_message_that_arrives_while_the_run_closes_starts_the_next():
    agent = Agent("a", llm=ScriptedLLM("first", "second"))
    ended = threading.Semaphore(0)

    def at_the_end(event):
        if event.kind == "agent_end":
            if event.new_messages[-1].text == "first":
                agent.follow_up("one more", wake=True)
            ended.release()

    agent.subscribe(at_the_end)
    agent.start("go")
    assert ended.acquire(timeout=LIMIT_S)
    assert ended.acquire(timeout=LIMIT_S)
    assert [m.text for m in agent.llm.requests[1].messages] == ["one more"]


def test_no_message_is_lost_or_doubled_when_many_threads_send():
    count = 60
    agent = Agent("a", llm=ScriptedLLM(*["ok"] * (count + 1)), options=Options(max_turns=100))
    done = threading.Event()
    seen = []

    def watch(event):
        if event.kind == "message_end" and event.message.role == "user":
            seen.append(event.message.text)
            if len(seen) == count:
                done.set()

    agent.subscribe(watch)
    threads = [threading.Thread(target=agent.follow_up, args=(str(i),), kwargs={"wake": True}) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done.wait(LIMIT_S)
    assert sorted(seen, key=int) == [str(i) for i in range(count)]


def test_a_follow_up_starts_the_budget_again():
    agent, gate = agent_with_gate([call("work")], "one", [call("work")], "two", max_turns=2)
    gate.set()
    agent.follow_up("again")
    result = agent.run("go")
    assert (result.reason, result.reply) == ("completed", "two")


def test_clearing():
    agent = Agent("a", llm=ScriptedLLM("x"))
    agent.steer("a")
    agent.follow_up("b")
    agent.clear_steering()
    assert agent.has_pending
    agent.clear_follow_up()
    assert not agent.has_pending
    agent.steer("a")
    agent.clear_all_queues()
    agent.run("go")
    assert texts(agent.llm, 0) == ["go"]
