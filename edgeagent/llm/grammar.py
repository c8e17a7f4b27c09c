"""A grammar of llama.cpp, asked about one token at a time, over the pieces of text of a model's vocabulary."""

from __future__ import annotations

import copy
import ctypes
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from edgeagent.errors import ModelError
from edgeagent.llm import native
from edgeagent.llm.engine import Logits, likeliest

_BLANKS: Final = " \t\r\n▁"
_PIECE_BYTES: Final = 64


class TokenVocabulary:
    """Tokenises and detokenises with one model's vocabulary.

    Args:
        vocab: llama.cpp's pointer.
        shown: Texts of control tokens that a reply shows; the others say nothing to a reader.
    """

    def __init__(self, vocab: Any, shown: Sequence[str] = ()) -> None:
        self._llama: Any = native.library()
        self.pointer = vocab
        self.size: int = self._llama.llama_vocab_n_tokens(vocab)
        self._control: set[int] = set()
        markers: dict[str, int] = {}
        for token in range(self.size):
            attributes = self._llama.llama_vocab_get_attr(vocab, token)
            if attributes & (self._llama.LLAMA_TOKEN_ATTR_CONTROL | self._llama.LLAMA_TOKEN_ATTR_UNKNOWN):
                self._control.add(token)
            elif not attributes & self._llama.LLAMA_TOKEN_ATTR_USER_DEFINED:
                continue
            text = self._bytes(token).decode("utf-8", errors="replace")
            # Some vocabularies define single letters and runs of blanks, which steer nothing.
            if text.strip(_BLANKS) and (len(text) > 1 or token in self._control):
                markers[text] = token
        self.markers: dict[str, int] = markers
        """Texts that llama.cpp would turn into one control or user-defined token, with its id."""
        self._marked = set(markers.values())
        self._silent = self._control.difference(markers.get(text, -1) for text in shown)
        longest_first = sorted(markers, key=len, reverse=True)
        self.forgery: re.Pattern[str] = re.compile("|".join(map(re.escape, longest_first)) if markers else r"(?!)")
        """Finds a marker in a text."""
        bos: int = self._llama.llama_vocab_bos(vocab)
        self.bos: int | None = bos if bos >= 0 and self._llama.llama_vocab_get_add_bos(vocab) else None
        """The id every prompt of this model begins with, if there is one."""
        self._plain: dict[str, list[int]] = {}
        self._pieces: dict[int, bytes] = {}
        self._ends: dict[int, bool] = {}

    def tokenize(self, text: str, *, markers: bool) -> list[int]:
        """Ids of a text; with ``markers`` its control tokens become what they name.

        Without it llama.cpp still turns user-defined tokens, such as Qwen's <tool_call>, into theirs: see ``plain``.
        """
        data = text.encode("utf-8", errors="replace")
        room = len(data) + 2
        buffer = (self._llama.llama_token * room)()
        count = self._llama.llama_tokenize(self.pointer, data, len(data), buffer, room, False, markers)
        if count < 0:
            room = -count
            buffer = (self._llama.llama_token * room)()
            count = self._llama.llama_tokenize(self.pointer, data, len(data), buffer, room, False, markers)
        return list(buffer[:count])

    def plain(self, marker: str) -> list[int]:
        """Ids of a marker's text that are none of a marker: cut inside it, so that no tokeniser can recognise it."""
        ids = self._plain.get(marker)
        if ids is None:
            ids = self._plain[marker] = self._cut_inside(marker)
        return ids

    def _cut_inside(self, marker: str) -> list[int]:
        for cut in range(1, len(marker)):
            ids = self.tokenize(marker[:cut], markers=False) + self.tokenize(marker[cut:], markers=False)
            if self._marked.isdisjoint(ids):
                return ids
        ids = [token for letter in marker for token in self.tokenize(letter, markers=False)]
        return [token for token in ids if token not in self._marked]

    def is_end(self, token: int) -> bool:
        """True if this token ends a generation."""
        end = self._ends.get(token)
        if end is None:
            end = self._ends[token] = bool(self._llama.llama_vocab_is_eog(self.pointer, token))
        return end

    def piece(self, token: int) -> bytes:
        """The bytes of a token in a reply."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = b"" if token in self._silent else self._bytes(token)
        return piece

    def text_of(self, token: Any) -> str:
        """The text of one token, control tokens included; empty for what is no id of this vocabulary."""
        known = isinstance(token, int) and 0 <= token < self.size
        return self._bytes(token).decode("utf-8", errors="replace") if known else ""

    def _bytes(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        count = self._llama.llama_token_to_piece(self.pointer, token, buffer, _PIECE_BYTES, 0, True)
        if count < 0:
            buffer = ctypes.create_string_buffer(-count)
            count = self._llama.llama_token_to_piece(self.pointer, token, buffer, -count, 0, True)
        return bytes(buffer.raw[: max(count, 0)])


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
        for tokens in (likeliest(logits, _LIKELY), np.arange(logits.size)):
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
