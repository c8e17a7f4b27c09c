"""Owners of a sound card: what Linux tells of ALSA's open devices."""

from __future__ import annotations

from pathlib import Path

_CARDS = Path("/proc/asound")


def holder_of_cards(cards: Path = _CARDS, processes: Path = Path("/proc")) -> str | None:
    """The program that has a card open, as "name (process 123)"; None if none has, or nobody may know."""
    for status in sorted(cards.glob("card*/pcm*/sub*/status")):
        try:
            lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        owners = [line.partition(":")[2].strip() for line in lines if line.startswith("owner_pid")]
        if not owners or not owners[0].isdecimal():
            continue
        try:
            name = (processes / owners[0] / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            name = "a program"
        return f"{name} (process {owners[0]})"
    return None
