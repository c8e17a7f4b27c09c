"""The recogniser's service, as it runs in its child processes: one PocketSphinx decoder each, fed with 16-bit sound at
16 kHz.

Standard library and PocketSphinx only: numpy would double the memory of each process. Scores are log likelihoods as
PocketSphinx gives them, a natural logarithm with the acoustic scores shifted right by ten bits; only differences and
the number per frame mean something.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import Any, Final

import pocketsphinx  # type: ignore[import-untyped, unused-ignore]

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


def _decoder(settings: Message) -> Any:
    options = {"maxhmmpf": _MOST_HMMS, "cmninit": CEPSTRAL_MEAN, **settings}
    return pocketsphinx.Decoder(pocketsphinx.Config(loglevel="FATAL", **options))


class UtteranceDecoder:
    """Decodes utterances with one language model.

    Args:
        settings: ``decoder``: options of PocketSphinx, such as hmm, lm and dict.
    """

    def __init__(self, settings: Message, emit: Emit) -> None:
        self._decoder = _decoder(settings["decoder"])
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
