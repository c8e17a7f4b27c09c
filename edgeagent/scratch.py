"""Folders for files that nobody needs afterwards. Knows no room of the house. Any thread."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A new folder that is gone afterwards, whatever happens while it is made.

    ``tempfile.TemporaryDirectory`` knows of its folder only when it is there: a Ctrl-C in between leaves it behind.

    Raises:
        OSError: It can't be made.
    """
    path = Path(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(8)}")
    try:
        path.mkdir(mode=0o700)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
