"""``edgeagent voice-test``: how well the ears hear a builder's own people through his own microphone."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent voice-test[/]  about five minutes with your microphone and loudspeaker

[cyan]edgeagent voice-test --person anna --distance "1 m" --distance "3 m"[/]  at two places

[cyan]edgeagent voice-test --app my_robot.py --sentences 30[/]  with the commands of your own robot

[cyan]edgeagent voice-test --silent[/]  shows what to say, and needs no loudspeaker

[cyan]edgeagent voice-test --again --engine whisper[/]  the kept recordings by another recogniser, without a microphone

[cyan]edgeagent voice-test --list[/]  what is kept on this machine

[cyan]edgeagent voice-test --delete[/]  deletes all recordings; with --person those of one person

[bold]Exit code[/]

0 tested · 1 a recording can't be deleted · 2 wrong usage or settings, nobody to ask, or nothing can be kept · 3 the
app's model · 4 microphone, loudspeaker, recogniser or voice, and 130 Ctrl-C, after the report of what there is
"""
_KEPT: Final = "Recordings"
_HEARING: Final = "Hearing"


def voice_test(
    person: Annotated[
        str | None, typer.Option("--person", metavar="NAME", help="Who speaks; kept with the recordings.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", metavar="N", min=1, max=200, help="At each distance. [dim](20)[/]")
    ] = None,
    distance: Annotated[
        list[str] | None,
        typer.Option("--distance", metavar="TEXT", help="Where the person stands, such as 1 m; may be repeated."),
    ] = None,
    silent: Annotated[
        bool, typer.Option("--silent", help="Only show what to say; the robot's voice and its echo are left out.")
    ] = False,
    app: options.App = None,
    json: Annotated[bool, typer.Option("--json", help="The report as a JSON object.")] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Score the kept recordings anew, by the settings of now.", rich_help_panel=_KEPT),
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Show which recordings are kept.", rich_help_panel=_KEPT)
    ] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the recordings, after asking.", rich_help_panel=_KEPT)
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.", rich_help_panel=_KEPT)] = False,
    input: Annotated[  # noqa: A002 - the name of the option
        str | None,
        typer.Option("--input", metavar="NAME|FILE.wav", help="A microphone or a file.", rich_help_panel=_HEARING),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="NAME|FILE.wav", help="A loudspeaker or a file.", rich_help_panel=_HEARING),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="fused, sphinx or whisper. [dim](the best that is here)[/]",
            rich_help_panel=_HEARING,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME|FOLDER", help="Of whisper: tiny.en …", rich_help_panel=_HEARING),
    ] = None,
    voice: Annotated[
        str | None,
        typer.Option("--voice", metavar="NAME|FILE.onnx", help="The robot's voice.", rich_help_panel=_HEARING),
    ] = None,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Say sentences to the robot, and learn how well it hears you, and what to change. Recordings stay on this
    machine."""
    with exits.guarded():
        from edgeagent.cli import voice_testing
        from edgeagent.errors import ConfigError

        if sum((again, listed, delete)) > 1:
            raise ConfigError("--again, --list and --delete are three things: one at a time")
        if listed:
            voice_testing.show_kept(person, json=json)
        elif delete:
            voice_testing.delete(person, yes=yes)
        else:
            chosen = options.settings(
                config,
                app=app,
                also={
                    "audio.input": input,
                    "audio.output": output,
                    "ears.engine": engine,
                    "ears.model": model,
                    "speech.voice": voice,
                },
            )
            if again:
                voice_testing.again(chosen, person, json=json)
            else:
                voice_testing.test(
                    chosen,
                    person=person or "",
                    distances=distance or [],
                    count=sentences,
                    silent=silent,
                    json=json,
                )
    raise typer.Exit(exits.OK)
