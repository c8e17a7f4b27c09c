"""Warm prefixes: what was evaluated once is not evaluated again, though agents take turns on one model.

The live sequence of the engine serves the agent that speaks. Snapshots of it serve the others: one of an agent's whole
conversation when another agent's prompt takes its place, and, for models that can't roll back (recurrent, hybrid), one
where its system prompt and tools end and one where its conversation goes on. Runs under the inference lock.
"""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from edgeagent.errors import ModelError
from edgeagent.llm.engine import Blob, Engine, common_prefix
from edgeagent.llm.prefix_files import PrefixFiles
from edgeagent.llm.prompt import Prompt, Prompter
from edgeagent.llm.protocol import LLMRequest
from edgeagent.messages import Message

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


log: Final = logging.getLogger("edgeagent.llm")

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

    def __init__(self, engine: Engine, limit_bytes: int, files: PrefixFiles | None = None) -> None:
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
