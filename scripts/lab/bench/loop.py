"""``scripts/bench loop``: what a turn costs beside the model, in edgeagent and in other frameworks, side by side.

Each framework plays the same conversation with a model that answers at once: one call a turn of a function that does
nothing. Each has a process of its own, and they take turns, so that whatever else the machine does hits all alike. The
others are installed once, each into an environment of its own below ``~/.cache/edgeagent-bench/venvs``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from bench.report import HEADER, Rows, cache, printed, teller

tell: Final = teller("loop")
_LAB: Final = Path(__file__).resolve().parent.parent
_CONTENDERS: Final = Path(__file__).resolve().parent / "contenders"
_OURS: Final = "edgeagent"
_OTHERS: Final = {"openai-agents": "openai_agents", "smolagents": "smolagents", "pydantic-ai-slim": "pydantic_ai"}
_FEW: Final = 10
"""Turns at either end of a run that have a figure of their own, because history grows."""
_MOST_TURNS: Final = 99
"""An agent makes at most 100 model calls in a run."""
_INSTALL_S: Final = 900
_TARGET_MS: Final = 0.5
_QUIET: Final = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


class CannotPlayError(Exception):
    """A framework can't be installed, or its process ended."""


def environment(name: str, pinned: Path) -> Path:
    """The Python of an environment with the packages of a requirements file, which is made if it is not there.

    Raises:
        CannotPlayError: pip or venv failed; the text is its last line.
    """
    state = hashlib.sha256(pinned.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache() / "venvs" / f"{pinned.stem}-{state}"
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    if stamp.exists():
        return python
    tell(f"installing {name} and what it needs into {folder}")
    begun = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", folder],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2", "-r", pinned],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotPlayError(str(error)) from error
        if done.returncode:
            raise CannotPlayError(_last_line(done.stderr) or f"{command[2]} ended with {done.returncode}")
    stamp.touch()
    tell(f"installed {name} in {time.monotonic() - begun:.0f} s")
    return python


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


@dataclass(eq=False)
class Player:
    """A framework's process, ready to play. ``turns_ms`` holds a list a run."""

    name: str
    process: subprocess.Popen[str]
    errors: IO[str]
    turns_ms: list[list[float]] = field(default_factory=list)

    def read(self) -> Any:
        """The next line that the process prints.

        Raises:
            CannotPlayError: It ended instead.
        """
        assert self.process.stdout is not None  # noqa: S101  it is a pipe
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise CannotPlayError(_last_line(self.errors.read()) or f"ended with {self.process.wait()}")
        return json.loads(line)

    def play(self) -> None:
        """One run.

        Raises:
            CannotPlayError: The process ended.
        """
        assert self.process.stdin is not None  # noqa: S101  it is a pipe
        with contextlib.suppress(BrokenPipeError):  # it ended; reading tells why
            print(file=self.process.stdin, flush=True)
        self.turns_ms.append(self.read())

    @property
    def all_ms(self) -> list[float]:
        """Every turn, the quickest first."""
        return sorted(turn for run in self.turns_ms for turn in run)

    @property
    def median_ms(self) -> float:
        return statistics.median(self.all_ms)

    def early_ms(self, last: int = _FEW) -> float:
        """Median of the first turns of a run."""
        return statistics.median(turn for run in self.turns_ms for turn in run[:last])

    def late_ms(self) -> float:
        """Median of the last turns of a run."""
        return statistics.median(turn for run in self.turns_ms for turn in run[-_FEW:])

    def p99_ms(self) -> float:
        every = self.all_ms
        return every[int(0.99 * (len(every) - 1))]


def started(name: str, module: str, python: Path, turns: int, stack: contextlib.ExitStack) -> Player:
    """A framework's process after its imports and a few runs that do not count.

    Raises:
        CannotPlayError: It does not play.
    """
    paths = [str(_LAB)] if module in _OTHERS.values() else [str(_LAB.parents[1]), str(_LAB)]
    errors = stack.enter_context(tempfile.TemporaryFile("w+"))  # noqa: SIM115  the stack closes it
    process = stack.enter_context(
        subprocess.Popen(
            [python, "-P", "-m", f"bench.contenders.{module}", "--turns", str(turns)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | _QUIET | {"PYTHONPATH": os.pathsep.join(paths)},
        )
    )
    stack.callback(process.kill)
    player = Player(name, process, errors)
    player.read()
    return player


def measured(turns: int, rounds: int) -> tuple[list[Player], Rows]:
    """Every framework that plays, ours first, with its times; and a row for each that does not."""
    failed: Rows = []
    with contextlib.ExitStack() as stack:
        players = [started(_OURS, _OURS, Path(sys.executable), turns, stack)]
        for name, module in _OTHERS.items():
            title = f"{name} {_version(module, name)}"
            try:
                players.append(started(title, module, environment(title, _CONTENDERS / f"{module}.txt"), turns, stack))
            except CannotPlayError as error:
                failed.append((title, f"not measured: {error}", ""))
        tell(f"{rounds} rounds of {turns} turns each")
        for i in range(rounds):
            first = i % len(players)
            for player in players[first:] + players[:first]:
                try:
                    player.play()
                except CannotPlayError as error:
                    if player is players[0]:
                        raise
                    players.remove(player)
                    failed.append((player.name, f"not measured: {error}", ""))
    return players, failed


def _version(module: str, name: str) -> str:
    pins = (_CONTENDERS / f"{module}.txt").read_text().splitlines()
    return next(pin.partition("==")[2] for pin in pins if pin.startswith(f"{name}=="))


def rows(players: list[Player], turns: int) -> Rows:
    """Name, figure and target of each measurement."""
    ours, *others = players
    late = f", {turns - _FEW + 1} to {turns}: {{:.2f}}" if turns >= 2 * _FEW else ""
    made: Rows = []
    for player in players:
        more = late.format(player.late_ms())
        early = f"turns 1 to {min(_FEW, turns)}: {player.early_ms():.2f}"
        figure = f"{player.median_ms:.2f} ms  (p99 {player.p99_ms():.2f}; {early}{more})"
        made.append((f"{player.name}: a turn with 1 tool", figure, f"< {_TARGET_MS} ms" if player is ours else ""))
    if others:
        made.append(_ratio_row("a turn", ours, {other: other.median_ms for other in others}, ours.median_ms))
        early_ms = {other: other.early_ms() for other in others}
        made.append(_ratio_row(f"turns 1 to {min(_FEW, turns)}", ours, early_ms, ours.early_ms()))
    for player in players:
        nth_ms = " ".join(f"{statistics.median(nth):.2f}" for nth in list(zip(*player.turns_ms, strict=True))[:_FEW])
        made.append((f"{player.name}: turn 1, 2 and so on", nth_ms, ""))
    return made


def _ratio_row(what: str, ours: Player, others_ms: dict[Player, float], our_ms: float) -> tuple[str, str, str]:
    fastest = min(others_ms, key=others_ms.__getitem__)
    other_ms = others_ms[fastest]
    return (
        f"{what}, {ours.name} : the fastest other, {fastest.name}",
        f"{our_ms / other_ms:.2f}  ({our_ms:.2f} : {other_ms:.2f} ms)",
        "< 1",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench loop", description="Measure the loop beside other frameworks.")
    parser.add_argument("--turns", type=int, default=50, help="of a run, each with one call (default: 50)")
    parser.add_argument("--rounds", type=int, default=40, help="runs of each framework (default: 40)")
    parser.add_argument("--quick", action="store_true", help="5 rounds")
    arguments = parser.parse_args()
    if not 1 <= arguments.turns <= _MOST_TURNS:
        parser.error(f"--turns: 1 to {_MOST_TURNS}")
    if arguments.rounds < 1:
        parser.error("--rounds: 1 or more")
    try:
        players, failed = measured(arguments.turns, 5 if arguments.quick else arguments.rounds)
    except CannotPlayError as error:
        sys.exit(f"{_OURS} does not play: {error}")
    printed([HEADER, *rows(players, arguments.turns), *failed])


if __name__ == "__main__":
    main()
