"""Callbacks: what was streamed, called and answered, and questions that end in time."""

import threading
import time

import pytest

from edgeagent import Agent, ToolResult, tool
from edgeagent.errors import EdgeAgentError
from edgeagent.events import MessageEnd, MessageUpdate
from edgeagent.messages import Message
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Callbacks, Unanswered

LIMIT_S = 10
STAMP = {"seq": 0, "t": 0.0, "run_id": "r", "agent": "a", "turn": 1}


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def never():
    return False


def test_text_and_thinking_come_as_they_are_streamed():
    said, thought = [], []
    llm = ScriptedLLM({"thinking": "so many words", "text": "one two three"})
    Agent("a", llm=llm).start("x", observer=Callbacks(said.append, thought.append)).result(LIMIT_S)
    assert said == ["one", " two", " three"]
    assert thought == ["so", " many", " words"]


def test_without_content_and_reasoning_nothing_is_streamed_and_the_rest_works():
    batches, results = [], []
    llm = ScriptedLLM({"text": "let me see", "calls": [call("add", a=1, b=2)]}, "three")
    watch = Callbacks(
        on_tool_call_start=batches.append, on_tool_result=lambda name, result: results.append(result.text)
    )
    assert Agent("a", llm=llm, tools=[add]).start("x", observer=watch).result(LIMIT_S).reply == "three"
    assert (batches, results) == ([[{"name": "add", "arguments": {"a": 1, "b": 2}}]], ["3"])


def test_the_batch_is_told_once_a_turn_and_before_its_first_tool_starts():
    order = []

    @tool
    def note(word: str) -> str:
        """Notes."""
        order.append(word)
        return word

    llm = ScriptedLLM([call("note", word="a"), call("note", word="b")], [call("note", word="c")], "done")
    agent = Agent("a", llm=llm, tools=[note])
    agent.subscribe(Callbacks(on_tool_call_start=lambda batch: order.append([c["arguments"]["word"] for c in batch])))
    agent.start("x").result(LIMIT_S)
    assert order[0] == ["a", "b"]
    assert sorted(order[1:3]) == ["a", "b"]
    assert order[3:] == [["c"], "c"]


def test_results_come_in_the_order_in_which_they_end():
    second_told = threading.Event()
    names = []

    @tool(read_only=True)
    def slow() -> str:
        """Ends after the other."""
        assert second_told.wait(LIMIT_S)
        return "slow"

    @tool(read_only=True)
    def quick() -> str:
        """Ends at once."""
        return "quick"

    def on_tool_result(name, result):
        names.append((name, result.text))
        if name == "quick":
            second_told.set()

    agent = Agent("a", llm=ScriptedLLM([call("slow"), call("quick")], "ok"), tools=[slow, quick])
    agent.start("x", observer=Callbacks(on_tool_result=on_tool_result)).result(LIMIT_S)
    assert names == [("quick", "quick"), ("slow", "slow")]


def test_a_cut_reply_has_no_batch_but_its_calls_have_results():
    batches, statuses = [], []
    llm = ScriptedLLM({"calls": [call("add", a=1, b=2)], "stop": "length"}, "sorry")
    watch = Callbacks(on_tool_call_start=batches.append, on_tool_result=lambda name, r: statuses.append(r.status))
    Agent("a", llm=llm, tools=[add]).start("x", observer=watch).result(LIMIT_S)
    assert (batches, statuses) == ([], ["not_run"])


def test_arguments_that_nobody_parsed_are_told_as_text():
    batches = []
    llm = ScriptedLLM([call.raw("add", '{"a":')], "sorry")
    Agent("a", llm=llm, tools=[add]).start("x", observer=Callbacks(on_tool_call_start=batches.append)).result(LIMIT_S)
    assert batches == [[{"name": "add", "arguments": '{"a":'}]]


def test_a_batch_may_be_changed_without_changing_the_call():
    agent = Agent("a", llm=ScriptedLLM([call("add", a=1, b=2)], "ok"), tools=[add])
    watch = Callbacks(on_tool_call_start=lambda batch: batch[0]["arguments"].update(a=100))
    assert agent.start("x", observer=watch).result(LIMIT_S).tool_calls[0].result.text == "3"


def test_a_text_that_was_never_streamed_comes_whole():
    @tool(terminate=True)
    def finish() -> str:
        """Ends the run."""
        return "all done"

    said = []
    agent = Agent("a", llm=ScriptedLLM([call("finish")]), tools=[finish])
    assert agent.start("x", observer=Callbacks(said.append)).result(LIMIT_S).reply == "all done"
    assert said == ["all done"]


def test_an_empty_piece_is_not_told_and_is_no_reason_to_tell_the_whole():
    """Of JSON whose answer is empty nothing is said; the message that ends has all of it."""
    told = []
    view = Callbacks(on_content=told.append)
    whole = Message.assistant('{"answer": ""}')
    view(MessageUpdate(**STAMP, channel="text", delta="", message=whole))
    view(MessageEnd(**STAMP, message=whole))
    assert told == []
    view(MessageEnd(**STAMP, message=Message.assistant("words")))
    assert told == ["words"], "of the next one nothing was streamed"


def test_what_a_hook_adds_to_a_text_that_was_streamed_is_told_and_what_it_makes_of_it_is_not():
    for final, expected in (("one two", ["one", " two"]), ("other", ["one"])):
        told = []
        view = Callbacks(on_content=told.append)
        view(MessageUpdate(**STAMP, channel="text", delta="one", message=Message.assistant("one")))
        view(MessageEnd(**STAMP, message=Message.assistant(final)))
        assert told == expected


def test_a_reply_copied_from_another_agent_is_not_told_again():
    said = []
    copied = Message("assistant", "I am there", origin="handoff")
    Callbacks(said.append)(MessageEnd(seq=0, t=0.0, run_id="r", agent="a", turn=1, message=copied))
    assert said == []


def test_a_callback_that_raises_does_not_break_the_run(caplog):
    def on_content(text):
        raise ValueError("no")

    agent = Agent("a", llm=ScriptedLLM("hello there"))
    assert agent.start("x", observer=Callbacks(on_content)).result(LIMIT_S).reply == "hello there"
    assert "a subscriber raised" in caplog.text


def test_one_view_follows_two_runs_at_once():
    met = threading.Barrier(2)
    said = []

    def reply(request):
        met.wait(LIMIT_S)
        return "hello you"

    watch = Callbacks(said.append)
    handles = [Agent(name, llm=ScriptedLLM(reply)).start("x", observer=watch) for name in "ab"]
    assert [handle.result(LIMIT_S).reply for handle in handles] == ["hello you"] * 2
    assert sorted(said) == [" you", " you", "hello", "hello"]


# --- questions ------------------------------------------------------------------------------------------------------


def test_a_question_is_answered_by_its_handler():
    asked = []
    watch = Callbacks(on_question=lambda questions, answer: (asked.append(questions), answer.put("the red one")))
    assert watch.ask(["Which one?"], never, LIMIT_S) == "the red one"
    assert asked == [["Which one?"]]


def test_an_answer_may_come_from_any_thread_after_the_handler_returned():
    watch = Callbacks(on_question=lambda questions, answer: threading.Thread(target=answer.put, args=[42]).start())
    assert watch.ask(["How many?"], never, LIMIT_S) == 42


def test_the_first_answer_counts_even_if_the_handler_then_raises():
    def on_question(questions, answer):
        answer.put(None)
        answer.put("second")
        raise ValueError("too late to matter")

    assert Callbacks(on_question=on_question).ask(["?"], never, LIMIT_S) is None


def test_a_question_to_nobody_is_refused():
    with pytest.raises(Unanswered, match="nobody can be asked"):
        Callbacks().ask(["?"], never, LIMIT_S)
    assert issubclass(Unanswered, EdgeAgentError)


def test_a_question_that_nobody_answers_in_time_is_given_up():
    began = time.monotonic()
    with pytest.raises(Unanswered, match=r"nobody answered within 0\.1 s"):
        Callbacks(on_question=lambda questions, answer: None).ask(["?"], never, 0.1)
    assert time.monotonic() - began < 2


def test_a_handler_that_hangs_holds_nothing_up():
    release = threading.Event()
    try:
        with pytest.raises(Unanswered, match="within"):
            Callbacks(on_question=lambda questions, answer: release.wait(LIMIT_S)).ask(["?"], never, 0.05)
    finally:
        release.set()


@pytest.mark.parametrize("error", [ValueError("no screen"), SystemExit(1)])
def test_a_handler_that_raises_ends_the_question_at_once(error):
    def on_question(questions, answer):
        raise error

    with pytest.raises(Unanswered, match=f"on_question raised {type(error).__name__}: {error}"):
        Callbacks(on_question=on_question).ask(["?"], never, LIMIT_S)


def test_a_stop_ends_the_question():
    stop = threading.Event()
    watch = Callbacks(on_question=lambda questions, answer: stop.set())
    with pytest.raises(Unanswered, match="stopped"):
        watch.ask(["?"], stop.is_set, LIMIT_S)


def test_a_tool_that_asks_gets_an_error_result_when_nobody_answers():
    watch = Callbacks(on_question=lambda questions, answer: None)

    @tool
    def which() -> str:
        """Asks."""
        return watch.ask(["Which one?"], never, 0.05)

    agent = Agent("a", llm=ScriptedLLM([call("which")], "sorry"), tools=[which])
    result: ToolResult = agent.start("x", observer=watch).result(LIMIT_S).tool_calls[0].result
    assert result.status == "error"
    assert "nobody answered" in result.text
