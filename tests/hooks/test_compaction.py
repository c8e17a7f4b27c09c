"""A history is made shorter at exchanges only, and what is cut is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import Message, ToolCall, ToolResult
from edgeagent.hooks import LEFT_OUT, SUMMARY, compact, exchanges, summary_of, truncated

SYSTEM_WORDS = 7
WORTH_CHARS = 2 * len(LEFT_OUT)


def words(messages: Sequence[Message]) -> int:
    """The tokens of a model that takes each word for one."""
    called = [f"{call.name} {call.arguments}" for message in messages for call in message.tool_calls]
    return SYSTEM_WORDS + sum(len(text.split()) for text in [*called, *(message.text for message in messages)])


def used(name: str, text: str, number: int, /, **arguments: Any) -> list[Message]:
    """A reply that calls a tool, and its result."""
    call = ToolCall(f"call_{number}", name, arguments)
    return [Message.assistant("", [call]), Message.tool(ToolResult(call.id, name, "ok", text))]


def talk(n: int, size: int = 20) -> list[Message]:
    """An exchange of about twice so many words."""
    return [Message.user(f"question {n} " + "word " * size), Message.assistant(f"answer {n} " + "word " * size)]


def flat(groups: Sequence[Sequence[Message]]) -> list[Message]:
    return [message for group in groups for message in group]


# --- exchanges ------------------------------------------------------------------------------------------------------


def test_an_exchange_begins_where_a_person_asks_or_follows_up() -> None:
    messages = [
        Message.user("summary", origin="summary"),
        Message.user("one"),
        Message.assistant("1"),
        Message.user("no, left", origin="steering"),
        Message.user("temp=21", origin="ephemeral"),
        Message.user("go on", origin="continuation"),
        Message.user("careful", origin="warning"),
        Message.user("interrupted", origin="marker"),
        Message.user("from the other", origin="handoff"),
        Message.user("two", origin="follow_up"),
        Message.assistant("2"),
    ]
    assert [len(group) for group in exchanges(messages)] == [1, 8, 2]
    assert flat(exchanges(messages)) == messages


def test_no_messages_have_no_exchanges() -> None:
    assert exchanges([]) == []
    assert compact([], words, 10, target_tokens=5) == []
    assert truncated([], 3) == []


def test_a_call_is_not_parted_from_its_result_by_what_somebody_says_between() -> None:
    asked, result = used("look", "nothing", 1)
    messages = [Message.user("one"), asked, Message.user("two"), result, Message.user("three")]
    assert [len(group) for group in exchanges(messages)] == [4, 1]


def test_exchanges_are_told_apart_though_a_builder_uses_an_id_of_a_call_again() -> None:
    messages = flat([[Message.user("look"), *used("look", "nothing", 1)] for _ in range(3)])
    assert [len(group) for group in exchanges(messages)] == [3, 3, 3]


def test_truncation_keeps_the_last_exchanges_whole() -> None:
    one, two, three = talk(1), [Message.user("two"), *used("look", "nothing", 1), Message.assistant("2")], talk(3)
    messages = [*one, *two, *three]
    assert truncated(messages, 1) == three
    assert truncated(messages, 2) == [*two, *three]


def test_truncation_to_nothing_or_to_more_than_there_is_changes_nothing() -> None:
    messages = [summary_of(["- user: hi"]), *talk(1), *talk(2)]
    assert [truncated(messages, n) for n in (-1, 0, 2, 9)] == [messages] * 4
    assert truncated(messages, 1) == messages[3:]


# --- compaction -----------------------------------------------------------------------------------------------------


def test_what_fits_stays_as_it_is() -> None:
    messages = talk(1)
    assert compact(messages, words, 200, target_tokens=words(messages)) == messages


def test_old_exchanges_become_one_summary_and_new_ones_stay() -> None:
    messages = flat([talk(n) for n in range(10)])
    after = compact(messages, words, 400, target_tokens=200)
    assert (after[0].role, after[0].origin) == ("user", "summary")
    assert after[1:] == messages[-len(after) + 1 :]
    assert len(after) >= 1 + 2 * 2
    assert words(after) <= 200
    assert sum(message.origin == "summary" for message in after) == 1


def test_a_summary_says_what_was_asked_what_ran_and_what_was_answered() -> None:
    first = [
        Message.user("go to the\nkitchen"),
        *used("go_to", "arrived " + "word " * 100, 1, place="kitchen"),
        Message.user("no, the bedroom", origin="steering"),
        *used("go_to", "blocked", 2, place="bedroom"),
        Message.assistant("I am stuck."),
    ]
    first[5] = replace(first[5], status="error")
    after = compact([*first, *talk(1, 200)], words, 900, target_tokens=500)
    assert after[0].text == (
        f"{SUMMARY}\n- user: go to the kitchen / no, the bedroom; "
        'go_to(place="kitchen"): ok; go_to(place="bedroom"): error; assistant: I am stuck.'
    )


def test_long_texts_arguments_and_lists_of_calls_are_short_in_a_summary() -> None:
    calls = flat([used("write", "done", n, text="w" * 500) for n in range(50)])
    messages = [Message.user("x" * 5000), *calls, Message.assistant("y" * 5000), *talk(1, 700)]
    after = compact(messages, words, 3000, target_tokens=1500)
    assert after[0].text.endswith("…")
    assert "44 more calls" in after[0].text
    assert len(after[0].text) < 1000


def test_arguments_that_nobody_parsed_are_shown_as_they_came() -> None:
    asked = Message.assistant("", [ToolCall("c", "go", {}, '{"to": ')])
    messages = [Message.user("go " + "word " * 100), asked, *talk(1, 200)]
    after = compact(messages, words, 900, target_tokens=500)
    assert 'go({"to":): no result' in after[0].text


def test_an_earlier_summary_is_carried_on_and_its_oldest_lines_go_first() -> None:
    old = summary_of([f"- user: fact {i} " + "word " * 10 for i in range(30)])
    after = compact([old, *talk(0, 1), *talk(1, 83)], words, 300, target_tokens=240)
    lines = after[0].text.splitlines()
    assert lines[0] == SUMMARY
    assert [line.split()[3] for line in lines[1:-1]] == ["27", "28", "29"]
    assert lines[-1] == "- user: question 0 word; assistant: answer 0 word"
    assert words(after) <= 240
    assert words(after[:1]) - SYSTEM_WORDS <= 240 // 4
    assert after[1:] == compact(after, words, 300, target_tokens=240)[1:]


def test_a_small_summary_has_one_short_line() -> None:
    after = compact([*talk(0, 60), *talk(1, 20)], words, 120, target_tokens=80)
    assert after[0].text.startswith(f"{SUMMARY}\n- user: question 0 word")
    assert after[0].text.endswith("…")
    assert words(after) <= 80


def test_the_oldest_results_of_the_newest_exchange_go_when_it_is_too_long_alone() -> None:
    results = [used("look", f"seen {n} " + "word " * 50, n) for n in range(4)]
    messages = [*talk(1), Message.user("what is there?"), *flat(results), Message.assistant("much")]
    after = compact(messages, words, 400, target_tokens=150)
    left = [message for message in after if message.role == "tool"]
    assert [message.text == LEFT_OUT for message in left] == [True, True, False, False]
    assert [(message.call_id, message.name, message.status) for message in left] == [
        (f"call_{n}", "look", "ok") for n in range(4)
    ]
    assert words(after) <= 150


def test_a_result_that_is_not_answered_yet_goes_only_where_the_budget_would_not_hold_it() -> None:
    messages = [
        Message.user("look"),
        *used("look", "old " + "word " * 50, 1),
        *used("look", "new " + "word " * 100, 2),
    ]
    over_target = compact(messages, words, 200, target_tokens=100)
    assert [message.text for message in over_target if message.role == "tool"] == [LEFT_OUT, messages[-1].text]
    over_budget = compact(messages, words, 100, target_tokens=50)
    assert [message.text for message in over_budget if message.role == "tool"] == [LEFT_OUT] * 2


def test_what_cannot_be_made_shorter_is_returned_as_it_is() -> None:
    newest = Message.user("word " * 500)
    assert compact([*talk(1), newest], words, 100, target_tokens=50) == [newest]


def test_counting_is_done_few_times() -> None:
    counted = 0

    def counts(messages: Sequence[Message]) -> int:
        nonlocal counted
        counted += 1
        return words(messages)

    compact(flat([talk(n) for n in range(500)]), counts, 4000, target_tokens=2000)
    assert counted <= 25


@pytest.mark.parametrize("target", [100, 500, 2000])
def test_the_cost_does_not_grow_with_the_history(target: int) -> None:
    """Counted in calls, and in characters that are tokenised."""

    def cost(exchanges: int) -> tuple[int, int]:
        shown: list[int] = []

        def counts(messages: Sequence[Message]) -> int:
            shown.append(sum(len(message.text) for message in messages))
            return words(messages)

        history = [summary_of(["- user: hi"]), *flat([talk(n) for n in range(exchanges)])]
        after = compact(history, counts, 2 * target, target_tokens=target)
        assert words(after) <= target
        return len(shown), sum(shown)

    (few_calls, few_chars), (many_calls, many_chars) = cost(500), cost(5_000)
    assert many_calls <= few_calls + 2
    assert many_chars <= 1.1 * few_chars


def test_a_limit_above_the_target_leaves_alone_what_has_no_more() -> None:
    messages = flat([talk(n) for n in range(10)])
    whole = words(messages)
    assert compact(messages, words, 900, target_tokens=200, above=whole) == messages
    assert words(compact(messages, words, 900, target_tokens=200, above=whole - 1)) <= 200


def test_long_words_do_not_make_a_history_seem_longer_than_it_is() -> None:
    messages = [message for n in range(40) for message in (Message.user("w" * 200), Message.assistant(str(n)))]
    assert compact(messages, words, 900, target_tokens=words(messages)) == messages
    after = compact(messages, words, 900, target_tokens=60)
    assert after[-2:] == messages[-2:]
    assert words(after) <= 60


# --- any history ----------------------------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """What a session may hold: exchanges with steering and calls, and a summary before them; the last may be open."""
    text = st.integers(1, 60).map(lambda n: "word " * n)
    messages = [summary_of(draw(st.lists(text.map("- ".__add__), min_size=1)))] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 8))):
        messages.append(Message.user(draw(text), origin=draw(st.sampled_from(["user", "follow_up"]))))
        for step in range(draw(st.integers(0, 3))):
            calls = [ToolCall(f"c{turn}.{step}.{i}", "look", {"n": i}) for i in range(draw(st.integers(1, 3)))]
            messages.append(Message.assistant("", calls))
            messages += [Message.tool(ToolResult(call.id, "look", "ok", draw(text))) for call in calls]
            if draw(st.booleans()):
                messages.append(Message.user(draw(text), origin="steering"))
        if draw(st.booleans()):
            messages.append(Message.assistant(draw(text)))
    return messages


def least(group: Sequence[Message]) -> int:
    """The words of an exchange without the results that the model has answered."""
    answered = max((i for i, message in enumerate(group) if message.role == "assistant"), default=-1)
    return words(
        [
            replace(message, text=LEFT_OUT)
            if message.role == "tool" and i < answered and len(message.text) > WORTH_CHARS
            else message
            for i, message in enumerate(group)
        ]
    )


@given(histories(), st.integers(10, 500), st.integers(0, 500))
def test_any_history_keeps_its_order_its_pairs_and_its_newest_question(
    messages: list[Message], target: int, more: int
) -> None:
    after = compact(messages, words, target + more, target_tokens=target)
    kept = [message for message in after if message in messages or message.role == "tool"]
    order = [message.id for message in messages]
    assert [order.index(message.id) for message in kept] == sorted(order.index(message.id) for message in kept)
    assert len(after) - len(kept) <= 1
    assert [message for message in messages if message.role == "user"][-1] in after
    assert all(message.origin != "summary" for message in after[1:])

    called = [call.id for message in after for call in message.tool_calls]
    answered = [message.call_id for message in after if message.role == "tool"]
    assert called == answered


@given(histories(), st.integers(10, 500), st.integers(0, 500))
def test_any_history_gets_as_short_as_it_should_where_it_can(messages: list[Message], target: int, more: int) -> None:
    after = compact(messages, words, target + more, target_tokens=target)
    if least(exchanges(messages)[-1]) <= target:
        assert words(after) <= target
    assert words(after) <= max(words(messages), target + more)


@given(histories(), st.integers(10, 500), st.integers(0, 500))
def test_doing_it_again_changes_nothing_and_doing_it_twice_gives_the_same(
    messages: list[Message], target: int, more: int
) -> None:
    after = compact(messages, words, target + more, target_tokens=target)
    assert compact(messages, words, target + more, target_tokens=target) == after
    assert compact(after, words, target + more, target_tokens=target) == after


@given(histories(), st.integers(-2, 10))
def test_truncation_of_any_history_keeps_whole_exchanges(messages: list[Message], n: int) -> None:
    kept = truncated(messages, n)
    assert messages[len(messages) - len(kept) :] == kept
    begun = [message for message in kept if message.role == "user" and message.origin in ("user", "follow_up")]
    if len(kept) < len(messages):
        assert len(begun) == n
        assert kept[0] is begun[0]


@pytest.mark.parametrize("target", [0, -10])
def test_a_target_that_nothing_reaches_leaves_the_newest_exchange(target: int) -> None:
    messages = [*talk(1), *talk(2)]
    assert compact(messages, words, 0, target_tokens=target) == messages[2:]
