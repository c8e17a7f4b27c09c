"""Replies that models nearly write: calls and prose with letters lost, doubled, exchanged and put in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from edgeagent.llm import CallFormat, StreamGate, TextDelta, ToolCallEnd, format_named
from edgeagent.messages import ToolCall

CALLS = {
    "hermes": '<tool_call>\n{"name": "drive", "arguments": {"distance_m": 2, "to": "the \\"sofa\\""}}\n</tool_call>',
    "xml": "<tool_call>\n<function=drive>\n<parameter=distance_m>\n2\n</parameter>\n</function>\n</tool_call>",
    "pythonic": "<|tool_call_start|>[drive(distance_m=2, to='sofa'), drive(fast=True)]<|tool_call_end|>",
    "llama3": '<|python_tag|>{"name": "drive", "parameters": {"distance_m": 2}}; {"name": "drive", "parameters": {}}',
    "mistral": '[TOOL_CALLS]drive[CALL_ID]abcdefgh1[ARGS]{"distance_m": 2}[TOOL_CALLS][{"name": "drive"}]',
    "gemma": '<|tool_call>call:drive{distance_m:2,to:<|"|>sofa<|"|>,way:[1,{a:true}]}<tool_call|>',
    "functiongemma": "<start_function_call>call:drive{to:<escape>sofa<escape>}<end_function_call>",
    "granite": '<|tool_call|>[{"name": "drive", "arguments": {"distance_m": 2}}]',
    "xlam": '[{"name": "drive", "arguments": {"distance_m": 2}}, {"name": "drive", "arguments": {}}]',
    "json": '{"name": "drive", "arguments": {"distance_m": 2, "to": {"x": [1, null]}}}',
}
PROSE = (
    "I will not call drive(2), and I'm not going to.",
    "Say <tool> or [tool] or {tool}: that is a call, isn't it? 1 < 2 > 0.",
    "<think>should I drive? No.</think>It is 14:05, the kitchen light is on.",
    "My list: [a, b], {c: d}, name: drive, arguments: none.",
)
_PUT_IN = "{}[]()<>|/\\\"'`=:;,. \n\tabdeiru019_&#é🙂\x00"


@dataclass(frozen=True)
class Outcome:
    """What a gate made of a reply."""

    text: str
    calls: list[ToolCall]


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to five small changes."""
    for _ in range(rng.randint(1, 5)):
        at, end = rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[at + rng.randint(1, 3) :]
            case 1:
                text = text[:at] + rng.choice(_PUT_IN) + text[at:]
            case 2:
                text = text[:at] + text[at : at + 12] + text[at:]
            case 3:
                text = text[: max(at, 1)]
            case 4:
                at, end = sorted((at, end))
                text = text[:at] + text[at:end][::-1][:6] + text[end:]
    return text


def replies(count: int, seed: int) -> Iterator[tuple[CallFormat, str, bool]]:
    """Mutated replies of each format in turn, every third of them prose: format, text, whether a call was in it."""
    rng = random.Random(seed)
    names = list(CALLS)
    for i in range(count):
        known = format_named(names[i % len(names)])
        prose = i % 3 == 0
        original = rng.choice(PROSE) if prose else CALLS[known.name]
        yield known, mutated(original, rng), not prose


def hear(known: CallFormat, text: str, rng: random.Random) -> Outcome:
    """Feed a reply to a gate in pieces of a few letters."""
    gate = StreamGate(known)
    events = []
    at = 0
    while at < len(text):
        size = rng.randint(1, 9)
        events += gate.feed(text[at : at + size])
        at += size
    events += gate.finish()
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    return Outcome(said, [event.call for event in events if isinstance(event, ToolCallEnd)])


def check(known: CallFormat, text: str, *, called: bool, rng: random.Random) -> None:
    """What must hold for any reply.

    Raises:
        AssertionError: A call came out of nothing: out of prose, or with a name or values that the reply has not.
    """
    for call in hear(known, text, rng).calls:
        assert called, f"{known.name} made {call} of the prose {text!r}"
        assert call.name in text, f"{known.name} invented the name of {call} in {text!r}"
        if call.raw is None:
            assert call.name, f"{known.name} made a call without a name of {text!r}"
            for key in call.arguments:
                assert key in text or "\\" in text, f"{known.name} invented the argument {key!r} in {text!r}"
