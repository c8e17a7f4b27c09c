"""``scripts/bench minds``: how well real models understand robots that nobody trained them for, and what they cost.

Every model on the disk is asked 120 sentences about the 60 tools of ten robots, and 40 that are talk, in a process of
its own, through the agent that ``edgeagent chat --app`` builds. Half of the sentences are kept apart: both halves are
told. Answers are kept as they come, so that it goes on where it was stopped. Exit code 1 when JSON was shown or spoken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.kept import Kept
from bench.minds_cases import Case, cases
from bench.minds_record import record
from bench.minds_table import loud, markdown, misses, published, shown, told
from bench.report import teller

from edgeagent.llm import default_threads, native
from edgeagent.models import FOLDER_VARIABLE, find_model, is_here, language_models, paths, user_models_dir

tell: Final = teller("minds")
_SPEED: Final = "speed"
_QUICK: Final = 5
"""Of so many cases --quick asks one: 32, of every kind and robot."""


def on_disk() -> dict[str, str]:
    """The models that are here, smallest first: by name, the model as ``--model`` takes it."""
    known = {name: paths(entry)[0] for name, entry in language_models().items() if is_here(entry)}
    others = {file.stem: file for file in user_models_dir().glob("*.gguf") if file not in known.values()}
    files = sorted({**others, **known}.items(), key=lambda pair: pair[1].stat().st_size)
    return {name: name if name in known else str(file) for name, file in files}


def answers(model: str, name: str, chosen: Sequence[Case], *, fresh: bool) -> dict[str, dict[str, Any]]:
    """What came of each case, asked in a process of its own unless it is kept."""
    kept = Kept.of(f"minds-{name}", fresh=fresh)
    missing = [case.name for case in chosen if kept.get(case.name) is None]
    if missing:
        tell(f"{name}: {len(missing)} sentences")
        _child("minds_run", model, str(kept.path), *missing)
        kept = Kept(kept.path)
    return {case.name: kept.get(case.name) for case in chosen}


def speed(model: str, name: str) -> dict[str, Any]:
    """The figures of a model on this machine, measured in a process of its own unless they are kept."""
    kept = Kept.of(f"minds-{name}")

    def measure() -> Any:
        tell(f"{name}: speed")
        return json.loads(_child("minds_speed", model))

    return dict(kept.once(_SPEED, measure))


def _child(module: str, *arguments: str) -> str:
    """Runs a module of the benchmarks with a cache of its own; gives what it prints."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", f"bench.{module}", *arguments]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "XDG_CACHE_HOME": cache}
        )
    return done.stdout


def machine() -> str:
    """The machine and its load, in a sentence."""
    cores, load = native.usable_cores(), os.getloadavg()[0]
    return f"{platform.machine()}, {cores} cores, {default_threads()} used by a model; load {load:.1f} at the end."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench minds", description="Measure real models.")
    parser.add_argument("--model", action="append", metavar="M", help="a catalogue name or a .gguf; may be repeated")
    parser.add_argument("--models-dir", type=Path, metavar="DIR", help="the folder of models, in place of the user's")
    parser.add_argument("--quick", action="store_true", help="a fifth of the sentences, and no speed")
    parser.add_argument("--no-speed", action="store_true", help="leave out what another program at work would falsify")
    parser.add_argument("--fresh", action="store_true", help="do not go on where it was stopped: measure all anew")
    parser.add_argument("--misses", action="store_true", help="print each miss of the open half, with the raw reply")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/models.md")
    parser.add_argument(
        "--record", action="store_true", help="write the first replies to tests/fixtures/replies instead"
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if arguments.models_dir is not None:
        os.environ[FOLDER_VARIABLE] = str(arguments.models_dir.resolve())
    models = {find_model(model)[0]: model for model in arguments.model} if arguments.model else on_disk()
    if arguments.record:
        for name, model in models.items():
            tell(f"{name}: first replies")
            record(model, name)
        return
    chosen = cases()[::_QUICK] if arguments.quick else cases()
    rows: list[dict[str, str]] = []
    wrong = 0
    try:
        for name, model in models.items():
            came = answers(model, name, chosen, fresh=arguments.fresh)
            figures = {} if arguments.quick or arguments.no_speed else speed(model, name)
            rows.append(told(name, chosen, came, figures))
            wrong += shown(came) + loud(came)
            if arguments.misses:
                misses(chosen, came)
    except KeyboardInterrupt:
        tell("stopped: the same command goes on from here, --fresh begins anew")
        sys.exit(130)
    table = f"{markdown(rows)}\n\n{machine()}"
    print(table)
    if arguments.docs:
        published(table)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
