"""A request that would not fit is made shorter; history after a run, from the threshold on."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message, Options, ToolCall, ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError, ModelError
from edgeagent.hooks import LEFT_OUT, SUMMARY, BeforeLLM, ContextCompactionHook, FirePoint, HookChain, summary_of
from edgeagent.llm import LLMRequest, RequestSizes
from edgeagent.testing import ScriptedLLM

WINDOW = 1256
BUDGET = 1000
"""With the 256 tokens that a reply may have unless the options say otherwise."""


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return where


def talk(count: int, size: int = 50, first: int = 0) -> list[Message]:
    """Exchanges of twice that many words and some more."""
    return [
        message
        for n in range(first, first + count)
        for message in (Message.user(f"question {n} " + "word " * size), Message.assistant(f"{n} " + "word " * size))
    ]


class Counting(ScriptedLLM):
    """Knows how often it was asked to count."""

    counted = 0

    def count_tokens(self, request: LLMRequest) -> int:
        self.counted += 1
        return super().count_tokens(request)


class Running:
    """A run of an agent with one tool."""

    def __init__(self, hook: ContextCompactionHook, llm: ScriptedLLM, **context: Any) -> None:
        self.llm = llm
        self.context = AgentContext(llm=llm, system="be brief", options=Options(), **context)
        self.chain = HookChain([hook], self.context)

    def request(self, messages: list[Message]) -> list[Message]:
        """What the model is shown of these messages."""
        fired = self.chain.fire(FirePoint.BEFORE_LLM, BeforeLLM(messages, [look], 1))
        shown: list[Message] = fired.payload.messages
        return shown

    def tokens(self, messages: list[Message]) -> int:
        return self.llm.count_tokens(LLMRequest(system="be brief", messages=messages, tools=[look]))


def running(*replies: Any, window: int = WINDOW, **settings: Any) -> Running:
    return Running(ContextCompactionHook(**settings), ScriptedLLM(*replies, context_window=window))


# --- before a request -----------------------------------------------------------------------------------------------


def test_a_request_that_fits_is_left_alone() -> None:
    run = running()
    messages = talk(9)
    assert BUDGET * 0.9 < run.tokens(messages) <= BUDGET
    assert run.request(messages) is messages


def test_a_request_that_would_not_fit_is_cut_to_the_target() -> None:
    run = running()
    messages = talk(12)
    shown = run.request(messages)
    assert run.tokens(messages) > BUDGET
    assert BUDGET * 0.3 < run.tokens(shown) <= BUDGET * 0.5
    assert shown[0].text.startswith(SUMMARY)
    assert shown[1:] == messages[-len(shown) + 1 :]


def test_a_short_request_is_not_counted() -> None:
    llm = Counting(context_window=4096)
    messages = talk(2, 10)
    assert Running(ContextCompactionHook(), llm).request(messages) is messages
    assert llm.counted == 0


def test_the_system_prompt_the_tools_and_the_reply_take_their_part() -> None:
    messages = talk(9)
    run = running()
    assert run.request(messages) is messages
    run.context.system = "word " * 200
    assert len(run.request(messages)) < len(messages)
    run = running()
    run.context.options = Options(max_tokens=600)
    assert len(run.request(messages)) < len(messages)


def test_the_window_may_be_made_smaller_but_not_larger() -> None:
    messages = talk(6)
    assert running(max_context_tokens=400).request(messages) != messages
    assert running(max_context_tokens=99_999).request(talk(12))[0].origin == "summary"


def test_without_options_a_reply_has_256_tokens() -> None:
    run = running()
    run.context.options = None
    messages = talk(9)
    assert run.request(messages) is messages
    assert run.request(talk(12))[0].origin == "summary"


def test_without_a_model_or_with_a_window_that_holds_no_reply_nothing_is_cut() -> None:
    messages = talk(12)
    run = running()
    run.context.llm = None
    assert run.request(messages) is messages
    assert running(window=200).request(messages) is messages


def test_later_requests_are_cut_at_the_same_place_so_that_the_prefix_holds() -> None:
    run = running()
    messages = talk(12)
    first = run.request([*messages, Message.user("temp=21", origin="ephemeral")])
    call = ToolCall("c", "look", {"where": "left"})
    messages += [Message.assistant("", [call]), Message.tool(ToolResult("c", "look", "ok", "a chair"))]
    later = [message.copy() for message in messages]
    second = run.request([*later, Message.user("temp=22", origin="ephemeral")])
    assert first[-1].text == "temp=21"
    assert second[: len(first) - 1] == first[:-1]
    assert [message.text for message in second[len(first) - 1 :]] == ["", "a chair", "temp=22"]


def test_a_history_that_grows_out_of_its_cut_is_cut_again() -> None:
    run = running()
    messages = talk(12)
    first = run.request(messages)
    messages += talk(8, first=12)
    second = run.request(messages)
    assert run.tokens(second) <= BUDGET * 0.5
    assert sum(message.origin == "summary" for message in second) == 1
    assert second[1:] == messages[-len(second) + 1 :]
    assert second[0] != first[0]


def test_a_result_that_was_left_out_once_is_left_out_of_later_requests() -> None:
    run = running()
    messages = [Message.user("look around")]
    for n in range(6):
        call = ToolCall(f"c{n}", "look", {"where": "left"})
        messages += [
            Message.assistant("", [call]),
            Message.tool(ToolResult(call.id, "look", "ok", "word " * 200)),
        ]
    first = run.request(messages)
    texts = [message.text for message in first if message.role == "tool"]
    assert texts[0] == LEFT_OUT
    assert texts[-1] != LEFT_OUT
    messages += [Message.assistant("a chair"), Message.user("and now?", origin="steering")]
    assert run.request(messages)[: len(first)] == first


def test_another_agents_history_gets_no_summary_of_this_one() -> None:
    run = running()
    run.request(talk(12))
    task = [Message.user("cook")]
    assert run.request(task) == task


def test_what_cannot_fit_is_left_to_the_model() -> None:
    run = running()
    messages = [*talk(2), Message.user("word " * 2000)]
    assert run.request(messages) == messages[-1:]


# --- a summary that the model writes --------------------------------------------------------------------------------


def test_the_model_may_write_the_summary() -> None:
    run = running("The person counts questions.\n\nThe robot answered.", use_llm=True)
    shown = run.request(talk(12))
    assert shown[0].text == f"{SUMMARY}\nThe person counts questions.\nThe robot answered."
    assert run.tokens(shown) <= BUDGET * 0.5
    (asked,) = run.llm.requests
    assert "question 0" in asked.messages[0].text
    assert shown[1].text.strip() not in asked.messages[0].text


def test_the_model_is_asked_once_as_long_as_the_cut_holds() -> None:
    run = running("Questions were asked.", use_llm=True)
    messages = talk(12)
    first = run.request(messages)
    assert run.request([*messages, Message.user("more", origin="steering")])[:-1] == first
    assert len(run.llm.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        {"text": "half a", "error": "boom"},
        ModelError("it does not load"),
        ValueError("foreign"),
        "far too long " * 500,
    ],
)
def test_without_a_usable_answer_the_summary_is_put_together(reply: Any) -> None:
    messages = talk(12)
    assert running(reply, use_llm=True).request(messages) == running().request(messages)


def test_a_stop_while_the_model_writes_gives_the_summary_that_is_put_together() -> None:
    messages = talk(12)
    stop = threading.Event()

    def stopped(request: LLMRequest) -> str:
        stop.set()
        return "never said"

    llm = ScriptedLLM(stopped, context_window=WINDOW)
    run = Running(ContextCompactionHook(use_llm=True), llm, stop_event=stop)
    assert run.request(messages) == running().request(messages)
    assert llm.emitted == 0


def test_a_stop_between_two_counts_leaves_the_request_as_it_is() -> None:
    messages = talk(12)
    stop = threading.Event()

    class Stopping(Counting):
        def count_tokens(self, request: LLMRequest) -> int:
            stop.set()
            return super().count_tokens(request)

    llm = Stopping(context_window=WINDOW)
    run = Running(ContextCompactionHook(), llm, stop_event=stop)
    assert run.request(messages) is messages
    assert llm.counted == 1
    assert run.request(messages) is messages
    assert llm.counted == 1


def test_a_request_with_a_history_that_is_far_too_long_is_measured_at_its_end() -> None:
    def measured(exchanges: int) -> int:
        run, shown = running(), []
        count = run.llm.count_tokens
        run.llm.count_tokens = lambda request: (  # type: ignore[method-assign]
            shown.append(sum(len(message.text) for message in request.messages)) or count(request)  # type: ignore[func-returns-value]
        )
        run.request(talk(exchanges))
        return sum(shown)

    assert measured(5_000) <= 1.1 * measured(500)


def test_what_the_model_is_asked_to_sum_up_fits_into_its_window() -> None:
    run = running("Much was said.", use_llm=True)
    run.request(talk(200))
    (asked,) = run.llm.requests
    assert run.llm.count_tokens(asked) + asked.max_tokens <= WINDOW
    assert "question 0 " not in asked.messages[0].text


def test_calls_and_earlier_summaries_are_summed_up_too() -> None:
    call = ToolCall("c", "look", {"where": "left"})
    old = [
        summary_of(["- user: I am Ann"]),
        Message.user("look"),
        Message.assistant("", [call]),
        Message.tool(ToolResult("c", "look", "error", "too dark")),
    ]
    run = running("Ann looked.", use_llm=True)
    run.request([*old, *talk(12)])
    text = run.llm.requests[0].messages[0].text
    assert "I am Ann" in text
    assert 'look {"where": "left"}' in text
    assert "tool look (error): too dark" in text


def test_the_model_is_not_asked_when_only_results_went() -> None:
    run = running(use_llm=True)
    call = ToolCall("c", "look", {"where": "left"})
    result = Message.tool(ToolResult("c", "look", "ok", "word " * 2000))
    shown = run.request([Message.user("look"), Message.assistant("", [call]), result])
    assert shown[-1].text == LEFT_OUT
    assert run.llm.requests == []


# --- after a run ----------------------------------------------------------------------------------------------------


def shrunk(messages: list[Message], **settings: Any) -> list[Message] | None:
    force = settings.pop("force", False)
    llm = ScriptedLLM(context_window=WINDOW)
    return ContextCompactionHook(**settings).shrink(
        messages,
        llm=llm,
        system="be brief",
        tools=[look],
        max_tokens=256,
        stop_event=threading.Event(),
        force=force,
    )


def padded(tokens: int) -> list[Message]:
    """A history that makes a request of exactly so many tokens."""
    messages = talk(6)
    missing = tokens - running().tokens(messages)
    return [replace(messages[0], text=messages[0].text + "word " * missing), *messages[1:]]


def test_a_history_at_the_threshold_is_cut_to_the_target() -> None:
    messages = padded(800)
    after = shrunk(messages)
    assert after is not None
    assert running().tokens(after) <= 500
    assert after[-2:] == messages[-2:]


def test_a_history_below_the_threshold_stays() -> None:
    assert shrunk(padded(799)) is None
    assert shrunk([]) is None
    assert shrunk(padded(799), threshold=79) is not None


def test_force_cuts_to_the_target_whatever_the_threshold_is() -> None:
    after = shrunk(padded(700), force=True)
    assert after is not None
    assert running().tokens(after) <= 500


def test_nothing_to_cut_is_none_although_forced() -> None:
    assert shrunk(talk(1), force=True) is None
    assert shrunk([Message.user("word " * 2000)], force=True) is None


def test_a_cut_history_is_not_cut_again() -> None:
    after = shrunk(padded(900))
    assert after is not None
    assert shrunk(after, force=True) is None


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"threshold": 0}, "threshold"),
        ({"threshold": 101}, "threshold"),
        ({"target": 0}, "target"),
        ({"threshold": 50, "target": 60}, "target"),
        ({"max_context_tokens": 0}, "max_context_tokens"),
    ],
)
def test_a_number_out_of_its_range_is_refused(settings: dict[str, int], name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        ContextCompactionHook(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "a b c", '"""\\\n\t' * 40, "äöü €" * 30, "他说" * 50, "\x00\x1b" * 20, "🤖" * 30])
def test_what_is_not_counted_has_no_more_tokens_than_it_seemed(nano: LlamaLLM, text: str) -> None:
    call = ToolCall("call_0123456789ab", "look", {"where": text, "deep": {"er": [1, None, text]}})
    messages = [
        Message.user(text),
        Message.assistant(text, [call]),
        Message.tool(ToolResult(call.id, "look", "error", text)),
    ]
    request = LLMRequest(system=text, messages=messages, tools=[look] * 3)
    assert RequestSizes().may_exceed(nano.count_tokens(request) - 1, text, request.tools, messages)


@pytest.mark.parametrize(
    "arguments", [{}, {"x": 1}, {"a": "b, [c]", "d": 2}, {"at": [1, 2]}, {"at": [{"x": [1, {"y": 2}]}] * 9}]
)
def test_arguments_are_never_taken_for_shorter_than_they_are_written(arguments: dict[str, object]) -> None:
    def size(message: Message) -> int:
        return next(limit for limit in range(9999) if not RequestSizes().may_exceed(limit, None, (), [message]))

    more = size(Message.assistant("", [ToolCall("c", "look", arguments)])) - size(Message.assistant(""))
    assert more - 64 >= len('"c""look"') + len(json.dumps(json.dumps(arguments, indent=4)))


def test_a_call_that_was_changed_after_it_fitted_is_measured_anew() -> None:
    call = ToolCall("c", "look", {"where": "left"})
    messages, sizes = [Message.user("go"), Message.assistant("", [call])], RequestSizes()
    assert not sizes.may_exceed(2000, None, (), messages)
    call.arguments["where"] = "left" * 500
    assert sizes.may_exceed(2000, None, (), messages)
    assert not sizes.may_exceed(2000, None, (), messages[:1])
    assert not sizes.may_exceed(2000, None, (), [Message.user("come"), *messages[:1]])
