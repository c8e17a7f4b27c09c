"""``scripts/bench resume``: how long a session takes to go on from a long journal, and how soon Ctrl-C ends that.

Each measurement is a process of its own, which opens the journal, makes one step and closes the session. Ends with exit
code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

import typer

from edgeagent import Agent, LlamaLLM, Message, Options, Session
from edgeagent.cli import exits
from edgeagent.journal import Journal
from edgeagent.llm import LLM
from edgeagent.testing import ScriptedLLM

_TARGETS_S: Final = {10_000: 3.0, 400_000: 60.0}
"""Exchanges, and seconds in which a session of so many goes on."""
_SIZE_SHARE: Final = 4.0
"""Peak memory, as a multiple of the journal's size, from 100 MB on."""
_LARGE_BYTES: Final = 100_000_000
_END_S: Final = 1.0
"""Seconds from Ctrl-C to the end of the process."""
_TEXT_WORDS: Final = 16
_REPLY_TOKENS: Final = 16
_LIMIT_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """What one process measured: seconds, and bytes of memory."""

    open_s: float
    step_s: float
    close_s: float
    cpu_s: float
    """Of all three: what other work on the machine does not change."""
    peak_bytes: int

    @property
    def total_s(self) -> float:
        return self.open_s + self.step_s + self.close_s


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(prog="scripts/bench resume", description="Long journals.")
    parser.add_argument("--exchanges", type=int, nargs="*", default=[10_000, 20_000, 400_000])
    parser.add_argument("--model", default="nano", help="a model, or 'scripted' (default: nano)")
    parser.add_argument("--go-on", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.go_on:
        go_on(Path(arguments.go_on), arguments.model)
        return
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for exchanges in arguments.exchanges:
            path = Path(folder) / f"{exchanges}.journal"
            fill(path, exchanges)
            failures += table(path, exchanges, arguments.model)
            path.unlink()
    sys.exit(1 if failures else 0)


def fill(path: Path, exchanges: int) -> None:
    """Writes a journal of so many exchanges, as a session that was never compacted would."""
    filler = " ".join(["meadow"] * _TEXT_WORDS)
    with Journal.open(path) as journal:
        for number in range(exchanges):
            journal.append(Message.user(f"request {number} {filler}"))
            journal.append(Message.assistant(f"answer {number} {filler}"))


def table(path: Path, exchanges: int, model: str) -> int:
    """Prints the rows of one journal. Returns how many targets were missed."""
    size = path.stat().st_size
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    resumed = measured(copy, model)
    parts = f"{resumed.open_s:.2f} + {resumed.step_s:.2f} + {resumed.close_s:.2f}"
    rows = [
        ("size of the journal", f"{size / 1e6:.1f} MB", True),
        (
            "open, step, close",
            f"{parts} = {resumed.total_s:.2f} s (CPU {resumed.cpu_s:.2f} s)",
            resumed.total_s <= _TARGETS_S.get(exchanges, float("inf")),
        ),
        (
            "peak memory",
            f"{resumed.peak_bytes / 1e6:.0f} MB, {resumed.peak_bytes / size:.1f} times the journal",
            size < _LARGE_BYTES or resumed.peak_bytes <= _SIZE_SHARE * size,
        ),
    ]
    for name, after in (("Ctrl-C while it is read", "reading"), ("Ctrl-C during the step", "stepping")):
        copy.write_bytes(path.read_bytes())
        for share in (0.1, 0.5):
            whole_s = resumed.open_s if after == "reading" else resumed.step_s
            ended_s = interrupted(copy, model, after, share * whole_s)
            rows.append((f"{name}, after {share * whole_s:.2f} s", f"{ended_s:.2f} s", ended_s <= _END_S))
            copy.write_bytes(path.read_bytes())
    copy.unlink()
    for name, figure, good in rows:
        print(f"{exchanges:>9,} exchanges  {name:<40} {figure:<48} {'' if good else 'MISSED'}".rstrip(), flush=True)
    return sum(not good for _, _, good in rows)


def measured(path: Path, model: str) -> Resumed:
    """One process that goes on from a journal."""
    with _started(path, model) as process:
        told, _ = process.communicate(timeout=_LIMIT_S)
    return Resumed(**json.loads(told.splitlines()[-1]))


def interrupted(path: Path, model: str, after: str, wait_s: float) -> float:
    """Seconds from Ctrl-C, so many seconds after a word of the process, to its end."""
    with _started(path, model) as process:
        while cast(IO[str], process.stdout).readline().strip() != after:
            pass
        time.sleep(wait_s)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(_LIMIT_S)
        return time.monotonic() - begun


def _started(path: Path, model: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.resume", "--model", model, "--go-on", str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


# --- in the process that is measured --------------------------------------------------------------------------------


def go_on(path: Path, model: str) -> None:
    """Goes on from a journal, and tells what that took."""
    llm: LLM = ScriptedLLM("yes") if model == "scripted" else LlamaLLM(model)
    agent = Agent("robi", "You are a robot.", llm=llm, options=Options(max_tokens=_REPLY_TOKENS))
    exits.own_process()  # so that Ctrl-C ends it as it ends a command
    try:
        with exits.guarded(screen=True):
            begun, begun_cpu_s = time.monotonic(), time.process_time()
            print("reading", flush=True)
            with Session.open(path, agent) as session:
                opened = time.monotonic()
                print("stepping", flush=True)
                session.step("hello")
                stepped = time.monotonic()
            closed = time.monotonic()
    except typer.Exit as ended:
        exits.leave_process(ended.exit_code)
        raise
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = {"open_s": opened - begun, "step_s": stepped - opened, "close_s": closed - stepped}
    seconds["cpu_s"] = time.process_time() - begun_cpu_s
    print(json.dumps({**seconds, "peak_bytes": peak_bytes}))


if __name__ == "__main__":
    main()
