"""What the whole embedded stack costs while it does nothing, hears and speaks: all its processes, in real time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from bench.pulse_room import VOICES, Line
from bench.report import Rows
from bench.voice_stage import Stage

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_TEXT: Final = "I have looked in every room of the flat and there was nobody at all but the red cup is on the table "
_HEARD: Final = "well my sister said that the weather would be nice tomorrow and we could all go to the lake"
"""Nothing is done about it."""


def family(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # threads end meanwhile
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def pss_mb(pid: int) -> float:
    """Memory of a process in MB; of what it shares with others, its part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def used_s(pid: int) -> float:
    """Processor seconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def name(pid: int) -> str:
    """The conversation, or what its child recognises."""
    argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    if b"edgeagent.stt.decoding:UtteranceDecoder" in argv or b"edgeagent.stt.decoding:Spotter" in argv:
        text = b" ".join(argv)
        return "key phrases" if b"Spotter" in text else "app's model" if b"edgeagent" in _model(argv) else "general"
    return "conversation"


def _model(argv: list[bytes]) -> bytes:
    return next((part for part in argv if b'"lm"' in part), b"").partition(b'"lm"')[2]


class Shares:
    """Share of a core of each process, between two moments."""

    def __init__(self, pid: int) -> None:
        self._before = {each: used_s(each) for each in family(pid)}
        self._begun_s = time.monotonic()

    def end(self) -> dict[int, float]:
        took_s = time.monotonic() - self._begun_s
        return {each: (used_s(each) - before) / took_s for each, before in self._before.items()}


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target of share and memory; and what does not work. The microphone hears a little noise."""
    seconds = 10.0 if quick else 60.0
    made: Rows = []
    with Stage() as stage, stage.noise():
        stage.set_echo()
        for state in ("idle", "hearing", "speaking"):
            stage.rest()
            shares = _while(state, stage, seconds)
            memory = {pid: pss_mb(pid) for pid in shares}
            parts = ", ".join(f"{name(pid)} {share:.1%}" for pid, share in shares.items())
            target = "6 %" if state == "idle" else ""
            made.append((f"share of a core, {state}", f"{sum(shares.values()):.1%}  ({parts})", target))
            parts = ", ".join(f"{name(pid)} {mb:.0f}" for pid, mb in memory.items())
            made.append((f"memory (PSS), {state}", f"{sum(memory.values()):.0f} MB  ({parts})", "400 MB"))
        pids = list(family(stage.pid))
        threads = sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)
        made.append(("processes and threads", f"{len(pids)} and {threads}", ""))
    return made, []


def _while(state: str, stage: Stage, seconds: float) -> dict[int, float]:
    if state == "speaking":
        stage.ask("say", text=_TEXT * (int(seconds / 5) + 2))
        stage.wait(lambda event: event["kind"] == "given", 10.0)
    shares = Shares(stage.pid)
    end_s = time.monotonic() + seconds
    if state == "hearing":
        line = Line(_HEARD, VOICES[0])
        while time.monotonic() < end_s:
            stage.speak(line)
    else:
        threading.Event().wait(seconds)
    return shares.end()
