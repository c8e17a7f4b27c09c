"""The spotter's service, as it runs in its child process: one PocketSphinx decoder, fed with 16-bit sound at 16 kHz.

Standard library and PocketSphinx only: numpy would double the memory of the process.
"""

from __future__ import annotations

from typing import Any, Final

import pocketsphinx  # type: ignore[import-untyped, unused-ignore]

from edgeagent.stt.child import Emit, Message
from edgeagent.stt.decoding import BYTES_PER_S, CEPSTRAL_MEAN, FRAMES_PER_S

_STREAM_BYTES: Final = 60 * BYTES_PER_S
"""Bytes of the longest utterance: a decoder keeps something of each frame."""
_CARRIED_BYTES: Final = BYTES_PER_S * 3 // 4
"""The end of an utterance that became so long is the beginning of the next one: a word may lie across."""
_PIN_BYTES: Final = BYTES_PER_S
"""Bytes after which the running mean is set back. Left to itself it follows the silence between people's words: after
12 s of it 8 of 18 stop words were heard, 15 of 18 with the mean held."""
_GAP_S: Final = 0.02
"""Sound that is so far from where the last ended follows something that was dropped, or is of another clock: the times
of what is found in both together would be wrong."""
_END_FRAMES: Final = 10
"""Of silence after sound that breaks off, so that a word's last phone has an end."""


class Spotter:
    """Listens for key phrases without an end.

    Args:
        settings: ``decoder``: options of PocketSphinx; ``file``: the phrases with their thresholds, one a line, as
            PocketSphinx reads them.
    """

    def __init__(self, settings: Message, emit: Emit) -> None:
        options = {**settings["decoder"], "kws": settings["file"], "cmninit": CEPSTRAL_MEAN}
        self._decoder: Any = pocketsphinx.Decoder(pocketsphinx.Config(loglevel="FATAL", **options))
        self._delay_bytes = BYTES_PER_S * (_END_FRAMES + settings["decoder"]["kws_delay"]) // FRAMES_PER_S
        self._emit = emit
        self._start = 0.0
        self._bytes = 0
        self._pinned = 0
        self._listening = False
        self._epoch = 0
        self._carried: list[bytes] = []
        self._told: dict[str, int] = {}
        """The last frame of what was told, by entry of the list."""

    def handle(self, op: str, message: Message, payload: bytes) -> Message | None:
        if op == "feed":
            self._epoch = message["epoch"]
            self._feed(message["at_s"], payload)
        elif op == "flush":  # what was fed before is over
            self._end()
        return None

    def _feed(self, at_s: float, payload: bytes) -> None:
        if abs(at_s - self._start - self._bytes / BYTES_PER_S) > _GAP_S:
            self._break_off()
        if not self._listening:
            self._begin(at_s)
        elif self._bytes >= self._pinned + _PIN_BYTES:
            self._decoder.set_cmn(CEPSTRAL_MEAN)
            self._pinned = self._bytes
        self._listen(payload)
        if self._bytes >= _STREAM_BYTES - _CARRIED_BYTES:
            self._carried.append(payload)
        if self._bytes >= _STREAM_BYTES:
            carried, end_s = b"".join(self._carried), self._start + self._bytes / BYTES_PER_S
            self._end()
            self._begin(end_s - len(carried) / BYTES_PER_S)
            self._listen(carried)

    def _begin(self, at_s: float) -> None:
        self._decoder.set_cmn(CEPSTRAL_MEAN)
        self._decoder.start_utt()
        self._listening, self._start, self._bytes, self._pinned = True, at_s, 0, 0
        self._told, self._carried = {}, []

    def _listen(self, payload: bytes) -> None:
        self._decoder.process_raw(payload, False, False)
        self._bytes += len(payload)
        self._look()

    def _look(self) -> None:
        """Tells what has been found since."""
        if self._decoder.hyp() is not None:
            for part in sorted(self._decoder.seg(), key=lambda part: int(part.start_frame)):
                self._heard(part)

    def _heard(self, part: Any) -> None:
        """A detection, once: it stays in the decoder's list, and may still find a better score."""
        if part.start_frame <= self._told.get(part.word, -1):
            return
        self._told[part.word] = part.end_frame
        self._emit(
            {
                "keyword": part.word,
                "epoch": self._epoch,
                "start_s": self._start + part.start_frame / FRAMES_PER_S,
                "end_s": self._start + (part.end_frame + 1) / FRAMES_PER_S,
                "score": part.prob,
                "heard_s": self._start + self._bytes / BYTES_PER_S,
            }
        )

    def _break_off(self) -> None:
        """The sound has a gap here: a word right before it is known only after some silence."""
        if self._listening:
            self._decoder.process_raw(bytes(self._delay_bytes), False, False)
            self._look()
        self._end()

    def _end(self) -> None:
        if self._listening:
            self._decoder.end_utt()
            self._listening = False
