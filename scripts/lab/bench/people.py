"""``scripts/bench people``: what is understood of people, in rooms, over noise and from afar.

Recordings of people, commands and talk by natural voices and by machines', through the product's own ears: each
recogniser alone, and what ships. Nothing is tuned on the half of each set that is told as "kept". Results are kept as
they come; the same command goes on. Time is the room's, so no figure depends on how fast the machine is. Exit code 0,
however little is understood; 1 if there is something that can't be used.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.kept import Kept
from bench.people_ears import LEAD_S, RECOGNISERS, heard
from bench.people_mind import Mind
from bench.people_noise import KINDS
from bench.people_recordings import RECORDINGS, RecordingsError, fetch
from bench.people_table import HEADER, SHIPS, misses, rows
from bench.people_trials import SETS, Condition, Trial, conditions, trials
from bench.report import printed, teller
from bench.voice_trials import natural_voices

from edgeagent.errors import EdgeAgentError
from edgeagent.stt import RATE_HZ

tell: Final = teller("people")
ROOMS: Final = (0.2, 0.3, 0.6)
SNRS_DB: Final = (20.0, 10.0, 5.0)
EACH: Final = {"recordings": len(RECORDINGS), "commands": 24, "ordinary": 24, "talk": 24}
"""Texts of a condition unless told."""
QUICK_EACH: Final = {"recordings": 5, "commands": 6, "ordinary": 6, "talk": 6}
_CHUNK: Final = 8
"""Trials that a process is given at a time."""
_JOBS: Final = 2


@dataclass(frozen=True, slots=True)
class Chunk:
    """Trials of one recogniser, set and condition, for one process. ``seed``: of the room of a conversation."""

    recogniser: str
    trials: tuple[Trial, ...]
    seed: int

    @property
    def conversation(self) -> bool:
        """True if a whole conversation hears them; recordings are heard by the ears alone."""
        return self.recogniser == SHIPS and self.trials[0].kind != "recordings"

    @property
    def seconds(self) -> float:
        """About how long it takes, in seconds of one core, for the time that is left."""
        speech_s = [len(trial.sound()) / RATE_HZ for trial in self.trials]
        return sum(LEAD_S + each * (3 if self.conversation else 1) for each in speech_s)


def usual(kind: str, recogniser: str, *, quick: bool) -> list[Condition]:
    """Conditions of a set, unless some are chosen: every room, distance, noise and SNR, but not each with each.

    Recordings are for the recognisers alone and the other sets for what ships: elsewhere three conditions are enough.
    """
    quiet, motor, babble = Condition(), *(Condition(noise=noise, snr_db=10.0) for noise in ("motor", "babble"))
    if quick:
        return [quiet] if kind == "talk" else [quiet, motor]
    if kind == "talk":
        return [quiet, babble] if recogniser == SHIPS else [quiet]
    if (kind == "recordings") is (recogniser == SHIPS):
        return [quiet, motor, babble]
    at_10_db = [Condition(noise=noise, snr_db=10.0) for noise in KINDS]
    if kind == "ordinary":
        return [quiet, motor]
    if kind == "commands":
        return [quiet, Condition(0.6), Condition(distance_m=3.0), *at_10_db]
    far = [Condition(distance_m=distance_m) for distance_m in (0.5, 3.0)]
    others = [Condition(noise=noise, snr_db=snr_db) for snr_db in (20.0, 5.0) for noise in ("motor", "babble")]
    return [*(Condition(rt60_s) for rt60_s in ROOMS), *far, *at_10_db, *others]


def measured(chunk: Chunk, path: Path) -> None:
    """Measures a chunk in a process of its own, and keeps each trial."""
    logging.disable(logging.CRITICAL)  # what the ears warn of is told as trouble
    kept = Kept(path)
    if chunk.conversation:
        from bench.people_conversations import conversed

        found: Iterable[tuple[Trial, object]] = conversed(chunk.trials, chunk.seed)
    else:
        found = ((trial, heard(chunk.recogniser, trial)) for trial in chunk.trials)
    for trial, came in found:
        if came is None:
            tell(f"left out, this machine is too busy; the same command tries again: {trial.name}")
        else:
            kept.put(_key(chunk.recogniser, trial), came)


def chunks(planned: Sequence[tuple[str, list[Trial]]], kept: Kept) -> list[Chunk]:
    """Returns the trials that are not measured yet, in pieces that are the same after every interruption."""
    made = []
    for recogniser, drawn in planned:
        for at in range(0, len(drawn), _CHUNK):
            part = drawn[at : at + _CHUNK]
            missing = tuple(trial for trial in part if kept.get(_key(recogniser, trial)) is None)
            if missing:
                made.append(Chunk(recogniser, missing, part[0].room_seed))
    return made


def measure(todo: Sequence[Chunk], path: Path, jobs: int) -> None:
    """Measures chunks, some at a time, and tells how long it will take."""
    seconds = {chunk: chunk.seconds for chunk in todo}
    begun_s, done_s, all_s = time.monotonic(), 0.0, sum(seconds.values())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running = {pool.submit(measured, chunk, path): chunk for chunk in todo}
        try:
            for future in as_completed(running):
                future.result()
                chunk = running[future]
                done_s += seconds[chunk]
                left_min = (time.monotonic() - begun_s) * (all_s / done_s - 1) / 60
                what = f"{chunk.recogniser}, {chunk.trials[0].kind}, {chunk.trials[0].condition}"
                tell(f"{done_s / all_s:.0%}, {left_min:.0f} min left: {what}")
        except BaseException:  # what is measured is kept, and nobody waits for the rest
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def table(planned: Sequence[tuple[str, list[Trial]]], kept: Kept, *, with_misses: bool) -> None:
    """Prints what came of all, and the misses."""
    made: list[Sequence[str]] = [HEADER]
    missed: list[str] = []
    with Mind(kept) as mind:
        for recogniser, drawn in planned:
            came = {trial.name: kept.get(_key(recogniser, trial)) for trial in drawn}
            made += rows(recogniser, drawn, came, mind)
            missed += misses(recogniser, drawn, came, mind) if with_misses else []
    printed(made)
    for line in missed:
        print(line)


def plan(arguments: argparse.Namespace) -> list[tuple[str, list[Trial]]]:
    """Trials by recogniser, set and condition, in the order of the table."""
    each = QUICK_EACH if arguments.quick else EACH
    found: dict[tuple[str, str, Condition], list[Trial]] = defaultdict(list)
    chosen = None
    if arguments.room or arguments.noise or arguments.snr or arguments.distance:
        noises, snrs_db = arguments.noise or ["quiet"], arguments.snr or [10.0]
        chosen = conditions(arguments.room or [0.3], arguments.distance or [1.0], noises, snrs_db)
    for kind in arguments.set or SETS:
        for recogniser in arguments.recogniser or RECOGNISERS:
            where = chosen or usual(kind, recogniser, quick=arguments.quick)
            for trial in trials(kind, where, arguments.each or each[kind], arguments.seed):
                found[recogniser, kind, trial.condition].append(trial)
    return [(recogniser, drawn) for (recogniser, _, _), drawn in found.items()]


def arguments_of(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench people", description="Measure on people, in rooms, over noise."
    )
    parser.add_argument("--quick", action="store_true", help="few of everything: five minutes")
    parser.add_argument("--set", action="append", choices=SETS, help="may be repeated, as the next five")
    parser.add_argument("--recogniser", action="append", choices=RECOGNISERS)
    parser.add_argument("--room", action="append", type=float, metavar="S", help="RT60, such as 0.2, 0.3, 0.6")
    parser.add_argument("--noise", action="append", choices=("quiet", *KINDS))
    parser.add_argument("--snr", action="append", type=float, metavar="DB", help="such as 20, 10, 5; default: 10")
    parser.add_argument("--distance", action="append", type=float, metavar="M", help="such as 0.5, 1, 3")
    parser.add_argument("--each", type=int, metavar="N", help="texts of each set in each condition")
    parser.add_argument("--seed", type=int, default=1, help="of the draw, the rooms and the noises")
    parser.add_argument("--jobs", type=int, default=_JOBS, metavar="N", help=f"processes (default: {_JOBS})")
    parser.add_argument("--misses", action="store_true", help="list what was not right")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured")
    return parser.parse_args(argv)


def main() -> None:
    """Measure and print."""
    arguments = arguments_of()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    planned = plan(arguments)
    kept = Kept.of("people", fresh=arguments.fresh)
    try:
        if any(trial.kind == "recordings" for _, drawn in planned for trial in drawn):
            fetch()
        voices = ", ".join(natural_voices()) or "none: edgeagent models pull joe"
        tell(f"seed {arguments.seed}; natural voices: {voices}")
        measure(chunks(planned, kept), kept.path, arguments.jobs)
        table(planned, Kept(kept.path), with_misses=arguments.misses)
    except KeyboardInterrupt:
        tell("stopped: the same command goes on from here, --fresh begins anew")
        sys.exit(130)
    except (EdgeAgentError, RecordingsError) as error:
        tell(str(error))
        sys.exit(1)


def _key(recogniser: str, trial: Trial) -> str:
    return f"{recogniser} | {trial.name}"


if __name__ == "__main__":
    main()
