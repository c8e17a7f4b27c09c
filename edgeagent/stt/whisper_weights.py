"""Weights of a Whisper model in CTranslate2's binary format, and additions that make its encoder hear through noise.

The format, version 6, is that of ``ctranslate2/specs/model_spec.py``: little-endian; strings end with a null byte and
are preceded by their length in two bytes. Pure functions; any thread.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from mmap import mmap
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeagent.errors import RecognitionError
from edgeagent.resources import models_dir, scratch_folder

log: Final = logging.getLogger("edgeagent.stt")

Weights = Mapping[str, NDArray[Any]]
File = bytes | bytearray | mmap
"""A whole model.bin."""

_VERSION: Final = 6
_TYPES: Final = (np.float32, np.int8, np.int16, np.int32, np.float16)
"""By CTranslate2's numbers; a bfloat16 model is read by nobody here."""
_WEIGHTS: Final = "model.bin"
_LEARNT: Final = "whisper_{model}_noise.npz"
_MODEL: Final = "sha256"
"""Name of the array in such a file that tells to which model.bin it belongs."""
_OPEN: Final = Path("/proc/self/fd")
"""The files that this process has open, by their numbers."""
_PIECE: Final = 1 << 20
_BROKEN: Final = (ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""Errors of numpy for a file that is none of its own or has lost a bit; NotImplementedError is zipfile's, for a
compression that it does not know."""


class _Place(NamedTuple):
    """Place of one array in the file."""

    at: int
    shape: tuple[int, ...]
    dtype: type[np.generic]

    def array(self, data: File) -> NDArray[Any]:
        """The array, as a view of the file's bytes."""
        count = math.prod(self.shape)
        return np.frombuffer(data, self.dtype, count, self.at).reshape(self.shape)


def read_weights(data: File) -> Weights:
    """Arrays of a model.bin by their names, such as "encoder/layer_0/ffn/linear_0/weight"; views of its bytes.

    Raises:
        RecognitionError: It is no such file.
    """
    return {name: place.array(data) for name, place in _places(data).items()}


def add_learnt(data: bytearray | mmap, learnt: Weights) -> None:
    """Adds what was learnt to the weights of a model.bin, in place.

    Args:
        learnt: For each name of a matrix "name:a" and "name:b", whose product ``b @ a`` is added to it (LoRA, Hu et al.
            2021, arXiv:2106.09685); for each of another array "name:d", which is added itself.

    Raises:
        RecognitionError: It is no such file, or what was learnt is of another model; then the file is half changed.
    """
    places = _places(data)
    for name in sorted({key.rpartition(":")[0] for key in learnt}):
        try:
            array, a, b = places[name].array(data), learnt.get(f"{name}:a"), learnt.get(f"{name}:b")
            change = learnt[f"{name}:d"] if a is None or b is None else b.astype(np.float32) @ a.astype(np.float32)
            if change.shape != array.shape or not change.dtype.kind == array.dtype.kind == "f":
                raise ValueError(f"{change.dtype} of shape {change.shape} for {array.dtype} of shape {array.shape}")
            array[...] = array.astype(np.float32) + change
            if not np.isfinite(array).all():
                raise ValueError("the sum is not finite")
        except (KeyError, ValueError, TypeError) as error:
            raise RecognitionError(f"what was learnt for {name!r} does not fit this Whisper model: {error}") from error


@contextmanager
def hardened(folder: Path) -> Iterator[Path]:
    """A folder to load a model from, with what was learnt for it; the model's own where there is nothing.

    It goes by the folder's name, such as "tiny.en", and by every byte of its model.bin. The changed weights lie in
    memory until they are loaded: CTranslate2 keeps what it is given as bytes, and a card wears out by writing. Where
    that can't be done the log says so, and the model hears as it is.

    Raises:
        OSError: The model can't be read.
        RecognitionError: The file that comes with edgeagent is broken.
    """
    learnt = _learnt_for(folder)
    with ExitStack() as stack:
        files = folder
        if learnt is not None:
            try:
                files = stack.enter_context(_changed(folder, learnt))
            except OSError as error:
                log.warning("whisper hears without what it has learnt of noise: %s", error)
        yield files


@contextmanager
def _changed(folder: Path, learnt: Weights) -> Iterator[Path]:
    """A folder of links, to the files of a model, and to changed weights in memory."""
    with os.fdopen(os.memfd_create(folder.name), "wb") as copy, scratch_folder("edgeagent-whisper-") as made:
        with (folder / _WEIGHTS).open("rb") as file:
            shutil.copyfileobj(file, copy, _PIECE)
        copy.flush()
        add_learnt(mmap(copy.fileno(), 0), learnt)
        for path in folder.iterdir():
            same = _OPEN / str(copy.fileno()) if path.name == _WEIGHTS else folder.resolve() / path.name
            (made / path.name).symlink_to(same)
        yield made


def _learnt_for(folder: Path) -> Weights | None:
    """Reads what comes with edgeagent for a model; None if there is nothing, or it can't be used here.

    Raises:
        OSError: The model can't be read.
        RecognitionError: It is broken.
    """
    file = models_dir() / _LEARNT.format(model=folder.name)
    if not (file.is_file() and _OPEN.is_dir()):
        return None
    try:
        with np.load(file) as arrays:
            learnt = dict(arrays)
        of_model = learnt.pop(_MODEL).tobytes()
    except (*_BROKEN, OSError) as error:
        raise RecognitionError(f"{file} is broken, so install edgeagent again: {error}") from error
    with (folder / _WEIGHTS).open("rb") as weights:
        return learnt if hashlib.file_digest(weights, "sha256").digest() == of_model else None


def _places(data: File) -> dict[str, _Place]:
    """Finds the place of each array.

    Raises:
        RecognitionError: It is no model.bin of CTranslate2, of another version, or cut short.
    """
    at = 0

    def take(form: str) -> tuple[int, ...]:
        nonlocal at
        found = struct.unpack_from(f"<{form}", data, at)
        at += struct.calcsize(f"<{form}")
        return found

    def text() -> str:
        nonlocal at
        [length] = take("H")
        found = data[at : at + length]
        at += length
        return found.rstrip(b"\0").decode()

    places: dict[str, _Place] = {}
    try:
        [version] = take("I")
        if version != _VERSION:
            raise RecognitionError(f"the model.bin is of version {version} of CTranslate2's format, not {_VERSION}")
        text()
        _revision, count = take("II")
        for _ in range(count):
            name = text()
            [rank] = take("B")
            shape = take(f"{rank}I")
            [kind] = take("B")
            [size] = take("I")
            place = _Place(at, shape, _TYPES[kind])
            if size != math.prod(shape) * np.dtype(place.dtype).itemsize or at + size > len(data):
                raise RecognitionError(f"the model.bin is broken at {name}")
            places[name] = place
            at += size
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise RecognitionError(f"the model.bin is none of CTranslate2's: {error}") from error
    return places
