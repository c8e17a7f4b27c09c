"""``scripts/bench text``: what text mode costs, as a table. Every figure is from this machine, now.

With another program at work on the machine the figures are lower, the ratios nearly the same.
"""

from __future__ import annotations

import argparse

from bench import model, overhead, turn
from bench.report import HEADER, printed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench text", description="Measure text mode.")
    parser.add_argument("--model", default="nano", help="a catalogue name or a .gguf (default: nano)")
    arguments = parser.parse_args()
    printed([HEADER, *model.rows(arguments.model), *turn.rows(arguments.model), *overhead.rows()])


if __name__ == "__main__":
    main()
