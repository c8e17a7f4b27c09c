"""``edgeagent say`` and ``edgeagent voices``: text becomes speech, from a loudspeaker or in a file; and its voices.

Runs on the main thread.
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.errors import AudioError, ConfigError

if TYPE_CHECKING:
    from edgeagent.config import Config
    from edgeagent.tts.mouth import Speech
    from edgeagent.tts.speaker import Speaker

SAY_EPILOG: Final = epilog(
    {
        'edgeagent say "I am back at the dock"': "",
        'edgeagent say --voice en-gb --rate 150 "it is 21 °C, and the battery is at 64 %"': "",
        'edgeagent say --output hello.wav "hello there"': "a file; - is stdout",
        'edgeagent ask "where are you" | edgeagent say': "stdin, spoken as it comes",
        "edgeagent voices": "what voices there are",
    },
    exit_code="0 said · 2 wrong usage or settings · 4 the loudspeaker or the voice · 130 Ctrl-C, in the middle of a "
    "word",
)
VOICES_EPILOG: Final = epilog(
    {
        "edgeagent voices": "the voices that speak English",
        "edgeagent voices de": "those of another language; all lists every one",
        'edgeagent say --voice joe "hello there"': "plays one",
    },
    exit_code="0 listed · 4 there is none of that language",
)
_READ_BYTES: Final = 4096
_WAITING: Final = 50
"""Sentences of a pipe that are read before they are said."""
_TOLD_EVERY_S: Final = 1.0


def say(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What to say; stdin without it.", show_default=False)
    ] = None,
    voice: options.Voice = None,
    output: options.Output = None,
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
        chosen = options.settings(
            config,
            speech__voice=voice,
            speech__rate_wpm=rate,
            speech__pitch=pitch,
            speech__volume=volume,
            audio__output=output,
        )
        _say(chosen, " ".join(words) if words else None, verbose=verbose)


def _say(config: Config, said: str | None, *, verbose: bool) -> None:
    """Says a text, or all of stdin.

    Raises:
        AudioError: The loudspeaker or the voice can't be used, or the file can't be written.
        ConfigError: There is nothing to say.
    """
    from edgeagent.audio.files import check_format, is_file
    from edgeagent.tts.voice_choice import make_speaker

    if said is not None and not said.strip():
        raise ConfigError('the text is empty; say something, such as: edgeagent say "hello"')
    pieces = _something(_stdin()) if said is None else iter([streams.whole(said)])
    output = config.audio.get("output")
    check_format(output)
    voice = make_speaker(**config.speech)
    try:
        if is_file(output):
            _into_file(voice, pieces, str(output), verbose=verbose)
        else:
            _aloud(voice, pieces, config, whole=said is not None, verbose=verbose)
    finally:
        voice.close()


def _aloud(voice: Speaker, pieces: Iterator[str], config: Config, *, whole: bool, verbose: bool) -> None:
    from edgeagent.audio.playback import PlaybackQueue
    from edgeagent.audio.portaudio import LATENCY_S, PortAudioDevice
    from edgeagent.tts.mouth import Mouth

    device = PortAudioDevice(
        output=config.audio.get("output"),
        ends=("output",),
        latency_s=config.audio.get("latency_ms", LATENCY_S * 1000) / 1000,
        on_state=lambda state, told: streams.warn(told),
    )
    playback = PlaybackQueue(device.output_rate_hz or 48_000)
    device.start(fill=playback.fill)
    began_s = time.monotonic()
    try:
        with Mouth(voice, playback) as mouth:
            speech = mouth.begin()
            for piece in pieces:
                speech.feed(piece)
                _wait_for_room(speech)
            speech.end()
            _wait(speech, device.latency_s)
            if speech.error is not None:
                raise speech.error
    finally:
        device.stop()
    if verbose and speech.first_sound_s is not None:
        # a pipe that pauses starves it too
        under = device.xruns.under + (speech.utterance.starved if whole else 0)
        first_ms = (speech.first_sound_s - began_s) * 1000
        streams.tell(f"{device.name}: first sound made after {first_ms:.0f} ms, {under} under-runs", "dim")


def _wait_for_room(speech: Speech) -> None:
    """Until little enough of a pipe that writes faster than anybody speaks waits to be said."""
    pause = threading.Event()
    while speech.waiting > _WAITING and speech.error is None:
        pause.wait(0.2)
    if speech.error is not None:
        raise speech.error


def _wait(speech: Speech, latency_s: float) -> None:
    """Until the last sample has left the loudspeaker."""
    pause = threading.Event()
    while not speech.utterance.ended and speech.error is None:
        pause.wait(max(min(speech.utterance.queued_s, 0.2), 0.02))
    pause.wait(latency_s)


def _into_file(voice: Speaker, pieces: Iterator[str], output: str, *, verbose: bool) -> None:
    from edgeagent.audio.wav import WavWriter, whole_wav

    if output == "-" and streams.stdout().isatty():
        raise ConfigError("stdout is a terminal, which can't play sound: edgeagent say --output - TEXT > hello.wav")
    began_s = told_s = time.monotonic()
    seconds = 0.0
    try:
        sound: AbstractContextManager[WavWriter]
        if output == "-":
            sound = WavWriter(streams.stdout().buffer, voice.rate_hz)
        else:
            sound = whole_wav(Path(output), voice.rate_hz)
        with sound as writer:
            for sentence in _sentences(pieces, voice.language):
                for chunk in voice.speak(sentence, threading.Event()):
                    writer.write(chunk.samples)
                    seconds += len(chunk.samples) / chunk.rate_hz
                if sys.stderr.isatty() and time.monotonic() - told_s > _TOLD_EVERY_S:
                    told_s = time.monotonic()
                    streams.tell(f"{seconds:,.0f} s of speech so far", "dim")
    except AudioError:
        if output == "-":
            streams.silence_stdout()  # what is left in the buffer can't be written either
        raise
    if verbose:
        streams.tell(f"{output}: {seconds:.1f} s of speech in {time.monotonic() - began_s:.2f} s", "dim")


def _sentences(pieces: Iterator[str], language: str) -> Iterator[str]:
    from edgeagent.english.normalise import speakable
    from edgeagent.english.sentences import SentenceStream

    stream = SentenceStream(first_clause_chars=None)
    for piece in pieces:
        for sentence in stream.feed(piece):
            yield speakable(sentence.text, language).text
    for sentence in stream.end():
        yield speakable(sentence.text, language).text


def _something(pieces: Iterator[str]) -> Iterator[str]:
    """The same from the first word on, which is waited for.

    Raises:
        ConfigError: There is none.
    """
    for piece in pieces:
        if piece.strip():
            return chain([piece], pieces)
    raise ConfigError("there is nothing to say: stdin is empty")


def _stdin() -> Iterator[str]:
    """Text from a pipe as it comes; what is not UTF-8 is replaced."""
    if sys.stdin.isatty():
        raise ConfigError('there is nothing to say: edgeagent say "hello", or a pipe into it')
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := os.read(sys.stdin.fileno(), _READ_BYTES):
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)


# --- voices -----------------------------------------------------------------------------------------------------------


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
        from edgeagent.tts.voice_choice import default_voice

        speech = options.settings(config).speech
        chosen = speech.get("voice") or default_voice(**speech)
        rows = [*_catalogue(language.lower()), *_espeak(language.lower())]
        if not rows:
            raise AudioError(f"there is no voice for {language!r}; edgeagent voices all lists them")
        if "voice" in speech and all(name != chosen for name, *_ in rows):
            rows.insert(0, (chosen, "", "", "as the settings say"))
        lines = [_HEAD, *((f"{name} *" if name == chosen else name, *rest) for name, *rest in rows)]
        for line in streams.columns(lines):
            streams.answer(line)


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
