"""Warm prefixes: what was evaluated once is not evaluated again, though agents take turns on one model, or start later.

The live sequence of the engine serves the agent that speaks. Snapshots of it serve the others: one of an agent's whole
conversation when another agent's prompt takes its place, and, for models that can't roll back (recurrent, hybrid), one
where its system prompt and tools end and one where its conversation goes on. Runs under the inference lock.

Files serve a later start: each holds the state after one prefix. Its name and its header are made of everything the
state depends on: the model file, llama.cpp, the engine's settings, and the ids, which stand for template, system prompt
and tools. It is written beside its place and moved there when whole, by a thread of its own; what does not check out is
ignored with a notice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from edgeagent.errors import ModelError
from edgeagent.llm.engine import Blob, Engine, common_prefix
from edgeagent.llm.prompt import Prompt, Prompter
from edgeagent.llm.protocol import LLMRequest
from edgeagent.messages import Message
from edgeagent.resources import whole_file

log: Final = logging.getLogger("edgeagent.llm")

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
        self, folder: Path, identity: dict[str, object], *, worth_s: float, kept_bytes: int = KEPT_BYTES
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
        with suppress(OSError):  # the disk is read-only, or another process has just removed the file
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
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._make_room(len(head) + _DIGEST_BYTES + blob.size)
            with whole_file(path) as unfinished:
                unfinished.touch(mode=0o600)  # the state tells what an agent was told
                with unfinished.open("wb") as file:
                    file.write(head)
                    file.write(_digest(blob))
                    blob.tofile(file)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            log.warning("the prefix file %s can't be written (%s): the next start evaluates it again", path, error)

    def _make_room(self, needed: int) -> None:
        """Delete files of earlier writers that died, and the least recently used ones beyond the limit."""
        for leftover in self._folder.glob(".*.partial"):
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


_OPENINGS: Final = ("a", "\n1")  # what people may begin with
_KEPT: Final = 32


@dataclass(frozen=True, slots=True)
class Marks:
    """Places in a prompt, in ids from its beginning."""

    prefix: int = 0
    """The end of the system prompt and the tools."""
    history: int = 0
    """The end of what the next prompt of this conversation repeats; 0 where nobody asked."""


class Marker:
    """Finds the marks of requests to one model. Only the generating thread uses it."""

    def __init__(self, prompter: Prompter, *, history: bool) -> None:
        """Make one.

        Args:
            prompter: Makes the prompts.
            history: Also find the end of the history; only models that can't roll back need it, and it costs another
                rendering for each request.
        """
        self._prompter = prompter
        self._history = history
        self._prefixes: OrderedDict[str, list[int]] = OrderedDict()

    def find(self, request: LLMRequest, prompt: Prompt) -> Marks:
        """The marks of a request and its prompt."""
        prefix = common_prefix(self._prefix(request), prompt.ids)
        if not self._history:
            return Marks(prefix)
        later = (*request.messages, Message.assistant("a"), Message.user("a"))
        return Marks(prefix, max(prefix, common_prefix(self._ids(replace(request, messages=later)), prompt.ids)))

    def _prefix(self, request: LLMRequest) -> list[int]:
        """Find the ids with which every prompt with this system prompt and these tools begins."""
        tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
        key = json.dumps((request.system, tools, request.thinking_level), sort_keys=True, default=str)
        if key not in self._prefixes:
            first, *others = (self._ids(replace(request, messages=[Message.user(opening)])) for opening in _OPENINGS)
            self._prefixes[key] = first[: min(common_prefix(first, other) for other in others)]
            if len(self._prefixes) > _KEPT:
                self._prefixes.popitem(last=False)
        self._prefixes.move_to_end(key)
        return self._prefixes[key]

    def _ids(self, request: LLMRequest) -> list[int]:
        try:
            return self._prompter.make(request).ids
        except ModelError:  # this template refuses such a conversation, so nothing is known of what is shared
            return []


_GAIN: Final = 16  # ids; below that, restoring costs about what it saves

Kind = Literal["prefix", "history", "live"]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    kind: Kind
    agent: tuple[int, ...]
    ids: tuple[int, ...]
    blob: Blob


class Prefixes:
    """The snapshots of one engine.

    Args:
        engine: Whose sequence it is.
        limit_bytes: Memory that the snapshots may take together; the least recently used goes first. 0 keeps none.
        files: Where an agent's prefix outlives the process; None keeps none.
    """

    def __init__(self, engine: Engine, limit_bytes: int, files: PrefixFiles | None) -> None:
        self._engine = engine
        self._limit_bytes = limit_bytes
        self._files = files
        self._snapshots: OrderedDict[tuple[Kind, tuple[int, ...]], _Snapshot] = OrderedDict()
        self._token_s = float("inf")  # what evaluating one takes; unknown yet
        self._agent: tuple[int, ...] | None = None  # whose the live sequence is, told by its prefix

    @property
    def used_bytes(self) -> int:
        """Memory of all snapshots."""
        return sum(snapshot.blob.size for snapshot in self._snapshots.values())

    def close(self) -> None:
        """Wait for a file that is being written, and forget everything."""
        if self._files is not None:
            self._files.close()
        self._snapshots.clear()

    def prepare(self, prompt: Prompt, marks: Marks) -> int:
        """Make the live sequence a beginning of this prompt, as long a one as there is; gives its length in ids.

        The last id of a prompt is always evaluated again: its logits are the answer.
        """
        ids, engine = prompt.ids, self._engine
        agent = tuple(ids[: marks.prefix])
        usable = min(common_prefix(engine.evaluated, ids), len(ids) - 1)
        if not engine.can_roll_back and usable < len(engine.evaluated):
            usable = 0
        if self._agent not in (None, agent) and len(engine.evaluated) - usable > _GAIN:
            self._keep("live", self._agent)
        best, length = self._best(ids)
        if length < marks.prefix and usable < marks.prefix and self._files is not None:
            blob = self._files.read(agent)
            if blob is not None:
                best, length = _Snapshot("prefix", agent, agent, blob), min(marks.prefix, len(ids) - 1)
        if best is not None and length >= usable + _GAIN and engine.restore(best.ids, best.blob):
            usable = length
            self._keep(best.kind, best.agent, best.blob)  # as the one that was used last
        self._agent = agent
        return engine.cut(usable)

    def evaluate(self, prompt: Prompt, marks: Marks, stopped: Callable[[], bool]) -> bool:
        """Evaluate the rest of a prompt after ``prepare``, with a snapshot where one is due; False when stopped."""
        ids, engine, files = prompt.ids, self._engine, self._files
        agent = tuple(ids[: marks.prefix])
        begun_at, begun_s = len(engine.evaluated), time.perf_counter()
        for_file = files is not None and files.is_worth(len(agent) * self._token_s) and not files.has(agent)
        if marks.prefix > begun_at + _GAIN and (for_file or not engine.can_roll_back):
            if not engine.prefill(agent, stopped):
                return False
            took_s = time.perf_counter() - begun_s
            if not engine.can_roll_back:
                self._keep("prefix", agent)
            if files is not None and for_file and files.is_worth(took_s):
                files.write(agent, engine.snapshot())
        if marks.history > len(engine.evaluated) and not engine.can_roll_back:
            if not engine.prefill(ids[: marks.history], stopped):
                return False
            self._keep("history", agent)
        done = engine.prefill(ids, stopped)
        if len(engine.evaluated) - begun_at > _GAIN:
            self._token_s = (time.perf_counter() - begun_s) / (len(engine.evaluated) - begun_at)
        return done

    def _best(self, ids: Sequence[int]) -> tuple[_Snapshot | None, int]:
        """The snapshot that saves most, and how many ids of the prompt it covers."""
        best, longest = None, 0
        for snapshot in self._snapshots.values():
            common = min(common_prefix(snapshot.ids, ids), len(ids) - 1)
            whole = common == len(snapshot.ids)
            if common > longest and (whole or self._engine.can_roll_back):
                best, longest = snapshot, common
        return best, longest

    def _keep(self, kind: Kind, agent: tuple[int, ...], blob: Blob | None = None) -> None:
        """Keep a snapshot of the live sequence, in place of the last one of this kind and agent."""
        self._snapshots.pop((kind, agent), None)
        if not self._limit_bytes:
            return
        blob = self._engine.snapshot() if blob is None else blob
        if blob is None:
            log.warning("llama.cpp can't copy the state of this model: what another agent needs is evaluated again")
            return
        if blob.size <= self._limit_bytes:
            self._snapshots[kind, agent] = _Snapshot(kind, agent, tuple(self._engine.evaluated), blob)
        while self.used_bytes > self._limit_bytes:
            self._snapshots.popitem(last=False)
