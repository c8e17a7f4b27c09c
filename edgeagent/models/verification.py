"""The comparison of a model's files with what the catalogue, or the note of their pull, says of them.

Reads whole files: seconds for a gigabyte. Any thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from edgeagent.errors import ModelError
from edgeagent.models import store
from edgeagent.models.catalog import Entry, File

BLOCK: Final = 1 << 20
"""Bytes that are read at once."""

Verdict = Literal["ok", "unknown", "missing", "differs"]
"""``unknown``: nobody has told the sha256 of the file, so there is nothing to compare it with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict about one file."""

    path: Path
    verdict: Verdict
    text: str
    """The verdict in words."""


def verify(entry: Entry, on_bytes: Callable[[int], object] = lambda count: None) -> list[Finding]:
    """Compares every file of a model with its sha256.

    Args:
        on_bytes: Called with the number of bytes that were read since the last call.

    Raises:
        ModelError: A file or the notes of the pull can't be read.
    """
    notes = store.records(entry)
    return [
        _finding(file, path, notes.get(file.name), on_bytes)
        for file, path in zip(entry.files, store.paths(entry), strict=True)
    ]


def sha256(path: Path, on_bytes: Callable[[int], object] = lambda count: None) -> str:
    """The SHA-256 of a file, in lower case.

    Raises:
        OSError: The file can't be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            on_bytes(len(block))
    return digest.hexdigest()


def _finding(file: File, path: Path, note: store.Pulled | None, on_bytes: Callable[[int], object]) -> Finding:
    try:
        found = sha256(path, on_bytes)
    except FileNotFoundError:
        return Finding(path=path, verdict="missing", text="missing")
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror}") from error
    known = file.sha256
    against = "the catalogue's sha256"
    if note is not None and (note.accepted or known is None):
        known = note.sha256
        against = f"the sha256 {'accepted' if note.accepted else 'recorded'} on {note.date}"
    if known is None:
        return Finding(path=path, verdict="unknown", text=f"nothing to compare with; sha256 {found}")
    if known == found:
        return Finding(path=path, verdict="ok", text=f"has {against}")
    return Finding(path=path, verdict="differs", text=f"differs from {against}: sha256 {found}, not {known}")
