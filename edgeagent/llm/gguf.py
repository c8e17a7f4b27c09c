"""The header of a GGUF file: what the model is, and whether the file is whole.

Reads the metadata and the table of tensors, never the weights, and loads no llama.cpp, so that a wrong file is refused
when an app starts and not at the first word. Knows nothing of catalogues or of templates' content. Any thread.

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import ModelError

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MAX_DIMENSIONS: Final = 4  # GGML_MAX_DIMS
_MAX_ARRAY_DEPTH: Final = 4
_SHORT_ARRAY: Final = 1024
"""Numbers of an array that is kept, such as one for each layer; merges and scores are longer and are not."""

_SCALARS: Final[dict[int, struct.Struct]] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_TOKENS: Final = "tokenizer.ggml.tokens"
_STRING: Final = 8
_ARRAY: Final = 9
_U32: Final = _SCALARS[4]
_U64: Final = _SCALARS[10]

#: ggml type: (weights in a block, bytes of a block). A type that is not here is left to llama.cpp.
_BLOCKS: Final[dict[int, tuple[int, int]]] = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
}


@dataclass(frozen=True, slots=True)
class Header:
    """Facts that a GGUF file tells of itself."""

    path: Path
    bytes: int
    architecture: str
    name: str
    trained_tokens: int | None
    """The longest context the model was trained for; None when the file does not say."""
    template: str
    """The chat template's Jinja text."""
    vocabulary: int
    """Number of tokens in the vocabulary."""
    weights: int
    """Numbers in all tensors together: what is meant by a model of so many parameters."""
    metadata: dict[str, Any] = field(repr=False)
    """Every scalar and string of the file, short arrays of numbers as tuples; of other arrays the length."""
    stamp: tuple[int, int, int] = field(repr=False, compare=False)
    """Inode, size and time of the last change: another file in this place has others."""


def read_header(path: Path) -> Header:
    """Read and check a model file's header.

    Raises:
        ModelError: The file is missing, a folder, unreadable, empty, not GGUF, of another version, cut off, a part of a
            split model, or has no architecture, vocabulary or chat template, or cannot write text.
    """
    _check_file(path)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            stamp = _stamp(os.fstat(file.fileno()))
            metadata, weights, whole = _HeaderReader(path, data).read()
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror or error}") from error
    header = _described(path, stamp, weights, metadata)
    if header.bytes < whole:
        raise ModelError(_cut_off(path, f"it has {header.bytes:,} bytes and should have at least {whole:,}"))
    return header


def check_unchanged(header: Header) -> None:
    """Refuses a file that another model has taken the place of since its header was read.

    Raises:
        ModelError: The file is another one, or is gone or not whole.
    """
    _check_file(header.path)
    if _stamp(header.path.stat()) != header.stamp and read_header(header.path) != header:
        raise ModelError(
            f"{header.path} was replaced by another model since it was opened: start again with the new one"
        )


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise ModelError(f"{path} is a folder, not a model: name the .gguf file inside it")
        size = path.stat().st_size
    except FileNotFoundError:
        raise ModelError(
            f"there is no model file {path}: check the path, or download a GGUF with a chat template to it"
        ) from None
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror or error}") from error
    if not path.is_file():
        raise ModelError(f"{path} is not a file: a model must be a .gguf file on a disk")
    if size == 0:
        raise ModelError(f"{path} is empty: the download did not finish, so delete it and download it again")


def _cut_off(path: Path, how: str) -> str:
    return f"{path} is truncated: {how}; the download did not finish, so delete it and download it again"


def _described(path: Path, stamp: tuple[int, int, int], weights: int, metadata: dict[str, Any]) -> Header:
    """The header's fields out of the metadata, each checked for being there."""
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise ModelError(f"{path} does not name its architecture: it is no language model that llama.cpp could run")
    if metadata.get(f"{architecture}.attention.causal") is False:
        raise ModelError(
            f"{path} has the architecture {architecture} without causal attention: it encodes text and can't write any,"
            " so choose a chat model"
        )
    vocabulary = metadata.get(_TOKENS)
    if not isinstance(vocabulary, int) or vocabulary < 1 or "tokenizer.ggml.model" not in metadata:
        raise ModelError(f"{path} has no tokenizer: it is not a whole language model, so choose another file")
    template = metadata.get("tokenizer.chat_template")
    if not isinstance(template, str) or not template.strip():
        raise ModelError(
            f"{path} has no chat template: it is a base model, so choose the instruct or chat variant of it"
        )
    trained = metadata.get(f"{architecture}.context_length")
    name = metadata.get("general.name")
    return Header(
        path,
        stamp[1],
        architecture,
        name if isinstance(name, str) else "",
        trained if isinstance(trained, int) and trained > 0 else None,
        template,
        vocabulary,
        weights,
        metadata,
        stamp,
    )


class _HeaderReader:
    """Walks the header once, refusing every length that leaves the file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path = path
        self._data = data
        self._at = 0
        self._weights = 0

    def read(self) -> tuple[dict[str, Any], int, int]:
        """The metadata, how many weights the tensors have, and how many bytes the file must have for them."""
        if self._data[:4] != _MAGIC:
            raise ModelError(f"{self._path} is not a GGUF file: models in other formats must be converted first")
        self._at = 4
        version = self._unpack(_U32)
        if version not in _VERSIONS:
            raise ModelError(f"{self._path} is GGUF version {version}; versions 2 and 3 (little-endian) can be read")
        tensors, pairs = self._unpack(_U64), self._unpack(_U64)
        metadata: dict[str, Any] = {}
        for _ in range(pairs):
            key = self._string()
            if key == _TOKENS:
                metadata[key] = self._tokens()
            else:
                metadata[key] = self._value(self._unpack(_U32), depth=0)
        self._refuse_part(metadata)
        if tensors == 0:
            raise ModelError(f"{self._path} holds no weights: it is only a vocabulary, so choose another file")
        end = max(self._tensor_end() for _ in range(tensors))
        alignment = metadata.get("general.alignment", 32)  # the default of the format
        if not isinstance(alignment, int) or alignment < 1:
            raise self._corrupt(f"its alignment is {alignment!r}")
        start = -(-self._at // alignment) * alignment
        return metadata, self._weights, start + end

    def _refuse_part(self, metadata: dict[str, Any]) -> None:
        count, number = metadata.get("split.count", 1), metadata.get("split.no", 0)
        if isinstance(count, int) and isinstance(number, int) and count > 1:
            raise ModelError(
                f"{self._path} is part {number + 1} of {count} of a split model: join the parts with "
                "`llama-gguf-split --merge FIRST-PART.gguf WHOLE.gguf`, or download the model as one file"
            )

    def _unpack(self, scalar: struct.Struct) -> Any:
        at = self._at
        self._at = at + scalar.size
        try:
            return scalar.unpack_from(self._data, at)[0]
        except struct.error:
            raise ModelError(_cut_off(self._path, "it ends inside its header")) from None

    def _skip(self, count: int) -> int:
        """Move past ``count`` bytes and give where they began."""
        at = self._at
        if at + count > len(self._data):
            raise ModelError(_cut_off(self._path, "it ends inside its header"))
        self._at = at + count
        return at

    def _string(self) -> str:
        length = self._unpack(_U64)
        at = self._skip(length)
        return self._data[at : at + length].decode("utf-8", errors="replace")

    def _value(self, kind: int, *, depth: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            scalar = _SCALARS.get(kind)
            if scalar is None:
                raise self._corrupt(f"it has a value of the unknown type {kind}")
            return self._unpack(scalar)
        item, length = self._unpack(_U32), self._unpack(_U64)
        if item in _SCALARS:
            at = self._skip(length * _SCALARS[item].size)
            if length <= _SHORT_ARRAY:
                return struct.unpack_from(f"<{length}{_SCALARS[item].format[1:]}", self._data, at)
        elif depth >= _MAX_ARRAY_DEPTH:
            raise self._corrupt("its arrays are nested too deep")
        elif item == _STRING:
            self._skip_strings(length)
        else:
            for _ in range(length):
                self._value(item, depth=depth + 1)
        return length

    def _tokens(self) -> int:
        """Count the tokens of the vocabulary. llama.cpp aborts the whole process if one comes twice."""
        if (self._unpack(_U32), item := self._unpack(_U32)) != (_ARRAY, _STRING):
            raise self._corrupt(f"its vocabulary is no list of texts (type {item})")
        count = self._unpack(_U64)
        seen: set[bytes] = set()
        self._skip_strings(count, seen.add)
        if len(seen) < count:
            raise self._corrupt("its vocabulary has a token twice")
        return int(count)

    def _skip_strings(self, count: int, see: Callable[[bytes], object] | None = None) -> None:
        """Move past ``count`` strings, and show each. Written out, because a vocabulary has a quarter of a million."""
        data, at, length_of = self._data, self._at, _U64.unpack_from
        last = len(data) - _U64.size
        for _ in range(count):
            start = at + _U64.size
            if at > last or (at := start + length_of(data, at)[0]) > len(data):
                raise ModelError(_cut_off(self._path, "it ends inside its header"))
            if see is not None:
                see(data[start:at])
        self._at = at

    def _tensor_end(self) -> int:
        """Returns the end of this tensor's data, counted from the start of all data."""
        name = self._string()
        dimensions = self._unpack(_U32)
        if dimensions > _MAX_DIMENSIONS:
            raise self._corrupt(f"the tensor {name!r} has {dimensions} dimensions")
        weights = 1
        for _ in range(dimensions):
            weights *= self._unpack(_U64)
        self._weights += weights
        kind, offset = self._unpack(_U32), self._unpack(_U64)
        block, size = _BLOCKS.get(kind, (1, 0))
        return int(offset + weights // block * size)

    def _corrupt(self, what: str) -> ModelError:
        return ModelError(f"{self._path} is corrupt: {what}; delete it and download it again")
