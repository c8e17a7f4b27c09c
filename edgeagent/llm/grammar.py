"""A grammar of llama.cpp, asked about one token at a time.

Masking the whole vocabulary costs 19 ms a token at 152k tokens; asking about the one token that was sampled costs
microseconds. So the model samples freely, and only a token that the grammar refuses is sampled again: first among the
likeliest, then among all. Whoever calls it holds the inference lock.
"""

from __future__ import annotations

import copy
import ctypes
from typing import Any, Final

import numpy as np

from edgeagent.errors import ModelError
from edgeagent.llm import native
from edgeagent.llm.engine import Logits

_LIKELY: Final = 512
_ROOT: Final = b"root"


class Grammar:
    """The state of one text that obeys a grammar.

    Args:
        vocab: llama.cpp's pointer.
        text: GBNF, with the rule ``root``.

    Raises:
        ModelError: llama.cpp does not understand it, and the text says why; or no token of this vocabulary ends a text.
    """

    def __init__(self, vocab: Any, text: str) -> None:
        if not text.strip() or "\0" in text:  # to llama.cpp a grammar that allows everything, or only its first part
            raise ModelError("llama.cpp refuses this grammar: it is empty, or holds a NUL")
        self._llama: Any = native.library()
        with native.complaints(expected=True) as errors:
            sampler = self._llama.llama_sampler_init_grammar(vocab, text.encode(), _ROOT)
            if not sampler:
                raise ModelError(f"llama.cpp refuses this grammar ({native.last_complaint(errors)}):\n{text[:2000]}")
        self._sampler: Any = sampler
        self.end: int = self._end_of(vocab)
        """A token that ends a text."""
        self._one = self._llama.llama_token_data()
        self._ask = self._array(ctypes.pointer(self._one), 1)

    def clone(self) -> Grammar:
        """Another state of the same grammar, where this one is now."""
        other = copy.copy(self)
        other._sampler = self._llama.llama_sampler_clone(self._sampler)
        return other

    def allows(self, token: int) -> bool:
        """True if the text may go on with this token; with an end of turn only where the text may end."""
        self._one.id, self._one.logit = token, 0.0
        self._llama.llama_sampler_apply(self._sampler, self._ask)
        return bool(self._one.logit == 0.0)

    @property
    def may_end(self) -> bool:
        """True if the text is whole as it is."""
        return self.allows(self.end)

    def accept(self, token: int) -> None:
        """Go on with a token that ``allows`` allowed; another one would end the process."""
        self._llama.llama_sampler_accept(self._sampler, token)

    def pick(self, logits: Logits) -> int:
        """The likeliest token that is allowed.

        Raises:
            ModelError: No token of this vocabulary is.
        """
        likely = np.argpartition(logits, -_LIKELY)[-_LIKELY:] if logits.size > _LIKELY else np.arange(logits.size)
        for tokens in (likely, np.arange(logits.size)):
            masked = self._masked(tokens, logits[tokens])
            best = int(masked.argmax())
            if np.isfinite(masked[best]):
                return int(tokens[best])
        raise ModelError("the grammar goes on with a letter that this model's vocabulary does not have")

    def free(self) -> None:
        """Give the memory back; again does nothing."""
        if self._sampler is not None:
            self._llama.llama_sampler_free(self._sampler)
            self._sampler = None

    def _end_of(self, vocab: Any) -> int:
        llama = self._llama
        known = (llama.llama_vocab_eos(vocab), llama.llama_vocab_eot(vocab))
        end = next((token for token in known if token >= 0 and llama.llama_vocab_is_eog(vocab, token)), None)
        if end is None:
            self.free()
            raise ModelError("this model's vocabulary has no token that ends a text, so it can obey no grammar")
        return int(end)

    def _masked(self, tokens: np.ndarray[Any, Any], logits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The logits of these tokens, minus infinity where the grammar refuses."""
        data = np.empty(tokens.size, np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
        data["id"], data["logit"], data["p"] = tokens, logits, 0
        pointer = data.ctypes.data_as(ctypes.POINTER(self._llama.llama_token_data))
        self._llama.llama_sampler_apply(self._sampler, self._array(pointer, tokens.size))
        return data["logit"]

    def _array(self, data: Any, size: int) -> Any:
        """llama.cpp's list of candidates, by reference."""
        array = self._llama.llama_token_data_array()
        array.data, array.size, array.selected, array.sorted = data, size, -1, False
        return ctypes.byref(array)
