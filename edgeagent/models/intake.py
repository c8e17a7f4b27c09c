"""Models that come from a file instead of a network: a bundle, a single model file, a folder.

What arrives is copied beside its place and compared with the catalogue there; only when all of it is right it is moved
to its place. So a failure leaves nothing. Any thread.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from edgeagent.errors import ModelError
from edgeagent.models import bundle, store
from edgeagent.models.bundle import Bundle, Item, Told
from edgeagent.models.catalog import Entry, File, entries
from edgeagent.models.store import sha256

_STAGING: Final = "import-"
"""Beginning of the names of folders in which imports are compared."""
_CONFIG: Final = ".json"
"""Ending that the name of a Piper voice's second file adds to that of its first."""


def import_models(
    path: Path,
    *,
    accept_upstream: bool = False,
    on_bytes: Told = lambda count: None,
    waiting: Callable[[], object] = lambda: None,
) -> list[Entry]:
    """Puts the models of a bundle, of a single model file or of a folder among the models of this machine.

    Args:
        path: A bundle, a .gguf, a .onnx with its .onnx.json beside it, or the folder of a recogniser or a voice.
        accept_upstream: A file that differs from the catalogue is taken if the bundle says that a person accepted it.
        waiting: Called once for each model that another process is changing; then that process is waited for.

    Returns:
        The models that are here now.

    Raises:
        ModelError: The file is missing, cut off, or not what the catalogue knows; or the disk is full.
    """
    try:
        files = list(_files(path))
        with _staging() as folder:
            if len(files) == 1 and not _is_model_file(path):
                items = _unpack(path, folder, accept_upstream, on_bytes)
            else:
                items = _take(path, files, folder, on_bytes)
            return [_install(name, mine, folder, path, waiting) for name, mine in bundle.models(items)]
    except OSError as error:
        raise ModelError(f"{path} can't be imported: {error.strerror or error}") from error


def items_of(entry: Entry, on_bytes: Told = lambda count: None) -> list[tuple[Item, Path]]:
    """The files of a model as items of a bundle.

    Raises:
        ModelError: The model is not here, or a file is not what the catalogue says.
    """
    found: list[tuple[Item, Path]] = []
    notes = store.records(entry)
    for file, path in zip(entry.files, store.paths(entry), strict=True):
        try:
            item = Item(model=entry.name, name=file.name, bytes=path.stat().st_size, sha256=sha256(path, on_bytes))
        except FileNotFoundError:
            raise ModelError(store.absent(entry)) from None
        except OSError as error:
            raise ModelError(f"{path} can't be read: {error.strerror or error}") from error
        note = notes.get(file.name)
        if note is not None and note.accepted and note.sha256 == item.sha256:
            item = replace(item, accepted=_differs(item, file))
        else:
            _compare(item, file, str(path))
        found.append((item, path))
    return found


def _files(path: Path) -> Iterator[Path]:
    """The files that are meant by a path."""
    if path.is_dir():
        yield from sorted(each for each in path.iterdir() if each.is_file())
        return
    if not path.exists():
        raise ModelError(f"there is no file {path}: give a bundle, a model file or a folder")
    if not path.is_file():
        raise ModelError(f"{path} is neither a file nor a folder")
    yield path
    config = path.with_name(path.name + _CONFIG)
    if path.suffix == ".onnx":
        if not config.is_file():
            raise ModelError(f"{path} is half a voice: put {config.name} beside it")
        yield config


def _is_model_file(path: Path) -> bool:
    return path.suffix in (".gguf", ".onnx") or path.is_dir()


def _unpack(path: Path, folder: Path, accept_upstream: bool, on_bytes: Told) -> Sequence[Item]:
    """Writes what is in a bundle to a folder."""
    with path.open("rb") as file:
        arriving = Bundle(file, str(path))
        known = entries()
        for name, items in bundle.models(arriving.items):
            entry = known.get(name)
            if entry is None or entry.packaged:
                raise ModelError(f"{path} has the model {name!r}, which this edgeagent does not know: update edgeagent")
            if sorted(item.name for item in items) != sorted(file.name for file in entry.files):
                raise ModelError(f"{path} has other files of {name} than the catalogue: update edgeagent")
            for item in items:
                if not (item.accepted and accept_upstream):
                    _compare(item, _file_of(entry, item), f"{item.path} in {path}")
        store.check_space(sum(item.bytes for item in arriving.items))
        arriving.extract(folder, on_bytes)
    return arriving.items


def _take(path: Path, files: Sequence[Path], folder: Path, on_bytes: Told) -> Sequence[Item]:
    """Copies the files of one model to a folder, under the names of the catalogue."""
    sizes = {each: each.stat().st_size for each in files}
    entry = _recognise(path, sizes)
    sources = {file: _source(file, sizes) for file in entry.files}
    store.check_space(sum(sizes[source] for source in sources.values() if source))
    own = folder / entry.name
    own.mkdir()
    items = []
    for file, source in sources.items():
        if source is None:
            raise ModelError(f"{path} has no {file.name}, which {entry.name} needs")
        target = own / file.name
        with source.open("rb") as read, target.open("xb") as out:
            shutil.copyfileobj(read, out)
            out.flush()
            os.fsync(out.fileno())
        item = Item(model=entry.name, name=file.name, bytes=target.stat().st_size, sha256=sha256(target, on_bytes))
        _compare(item, file, str(source))
        items.append(item)
    return items


def _recognise(path: Path, sizes: dict[Path, int]) -> Entry:
    """The model of the catalogue whose first file is among these, by its sha256; by its name where that is unknown.

    Raises:
        ModelError: There is none.
    """
    digests: dict[Path, str] = {}
    by_name: Entry | None = None
    for entry in entries().values():
        source = _source(entry.files[0], sizes) if entry.files and not entry.packaged else None
        if source is None:
            continue
        wanted = entry.files[0].sha256
        if source not in digests and wanted is not None:
            digests[source] = sha256(source)
        if wanted is not None and digests[source] == wanted:
            return entry
        if source.name == entry.files[0].name:
            by_name = by_name or entry  # with folders, many have a model.bin
    if by_name is None or (path.is_dir() and by_name.files[0].sha256 is not None):
        raise ModelError(
            f"{path} is no model of the catalogue (edgeagent models list): name its path where it is used, "
            "such as --model FILE.gguf"
        )
    return by_name


def _source(file: File, sizes: dict[Path, int]) -> Path | None:
    """The file that can be this one of the catalogue: by its name, else by its size, else the only one of its kind."""
    for path in sizes:
        if path.name == file.name:
            return path
    for path, size in sizes.items():
        if size == file.bytes:
            return path
    same_kind = [path for path in sizes if path.suffix == Path(file.name).suffix]
    return same_kind[0] if len(same_kind) == 1 and file.bytes is None else None


def _file_of(entry: Entry, item: Item) -> File:
    return next(file for file in entry.files if file.name == item.name)


def _differs(item: Item, file: File) -> bool:
    return file.bytes not in (None, item.bytes) or file.sha256 not in (None, item.sha256)


def _compare(item: Item, file: File, where: str) -> None:
    """Refuses a file that is not the one of the catalogue.

    Raises:
        ModelError: The sizes or the sha256 differ.
    """
    if item.accepted and _differs(item, file):
        raise ModelError(
            f"{where} is newer than the catalogue: its sha256 {item.sha256} was accepted where the bundle was written. "
            "With --accept-upstream it is taken, and noted with the date"
        )
    if file.bytes not in (None, item.bytes):
        raise ModelError(
            f"{where} has {item.bytes:,} bytes and should have {file.bytes:,}, by the catalogue: get the file again"
        )
    if file.sha256 not in (None, item.sha256):
        raise ModelError(
            f"{where} is not {item.name} of {item.model}: its sha256 is {item.sha256}, and the catalogue has "
            f"{file.sha256}; get the file again"
        )


@contextmanager
def _staging() -> Iterator[Path]:
    """A folder on the disk of the models that is gone afterwards; what killed imports have left goes too."""
    parts = store.user_models_dir() / store.PARTS_FOLDER
    try:
        parts.mkdir(parents=True, exist_ok=True)
        for left in parts.glob(f"{_STAGING}*"):
            with suppress(FileNotFoundError), _hold(left) as is_free:  # another import may have removed it
                if is_free:
                    shutil.rmtree(left)
        folder = parts / f"{_STAGING}{secrets.token_hex(4)}"
        folder.mkdir()
    except OSError as error:
        raise ModelError(
            f"models can't be written to {store.user_models_dir()}: {error.strerror or error}. Make room there, or set "
            f"{store.FOLDER_VARIABLE} to another folder"
        ) from error
    with _hold(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _hold(folder: Path) -> Iterator[bool]:
    """Keeps a folder from being taken for one that nobody needs; False if another process holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(handle)


def _install(name: str, items: Sequence[Item], folder: Path, path: Path, waiting: Callable[[], object]) -> Entry:
    """Moves the files of a model to their place, and notes where they came from."""
    entry = entries()[name]
    date = dt.datetime.now(dt.UTC).date().isoformat()
    with store.lock(entry, waiting):
        place = store.folder(entry)
        place.mkdir(parents=True, exist_ok=True)
        for item in items:
            (folder / item.path).replace(place / item.name)
        notes = {
            item.name: store.Pulled(
                bytes=item.bytes,
                sha256=item.sha256,
                source=f"the file {path.name}",
                date=date,
                accepted=_differs(item, _file_of(entry, item)),
            )
            for item in items
        }
        store.record(entry, notes)
    return entry
