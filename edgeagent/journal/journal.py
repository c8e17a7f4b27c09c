"""A session's history on disk, appended as it happens, so that nothing committed is lost when the process dies.

One process has the file at a time, by ``flock`` on it. Each record is on its way to the disk, as far as this process
is concerned, when the call that wrote it returns: a killed process loses nothing, a power cut only what the system had
not written yet, unless ``durability="power"`` waits for the disk. Any thread may write. It holds what history holds,
redacted only if that is, and its mode is 0600.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, get_args

from edgeagent.errors import BusyError, ConfigError, EdgeAgentError
from edgeagent.journal import records
from edgeagent.journal.records import Record, Recovered, add_up, session_of, with_results
from edgeagent.messages import Message, Usage, new_id

logger = logging.getLogger(__name__)
Durability = Literal["process", "power"]

_MODE: Final = 0o600
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_LEAST_BYTES: Final = 65_536
"""A file of so many bytes is small enough as it is."""
_DEAD_SHARE: Final = 4
"""A file is rewritten when it is this many times as long as the history that takes its place."""
_MOST_IN_RECORD: Final = 4096
"""Messages of a history that is written as one record. A longer one is written anew, a line for each message: nobody
can interrupt the reading of a line."""
_CHUNK_BYTES: Final = 1 << 20
"""Bytes that are read or written at once."""


class Journal:
    """The journal of one session. Open it with ``Journal.open``; a context manager.

    Attributes:
        path: The file.
        session_id: Of the session that began it.
    """

    def __init__(self, path: Path, file: int, *, durability: Durability) -> None:
        self.path = path
        self.session_id = ""
        self._durability = durability
        self._file: int | None = file
        self._lock = threading.Lock()
        self._size = 0
        """Bytes of the records that are committed."""
        self._torn = False
        """There may be more in the file than that."""
        self._alive = 0
        """Where the newest history begins in the file, in bytes."""
        self._usage = b""
        """The line of the newest usage."""
        self._notices: list[str] = []

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, session_id: str | None = None, durability: Durability = "process"
    ) -> Self:
        """Opens or creates a journal, and repairs what a crash left of it.

        A last record that was being written is dropped. Damage further up keeps what stands before it, and the whole
        file as it was is copied to ``PATH.damaged-N``. ``load`` tells of both.

        Args:
            session_id: Of a new journal; one that exists keeps its own.
            durability: "power" waits until each record is on the disk.

        Raises:
            BusyError: Another process, or another session of this one, has it open.
            ConfigError: There is no such durability.
            EdgeAgentError: The file cannot be opened, or is no journal of this version.
        """
        if durability not in get_args(Durability):
            raise ConfigError(f"durability={durability!r}: it should be one of {', '.join(get_args(Durability))}")
        where = Path(path)
        journal = cls(where, _opened(where), durability=durability)
        try:
            with journal._complaints("read"):
                journal._repair()
            if not journal.session_id:
                journal.session_id = session_id or new_id("session")
                journal._write(journal._header())
                if durability == "power":
                    with journal._complaints("written"):
                        _sync_folder(where)
        except BaseException:
            journal.close()
            raise
        return journal

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(self, message: Message) -> None:
        """Commits a message to the history.

        Raises:
            EdgeAgentError: It cannot be written (a full disk); the journal is as it was before.
        """
        self._write(Record("message", records.fields_of(message)))

    def replace(self, messages: Iterable[Message]) -> None:
        """Commits another history: after a truncation, a compaction of the context, a reset or a restore.

        A file that holds far more than that is rewritten: atomically, so that a crash leaves the old file or the new.

        Raises:
            EdgeAgentError: As ``append``.
        """
        whole = list(messages)
        if len(whole) <= _MOST_IN_RECORD:
            record = _history(whole)
            if self._size <= _LEAST_BYTES or self._size <= _DEAD_SHARE * len(record.line()):
                self._write(record)
                return
        try:
            self._rewrite(whole)
        except EdgeAgentError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            logger.info("%s", error)  # no room for both, or a folder that nobody may write to: the long file is as good
            self._write(_history(whole))

    def heard(self, message_id: str, text: str) -> None:
        """Cuts a message to the text that was heard of it.

        Raises:
            EdgeAgentError: As ``append``.
        """
        self._write(Record("heard", {"message_id": message_id, "text": text}))

    def usage(self, usage: Usage) -> None:
        """Commits the session's total so far.

        Raises:
            EdgeAgentError: As ``append``.
        """
        self._write(Record("usage", asdict(usage)))

    # --- reading ----------------------------------------------------------------------------------------------------

    def load(self) -> Recovered:
        """The history and the usage, with a result for every call, and what had to be repaired since ``open``.

        Calls that were open when the process died get the status outcome_unknown, here and in the file.

        Raises:
            EdgeAgentError: A record is of another version, or the disk fails.
        """
        with self._lock, self._complaints("read"):
            alive = self._lines(self._open_file(), self._alive)
            found = add_up(records.read(chain([self._usage] if self._usage else [], alive)))
            notices, self._notices = self._notices, []
        whole = with_results(found.messages)
        known = len(found.messages)
        ids = {message.id for message in found.messages}
        filled = [message for message in whole if message.id not in ids]
        if filled and whole[:known] != list(found.messages):
            self.replace(whole)
        else:
            for message in filled:
                self.append(message)
        notices += [message.text for message in filled]
        return replace(found, messages=tuple(whole), notices=tuple(notices))

    def close(self) -> None:
        """Gives the file back. Safe to call again."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the file ---------------------------------------------------------------------------------------------------

    def _repair(self) -> None:
        """Leaves only whole records in the file, and reads the header if there is one."""
        file = self._open_file()
        self._size = os.fstat(file).st_size
        beginning = os.pread(file, len(records.BEGINNING), 0)
        if not records.BEGINNING.startswith(beginning):
            raise EdgeAgentError("it is no journal of a session; choose another file")
        scan = records.scan(self._lines(file))
        whole = scan.good == self._size
        self._size, self._alive, self._usage = scan.good, scan.alive, scan.usage
        self.session_id = session_of(scan.header) or ""
        self._make_private(file)  # only now: a file that is no journal keeps its mode
        if whole:
            return
        if scan.torn:
            self._notices.append(f"the last record of {self.path} was not written to its end, so it was dropped")
        else:
            aside = _set_aside(self.path, file)
            self._notices.append(
                f"{self.path} is damaged after record {scan.records}: what stands before is used, and the whole file "
                f"was kept as {aside}"
            )
        os.ftruncate(file, scan.good)
        os.fsync(file)

    def _make_private(self, file: int) -> None:
        if stat.S_IMODE(os.fstat(file).st_mode) == _MODE:
            return
        try:
            os.fchmod(file, _MODE)
        except PermissionError:
            self._notices.append(f"others on this machine may read {self.path}: its mode cannot be changed")

    def _header(self) -> Record:
        return Record("header", {"format": records.FORMAT, "session_id": self.session_id})

    def _write(self, record: Record) -> None:
        """One record in one ``os.write``; if that fails, none of it stays."""
        line = record.line()
        with self._lock, self._complaints("written"):
            file = self._open_file()
            if self._torn:
                os.ftruncate(file, self._size)
            self._torn = True
            try:
                _write_all(file, line)
                if self._durability == "power":
                    os.fsync(file)
            except OSError:
                os.ftruncate(file, self._size)
                self._torn = False
                raise
            self._torn = False
            if record.kind == "history":
                self._alive = self._size
            elif record.kind == "usage":
                self._usage = line
            self._size += len(line)

    def _rewrite(self, messages: Iterable[Message]) -> None:
        """The same journal with nothing in it but these messages, in a new file under the old name."""
        with self._lock, self._complaints("rewritten"):
            file = self._open_file()
            lines = (Record("message", records.fields_of(message)).line() for message in messages)
            self._file, self._size = _replaced(self.path, chain([self._header().line(), self._usage], lines))
            os.close(file)
            self._torn, self._alive = False, 0
            _sync_folder(self.path)

    def _lines(self, file: int, start: int = 0) -> Iterator[bytes]:
        """The committed lines from a place on."""
        with open(file, "rb", buffering=_CHUNK_BYTES, closefd=False) as stream:
            yield from records.lines_of(stream, start, self._size)

    def _open_file(self) -> int:
        if self._file is None:
            raise EdgeAgentError("it is closed")
        return self._file

    @contextmanager
    def _complaints(self, done: str) -> Iterator[None]:
        """Every error names the file."""
        try:
            yield
        except OSError as error:
            raise EdgeAgentError(f"the journal {self.path} cannot be {done}: {error.strerror}") from error
        except EdgeAgentError as error:
            raise EdgeAgentError(f"the journal {self.path} cannot be {done}: {error}") from error


def _history(messages: Iterable[Message]) -> Record:
    return Record("history", {"messages": [records.fields_of(message) for message in messages]})


def _opened(path: Path) -> int:
    """The file, created if there is none, locked for this process.

    Raises:
        BusyError, EdgeAgentError: As ``Journal.open``.
    """
    while True:
        try:
            file = os.open(path, _FLAGS | os.O_CREAT | os.O_NONBLOCK, _MODE)
        except FileNotFoundError as error:
            raise EdgeAgentError(f"the journal {path} cannot be opened: there is no folder {path.parent}") from error
        except OSError as error:
            why = "it is a symbolic link; name the file itself" if error.errno == errno.ELOOP else error.strerror
            raise EdgeAgentError(f"the journal {path} cannot be opened: {why}") from error
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise EdgeAgentError(f"the journal {path} cannot be opened: it is no ordinary file")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same(file, path):
                return file
        except BlockingIOError:
            os.close(file)
            raise BusyError(f"the journal {path} is in use by another session; close that one, or wait") from None
        except OSError as error:
            os.close(file)
            raise EdgeAgentError(f"the journal {path} cannot be locked: {error.strerror}") from error
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # another process replaced the file between our open and our lock: this one has no name now


def is_in_use(path: Path) -> bool:
    """True if another process, or another session of this one, has a journal open. Changes nothing."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False  # who opens it is told why
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(file)
    return False


def _is_same(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _replaced(path: Path, lines: Iterable[bytes]) -> tuple[int, int]:
    """A new file of these lines in the place of the old one, which is locked before it gets the name; and its size."""
    fresh = path.with_name(path.name + ".compacting")
    with suppress(FileNotFoundError):
        fresh.unlink()
    file = os.open(fresh, _FLAGS | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        os.fchmod(file, _MODE)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        chunk = bytearray()
        for line in lines:
            chunk += line
            if len(chunk) >= _CHUNK_BYTES:
                _write_all(file, chunk)
                chunk.clear()
        _write_all(file, chunk)
        os.fsync(file)
        size = os.fstat(file).st_size
        fresh.replace(path)
    except BaseException:
        os.close(file)
        fresh.unlink(missing_ok=True)
        raise
    return file, size


def _set_aside(path: Path, damaged: int) -> Path:
    """Keeps a file's bytes beside it under a name that nothing has."""
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.damaged-{number}")
        try:
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        except FileExistsError:
            number += 1
            continue
        try:
            os.fchmod(file, _MODE)
            with open(damaged, "rb", closefd=False) as stream:
                stream.seek(0)
                while chunk := stream.read(_CHUNK_BYTES):
                    _write_all(file, chunk)
            os.fsync(file)
        except BaseException:
            aside.unlink()
            raise
        finally:
            os.close(file)
        _sync_folder(path)
        return aside


def _write_all(file: int, content: bytes | bytearray) -> None:
    """As one write; what the system leaves over, which it does when the disk is nearly full, as another."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def _sync_folder(path: Path) -> None:
    """A new name is on the disk only after its folder is."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
