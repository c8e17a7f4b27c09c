"""Named sessions: journals in the user's folder for data, and a note of the one that each app or folder had last.

Reads journals without their locks, so that a list never gets into the way of a session. Knows nothing of runs,
terminals and settings. Any thread, any number of processes.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

import platformdirs

from edgeagent.errors import BusyError, ConfigError, EdgeAgentError
from edgeagent.journal import records
from edgeagent.messages import new_id

logger = logging.getLogger(__name__)

SUFFIX: Final = ".journal"
"""End of the file name of a named session."""
_NAME: Final = re.compile(r"[^\W_][\w-]{0,39}")
"""Form of a name; 40 letters of four bytes leave room for the ends of file names."""
_NOTES: Final = "last"
"""Folder of the notes."""
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSession:
    """One session on disk, as it was when somebody looked."""

    name: str
    """Name, or the path of a journal that has none."""
    path: Path
    changed_t: float
    """Seconds since 1970 at the last change."""
    bytes: int
    turns: int = 0
    """Requests of people in the history, those that a summary has replaced not included."""
    first: str = ""
    """First request of the history."""
    fault: str = ""
    """Reason why the history can't be read; empty if it can."""


def is_name(text: str) -> bool:
    """True for the name of a session: letters, digits, - and _, 40 at most. Anything else is a path."""
    return _NAME.fullmatch(text) is not None


def user_sessions_dir() -> Path:
    """The folder of named sessions, in the user's folder for data."""
    return Path(platformdirs.user_data_dir("edgeagent")) / "sessions"


class Shelf:
    """Named sessions of one user.

    Args:
        folder: None is the user's; made with mode 0700 when something is put into it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder: Final = folder or user_sessions_dir()

    def path(self, name: str) -> Path:
        """Path of a named session, there or not.

        Raises:
            ConfigError: That is no name.
        """
        if not is_name(name):
            raise ConfigError(f"{name!r} is no name of a session: write letters, digits, - and _, 40 at most")
        return self.folder / f"{name}{SUFFIX}"

    def prepare(self) -> None:
        """Makes the folder.

        Raises:
            ConfigError: It can't be made.
        """
        try:
            self.folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"sessions can't be kept in {self.folder}: {error.strerror}") from error

    def free_name(self, stem: str) -> str:
        """A name that no session has: the stem, in letters that a name may have, and a number where it is taken."""
        plain = re.sub(r"[^\w-]+|_+", "-", stem).strip("-")[:30] or "session"
        names = (plain if number == 1 else f"{plain}-{number}" for number in count(1))
        return next(name for name in names if not os.path.lexists(self.path(name)))

    def sessions(self) -> list[KeptSession]:
        """Every named session, and every other one that a note names and that is there; the newest first."""
        named = {path: path.stem for path in self.folder.glob(f"*{SUFFIX}") if is_name(path.stem)}
        others = {path: str(path) for path in self._noted() if path not in named}
        found = (look_at(path, name) for path, name in {**named, **others}.items())
        return sorted((one for one in found if one is not None), key=lambda one: one.changed_t, reverse=True)

    def remove(self, name: str) -> int:
        """Removes a named session, and the damaged copies that were set aside; returns the bytes that were freed.

        Of a symbolic link only the link is removed: no conversation can have it.

        Raises:
            BusyError: A conversation has it.
            ConfigError: There is none of that name, or it can't be removed.
        """
        path = self.path(name)
        try:
            if path.is_symlink():
                return self._unlink(path)
            with _opened(path) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # who opens it now looks again, and begins a new one
                return self._unlink(path)
        except FileNotFoundError:
            known = ", ".join(sorted(one.stem for one in self.folder.glob(f"*{SUFFIX}"))) or "none"
            raise ConfigError(f"there is no session {name!r}; there are {known}") from None
        except BlockingIOError:
            raise BusyError(f"the session {name!r} is in use; end its conversation first") from None
        except OSError as error:
            raise ConfigError(f"the session {name!r} can't be removed: {error.strerror}") from error

    def _unlink(self, path: Path) -> int:
        freed = 0
        for one in (path, *self.folder.glob(f"{path.name}.damaged-*")):
            freed += one.lstat().st_size
            one.unlink()
        return freed

    # --- the last one -----------------------------------------------------------------------------------------------

    def last(self, whose: str) -> Path | None:
        """The session that an app or a folder had last; None if there is none any more.

        Args:
            whose: Any text that names the app or the folder.
        """
        path = _noted_path(self._note(whose))
        return path if path is not None and path.is_file() else None

    def remember(self, whose: str, path: Path) -> None:
        """Notes the session that an app or a folder has now. A disk that is full is told, and no reason to stop."""
        note = self._note(whose)
        fresh = note.with_name(new_id(note.name))
        try:
            note.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
            with os.fdopen(file, "w", encoding="utf-8", errors="surrogateescape") as stream:
                json.dump({"of": whose, "path": str(path.absolute())}, stream, ensure_ascii=False)
            fresh.replace(note)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            logger.warning("--continue will not know of this session: %s: %s", note, error.strerror)

    def _note(self, whose: str) -> Path:
        return self.folder / _NOTES / hashlib.sha256(whose.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def _noted(self) -> set[Path]:
        return {path for note in self.folder.glob(f"{_NOTES}/*") if (path := _noted_path(note)) is not None}


def _noted_path(note: Path) -> Path | None:
    """The path in a note; None where there is no note, or something else in it."""
    try:
        path = Path(json.loads(note.read_text(encoding="utf-8", errors="surrogateescape"))["path"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None if "\0" in str(path) else path


def _opened(path: Path) -> BinaryIO:
    """The file to read, without waiting for the other end of a pipe.

    Raises:
        OSError: It can't be opened, or is a pipe or a device.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(number).st_mode):
        return os.fdopen(number, "rb")
    os.close(number)
    raise OSError(errno.EINVAL, "it is no file")


def look_at(path: Path, name: str) -> KeptSession | None:
    """A journal as far as it is whole, whoever writes to it meanwhile; None if it is not there."""
    try:
        with _opened(path) as stream:
            about = os.fstat(stream.fileno())
            seen = KeptSession(name=name, path=path, changed_t=about.st_mtime, bytes=about.st_size)
            return _read(stream, seen)
    except FileNotFoundError:
        if not path.is_symlink():
            return None
        fault = "it is a symbolic link to a file that is not there"
        return KeptSession(name=name, path=path, changed_t=0.0, bytes=0, fault=fault)
    except OSError as error:
        return KeptSession(name=name, path=path, changed_t=0.0, bytes=0, fault=error.strerror or str(error))


def _read(stream: BinaryIO, seen: KeptSession) -> KeptSession:
    try:
        found = records.scan(stream)
        if records.session_of(found.header) is None:
            raise EdgeAgentError("it is no journal of a session")
        messages = records.add_up(records.read(records.lines_of(stream, found.alive, found.good))).messages
    except EdgeAgentError as error:
        return replace(seen, fault=str(error))
    asked = [message.text for message in messages if message.role == "user" and message.origin == "user"]
    return replace(seen, turns=len(asked), first=asked[0] if asked else "")
