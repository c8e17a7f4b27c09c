"""A session's history on disk, appended as it happens, so that nothing committed is lost when the process dies.

One process has the file at a time, by ``flock`` on it. Each record is on its way to the disk, as far as this process
is concerned, when the call that wrote it returns: a killed process loses nothing, a power cut only what the system had
not written yet, unless ``durability="power"`` waits for the disk. Any thread may write. What was said stands in it as
it was said: it is never redacted, and its mode is 0600.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, get_args

from edgeagent.errors import BusyError, ConfigError, EdgeAgentError
from edgeagent.journal import records
from edgeagent.journal.records import Record
from edgeagent.journal.recovery import Recovered, add_up, session_of, with_results
from edgeagent.messages import Message, Usage, new_id

Durability = Literal["process", "power"]

_MODE: Final = 0o600
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_LEAST_TO_COMPACT: Final = 256
"""Messages written; below it a file is small enough as it is."""
_DEAD_SHARE: Final = 4
"""A file is rewritten when it holds this many times as many messages as the history has."""


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
        self._written = 0
        """Messages in the file, those included that a later record replaced."""
        self._alive = 0
        """Messages of the history."""
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
        self._write(Record("message", records.of_message(message)), written=1, alive=1)

    def replace(self, messages: Iterable[Message]) -> None:
        """Commits another history: after a truncation, a compaction of the context, a reset or a restore.

        Raises:
            EdgeAgentError: As ``append``.
        """
        data = records.of_messages(messages)
        count = len(data["messages"])
        self._write(Record("history", data), written=count, alive=count - self._alive)

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
        self._write(Record("usage", records.of_usage(usage)))

    def compact(self) -> bool:
        """Rewrites the file if it holds far more messages than the history has: atomically, so that a crash leaves the
        old file or the new one.

        Returns:
            True if it was rewritten.

        Raises:
            EdgeAgentError: The new file cannot be written; the old one is still in use.
        """
        with self._lock, self._complaints("rewritten"):
            file = self._open_file()
            if self._written <= max(_LEAST_TO_COMPACT, _DEAD_SHARE * self._alive):
                return False
            now = add_up(records.read(self._content(file)))
            lines = [self._header().line(), Record("usage", records.of_usage(now.usage)).line()]
            lines += [Record("message", records.of_message(message)).line() for message in now.messages]
            self._file = _replaced(self.path, b"".join(lines))
            os.close(file)
            self._size, self._torn = sum(map(len, lines)), False
            self._written = self._alive = len(now.messages)
            _sync_folder(self.path)
        return True

    # --- reading ----------------------------------------------------------------------------------------------------

    def load(self) -> Recovered:
        """The history and the usage, with a result for every call, and what had to be repaired since ``open``.

        Calls that were open when the process died get the status outcome_unknown, here and in the file.

        Raises:
            EdgeAgentError: A record is of another version, or the disk fails.
        """
        with self._lock, self._complaints("read"):
            found = add_up(records.read(self._content(self._open_file())))
            notices, self._notices = self._notices, []
            self._written, self._alive = found.written, len(found.messages)
        whole = with_results(found.messages)
        known = len(found.messages)
        if whole[:known] != list(found.messages):
            self.replace(whole)
        else:
            for message in whole[known:]:
                self.append(message)
        ids = {message.id for message in found.messages}
        for message in whole:
            if message.id not in ids:
                notices.append(message.text)
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
        self._make_private(file)
        content = _read(file)
        if not content.startswith(records.BEGINNING) and not records.BEGINNING.startswith(content):
            raise EdgeAgentError("it is no journal of a session; choose another file")
        scan = records.scan(content)
        self._size = scan.good
        self.session_id = session_of(records.read(content[: scan.good])) or ""
        if scan.good == len(content):
            return
        if scan.torn:
            self._notices.append(f"the last record of {self.path} was not written to its end, so it was dropped")
        else:
            aside = _set_aside(self.path, content)
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

    def _write(self, record: Record, *, written: int = 0, alive: int = 0) -> None:
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
            self._size += len(line)
            self._written += written
            self._alive += alive

    def _content(self, file: int) -> bytes:
        return _read(file)[: self._size]

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


def _is_same(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _replaced(path: Path, content: bytes) -> int:
    """A new file of that content in the place of the old one, which is locked before it gets the name."""
    fresh = path.with_name(path.name + ".compacting")
    with suppress(FileNotFoundError):
        fresh.unlink()
    file = os.open(fresh, _FLAGS | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        os.fchmod(file, _MODE)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_all(file, content)
        os.fsync(file)
        fresh.replace(path)
    except BaseException:
        os.close(file)
        fresh.unlink(missing_ok=True)
        raise
    return file


def _set_aside(path: Path, content: bytes) -> Path:
    """Keeps bytes beside a file under a name that nothing has."""
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
            _write_all(file, content)
            os.fsync(file)
        except BaseException:
            aside.unlink()
            raise
        finally:
            os.close(file)
        _sync_folder(path)
        return aside


def _read(file: int) -> bytes:
    with open(file, "rb", closefd=False) as stream:
        stream.seek(0)
        return stream.read()


def _write_all(file: int, content: bytes) -> None:
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
