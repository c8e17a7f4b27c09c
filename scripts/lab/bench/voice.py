"""``scripts/bench voice``: how soon the robot answers, moves, is silent and stands; what it mistakes; what it costs.

Ends with exit code 1 when something does not work or has grown; a slow machine is none of that. Trials are kept as they
are done, so that it goes on where it was stopped; when all are done they are forgotten.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

from bench import voice_latency, voice_page, voice_soak, voice_stack
from bench.kept import Kept
from bench.report import Rows, Suite, teller

from tests.audio.pulse import missing

PARTS: Final = ("latency", "page", "stack", "soak", "room")


tell: Final = teller("voice")


def in_room(quick: bool, kept: Kept) -> tuple[Rows, list[str]]:
    """Counts, in the simulated room."""
    try:
        room = import_module("bench.voice_room")
    except ImportError as error:
        return [("counts in the simulated room", f"not measured: {error}", "")], []
    return room.rows(quick, kept), []


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench voice", description="Measure the conversation.")
    parser.add_argument("--quick", action="store_true", help="few of everything")
    parser.add_argument(
        "--only",
        choices=PARTS,
        help="one part: latency, page (the latency beside it), stack (share and memory), soak, room",
    )
    parser.add_argument("--trials", type=int, metavar="N", help="of each latency (default: 30; 4 with --quick)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the trials of the latencies there, as JSON")
    parser.add_argument("--fresh", action="store_true", help="do not go on where it was stopped: measure all anew")
    arguments = parser.parse_args()
    suite = Suite("voice")
    quick: bool = arguments.quick
    parts: dict[str, Callable[[], tuple[Rows, list[str]]]] = {
        "latency": lambda: voice_latency.rows(quick, kept["latency"], count=arguments.trials, keep=arguments.keep),
        "page": lambda: voice_page.rows(quick, kept["page"]),
        "stack": lambda: kept["stack"].once("rows", lambda: voice_stack.rows(quick)),
        "soak": lambda: kept["soak"].once("rows", lambda: voice_soak.rows(quick)),
        "room": lambda: in_room(quick, kept["room"]),
    }
    chosen = PARTS if arguments.only is None else (arguments.only,)
    kept = {part: Kept.of(f"voice-{part}{'-quick' * quick}", fresh=arguments.fresh) for part in chosen}
    wrong: list[str] = []
    made: Rows = []
    for part in chosen:
        tell(f"{part}, goes on where it was stopped" if len(kept[part]) else part)
        if part in ("latency", "page", "stack") and (why := missing()) is not None:
            made.append((part, f"not measured: {why}", ""))
            continue
        try:
            rows, bad = parts[part]()
        except KeyboardInterrupt:
            tell("stopped: the same command goes on from here, --fresh begins anew")
            sys.exit(130)
        made += rows
        wrong += bad
    suite.printed(made)
    for each in kept.values():
        each.remove()
    suite.end(wrong)


if __name__ == "__main__":
    main()
