"""One llama.cpp context: token ids in, token ids out.

Knows nothing of text, templates, messages or locks: whoever calls it holds the inference lock, because two threads in
one context abort the process. Evaluated tokens stay in sequence 0; ``prefixes`` decides what of them a prompt needs.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import IO, Any, Final

import numpy as np

from edgeagent.errors import ModelError
from edgeagent.llm import native
from edgeagent.llm.engine_settings import KV_TYPES, EngineSettings, check_memory, choose
from edgeagent.llm.gguf import Header, check_unchanged
from edgeagent.models import store

_SEQUENCE: Final = 0
_ABORTED: Final = 2  # llama_decode: the failed micro-batch is rolled back, the earlier ones stay
_FLASH_ATTENTION: Final = {"auto": -1, "off": 0, "on": 1}  # llama.h, enum llama_flash_attn_type
_WATCH_S: Final = 0.004  # an event has no way to call back; a hundredth of what a Pi needs for a small chunk

Blob = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""A copy of the state of a sequence."""

Logits = np.ndarray[tuple[int], np.dtype[np.float32]]
"""One number for each token of the vocabulary."""


class Engine:
    """A model's weights and its context. Loads in the constructor."""

    def __init__(self, header: Header, context_tokens: int, settings: EngineSettings) -> None:
        self._llama: Any = native.library()
        self.chosen = choose(settings, context_tokens)
        self.chunk_tokens = self.chosen.chunk_tokens
        check_memory(header, context_tokens, kv_type=self.chosen.kv_type, chunk_tokens=self.chunk_tokens)
        self.evaluated: list[int] = []
        """The ids whose keys and values are in sequence 0."""
        self.decodes = 0
        self._model: Any = None
        self._context: Any = None
        self._chain: Any = None
        # A predicate in C, called after every operation: strlen of this text, which is empty until it says stop.
        self._flag = (ctypes.c_ubyte * 2)()
        before_s = time.perf_counter()
        self._in_use: IO[bytes] | None = None
        try:
            check_unchanged(header)
            self._in_use = store.using(header.path)
            self._load(header, context_tokens)
        except OSError as error:
            raise ModelError(f"{header.path} can't be read: {error.strerror or error}") from error
        except BaseException:  # also a Ctrl-C
            self.free()
            raise
        self.load_s = time.perf_counter() - before_s

    def _load(self, header: Header, context_tokens: int) -> None:
        llama, chosen = self._llama, self.chosen
        with native.complaints() as errors:
            params = llama.llama_model_default_params()
            params.n_gpu_layers = chosen.gpu_layers
            params.use_mmap, params.use_mlock = chosen.mmap, chosen.mlock
            params.use_extra_bufts = not native.has_amx()
            self._model = llama.llama_model_load_from_file(os.fsencode(header.path), params)
            if not self._model:
                raise ModelError(f"llama.cpp can't load {header.path}: {native.last_complaint(errors)}")
            if not llama.llama_model_has_decoder(self._model):
                raise ModelError(f"{header.path} ({header.architecture}) can't write text: choose a chat model")
            options = llama.llama_context_default_params()
            options.n_ctx = context_tokens
            options.n_batch = options.n_ubatch = chosen.chunk_tokens
            options.n_threads, options.n_threads_batch = chosen.threads, chosen.batch_threads
            options.type_k = options.type_v = KV_TYPES[chosen.kv_type]
            options.flash_attn_type = _FLASH_ATTENTION[chosen.flash_attention]
            options.abort_callback = ctypes.cast(ctypes.CDLL(None).strlen, llama.ggml_abort_callback)
            options.abort_callback_data = ctypes.cast(self._flag, ctypes.c_void_p)
            self._context = llama.llama_init_from_model(self._model, options)
            if not self._context:
                raise ModelError(
                    f"llama.cpp can't make a context of {context_tokens} tokens for {header.path}: "
                    f"{native.last_complaint(errors)}"
                )
        self.vocab: Any = llama.llama_model_get_vocab(self._model)
        self._memory: Any = llama.llama_get_memory(self._context)
        self.can_roll_back = not (
            llama.llama_model_is_recurrent(self._model) or llama.llama_model_is_hybrid(self._model)
        )
        """True if the last ids that were evaluated can be forgotten without the rest."""
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
        if self._in_use is not None:
            self._in_use.close()
            self._in_use = None
        self.evaluated = []

    @property
    def identity(self) -> dict[str, object]:
        """Facts on which a snapshot depends, beside the model file and the ids."""
        return {
            "llama_cpp": version("llama-cpp-python"),
            "machine": platform.machine(),
            "kv_type": self.chosen.kv_type,
            "flash_attention": self.chosen.flash_attention,
            "gpu_layers": self.chosen.gpu_layers,
        }

    def cut(self, count: int) -> int:
        """Forget all but the first ``count`` ids; gives how many are left.

        A recurrent or hybrid model can't forget its last ids alone, and forgets everything.
        """
        if count >= len(self.evaluated):
            return len(self.evaluated)
        if count > 0 and self._llama.llama_memory_seq_rm(self._memory, _SEQUENCE, count, -1):
            del self.evaluated[count:]
        else:
            self._clear()
        return len(self.evaluated)

    def snapshot(self) -> Blob | None:
        """A copy of what was evaluated, for ``restore``; None where llama.cpp can't copy it."""
        size: int = self._llama.llama_state_seq_get_size(self._context, _SEQUENCE)
        blob = np.empty(size, np.uint8)
        written: int = self._llama.llama_state_seq_get_data(self._context, _pointer(blob), size, _SEQUENCE)
        return blob[:written] if written else None

    def restore(self, ids: Sequence[int], blob: Blob) -> bool:
        """Put a copy back that was taken after ``ids``; False, and nothing is left, if llama.cpp refuses it."""
        with native.complaints(expected=True):
            read = self._llama.llama_state_seq_set_data(self._context, _pointer(blob), blob.size, _SEQUENCE)
        if read and self._llama.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1 == len(ids):
            self.evaluated = list(ids)
            return True
        self._clear()
        return False

    def prefill(self, ids: Sequence[int], stopped: Callable[[], bool]) -> bool:
        """Evaluate those of ``ids`` that come after the evaluated ones; False when ``stopped`` said so.

        It is asked between two chunks, and on the CPU inside a chunk. What was evaluated stays.
        """
        with self._watching(stopped):
            while len(self.evaluated) < len(ids):
                at = len(self.evaluated)
                if stopped() or not self.decode(ids[at : at + self.chunk_tokens]):
                    return False
        return True

    def decode(self, ids: Sequence[int]) -> bool:
        """Evaluate at most ``chunk_tokens`` ids; False when it was left in the middle, and then none of them.

        Raises:
            ModelError: llama.cpp could not.
        """
        count = len(ids)
        self._buffer[:count] = ids
        with native.keep_back() as errors:
            result = self._llama.llama_decode(self._context, self._llama.llama_batch_get_one(self._buffer, count))
        self.decodes += 1
        if result == 0:
            self.evaluated.extend(ids)
            return True
        there = self._llama.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1
        self.evaluated = [*self.evaluated, *ids][:there]
        if result == _ABORTED:
            return False
        for line in errors:
            native.log.error("%s", line)
        if not self.can_roll_back:
            self._clear()  # its state is that of nowhere
        raise ModelError(f"llama.cpp could not evaluate {count} tokens (llama_decode gave {result})")

    @contextmanager
    def _watching(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Sets the flag that llama.cpp looks at while it computes, once ``stopped`` says so.

        A model that can't roll back would lose everything with the chunk it is in, so its chunks are finished.
        """
        if not self.can_roll_back:
            yield
            return
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_WATCH_S):
                if stopped():
                    self._flag[0] = 1
                    return

        watcher = threading.Thread(target=watch, name="edgeagent-stop-watcher", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            self._flag[0] = 0

    def _clear(self) -> None:
        self._llama.llama_memory_clear(self._memory, True)
        self.evaluated = []

    def begin(self, temperature: float, seed: int) -> None:
        """Choose how the next tokens are sampled; 0 is greedy."""
        self._drop_chain()
        if temperature <= 0:
            return
        llama = self._llama
        chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for sampler in (
            llama.llama_sampler_init_top_k(40),  # these three as llama.cpp's own programs have them
            llama.llama_sampler_init_top_p(0.95, 1),
            llama.llama_sampler_init_min_p(0.05, 1),
            llama.llama_sampler_init_temp(temperature),
            llama.llama_sampler_init_dist(seed),
        ):
            llama.llama_sampler_chain_add(chain, sampler)
        self._chain = chain

    @property
    def logits(self) -> Logits:
        """Scores that the model gives every token as the next one; a view, good until the next ``decode``."""
        pointer = self._llama.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, (self._vocabulary,))

    def allow_only(self, tokens: np.ndarray[Any, Any]) -> None:
        """Let nothing but these ids be sampled until the next ``decode``."""
        logits = self.logits
        allowed = logits[tokens]
        logits.fill(-np.inf)
        logits[tokens] = allowed

    def sample(self, *, greedy: bool = False) -> int:
        """The next token, after the last one that was evaluated.

        Args:
            greedy: The likeliest, whatever ``begin`` said.

        Raises:
            ModelError: The model computed something that is no number.
        """
        logits = self.logits
        best = int(logits.argmax())  # a NaN counts as the largest, so it can't hide
        if not np.isfinite(logits[best]):
            raise ModelError("the model computed NaN: its weights are broken or its quantisation is too coarse")
        if greedy or self._chain is None:
            return best
        return int(self._llama.llama_sampler_sample(self._chain, self._context, -1))

    def _drop_chain(self) -> None:
        if self._chain is not None:
            self._llama.llama_sampler_free(self._chain)
            self._chain = None


def _pointer(blob: Blob) -> Any:
    return blob.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def likeliest(logits: Logits, count: int) -> np.ndarray[Any, Any]:
    """The ids of so many of the likeliest tokens, in no order."""
    return np.argpartition(logits, -count)[-count:] if logits.size > count else np.arange(logits.size)


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Count the items that both sequences begin with in common."""
    return next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
