"""Replies that are calls in another form than the model's own: run, shown to the model as invalid, or never told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    FirePoint,
    Hook,
    HookResult,
    Message,
    Options,
    RunControl,
    RunResult,
    Session,
    ToolCall,
    tool,
)
from edgeagent.events import MessageUpdate
from edgeagent.hooks import AfterLLM, BaseHook
from edgeagent.llm import End, LLMEvent, LLMRequest, TextDelta
from edgeagent.testing import ScriptedLLM

DRIVE = '{"name": "drive", "arguments": {"distance_m": 2}}'
UNKNOWN = '{"name": "good night", "arguments": {}}'
MISFIT = '{"name": "drive", "arguments": {"distance_m": "far"}}'
COULD_NOT = "I could not do that."


class AfterReply(BaseHook):
    """Rewrites replies."""

    points = frozenset({FirePoint.AFTER_LLM})

    def __init__(self, rewritten: Callable[[AfterLLM], AfterLLM]) -> None:
        self._rewritten = rewritten

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterLLM) -> HookResult | None:
        return HookResult.replace(self._rewritten(payload))


class Rover:
    """A robot that counts, and all that a person saw of its replies."""

    def __init__(self, *replies: str, options: Options | None = None, hooks: Sequence[Hook] = ()) -> None:
        self.driven: list[float] = []
        self.shown = ""
        self.llm = ScriptedLLM(*replies)

        @tool
        def drive(distance_m: float) -> str:
            """Drive straight."""
            self.driven.append(distance_m)
            return f"drove {distance_m:g} m"

        @tool
        def stop() -> str:
            """Stop."""
            return "stopped"

        self.agent = Agent("rover", llm=self.llm, tools=[drive, stop], options=options, hooks=hooks)
        self.agent.subscribe(self._see)

    def _see(self, event: object) -> None:
        if isinstance(event, MessageUpdate) and event.channel == "text":
            self.shown += event.delta

    def asked(self, said: str = "go") -> RunResult:
        result = self.agent.run(said)
        assert self.llm.remaining == 0
        return result


def test_a_call_in_a_fence_is_run_as_any_other() -> None:
    rover = Rover(f"```json\n{DRIVE}\n```", "I drove 2 m.")
    result = rover.asked()
    assert rover.driven == [2]
    assert (result.reply, rover.shown) == ("I drove 2 m.", "I drove 2 m.")
    asked = result.messages[1]
    assert (asked.text, asked.stop_reason, asked.raw) == ("", "tool_calls", f"```json\n{DRIVE}\n```")


def test_an_unknown_name_is_answered_in_words_with_one_more_turn_without_tools() -> None:
    rover = Rover(UNKNOWN, "Good night!")
    result = rover.asked("good night")
    assert (result.reply, rover.shown, result.reason) == ("Good night!", "Good night!", "completed")
    first, second = rover.llm.requests
    assert (first.tool_choice, second.tool_choice) == ("auto", "none")
    assert [tool.name for tool in second.tools] == [tool.name for tool in first.tools]
    assert second.messages[-1].text == "Answer in words."
    assert [(m.role, m.text, m.raw) for m in result.messages] == [
        ("user", "good night", None),
        ("assistant", "", UNKNOWN),
        ("assistant", "Good night!", None),
    ]


def test_a_hook_may_have_words_instead_of_calls() -> None:
    hook = AfterReply(lambda said: replace(said, tool_calls=(), in_words=bool(said.tool_calls)))
    rover = Rover(DRIVE, "It is lovely here.", hooks=[hook])
    result = rover.asked("the sun is out")
    assert (rover.driven, result.reply, rover.shown) == ([], "It is lovely here.", "It is lovely here.")
    assert [request.tool_choice for request in rover.llm.requests] == ["auto", "none"]


def test_a_model_that_calls_though_words_were_asked_for_is_asked_once() -> None:
    hook = AfterReply(lambda said: replace(said, text="", tool_calls=(), in_words=True))
    rover = Rover(DRIVE, DRIVE, hooks=[hook])
    assert (rover.asked().reply, rover.driven) == (COULD_NOT, [])


def test_a_call_that_is_written_again_instead_of_its_result_is_answered_in_words() -> None:
    rover = Rover(DRIVE, DRIVE, "I drove 2 m.")
    result = rover.asked()
    assert (rover.driven, result.reply) == ([2], "I drove 2 m.")
    assert [request.tool_choice for request in rover.llm.requests] == ["auto", "auto", "none"]


def test_the_same_call_counts_after_another_one_and_when_it_is_asked_for_again() -> None:
    rover = Rover(DRIVE, '{"name": "stop", "arguments": {}}', DRIVE, "done", DRIVE, "done")
    with Session(rover.agent) as session:
        session.step("go, stop, go")
        session.step("go again")
    assert rover.driven == [2, 2, 2]


def test_that_turn_counts_as_a_model_call() -> None:
    rover = Rover(UNKNOWN, options=Options(max_turns=1))
    result = rover.asked()
    assert (result.reason, result.reply, rover.shown) == ("budget", "I could not finish that.", "")


def test_what_is_said_meanwhile_may_call_again() -> None:
    rover = Rover("", "")
    rover.llm = ScriptedLLM(lambda request: (rover.agent.steer("drive 2 m"), UNKNOWN)[1], DRIVE, "done")
    agent = Agent("rover", llm=rover.llm, tools=list(rover.agent.tools))
    rover.agent = agent
    assert agent.run("good night").reply == "done"
    assert [request.tool_choice for request in rover.llm.requests] == ["auto", "auto", "auto"]
    assert rover.driven == [2]


def test_a_misfit_is_an_invalid_call_that_the_model_sees() -> None:
    rover = Rover(MISFIT, DRIVE, "I drove 2 m.")
    result = rover.asked()
    (misfit, drove) = result.tool_calls
    assert misfit.result is not None
    assert (misfit.result.status, misfit.result.text) == (
        "invalid",
        'invalid arguments: distance_m: should be a number, not "far"',
    )
    assert drove.result is not None
    assert drove.result.status == "ok"
    assert (rover.driven, result.reply, rover.shown) == ([2], "I drove 2 m.", "I drove 2 m.")
    assert "far" in rover.llm.requests[1].messages[-1].text


def test_one_that_does_not_fit_keeps_the_others_from_running() -> None:
    rover = Rover(f"{DRIVE}\n{MISFIT}", "I did not drive.")
    result = rover.asked()
    statuses = [made.result.status for made in result.tool_calls if made.result]
    assert (rover.driven, statuses) == ([], ["not_run", "invalid"])


@pytest.mark.parametrize(("first", "second"), [(MISFIT, MISFIT), (UNKNOWN, UNKNOWN), (MISFIT, UNKNOWN)])
def test_a_second_hidden_reply_ends_in_a_sentence(first: str, second: str) -> None:
    rover = Rover(first, second)
    result = rover.asked()
    assert (result.reply, rover.shown, result.reason) == (COULD_NOT, COULD_NOT, "completed")
    assert rover.driven == []
    last = result.messages[-1]
    assert (last.text, last.raw, last.tool_calls) == (COULD_NOT, second, ())


def test_a_second_hidden_reply_that_was_cut_does_not_go_on() -> None:
    rover = Rover("", "")
    rover.llm = ScriptedLLM(UNKNOWN, {"text": DRIVE[:-2], "stop": "length"})
    agent = Agent("rover", llm=rover.llm, tools=list(rover.agent.tools))
    assert agent.run("go").reply == COULD_NOT


def test_words_that_become_a_call_without_tools_end_in_a_sentence() -> None:
    rover = Rover(UNKNOWN, DRIVE)
    assert (rover.asked().reply, rover.driven) == (COULD_NOT, [])


def test_where_the_app_allows_no_calls_the_model_answers_in_words() -> None:
    rover = Rover(DRIVE, "No.", options=Options(tool_choice="none"))
    assert (rover.asked().reply, rover.driven) == ("No.", [])


def test_a_call_inside_a_sentence_is_neither_shown_nor_run() -> None:
    reply, shown = f"The correct call should be {DRIVE}.", "The correct call should be."
    rover = Rover(reply)
    result = rover.asked()
    assert (result.reply, rover.shown, rover.driven, result.messages[-1].raw) == (shown, shown, [], reply)


def test_a_quoted_call_without_a_word_is_answered_in_words() -> None:
    rover = Rover(f'"{DRIVE}"', "I can do it.")
    assert (rover.asked().reply, rover.shown, rover.driven) == ("I can do it.", "I can do it.", [])
    assert [request.tool_choice for request in rover.llm.requests] == ["auto", "none"]


def test_a_second_reply_without_a_word_ends_in_a_sentence() -> None:
    rover = Rover(UNKNOWN, f"- {DRIVE}")
    assert (rover.asked().reply, rover.driven) == (COULD_NOT, [])


def test_the_last_call_of_a_budget_is_no_place_for_another_turn() -> None:
    rover = Rover(DRIVE, DRIVE, options=Options(max_turns=1, on_budget="final_answer"))
    result = rover.asked()
    assert (result.reason, result.reply, rover.shown, rover.driven) == ("budget", COULD_NOT, COULD_NOT, [2])


@pytest.mark.parametrize("hidden", [UNKNOWN, DRIVE])
def test_words_after_the_last_hop_need_no_further_one(hidden: str) -> None:
    rover = Rover(DRIVE, hidden, "I drove 2 m.", options=Options(max_tool_hops=1))
    result = rover.asked()
    assert (result.reason, result.reply, rover.driven) == ("completed", "I drove 2 m.", [2])


def test_a_hook_may_say_something_instead_of_a_hidden_reply() -> None:
    rover = Rover(UNKNOWN, hooks=[AfterReply(lambda reply: replace(reply, text="Sleep well!"))])
    assert (rover.asked().reply, rover.shown) == ("Sleep well!", "Sleep well!")


def test_a_hook_may_call_instead_of_a_hidden_reply_and_the_model_may_go_on_calling() -> None:
    def mended(reply: AfterLLM) -> AfterLLM:
        known = ToolCall("call", "drive", {"distance_m": 1.0})
        return replace(reply, tool_calls=[known]) if reply.hop == 0 else reply

    rover = Rover(UNKNOWN, DRIVE, "I drove 3 m.", hooks=[AfterReply(mended)])
    assert (rover.asked().reply, rover.driven) == ("I drove 3 m.", [1, 2])


def test_a_hook_may_mend_a_misfit() -> None:
    def mended(reply: AfterLLM) -> AfterLLM:
        calls = [replace(call, arguments={"distance_m": 3.0}) for call in reply.tool_calls]
        return replace(reply, tool_calls=calls)

    rover = Rover(MISFIT, "I drove 3 m.", hooks=[AfterReply(mended)])
    assert (rover.asked().reply, rover.driven) == ("I drove 3 m.", [3])


def test_a_hook_that_leaves_the_misfit_keeps_the_others_from_running() -> None:
    same = AfterReply(lambda reply: replace(reply, tool_calls=[call.copy() for call in reply.tool_calls]))
    rover = Rover(f"{DRIVE}\n{MISFIT}", "I did not drive.", hooks=[same])
    rover.asked()
    assert rover.driven == []


def test_a_cut_call_is_not_run() -> None:
    rover = Rover("", "")
    rover.llm = ScriptedLLM({"text": DRIVE[:-2], "stop": "length"}, "It was too long.")
    agent = Agent("rover", llm=rover.llm, tools=list(rover.agent.tools))
    result = agent.run("go")
    (call,) = result.tool_calls
    assert call.result is not None
    assert (call.result.status, result.reply, rover.driven) == ("not_run", "It was too long.", [])


def test_what_was_hidden_is_not_sent_back_and_stays_in_the_journal(tmp_path: Path) -> None:
    rover = Rover(UNKNOWN, "Good night!", "Yes?")
    with Session(rover.agent, path=tmp_path / "journal") as session:
        session.step("good night")
        session.step("hello")
    assert [message.text for message in rover.llm.requests[-1].messages] == ["good night", "", "Good night!", "hello"]
    with Session.open(tmp_path / "journal", rover.agent) as session:
        assert [message.raw for message in session.messages()] == [None, UNKNOWN, None, None, None]


def test_an_abort_while_text_is_held_shows_nothing() -> None:
    class Interrupted(ScriptedLLM):
        def stream(self, request: LLMRequest, stop_event: Event) -> Iterator[LLMEvent]:
            yield TextDelta('{"name": "drive", "argu')
            agent.abort()
            yield End("aborted" if stop_event.is_set() else "stop")

    agent = Agent("rover", llm=Interrupted(), tools=[tool(len_of)])
    seen: list[MessageUpdate] = []
    agent.subscribe(lambda event: seen.append(event) if isinstance(event, MessageUpdate) else None)
    result = agent.run("go")
    assert (result.reason, result.reply, seen) == ("aborted", "", [])
    assert [message.role for message in result.messages] == ["user"]


def len_of(text: str) -> int:
    """Count letters."""
    return len(text)


def test_another_strategy_gets_words_too() -> None:
    class Once:
        def run(self, run: RunControl, message: Message | None) -> None:
            replies.append(run.complete())

    replies: list[Message] = []
    rover = Rover(UNKNOWN, "Good night!", options=Options(orchestrator=Once()))
    assert rover.asked().reply == "Good night!"
    assert [reply.text for reply in replies] == ["Good night!"]
