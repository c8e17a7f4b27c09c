"""``edgeagent say``: text becomes speech, from a loudspeaker or in a file."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent say "I am back at the dock"[/]

[cyan]edgeagent say --voice en-gb --rate 150 "it is 21 °C, and the battery is at 64 %"[/]

[cyan]edgeagent say --output hello.wav "hello there"[/]  a file; - is stdout

[cyan]edgeagent ask "where are you" | edgeagent say[/]  stdin, spoken as it comes

[cyan]edgeagent voices[/]  what voices there are

[bold]Exit code[/]

0 said · 2 wrong usage or settings · 4 the loudspeaker or the voice · 130 Ctrl-C, in the middle of a word
"""


def say(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What to say; stdin without it.", show_default=False)
    ] = None,
    voice: Annotated[
        str | None, typer.Option("--voice", metavar="NAME|FILE.onnx", help="A voice: edgeagent voices lists them.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="NAME|FILE.wav", help="A loudspeaker (number, part of its name) or a file."),
    ] = None,
    rate: Annotated[int | None, typer.Option("--rate", metavar="WPM", help="Words in a minute. [dim](175)[/]")] = None,
    pitch: Annotated[
        int | None, typer.Option("--pitch", metavar="N", help="0 to 100; espeak-ng's voices. [dim](50)[/]")
    ] = None,
    volume: Annotated[int | None, typer.Option("--volume", metavar="N", help="0 to 200. [dim](100)[/]")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell how long it took to the first sound.")] = False,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Say a text aloud, or into a file. Numbers, units and dates are spoken as words; Markdown is not spoken."""
    with exits.guarded():
        from edgeagent.cli import saying

        chosen = options.settings(
            config,
            also={
                "speech.voice": voice,
                "speech.rate_wpm": rate,
                "speech.pitch": pitch,
                "speech.volume": volume,
                "audio.output": output,
            },
        )
        saying.say(chosen, " ".join(words) if words else None, verbose=verbose)
    raise typer.Exit(exits.OK)
