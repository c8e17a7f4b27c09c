"""``scripts/bench mouth``: how soon and how fast it speaks, how soon it is silent, whether it knows what was heard, and
what of its own voice it hears.

A miss (nothing was heard, or it did not become silent) counts as infinity in a percentile. Ends with exit code 1 when
something does not work; a slow machine is none of that.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Final

from bench import mouth_aligned, mouth_recorded, mouth_voices
from bench.report import Rows, Suite, printed, teller

from edgeagent.models import is_here, voices

_VOICES: Final = (("heart", "Hibari heart"), ("joe", "Piper joe"))


tell: Final = teller("mouth")


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
    suite = Suite("mouth")
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
    suite.printed(rows)
    print(flush=True)
    tell("echo in the simulated room")
    printed(room(arguments.quick))
    suite.end(wrong)


if __name__ == "__main__":
    main()
