"""A model's vocabulary: text to ids and ids to text, without ever letting a text forge a control token.

The functions of llama.cpp used here only read, so any thread may call them while the model generates. Whoever frees
the model sees to it that nobody is inside.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any, Final

from edgeagent.llm import native

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
