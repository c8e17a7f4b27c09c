"""One llama.cpp context: token ids in, token ids out.

Knows nothing of text, templates, messages or locks: whoever calls ``prefill`` or ``sample`` holds the inference lock,
because two threads in one context abort the process. Evaluated tokens stay in sequence 0, and the next prompt is
evaluated from where it begins to differ.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgeagent.errors import ModelError
from edgeagent.llm import native
from edgeagent.llm.gguf import Header

_SEQUENCE: Final = 0
_ABORTED: Final = 2  # llama_decode: the failed micro-batch is rolled back, the earlier ones stay
_TOP_K: Final = 40
_TOP_P: Final = 0.95
_MIN_P: Final = 0.05


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine uses the machine. None leaves the choice to what was measured (docs/engine.md)."""

    threads: int | None = None
    """Threads of a decode. At or over the free cores a token can take a hundred times as long."""
    chunk_tokens: int | None = None
    """Prompt tokens evaluated between two looks at the stop event."""
    gpu_layers: int = -1
    """Layers on the GPU, where llama.cpp was built with one; -1 is all."""


class Engine:
    """A model's weights and its context. Loads in the constructor."""

    def __init__(self, header: Header, context_tokens: int, settings: EngineSettings) -> None:
        self._llama: Any = native.library()
        self.threads = settings.threads or default_threads()
        self.chunk_tokens = settings.chunk_tokens or CHUNK_TOKENS
        self.evaluated: list[int] = []
        """The ids whose keys and values are in sequence 0."""
        self._model: Any = None
        self._context: Any = None
        self._chain: Any = None
        before_s = time.perf_counter()
        try:
            self._load(header, context_tokens, settings)
        except ModelError:
            self.free()
            raise
        self.load_s = time.perf_counter() - before_s

    def _load(self, header: Header, context_tokens: int, settings: EngineSettings) -> None:
        llama = self._llama
        with native.complaints() as errors:
            params = llama.llama_model_default_params()
            params.n_gpu_layers = settings.gpu_layers
            params.use_extra_bufts = not native.has_amx()
            self._model = llama.llama_model_load_from_file(os.fsencode(header.path), params)
            if not self._model:
                raise ModelError(f"llama.cpp can't load {header.path}: {native.last_complaint(errors)}")
            if not llama.llama_model_has_decoder(self._model):
                raise ModelError(f"{header.path} ({header.architecture}) can't write text: choose a chat model")
            options = llama.llama_context_default_params()
            options.n_ctx = context_tokens
            options.n_batch = options.n_ubatch = min(self.chunk_tokens, context_tokens)
            options.n_threads = options.n_threads_batch = self.threads
            self._context = llama.llama_init_from_model(self._model, options)
            if not self._context:
                raise ModelError(
                    f"llama.cpp can't make a context of {context_tokens} tokens for {header.path}: "
                    f"{native.last_complaint(errors)}"
                )
        self.vocab: Any = llama.llama_model_get_vocab(self._model)
        self._memory: Any = llama.llama_get_memory(self._context)
        self._vocabulary: int = llama.llama_vocab_n_tokens(self.vocab)
        self._buffer = (llama.llama_token * max(self.chunk_tokens, 1))()

    def free(self) -> None:
        """Give the memory back. Nothing else may be called afterwards, except this again."""
        llama = self._llama
        self._drop_chain()
        if self._context:
            llama.llama_free(self._context)
            self._context = None
        if self._model:
            llama.llama_model_free(self._model)
            self._model = None
        self.evaluated = []

    def keep(self, ids: Sequence[int]) -> int:
        """Forget what the next prompt does not begin with, and give how many of its ids need no evaluation.

        The last id is always evaluated again: its logits are the answer.
        """
        kept = common_prefix(self.evaluated, ids)
        kept = min(kept, len(ids) - 1)
        if kept == len(self.evaluated):
            return kept
        # Recurrent and hybrid models can't roll back: then this is False and nothing was removed.
        if kept and self._llama.llama_memory_seq_rm(self._memory, _SEQUENCE, kept, -1):
            del self.evaluated[kept:]
            return kept
        self._llama.llama_memory_clear(self._memory, True)
        self.evaluated = []
        return 0

    def prefill(self, ids: Sequence[int], stopped: Callable[[], bool]) -> bool:
        """Evaluate a prompt after ``keep``, chunk by chunk; False when ``stopped`` said so between two chunks."""
        at = len(self.evaluated)
        while at < len(ids):
            if stopped():
                return False
            chunk = ids[at : at + self.chunk_tokens]
            self.decode(chunk)
            at += len(chunk)
        return True

    def decode(self, ids: Sequence[int]) -> None:
        """Evaluate at most ``chunk_tokens`` ids.

        Raises:
            ModelError: llama.cpp could not; what it did evaluate stays.
        """
        count = len(ids)
        self._buffer[:count] = ids
        result = self._llama.llama_decode(self._context, self._llama.llama_batch_get_one(self._buffer, count))
        if result == 0:
            self.evaluated.extend(ids)
            return
        there = self._llama.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1
        self.evaluated = [*self.evaluated, *ids][:there]
        raise ModelError(f"llama.cpp could not evaluate {count} tokens (llama_decode gave {result})")

    def begin(self, temperature: float, seed: int) -> None:
        """Choose how the next tokens are sampled; 0 is greedy."""
        self._drop_chain()
        if temperature <= 0:
            return
        llama = self._llama
        chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for sampler in (
            llama.llama_sampler_init_top_k(_TOP_K),
            llama.llama_sampler_init_top_p(_TOP_P, 1),
            llama.llama_sampler_init_min_p(_MIN_P, 1),
            llama.llama_sampler_init_temp(temperature),
            llama.llama_sampler_init_dist(seed),
        ):
            llama.llama_sampler_chain_add(chain, sampler)
        self._chain = chain

    def sample(self) -> int:
        """The next token, after the last one that was evaluated.

        Raises:
            ModelError: The model computed something that is no number.
        """
        pointer = self._llama.llama_get_logits_ith(self._context, -1)
        logits = np.ctypeslib.as_array(pointer, (self._vocabulary,))
        best = int(logits.argmax())  # a NaN counts as the largest, so it can't hide
        if not np.isfinite(logits[best]):
            raise ModelError("the model computed NaN: its weights are broken or its quantisation is too coarse")
        if self._chain is None:
            return best
        return int(self._llama.llama_sampler_sample(self._chain, self._context, -1))

    def _drop_chain(self) -> None:
        if self._chain is not None:
            self._llama.llama_sampler_free(self._chain)
            self._chain = None


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many items the two begin with in common."""
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    return next(i for i in range(length) if a[i] != b[i])


#: Prompt tokens between two looks at the stop event (docs/engine.md has the measurement).
CHUNK_TOKENS: Final = 64


def default_threads() -> int:
    """A thread for each physical core, with one core left to audio and the app: a full machine stalls every token."""
    return max(1, min(native.physical_cores(), native.usable_cores() - 1))
