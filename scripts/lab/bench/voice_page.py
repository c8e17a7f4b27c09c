"""What an open page costs a conversation: latencies with a page that looks on and without one, in turn in one run.

The page is a client that reads all that the server tells and fetches the map as often as the page's script does. A
browser is left out: it runs on another machine, and here it would take the robot's cores.
"""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Final

import httpx2
from bench.kept import Kept
from bench.pulse_room import VOICES, Line
from bench.report import Rows, percentile
from bench.voice_latency import MOTIONS, QUESTIONS, Planned, Trial, acting, answer, spread, stop, tried
from bench.voice_stack import Shares
from bench.voice_stage import Stage

from edgeagent.web import MAP_S

_TRIALS: Final = 30
_QUICK: Final = 6
_LIMIT_S: Final = 10.0
_SHARES: Final = 4
_SHARE_S: Final = 8.0
"""Seconds for which a share of a core is taken, with a page and without, so often in turn."""
_FIGURES: Final = {"answer": ("sound", "end of speech to first sound"), "stop": ("zero", 'end of "stop" to zero')}
"""Kinds of trials: what of them is compared, and its name."""


@contextmanager
def open_page(port: int) -> Iterator[list[int]]:
    """A page that looks on. Yields the number of messages that it was told."""
    told, over = [0], threading.Event()
    client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=_LIMIT_S, trust_env=False)

    def draw() -> None:
        while not over.wait(MAP_S):
            client.get("/api/map")

    with client, client.stream("GET", "/api/events") as events:
        parts = events.iter_lines()

        def read() -> None:
            for part in parts:
                told[0] += part.startswith("data: ")
                if over.is_set():
                    return

        threads = [threading.Thread(target=work, daemon=True) for work in (read, draw)]
        for thread in threads:
            thread.start()
        try:
            yield told
        finally:
            over.set()
            for thread in threads:
                thread.join(_LIMIT_S)  # the server tells something every second


def planned(count: int) -> list[Planned]:
    """So many answers and stops."""
    said = [text for pair in zip(MOTIONS, QUESTIONS, strict=True) for text in pair]
    made = [
        Planned("answer", i, (said[i % len(said)], VOICES[i % 3]), lambda stage, line, _: answer(stage, line))
        for i in range(count)
    ]
    return made + [Planned("stop", i, ("stop", VOICES[i % 3]), partial(stop, acting)) for i in range(count)]


def rows(quick: bool, kept: Kept) -> tuple[Rows, list[str]]:
    """Name, figure and target of each latency with and without a page, and their ratio; and what does not work."""
    plan = planned(_QUICK if quick else _TRIALS)
    missing = any(kept.get(_name(trial, page)) is None for trial in plan for page in (False, True))
    if missing or kept.get(_share(True)) is None:
        _measure(plan, kept)
    made: Rows = []
    for kind, (figure, name) in _FIGURES.items():
        trials = [trial for trial in plan if trial.what == kind]
        found: dict[bool, list[float]] = {
            page: [kept.get(_name(trial, page))[figure] for trial in trials] for page in (False, True)
        }
        made += [(f"{name}, {'a page open' if page else 'no page'}", spread(found[page]), "") for page in found]
        middle = {page: percentile(values, 0.5) for page, values in found.items()}
        ratio = middle[True] / middle[False] if math.isfinite(sum(middle.values())) and middle[False] > 0 else math.nan
        made.append(("  p50 with a page by p50 without", f"{ratio:.2f}", ""))
    shares = {page: percentile(kept.get(_share(page)), 0.5) for page in (False, True)}
    told_shares = f"{shares[False]:.1%}, {shares[True]:.1%} with a page, {shares[True] / shares[False]:.2f}"
    made.append(("share of a core, idle, all processes", told_shares, ""))
    told = kept.get("told", 0)
    made.append(("messages that the page was told", str(told), ""))
    return made, [] if told else ["the page was told nothing"]


def _name(trial: Planned, page: bool) -> str:
    return f"{trial.name}{', page' * page}"


def _share(page: bool) -> str:
    return f"share{', page' * page}"


def share(stage: Stage, port: int) -> dict[bool, list[float]]:
    """Shares of a core of the robot's processes without and with a page, in turn."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(_SHARES):
        for page, values in found.items():
            with open_page(port) if page else nullcontext():
                shares = Shares(stage.pid)
                threading.Event().wait(_SHARE_S)
                values.append(sum(shares.end().values()))
    return found


def _measure(plan: list[Planned], kept: Kept) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Stage(page=port) as stage:
        stage.set_echo()
        stage.rest()
        for page, shares in share(stage, port).items():
            kept.put(_share(page), shares)
        stage.warm_up()
        for trial in plan:
            first = trial.number % 2 == 1  # who is first may be slower
            for page in (first, not first):
                if kept.get(_name(trial, page)) is None:
                    kept.put(_name(trial, page), _done(trial, stage, port if page else 0, kept))
                    stage.rest()


def _done(trial: Planned, stage: Stage, port: int, kept: Kept) -> Trial:
    line = Line(*trial.line)
    if not port:
        return tried(trial, stage, line)
    with open_page(port) as told:
        found = tried(trial, stage, line)
    kept.put("told", kept.get("told", 0) + told[0])
    return found
