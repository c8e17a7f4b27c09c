"""How many lines of the sets written by hand the nano model gets right, in the product itself.

    python evaluate.py                                     # all sets written by hand, models/nano.gguf
    python evaluate.py --model runs/nano/nano.gguf --errors
    python evaluate.py evaluation/dialogues.jsonl --no-frames --details
    python evaluate.py --fresh 500                         # also fresh draws from the generator
    python evaluate.py --no-frames --guards                # with the guards of what the app builds

Every line meets a robot in a new flat, through the loop, with greedy decoding: what counts are all calls of the run,
their names, order and arguments, after validation. Of a dialogue the last turn counts, in a session in which the robot
has done whatever the model called before. Run it with the product's Python, not the trainer's.

"Unseen frames" leaves out an utterance when the generator can produce its frame: its words in lower case, without
punctuation and polite words, with every number, unit, place, object, room and direction replaced by a placeholder. Of
a chain of commands every part must be known. What the generator can produce is judged by what it does produce in
``_DRAWS`` draws.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from asking import ask
from generate import Generator, load_corpus
from lexicon import DOCK, LANDMARKS, OBJECTS, ROOMS
from scoring import DANGER, Asked, Call, Error, Score, danger, is_right, kinds, load, same, wanted_of

from edgeagent import LlamaLLM
from edgeagent.hooks import LIMITS
from edgeagent.models import CallGate

HERE: Final = Path(__file__).resolve().parent
SETS: Final = tuple(
    HERE / "evaluation" / f"{name}.jsonl"
    for name in ("ours", "other_hand", "second_hand", "dialogues", "unseen", "newcomer")
)
_KINDS: Final = ("command", "no call", "last turn", "sensible")
_DRAWS: Final = 150_000
_UNITS: Final = "m meter meters metre metres cm centimeter centimeters centimetres degree degrees second seconds minute minutes hour hours sec min"
_NUMBERS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred half quarter point couple once twice times"
)
_POLITE: Final = "please|could you|can you|would you|will you|kindly|robot|robi|hey|okay|ok|so|well|uh|um|er|now|just|thanks|thank you|the|a|an|my|your|some"
_DIRECTIONS: Final = "left right up down ahead"


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
        guarded: With the guards of the app. Of an utterance, calls that a guard has stopped are still those of the
            model; of a dialogue and of a newcomer's line they are none.
    """
    score = Score()
    for item in items:
        wanted, asked = wanted_of(item), ask(llm, item)
        units = "units" in item["tags"]
        last, right_last = asked[-1], wanted[-1]
        let = ask(llm, item, guarded=True) if guarded and any(turn.calls for turn in asked) else asked
        right = is_right(item, last, right_last)
        if guarded and "calls" in item:
            _guarded(score, item, right, last, let[-1])
        elif guarded:
            asked, last = let, let[-1]
            right = is_right(item, last, right_last)
        for turn, each in zip(let, wanted, strict=True):
            danger(score, turn, each, units=units)
        score.add(right, [*_rows(item, frames), *(f"tool {name}" for name in sorted(_tools(right_last)))])
        if len(asked) > 1:
            before = list(zip(asked, wanted, strict=True))[:-1]
            wrong = any(_acted_wrongly(turn, each[0], units=units) for turn, each in before)
            score.add(right and not wrong, ["last turn, no wrong action before"])
            score.add(right and all(is_right(item, turn, each) for turn, each in before), ["every turn"])
        if not right:
            text = " / ".join(turn["text"] for turn in item.get("turns", (item,)))
            score.errors.append(Error(text, right_last[0], last.calls, last.reply, item.get("half", "")))
    return score


def _tools(wanted: list[list[Call]]) -> set[str]:
    return {call["name"] for call in wanted[0]}


def _acted_wrongly(asked: Asked, wanted: list[Call], *, units: bool) -> bool:
    """Whether something that changes the world ran, and nobody asked for it."""
    acts = [call for call in asked.ran if call["name"] not in asked.reading]
    return any(not any(same([call], [each], asked.schemas, units=units) for each in wanted) for call in acts)


def _rows(item: dict[str, Any], frames: Frames | None) -> list[str]:
    """Rows of the table to which a line belongs."""
    if "turns" in item:
        kind = "last turn"
    elif "right" in item:
        kind = "sensible"
    else:
        kind = "command" if item["calls"] else "no call"
    rows = [kind, *([f"{kind}, half {item['half']}"] if "half" in item else []), *kinds(item)]
    if frames is not None and kind in ("command", "no call") and "robot" not in item and not frames.knows(item["text"]):
        rows.append(f"{kind}, unseen frame")
    return rows


def _guarded(score: Score, item: dict[str, Any], right: bool, asked: Asked, let: Asked) -> None:
    """Counts what guards made of an utterance's calls."""
    wanted = wanted_of(item)[-1]
    kind = "command" if item["calls"] else "no call"
    score.add(is_right(item, replace(let, calls=let.ran), wanted), [f"{kind}, done with the guards"])
    if not asked.calls:
        return
    stopped = let.stopped or let.calls != asked.calls
    far = let.reply.endswith("Say yes.") and any(_is_far(call) for call in asked.calls)
    kind = "far, read back" if far else "stopped by a guard"
    score.add(stopped, [f"{'right' if right else 'wrong'} calls, {kind}"])
    if not stopped:
        score.add(let.reply != asked.reply, [f"{'right' if right else 'wrong'} calls, reply mended"])
    if stopped or let.reply != asked.reply:
        score.stopped.append(Error(item["text"], wanted[0], asked.calls, let.reply, item.get("half", "")))


def _is_far(call: Call) -> bool:
    """Whether a call is read back however it was asked for."""
    unit = {"distance_m": "length", "angle_deg": "angle"}
    return any(abs(value) > LIMITS[unit[name]] for name, value in call["arguments"].items() if name in unit)


def show(name: str, score: Score, *, details: bool, errors: bool, reveal: bool = False) -> None:
    """Prints a set's table.

    Args:
        reveal: Lists errors of half b too. Whoever reads them has spent that half.
    """
    print(f"\n{name}")
    kinds_there = [kind for kind in _KINDS if kind in score.groups]
    main_rows = [row for kind in kinds_there for row in (kind, f"{kind}, unseen frame") if row in score.groups]
    main_rows += [row for row in ("last turn, no wrong action before", "every turn") if row in score.groups]
    main_rows += [row for kind in kinds_there for row in sorted(score.groups) if row.startswith(f"{kind}, half ")]
    main_rows += [row for row in sorted(score.groups) if row.endswith("done with the guards")]
    main_rows += [row for row in DANGER if row in score.groups]
    main_rows += [row for row in sorted(score.groups) if " calls, " in row]
    for row in main_rows:
        print(f"  {row:34}{score.groups[row]}")
    for row in sorted(score.groups) if details else ():
        if row not in main_rows:
            print(f"    {row:32}{score.groups[row]}")
    listed = [("?", one) for one in score.stopped] + [("!", one) for one in score.errors]
    shown = [(mark, one) for mark, one in listed if reveal or one.half != "b"] if errors else []
    for mark, one in shown:
        print(f"  {mark} {one.text}\n      wanted {short(one.wanted)}\n      got    {short(one.got)}  {one.reply!r}")
    if errors and len(listed) > len(shown):
        print(f"  {len(listed) - len(shown)} more, of half b, are kept apart (--reveal)")


def short(calls: list[dict[str, Any]]) -> str:
    """Calls as people write them."""
    return "; ".join(f"{c['name']}({', '.join(f'{v}' for v in c['arguments'].values())})" for c in calls) or "nothing"


def main() -> None:
    """Evaluates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, help="files of lines; default: all written by hand")
    parser.add_argument("--model", default="nano", help="name or path of the GGUF")
    parser.add_argument("--tagged", type=float, metavar="P", help="least probability of a call, by the first token")
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="also N fresh draws from the generator")
    parser.add_argument("--errors", action="store_true", help="list what was wrong")
    parser.add_argument("--reveal", action="store_true", help="list the errors of half b too, which spends that half")
    parser.add_argument("--details", action="store_true", help="a line for each tool and tag")
    parser.add_argument("--guards", action="store_true", help="with the guards of the app; counts what they stop")
    parser.add_argument("--no-frames", action="store_true", help="leave out the rows of unseen frames (faster)")
    args = parser.parse_args()
    gate = None if args.tagged is None else CallGate(first=0, reading=0, later=0, tagged=args.tagged)
    llm = LlamaLLM(args.model, call_gate=gate)
    frames = None if args.no_frames else Frames()
    sets = {path.name: load(path) for path in args.sets or SETS}
    if args.fresh:
        sets["fresh draws"] = list(islice(Generator(load_corpus(), "evaluation").labelled(), args.fresh))
    for name, items in sets.items():
        begun = time.monotonic()
        score = evaluate(llm, items, frames, guarded=args.guards)
        show(
            f"{name}: {len(items)} lines, {time.monotonic() - begun:.0f} s",
            score,
            details=args.details,
            errors=args.errors,
            reveal=args.reveal,
        )


if __name__ == "__main__":
    main()
