"""``edgeagent talk``: a conversation aloud, with a robot that moves meanwhile."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options
from edgeagent.cli.chat import has_screen

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent talk[/]  speak; interrupt it; say stop

[cyan]edgeagent talk --app examples/my_robot.py[/]  your own robot

[cyan]edgeagent talk --wake-word "hey robi"[/]  it sleeps until it is called

[cyan]edgeagent talk --push-to-talk[/]  it hears only while the space bar is down

[cyan]edgeagent talk --text[/]  where there is no sound, type

[cyan]edgeagent talk --json > talk.jsonl[/]  every event as a line of JSON

[cyan]edgeagent talk --input lines.wav --output answers.wav[/]  files in place of microphone and loudspeaker

[bold]Keys[/]

At a terminal there is a line to type into as well; /help tells the rest. Ctrl-C stops what the robot does and says,
twice within 2 s leaves. Where stdout is no terminal, Ctrl-C leaves. SIGUSR1 stops everything that moves.

[bold]Exit code[/]

0 left · 2 wrong usage or settings · 3 the model · 4 microphone, loudspeaker, recogniser or voice · 130 Ctrl-C
"""


def talk(
    model: options.Model = None,
    app: options.App = None,
    input: Annotated[  # noqa: A002 - the name of the option
        str | None,
        typer.Option("--input", metavar="NAME|FILE.wav", help="A microphone (number, part of its name) or a file."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="NAME|FILE.wav", help="A loudspeaker (number, part of its name) or a file."),
    ] = None,
    voice: Annotated[
        str | None, typer.Option("--voice", metavar="NAME|FILE.onnx", help="A voice of espeak-ng, or a Piper voice.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", metavar="NAME", help="What hears: fused, sphinx or whisper. [dim](the best that is here)[/]"
        ),
    ] = None,
    barge_in: Annotated[
        str | None,
        typer.Option(
            "--barge-in",
            metavar="PRESET",
            help="How easily it is interrupted: eager, balanced, strict or off. [dim](balanced)[/]",
        ),
    ] = None,
    wake_word: Annotated[
        str | None,
        typer.Option("--wake-word", metavar="PHRASE", help="It sleeps until it hears that; such as hey robi."),
    ] = None,
    push_to_talk: Annotated[
        bool | None, typer.Option("--push-to-talk", help="It hears only while the space bar is down.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Where there is no sound, type instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Every event, a line of JSON each.")] = False,
    log: options.Log = None,
    log_level: options.LogLevel = None,
    session: options.Session = None,
    audit: options.Audit = None,
    speed: options.Speed = None,
    seed: options.Seed = None,
    config: options.ConfigFile = None,
) -> None:
    """Talk with the robot. It hears you while it speaks and moves; a stop word always stops it."""
    screen = has_screen() and not json
    with exits.guarded(screen=screen):
        exits.watch(screen=screen)
        from edgeagent.cli import talking

        chosen = options.settings(
            config,
            model=model,
            app=app,
            log=log,
            session=session,
            audit=audit,
            speed=speed,
            seed=seed,
            also={
                "audio.input": input,
                "audio.output": output,
                "speech.voice": voice,
                "ears.engine": engine,
                "ears.wake_words": wake_word,
                "conversation.barge_in": barge_in,
                "conversation.push_to_talk": push_to_talk,
            },
        )
        code = talking.talk(chosen, json=json, text=text, screen=screen)
    raise typer.Exit(code)
