"""GGUF files in raw pieces, so that a vocabulary moves from file to file without becoming half a million objects.

The gguf package takes 9 seconds to read a vocabulary of 152,000 tokens and 0.8 to write it; this takes a tenth of one.
Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Kind = gguf.GGMLQuantizationType

_ALIGNMENT: Final = 32
_VERSION: Final = 3
_U64: Final = struct.Struct("<Q")
_ARRAY_HEAD: Final = struct.Struct("<IIQ")  # "an array", the type of its items, how many
_DTYPES: Final[dict[int, str]] = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?"}
_WIDE_DTYPES: Final[dict[int, str]] = {10: "<u8", 11: "<i8", 12: "<f8"}
_TYPES: Final = {np.dtype(dtype): number for number, dtype in (_DTYPES | _WIDE_DTYPES).items()}
_STRING: Final = 8
_ARRAY: Final = 9


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor to write. ``shape`` has rows before columns; ``make`` gives its bytes when their turn comes."""

    name: str
    shape: tuple[int, ...]
    kind: Kind
    make: Callable[[], Array]

    @property
    def bytes(self) -> int:
        """Its size in the file."""
        block, size = gguf.GGML_QUANT_SIZES[self.kind]
        return int(np.prod(self.shape)) // block * size


def read_pairs(path: Path) -> dict[str, bytes]:
    """The metadata: each key with the type and the value as they stand in the file."""
    data = path.read_bytes()
    (count,) = _U64.unpack_from(data, 16)
    at = 24
    pairs = {}
    for _ in range(count):
        (key,), at = _strings(data, at, 1)
        (kind,) = struct.unpack_from("<I", data, at)
        end = _end(data, at + 4, kind)
        pairs[key.decode()] = data[at:end]
        at = end
    return pairs


def texts(value: bytes) -> list[bytes]:
    """The items of an array of strings out of ``read_pairs``."""
    _, _, count = _ARRAY_HEAD.unpack_from(value)
    return _strings(value, _ARRAY_HEAD.size, count)[0]


def numbers(value: bytes) -> Array:
    """The items of an array of numbers out of ``read_pairs``."""
    _, kind, _ = _ARRAY_HEAD.unpack_from(value)
    return np.frombuffer(value, _DTYPES[kind], offset=_ARRAY_HEAD.size)


def packed(value: Any) -> bytes:
    """A value with its type before it: a bool, int, float or str, an array of numbers or a list of encoded texts."""
    match value:
        case bool():
            return struct.pack("<I?", _TYPES[np.dtype("?")], value)
        case int():
            return struct.pack("<II", _TYPES[np.dtype("<u4")], value)
        case float():
            return struct.pack("<If", _TYPES[np.dtype("<f4")], value)
        case str():
            return struct.pack("<I", _STRING) + _text(value.encode())
        case np.ndarray():
            return _ARRAY_HEAD.pack(_ARRAY, _TYPES[value.dtype], len(value)) + value.tobytes()
        case list():
            return _ARRAY_HEAD.pack(_ARRAY, _STRING, len(value)) + b"".join(map(_text, value))
    raise TypeError(f"a GGUF file can't hold {value!r}")


def write_gguf(path: Path, pairs: Mapping[str, bytes], tensors: Sequence[Tensor] = ()) -> None:
    """Write a model file; without tensors it is a vocabulary. One tensor at a time is in memory."""
    with path.open("wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", _VERSION, len(tensors), len(pairs)))
        for key, value in pairs.items():
            file.write(_text(key.encode()) + value)
        offset = 0
        for tensor in tensors:
            sizes = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
            file.write(_text(tensor.name.encode()) + sizes + struct.pack("<IQ", tensor.kind, offset))
            offset += tensor.bytes + -tensor.bytes % _ALIGNMENT
        for tensor in tensors:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            data = tensor.make()
            assert data.nbytes == tensor.bytes, f"{tensor.name} has {data.nbytes} bytes, not {tensor.bytes}"
            np.ascontiguousarray(data).tofile(file)


def _text(text: bytes) -> bytes:
    return _U64.pack(len(text)) + text


def _strings(data: bytes, at: int, count: int) -> tuple[list[bytes], int]:
    """So many strings, and where the last one ends."""
    found = []
    length_of = _U64.unpack_from
    for _ in range(count):
        start = at + 8
        at = start + length_of(data, at)[0]
        found.append(data[start:at])
    return found, at


def _end(data: bytes, at: int, kind: int) -> int:
    """Where a value ends."""
    if kind == _STRING:
        return _strings(data, at, 1)[1]
    if kind != _ARRAY:
        return at + np.dtype((_DTYPES | _WIDE_DTYPES)[kind]).itemsize
    item, count = struct.unpack_from("<IQ", data, at)
    if item == _STRING:
        return _strings(data, at + 12, count)[1]
    return at + 12 + int(count) * np.dtype((_DTYPES | _WIDE_DTYPES)[item]).itemsize
