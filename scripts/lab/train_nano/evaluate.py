"""How many utterances the nano model gets exactly right, in the product itself.

    python evaluate.py                                     # both sets written by hand, models/nano.gguf
    python evaluate.py --model runs/nano/nano.gguf --errors
    python evaluate.py --fresh 500                         # also fresh draws from the generator
    python evaluate.py --no-frames --guards                # with the guards of what the app builds

Every utterance meets a house robot in a new flat, through the loop, with greedy decoding: what counts are all calls of
the run, their names, order and arguments, after validation. Run it with the product's Python, not the trainer's.

"Unseen frames" leaves out an utterance when the generator can produce its frame: its words in lower case, without
punctuation and polite words, with every number, unit, place, object, room and direction replaced by a placeholder. Of
a chain of commands every part must be known. What the generator can produce is judged by what it does produce in
``_DRAWS`` draws.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from generate import Generator, load_corpus
from lexicon import DOCK, LANDMARKS, OBJECTS, ROOMS

from edgeagent import Agent, LlamaLLM, Options
from edgeagent.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, add_guards, house_phrases
from edgeagent.hooks import LIMITS, changes
from edgeagent.house import HouseRobot

HERE: Final = Path(__file__).resolve().parent
SETS: Final = (HERE / "evaluation" / "ours.jsonl", HERE / "evaluation" / "other_hand.jsonl")
_DRAWS: Final = 150_000
_UNITS: Final = "m meter meters metre metres cm centimeter centimeters centimetres degree degrees second seconds minute minutes hour hours sec min"
_NUMBERS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred half quarter point couple once twice times"
)
_POLITE: Final = "please|could you|can you|would you|will you|kindly|robot|robi|hey|okay|ok|so|well|uh|um|er|now|just|thanks|thank you|the|a|an|my|your|some"
_DIRECTIONS: Final = "left right up down ahead"


@dataclass(slots=True)
class Tally:
    """Right and all, of one kind."""

    right: int = 0
    all: int = 0

    def add(self, right: bool) -> None:
        self.right += right
        self.all += 1

    def __str__(self) -> str:
        return f"{self.right:4d} of {self.all:4d}  {self.right / self.all:6.1%}" if self.all else "   -"


@dataclass(slots=True)
class Score:
    """The result of one set."""

    groups: dict[str, Tally] = field(default_factory=dict)
    errors: list[tuple[str, Any, Any, str]] = field(default_factory=list)
    stopped: list[tuple[str, Any, Any, str]] = field(default_factory=list)

    def add(self, right: bool, names: Iterable[str]) -> None:
        for name in names:
            self.groups.setdefault(name, Tally()).add(right)


def ask(llm: LlamaLLM, text: str, *, guarded: bool = False) -> tuple[list[dict[str, Any]], str, bool]:
    """The calls of a run in a new flat, the reply, and whether a guard has ended the run."""
    robot = HouseRobot(speed=float("inf"))
    options = Options(max_tool_hops=MAX_TOOL_HOPS)
    agent = Agent(NAME, INSTRUCTIONS, llm=llm, tools=robot.tools, options=options, phrases=house_phrases())
    if guarded:
        add_guards(agent, changes)
    try:
        result = agent.run(text)
    finally:
        robot.close()
    calls = [{"name": c.name, "arguments": c.arguments} for c in result.tool_calls]
    return calls, result.reply, guarded and result.reason == "stopped"


class Frames:
    """The frames that the generator produces."""

    def __init__(self) -> None:
        names = sorted(
            (w for n in (*ROOMS.items(), *LANDMARKS.items(), *OBJECTS.items(), ("dock", DOCK)) for w in (n[0], *n[1])),
            key=len,
            reverse=True,
        )
        self._names = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
        self._rest = re.compile(
            rf"\b(?:{'|'.join([*_NUMBERS.split(), *_UNITS.split(), *_DIRECTIONS.split()])}|[\d.]+)\b"
        )
        self._polite = re.compile(rf"\b(?:{_POLITE})\b")
        self._seen: set[str] = set()
        for item in islice(Generator(load_corpus(), "frames").labelled(), _DRAWS):
            self._seen.update(self._frames(item["text"]))

    def knows(self, text: str) -> bool:
        """True if every part of the utterance has a frame that the generator produces."""
        return all(frame in self._seen for frame in self._frames(text))

    def _frames(self, text: str) -> Iterator[str]:
        lower = text.lower().replace("\u2019", "'")
        for part in re.split(r"[.,;!?]| and then | then | and ", lower):
            words = self._polite.sub(" ", self._rest.sub("#", self._names.sub("@", part)))
            frame = re.sub(r"(?:# )+#|#", "#", " ".join(re.sub(r"[^\w#@' ]", " ", words).split()))
            if frame:
                yield frame


def evaluate(llm: LlamaLLM, items: list[dict[str, Any]], frames: Frames | None, *, guarded: bool = False) -> Score:
    """Asks everything of a set.

    Args:
        guarded: With the guards of the app. Calls that a guard has stopped are still those of the model.
    """
    score = Score()
    for item in items:
        calls, reply, _ = ask(llm, item["text"])
        told = reply
        right = calls == item["calls"]
        if guarded and calls:
            let, reply, stopped = ask(llm, item["text"], guarded=True)
            stopped = stopped or let != calls
            far = reply.endswith("Say yes.") and any(_is_far(call) for call in calls)
            kind = "far, read back" if far else "stopped by a guard"
            score.add(stopped, [f"{'right' if right else 'wrong'} calls, {kind}"])
            if not stopped:
                score.add(reply != told, [f"{'right' if right else 'wrong'} calls, reply mended"])
            if stopped or reply != told:
                score.stopped.append((item["text"], item["calls"], calls, reply))
        kind = "command" if item["calls"] else "no call"
        new = [f"{kind}, unseen frame"] if frames is not None and not frames.knows(item["text"]) else []
        tools = {f"tool {c['name']}" for c in item["calls"]}
        tags = {f"tag {tag}" for tag in item["tags"] if tag not in ("command", "no_call")}
        score.add(right, [kind, *new, *sorted(tools), *sorted(tags)])
        if not right:
            score.errors.append((item["text"], item["calls"], calls, reply))
    return score


def _is_far(call: dict[str, Any]) -> bool:
    """Whether a call is read back however it was asked for."""
    unit = {"distance_m": "length", "angle_deg": "angle"}
    return any(abs(value) > LIMITS[unit[name]] for name, value in call["arguments"].items() if name in unit)


def show(name: str, score: Score, *, details: bool, errors: bool) -> None:
    """Prints a set's table."""
    print(f"\n{name}")
    main_rows = ["command", "command, unseen frame", "no call", "no call, unseen frame"]
    main_rows += [row for row in sorted(score.groups) if " calls, " in row]
    for row in main_rows:
        print(f"  {row:28}{score.groups.get(row, Tally())}")
    for row in sorted(score.groups) if details else ():
        if row not in main_rows:
            print(f"    {row:26}{score.groups[row]}")
    listed = [("?", *one) for one in score.stopped] + [("!", *one) for one in score.errors]
    for mark, text, wanted, got, reply in listed:
        if errors:
            print(f"  {mark} {text}\n      wanted {short(wanted)}\n      got    {short(got)}  {reply!r}")


def short(calls: list[dict[str, Any]]) -> str:
    """Calls as people write them."""
    return "; ".join(f"{c['name']}({', '.join(f'{v}' for v in c['arguments'].values())})" for c in calls) or "nothing"


def main() -> None:
    """Evaluates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, help="files of utterances; default: both written by hand")
    parser.add_argument("--model", default="nano", help="name or path of the GGUF")
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="also N fresh draws from the generator")
    parser.add_argument("--errors", action="store_true", help="list what was wrong")
    parser.add_argument("--details", action="store_true", help="a line for each tool and tag")
    parser.add_argument("--guards", action="store_true", help="with the guards of the app; counts what they stop")
    parser.add_argument("--no-frames", action="store_true", help="leave out the rows of unseen frames (faster)")
    args = parser.parse_args()
    llm = LlamaLLM(args.model)
    frames = None if args.no_frames else Frames()
    sets = {
        p.name: [json.loads(line) for line in p.read_text(encoding="utf-8").splitlines()] for p in args.sets or SETS
    }
    if args.fresh:
        sets["fresh draws"] = list(islice(Generator(load_corpus(), "evaluation").labelled(), args.fresh))
    for name, items in sets.items():
        begun = time.monotonic()
        score = evaluate(llm, items, frames, guarded=args.guards)
        show(
            f"{name}: {len(items)} utterances, {time.monotonic() - begun:.0f} s",
            score,
            details=args.details,
            errors=args.errors,
        )


if __name__ == "__main__":
    main()
