"""``edgeagent models pull`` and ``verify``: the files of models, fetched and compared.

Paths and verdicts go to stdout, progress and everything else to stderr.
"""

from __future__ import annotations

import difflib
import logging
import os
import sys
import threading
import time
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

from edgeagent.cli import exits, streams
from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm import native
from edgeagent.models import pulling, store
from edgeagent.models.catalog import PROFILES, Entry, Task, entries, nearest
from edgeagent.models.sources import Progress


def named(name: str) -> Entry:
    """The model of a name.

    Raises:
        ConfigError: There is no such model in the catalogue.
    """
    known = entries()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3) or known
        raise ConfigError(f"there is no model {name!r} in the catalogue; there are {', '.join(near)}")
    return known[name]


def chosen(
    names: list[str], task: Task | None, profile: str | None, *, otherwise: list[Entry] | None = None
) -> list[Entry]:
    """The models of the names, then those of the set.

    Args:
        task: What the set is for; None with a profile is "talk".
        profile: Name of the machine; None with a task is the profile that is nearest to this machine.
        otherwise: The answer where nothing is asked for; None makes that an error.

    Raises:
        ConfigError: A name is not in the catalogue, or nothing is asked for.
    """
    found = [named(name) for name in names]
    if task or profile:
        machine = PROFILES[profile] if profile else nearest(native.total_bytes(), native.usable_cores())
        if profile is None:
            streams.tell(f"by this machine's memory and cores: --profile {machine.name} ({machine.board})", "dim")
        found += [entries()[name] for name in machine.models(task or "talk")]
    elif not names:
        if otherwise is None:
            raise ConfigError("name a model, or a set with --for talk or --for text; edgeagent models list shows all")
        return otherwise
    return list({entry.name: entry for entry in found}.values())


_PATIENCE_S: Final = 4.0
"""Seconds without a byte after which set-up goes on without a model; with the start of the command about five."""
_PLACING_S: Final = 20.0
"""Seconds beside that for comparing a file and putting it in its place, on a slow card."""
_LOOK_S: Final = 0.1

logger = logging.getLogger(__name__)


def pull(wanted: list[Entry], *, source: str | None, accept_upstream: bool) -> None:
    """Fetches models one after the other and prints where the files of each lie.

    Args:
        source: "hub" or "index"; None: the first home, then the others.

    Raises:
        ConfigError: A model is not to be had from the source; raised before anything is fetched.
        ModelError: A model could not be fetched.
    """
    places = {
        entry.name: [each for each in pulling.sources_of(entry) if source in (None, each.key)] for entry in wanted
    }
    for entry in wanted:
        if not places[entry.name] and not entry.packaged:
            raise ConfigError(f"{entry.name} is not on the {source}: leave --from out")
    for entry in wanted:
        with shown() as progress:
            try:
                fetched = pulling.pull(entry, progress, sources=places[entry.name], accept_upstream=accept_upstream)
            except (KeyboardInterrupt, SystemExit):
                progress.say(f"what was fetched of {entry.name} is kept: edgeagent models pull {entry.name} goes on")
                raise
        if not fetched:
            streams.tell(f"{entry.name} {'comes with edgeagent' if entry.packaged else 'is here, as it should be'}")
        for path in store.paths(entry):
            streams.answer_path(path)


def pull_once(wanted: list[Entry]) -> None:
    """Fetches models that are not here, if they are to be had at once; says in one line if they are not.

    For set-up scripts, which go on without the models. Nothing that hangs holds it up: the pull has a thread of its
    own, and the process ends without it.
    """
    lacking = [entry for entry in wanted if not store.is_here(entry)]
    reasons: list[str] = []
    with shown() as bars:
        progress = _Heard(bars)

        def work() -> None:
            for entry in lacking:
                try:
                    pulling.pull(entry, progress)
                except ModelError as error:
                    reasons.append(str(error))
                except Exception as error:  # set-up goes on
                    logger.debug("pulling %s failed", entry.name, exc_info=True)
                    reasons.append(f"{type(error).__name__}: {error}")

        worker = threading.Thread(target=work, name="pull", daemon=True)
        worker.start()
        while worker.is_alive() and progress.silent_s() < _PATIENCE_S:
            worker.join(_LOOK_S)
    stuck = worker.is_alive()
    if stuck:
        reasons.append(": ".join(filter(None, (f"nothing has come for {_PATIENCE_S:g} s", progress.said))))
    if reasons:
        names = " ".join(entry.name for entry in lacking if not store.is_here(entry))
        why = "; ".join(dict.fromkeys(reasons))
        streams.warn(f"{names} could not be fetched, and is not tried again: edgeagent models pull {names} ({why})")
    if stuck:
        sys.stderr.flush()
        os._exit(exits.OK)  # its thread may be inside a call that no signal ends; pip ends with us


class _Heard:
    """A progress that knows for how long nothing has come.

    Attributes:
        said: The last line for a person, which is not shown.
    """

    def __init__(self, shown: Progress) -> None:
        self.said = ""
        self._shown = shown
        self._begun = self._done = 0
        self._until_s = time.monotonic()

    def silent_s(self) -> float:
        """Seconds since something has come that was waited for; below 0 while files are compared and placed."""
        return time.monotonic() - self._until_s

    def say(self, text: str) -> None:
        """Keeps a line for a person."""
        self.said = text

    def begin(self, title: str, total: int | None, done: int = 0) -> None:
        """Shows a new step. It does not count as something that has come."""
        self._begun = self._done = done
        self._until_s = min(self._until_s, time.monotonic())
        self._shown.begin(title, total, done)

    def reached(self, done: int) -> None:
        """Shows the bytes that are done."""
        if done != self._done:
            self._done, self._until_s = done, time.monotonic()
        self._shown.reached(done)

    def end(self) -> None:
        """Shows the end of a step, which is compared and placed if it has brought something."""
        if self._done != self._begun:
            self._until_s = time.monotonic() + _PLACING_S
        self._shown.end()


def verify(names: list[str]) -> None:
    """Prints a line for each file of the models; without names, of every model that was pulled or put there.

    Raises:
        ConfigError: There is no such model in the catalogue.
        ModelError: A file differs, is missing or can't be read; raised when every file has been told.
    """
    wanted = [named(name) for name in names] or [entry for entry in store.here() if not entry.packaged]
    bad: list[str] = []
    for entry in wanted:
        if names and not any(path.exists() for path in store.paths(entry)) and not entry.packaged:
            raise ModelError(store.absent(entry))
        with streams.patience(f"reading {entry.name} …"):
            found = store.verify(entry)
        for finding in found:
            streams.answer(f"{entry.name}  {finding.path.name}  {finding.text}")
        if any(finding.verdict in ("missing", "differs") for finding in found):
            bad.append(entry.name)
    if bad:
        raise ModelError(f"not what they should be: {', '.join(bad)}. Remove and pull them again")


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
