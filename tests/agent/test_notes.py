"""A note goes with the next request, in front of what that is made for, and makes none."""

import pytest

from edgeagent import Agent, Handoff, Message, Options, Session, tool
from edgeagent.agent import PlanThenExecute
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S
from .test_queues import agent_with_gate, texts

NOTE = "the drive has ended"


def test_it_goes_with_the_next_request_whatever_that_is_made_for():
    agent = Agent("a", llm=ScriptedLLM(*"ABCD"))
    agent.note(NOTE)
    assert not agent.has_pending
    assert agent.run("a").reply == "A"
    assert texts(agent.llm, 0) == [NOTE, "a"]
    agent.note(NOTE)
    agent.follow_up("timer", wake=True).result(LIMIT_S)
    assert texts(agent.llm, 1) == [NOTE, "timer"]
    agent.steer("left")
    agent.note(NOTE)
    agent.run("go")
    assert texts(agent.llm, 2) == [NOTE, "go", "left"]
    assert agent.notes == ()


def test_it_goes_with_what_is_said_while_tools_run():
    agent, gate = agent_with_gate([call("work")], "ok")
    handle = agent.start("go")
    next(event for event in handle.events() if event.kind == "tool_execution_start")
    agent.note(NOTE)
    agent.steer("left")
    gate.set()
    handle.result(LIMIT_S)
    assert texts(agent.llm, 1) == ["go", NOTE, "left"]
    assert len(agent.llm.requests) == 2


def test_it_goes_with_a_request_that_continues_a_session():
    with Session(Agent("a", llm=ScriptedLLM("A"))) as session:
        session.restore([Message.user("hello")])
        session.note(NOTE)
        session.run_continue()
        assert texts(session.agent.llm, 0) == ["hello", NOTE]


@pytest.mark.parametrize("orchestrator", [None, PlanThenExecute()], ids=["react", "plan, then execute"])
def test_none_is_made_for_it(orchestrator):
    def answer(request):
        agent.note(NOTE)
        return "A"

    agent = Agent("a", llm=ScriptedLLM(answer, "B", "C"), options=Options(orchestrator=orchestrator))
    agent.run("a")
    assert len(agent.llm.requests) == 1
    agent.run("b")
    assert NOTE in texts(agent.llm, 1)


def test_it_grants_no_turn_beyond_the_budget():
    @tool
    def work() -> str:
        """Works."""
        agent.note(NOTE)
        return "worked"

    agent = Agent("a", llm=ScriptedLLM([call("work")], "B"), tools=[work], options=Options(max_turns=1))
    assert agent.run("go").reason == "budget"
    assert len(agent.llm.requests) == 1


def test_it_does_not_stand_between_the_parts_of_a_reply():
    def first(request):
        agent.note(NOTE)
        return {"text": "one two", "stop": "length"}

    agent = Agent("a", llm=ScriptedLLM(first, " three", "B"), options=Options(max_continuations=1))
    assert agent.run("count").reply == "one two three"
    agent.run("b")
    assert texts(agent.llm, 2)[-2:] == [NOTE, "b"]


def test_it_is_told_once_where_an_agent_hands_over():
    @tool
    def pass_on() -> Handoff:
        """Hands over."""
        agent.note(NOTE)
        return Handoff("helper", task="do it")

    helper = Agent("helper", llm=ScriptedLLM("H"))
    agent = Agent("a", llm=ScriptedLLM([call("pass_on")], "B"), tools=[pass_on], handoffs=[helper])
    agent.run("go")
    agent.run("again")
    assert [*texts(helper.llm, 0), *texts(agent.llm, 1)].count(NOTE) == 1


def test_it_is_nothing_that_people_have_said_and_is_forgotten_with_the_rest():
    agent = Agent("a", llm=ScriptedLLM("A", "B"))
    agent.note(NOTE)
    agent.clear_all_queues()
    assert [message.origin for message in agent.notes] == ["note"]
    agent.reset()
    assert agent.notes == ()


def test_what_was_noted_may_be_said_too():
    agent = Agent("a", llm=ScriptedLLM("A", "B"))
    message = Message.user(NOTE)
    agent.note(message)
    assert agent.steer(message, wake=True).result(LIMIT_S).reply == "A"
    assert texts(agent.llm, 0) == [NOTE, NOTE]
