"""``edgeagent voices``: what voices there are, and which one speaks if nobody names one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.streams import columns

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent voices[/]  the voices that speak English

[cyan]edgeagent voices de[/]  those of another language; all lists every one

[cyan]edgeagent say --voice joe "hello there"[/]  plays one

[bold]Exit code[/]

0 listed · 4 there is none of that language
"""

_ALL: Final = "all"
_HEAD: Final = ("voice", "language", "engine", "")


def voices(
    language: Annotated[str, typer.Argument(metavar="LANGUAGE", help="en, de …, or all.")] = "en",
    config: options.ConfigFile = None,
    log_level: options.LogLevel = None,
) -> None:
    """List the voices: those that sound like a person, here or to be fetched, and espeak-ng's. * is the one that
    speaks."""
    with exits.guarded():
        from edgeagent.errors import AudioError
        from edgeagent.tts.voice_choice import default_voice

        speech = options.settings(config).speech
        chosen = speech.get("voice") or default_voice(**speech)
        rows = [*_catalogue(language.lower()), *_espeak(language.lower())]
        if not rows:
            raise AudioError(f"there is no voice for {language!r}; edgeagent voices all lists them")
        if "voice" in speech and all(name != chosen for name, *_ in rows):
            rows.insert(0, (chosen, "", "", "as the settings say"))
        lines = [_HEAD, *((f"{name} *" if name == chosen else name, *rest) for name, *rest in rows)]
        for line in columns(lines):
            streams.answer(line)
    raise typer.Exit(exits.OK)


def _catalogue(language: str) -> Iterator[tuple[str, str, str, str]]:
    """Voices of the catalogue that have a name of their own."""
    from edgeagent.models.catalog import voices as known
    from edgeagent.models.store import is_here

    for entry in known().values():
        if entry.engine != "espeak" and any(_speaks(tag, language) for tag in entry.languages):
            here = (
                "comes along" if entry.packaged else "here" if is_here(entry) else f"edgeagent models pull {entry.name}"
            )
            yield entry.name, ", ".join(entry.languages), entry.engine, f"{entry.description}: {here}"


def _espeak(language: str) -> Iterator[tuple[str, str, str, str]]:
    from edgeagent.tts.espeak import voices as known

    for voice in known(None if language == _ALL else language):
        tag = voice.languages[0] if voice.languages else voice.identifier
        yield tag, tag, "espeak-ng", voice.name


def _speaks(tag: str, language: str) -> bool:
    wanted = language.replace("_", "-")
    return wanted == _ALL or tag == wanted or tag.startswith(f"{wanted}-")
