"""Personal data is replaced before a model sees it, or somebody is told that it was there."""

from __future__ import annotations

from typing import Any

import pytest

from edgeagent import Message, ToolCall, ToolResult
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import AfterTool, BaseHook, BeforeLLM, FirePoint, HookChain, PIIHook, RunStart, ToolOutputCapHook
from edgeagent.pii import PII

MAIL = "ann@example.com"
SAID = f"write to {MAIL}"


class Notices:
    """A context that keeps its notices."""

    def __init__(self, *history: Message) -> None:
        self.texts: list[str] = []
        self.context = AgentContext(history=lambda: history, notice=self._keep)

    def _keep(self, level: str, text: str) -> None:
        assert level == "warning"
        self.texts.append(text)


def start(hook: PIIHook, task: Message | None, context: AgentContext | None = None) -> Message | None:
    context = context or AgentContext()
    fired = HookChain([hook], context).fire(FirePoint.ON_RUN_START, RunStart(task, context))
    kept: Message | None = fired.payload.task
    return kept


def request(hook: PIIHook, *messages: Message, context: AgentContext | None = None) -> list[Message]:
    fired = HookChain([hook], context or AgentContext()).fire(FirePoint.BEFORE_LLM, BeforeLLM(list(messages), [], 1))
    shown: list[Message] = fired.payload.messages
    return shown


def returned(text: str, *hooks: BaseHook, context: AgentContext | None = None) -> ToolResult:
    payload = AfterTool(ToolCall("c", "look_up", {}), ToolResult("c", "look_up", "ok", text, {"mail": MAIL}))
    result: Any = HookChain(hooks, context or AgentContext()).fire(FirePoint.AFTER_TOOL, payload).payload.result
    assert isinstance(result, ToolResult)
    return result


def test_the_task_is_redacted_before_the_run_stores_it() -> None:
    task = Message.user(SAID)
    kept = start(PIIHook(PII(user="redact")), task)
    assert kept is not None
    assert (kept.text, kept.id, kept.origin) == ("write to <EMAIL>", task.id, "user")


def test_off_changes_nothing_and_tells_nobody() -> None:
    notices = Notices()
    task = Message.user(SAID)
    hook = PIIHook(PII())
    assert start(hook, task, notices.context) is task
    assert request(hook, task, context=notices.context) == [task]
    assert returned(SAID, hook, context=notices.context).text == SAID
    assert notices.texts == []


def test_a_run_without_a_task_is_let_through() -> None:
    for mode in ("warn", "redact"):
        assert start(PIIHook(PII(user=mode)), None) is None  # type: ignore[arg-type]


def test_a_warning_names_the_kinds_and_never_the_data() -> None:
    notices = Notices()
    task = Message.user(f"{SAID}, or 192.168.1.20, or {MAIL}")
    assert start(PIIHook(PII(user="warn")), task, notices.context) is task
    (text,) = notices.texts
    assert text.endswith("EMAIL, IP_ADDRESS")
    assert MAIL not in text


def test_a_request_hides_what_people_said_later_and_leaves_the_rest() -> None:
    shown = request(
        PIIHook(PII(user="redact")),
        *(Message.user(SAID, origin=origin) for origin in ("user", "steering", "follow_up", "summary")),
        Message.user(SAID, origin="ephemeral"),
        Message.assistant(SAID),
    )
    assert [message.text for message in shown] == ["write to <EMAIL>"] * 4 + [SAID] * 2


def test_a_request_hides_what_history_still_holds_of_results() -> None:
    """A result of a call that was interrupted, or from before there was a hook, did not come by AFTER_TOOL."""
    result = Message.tool(ToolResult("c", "look", "interrupted", SAID))
    shown = request(PIIHook(PII(tools="redact")), Message.user(SAID), result)
    assert [message.text for message in shown] == [SAID, "write to <EMAIL>"]
    assert request(PIIHook(PII(user="redact")), result) == [result]


def test_each_message_of_a_run_is_warned_of_once() -> None:
    earlier, task, steering = Message.user(SAID), Message.user(SAID), Message.user(SAID, origin="steering")
    notices = Notices(earlier)
    hook = PIIHook(PII(user="warn"))
    start(hook, task, notices.context)
    for _ in range(2):
        assert request(hook, earlier, task, steering, context=notices.context) == [earlier, task, steering]
    assert len(notices.texts) == 2


def test_a_result_is_redacted_and_its_value_kept() -> None:
    result = returned(SAID, PIIHook(PII(tools="redact")))
    assert (result.text, result.value) == ("write to <EMAIL>", {"mail": MAIL})


def test_a_result_is_warned_of() -> None:
    notices = Notices()
    assert returned(SAID, PIIHook(PII(tools="warn")), context=notices.context).text == SAID
    (text,) = notices.texts
    assert "look_up" in text
    assert "EMAIL" in text
    assert MAIL not in text


def test_a_result_is_redacted_before_it_is_cut() -> None:
    """Half an address at the cut would be no address any more, and still tell."""
    text = "x" * 30 + f" {MAIL} " + "y" * 500
    result = returned(text, ToolOutputCapHook(120), PIIHook(PII(tools="redact")))
    assert "<EMAIL>" in result.text
    assert "example" not in result.text


def test_user_and_tools_are_set_apart() -> None:
    hook = PIIHook(PII(user="redact"))
    assert returned(SAID, hook).text == SAID
    kept = start(PIIHook(PII(tools="redact")), Message.user(SAID))
    assert kept is not None
    assert kept.text == SAID


def test_a_failure_lets_nothing_through() -> None:
    assert PIIHook.fail_closed


def test_what_is_no_pii_is_refused() -> None:
    with pytest.raises(ConfigError, match="pii"):
        PIIHook(True)  # type: ignore[arg-type]
