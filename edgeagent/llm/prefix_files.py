"""Prefixes on disk: a later start does not evaluate an agent's system prompt and tools again.

A file holds the state after one prefix. Its name and its header are made of everything the state depends on: the model
file, llama.cpp, the engine's settings, and the ids, which stand for template, system prompt and tools. It is written
beside its place and moved there when whole, by a thread of its own; what does not check out is ignored with a notice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from edgeagent.llm.engine import Blob

log: Final = logging.getLogger("edgeagent.llm")

WORTH_S: Final = 1.0
"""A prefix that is evaluated faster than this is not worth the wear of a memory card."""

KEPT_BYTES: Final = 1 << 30
"""Room for all files of a folder; the least recently used go first."""

_MAGIC: Final = b"edgeagent prefix 1\n"
_DIGEST_BYTES: Final = 32
_SUFFIX: Final = ".prefix"
_SAMPLE_BYTES: Final = 1 << 20


class PrefixFiles:
    """The prefix files of one model with one set of settings.

    Args:
        folder: Where they are; made when the first is written.
        identity: Everything but the ids that the state depends on, as JSON values. See ``fingerprint``.
        worth_s: Write only what took longer to evaluate, in seconds.
        kept_bytes: How much all files of the folder may take.
    """

    def __init__(
        self, folder: Path, identity: dict[str, object], *, worth_s: float = WORTH_S, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._folder = folder
        self._identity = json.dumps(identity, sort_keys=True).encode()
        self._worth_s = worth_s
        self._kept_bytes = kept_bytes
        self._writer: threading.Thread | None = None
        self._bad: set[Path] = set()

    def read(self, ids: Sequence[int]) -> Blob | None:
        """The state after these ids; None when there is no file or it can't be used."""
        path = self._path(ids)
        try:
            data = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("the prefix file %s can't be read (%s): the prefix is evaluated again", path, error)
            return None
        head = self._head(ids)
        body_at = len(head) + _DIGEST_BYTES
        if data[: len(head)].tobytes() != head:
            self._ignore(path, "it belongs to another model, version or setting")
            return None
        blob: Blob = data[body_at:]
        if data[len(head) : body_at].tobytes() != _digest(blob):
            self._ignore(path, "it is damaged")
            return None
        os.utime(path)
        return blob

    def has(self, ids: Sequence[int]) -> bool:
        """True if there is a file for these ids that was not found to be bad."""
        path = self._path(ids)
        return path.exists() and path not in self._bad

    def is_worth(self, took_s: float) -> bool:
        """True if a prefix that took this long to evaluate is worth a file."""
        return took_s >= self._worth_s

    def write(self, ids: Sequence[int], blob: Blob | None) -> None:
        """Write a state in the background; not while another is being written."""
        if blob is None or (self._writer is not None and self._writer.is_alive()):
            return
        path = self._path(ids)
        self._bad.discard(path)
        self._writer = threading.Thread(
            target=self._write, args=(path, self._head(ids), blob), name="edgeagent-prefix-writer", daemon=True
        )
        self._writer.start()

    def close(self) -> None:
        """Wait for what is being written."""
        if self._writer is not None:
            self._writer.join()

    def _write(self, path: Path, head: bytes, blob: Blob) -> None:
        temporary: Path | None = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._make_room(len(head) + _DIGEST_BYTES + blob.size)
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".tmp", delete=False) as file:
                temporary = Path(file.name)
                file.write(head)
                file.write(_digest(blob))
                blob.tofile(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            log.warning("the prefix file %s can't be written (%s): the next start evaluates it again", path, error)
            if temporary is not None:
                temporary.unlink(missing_ok=True)

    def _make_room(self, needed: int) -> None:
        """Delete files of earlier writers that died, and the least recently used ones beyond the limit."""
        for leftover in self._folder.glob("*.tmp"):
            leftover.unlink(missing_ok=True)
        files = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda file: file.stat().st_mtime)
        total = needed + sum(file.stat().st_size for file in files)
        for file in files:
            if total <= self._kept_bytes:
                break
            total -= file.stat().st_size
            file.unlink(missing_ok=True)

    def _ignore(self, path: Path, why: str) -> None:
        log.warning("the prefix file %s is ignored: %s. It is written again", path, why)
        self._bad.add(path)

    def _head(self, ids: Sequence[int]) -> bytes:
        packed = np.asarray(ids, np.int32).tobytes()
        return _MAGIC + struct.pack("<II", len(self._identity), len(ids)) + self._identity + packed

    def _path(self, ids: Sequence[int]) -> Path:
        return self._folder / f"{hashlib.blake2b(self._head(ids), digest_size=16).hexdigest()}{_SUFFIX}"


def _digest(blob: Blob) -> bytes:
    return hashlib.blake2b(blob.data, digest_size=_DIGEST_BYTES).digest()


def fingerprint(model: Path) -> dict[str, object]:
    """Tell one model file from another without reading all of it, by its size and a digest of its two ends."""
    size = model.stat().st_size
    digest = hashlib.blake2b(digest_size=16)
    with model.open("rb") as file:
        digest.update(file.read(_SAMPLE_BYTES))
        file.seek(max(0, size - _SAMPLE_BYTES))
        digest.update(file.read(_SAMPLE_BYTES))
    return {"model_bytes": size, "model_digest": digest.hexdigest()}
