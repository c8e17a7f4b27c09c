"""``edgeagent keywords tune``: thresholds for stop words and wake words. Runs on the main thread."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, streams
from edgeagent.cli.help import epilog
from edgeagent.errors import ConfigError

if TYPE_CHECKING:
    from edgeagent.audio.device import Samples
    from edgeagent.stt.tuning import Tuned

EPILOG: Final = epilog(
    {
        'edgeagent keywords tune stop "freeze now"': "by what espeak-ng (and flite, if installed) says",
        'edgeagent keywords tune "hey robi" --said robi="R OW B IY"': "when the dictionary gets a name wrong",
        "edgeagent keywords tune stop --recordings people/": "by your own people: people/stop/*.wav or "
        "people/stop*.wav hold the phrase, people/other/*.wav or people/other*.wav any talk without it",
        'edgeagent keywords tune "hey robi" --wake --output robot.toml': "the lines for the settings, in a new file",
    },
    exit_code="0 tuned · 1 the file can't be written · 2 wrong usage · 4 a recording, a voice, PocketSphinx · 130 "
    "Ctrl-C",
)
_HEADER: Final = ("phrase", "threshold", "hits", "misses", "false alarms", "an hour")
_OTHER: Final = "other"
_FLITE: Final = "flite:kal"

keywords = typer.Typer(help="Stop words and wake words.", no_args_is_help=True, rich_markup_mode="rich")


@keywords.command("tune", epilog=EPILOG)
def tune(
    phrases: Annotated[list[str], typer.Argument(metavar="PHRASE", help="What people say.", show_default=False)],
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
        _tune(phrases, recordings=recordings, said=said or [], wake=wake, output=output)


def _tune(
    phrases: Sequence[str], *, recordings: Path | None, said: Sequence[str], wake: bool, output: Path | None
) -> None:
    """Tunes, prints a table and the lines for the settings, and writes these where asked to.

    Raises:
        ConfigError: A phrase can't be said, recordings are missing, or the file exists.
        AudioError: A recording is none, a voice or PocketSphinx is missing.
        OutputError: The file can't be written.
    """
    from edgeagent.stt.tuning import VOICES, flite_is_there
    from edgeagent.stt.tuning import tune as tuned_for

    wanted = list(dict.fromkeys(" ".join(phrase.split()) for phrase in phrases))
    for phrase in wanted:
        if not phrase or "," in phrase or "/" in phrase:
            raise ConfigError(f"{phrase!r} is no key phrase: write its words, without commas and slashes")
    if output is not None and output.exists():
        raise ConfigError(f"{output} exists; name a new file, and copy the lines into your settings")
    if output is not None and not os.access(output.parent, os.W_OK):
        raise ConfigError(f"{output} can't be written: there is no such folder, or it is not yours")
    sounds = _pronunciations(said)
    clips: dict[str, list[Samples]] = {}
    others: list[Samples] = []
    voices: tuple[str, ...] = ()
    if recordings is None:
        voices = (*VOICES, *([_FLITE] if flite_is_there() else []))
    else:
        clips = {phrase: _recorded(recordings, phrase) for phrase in wanted}
        others = _recorded(recordings, _OTHER)
    found = []
    for phrase in wanted:
        found.append(
            tuned_for(
                phrase,
                voices=voices,
                examples=clips.get(phrase, ()),
                others=others,
                said=sounds,
                progress=lambda share, doing: streams.progress(f"{share:4.0%}  {doing}"),
            )
        )
        streams.progress("")
    _table(found)
    lines = _lines(found, sounds, wake=wake)
    streams.answer("")
    streams.answer(lines)
    if output is not None:
        _write(output, lines)
        streams.tell(f"written to {output}", "dim")
    for one in found:
        _doubt(one)


def _pronunciations(said: Sequence[str]) -> dict[str, str]:
    from edgeagent.stt import app_model

    sounds = {}
    for one in said:
        word, equals, phones = one.partition("=")
        if not equals or not word.strip() or not phones.strip():
            raise ConfigError(f'--said {one!r}: write WORD=PHONES, such as robi="R OW B IY"')
        sounds[word.strip()] = phones
    return app_model.sounds(sounds)


def _recorded(folder: Path, phrase: str) -> list[Samples]:
    """The recordings of a phrase: in a folder of its name, or files whose names begin with it."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder of recordings")
    name = _file_name(phrase)
    files = sorted(
        path
        for path in folder.rglob("*.[wW][aA][vV]")
        if _file_name(path.parent.name) == name or re.fullmatch(rf"{re.escape(name)}[0-9_]*", _file_name(path.stem))
    )
    if not files:
        slug = name.replace("_", "-")
        raise ConfigError(
            f"{folder} has no recordings of {phrase!r}: put them into {folder / slug}/, or name them {slug}-1.wav …"
        )
    return [_at_our_rate(path) for path in files]


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _at_our_rate(path: Path) -> Samples:
    from edgeagent.audio.stream_clock import Resampler
    from edgeagent.audio.wav import read_wav
    from edgeagent.stt.hearing import RATE_HZ

    sound, rate_hz = read_wav(path)
    return Resampler(rate_hz, RATE_HZ).process(sound, last=True)


def _table(found: Sequence[Tuned]) -> None:
    rows = [
        _HEADER,
        *(
            (
                one.phrase,
                f"{one.threshold:.0e}",
                f"{one.hits} of {one.examples}",
                str(one.misses),
                f"{one.false_alarms} in {one.other_s:.0f} s",
                f"{one.false_alarms_per_hour:.0f}",
            )
            for one in found
        ),
    ]
    for line in streams.columns(rows):
        streams.answer(line)


def _lines(found: Sequence[Tuned], sounds: Mapping[str, str], *, wake: bool) -> str:
    from edgeagent.stt.stop_network import learnt

    phrases = ", ".join(f"{one.phrase}/{one.threshold:.0e}" for one in found)
    lines = f'[ears]\n{"wake" if wake else "stop"}_words = "{phrases}"'
    if taken := learnt(dict.fromkeys(one.phrase for one in found)):
        lines += f"  # a threshold takes a word from the network: {', '.join(taken)}"
    said = ", ".join(f'"{word}" = "{phones}"' for word, phones in sounds.items())
    return f"{lines}\nsaid = {{ {said} }}" if said else lines


def _doubt(one: Tuned) -> None:
    from edgeagent.stt.tuning import ALARMS_PER_HOUR

    if 2 * one.hits < one.examples:
        streams.warn(f"{one.phrase!r} was missed more often than heard; a longer phrase does better")
    if one.others and one.false_alarms_per_hour > ALARMS_PER_HOUR:
        streams.warn(
            f"{one.phrase!r} has more false alarms than five in ten minutes: perhaps it is in the other talk, or too "
            "little was recorded"
        )
    if not one.others:
        streams.warn("there was no other speech, so nobody knows how often it is a false alarm")


def _write(path: Path, lines: str) -> None:
    """All of it or nothing, even if Ctrl-C comes meanwhile."""
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(lines + "\n")
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise streams.OutputError(f"{path} cannot be written: {error.strerror}") from error
