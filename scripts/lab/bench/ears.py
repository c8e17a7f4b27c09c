"""``scripts/bench ears``: what is heard of people, over noise and the robot's own voice; what is mistaken; how soon it
is known, and what that costs.

A miss counts as infinity in a percentile. Ends with exit code 1 when something does not work; a target that is missed,
and a slow machine, are none of that. With ``--dir`` it measures recordings of one's own instead.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Final

from bench.kept import Kept
from bench.report import Rows, Suite, printed, teller

tell: Final = teller("ears")
PARTS: Final = ("pulse", "hangs", "whisper", "words", "vad", "keywords")
"""Names of the parts: each is the ``rows`` of a module ``ears_NAME``. What depends most on a quiet machine comes
first."""
TOGETHER: Final = frozenset({"vad", "keywords"})
"""Parts in which nothing is timed by the wall's clock: several run at once."""
TELL_RAW: Final = "--raw"


def measured(names: list[str], quick: bool, kept: Kept) -> Iterator[tuple[Rows, list[str]]]:
    """Each part by itself, then those that may run together; one that fails leaves the others alone.

    Args:
        kept: Parts that are there already, and those that are made; what went wrong is tried again the next time.
    """
    missing = [name for name in names if kept.get(name) is None]
    if len(missing) < len(names):
        tell(f"goes on where it was stopped; there are {', '.join(name for name in names if name not in missing)}")
        yield from (([tuple(row) for row in kept.get(name)], []) for name in names if name not in missing)
    for name, (rows, wrong) in _measured(missing, quick):
        if not wrong:
            kept.put(name, rows)
        yield rows, wrong


def _measured(names: list[str], quick: bool) -> Iterator[tuple[str, tuple[Rows, list[str]]]]:
    beside = [name for name in names if name in TOGETHER]
    for name in names:
        if name not in beside or len(beside) == 1:
            yield name, one_part(name, quick)
    if len(beside) > 1:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            yield from zip(beside, pool.map(lambda name: in_a_process(name, quick), beside), strict=True)


def one_part(name: str, quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target; and what does not work."""
    tell(name)
    begun_s = time.monotonic()
    try:
        rows, wrong = import_module(f"bench.ears_{name}").rows(quick)
    except Exception as error:  # noqa: BLE001 - the other parts go on, and it is told
        rows, wrong = [(name, f"failed: {type(error).__name__}: {error}", "")], [f"{name}: {error}"]
    tell(f"{name}: {time.monotonic() - begun_s:.0f} s")
    return rows, wrong


def in_a_process(name: str, quick: bool) -> tuple[Rows, list[str]]:
    """The same, beside others."""
    argv = [sys.executable, "-m", "bench.ears", "--part", name, TELL_RAW, *(["--quick"] if quick else [])]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    try:
        rows, wrong = json.loads(done.stdout)
    except ValueError:
        return [(name, "failed", "")], [f"{name}: it ended with {done.returncode}"]
    return [tuple(row) for row in rows], wrong


def of_a_folder(folder: Path) -> list[str]:
    """Prints what was measured of recordings; returns what could not be used."""
    recordings = import_module("bench.ears_recordings")
    config = import_module("edgeagent.config")
    rows, wrong = recordings.rows(folder, config.load_config(), tell)
    printed([recordings.HEADER, *rows])
    return list(wrong)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench ears", description="Measure hearing.")
    parser.add_argument("--quick", action="store_true", help="fewer of everything: less than five minutes")
    parser.add_argument("--dir", type=Path, help="recordings of edgeagent listen --record, the texts corrected by you")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be given again")
    parser.add_argument("--fresh", action="store_true", help="do not go on where it was stopped: measure all anew")
    parser.add_argument(TELL_RAW, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    suite = Suite("ears")
    if arguments.raw:
        print(json.dumps(one_part(arguments.part[0], arguments.quick)))
        return
    if arguments.dir is not None:
        from edgeagent.errors import EdgeAgentError

        try:
            wrong = of_a_folder(arguments.dir)
        except EdgeAgentError as error:
            wrong = [str(error)]
    else:
        rows: Rows = []
        wrong = []
        name = "-".join(["ears", *(["quick"] if arguments.quick else []), *(arguments.part or [])])
        kept = Kept.of(name, fresh=arguments.fresh)
        try:
            for more, bad in measured(arguments.part or list(PARTS), arguments.quick, kept):
                rows += more
                wrong += bad
        except (KeyboardInterrupt, SystemExit):  # what was measured until then is worth its table
            wrong.append("it was ended before all was measured: the same command goes on, --fresh begins anew")
        else:
            kept.remove()
        suite.printed(rows)
    suite.end(wrong)


if __name__ == "__main__":
    main()
