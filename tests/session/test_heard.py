"""What a person heard of a reply is what history has of it; a marker says that it was interrupted."""

import threading

import pytest

from edgeagent import Agent, EdgeAgentError, Message, Options, Session, tool
from edgeagent.agent import INTERRUPTED
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, assert_whole, exchange, first, opened, texts


def session_of(*replies, tools=(), path=None, **keywords):
    return Session(Agent("a", llm=ScriptedLLM(*replies, **keywords), tools=tools), path=path)


def reopened(path):
    with Session.open(path, Agent("a")) as session:
        assert session.notices == ()
        return session.messages()


def last_reply(session):
    return [message for message in session.messages() if message.role == "assistant"][-1].id


# --- after the run --------------------------------------------------------------------------------------------------


def test_a_reply_is_cut_after_its_run_and_the_next_request_has_no_more(tmp_path):
    session = session_of("one two three four", "B", path=tmp_path / "s")
    session.step("go")
    session.set_heard(last_reply(session), "one two")
    assert texts(session.messages()) == ["go", "one two", INTERRUPTED]
    assert session.messages()[-1].origin == "marker"
    session.step("and?")
    assert texts(session.agent.llm.requests[1].messages) == ["go", "one two", INTERRUPTED, "and?"]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


def test_the_journal_is_amended_at_once(tmp_path):
    """Nothing closes the first session: as if its process had died."""
    session = session_of("one two three four", path=tmp_path / "s")
    session.step("go")
    session.set_heard(last_reply(session), "one")
    (tmp_path / "copy").write_bytes((tmp_path / "s").read_bytes())
    assert texts(reopened(tmp_path / "copy")) == ["go", "one", INTERRUPTED]


def test_what_was_heard_to_its_end_is_not_interrupted():
    session = session_of("one two")
    session.step("go")
    session.set_heard(last_reply(session), "one two")
    assert texts(session.messages()) == ["go", "one two"]


def test_the_last_word_on_it_counts_and_there_is_one_marker(tmp_path):
    session = session_of("one two three four", path=tmp_path / "s")
    session.step("go")
    for heard in ("one", "one two three", "one two"):
        session.set_heard(last_reply(session), heard)
    assert texts(session.messages()) == ["go", "one two", INTERRUPTED]
    session.close()
    assert texts(reopened(tmp_path / "s")) == ["go", "one two", INTERRUPTED]


def test_nothing_may_have_been_heard_of_it():
    session = session_of("one two")
    session.step("go")
    session.set_heard(last_reply(session), "")
    assert texts(session.messages()) == ["go", "", INTERRUPTED]


def test_an_older_reply_is_cut_where_it_stands(tmp_path):
    session = session_of("one two", "three four", path=tmp_path / "s")
    session.step("a")
    old = last_reply(session)
    session.step("b")
    session.set_heard(old, "one")
    assert texts(session.messages()) == ["a", "one", INTERRUPTED, "b", "three four"]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


@pytest.mark.parametrize("which", ["nobody", "user", "forgotten"])
def test_what_is_no_reply_of_the_session_is_an_error_and_changes_nothing(which):
    session = session_of("A", "B")
    session.step("one")
    message_id = {"nobody": "msg_x", "user": session.messages()[0].id, "forgotten": last_reply(session)}[which]
    if which == "forgotten":
        session.step("two")
        session.truncate(1)
    before = session.messages()
    with pytest.raises(EdgeAgentError, match=message_id):
        session.set_heard(message_id, "x")
    assert session.messages() == before


def test_what_is_restored_is_not_cut_by_what_was_heard_before():
    session = session_of("one two")
    session.step("go")
    saved = session.messages()
    session.set_heard(last_reply(session), "one")
    session.restore(saved)
    assert session.messages() == saved


# --- during the run -------------------------------------------------------------------------------------------------


@tool
def note() -> str:
    """Notes."""
    return "noted"


def test_a_reply_is_cut_while_its_run_goes_on(tmp_path):
    """The text before a call was being spoken when the person spoke."""
    entered, gate = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Waits."""
        entered.set()
        return str(opened(gate))

    script = {"text": "one two three", "calls": [call("wait")]}
    session = session_of(script, "B", tools=[wait], path=tmp_path / "s")
    handle = session.start("go")
    assert opened(entered)
    asked = next(e.message for e in handle.events() if e.kind == "message_end" and e.message.role == "assistant")
    session.set_heard(asked.id, "one")
    gate.set()
    assert handle.result(LIMIT_S).reply == "B"
    assert texts(session.agent.llm.requests[1].messages) == ["go", "one", "True", INTERRUPTED]
    assert texts(session.messages()) == ["go", "one", "True", INTERRUPTED, "B"]
    assert_whole(session.messages())
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


def test_a_reply_is_cut_while_it_streams(tmp_path):
    session = session_of(" ".join(["word"] * 300), token_delay_s=0.005, path=tmp_path / "s")
    handle = session.start("go")
    update = first(handle, "message_update")
    session.set_heard(update.message.id, "wo")
    session.abort("barge_in")
    result = handle.result(LIMIT_S)
    assert texts(result.messages) == ["go", "wo", INTERRUPTED]
    assert texts(session.messages()) == ["go", "wo", INTERRUPTED]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


def test_a_reply_of_an_earlier_run_is_cut_while_another_goes_on(tmp_path):
    gate = threading.Event()
    session = session_of("one two", lambda request: str(opened(gate)), "C", path=tmp_path / "s")
    session.step("a")
    handle = session.start("b")
    first(handle, "message_start")
    session.set_heard(last_reply(session), "one")
    gate.set()
    handle.result(LIMIT_S)
    assert texts(session.messages()) == ["a", "one", INTERRUPTED, "b", "True"]
    session.step("c")
    assert texts(session.agent.llm.requests[2].messages) == ["a", "one", INTERRUPTED, "b", "True", "c"]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


@pytest.mark.parametrize("kind", ["message_end", "turn_end", "agent_end"])
def test_it_may_be_told_from_inside_the_run_at_any_event(tmp_path, kind):
    session = session_of("one two three", "B", path=tmp_path / "s")
    replies = []

    def hear(event):
        if event.kind == "message_end" and event.message.role == "assistant":
            replies.append(event.message.id)
        if event.kind == kind and len(replies) == 1:
            session.set_heard(replies[0], "one")

    session.subscribe(hear)
    session.step("go")
    assert texts(session.messages()) == ["go", "one", INTERRUPTED]
    session.step("and?")
    assert texts(session.agent.llm.requests[1].messages) == ["go", "one", INTERRUPTED, "and?"]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


def test_what_was_heard_while_the_history_is_compacted_counts():
    heard = []

    class Telling(ScriptedLLM):
        def count_tokens(self, request):
            replies = [m for m in request.messages if m.role == "assistant" and m.text.startswith("one two")]
            if replies and compacting.is_set() and not heard:
                heard.append(replies[0].id)
                session.set_heard(replies[0].id, "one")
            return super().count_tokens(request)

    compacting = threading.Event()
    llm = Telling("one two " + "word " * 50, "B", context_window=1100)
    session = Session(Agent("a", llm=llm, options=Options(max_tokens=100)))
    session.restore([m for i in range(10) for m in exchange(f"task {i}", "word " * 75)])
    session.subscribe(lambda event: compacting.set() if event.kind == "turn_end" else None)
    session.step("go")
    assert heard
    assert texts(session.messages())[-3:] == ["go", "one", INTERRUPTED]


# --- after an abort -------------------------------------------------------------------------------------------------


def test_a_marker_follows_an_aborted_reply_here_and_on_disk(tmp_path):
    session = session_of(" ".join(["word"] * 300), "B", token_delay_s=0.005, path=tmp_path / "s")
    handle = session.start("go")
    first(handle, "message_update")
    session.abort()
    said = handle.result(LIMIT_S).reply
    assert said
    assert texts(session.messages()) == ["go", said, INTERRUPTED]
    session.set_heard(last_reply(session), "wo")
    assert texts(session.messages()) == ["go", "wo", INTERRUPTED]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


def test_results_of_finished_tools_are_never_lost(tmp_path):
    ran = []

    @tool
    def count() -> str:
        """Counts."""
        ran.append(1)
        return f"counted {len(ran)}"

    entered = threading.Event()

    @tool(read_only=True)
    def hang(ctx_wait_s: float = LIMIT_S) -> str:
        """Waits until nobody waits for it any more."""
        entered.set()
        return str(released.wait(ctx_wait_s))

    released = threading.Event()
    script = {"text": "I count", "calls": [call("count"), call("hang")]}
    session = session_of(script, "B", tools=[count, hang], path=tmp_path / "s")
    try:
        handle = session.start("go")
        assert opened(entered)
        asked = next(e.message for e in handle.events() if e.kind == "message_end" and e.message.role == "assistant")
        session.set_heard(asked.id, "I")
        session.abort("barge_in")
        handle.result(LIMIT_S)
    finally:
        released.set()
    history = session.messages()
    assert [m.status for m in history if m.role == "tool"] == ["ok", "outcome_unknown"]
    assert history[2].text == "counted 1"
    assert history[1].text == "I"
    assert_whole(history)
    session.step("and?")
    assert "counted 1" in texts(session.agent.llm.requests[1].messages)
    assert ran == [1]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


# --- after a handoff ------------------------------------------------------------------------------------------------


def test_the_reply_of_an_agent_that_was_handed_over_to_is_cut_too(tmp_path):
    target = Agent("target", llm=ScriptedLLM("one two three"))
    router = Agent("router", llm=ScriptedLLM([call("handoff_to_target")], "B"), handoffs=[target])
    session = Session(router, path=tmp_path / "s")
    handle = session.start("go")
    handle.result(LIMIT_S)
    told = [e.message for e in handle.events() if e.kind == "message_end" and e.message.role == "assistant"][-1]
    assert (told.text, told.id) == ("one two three", last_reply(session))
    session.set_heard(told.id, "one")
    assert texts(session.messages())[-2:] == ["one", INTERRUPTED]
    session.step("and?")
    assert texts(router.llm.requests[1].messages)[-3:] == ["one", INTERRUPTED, "and?"]
    session.close()
    assert reopened(tmp_path / "s") == session.messages()


def test_the_reply_of_the_target_is_cut_while_it_streams():
    target = Agent("target", llm=ScriptedLLM(" ".join(["word"] * 300), token_delay_s=0.005))
    router = Agent("router", llm=ScriptedLLM([call("handoff_to_target")]), handoffs=[target])
    session = Session(router)
    handle = session.start("go")
    update = first(handle, "message_update")
    session.set_heard(update.message.id, "wo")
    session.abort("barge_in")
    handle.result(LIMIT_S)
    assert texts(session.messages())[-2:] == ["wo", INTERRUPTED]
    assert isinstance(session.messages()[-1], Message)
