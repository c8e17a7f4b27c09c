"""What a session remembers, and who may change that when."""

import contextlib
import threading

import pytest

from edgeagent import Agent, BusyError, EdgeAgentError, Message, Session, ToolCall, ToolResult, Usage, tool
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, assert_whole, exchange, first, opened, texts


@tool
def look() -> str:
    """Looks."""
    return "a cup"


def session_of(*replies, **keywords):
    return Session(Agent("a", llm=ScriptedLLM(*replies), tools=[look]), **keywords)


@pytest.fixture
def busy():
    """A session in the middle of a run, behind one exchange; the run ends when the test does."""
    entered, gate = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Waits."""
        entered.set()
        return str(opened(gate))

    agent = Agent("a", llm=ScriptedLLM("A", [call("wait")], "B"), tools=[wait])
    session = Session(agent)
    session.step("one")
    handle = session.start("two")
    assert entered.wait(LIMIT_S)
    try:
        yield session
    finally:
        gate.set()
        assert handle.result(LIMIT_S).reply == "B"


# --- messages -------------------------------------------------------------------------------------------------------


def test_messages_is_a_copy():
    session = session_of([call("look")], "ok")
    session.step("go")
    session.messages().clear()
    session.messages()[1].tool_calls[0].arguments["x"] = 1
    assert len(session.messages()) == 4
    assert session.messages()[1].tool_calls[0].arguments == {}


def test_restored_messages_are_copies_too():
    given = [Message.user("one"), Message.assistant("", [ToolCall("c1", "look")]), tool_message("c1")]
    session = session_of("B")
    session.restore(given)
    given[1].tool_calls[0].arguments["x"] = 1
    given.clear()
    assert session.messages()[1].tool_calls[0].arguments == {}
    assert len(session.messages()) == 3


def test_what_a_run_has_not_ended_is_not_yet_history(busy):
    assert texts(busy.messages()) == ["one", "A"]


# --- truncate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, -1, -100])
def test_truncating_to_none_or_less_does_nothing(n):
    session = session_of("A", "B")
    session.step("one")
    session.step("two")
    before = session.messages()
    session.truncate(n)
    assert session.messages() == before


def test_truncate_keeps_the_last_exchanges_with_their_calls():
    session = session_of([call("look")], "A", [call("look")], "B", [call("look")], "C")
    for task in ("one", "two", "three"):
        session.step(task)
    session.truncate(2)
    assert texts(session.messages()) == ["two", "", "a cup", "B", "three", "", "a cup", "C"]
    session.truncate(5)
    assert len(session.messages()) == 8
    session.truncate(1)
    assert texts(session.messages()) == ["three", "", "a cup", "C"]


def test_exchanges_begin_at_what_a_person_asked_and_not_at_what_was_steered_or_marked():
    history = [
        *exchange("one", "A"),
        Message.user("two", origin="follow_up"),
        Message.assistant("", [ToolCall("c1", "look")]),
        tool_message("c1"),
        Message.user("left", origin="steering"),
        Message.assistant("B"),
        Message.user("(the user interrupted here)", origin="marker"),
        Message.user("Continue", origin="continuation"),
        Message.assistant("C"),
    ]
    session = session_of()
    session.restore(history)
    session.truncate(1)
    assert session.messages() == history[2:]


def test_a_call_is_not_parted_from_a_result_that_came_after_the_next_request():
    history = [
        Message.user("one"),
        Message.assistant("", [ToolCall("c1", "look")]),
        Message.user("two", origin="follow_up"),
        tool_message("c1"),
        Message.assistant("A"),
    ]
    session = session_of()
    session.restore(history)
    session.truncate(1)
    assert_whole(session.messages())


def test_the_next_request_sees_what_truncate_left():
    llm = ScriptedLLM("A", "B", "C")
    session = Session(Agent("a", llm=llm))
    session.step("one")
    session.step("two")
    session.truncate(1)
    session.step("three")
    assert texts(llm.requests[2].messages) == ["two", "B", "three"]


# --- reset ----------------------------------------------------------------------------------------------------------


def test_reset_forgets_history_and_queues_and_keeps_the_rest():
    llm = ScriptedLLM({"text": "A", "usage": Usage(10, 1)}, "B")
    agent = Agent("a", "Be kind.", llm=llm, tools=[look])
    session = Session(agent)
    session.step("one")
    session.steer("left")
    session.follow_up("later")
    session.reset()
    assert session.messages() == []
    assert not agent.has_pending
    assert session.usage == Usage(10, 1)
    session.step("two")
    assert texts(llm.requests[1].messages) == ["two"]
    assert llm.requests[1].system == "Be kind."
    assert [shown.name for shown in llm.requests[1].tools] == ["look"]


# --- restore --------------------------------------------------------------------------------------------------------


def test_a_restored_history_goes_on():
    llm = ScriptedLLM("B")
    session = Session(Agent("a", llm=llm))
    session.restore(exchange("one", "A"))
    session.step("two")
    assert texts(llm.requests[0].messages) == ["one", "A", "two"]


def test_a_call_restored_without_its_result_is_not_run_and_gets_one():
    ran = []

    @tool
    def move(to: str) -> str:
        """Moves."""
        ran.append(to)
        return "moved"

    session = Session(Agent("a", llm=ScriptedLLM("B"), tools=[move]))
    asked = Message.assistant("", [ToolCall("c1", "move", {"to": "x"}), ToolCall("c2", "move", {"to": "y"})])
    session.restore([Message.user("one"), asked, tool_message("c2", "move"), Message.user("two")])
    assert [(m.call_id, m.status) for m in session.messages() if m.role == "tool"] == [
        ("c1", "outcome_unknown"),
        ("c2", "ok"),
    ]
    assert_whole(session.messages())
    assert session.step("three").reply == "B"
    assert ran == []


def test_a_call_that_dangles_at_the_end_is_answered_by_run_continue():
    llm = ScriptedLLM("B")
    session = Session(Agent("a", llm=llm, tools=[look]))
    session.restore([Message.user("one"), Message.assistant("", [ToolCall("c1", "look")])])
    assert session.run_continue().reply == "B"
    assert [m.role for m in llm.requests[0].messages] == ["user", "assistant", "tool"]


# --- while a run goes on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        lambda session: session.step("x"),
        lambda session: session.start("x"),
        lambda session: session.run_continue(),
        lambda session: session.reset(),
        lambda session: session.restore([]),
        lambda session: session.truncate(1),
        lambda session: session.truncate(0),
        lambda session: session.compact(),
    ],
    ids=["step", "start", "run_continue", "reset", "restore", "truncate", "truncate(0)", "compact"],
)
def test_during_a_run_this_is_refused_and_changes_nothing(busy, act):
    with pytest.raises(BusyError):
        act(busy)
    assert texts(busy.messages()) == ["one", "A"]


def test_during_a_run_messages_may_be_queued_and_forgotten_messages_are_not_reset(busy):
    busy.follow_up("later")
    with pytest.raises(BusyError):
        busy.reset()
    assert busy.agent.has_pending
    busy.agent.clear_all_queues()


def test_waiting_for_a_step_from_inside_a_run_is_refused():
    found = []
    session = session_of("A")

    def ask(event):
        if event.kind == "turn_start":
            with pytest.raises(BusyError):
                session.step("inner")
            found.append(True)

    session.subscribe(ask)
    session.step("one")
    assert found == [True]


def test_a_step_that_comes_as_another_ends_sees_what_that_one_left_or_is_refused(monkeypatch):
    gate, read = threading.Event(), threading.Event()
    llm = ScriptedLLM(lambda request: str(opened(gate)), "B", "C")
    session = Session(Agent("a", llm=llm))
    handle = session.start("one")

    def slowly():
        """As much time as can be between reading the history and starting the run."""
        found = Session.messages(session)
        read.set()
        handle.wait(LIMIT_S)
        return found

    def step():
        with contextlib.suppress(BusyError):
            session.step("two")
        read.set()

    monkeypatch.setattr(session, "messages", slowly)
    thread = threading.Thread(target=step)
    thread.start()
    assert opened(read)
    gate.set()
    thread.join(LIMIT_S)
    monkeypatch.undo()
    handle.result(LIMIT_S)
    session.step("three")
    assert texts(llm.requests[-1].messages)[:2] == ["one", "True"]


# --- run_continue ---------------------------------------------------------------------------------------------------


def test_run_continue_answers_what_is_unanswered_without_a_new_prompt():
    llm = ScriptedLLM("B")
    session = Session(Agent("a", llm=llm))
    session.restore([*exchange("one", "A"), Message.user("two")])
    assert session.run_continue().reply == "B"
    assert texts(session.messages()) == ["one", "A", "two", "B"]


@pytest.mark.parametrize("history", [[], exchange("one", "A")], ids=["empty", "answered"])
def test_there_must_be_something_to_continue(history):
    session = session_of()
    session.restore(history)
    with pytest.raises(EdgeAgentError, match="nothing to continue"):
        session.run_continue()


@pytest.mark.parametrize("queue", ["steer", "follow_up"])
def test_run_continue_injects_what_is_queued(queue):
    llm = ScriptedLLM("B")
    session = Session(Agent("a", llm=llm))
    session.restore(exchange("one", "A"))
    getattr(session, queue)("two")
    assert session.run_continue().reply == "B"
    assert texts(llm.requests[0].messages) == ["one", "A", "two"]


def test_a_run_that_failed_can_be_continued():
    session = session_of(OSError("gone"), "A")
    with pytest.raises(OSError, match="gone"):
        session.step("one")
    assert texts(session.messages()) == ["one"]
    assert session.run_continue().reply == "A"


def test_finished_results_are_there_after_an_abort_and_are_not_repeated():
    ran = []

    @tool
    def note() -> str:
        """Notes."""
        ran.append(1)
        return "noted"

    slow = {"text": " ".join(["word"] * 200)}
    llm = ScriptedLLM([call("note")], slow, "B", token_delay_s=0.01)
    session = Session(Agent("a", llm=llm, tools=[note]))
    handle = session.start("one")
    first(handle, "message_update")
    session.abort()
    handle.result(LIMIT_S)
    session.step("two")
    assert [m.text for m in llm.requests[2].messages if m.role == "tool"] == ["noted"]
    assert ran == [1]


def tool_message(call_id, name="look"):
    return Message.tool(ToolResult(call_id, name, "ok", "done"))
