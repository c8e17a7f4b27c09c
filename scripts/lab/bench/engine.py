"""``scripts/bench engine``: speed, stops, prefixes and grammar, each beside a bare loop or beside itself, as ratios.

The model has the shape of a 0.5B Qwen in Q4_0, with random weights and the real vocabulary of 152k tokens, so that
nothing is downloaded. Beside it stands llama-cpp-python's own ``create_chat_completion``. About ten minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest import mock

from bench import grammar, highlevel
from bench.model import BareLoop, Stopwatch, beyond_the_new, ratio, speeds
from bench.report import HEADER, Row, Rows

from edgeagent import LlamaLLM, Message
from edgeagent.house import HouseRobot
from edgeagent.llm import EngineSettings, LLMRequest
from tests.llm.random_models import half_billion

_PROMPT_TOKENS: Final = 2000
_WINDOW: Final = 4096
_STOPS: Final = 5
_NEVER_S: Final = 1e9
_WORDS: Final = ("go to the kitchen", "pick up the cup", "what time is it", "turn left", "look at the window")


def prompt(llm: LlamaLLM, seed: int, tokens: int = _PROMPT_TOKENS, *, system: str | None = None) -> LLMRequest:
    """A request of at least so many tokens, another for each seed from its first word on."""
    rng = random.Random(seed)
    words = [f"{seed}."]
    while True:
        words += [rng.choice(_WORDS) for _ in range(20)]
        request = LLMRequest(system=system, messages=[Message.user(" and ".join(words))], max_tokens=8)
        if llm.count_tokens(request) >= tokens:
            return request


def made(path: Path, **settings: object) -> LlamaLLM:
    """The model with engine settings, loaded."""
    llm = LlamaLLM(
        path,
        context_window=_WINDOW,
        settings=EngineSettings(**{"prefix_file": False, **settings}),  # type: ignore[arg-type]
    )
    llm.load()
    return llm


def first_token_s(llm: LlamaLLM, request: LLMRequest) -> float:
    """Seconds from asking to the moment after the first token."""
    begun = time.perf_counter()
    watch = Stopwatch()
    for _ in llm.stream(request, watch):
        pass
    return watch.looks[-llm.stats.output_tokens] - begun


def chunk_rows(path: Path) -> Rows:
    """Prompt evaluation in the shipped chunks against one of 512."""
    llm = made(path)
    bare = BareLoop(path, _WINDOW, llm.stats.threads)
    ours: list[float] = []
    theirs: list[float] = []
    for seed in range(2):
        request = prompt(llm, seed, 1000)
        ids = llm.tokenize(request)
        llm.complete(request, threading.Event())
        ours.append(llm.stats.prompt_tokens_per_s)
        theirs.append(len(ids) / bare.run(ids, 1)[0])
    name = f"prompt, chunks of {llm.stats.chunk_tokens} : n_batch 512"
    bare.close()
    llm.close()
    return [(name, ratio((max(ours), max(theirs))), ">= 0.9")]


class StopsAt(threading.Event):
    """A stop event that another thread sets after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.when = 0.0
        self._timer = threading.Timer(seconds, self._stop)
        self._timer.start()

    def _stop(self) -> None:
        self.when = time.perf_counter()
        self.set()


@contextlib.contextmanager
def between_chunks_only() -> Iterator[None]:
    """As on a GPU, where nothing looks at the flag inside a chunk."""
    with mock.patch("edgeagent.llm.engine._WATCH_S", _NEVER_S):
        yield


def stop_rows(path: Path) -> Rows:
    """A prompt of 2,000 tokens stopped at random moments, and what the next request pays."""
    llm = made(path, prefix_memory_mb=0)
    request = prompt(llm, 0)
    begun = time.perf_counter()
    llm.complete(request, threading.Event())
    whole_s = time.perf_counter() - begun
    chunk_s = whole_s * llm.stats.chunk_tokens / llm.stats.evaluated_tokens
    rng = random.Random(7)
    took: dict[str, list[float]] = {"inside a chunk": [], "between chunks": []}
    paid: list[float] = []
    for i in range(_STOPS):
        for how, only in (("inside a chunk", contextlib.nullcontext()), ("between chunks", between_chunks_only())):
            request = prompt(llm, 1 + 2 * i + (how == "between chunks"))
            stop = StopsAt(rng.uniform(0.05, 0.95) * whole_s)
            with only:
                llm.complete(request, stop)
            took[how].append(time.perf_counter() - stop.when)
            kept = llm.stats.evaluated_tokens
            llm.complete(request, threading.Event())
            paid.append((kept + llm.stats.evaluated_tokens) / llm.stats.prompt_tokens)
    tokens = llm.stats.prompt_tokens
    llm.close()
    inside, between = max(took["inside a chunk"]), max(took["between chunks"])
    return [
        (
            f"stop inside a chunk, worst of {_STOPS}",
            f"{inside / whole_s:.1%} of the prompt ({inside * 1e3:.0f} ms)",
            "<= 2 %",
        ),
        (
            f"stop between chunks, worst of {_STOPS}",
            f"{between / chunk_s:.2f} chunks ({between * 1e3:.0f} ms)",
            "<= 1 chunk",
        ),
        (f"stopped and asked again : untouched ({tokens} tokens)", f"{max(paid):.3f} of the tokens at most", ""),
    ]


def prefix_rows(path: Path) -> Rows:
    """A second turn, another agent and the way back; then a start with and without the file."""
    llm = made(path)
    rows: Rows = [
        ("second turn, tokens beyond the new ones", f"{beyond_the_new(llm, list(HouseRobot().tools))}", "<= 16")
    ]
    one, two = (prompt(llm, seed, 1000, system=f"Agent {seed}. " + "Be kind. " * 300) for seed in (1, 2))
    cold_s = first_token_s(llm, one)
    llm.complete(two, threading.Event())
    warm_s = first_token_s(llm, one)
    rows.append(("another agent and back, tokens beyond the new ones", f"{llm.stats.evaluated_tokens - 1}", "<= 16"))
    rows.append(("first token with the warm prefix : without", f"{warm_s / cold_s:.3f}", ""))
    resident = llm.stats.resident_bytes
    rows.append(("resident memory", f"{resident / 1e6:.0f} MB, {llm.stats.prefix_bytes / 1e6:.0f} of it prefixes", ""))
    llm.close()
    with tempfile.TemporaryDirectory() as cache, mock.patch.dict("os.environ", XDG_CACHE_HOME=cache):
        starts: list[float] = []
        for _ in range(2):
            llm = made(path, prefix_file=True)
            starts.append(first_token_s(llm, one))
            llm.close()
    rows.append(("first token of a start with the prefix file : without", f"{starts[1] / starts[0]:.3f}", ""))
    return rows


def rows(folder: Path) -> Iterator[Row]:
    """Name, figure and target of each measurement, as they come."""
    path = half_billion(folder)
    tools = list(HouseRobot().tools)
    for name in ("nano", path):
        llm = made(Path(name)) if name != "nano" else LlamaLLM("nano")
        yield (
            f"{llm.name}: generation : bare llama_decode",
            ratio(speeds(llm, tools, 20 if name == "nano" else 1)["generation"]),
            (">= 0.9" if name == "nano" else ">= 0.98"),
        )
        llm.close()
    for part in (chunk_rows, stop_rows, prefix_rows, grammar.rows, highlevel.rows):
        yield from part(path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench engine", description="Measure the engine.")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "edgeagent-bench", help="for the model"
    )
    arguments = parser.parse_args()
    for row in itertools.chain([HEADER], rows(arguments.folder)):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, (62, 44, 10), strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    main()
