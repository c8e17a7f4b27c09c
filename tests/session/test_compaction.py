"""A conversation is kept within the model's context, in exchanges, by the model's own tokenizer."""

import threading

import pytest

from edgeagent import Agent, EdgeAgentError, ModelError, Options, Session, hooks, tool
from edgeagent.hooks import LEFT_OUT, SUMMARY
from edgeagent.llm import LLMRequest
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, assert_whole, exchange, opened, texts

REPLY = 100
WINDOW = 1100
BUDGET = WINDOW - REPLY
OPTIONS = Options(max_tokens=REPLY)


@tool
def look() -> str:
    """Looks."""
    return "a cup"


def words(n, word="word"):
    return " ".join([word] * n)


def tokens(session):
    """What the next request would begin with, counted as the model counts."""
    agent = session.agent
    request = LLMRequest(system=agent.instructions, messages=session.messages(), tools=list(agent.tools))
    return agent.llm.count_tokens(request)


def filled(session, count):
    """Exchanges with calls until the history has exactly so many tokens."""
    history = []
    while True:
        more = [*history, *exchange(f"task {len(history)}", "done", result=words(40))]
        session.restore(more)
        if tokens(session) > count - 10:
            break
        history = more
    session.restore(history)
    session.restore([*history, *exchange("last", words(count - tokens(session) - 1))])
    assert tokens(session) == count
    return session.messages()


def session_of(*replies, llm=None, **keywords):
    llm = llm or ScriptedLLM(*replies, context_window=WINDOW)
    return Session(Agent("a", "You are a robot.", llm=llm, tools=[look], options=OPTIONS), **keywords)


# --- when a run ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("percent", [80, 81, 99])
def test_a_history_over_the_threshold_is_at_most_half_when_the_run_has_ended(percent):
    session = session_of("yes it is")
    before = filled(session, BUDGET * percent // 100 - 5)
    session.step("new task")  # two words, and three of the reply
    after = session.messages()
    assert tokens(session) <= BUDGET // 2
    assert_whole(after)
    assert texts(after[-2:]) == ["new task", "yes it is"]
    assert after[0].origin == "summary"
    assert after[0].text.startswith(SUMMARY)
    kept = [message for message in after[1:] if message in before]
    assert kept == before[-len(kept) :], "what is kept is the end of it, in its order"
    assert kept[0].role == "user", "and it begins with a request"
    assert "task 0" in after[0].text or "look" in after[0].text


def test_a_history_below_the_threshold_stays_as_it_is():
    session = session_of("yes it is")
    before = filled(session, BUDGET * 80 // 100 - 6)
    session.step("new task")
    assert session.messages()[:-2] == before
    assert tokens(session) == BUDGET * 80 // 100 - 1


def test_threshold_target_and_context_may_be_set():
    session = session_of("yes it is", max_context_tokens=700, compaction_threshold=60, compaction_target=20)
    filled(session, 360 - 5)  # 60 % of 700 - 100
    session.step("new task")
    assert tokens(session) <= 120
    again = session_of("yes it is", max_context_tokens=700, compaction_threshold=60, compaction_target=20)
    before = filled(again, 360 - 6)
    again.step("new task")
    assert again.messages()[:-2] == before


@pytest.mark.parametrize("nothing", [None, 0])
def test_a_keyword_that_is_none_or_0_has_its_default(tmp_path, nothing):
    names = ["max_context_tokens", "compaction_threshold", "compaction_target", "fallback_models", "durability"]
    session = session_of("yes it is", path=tmp_path / "s", **dict.fromkeys(names, nothing))
    filled(session, BUDGET * 80 // 100 - 5)
    session.step("new task")
    assert tokens(session) <= BUDGET // 2


def test_a_context_larger_than_the_window_does_not_help():
    session = session_of("yes it is", max_context_tokens=100_000)
    filled(session, BUDGET * 80 // 100 - 5)
    session.step("new task")
    assert tokens(session) <= BUDGET // 2


def test_the_next_step_sees_the_compacted_history():
    session = session_of("yes it is", "B")
    filled(session, 850)
    session.step("new task")
    compacted = session.messages()
    session.step("another")
    assert texts(session.agent.llm.requests[1].messages)[:-1] == texts(compacted)


def test_no_model_writes_the_summary():
    session = session_of("yes it is")
    filled(session, 850)
    session.step("new task")
    assert len(session.agent.llm.requests) == 1


def test_a_history_that_is_compacted_again_and_again_stays_within_its_context():
    replies = [r for i in range(30) for r in ([call("look")], f"reply {i} " + words(60))]
    llm = ScriptedLLM(*replies, context_window=WINDOW)
    session = session_of(llm=llm)
    for i in range(30):
        session.step(f"task {i} " + words(20))
        assert_whole(session.messages())
        assert session.messages()[-1].text.startswith(f"reply {i} ")
    assert all(llm.count_tokens(request) + REPLY <= WINDOW for request in llm.requests)
    assert sum(message.origin == "summary" for message in session.messages()) == 1


def test_tools_and_instructions_count():
    long = tool(name="long", description=words(500))(lambda: "x")
    llm = ScriptedLLM("yes it is", context_window=WINDOW)
    session = Session(Agent("a", words(150), llm=llm, tools=[long], options=OPTIONS))
    session.restore([*exchange("one", words(60)), *exchange("two", words(60)), *exchange("three", words(60))])
    assert tokens(session) >= BUDGET * 80 // 100 - 5
    session.step("new task")
    assert session.messages()[0].origin == "summary" or len(session.messages()) < 8


# --- before a request that would not fit ----------------------------------------------------------------------------


def test_a_request_that_would_not_fit_is_compacted_before_it_is_sent():
    session = session_of("B")
    filled(session, 790)
    session.step(words(300, "go"))
    (request,) = session.agent.llm.requests
    assert session.agent.llm.count_tokens(request) <= BUDGET // 2
    assert request.messages[-1].text == words(300, "go")
    assert request.messages[0].origin == "summary"
    assert_whole(request.messages)
    assert texts(session.messages()[-2:]) == [words(300, "go"), "B"]


def test_it_is_compacted_in_the_middle_of_a_run_too():
    @tool
    def read() -> str:
        """Reads much."""
        return words(400, "page")

    llm = ScriptedLLM([call("read")], "B", context_window=WINDOW)
    session = Session(Agent("a", llm=llm, tools=[read], options=OPTIONS))
    filled(session, 780)
    assert session.step("read it").reply == "B"
    first, second = llm.requests
    assert llm.count_tokens(first) <= BUDGET
    assert llm.count_tokens(second) <= BUDGET
    assert second.messages[-1].text == words(400, "page"), "the result that the model has not answered yet is whole"
    assert_whole(second.messages)


# --- one exchange that is too long ----------------------------------------------------------------------------------


def test_the_oldest_results_of_one_exchange_that_is_too_long_go_first():
    @tool
    def read(page: int) -> str:
        """Reads a page."""
        return f"page {page}: " + words(200)

    replies = [[call("read", page=i)] for i in range(6)]
    llm = ScriptedLLM(*replies, "B", context_window=WINDOW)
    session = Session(Agent("a", llm=llm, tools=[read], options=OPTIONS))
    assert session.step("read them all").reply == "B"
    last = llm.requests[-1]
    results = [message.text for message in last.messages if message.role == "tool"]
    assert llm.count_tokens(last) <= BUDGET
    assert results[0] == LEFT_OUT
    assert results[-1].startswith("page 5: ")
    gone = [text == LEFT_OUT for text in results]
    assert gone == sorted(gone, reverse=True), "the oldest first"
    assert last.messages[0].text == "read them all"
    assert_whole(last.messages)


@pytest.mark.parametrize("length", [950, 3000])
def test_what_cannot_be_made_to_fit_is_an_error_with_both_numbers(length):
    session = session_of("never", max_context_tokens=1000)
    with pytest.raises(ModelError, match=r"has \d+ tokens.*up to 100 .*max_context_tokens=1000: shorten") as raised:
        session.step(words(length))
    assert f"has {tokens(session)} tokens" in str(raised.value)
    assert session.agent.llm.requests == []


def test_a_session_goes_on_after_a_request_that_was_too_long():
    session = session_of("A", "B", max_context_tokens=600)
    session.step("one")
    with pytest.raises(ModelError):
        session.step(words(2000))
    assert session.step("two").reply == "B"
    assert_whole(session.messages())


# --- compact() ------------------------------------------------------------------------------------------------------


def test_compact_does_it_now_whatever_the_threshold():
    session = session_of()
    filled(session, 600)
    session.compact()
    assert tokens(session) <= BUDGET // 2
    assert_whole(session.messages())
    assert session.messages()[0].origin == "summary"


def test_compact_leaves_alone_what_is_short_enough():
    session = session_of()
    before = filled(session, 400)
    session.compact()
    assert session.messages() == before


def test_compact_without_a_model_is_an_error():
    session = Session(Agent("a"))
    session.restore(exchange("one", "A"))
    with pytest.raises(ModelError, match="'a' has no model"):
        session.compact()


def test_a_compacted_session_is_compacted_on_disk_too(tmp_path):
    path = tmp_path / "s"
    with session_of(path=path) as session:
        filled(session, 700)
        session.compact()
        after = session.messages()
    with session_of(path=path) as again:
        assert again.messages() == after


# --- hooks and values -----------------------------------------------------------------------------------------------


def test_a_hook_that_is_given_takes_the_place_of_the_default_one():
    agent = Agent("a", llm=ScriptedLLM("yes it is", context_window=WINDOW), tools=[look], options=OPTIONS)
    agent.hooks.append(hooks.ContextCompactionHook(threshold=30, target=10))
    session = Session(agent)
    filled(session, 310)
    session.step("new task")
    assert tokens(session) <= 100


def test_steps_wait_for_a_compaction_that_is_going_on():
    counting, gate = threading.Event(), threading.Event()

    class Slow(ScriptedLLM):
        def count_tokens(self, request):
            if counting.is_set():
                opened(gate)
            return super().count_tokens(request)

    session = session_of(llm=Slow("yes it is", "B", context_window=WINDOW))
    filled(session, 850)
    session.subscribe(lambda event: counting.set() if event.kind == "turn_end" else None)
    handle = session.start("new task")
    assert opened(counting)
    assert handle.state == "running"
    gate.set()
    handle.result(LIMIT_S)
    session.step("another")
    assert texts(session.agent.llm.requests[1].messages)[0].startswith(SUMMARY)


# --- a stop ---------------------------------------------------------------------------------------------------------


class Observed(ScriptedLLM):
    """Counts; calls ``meanwhile`` at each count, once it is set."""

    counted = 0
    meanwhile = None

    def count_tokens(self, request):
        if self.meanwhile is not None:
            self.counted += 1
            self.meanwhile()
        return super().count_tokens(request)


def observed(meanwhile, **keywords):
    """A session whose history is compacted at the end of its run, and what is called at each count then."""
    llm = Observed("yes it is", "B", context_window=WINDOW)
    session = session_of(llm=llm, **keywords)
    before = filled(session, 850)

    def arm(event):
        if event.kind == "turn_end":
            llm.meanwhile = lambda: meanwhile(session)

    unsubscribe = session.subscribe(arm)
    return session, before, unsubscribe


def test_an_abort_ends_a_compaction_between_two_counts():
    session, before, unsubscribe = observed(lambda session: session.abort())
    result = session.step("new task")
    assert result.reason == "completed", "the run itself was over"
    assert session.agent.llm.counted == 1
    assert session.messages()[:-2] == before
    unsubscribe()
    session.agent.llm.meanwhile = None
    session.step("another")
    assert session.messages()[0].origin == "summary", "the next run makes up for it"


def test_a_deadline_ends_a_compaction_too():
    contexts = []

    class Seen(hooks.BaseHook):
        points = frozenset({hooks.FirePoint.ON_RUN_START})

        def __call__(self, point, ctx, payload):
            contexts.append(ctx)

    session, before, _ = observed(
        lambda _: opened(contexts[-1].stop_event), options=Options(max_tokens=REPLY, deadline_s=2.0)
    )
    session.agent.hooks.append(Seen())
    session.step("new task")
    assert session.agent.llm.counted == 1
    assert session.messages()[:-2] == before


def test_an_abort_while_a_request_is_compacted_asks_no_model():
    llm = Observed("never", context_window=WINDOW)
    session = session_of(llm=llm)
    filled(session, 790)
    llm.meanwhile = session.abort
    assert session.step(words(300, "go")).reason == "aborted"
    assert (llm.counted, llm.requests) == (1, [])


def test_the_history_of_a_run_that_was_stopped_is_not_counted():
    llm = ScriptedLLM(lambda _: session.abort() and "yes it is", context_window=WINDOW)
    session = session_of(llm=llm)
    before = filled(session, 850)
    counted = []
    session.subscribe(lambda event: setattr(llm, "count_tokens", counted.append) if event.kind == "turn_end" else None)
    assert session.step("new task").reason == "aborted"
    assert session.messages()[: len(before)] == before
    assert counted == []


def test_closing_a_session_ends_a_compaction_that_was_asked_for():
    def close(session):
        closing.append(threading.Thread(target=session.close))
        closing[0].start()
        while True:
            try:
                session.start("is it closed?").abort()
            except EdgeAgentError:
                return

    closing = []
    session = session_of(llm=Observed(context_window=WINDOW))
    before = filled(session, 700)
    session.agent.llm.meanwhile = lambda: close(session)
    session.compact()
    closing[0].join(LIMIT_S)
    assert session.agent.llm.counted == 1
    assert session.messages() == before


# --- a summary that the model writes --------------------------------------------------------------------------------


def summing_up(*replies, **keywords):
    llm = ScriptedLLM(*replies, context_window=WINDOW)
    hook = hooks.ContextCompactionHook(use_llm=True)
    return Session(Agent("a", "You are a robot.", llm=llm, tools=[look], hooks=[hook], options=OPTIONS), **keywords)


def test_a_summary_that_the_model_wrote_is_the_sessions_history(tmp_path):
    session = summing_up("yes it is", "The person gave tasks.", path=tmp_path / "s")
    filled(session, 850)
    session.step("new task")
    assert session.messages()[0].text == f"{SUMMARY}\nThe person gave tasks."
    assert tokens(session) <= BUDGET // 2
    assert texts(session.messages()[-2:]) == ["new task", "yes it is"]
    after = session.messages()
    session.close()
    with Session.open(tmp_path / "s", Agent("a")) as again:
        assert again.messages() == after


def test_compact_has_the_model_write_it_too():
    session = summing_up("The person gave tasks.")
    filled(session, 700)
    session.compact()
    assert session.messages()[0].text == f"{SUMMARY}\nThe person gave tasks."


def test_an_abort_while_the_model_writes_leaves_the_summary_that_is_put_together():
    def aborted(request):
        session.abort()
        return "never said"

    session = summing_up("yes it is", aborted)
    filled(session, 850)
    session.step("new task")
    assert session.messages()[0].text.startswith(f"{SUMMARY}\n- user: ")
    assert tokens(session) <= BUDGET // 2


# --- the real model -------------------------------------------------------------------------------------------------


def test_the_real_models_tokenizer_counts(nano):
    options = Options(max_tokens=16)
    session = Session(Agent("a", "You are a robot.", llm=nano, options=options), max_context_tokens=600)
    history = [message for i in range(12) for message in exchange(f"task {i}", "Straße, 走, 🤖 " * 3)]
    session.restore(history)
    assert tokens(session) > (600 - 16) * 80 // 100
    session.step("hello")
    assert nano.stats.prompt_tokens + 16 <= 600
    assert tokens(session) <= (600 - 16) // 2
    assert_whole(session.messages())
    assert session.messages()[-2].text == "hello"


def test_the_real_model_names_both_numbers(nano):
    session = Session(Agent("a", llm=nano))
    with pytest.raises(ModelError, match=r"the prompt has (\d{4,}) tokens.*4096"):
        session.step("far too long " * 3000)
