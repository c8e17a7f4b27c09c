"""Models on this machine: their folder, the files of each and whether they are whole, what was pulled, and a lock for
whoever changes one.

Knows nothing of networks. Any thread; ``lock`` also keeps other processes out.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final, Literal

import platformdirs

from edgeagent.errors import ConfigError, ModelError
from edgeagent.models.catalog import Entry, File, LanguageModel, Recogniser, entries, language_models
from edgeagent.resources import expanded, models_dir, whole_file

FOLDER_VARIABLE: Final = "EDGEAGENT_MODELS"
WHISPER_FOLDER: Final = "whisper"
"""Folder of recognisers, which have a folder of their own name in it."""
VOICES_FOLDER: Final = "voices"
"""Folder of voices, which have a folder of their own name in it."""
PARTS_FOLDER: Final = ".parts"
"""Folder of unfinished pulls, by the name of the model; on the disk of the models, so that a rename is atomic."""
_RECORDS: Final = ".records"
"""Folder of notes about pulls, a file for each model."""
_LOCKS: Final = ".locks"
_SUFFIX: Final = ".gguf"
_SPARE_BYTES: Final = 64 << 20
"""Bytes of disk that stay free, so that journals and logs can still be written."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """A note about a file that was pulled."""

    bytes: int
    sha256: str
    source: str
    """Where the file came from, in words."""
    date: str
    """Day of the pull, in the form 2026-11-22."""
    accepted: bool = False
    """A person accepted a sha256 that is not the catalogue's."""


def user_models_dir() -> Path:
    """The folder for downloaded models: ``EDGEAGENT_MODELS``, or the user's data folder.

    Raises:
        ConfigError: ``EDGEAGENT_MODELS`` names the home folder of a user that this machine does not have.
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    if not chosen:
        return Path(platformdirs.user_data_dir("edgeagent")) / "models"
    try:
        return expanded(chosen)
    except ConfigError as error:
        raise ConfigError(f"{FOLDER_VARIABLE}: {error}") from None


def folder(entry: Entry) -> Path:
    """Folder of a model's files: language models share one, others have one of their own."""
    if entry.packaged:
        return models_dir()
    if isinstance(entry, LanguageModel):
        return user_models_dir()
    return user_models_dir() / (WHISPER_FOLDER if isinstance(entry, Recogniser) else VOICES_FOLDER) / entry.name


def paths(entry: Entry) -> tuple[Path, ...]:
    """Paths of a model's files, in the order of the catalogue, there or not."""
    return tuple(folder(entry) / file.name for file in entry.files)


def is_here(entry: Entry) -> bool:
    """True if every file of a model is on this machine. Their content is not looked at."""
    return all(path.is_file() for path in paths(entry))


def here() -> list[Entry]:
    """Every model of the catalogue that is on this machine."""
    return [entry for entry in entries().values() if is_here(entry)]


def remove(entry: Entry) -> int:
    """Removes a model's files, its notes and what is left of an unfinished pull. Call under ``lock``.

    A file that somebody has open stays with him until he closes it.

    Returns:
        Bytes that were freed, by the sizes of the files.

    Raises:
        ModelError: The model comes with edgeagent, or a file can't be removed.
    """
    if entry.packaged:
        raise ModelError(f"{entry.name} comes with edgeagent and can't be removed")
    freed = 0
    try:
        for path in paths(entry):
            if path.is_file():
                freed += path.stat().st_size
                path.unlink()
        freed += remove_parts(entry)
        _record_file(entry).unlink(missing_ok=True)
        own = folder(entry)
        if own != user_models_dir() and own.is_dir() and not any(own.iterdir()):
            own.rmdir()
    except OSError as error:
        raise ModelError(f"{entry.name} can't be removed: {error}") from error
    return freed


def parts(entry: Entry) -> Path:
    """Folder of what an unfinished pull of a model has fetched."""
    return user_models_dir() / PARTS_FOLDER / entry.name


def remove_parts(entry: Entry) -> int:
    """Removes what an unfinished pull of a model has left; returns the bytes that were freed."""
    left = parts(entry)
    if not left.is_dir():
        return 0
    freed = sum(path.stat().st_size for path in left.rglob("*") if path.is_file())
    shutil.rmtree(left)
    return freed


def records(entry: Entry) -> dict[str, Pulled]:
    """Notes about a model's files by their names; none for files that somebody has put there by hand.

    Raises:
        ModelError: The notes can't be read.
    """
    file = _record_file(entry)
    try:
        return {name: Pulled(**note) for name, note in json.loads(file.read_text(encoding="utf-8")).items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(
            f"the notes about {entry.name} can't be read ({error}): remove {file}, and pull the model again"
        ) from error


def record(entry: Entry, notes: dict[str, Pulled]) -> None:
    """Writes the notes about a model's files. Call under ``lock``.

    Raises:
        OSError: They can't be written.
    """
    file = _record_file(entry)
    file.parent.mkdir(parents=True, exist_ok=True)
    fields = {name: asdict(note) for name, note in sorted(notes.items())}
    with whole_file(file) as new:
        new.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def free_bytes() -> int:
    """Bytes that are free for models."""
    wanted = user_models_dir()
    there = next(path for path in (wanted, *wanted.parents) if path.exists())
    return shutil.disk_usage(there).free


def check_space(needed: int) -> None:
    """Refuses models that need more bytes of the disk than are free.

    Raises:
        ModelError: The text says what to do.
    """
    free = free_bytes()
    if needed + _SPARE_BYTES > free:
        raise ModelError(
            f"the disk is too small: {needed / 1e6:,.0f} MB are needed, and {_SPARE_BYTES / 1e6:,.0f} MB stay free, "
            f"but {user_models_dir()} has {free / 1e6:,.0f} MB. Remove something, or set {FOLDER_VARIABLE} to a folder "
            "with more room"
        )


@contextmanager
def lock(entry: Entry, waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Keeps others from changing a model: this process has the lock until the block ends, or until the process does.

    Args:
        waiting: Called once if another process has the lock; then that process is waited for.

    Raises:
        ModelError: The folder of models can't be written.
    """
    file = user_models_dir() / _LOCKS / f"{entry.name}.lock"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("a")
    except OSError as error:
        raise ModelError(
            f"models can't be written to {user_models_dir()}: {error.strerror}. Set {FOLDER_VARIABLE} to another folder"
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def using(path: Path) -> IO[bytes]:
    """A handle that marks a model's file as in use, by whoever asks ``in_use``, until it is closed.

    Raises:
        OSError: The file can't be opened.
    """
    handle = path.open("rb")
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        _log.debug("%s can't be marked as in use", path)  # a file system without locks, or one who looks just now
    return handle


def in_use(path: Path) -> bool:
    """True if a process has marked a model's file as in use.

    Raises:
        ModelError: The file can't be opened.
    """
    try:
        with path.open("rb") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:
                _log.debug("whether %s is in use can't be known", path)  # a file system without locks for readers
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror or error}") from error
    return False


def _record_file(entry: Entry) -> Path:
    return user_models_dir() / _RECORDS / f"{entry.name}.json"


def find_model(model: str | os.PathLike[str]) -> tuple[str, Path]:
    """A language model's name and file, from a path or a name of the catalogue.

    Raises:
        ModelError: The name is not in the catalogue, or its file is not there; the text says how to get it. A path is
            not looked at: reading its header does that.
    """
    text = os.fspath(model)
    known = language_models()
    entry = known.get(text)
    if entry is None:
        if not isinstance(model, str) or text.endswith(_SUFFIX) or os.sep in text or Path(text).exists():
            path = expanded(text)
            return path.stem, path
        raise ModelError(
            f"there is no model {text!r}: give the path of a {_SUFFIX} file, or a name: {', '.join(known)}"
        )
    (path,) = paths(entry)
    if not path.exists():
        raise ModelError(absent(entry))
    return entry.name, path


def absent(entry: Entry) -> str:
    """A sentence for a person who wants a model that is not on this machine: the command that brings it."""
    if entry.packaged:
        return f"edgeagent's own model {entry.name} is missing: install edgeagent again"
    size = f" ({entry.bytes / 1e6:,.0f} MB)" if entry.bytes else ""
    return f"the model {entry.name} is not on this machine: edgeagent models pull {entry.name} fetches it{size}"


# --- comparison with the catalogue, or with the note of the pull; whole files are read --------------------------------

BLOCK: Final = 1 << 20
"""Bytes that are read at once."""

Verdict = Literal["ok", "unknown", "missing", "differs"]
"""``unknown``: nobody has told the sha256 of the file, so there is nothing to compare it with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict about one file."""

    path: Path
    verdict: Verdict
    text: str
    """The verdict in words."""


def verify(entry: Entry) -> list[Finding]:
    """Compares every file of a model with its sha256.

    Raises:
        ModelError: A file or the notes of the pull can't be read.
    """
    notes = records(entry)
    return [_finding(file, path, notes.get(file.name)) for file, path in zip(entry.files, paths(entry), strict=True)]


def sha256(path: Path, on_bytes: Callable[[int], object] = lambda count: None) -> str:
    """The SHA-256 of a file, in lower case.

    Args:
        on_bytes: Called with the number of bytes that were read since the last call.

    Raises:
        OSError: The file can't be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            on_bytes(len(block))
    return digest.hexdigest()


def _finding(file: File, path: Path, note: Pulled | None) -> Finding:
    try:
        found = sha256(path)
    except FileNotFoundError:
        return Finding(path=path, verdict="missing", text="missing")
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror}") from error
    known = file.sha256
    against = "the catalogue's sha256"
    if note is not None and (note.accepted or known is None):
        known = note.sha256
        against = f"the sha256 {'accepted' if note.accepted else 'recorded'} on {note.date}"
    if known is None:
        return Finding(path=path, verdict="unknown", text=f"nothing to compare with; sha256 {found}")
    if known == found:
        return Finding(path=path, verdict="ok", text=f"has {against}")
    return Finding(path=path, verdict="differs", text=f"differs from {against}: sha256 {found}, not {known}")
