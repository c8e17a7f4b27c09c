"""``edgeagent keywords tune``: thresholds for stop words and wake words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent keywords tune stop "freeze now"[/]  by what espeak-ng (and flite, if installed) says

[cyan]edgeagent keywords tune "hey robi" --said robi="R OW B IY"[/]  when the dictionary gets a name wrong

[cyan]edgeagent keywords tune stop --recordings people/[/]  by your own people: people/stop/*.wav or people/stop*.wav
hold the phrase, people/other/*.wav or people/other*.wav any talk without it

[cyan]edgeagent keywords tune "hey robi" --wake --output robot.toml[/]  the lines for the settings, in a new file

[bold]Exit code[/]

0 tuned · 1 the file can't be written · 2 wrong usage · 4 a recording, a voice, PocketSphinx · 130 Ctrl-C
"""

keywords = typer.Typer(help="Stop words and wake words.", no_args_is_help=True, rich_markup_mode="rich")


@keywords.callback()
def _top() -> None:
    """Stop words and wake words."""


@keywords.command("tune", epilog=EPILOG)
def tune(
    phrases: Annotated[list[str], typer.Argument(metavar="PHRASE...", help="What people say.", show_default=False)],
    recordings: Annotated[
        Path | None,
        typer.Option("--recordings", metavar="DIR", help="WAV files of your people, instead of synthesised voices."),
    ] = None,
    said: Annotated[
        list[str] | None, typer.Option("--said", metavar="WORD=PHONES", help="How a word sounds; may be repeated.")
    ] = None,
    wake: Annotated[bool, typer.Option("--wake", help="They are wake words, not stop words.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the settings there; it must not exist.")
    ] = None,
) -> None:
    """Find for each phrase the threshold that hears it most, with few false alarms; prints lines for the settings."""
    with exits.guarded():
        from edgeagent.cli import keywords_tune

        keywords_tune.tune(phrases, recordings=recordings, said=said or [], wake=wake, output=output)
    raise typer.Exit(exits.OK)
