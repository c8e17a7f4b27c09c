"""Services of the recogniser and of the spotter, as they run in child processes, each with one PocketSphinx decoder.

Standard library and PocketSphinx only: numpy would double the memory of each process. Sound has 16 bits and 16 kHz.
Scores are log likelihoods as PocketSphinx gives them, a natural logarithm with the acoustic scores shifted right by ten
bits; only differences and the number per frame mean something.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import Any, Final

from edgeagent.stt.child import Emit, Message

FRAMES_PER_S: Final = 100
BYTES_PER_S: Final = 32_000
CEPSTRAL_MEAN: Final = "41.00,-5.29,-0.12,5.09,2.48,-4.07,-1.37,-1.78,-5.08,-2.05,-6.45,-1.42,1.17"
"""Where the running mean of the cepstra begins; PocketSphinx's own settings for this acoustic model have it, the
wheel's do not: without it the first words are misheard (18 of 21 stop words are heard with it, 14 without)."""
_PARTIAL_BYTES: Final = BYTES_PER_S * 12 // FRAMES_PER_S
"""A partial result is looked up after twelve frames."""
_LEAST: Final = 1e-300
_OTHERS: Final = 60
"""Paths that are told, best first: from a lattice that is there anyway, in two milliseconds."""
_MOST_HMMS: Final = 5_000
"""A frame. Bounds the work: without it noise takes four times as much as speech; it costs speech nothing (measured)."""


def open_decoder(options: Message) -> Any:
    """PocketSphinx's decoder of some options."""
    import pocketsphinx  # in the process that decodes: whoever imports edgeagent need not load it

    return pocketsphinx.Decoder(pocketsphinx.Config(loglevel="FATAL", **{"cmninit": CEPSTRAL_MEAN, **options}))


class UtteranceDecoder:
    """Decodes utterances with one language model.

    Args:
        settings: ``decoder``: options of PocketSphinx, such as hmm, lm and dict.
    """

    def __init__(self, settings: Message, emit: Emit) -> None:
        self._decoder = open_decoder({"maxhmmpf": _MOST_HMMS, **settings["decoder"]})
        self._emit = emit
        self._utterance: int | None = None
        self._said = ""
        self._since = 0
        self._bytes = 0

    def handle(self, op: str, message: Message, payload: bytes) -> Message | None:
        if op == "begin":
            self._begin(message["utterance"])
        elif op == "feed":
            self._feed(payload)
        elif op == "finish":
            return self._finish()
        return None

    def _begin(self, utterance: int) -> None:
        if self._utterance is not None:
            self._decoder.end_utt()
        self._decoder.start_utt()
        self._utterance, self._said, self._since, self._bytes = utterance, "", 0, 0

    def _feed(self, payload: bytes) -> None:
        if self._utterance is None:
            return
        self._decoder.process_raw(payload, False, False)
        self._bytes += len(payload)
        self._since += len(payload)
        if self._since >= _PARTIAL_BYTES:
            self._since = 0
            found = self._decoder.hyp()
            if found is not None and found.hypstr and found.hypstr != self._said:
                self._said = found.hypstr
                score = math.log(max(found.score, _LEAST)) / max(1, self._decoder.n_frames())
                self._emit({"partial": self._said, "utterance": self._utterance, "score": score})

    def _finish(self) -> Message:
        if self._utterance is None:
            raise ValueError("there is no utterance")
        self._decoder.end_utt()
        self._utterance = None
        found = self._decoder.hyp() if self._bytes else None
        if found is None:
            return {"words": [], "score": None, "frames": 0, "others": []}
        words = [
            {
                "word": part.word,
                "start_s": part.start_frame / FRAMES_PER_S,
                "end_s": (part.end_frame + 1) / FRAMES_PER_S,
                "confidence": min(1.0, part.prob),
                "acoustic": math.log(max(part.ascore, _LEAST)),
            }
            for part in self._decoder.seg()
        ]
        score = math.log(max(found.score, _LEAST))
        nbest = islice(self._decoder.nbest(), _OTHERS)
        others = [other.hypstr for other in nbest if other is not None and other.hypstr]
        return {"words": words, "score": score, "frames": self._decoder.n_frames(), "others": others}


# --- the spotter's service --------------------------------------------------------------------------------------------

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
        settings: ``decoder``: options of PocketSphinx, such as dict and kws.
    """

    def __init__(self, settings: Message, emit: Emit) -> None:
        self._decoder = open_decoder(settings["decoder"])
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
