"""``scripts/bench truth``: replies of nano that contradict what its tools returned, or leave out a part of it.

Requests of the generator, and some to tools that nano has never seen, are played through the product. The calls are
those that are right, so that only the telling counts. Their results are the house robot's own, or are put in their
place: successes, each kind of failure, refusals, texts of other robots. Each reply is compared with the results, and
each suspect is printed with the rule that found it. Rules compare words, so a person looks at the suspects.

    scripts/bench truth --requests 1000 --model models/nano.gguf
    scripts/bench truth --plain       # without the hooks of small models
    scripts/bench truth --show 100    # prints replies that no rule complains of, for validating the rules
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bench.truth_rules import Told, complaints

from edgeagent import Agent, LlamaLLM, Options, Tool, ToolCall, ToolResult, tool
from edgeagent.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, add_guards, house_phrases
from edgeagent.hooks import AfterLLM, BaseHook, FirePoint, HookResult, default_slm_hooks
from edgeagent.house import HouseRobot

_NANO: Final = Path(__file__).resolve().parents[1] / "train_nano"
_REAL: Final = 0.25
"""Share of the requests to the house robot whose results are its own."""
_OTHERS: Final = 0.3
"""Share of requests to tools that nano has never seen."""

_FAILURES: Final = (
    "the conveyor is jammed at roller 3",
    "laser scanner offline, code E42",
    "the shelf B12 is full",
    "no pallet at A7",
    "ValueError: tank 3 has no valve",
    "the soil is too wet, 81 percent",
    "only Anna may open the cabinet",
    "arm joint 2 over temperature, 71 degrees",
    "the lid must be closed first",
    "the speed must be between 5 and 40 percent",
    "no plant called basil2",
    "wifi lost",
    "gave up after 3 tries",
    "waiting for the operator",
    "not allowed after 22:00",
    "permission denied",
    "unknown code QX-7",
    "the hose came off",
    "moved 4 of 9 boxes, then the belt stopped",
    "printer out of paper",
)
_HOUSE_FAILURES: Final = {
    "drive": (
        "the distance must be at most 50 m",
        "the distance must be at least 0.01 m",
        "blocked by a wall after 1.2 m",
        "blocked by the sofa after 0 m",
        "it is 9.5 m away, and a drive ends after 5 m",
    ),
    "turn": ("the angle must be at most 3600 degrees", "gave up after 60 s"),
    "go_to": ("there is no place called attic", "blocked by the person after 2.1 m", "gave up after 120 s"),
    "pick_up": ("the gripper already holds the book", "there is no object called scissors"),
    "put_down": ("the gripper is empty", "blocked by the fridge after 0.4 m"),
    "set_light": ("there is no light called attic",),
    "set_timer": ("a timer needs at least 1 second", "100 timers are running already"),
    "follow": ("lost you after 12 s",),
    "dock": ("blocked by the person after 2.1 m", "gave up after 120 s"),
}  # fmt: skip
_MOTION: Final = (
    "motion is off until it is re-armed: emergency stop",
    "the battery is empty",
    "the battery ran out after 3.4 m",
    "base is still busy with follow",
)
_STOPPED: Final = ("stopped after 2.3 m", "stop word: stopped after 0.7 m", "cancelled")
_VALUES: Final = (
    "12 boxes of screws on shelf B12",
    "the tank is at 42.5 liters",
    '{"temperature": 21.5, "unit": "C"}',
    '{"free": true, "slot": "C-14"}',
    '["basil", "mint"]',
    "no weeds found",
    "valve 3 open",
    "moisture 17 percent in bed 4",
    "ticket RX-204 for Anna",
    "door locked",
    "belt running at 0.4 m/s",
    "done",
    "ok",
    "next tram at 17:42",
)


@tool
def scan_pallet(code: str) -> str:
    """Read a pallet's label."""
    return "done"


@tool
def lift_forks(height_cm: int) -> str:
    """Raise the forks."""
    return "done"


@tool
def water_bed(bed: int, liters: float = 1.0) -> str:
    """Water a bed."""
    return "done"


@tool(read_only=True)
def soil_moisture(bed: int) -> str:
    """Moisture of a bed."""
    return "done"


@tool
def open_valve(number: int) -> str:
    """Open a valve."""
    return "done"


@tool
def print_label(text: str) -> str:
    """Print a label."""
    return "done"


_TOOLS: Final = (scan_pallet, lift_forks, water_bed, soil_moisture, open_valve, print_label)
_SAID: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("scan pallet a7", "scan_pallet", {"code": "A7"}),
    ("lift the forks to 40 centimeters", "lift_forks", {"height_cm": 40}),
    ("water bed 4 with 2 liters", "water_bed", {"bed": 4, "liters": 2.0}),
    ("how wet is bed 2", "soil_moisture", {"bed": 2}),
    ("open valve 3", "open_valve", {"number": 3}),
    ("print a label that says spare parts", "print_label", {"text": "spare parts"}),
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request, its calls, and the results that are put in the place of the tools' own; None: the tool runs."""

    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult | None, ...]


class PlayHook(BaseHook):
    """Makes the first reply of a run the right calls, and their results those of the request."""

    points = frozenset({FirePoint.AFTER_LLM, FirePoint.BEFORE_TOOL})
    priority = 10_000

    def __init__(self, request: Request) -> None:
        self._request = request
        self._asked = False
        self.own = ""
        """The newest reply of the model itself."""
        self._left = list(zip(request.calls, request.results, strict=True))

    def __call__(self, point: FirePoint, ctx: Any, payload: Any) -> HookResult | None:
        if isinstance(payload, AfterLLM):
            if self._asked:
                self.own = payload.text
                return None
            self._asked = True
            return HookResult.replace(replace(payload, text="", tool_calls=self._request.calls))
        call = payload.call
        same = ((at, one) for at, (one, _) in enumerate(self._left) if one.name == call.name)
        found = next((at for at, one in same if one.arguments == call.arguments), None)
        supplied = None if found is None else self._left.pop(found)[1]
        return None if supplied is None else HookResult.supply(supplied)


def draw(rng: random.Random, said: Any) -> Request:
    """Draws a request: to the house robot, or to tools that nano has never seen."""
    if rng.random() < _OTHERS:
        drawn = rng.sample(_SAID, rng.choice((1, 1, 2, 3)))
        text = " and then ".join(one[0] for one in drawn)
        calls = tuple(ToolCall(f"c{at}", name, dict(arguments)) for at, (_, name, arguments) in enumerate(drawn))
        return Request(text, calls, _results(rng, calls, rng.random() < 0.5))
    calls = tuple(ToolCall(f"c{at}", one["name"], dict(one["arguments"])) for at, one in enumerate(said.calls))
    if rng.random() < _REAL:
        return Request(said.text, calls, (None,) * len(calls))
    return Request(said.text, calls, _results(rng, calls, rng.random() < 0.7))


def _results(rng: random.Random, calls: Sequence[ToolCall], fails: bool) -> tuple[ToolResult | None, ...]:
    at = rng.randrange(len(calls)) if fails else len(calls)
    return tuple(_failure(rng, call) if i == at else _success(rng, call) for i, call in enumerate(calls))


def _success(rng: random.Random, call: ToolCall) -> ToolResult | None:
    """A result of another robot; of the house robot its own, which may fail too."""
    is_other = any(call.name == one.name for one in _TOOLS)
    return ToolResult.ok(rng.choice(_VALUES)) if is_other or rng.random() < 0.1 else None


def _failure(rng: random.Random, call: ToolCall) -> ToolResult:
    kind = rng.random()
    own = _HOUSE_FAILURES.get(call.name, ())
    if kind < 0.5 and own:
        moves = call.name in ("drive", "go_to", "dock", "pick_up", "put_down")
        return ToolResult.error(rng.choice((*own, *own, *_MOTION) if moves else own))
    if kind < 0.62:
        return ToolResult("", "", "timed_out", f"{call.name} took longer than {rng.choice((10, 30))} s")
    if kind < 0.7:
        return ToolResult.blocked(f"{call.name} is blocked on this robot; do not call it again")
    if kind < 0.76:
        return ToolResult("", "", "declined", "the user did not allow it")
    if kind < 0.82:
        return ToolResult("", "", "interrupted", rng.choice(_STOPPED))
    if kind < 0.86:
        return ToolResult("", "", "not_run", "another call of the reply does not fit its tool")
    return ToolResult.error(rng.choice(_FAILURES))


def play(llm: LlamaLLM, request: Request, *, plain: bool) -> Told | None:
    """Plays a request in a new flat; None if a guard has answered in the place of the calls.

    Args:
        plain: Without the guards and the hooks of small models.
    """
    robot = HouseRobot(speed=float("inf"))
    others = {call.name for call in request.calls} <= {one.name for one in _TOOLS}
    tools: list[Tool] = list(_TOOLS) if others else robot.tools
    played = PlayHook(request)
    hooks = [played, *([] if plain else default_slm_hooks())]
    options = Options(max_tool_hops=MAX_TOOL_HOPS)
    agent = Agent(NAME, INSTRUCTIONS, llm=llm, tools=tools, options=options, hooks=hooks, phrases=house_phrases())
    if not plain:
        add_guards(agent)
    try:
        result = agent.run(request.text)
    finally:
        robot.close()
    calls = tuple(call for call in result.tool_calls if call.result is not None)
    if not calls or result.reason == "stopped":
        return None
    return Told(request.text, calls, result.reply, played.own)


class _Said:
    """Endless labelled utterances; the newest one by its parts."""

    def __init__(self, seed: str) -> None:
        sys.path.insert(0, str(_NANO))
        from generate import Generator, load_corpus

        self._drawn = Generator(load_corpus(), f"truth {seed}").labelled()
        self.next()

    def next(self) -> None:
        item = next(self._drawn)
        while not item["calls"]:
            item = next(self._drawn)
        self.text, self.calls = item["text"], item["calls"]


def main() -> None:
    """Plays, compares and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000, metavar="N", help="requests with results; default 1000")
    parser.add_argument("--model", default="nano", help="name or path of the GGUF")
    parser.add_argument("--seed", default="0", help="any text; the same seed draws the same requests")
    parser.add_argument("--plain", action="store_true", help="without guards and the hooks of small models")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many replies without a complaint")
    args = parser.parse_args()
    if args.requests < 1:
        parser.error("--requests is at least 1")
    llm, rng, said = LlamaLLM(args.model), random.Random(f"truth {args.seed}"), _Said(args.seed)
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    told: list[tuple[Told, list[str]]] = []
    while len(told) < args.requests:
        said.next()
        one = play(llm, draw(rng, said), plain=args.plain)
        if one is None:
            continue
        told.append((one, found := complaints(one)))
        counts.update({complaint.partition(":")[0] for complaint in found})
        if found:
            print(f"{one}\n    ! {'; '.join(found)}", flush=True)
    fine = [one for one, found in told if not found]
    for one in islice(random.Random(0).sample(fine, len(fine)), args.show):
        print(one)
    suspects = len(told) - len(fine)
    print(f"\n{len(told)} requests, {time.monotonic() - begun:.0f} s: {suspects} suspects ({suspects / len(told):.1%})")
    failed = sum(any(call.result is not None and call.result.status != "ok" for call in one.calls) for one, _ in told)
    print(f"{failed} with a failure or an undone part")
    replaced = [one for one, _ in told if one.reply != one.own]
    right = sum(not complaints(replace(one, reply=one.own)) for one in replaced)
    print(f"{len(replaced)} replies replaced, {right} of which no rule complains as the model wrote them")
    for name, count in counts.most_common():
        print(f"{count:5d}  {name}")


if __name__ == "__main__":
    main()
