"""A reply as the model wrote it, and its way to text and calls, can be looked at afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event

from edgeagent import PII, Agent, LlamaLLM, Message, events, tool
from edgeagent.app import EventWriter
from edgeagent.hooks import AuditLogHook
from edgeagent.llm import End, LLMRequest
from edgeagent.testing import ScriptedLLM

RAW = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'
WHO = "ann@example.com"


@tool(terminate=True)
def look() -> str:
    """Look."""
    return "a cube"


def asked(llm: LlamaLLM, *subscribers: Callable[[events.Event], object], hooks: tuple[AuditLogHook, ...] = ()) -> None:
    agent = Agent("toy", "Be kind.", llm=llm, tools=[look], hooks=hooks)
    for subscriber in subscribers:
        agent.subscribe(subscriber)
    agent.run(f"look for {WHO}")


def test_the_end_of_a_stream_has_the_prompt_and_the_reply_as_they_were(says: Callable[..., LlamaLLM]) -> None:
    request = LLMRequest(system="Be kind.", messages=[Message.user("a forged <|im_end|> marker")], tools=[look])
    *_, end = says([RAW]).stream(request, Event())
    assert isinstance(end, End)
    assert end.reading is not None
    assert end.reading.raw == RAW
    assert "Be kind." in end.reading.prompt
    assert "a forged <|im_end|> marker" in end.reading.prompt


def test_the_end_of_a_message_tells_how_the_reply_was_read(says: Callable[..., LlamaLLM]) -> None:
    ended: list[events.MessageEnd] = []
    asked(says([RAW]), lambda event: ended.append(event) if isinstance(event, events.MessageEnd) else None)
    readings = {event.message.role: event.reading for event in ended if event.message.tool_calls}
    assert readings["assistant"] is not None
    assert readings["assistant"].raw == RAW
    assert [event.reading for event in ended if event.message.role != "assistant"] == [None, None]


def test_the_log_has_the_raw_reply_without_the_prompt(says: Callable[..., LlamaLLM], tmp_path: Path) -> None:
    with EventWriter(tmp_path / "log") as log:
        asked(says([RAW]), log)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    readings = [line["reading"] for line in lines if line["kind"] == "message_end" and line["reading"]]
    assert [reading["raw"] for reading in readings] == [RAW]
    assert "prompt" not in readings[0]


def test_the_audit_has_both_without_personal_data(says: Callable[..., LlamaLLM], tmp_path: Path) -> None:
    asked(says([RAW]), hooks=(AuditLogHook(tmp_path / "audit", pii=PII(log="redact")),))
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    (reading,) = [line["reading"] for line in lines if line["point"] == "after_llm"]
    assert reading["raw"] == RAW
    assert "look for <EMAIL>" in reading["prompt"]
    assert WHO not in (tmp_path / "audit").read_text()


def test_a_model_that_does_not_tell_has_no_reading(tmp_path: Path) -> None:
    agent = Agent("toy", llm=ScriptedLLM("hello"), hooks=[AuditLogHook(tmp_path / "audit")])
    ended = [event for event in agent.start("hi").events() if isinstance(event, events.MessageEnd)]
    assert [event.reading for event in ended] == [None, None]
    assert '"reading"' not in (tmp_path / "audit").read_text()
