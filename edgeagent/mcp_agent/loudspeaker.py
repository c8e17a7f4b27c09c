"""A voice for what a program wants to be said. Loads and opens when the first text comes; one text at a time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeagent.audio.files import check_format, is_file
from edgeagent.config import Config
from edgeagent.errors import BusyError, ConfigError
from edgeagent.extras import check

if TYPE_CHECKING:
    from edgeagent.tts.speaker import Speaker

_LOOK_S: Final = 0.05
"""Seconds between two looks at a speech that is played."""


class Loudspeaker:
    """Says texts on the loudspeaker of the settings, or writes the last one into a WAV file.

    Args:
        config: Settings of the voice and the device.

    Raises:
        ConfigError: The output is no device and no WAV file.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._output = config.audio.get("output")
        check_format(self._output)
        if self._output == "-":
            raise ConfigError("--output - would mix sound with the protocol on stdout; name a file: --output FILE.wav")
        self._speaking = threading.Lock()
        self._cut = threading.Event()
        self.cuts = 0
        """Number of calls of ``cut`` until now."""
        self._voice: Speaker | None = None

    @property
    def speaks(self) -> bool:
        """True while it says something."""
        return self._speaking.locked()

    def say(self, text: str, *, cuts: int) -> bool:
        """Says a text, and returns when it was heard. False if ``cut`` ended it first. Any thread.

        Args:
            cuts: Their number when the text was asked for; another one says that it is to be left out by now.

        Raises:
            AudioError: Nothing can be said here; the text says why.
            BusyError: It is saying something else.
        """
        check("voice")
        if not self._speaking.acquire(blocking=False):
            raise BusyError("it is still saying something: wait, or call stop")
        try:
            self._cut.clear()
            if cuts != self.cuts:
                return False
            if self._voice is None:
                from edgeagent.tts.voice_choice import make_speaker

                self._voice = make_speaker(**self._config.speech)
            if is_file(self._output):
                self._write(self._voice, text, Path(str(self._output)))
            else:
                self._play(self._voice, text)
            return not self._cut.is_set()
        finally:
            self._speaking.release()

    def cut(self) -> None:
        """Ends what is said, in the middle of a word. Any thread."""
        self.cuts += 1
        self._cut.set()

    def close(self) -> None:
        """Ends what is said, and frees the voice unless it still speaks."""
        self.cut()
        if self._voice is not None and self._speaking.acquire(timeout=1.0):
            self._voice.close()

    def _play(self, voice: Speaker, text: str) -> None:
        from edgeagent.audio.playback import PlaybackQueue
        from edgeagent.audio.portaudio import LATENCY_S, PortAudioDevice
        from edgeagent.tts.mouth import Mouth

        device = PortAudioDevice(
            output=self._output,
            ends=("output",),
            latency_s=self._config.audio.get("latency_ms", LATENCY_S * 1000) / 1000,
        )
        playback = PlaybackQueue(device.output_rate_hz or voice.rate_hz)
        device.start(fill=playback.fill)
        try:
            with Mouth(voice, playback) as mouth:
                speech = mouth.say(text)
                while not speech.utterance.ended and speech.error is None and not self._cut.wait(_LOOK_S):
                    pass
                if speech.error is not None:
                    raise speech.error
                if not self._cut.is_set():
                    self._cut.wait(device.latency_s)
        finally:
            device.stop()

    def _write(self, voice: Speaker, text: str, path: Path) -> None:
        from edgeagent.audio.wav import whole_wav
        from edgeagent.english.normalise import speakable
        from edgeagent.english.sentences import SentenceStream

        stream = SentenceStream(first_clause_chars=None)
        sentences = [*stream.feed(text), *stream.end()]
        with whole_wav(path, voice.rate_hz) as writer:
            for sentence in sentences:
                for chunk in voice.speak(speakable(sentence.text, voice.language).text, self._cut):
                    writer.write(chunk.samples)
