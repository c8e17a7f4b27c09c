"""``edgeagent models path``, ``remove``, ``bundle`` and ``import``: models here and on a stick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeagent.cli import streams
from edgeagent.cli.approvals import allowed
from edgeagent.cli.models_files import chosen, named, shown
from edgeagent.errors import ConfigError, ModelError
from edgeagent.models import bundle, store
from edgeagent.models.bundle import Told
from edgeagent.models.catalog import Entry, LanguageModel, Task, Voice
from edgeagent.models.intake import import_models, items_of
from edgeagent.resources import expanded


def show_path(name: str) -> None:
    """Prints the path of a model, as settings take it: a mind's file, a voice's .onnx, a recogniser's folder.

    Raises:
        ConfigError: There is no such model in the catalogue.
        ModelError: The model is not here, or has no file of its own.
    """
    entry = named(name)
    paths = store.paths(entry)
    if not paths:
        raise ModelError(f"{entry.name} is a part of a library that comes with edgeagent, and has no file of its own")
    if not store.is_here(entry):
        raise ModelError(store.absent(entry))
    streams.answer(str(paths[0] if isinstance(entry, LanguageModel | Voice) else store.folder(entry)))


def remove(names: list[str], *, yes: bool) -> None:
    """Removes models, and prints a line for each with what it freed.

    Raises:
        ConfigError: There is no such model, or nobody is there to be asked.
        ModelError: A model comes with edgeagent, is not here or is in use, or a file can't be removed.
    """
    wanted = [named(name) for name in dict.fromkeys(names)]
    for entry in wanted:
        _check_removable(entry)
    count = sum(_bytes(entry) for entry in wanted)
    if not yes and not allowed(f"remove {', '.join(entry.name for entry in wanted)} ({_mb(count)})? [y/N] "):
        streams.tell("nothing was removed")
        return
    for entry in wanted:
        with store.lock(entry, _tell_waiting):
            _check_removable(entry)  # the question may have waited for hours
            freed = store.remove(entry)
        streams.answer(f"{entry.name} removed, {_mb(freed)} freed")


def write_bundle(names: list[str], output: Path, *, task: Task | None, profile: str | None, force: bool) -> None:
    """Writes models to one archive, and prints its path.

    Raises:
        ConfigError: There is no such model in the catalogue.
        ModelError: A model is not here or not what it should be, or the archive can't be written.
    """
    wanted = chosen(names, task, profile)
    ours = [entry for entry in wanted if not entry.packaged]
    for entry in wanted:
        if entry.packaged:
            streams.tell(f"{entry.name} comes with edgeagent, and is left out")
        elif not store.is_here(entry):
            raise ModelError(store.absent(entry))
    if not ours:
        raise ConfigError("there is nothing to bundle: name a model that does not come with edgeagent")
    output = expanded(output)
    if output.exists() and not force:  # told before gigabytes are read
        raise ModelError(f"{output} is there already: choose another name, or replace it with --force")
    with _progress("comparing", sum(_bytes(entry) for entry in ours)) as on_bytes:
        files = [file for entry in ours for file in items_of(entry, on_bytes)]
    with _progress(f"writing {output.name}", sum(item.bytes for item, _ in files)) as on_bytes:
        bundle.write(output, files, overwrite=force, on_bytes=on_bytes)
    streams.answer(str(output))
    streams.tell(f"{_mb(output.stat().st_size)}; on the robot: edgeagent models import {output.name}")


def import_file(path: Path, *, accept_upstream: bool) -> None:
    """Puts the models of a file or folder among those of this machine, and prints where each lies.

    Raises:
        ModelError: It is not what the catalogue knows, or the disk does not take it.
    """
    path = expanded(path)
    total = path.stat().st_size if path.is_file() else None
    with _progress(f"importing {path.name}", total) as on_bytes:
        found = import_models(path, accept_upstream=accept_upstream, on_bytes=on_bytes, waiting=_tell_waiting)
    for entry in found:
        for place in store.paths(entry):
            streams.answer(str(place))


def _check_removable(entry: Entry) -> None:
    if entry.packaged:
        raise ModelError(f"{entry.name} comes with edgeagent and can't be removed")
    there = [path for path in store.paths(entry) if path.exists()]
    if not there and not store.parts(entry).exists():
        raise ModelError(f"{entry.name} is not on this machine")
    for path in there:
        if store.in_use(path):
            raise ModelError(f"{entry.name} is in use: end the program that has loaded {path} first")


def _tell_waiting() -> None:
    streams.tell("another process is changing this model: waiting …")


def _bytes(entry: Entry) -> int:
    return sum(path.stat().st_size for path in store.paths(entry) if path.is_file())


@contextmanager
def _progress(title: str, total: int | None) -> Iterator[Told]:
    """Shows how much of something is done; gives the function that is told of each part."""
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        progress.reached(done)

    with shown() as progress:
        progress.begin(title, total)
        yield more
        progress.end()


def _mb(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
