"""A bundle: one archive with models for robots that were never online.

A bundle is a tar archive of which every byte but the content of the files follows from its first file, the manifest. So
a reader compares where other readers interpret: an entry that is a link, leaves its folder, has another size or another
place is no entry of a bundle. Knows nothing of where models lie. Any thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from edgeagent.errors import ModelError
from edgeagent.resources import whole_file

MANIFEST: Final = "manifest.json"
_FORMAT: Final = 1
_BLOCK: Final = tarfile.BLOCKSIZE
_END: Final = bytes(2 * _BLOCK)
_COPIED: Final = 1 << 20
_MOST_MANIFEST_BYTES: Final = 1 << 20
"""Bytes of a manifest: a thousand models have less."""
_MOST_FILE_BYTES: Final = 8**11 - 1
"""Bytes of a file: eleven octal digits of its entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A file of a model in a bundle."""

    model: str
    """Name of the catalogue."""
    name: str
    bytes: int
    sha256: str
    accepted: bool = False
    """A person accepted the sha256 in place of the catalogue's, on the machine that wrote the bundle."""

    @property
    def path(self) -> str:
        """Path in the bundle."""
        return f"{self.model}/{self.name}"


Told = Callable[[int], object]
"""Called with the number of bytes that were copied since the last call."""


def write(
    target: Path, files: Sequence[tuple[Item, Path]], *, overwrite: bool = False, on_bytes: Told = lambda count: None
) -> None:
    """Writes a bundle; the same files give the same bytes. Nothing is left of a bundle that could not be written.

    Args:
        target: Path of the bundle.
        files: What the bundle holds, and where it lies.
        overwrite: Replace a file that is there.

    Raises:
        ModelError: The target is there, the disk is full or can't be written, or a file is not what its item says.
    """
    ordered = sorted(files, key=lambda file: file[0].path)
    _check_target(target, overwrite)
    try:
        with whole_file(target) as unfinished:
            with unfinished.open("xb") as out:
                manifest = _manifest([item for item, _ in ordered])
                out.write(_entry(MANIFEST, len(manifest)) + manifest + _padding(len(manifest)))
                for item, path in ordered:
                    out.write(_entry(item.path, item.bytes))
                    with path.open("rb") as source:
                        _copy(source, out, item, on_bytes, f"{path} changed while it was read")
                        if source.read(1):
                            raise ModelError(f"{path} changed while it was read: it has more than {item.bytes:,} bytes")
                    out.write(_padding(item.bytes))
                out.write(_END)
                out.flush()
                os.fsync(out.fileno())
            _check_target(target, overwrite)  # somebody else may have been faster
    except OSError as error:
        raise ModelError(f"the bundle {target} can't be written: {error.strerror or error}") from error


def size(items: Sequence[Item]) -> int:
    """Bytes of a bundle of these files."""
    manifest = len(_manifest(items))
    return sum(_BLOCK + count + len(_padding(count)) for count in (manifest, *(i.bytes for i in items))) + len(_END)


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise ModelError(f"{target} is a folder: name a file, such as {target / 'robot.tar'}")
    if target.exists() and not overwrite:
        raise ModelError(f"{target} is there already: choose another name, or replace it with --force")


class Bundle:
    """An open bundle that is read once, from its beginning to its end.

    Args:
        file: Opened for reading bytes.
        name: Name for errors.

    Raises:
        ModelError: The file is no bundle.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self.items: Final = self._read_manifest()
        """The files in the order in which they stand in the bundle."""

    def extract(self, folder: Path, on_bytes: Told = lambda count: None) -> None:
        """Writes every file to ``folder``, as ``model/name``, and compares it with the manifest.

        Raises:
            ModelError: The bundle is cut off, has other bytes, or something else in it.
            OSError: The folder can't be written.
        """
        for item in self.items:
            self._expect(_entry(item.path, item.bytes), item.path)
            target = folder / item.model / item.name
            target.parent.mkdir(exist_ok=True)
            with target.open("xb") as out:
                _copy(self._file, out, item, on_bytes, f"{self._name} is damaged: {item.path} is not what it should be")
                out.flush()
                os.fsync(out.fileno())
            self._expect(_padding(item.bytes), f"what follows {item.path}")
        self._expect(_END, "its end")
        if self._file.read(1):
            raise self._damaged("something follows its end")

    def _read_manifest(self) -> tuple[Item, ...]:
        block = self._file.read(_BLOCK)
        try:
            length = tarfile.TarInfo.frombuf(block, "utf-8", "strict").size
        except (tarfile.TarError, UnicodeDecodeError):
            length = -1
        if not 0 <= length <= _MOST_MANIFEST_BYTES or block != _entry(MANIFEST, length):
            raise ModelError(f"{self._name} is no bundle of models: edgeagent models bundle writes one")
        text = self._file.read(length)
        try:
            items = _read_items(json.loads(text))
            whole = _manifest(items) == text
        except (ValueError, TypeError, KeyError, RecursionError):
            whole, items = False, ()
        if not whole:
            raise self._damaged("its manifest can't be read; was it written by a newer edgeagent?")
        self._expect(_padding(length), "what follows its manifest")
        return items

    def _expect(self, wanted: bytes, what: str) -> None:
        found = self._file.read(len(wanted))
        if found != wanted:
            raise self._damaged("it is cut off" if len(found) < len(wanted) else f"{what} is not as the manifest says")

    def _damaged(self, how: str) -> ModelError:
        return ModelError(f"{self._name} is damaged: {how}; copy it again")


def _copy(source: IO[bytes], out: IO[bytes], item: Item, on_bytes: Told, otherwise: str) -> None:
    """Copies as many bytes as an item has.

    Raises:
        ModelError: There are fewer, or they have another sha256.
    """
    digest, left = hashlib.sha256(), item.bytes
    while left:
        block = source.read(min(_COPIED, left))
        if not block:
            raise ModelError(f"{otherwise}: it ends {left:,} bytes too early")
        digest.update(block)
        out.write(block)
        left -= len(block)
        on_bytes(len(block))
    if digest.hexdigest() != item.sha256:
        raise ModelError(f"{otherwise}: it has the sha256 {digest.hexdigest()}, not {item.sha256}")


def _entry(path: str, count: int) -> bytes:
    """The header of an entry, the only one that a bundle may have for such a file.

    Raises:
        ModelError: The file is too large, or its path too long.
    """
    info = tarfile.TarInfo(path)
    info.size, info.mode = count, 0o644
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise ModelError(f"{path} can't be part of a bundle: {error}") from error


def _padding(count: int) -> bytes:
    return bytes(-count % _BLOCK)


def _manifest(items: Sequence[Item]) -> bytes:
    files = [asdict(item) for item in sorted(items, key=lambda i: i.path)]
    for fields in files:
        if not fields["accepted"]:  # a bundle in which nothing is accepted can be read without knowing the key
            del fields["accepted"]
    document = {"edgeagent_bundle": _FORMAT, "files": files}
    return (json.dumps(document, indent=1) + "\n").encode()


def _read_items(document: Any) -> tuple[Item, ...]:
    """The items of a manifest.

    Raises:
        ValueError, TypeError, KeyError: It is none.
    """
    items = tuple(Item(**fields) for fields in document["files"])
    for item in items:
        if not all(_is_plain(name) for name in (item.model, item.name)):
            raise ValueError(item)
        if type(item.bytes) is not int or not 0 <= item.bytes <= _MOST_FILE_BYTES or type(item.sha256) is not str:
            raise ValueError(item)
        if type(item.accepted) is not bool:
            raise ValueError(item)
    if len({item.path for item in items}) < len(items):
        raise ValueError("a file comes twice")
    return items


def _is_plain(name: object) -> bool:
    """True for the name of a file: no folder, nothing hidden."""
    return isinstance(name, str) and name == Path(name).name and not name.startswith(".") and "\0" not in name


def models(items: Sequence[Item]) -> Iterator[tuple[str, tuple[Item, ...]]]:
    """The names of the models, each with its files."""
    for name in dict.fromkeys(item.model for item in items):
        yield name, tuple(item for item in items if item.model == name)
