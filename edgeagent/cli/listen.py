"""``edgeagent listen``: what people say, as text, while they say it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent listen[/]  the microphone, until Ctrl-C

[cyan]edgeagent listen --input talk.wav[/]  a file, as fast as it can be heard

[cyan]edgeagent listen --json > heard.jsonl[/]  every event of the voice as a line of JSON

[cyan]edgeagent listen --record people[/]  keeps each utterance and its text, to measure your own people's voices

[cyan]edgeagent listen --app my_robot.py[/]  with the phrases of your own robot

[cyan]edgeagent listen --engine whisper --model tiny.en[/]  with faster-whisper

[bold]Exit code[/]

0 the file has ended · 2 wrong usage or settings · 3 the app's model · 4 the microphone or the recogniser · 130 Ctrl-C
"""


def listen(
    input: Annotated[  # noqa: A002 - the name of the option
        str | None,
        typer.Option("--input", metavar="NAME|FILE.wav", help="A microphone (number, part of its name) or a file."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The events of the voice, a line of JSON each.")] = False,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="DIR", help="Keep every utterance as a WAV file, and its text beside it."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="NAME", help="fused, sphinx or whisper. [dim](the best that is here)[/]"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME|FOLDER", help="Of whisper: tiny.en, base.en … or a model's folder."),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", metavar="CODE", help="Of whisper: en, de … or auto. [dim](en)[/]")
    ] = None,
    app: options.App = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell how long each transcript took, and from which engine it is.")
    ] = False,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Listen, and show what is heard. The phrases of the app make its commands likelier than other words."""
    with exits.guarded():
        from edgeagent.cli import listening

        chosen = options.settings(
            config,
            app=app,
            also={
                "audio.input": input,
                "ears.engine": engine,
                "ears.model": model,
                "ears.language": language,
            },
        )
        listening.listen(chosen, json=json, record=record, verbose=verbose)
    raise typer.Exit(exits.OK)
