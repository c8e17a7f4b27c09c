"""What a session shows and takes besides its history: streams, model, system prompt, usage, its end."""

import io
import threading

import pytest

from edgeagent import (
    PII,
    Agent,
    BusyError,
    ConfigError,
    EdgeAgentError,
    ModelError,
    Options,
    Session,
    Usage,
    hooks,
    tool,
)
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, exchange, first, opened, texts


@tool
def drive(distance_m: float) -> str:
    """Drives."""
    return "arrived"


# --- out and status -------------------------------------------------------------------------------------------------


def test_out_gets_what_is_said_and_status_what_is_done():
    out, status = io.StringIO(), io.StringIO()
    llm = ScriptedLLM({"text": "On my way.", "calls": [call("drive", distance_m=2.0)]}, "I am there.")
    Session(Agent("a", llm=llm, tools=[drive]), out=out, status=status).step("go")
    assert out.getvalue() == "On my way.\nI am there.\n"
    assert status.getvalue() == "→ drive 2.0\n← arrived\n"


def test_notices_are_shown_and_never_said():
    out, status = io.StringIO(), io.StringIO()
    llm = ScriptedLLM(*([call("drive", distance_m=i)] for i in range(3)))
    session = Session(Agent("a", llm=llm, tools=[drive], options=Options(max_turns=2)), out=out, status=status)
    assert session.step("go").reason == "budget"
    assert "! stopped after 2 model calls" in status.getvalue()
    assert out.getvalue() == ""


def test_a_stream_that_is_closed_stops_no_run():
    out = io.StringIO()
    out.close()
    assert Session(Agent("a", llm=ScriptedLLM("A")), out=out).step("go").reply == "A"


def test_runs_of_others_are_not_written():
    out = io.StringIO()
    agent = Agent("a", llm=ScriptedLLM("A", "B", "C"))
    session = Session(agent, out=out)
    agent.run("one")
    Session(agent).step("two")
    session.step("three")
    assert out.getvalue() == "C\n"


# --- model and system prompt ----------------------------------------------------------------------------------------


def test_another_model_counts_from_the_next_run_and_has_the_history():
    old = ScriptedLLM("A", [call("drive", distance_m=1)], "B", name="old")
    new = ScriptedLLM("C", name="new")
    session = Session(Agent("a", llm=old, tools=[drive]))
    session.step("one")
    assert session.model == "old"
    session.subscribe(lambda event: session.set_model(new) if event.kind == "tool_execution_start" else None)
    assert session.step("two").reply == "B"
    assert session.model == "new"
    assert session.step("three").reply == "C"
    assert texts(new.requests[0].messages) == ["one", "A", "two", "", "arrived", "B", "three"]


def test_a_model_may_be_set_by_name():
    session = Session(Agent("a"), resolve_model=lambda name: ScriptedLLM(f"I am {name}.", name=name))
    session.set_model("small")
    assert session.model == "small"
    assert session.step("who?").reply == "I am small."


def test_one_fallback_model_or_one_name_needs_no_list():
    def resolve(name):
        assert name == "small"
        return ScriptedLLM("I am small.", name=name)

    broken = ModelError("the weights are gone")
    session = Session(Agent("a", llm=ScriptedLLM(broken)), fallback_models="small", resolve_model=resolve)
    assert session.step("who?").reply == "I am small."
    other = Session(Agent("a", llm=ScriptedLLM(broken)), fallback_models=ScriptedLLM("I am the other.", name="other"))
    assert other.step("who?").reply == "I am the other."
    with pytest.raises(ConfigError, match=r"fallback_models=\.\.\.\): 42 is neither a model nor the name of one"):
        Session(Agent("a"), fallback_models=[42])


def test_what_is_no_text_is_refused_and_the_session_goes_on():
    session = Session(Agent("a", llm=ScriptedLLM("A")))
    for say in (session.step, session.start, session.steer, session.follow_up):
        with pytest.raises(EdgeAgentError, match="text or a Message, not int: 42"):
            say(42)
    with pytest.raises(EdgeAgentError, match="a history holds Messages, not str"):
        session.restore(["hi"])
    assert session.step("hi").reply == "A"


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"agent": None}, "agent=None"),
        ({"options": 3}, "options=3"),
        ({"resolve_model": 3}, "resolve_model=3"),
    ],
)
def test_an_argument_that_cannot_be_is_named(keywords, told):
    with pytest.raises(ConfigError, match=told):
        Session(**{"agent": Agent("a"), **keywords})


def test_a_wrong_value_changes_neither_history_nor_usage(tmp_path):
    with Session(Agent("a", llm=ScriptedLLM("A")), path=tmp_path / "s") as session:
        session.step("one")
        session.usage = Usage(3, 1)
        written = (tmp_path / "s").read_bytes()
        reply = session.messages()[-1]
        for wrong, told in (
            (lambda: session.set_heard(reply.id, None), "None"),
            (lambda: session.truncate(None), r"truncate\(None\)"),
            (lambda: session.restore(None), "list of Messages, not NoneType"),
            (lambda: setattr(session, "usage", (1, 2)), r"usage = \(1, 2\)"),
            (lambda: setattr(session, "usage", None), "usage = None"),
        ):
            with pytest.raises(EdgeAgentError, match=told):
                wrong()
        assert (session.messages()[-1], session.usage) == (reply, Usage(3, 1))
        assert (tmp_path / "s").read_bytes() == written


def test_a_name_without_resolve_model_is_an_error_that_says_so():
    llm = ScriptedLLM("A")
    session = Session(Agent("a", llm=llm))
    with pytest.raises(ConfigError, match="resolve_model"):
        session.set_model("small")
    assert session.step("go").reply == "A"


def test_another_system_prompt_counts_from_the_next_run():
    llm = ScriptedLLM([call("drive", distance_m=1)], "A", "B")
    session = Session(Agent("a", "Be kind.", llm=llm, tools=[drive]))
    session.subscribe(lambda event: session.set_system("Be brief.") if event.kind == "tool_execution_start" else None)
    session.step("one")
    session.step("two")
    assert [request.system for request in llm.requests] == ["Be kind.", "Be kind.", "Be brief."]


def test_a_missing_model_is_an_error_at_the_first_step_and_not_before():
    session = Session(Agent("a"))
    assert session.model is None
    with pytest.raises(ModelError, match="'a' has no model"):
        session.step("one")
    assert session.messages() == []
    session.set_model(ScriptedLLM("A"))
    assert session.step("two").reply == "A"


def test_the_sessions_options_count_instead_of_the_agents():
    llm = ScriptedLLM("A")
    session = Session(Agent("a", llm=llm, options=Options(max_tokens=11)), options=Options(temperature=0.5))
    session.step("go")
    assert (llm.requests[0].max_tokens, llm.requests[0].temperature) == (256, 0.5)


# --- usage ----------------------------------------------------------------------------------------------------------


def test_usage_adds_up_over_turns_and_runs_and_may_be_set():
    llm = ScriptedLLM(
        {"calls": [call("drive", distance_m=1)], "usage": Usage(10, 1)},
        {"text": "A", "usage": Usage(20, 2)},
        {"text": "B", "usage": Usage(30, 3)},
    )
    session = Session(Agent("a", llm=llm, tools=[drive]))
    assert (session.usage, session.last_input_tokens) == (Usage(), 0)
    assert session.step("one").usage == session.usage == Usage(30, 3)
    assert session.last_input_tokens == 20
    session.usage = Usage(100, 100)
    session.step("two")
    assert session.usage == Usage(130, 103)
    assert session.last_input_tokens == 30


def test_an_aborted_call_is_used_too():
    llm = ScriptedLLM(" ".join(["word"] * 300), token_delay_s=0.005)
    session = Session(Agent("a", llm=llm))
    handle = session.start("go")
    first(handle, "message_update")
    session.abort()
    assert handle.result(LIMIT_S).usage == session.usage != Usage()


# --- the end --------------------------------------------------------------------------------------------------------


def test_a_session_is_closed_at_the_end_of_its_block_also_after_an_error(tmp_path):
    session = Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM("A")))

    def fail():
        with session:
            session.step("one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(EdgeAgentError, match="closed"):
        session.step("two")
    session.close()
    assert texts(session.messages()) == ["one", "A"]
    Session.open(tmp_path / "s", Agent("a")).close()


def test_closing_during_a_run_stops_it_and_keeps_what_was_said(tmp_path):
    session = Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM(" ".join(["word"] * 300), token_delay_s=0.005)))
    handle = session.start("go")
    first(handle, "message_update")
    session.follow_up("later")
    session.close()
    assert handle.state == "cancelled"
    assert not session.agent.has_pending
    with Session.open(tmp_path / "s", Agent("a")) as again:
        assert again.messages() == session.messages()
        assert len(again.messages()) == 3


@pytest.mark.parametrize("kind", ["message_end", "turn_end", "agent_end"])
def test_closing_from_inside_the_run_keeps_all_of_it(tmp_path, kind):
    path = tmp_path / "s"
    session = Session.open(path, Agent("a", llm=ScriptedLLM("A")), audit=tmp_path / "audit")
    seen = []

    def close(event):
        if event.kind == kind and not seen:
            seen.append(session.close())

    session.subscribe(close)
    handle = session.start("go")
    assert handle.wait(LIMIT_S)
    assert seen == [None]
    with Session.open(path, Agent("a")) as again:
        assert again.messages() == session.messages()
        assert again.messages()[0].text == "go"


def test_closing_from_inside_a_tool_does_not_wait_for_itself(tmp_path):
    @tool
    def leave() -> str:
        """Ends it all."""
        session.close()
        return "left"

    session = Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM([call("leave")], "never"), tools=[leave]))
    handle = session.start("go")
    assert handle.wait(LIMIT_S)
    with Session.open(tmp_path / "s", Agent("a")) as again:
        assert [m.text for m in again.messages() if m.role == "tool"] == ["left"]
        assert again.messages() == session.messages()


def test_what_timers_say_after_the_end_reaches_nobody_and_is_logged(caplog):
    agent = Agent("a", llm=ScriptedLLM("A"))
    session = Session(agent)
    session.close()
    assert session.follow_up("the timer", wake=True) is None
    assert session.steer("left", wake=True) is None
    assert not agent.has_pending
    assert "the timer" in caplog.text
    with Session(agent) as another:
        another.step("one")
        assert texts(another.messages()) == ["one", "A"]


# --- waking ---------------------------------------------------------------------------------------------------------


def test_a_woken_run_has_the_history_and_the_observers_of_the_session(tmp_path):
    out = io.StringIO()
    llm = ScriptedLLM("A", "B", "C")
    session = Session(Agent("a", llm=llm), out=out, path=tmp_path / "s")
    session.step("one")
    session.follow_up("timer", wake=True).result(LIMIT_S)
    session.step("two")
    assert texts(llm.requests[2].messages) == ["one", "A", "timer", "B", "two"]
    assert [m.origin for m in session.messages() if m.role == "user"] == ["user", "follow_up", "user"]
    assert out.getvalue() == "A\nB\nC\n"
    session.close()
    with Session.open(tmp_path / "s", Agent("a")) as again:
        assert again.messages() == session.messages()


def test_a_message_that_wakes_during_a_run_is_taken_up_by_it():
    gate = threading.Event()
    llm = ScriptedLLM(lambda request: str(opened(gate)), "B")
    session = Session(Agent("a", llm=llm))
    handle = session.start("one")
    first(handle, "message_start")
    assert session.follow_up("timer", wake=True) is None
    gate.set()
    assert handle.result(LIMIT_S).reply == "B"
    assert texts(session.messages()) == ["one", "True", "timer", "B"]


def test_queued_without_waking_it_waits_for_the_next_run():
    llm = ScriptedLLM("A", "B")
    session = Session(Agent("a", llm=llm))
    assert session.follow_up("later") is None
    assert llm.requests == []
    assert session.step("now").reply == "B"
    assert texts(session.messages()) == ["now", "A", "later", "B"]


# --- hooks and keywords that do the same ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "keywords"),
    [
        (lambda path: hooks.ContextCompactionHook(), {"compaction_threshold": 70}),
        (lambda path: hooks.ContextCompactionHook(), {"compaction_target": 40}),
        (lambda path: hooks.ContextCompactionHook(), {"max_context_tokens": 2000}),
        (lambda path: hooks.PIIHook(PII(user="redact")), {"pii": PII(user="warn")}),
        (lambda path: hooks.PIIHook(PII(user="redact")), {"pii": PII(tools="redact")}),
        (lambda path: hooks.PersistSessionHook(path / "t"), {"path": "s"}),
    ],
)
def test_a_hook_and_the_keyword_that_does_the_same_are_an_error(tmp_path, monkeypatch, hook, keywords):
    monkeypatch.chdir(tmp_path)
    agent = Agent("a", llm=ScriptedLLM("A"), hooks=[hook(tmp_path)])
    with pytest.raises(ConfigError, match=f"{type(agent.hooks[0]).__name__} and Session"):
        Session(agent, **keywords)
    assert list(tmp_path.iterdir()) == []
    assert Session(agent).step("go").reply == "A"


def test_a_hook_of_the_agents_stays_the_only_one_of_its_kind():
    agent = Agent("a", llm=ScriptedLLM("A"), hooks=[hooks.PIIHook(PII(user="redact"))])
    session = Session(agent, pii=PII(log="off"))
    session.step("mail bob@example.com")
    assert session.messages()[0].text == "mail <EMAIL>"


@pytest.mark.parametrize(
    "keywords",
    [
        {"compaction_threshold": -1},
        {"compaction_threshold": 101},
        {"compaction_target": 81},
        {"max_context_tokens": -1},
    ],
)
def test_a_number_that_cannot_be_is_named(keywords):
    with pytest.raises(ConfigError, match=str(next(iter(keywords.values())))):
        Session(Agent("a"), **keywords)


def test_two_sessions_of_one_agent_are_busy_together_and_keep_their_histories():
    gate = threading.Event()
    agent = Agent("a", llm=ScriptedLLM(lambda request: str(opened(gate)), "B"))
    one, two = Session(agent), Session(agent)
    handle = one.start("one")
    with pytest.raises(BusyError):
        two.step("two")
    gate.set()
    handle.result(LIMIT_S)
    two.restore(exchange("x", "y"))
    two.step("two")
    assert texts(one.messages()) == ["one", "True"]
    assert texts(two.messages()) == ["x", "y", "two", "B"]


def test_a_stream_that_can_only_be_written_to_is_written_to():
    class Writer:
        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text

    out, status = Writer(), Writer()
    with Session(Agent("a", llm=ScriptedLLM("hello there")), out=out, status=status) as session:
        handle = session.start("hi")
        assert handle.result(LIMIT_S).reply == "hello there"
    assert out.text.strip() == "hello there"
    assert session.agent.subscriber_errors == 0
