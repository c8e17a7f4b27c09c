"""History across runs."""

import threading

import pytest

from edgeagent import Agent, EdgeAgentError, Message, Session, Usage, tool
from edgeagent.agent import INTERRUPTED
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10


def test_the_second_step_sees_the_first():
    llm = ScriptedLLM("A", "B")
    with Session(Agent("a", llm=llm)) as session:
        session.step("one")
        result = session.step("two")
        assert [m.text for m in llm.requests[1].messages] == ["one", "A", "two"]
        assert [m.text for m in result.new_messages] == ["two", "B"]
        assert [m.text for m in session.messages()] == ["one", "A", "two", "B"]


def test_usage_adds_up_and_survives_a_reset():
    llm = ScriptedLLM({"text": "A", "usage": Usage(10, 1)}, {"text": "B", "usage": Usage(20, 2)})
    session = Session(Agent("a", llm=llm))
    session.step("one")
    session.reset()
    session.step("two")
    assert session.usage == Usage(30, 3)
    assert [m.text for m in session.messages()] == ["two", "B"]


def test_messages_is_a_copy():
    @tool
    def note(x: list[int]) -> str:
        """Notes."""
        return "noted"

    session = Session(Agent("a", llm=ScriptedLLM([call("note", x=[1])], "ok"), tools=[note]))
    session.step("go")
    session.messages()[1].tool_calls[0].arguments["x"].append(2)
    assert session.messages()[1].tool_calls[0].arguments == {"x": [1]}


def test_an_interrupted_step_keeps_what_was_said_and_done():
    llm = ScriptedLLM(" ".join(["word"] * 100), "B", token_delay_s=0.02)
    session = Session(Agent("a", llm=llm))
    handle = session.start("one")
    next(e for e in handle.events() if e.kind == "message_update")
    assert session.abort()
    said = handle.result(LIMIT_S).reply
    session.step("two")
    assert [m.text for m in llm.requests[1].messages] == ["one", said, INTERRUPTED, "two"]


def test_a_failed_step_leaves_the_session_usable():
    session = Session(Agent("a", llm=ScriptedLLM(OSError("gone"), "B")))
    with pytest.raises(OSError, match="gone"):
        session.step("one")
    assert session.step("two").reply == "B"


def test_a_woken_run_has_the_sessions_history():
    llm = ScriptedLLM("A", "B")
    session = Session(Agent("a", llm=llm))
    session.step("one")
    session.follow_up("timer", wake=True).result(LIMIT_S)
    assert [m.text for m in llm.requests[1].messages] == ["one", "A", "timer"]
    assert len(session.messages()) == 4


def test_runs_of_another_session_or_of_the_agent_itself_stay_apart():
    agent = Agent("a", llm=ScriptedLLM("A", "B", "C"))
    first, second = Session(agent), Session(agent)
    first.step("one")
    second.step("two")
    agent.run("three")
    assert [[m.text for m in s.messages()] for s in (first, second)] == [["one", "A"], ["two", "B"]]


def test_close_stops_the_run_and_takes_no_more():
    session = Session(Agent("closed", llm=ScriptedLLM(" ".join(["word"] * 100), token_delay_s=0.02)))
    handle = session.start("one")
    next(e for e in handle.events() if e.kind == "message_update")
    session.close()
    session.close()
    assert handle.state == "cancelled"
    own = [thread for thread in threading.enumerate() if thread.name == "agent-closed"]
    for thread in own:  # the run is over before its thread is
        thread.join(LIMIT_S)
    assert not any(thread.is_alive() for thread in own)
    with pytest.raises(EdgeAgentError, match="closed"):
        session.step("two")


def test_steering_from_a_message_object_keeps_its_text():
    session = Session(Agent("a", llm=ScriptedLLM("A")))
    session.steer(Message.user("hello"), wake=True).result(LIMIT_S)
    assert session.messages()[0].origin == "steering"


def test_a_start_that_waits_behind_another_one_begins_nothing_on_a_session_closed_meanwhile():
    begun, go, closed, failures = threading.Event(), threading.Event(), threading.Event(), []

    class Told(Agent):
        """An agent whose queues are cleared by a session that is closed, and takes no more from then on."""

        def clear_all_queues(self):
            closed.set()
            super().clear_all_queues()

    class SlowToStart(Session):
        """A session whose first start takes its time, and fails."""

        def messages(self):
            if not begun.is_set():
                begun.set()
                assert go.wait(LIMIT_S)
                raise EdgeAgentError("not this one")
            return super().messages()

    llm = ScriptedLLM("too late")
    session = SlowToStart(Told("waits", llm=llm))

    def start():
        try:
            session.start("drive")
        except EdgeAgentError as error:
            failures.append(str(error))

    first, second = threading.Thread(target=start), threading.Thread(target=start)
    closing = threading.Thread(target=session.close)
    first.start()
    assert begun.wait(LIMIT_S)
    second.start()
    second.join(0.2)  # as good as certainly it waits for the first one now
    closing.start()
    assert closed.wait(LIMIT_S)
    go.set()
    for thread in (first, second, closing):
        thread.join(LIMIT_S)
    assert failures == ["not this one", "the session is closed"]
    assert not llm.requests
