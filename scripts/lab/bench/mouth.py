"""``scripts/bench mouth``: how soon and how fast it speaks, how soon it is silent, whether it knows what was heard, and
what of its own voice it hears.

A miss (nothing was heard, or it did not become silent) counts as infinity in a percentile. Ends with exit code 1 when
something does not work; a slow machine is none of that.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from bench import mouth_aligned, mouth_recorded, mouth_voices
from bench.mouth_voices import Rows

from edgeagent.models import is_here, voices

_VOICES = (("heart", "Hibari heart"), ("joe", "Piper joe"))


def tell(text: str) -> None:
    """Progress, beside the table."""
    print(f"scripts/bench mouth: {text}", file=sys.stderr, flush=True)


def of_a_voice(voice: str, name: str, *, quick: bool, model_s: int) -> tuple[Rows, list[str]]:
    """Everything that is measured of one voice."""
    tell(f"{name}, by itself")
    rows, wrong = mouth_voices.rows(voice, name, quick=quick)
    if not Path(voice).is_file():  # a generated voice says no words
        more, bad = mouth_aligned.rows(voice, name)
        rows, wrong = rows + more, wrong + bad
    tell(f"{name}, on the loudspeaker")
    more, bad = mouth_recorded.rows(voice, name, quick=quick, model_s=model_s)
    return rows + more, wrong + bad


def printed(table: Sequence[Sequence[str]]) -> None:
    """A table on stdout."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def room(quick: bool) -> list[tuple[str, ...]]:
    """What the simulated room says of the echo: a table of its own."""
    try:
        echo = import_module("bench.mouth_echo")
    except ImportError as error:
        return [("echo in the simulated room", f"not measured: {error}")]
    return [echo.HEADER, echo.TARGETS, *echo.rows(quick)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench mouth", description="Measure speech, silence and echo.")
    parser.add_argument("--quick", action="store_true", help="fewer of everything: less than two minutes")
    parser.add_argument("--piper", metavar="FILE.onnx", help="a Piper voice (default: a generated tiny one)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that no sound server stays behind
    begun_s, before = time.monotonic(), os.getloadavg()[0]
    rows: Rows = []
    wrong: list[str] = []
    here = [(name, engine) for name, engine in _VOICES if is_here(voices()[name])]
    for name, engine in [*here, ("en", "espeak-ng")]:
        more, bad = of_a_voice(name, engine, quick=arguments.quick, model_s=10 if arguments.quick else 60)
        rows, wrong = rows + more, wrong + bad
    with mouth_voices.piper_voice(arguments.piper) as piper:
        if piper is None:
            rows.append(("Piper", "not measured: there is no tests/tts/tiny_voice.py, or no onnx", ""))
        else:
            more, bad = of_a_voice(*piper, quick=arguments.quick, model_s=0 if arguments.quick else 30)
            rows += more
            wrong += bad
    tell("echo")
    more, bad = mouth_recorded.echo_rows("en", quick=arguments.quick)
    rows += more
    wrong += bad
    tell("echo in the simulated room")
    in_room = room(arguments.quick)
    load = f"{before:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores"
    printed([("measured", "figure", "target"), ("load of the machine (1 min)", load, ""), *rows])
    print()
    printed(in_room)
    tell(f"{time.monotonic() - begun_s:.0f} s")
    for each in wrong:
        tell(f"does not work: {each}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
