"""PersistSessionHook on its own: the journal of an agent that has no session, and of its sub-agents' callers."""

import threading

from edgeagent import Agent, AgentContext, Session, hooks, tool
from edgeagent.journal import Journal
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, assert_whole, notices, on_disk, opened, texts


def loaded(path):
    with Journal.open(path) as journal:
        return journal.load()


@tool
def note() -> str:
    """Notes."""
    return "noted"


def test_it_keeps_every_run_of_the_agent(tmp_path):
    hook = hooks.PersistSessionHook(tmp_path / "s")
    agent = Agent("a", llm=ScriptedLLM([call("note")], "A", "B"), tools=[note], hooks=[hook])
    agent.run("one")
    agent.run("two")
    hook.close()
    hook.close()
    assert texts(loaded(tmp_path / "s").messages) == ["one", "", "noted", "A", "two", "B"]


def test_a_result_is_on_disk_before_the_agent_that_was_handed_over_to_is_asked(tmp_path):
    path, seen = tmp_path / "s", []

    def ask(request):
        seen.extend(message["text"] for message in on_disk(path) if message["role"] == "tool")
        return "from the target"

    target = Agent("target", llm=ScriptedLLM(ask))
    hook = hooks.PersistSessionHook(path)
    router = Agent(
        "router", llm=ScriptedLLM([call("note"), call("handoff_to_target")]), tools=[note], handoffs=[target]
    )
    result = router.run("go", context=AgentContext(hooks=[hook]))
    hook.close()
    assert seen[:1] == ["noted"]
    assert loaded(path).messages == result.messages


def test_sub_agents_that_work_at_once_write_nothing_twice(tmp_path):
    both = threading.Barrier(2)

    def meet(request):
        both.wait(LIMIT_S)
        return "done"

    helpers = [Agent(name, llm=ScriptedLLM(meet)).as_tool() for name in ("left", "right")]
    llm = ScriptedLLM([call("left", task="x"), call("right", task="y")], "both done")
    with Session.open(tmp_path / "s", Agent("a", llm=llm, tools=helpers)) as session:
        assert session.step("go").reply == "both done"
        written = [message["id"] for message in on_disk(tmp_path / "s")]
        assert written == [message.id for message in session.messages()]
        assert_whole(session.messages())


def test_a_journal_that_cannot_be_opened_is_told_once_and_stops_nothing(tmp_path):
    hook = hooks.PersistSessionHook(tmp_path / "no" / "s")
    agent = Agent("a", llm=ScriptedLLM([call("note")], "A", "B"), tools=[note], hooks=[hook])
    told = []
    for task, reply in (("one", "A"), ("two", "B")):
        handle = agent.start(task)
        assert handle.result(LIMIT_S).reply == reply
        told += notices(handle)
    assert len(told) == 1
    assert str(tmp_path / "no" / "s") in told[0]


def test_a_full_journal_of_a_session_is_rewritten_and_goes_on(tmp_path):
    path = tmp_path / "s"
    with Session.open(path, Agent("a", llm=ScriptedLLM(*["A"] * 400))) as session:
        for i in range(400):
            session.step(f"task {i}")
            if i % 3 == 2:
                session.truncate(1)
        size = path.stat().st_size
        history = session.messages()
    assert size < 150_000
    with Session.open(path, Agent("a")) as again:
        assert again.messages() == history


def test_a_closed_journal_is_no_reason_to_stop(tmp_path):
    gate = threading.Event()
    session = Session.open(tmp_path / "s", Agent("a", llm=ScriptedLLM(lambda request: str(opened(gate)))))
    handle = session.start("go")
    closing = threading.Thread(target=session.close)
    closing.start()
    gate.set()
    closing.join(LIMIT_S)
    assert handle.result(LIMIT_S).reason in ("aborted", "completed")
    assert texts(loaded(tmp_path / "s").messages)[0] == "go"
