"""Detection of a model's format of calls: its own template renders a call, and the first format that reads it back is
the model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from edgeagent.errors import ModelError
from edgeagent.llm.openai_form import as_chat
from edgeagent.llm.parsers import FORMATS, CallFormat
from edgeagent.llm.protocol import ToolCallEnd
from edgeagent.llm.stream_gate import StreamGate
from edgeagent.llm.template import ChatTemplate
from edgeagent.messages import Message, ToolCall

_SAMPLE: Final = ToolCall(
    "a1b2c3d4e", "sample_tool", {"sample": "word"}
)  # strict templates want ids of nine characters
_REPLY: Final = "\u00a7"  # no template's call begins like this


def detect_format(template: ChatTemplate) -> CallFormat | None:
    """The format that a model with this chat template writes; None when none of ours.

    A template that renders no call (some tell the model about calls and leave writing them to the app) is judged by
    the markers in its source; formats without a marker can't be told from that.
    """
    written = written_by(template, [_SAMPLE])
    fitting = [known for known in FORMATS if known.matches(template.source)]
    if written is None:
        return next((known for known in fitting if known.openers), None)
    return next((known for known in fitting if _reads(known, written)), None)


def written_by(template: ChatTemplate, calls: Sequence[ToolCall]) -> str | None:
    """Render these calls as an assistant writes them; None when the template shows nothing of them, or fails."""
    try:
        plain = _render(template, Message.assistant(_REPLY))
        called = _render(template, Message.assistant("", calls))
    except ModelError:
        return None
    begins = next((at for at, (one, other) in enumerate(zip(plain, called, strict=False)) if one != other), len(called))
    return called[begins:] if calls[0].name in called[begins:] else None


def _render(template: ChatTemplate, reply: Message) -> str:
    messages = [Message.user("go"), reply]
    return template.render(
        lambda as_text: as_chat(None, messages, str, arguments_as_text=as_text), [], thinking=None, bos="", eos=""
    )


def _reads(known: CallFormat, text: str) -> bool:
    gate = StreamGate(known)
    calls = [event.call for event in (*gate.feed(text), *gate.finish()) if isinstance(event, ToolCallEnd)]
    return [(call.name, call.arguments) for call in calls] == [(_SAMPLE.name, _SAMPLE.arguments)]
