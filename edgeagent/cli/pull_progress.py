"""The progress of a pull: a bar on a terminal, a line for each tenth in a pipe. Both on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as RichProgress

from edgeagent.cli import streams
from edgeagent.models.sources import Progress

_TENTHS: Final = 10
_BLIND_BYTES: Final = 50_000_000
"""Bytes between two lines about a file of unknown size."""


@contextmanager
def shown() -> Iterator[Progress]:
    """Shows the progress that a pull tells, where stderr goes to."""
    if not streams.animated(sys.stderr):
        yield Lines()
        return
    console = Console(stderr=True, no_color=not streams.coloured(sys.stderr), highlight=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=True, redirect_stdout=False) as bars:
        yield Bars(bars)


class Bars:
    """A bar for the step that is being done."""

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def say(self, text: str) -> None:
        """Writes a line above the bar."""
        self._bars.console.print(text, markup=False, soft_wrap=True)

    def begin(self, title: str, total: int | None, done: int = 0) -> None:
        """Draws a bar for a new step."""
        self._task = self._bars.add_task(title, total=total, completed=done)

    def reached(self, done: int) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._bars.update(self._task, completed=done)

    def end(self) -> None:
        """Takes the bar away."""
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None


class Lines:
    """A line for the begin of a step and for each tenth of it."""

    def __init__(self) -> None:
        self._title = ""
        self._total: int | None = None
        self._told = 0

    def say(self, text: str) -> None:
        """Writes a line."""
        streams.tell(text)

    def begin(self, title: str, total: int | None, done: int = 0) -> None:
        """Writes what begins, and how much of it an earlier pull has fetched."""
        self._title, self._total = title, total
        self._told = self._step(done)
        size = "" if total is None else f", {total / 1e6:,.1f} MB"
        streams.tell(f"{title}{size}" + (f": going on at {done / 1e6:,.1f} MB" if done else ""))

    def reached(self, done: int) -> None:
        """Writes a line if another tenth is done."""
        step = self._step(done)
        if step > self._told:
            self._told = step
            share = "" if self._total is None else f", {_TENTHS * step} %"
            streams.tell(f"{self._title}: {done / 1e6:,.1f} MB{share}")

    def end(self) -> None:
        """Writes nothing: what comes next is told."""

    def _step(self, done: int) -> int:
        return done // _BLIND_BYTES if not self._total else _TENTHS * done // self._total
