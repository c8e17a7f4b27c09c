"""First replies of real models, recorded without any rule: what the chain makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from edgeagent.english import Phrases, may_ask
from edgeagent.hooks import changes
from edgeagent.llm import (
    DEFAULT_GATE,
    HERMES,
    End,
    LLMEvent,
    StreamGate,
    TextDelta,
    ToolCallEnd,
    call_threshold,
    read_reply,
)
from edgeagent.models import CallGate, language_models
from edgeagent.tools import coerce
from tests.llm.recorded_replies import RecordedReply, models, replies

Calls = list[tuple[str, dict[str, Any]]]
RIGHT: Final = {"nano": 0, "qwen2.5-coder-0.5b": 17, "qwen2.5-coder-1.5b": 28, "smollm2-135m": 0}
"""First replies with exactly the right calls, of the 40 that should call. The rest are the models' own mistakes."""

GUARDED: Final = {"qwen2.5-coder-0.5b": (17, 1), "qwen2.5-coder-1.5b": (27, 1)}
"""Of the 40 commands those that are still done right, and of the 20 others those that still do something, behind the
gate on the first token and the guard against talk."""

CODE: Final = re.compile(r"```python\n.*?(?:```|$)", re.DOTALL)
"""An example in a language: it calls nothing, and is shown as it is."""


def read(reply: RecordedReply, size: int) -> tuple[str, Calls, End]:
    """The text that is told, the calls and the end of a recorded reply that comes in pieces of a size."""

    def stream() -> Iterator[LLMEvent]:
        gate = StreamGate(HERMES)
        for at in range(0, len(reply.raw), size):
            yield from gate.feed(reply.raw[at : at + size])
        yield from gate.finish()
        yield End("tool_calls" if gate.called else "stop")

    told = ""
    calls: Calls = []
    for event in read_reply(stream(), reply.request):
        match event:
            case TextDelta(text):
                told += text
            case ToolCallEnd(call):
                calls.append((call.name, call.arguments))
            case End():
                return told, calls, event
    raise AssertionError("no end")


def is_right(reply: RecordedReply, calls: Calls) -> bool:
    """True for the right names and arguments, whatever their capitals."""

    def plain(made: Any) -> Any:
        return [[name, {key: str(value).casefold() for key, value in values.items()}] for name, values in made]

    return any(plain(calls) == plain(right) for right in reply.right)


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("model", models())
def test_no_real_reply_shows_a_call(model: str, size: int) -> None:
    for reply in replies(model):
        told, _, _ = read(reply, size)
        prose = CODE.sub("", told)
        assert '"arguments"' not in prose, reply
        assert '"parameters"' not in prose, reply


@pytest.mark.parametrize("model", models())
def test_the_pieces_of_a_real_reply_make_no_difference(model: str) -> None:
    for reply in replies(model):
        (told, calls, end), (whole, same, other) = read(reply, 3), read(reply, 1000)
        assert (told, calls) == (whole, same)
        assert (end.hidden and end.hidden.outcome) == (other.hidden and other.hidden.outcome)


@pytest.mark.parametrize("model", models())
def test_what_is_called_names_a_tool_and_fits_it(model: str) -> None:
    for reply in replies(model):
        parameters = {tool.name: tool.parameters for tool in reply.request.tools}
        _, calls, end = read(reply, 1000)
        for name, arguments in calls if end.hidden and end.hidden.outcome == "called" else ():
            coerce(arguments, parameters[name])


@pytest.mark.parametrize(("model", "right"), RIGHT.items())
def test_what_stands_in_a_reply_is_found(model: str, right: int) -> None:
    calling = [reply for reply in replies(model) if reply.right != [[]]]
    assert len(calling) == 40
    assert sum(is_right(reply, read(reply, 1000)[1]) for reply in calling) == right


def runs(reply: RecordedReply, calls: Calls, gate: CallGate) -> bool:
    """True if a recorded reply does something behind the gate and the guard."""
    tools = {tool.name: tool for tool in reply.request.tools}
    called = [tools[name] for name, _ in calls if name in tools]
    probability = sum(share for token, share in reply.first if token.strip()[:1] in ("{", "[", "`", "<"))
    acting = call_threshold(gate, reply.request)
    least = min(gate.reading, acting) if all(tool.traits.read_only for tool in called) else acting
    asked = may_ask(reply.said, Phrases(())) or not any(map(changes, called))
    return bool(called) and probability >= least and asked


@pytest.mark.parametrize(("model", "figures"), GUARDED.items())
def test_the_gate_and_the_guard_keep_commands_and_few_false_calls(model: str, figures: tuple[int, int]) -> None:
    gate = language_models()[model].call_gate or DEFAULT_GATE
    right = false = 0
    for reply in replies(model):
        _, calls, end = read(reply, 1000)
        done = runs(reply, calls, gate) and (end.hidden is None or end.hidden.outcome == "called")
        right += done and reply.right != [[]] and is_right(reply, calls)
        false += done and reply.right == [[]]
    assert (right, false) == figures


def test_what_nano_writes_is_read_by_its_own_format_alone() -> None:
    for reply in replies("nano"):
        gate = StreamGate(HERMES)
        events = [*gate.feed(reply.raw), *gate.finish()]
        told, calls, end = read(reply, 1000)
        assert end.hidden is None
        assert told == "".join(event.text for event in events if isinstance(event, TextDelta))
        assert calls == [(event.call.name, event.call.arguments) for event in events if isinstance(event, ToolCallEnd)]
