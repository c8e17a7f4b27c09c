"""What the suites print: progress beside the table, the table, and what does not work. Measures nothing."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

Row = tuple[str, str, str]
"""Name, figure and target of a measurement."""
Rows = list[Row]
HEADER: Final = ("measured", "figure", "target")


def cache() -> Path:
    """The folder below which suites keep what takes long to make."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgeagent-bench"


def teller(suite: str) -> Callable[[str], None]:
    """Makes the function that tells a suite's progress, on stderr."""

    def tell(text: str) -> None:
        print(f"scripts/bench {suite}: {text}", file=sys.stderr, flush=True)

    return tell


def printed(table: Sequence[Sequence[str]]) -> None:
    """Prints a table in columns, on stdout."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def share(part: int, whole: int) -> str:
    """So many of so many."""
    return f"{part} of {whole} ({part / max(1, whole):.0%})"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so much of the values do not exceed; a miss is infinity."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else math.inf


class Suite:
    """One run of a suite: its clock, and the load of the machine before it. SIGTERM ends it as an exit does, so that no
    process or sound server stays behind."""

    def __init__(self, name: str) -> None:
        self._tell = teller(name)
        self._begun_s, self._load = time.monotonic(), os.getloadavg()[0]
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))

    def printed(self, rows: Rows) -> None:
        """Prints the table, with the load of the machine."""
        load = f"{self._load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores"
        printed([HEADER, ("load of the machine (1 min)", load, ""), *rows])

    def end(self, wrong: Sequence[str]) -> NoReturn:
        """Tells what does not work. The exit code is 1 if there is anything."""
        self._tell(f"{time.monotonic() - self._begun_s:.0f} s")
        for each in wrong:
            self._tell(f"does not work: {each}")
        sys.exit(1 if wrong else 0)
