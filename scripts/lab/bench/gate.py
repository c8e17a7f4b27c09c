"""``scripts/bench gate``: fits the threshold of the gate on a model's first token, and says what it changes.

A model is asked every sentence of ``gate_sentences`` without a gate. The threshold is fitted on one half of the
machines: the one with the most right calls, where a call that nobody asked for counts as two right ones. The other half
says what to expect of it. Answers are kept as they come, so that it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from threading import Event
from typing import Any, Final

from bench.gate_sentences import FITTED, KEPT, Machine
from bench.kept import Kept

from edgeagent import LlamaLLM, Message, ToolCall, ToolResult
from edgeagent.llm import DEFAULT_GATE, End, LLMRequest, ToolCallEnd, only_read

_TOKENS: Final = 96
_PRICE: Final = 2
"""Right calls that one call is worth that nobody asked for."""
_HALVES: Final = {"fitted": FITTED, "kept apart": KEPT}
_QUIET: Final = ("talk", "denials", "wishes")
_ASKED: Final = ("commands", "second steps")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one sentence.

    Attributes:
        half, kind: Where the sentence stands.
        probability: Of all tokens that can begin a call.
        called: The reply has calls that would run.
        right: They are those that were asked for.
        only_reads: They change nothing.
    """

    half: str
    kind: str
    probability: float
    called: bool
    right: bool
    only_reads: bool


def call(text: str) -> tuple[str, dict[str, Any]]:
    """Name and arguments of a call that is written as Python."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{text!r} is no call")
    return node.func.id, {key.arg or "": ast.literal_eval(key.value) for key in node.keywords}


def asked(machine: Machine) -> Iterator[tuple[str, list[Message], str]]:
    """Kind, conversation and right call of all that is said to a machine; an empty call where none is right."""
    for said, right in machine.commands:
        yield "commands", [Message.user(said)], right
        yield "done", _after(said, right), ""
    for said, right in machine.steps:
        yield "second steps", _after(said, right), "any"
    for kind in _QUIET:
        for said in getattr(machine, kind):
            yield kind, [Message.user(said)], ""


def _after(said: str, right: str) -> list[Message]:
    name, arguments = call(right)
    made = ToolCall("call_1", name, arguments)
    return [Message.user(said), Message.assistant("", (made,)), Message.tool(ToolResult("call_1", name, "ok", "done"))]


def answers(llm: LlamaLLM, *, forced: bool) -> Iterator[Answer]:
    """What comes of every sentence, from the file where it is kept; ``forced`` is how the model was made."""
    kept = Kept.of(f"gate-{llm.name}-forced" if forced else f"gate-{llm.name}")
    for half, machines in _HALVES.items():
        for machine in machines:
            for i, (kind, messages, right) in enumerate(asked(machine)):
                request = LLMRequest(
                    system=machine.instructions, messages=messages, tools=machine.tools, max_tokens=_TOKENS
                )
                yield Answer(half, kind, *kept.once(f"{machine.name} {i}", partial(_ask, llm, request, right)))


def _ask(llm: LlamaLLM, request: LLMRequest, right: str) -> tuple[float, bool, bool, bool]:
    *events, end = llm.stream(request, Event())
    calls = [(event.call.name, event.call.arguments) for event in events if isinstance(event, ToolCallEnd)]
    if not isinstance(end, End) or end.reading is None or end.reading.opener_probability is None:
        raise RuntimeError(f"{llm.name} ended with {end}")
    is_right = bool(right) and (bool(calls) if right == "any" else calls == [call(right)])
    readers = {tool.name for tool in only_read(request.tools)}
    only_reads = bool(calls) and all(name in readers for name, _ in calls)
    return end.reading.opener_probability, bool(calls), is_right, only_reads


def area(high: Sequence[float], low: Sequence[float]) -> float:
    """Area under the curve: how often one of the first is above one of the second."""
    wins = sum((a > b) + (a == b) / 2 for a, b in product(high, low))
    return wins / (len(high) * len(low))


def worth(found: Sequence[Answer], threshold: float) -> int:
    """Right calls with a threshold, less what false ones cost."""
    passed = [answer for answer in found if answer.called and answer.probability >= threshold]
    return sum(1 if answer.right else 0 if answer.kind in _ASKED else -_PRICE for answer in passed)


def fit(found: Sequence[Answer]) -> float:
    """The threshold of the greatest worth; the middle of it where several are as good, the highest of such ranges."""
    levels = sorted({0.0, 1.0, *(answer.probability for answer in found)})
    ranges = [(worth(found, high), high, (low + high) / 2) for low, high in pairwise(levels)]
    return max(ranges)[2]


def rows(found: Sequence[Answer], kinds: tuple[str, str], threshold: float) -> Iterator[str]:
    """What a threshold makes of both halves."""
    asked_, quiet = kinds
    for half in _HALVES:
        yes, no = ([a for a in found if a.half == half and a.kind == kind] for kind in (asked_, quiet))
        right, called = [a for a in yes if a.right], [a for a in no if a.called]
        still, false = (sum(a.probability >= threshold for a in those) for those in (right, called))
        yield (
            f"  {half:10}  {asked_}: right {len(right)} -> {still} of {len(yes)}; "
            f"{quiet}: called {len(called)} -> {false} of {len(no)}"
        )


def _print_areas(found: Sequence[Answer]) -> None:
    for half in _HALVES:
        commands, talk = ([a.probability for a in found if (a.half, a.kind) == (half, k)] for k in ("commands", "talk"))
        print(f" {half}: area under the curve, commands against talk: {area(commands, talk):.3f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench gate", description="Fit the gate on a model's first token.")
    parser.add_argument("--model", action="append", required=True, help="a name of the catalogue, or a .gguf file")
    parser.add_argument(
        "--force-arguments", action="store_true", help="keep untagged calls to their schemas, once they name a tool"
    )
    arguments = parser.parse_args()
    forced = arguments.force_arguments
    for model in arguments.model:
        llm = LlamaLLM(Path(model) if model.endswith(".gguf") else model, call_gate=0, force_arguments=forced)
        found = list(answers(llm, forced=forced))
        llm.close()
        print(f"{llm.name} ({llm.tool_format}{', arguments forced' if forced else ''})", flush=True)
        _print_areas(found)
        acting, reading = ([a for a in found if a.only_reads is reads] for reads in (False, True))
        for name, kinds, those in (
            ("first", ("commands", "talk"), acting),
            ("reading", ("commands", "talk"), reading),
            ("later", ("second steps", "done"), found),
        ):
            fitted = fit([a for a in those if a.half == "fitted" and a.kind in kinds])
            for threshold, how in ((fitted, "fitted"), (getattr(DEFAULT_GATE, name), "default")):
                print(f" {name} = {threshold:.2f} ({how})")
                for line in rows(those, kinds, threshold):
                    print(line, flush=True)
        for kind in ("denials", "wishes"):
            those = [a for a in found if a.kind == kind]
            print(f" {kind}: called {sum(a.called for a in those)} of {len(those)}", flush=True)


if __name__ == "__main__":
    main()
