"""How a model writes its calls, as its own template tells: render a call, and see which format reads it back."""

from __future__ import annotations

from typing import Final

from edgeagent.errors import ModelError
from edgeagent.llm.chat import as_chat
from edgeagent.llm.gate import StreamGate
from edgeagent.llm.parsers import FORMATS, CallFormat
from edgeagent.llm.template import ChatTemplate
from edgeagent.llm.types import ToolCallEnd
from edgeagent.messages import Message, ToolCall

_SAMPLE: Final = ToolCall("a1b2c3d4e", "sample_tool", {"sample": 7})  # strict templates want ids of nine characters


def detect_format(template: ChatTemplate) -> CallFormat | None:
    """The format that a model with this chat template writes; None when none of ours."""
    return next((known for known in FORMATS if known.matches(template.source) and _reads(known, template)), None)


def _reads(known: CallFormat, template: ChatTemplate) -> bool:
    messages = [Message.user("go"), Message.assistant("", [_SAMPLE])]
    try:
        text = template.render(
            lambda as_text: as_chat(None, messages, str, arguments_as_text=as_text), [], thinking=False, bos="", eos=""
        )
    except ModelError:
        return True  # it can't be asked, and its source has what the format needs
    gate = StreamGate(known)
    calls = [event.call for event in (*gate.feed(text), *gate.finish()) if isinstance(event, ToolCallEnd)]
    return any((call.name, call.arguments) == (_SAMPLE.name, _SAMPLE.arguments) for call in calls)
