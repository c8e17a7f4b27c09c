"""PocketSphinx and Whisper as one recogniser: each knows what the other does not.

PocketSphinx tells what is being said while it is said, and knows the app's sentences; Whisper knows people, rooms and
noise, and hears the utterance as a whole. ``rescoring`` makes one text of what both heard. What Whisper fails to hear,
PocketSphinx hears alone. English only. One thread, as ``Transcriber`` says.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.english.inverse import inverse_normalised
from edgeagent.english.stop_phrases import FEW, LOOKED_FOR, StopPhrases
from edgeagent.errors import RecognitionError
from edgeagent.stt.choice import Hypotheses
from edgeagent.stt.hearing import RATE_HZ, HeardWord, RecognisedText
from edgeagent.stt.rescoring import (
    AppSentences,
    Best,
    as_spoken,
    as_written,
    best_of,
    calls_in,
    with_call,
    with_phrase,
    written_with,
)
from edgeagent.stt.sphinx import SphinxTranscriber
from edgeagent.stt.whisper import Abandoned, Check, Decode, mean_cost, pieces, shifted, whole, window
from edgeagent.stt.whisper_model import Encoded, Fit, WhisperModel, WhisperOptions, WhisperText, release_memory

log: Final = logging.getLogger("edgeagent.stt")

_LANGUAGE: Final = "en"
_MOST_OTHERS: Final = 10
_UNLIKELY: Final = 20.0
"""A text whose log probability is so much less than the best one's was not said: "can move move" for "how full is your
battery" is 26 behind. Of 160 commands to stop, by four voices, a third each in quiet, far off and in noise at 10 dB, 7
are denied with it and 6 without; of 100 other lines 33 are in doubt with it and 42 without."""
_APART: Final = 10.0
"""A text with a doubted phrase was not said if its log probability is so much less than the best one's. Of 85 commands
to stop, by six voices, an early look denies 10 in quiet and 25 in noise at 10 dB without this and the least confidence
of ``confirming.unlike``; ``docs/figures.md`` has the counts with both."""
_NEARLY: Final = 2.0
"""A stop phrase may have been said if its log probability is only so much less than the best text's. Of 85 stop phrases
that were not understood 34 are so near, and 3 of 185 lines of talk; ``docs/figures.md`` tells how they were said."""
_MOST_WORDS: Final = 2 * FEW
"""Words that may be nothing but a stop phrase that was misheard: "hold on" was heard as "and i look a little gone",
which fits worse. Of 129 commands and lines of talk of four to seven words that were not understood in quiet, over a
motor and in pink noise at 10 dB, two may have been a stop phrase as well."""
_VOTED_FOR: Final = {"stop": ("stop", "stop now"), "freeze": ("freeze",)}
"""Stop words that count together with the spotter's suspicion, and the texts of which one has to be possible. "Halt" is
none of them: where it was said, "stop" fits better."""
_POSSIBLE: Final = 7.0
"""A stop word may have been said if its log probability is only so much less than the best text's, and the spotter
suspects one. Of 33 commands to stop that were neither understood nor spotted, in noise at 10 dB, 13 are so near and
suspected; of 244 lines of talk there, every second one cut to a word or three, none."""
_CALLED: Final = 16.0
"""A wake word began the utterance if the log probability of that in place of the first words is only so much less than
of Whisper's text: names are new to it, and "hey robi" is "hey robot" or "a roll by". Of 38 calls by heart, joe and slt
in the room 37 are so near; of 35 lines of talk three: "hey ruby", "hey robin" and "hey robert"."""
_STOPS: Final = StopPhrases()
_TAIL: Final = RATE_HZ // 10
"""Samples of the room before an utterance that stand for those after it: to Whisper a sound that breaks off is a word.
"""
_CHEAP_S: Final = 0.6
"""Seconds of a decode of an utterance up to which one begins in a pause that may not be the end."""
_LIMIT_S: Final = 10.0
"""A stage that takes longer is not waited for."""


@dataclass(frozen=True, slots=True, eq=False)
class WrittenPiece:
    """Texts that Whisper has written for a piece of an utterance, the likeliest first."""

    start_s: float
    encoded: Encoded
    texts: list[WhisperText]
    of: int = 1
    """Pieces of the utterance, also those in which nobody speaks."""


class FusedTranscriber:
    """A ``Transcriber`` on PocketSphinx and a Whisper model.

    Args:
        sphinx: One that only helps (``SphinxOptions.helps``). Closed with it.
        model: Knows English.
        alone: Opens a PocketSphinx that hears by itself what Whisper fails to hear. Closed with it.
        options: Those of Whisper; its hot words and language are not used.
        calls: Wake words.

    Attributes:
        doubted: See ``transcription.EarlyLooking``.
    """

    def __init__(
        self,
        sphinx: SphinxTranscriber,
        model: WhisperModel,
        options: WhisperOptions | None = None,
        *,
        alone: Callable[[], SphinxTranscriber],
        calls: Sequence[str] = (),
    ) -> None:
        self._sphinx, self._model = sphinx, model
        self._calls = {phrase: as_spoken(phrase) for phrase in calls}
        """Wake words, and how they are spoken."""
        self._open_alone = alone
        self._alone: SphinxTranscriber | None = None
        self._app = AppSentences(sphinx.known)
        self._options = options or WhisperOptions()
        self._pieces: list[Samples] = []
        self._decode: Decode[list[WrittenPiece]] | Decode[RecognisedText] | None = None
        self._late: Decode[list[WrittenPiece]] | Decode[RecognisedText] | Decode[None] | None = None
        """One that was not waited for to its end: until it is over, PocketSphinx hears alone."""
        self._ahead: Decode[list[WrittenPiece]] | None = None
        """One that began in a pause, for the utterance that probably ends there."""
        self._early: Decode[None] | None = None
        """An early look at an utterance, until its end."""
        self._so_far = ""
        """PocketSphinx's words of the utterance."""
        self.doubted: Sequence[str] = ()
        self._turn = Lock()
        self._cost_s: float | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return f"{self._sphinx.name} and {self._model.name}"

    @property
    def cost_s(self) -> float | None:
        """Seconds that Whisper's part of an utterance costs on this machine; None before the first."""
        return self._cost_s

    @property
    def pids(self) -> list[int | None]:
        """PocketSphinx's processes, for measurements."""
        return self._sphinx.pids

    def begin(self) -> None:
        """See ``Transcriber.begin``. A decode that nobody waits for any more is left."""
        self._leave()
        self._pieces, self._so_far = [], ""
        self._sphinx.begin()

    def feed(self, samples: Samples) -> RecognisedText | None:
        """See ``Transcriber.feed``. What is known so far is PocketSphinx's."""
        if len(samples):
            self._pieces.append(np.array(samples, np.float32))
        known = self._sphinx.feed(samples)
        self._so_far = self._so_far if known is None else known.raw
        return known

    def expect_end(self, expected: bool) -> None:
        """See ``transcription.Foreseeing``. Not where a void decode would cost more than the pause wins."""
        self._leave_ahead()
        cheap = self._cost_s is not None and self._cost_s <= _CHEAP_S
        if expected and cheap and not self._busy and not self._closed and (sound := whole(self._pieces)) is not None:
            going_on = np.concatenate((sound, sound[:_TAIL]))
            self._ahead = Decode(lambda check: self._written(going_on, check), self._turn)

    def look_early(self, told: Callable[[RecognisedText], object]) -> None:
        """See ``transcription.EarlyLooking``. One look at a time."""
        sound, so_far, phrases = whole(self._pieces), self._so_far, tuple(self.doubted)
        if sound is not None and not self._busy and not self._closed:
            self._early = Decode(lambda check: self._looked(sound, so_far, phrases, check, told), self._turn)

    def finish(self, stop_event: Event) -> RecognisedText:
        """See ``Transcriber.finish``."""
        if self._closed:
            raise RecognitionError(f"{self.name} is closed")
        sound, self._pieces = whole(self._pieces), []
        self._leave_early()
        if sound is None:
            return RecognisedText("", understood=False, engine=self.name)
        if self._late is not None and not self._late.over:
            return self._heard_alone(sound, stop_event)
        writing = self._decode = self._ahead or Decode(lambda check: self._written(sound, check), self._turn)
        self._ahead = None
        try:
            heard = self._sphinx.heard(stop_event)
        except RecognitionError as error:
            log.warning("%s: Whisper hears the utterance alone", error)
            heard = Hypotheses()
        if heard is None:
            writing.leave()
            return self._nothing
        try:
            made = self._made(writing, heard, lambda: stop_event.is_set() or self._closed)
        except RecognitionError as error:
            log.warning("Whisper failed (%s): PocketSphinx hears the utterance alone", error)
            self._late = self._early if self._early is not None and not self._early.over else self._decode
            return self._heard_alone(sound, stop_event)
        self._decode = None  # it keeps what the encoder has made
        return made if made is not None else self._nothing

    def _heard_alone(self, sound: Samples, stop_event: Event) -> RecognisedText:
        """Has PocketSphinx hear an utterance with both of its models, which are opened when they are first needed.

        Raises:
            RecognitionError: It can't be started, or is lost again and again.
        """
        if self._alone is None:
            self._alone = self._open_alone()
        self._alone.begin()
        self._alone.feed(sound)
        return self._alone.finish(stop_event)

    def _made(
        self, writing: Decode[list[WrittenPiece]], heard: Hypotheses, stopped: Callable[[], bool]
    ) -> RecognisedText | None:
        """Makes one transcript of what both have heard; None if stopped."""
        written = writing.wait(stopped, _LIMIT_S)
        if written is None:
            return None
        if not written:  # nobody has spoken
            release_memory()
            return RecognisedText("", understood=False, engine=self.name, others=tuple(heard.texts))
        choosing = self._decode = Decode(
            lambda check: self._chosen(written, heard, check), self._turn, after=release_memory
        )
        made = choosing.wait(stopped, _LIMIT_S)
        usual = not self.doubted and (made is None or made.understood)  # else phrases are looked for besides
        if usual and writing.seconds is not None and choosing.seconds is not None:
            self._cost_s = mean_cost(self._cost_s, writing.seconds + choosing.seconds)
        return made

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Waits until PocketSphinx has heard all that was fed, and an early look has ended."""
        end_s = time.monotonic() + timeout_s
        idle = self._sphinx.wait_idle(timeout_s)
        return idle and (self._early is None or self._early.join(max(0.0, end_s - time.monotonic())))

    def close(self) -> None:
        """See ``Transcriber.close``. What is being decoded ends by itself."""
        self._closed = True
        self._leave()
        self._leave_early()
        self._sphinx.close()
        if self._alone is not None:
            self._alone.close()

    def _leave(self) -> None:
        decode, self._decode = self._decode, None
        if decode is not None:
            decode.leave()
        self._leave_ahead()

    def _leave_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.leave()

    def _leave_early(self) -> None:
        if self._early is not None:
            self._early.leave()

    @property
    def _busy(self) -> bool:
        """True while a decode goes on that nobody waits for."""
        return any(one is not None and not one.over for one in (self._early, self._late))

    @property
    def _nothing(self) -> RecognisedText:
        """Of a decode that was stopped."""
        return RecognisedText("", understood=False, final=False, engine=self.name)

    # --- Whisper's thread -------------------------------------------------------------------------------------------

    def _written(self, sound: Samples, check: Check) -> list[WrittenPiece]:
        """Has Whisper write the pieces of an utterance; those in which nobody speaks are left out."""
        made = []
        parts = pieces(sound)
        for start, piece in parts:
            check()
            encoded = self._model.encode(piece, window(len(piece), self._options.window_s))
            check()
            texts = self._model.decode(encoded, _LANGUAGE, beam_size=self._options.beam_size)
            texts = [text for text in texts if not text.is_made_up and as_spoken(text.text)]
            if texts:
                made.append(WrittenPiece(start / RATE_HZ, encoded, texts, len(parts)))
        return made

    def _looked(
        self,
        sound: Samples,
        so_far: str,
        phrases: Sequence[str],
        check: Check,
        told: Callable[[RecognisedText], object],
    ) -> None:
        """Tells what is heard in a sound whose utterance has not ended."""
        try:
            heard = self._heard_early(sound, so_far, phrases, check)
            check()
        except Abandoned:
            raise
        except Exception:
            log.exception("Whisper failed to hear an utterance before its end")
        else:
            if heard is not None:
                told(heard)

    def _heard_early(self, sound: Samples, so_far: str, phrases: Sequence[str], check: Check) -> RecognisedText | None:
        """Makes a transcript of what Whisper writes, and looks for the phrases in place of its last words; what
        PocketSphinx heard may have been said as well, if it fits. None where nobody has spoken, or for longer than
        Whisper's window."""
        written = self._written(sound, check)
        if not written or written[0].of > 1:
            return None
        [piece] = written
        best = piece.texts[0]
        text = as_spoken(best.text)
        others = [as_spoken(other.text) for other in piece.texts[1:]]
        own = self._model.fit(piece.encoded, _LANGUAGE, as_written(text)).log_prob

        def fits(other: str, apart: float) -> bool:
            check()
            return not self._model.fit(piece.encoded, _LANGUAGE, as_written(other)).log_prob < own - apart

        others += [so_far] if so_far and fits(so_far, _UNLIKELY) else []
        doubted = [phrase for phrase in phrases if phrase not in self._calls and not _has(text, phrase)]
        excluded = [phrase for phrase in doubted if not any(fits(each, _APART) for each in with_phrase(text, phrase))]
        return RecognisedText(
            text=inverse_normalised(text),
            confidence=min(1.0, math.exp(best.log_prob / (best.tokens + 1))),
            understood=False,
            engine=self._model.name,
            raw=text,
            others=tuple(dict.fromkeys(other for other in others if other != text)),
            excluded=tuple(excluded),
        )

    def _chosen(self, written: list[WrittenPiece], heard: Hypotheses, check: Check) -> RecognisedText:
        """The transcript of both."""
        fits = self._fits(written, heard, check)
        best = best_of(self._app, fits, heard)
        words: list[HeardWord] = []
        for piece in written if best.text else ():
            check()
            # longer speech has no candidates but Whisper's own
            text = as_written(best.text) if len(written) == 1 else piece.texts[0].text
            words += shifted(self._model.words(piece.encoded, _LANGUAGE, text), piece.start_s)
        least = max(fit.log_prob for _, fit in fits) - _UNLIKELY
        unlikely = {text for text, fit in fits if fit.log_prob < least}
        others = [text for text in (*heard.texts, *(text for text, _ in fits)) if text not in unlikely]
        near, far = self._possible_stops(written, best, fits, check)
        return RecognisedText(
            text=inverse_normalised(best.text),
            words=tuple(words),
            confidence=best.probability,
            understood=best.understood,
            likely=best.likely and not near,
            possible=() if near else tuple((inverse_normalised(text), share) for text, share in best.possible),
            engine=self.name,
            raw=best.text,
            others=tuple(dict.fromkeys(text for text in others if text != best.text))[:_MOST_OTHERS],
            excluded=(*self._excluded(written, best, others, check), *self._not_called(written, best, check)),
            near_stops=near,
            far_stops=far,
        )

    def _excluded(
        self, written: list[WrittenPiece], best: Best, others: Sequence[str], check: Check
    ) -> tuple[str, ...]:
        """Lists the doubted phrases with which no text fits nearly as well as a short one that was understood."""
        doubted = [phrase for phrase in self.doubted if phrase not in self._calls and not _has(best.text, phrase)]
        if not doubted or not best.understood or len(best.text.split()) > FEW or written[0].of > 1:
            return ()
        [piece] = written
        least = self._model.fit(piece.encoded, _LANGUAGE, as_written(best.text)).log_prob - _APART

        def is_apart(text: str) -> bool:
            check()
            return self._model.fit(piece.encoded, _LANGUAGE, text).log_prob < least

        def texts(phrase: str) -> list[str]:
            return [*written_with(best.text, phrase), *(as_written(other) for other in others if _has(other, phrase))]

        return tuple(phrase for phrase in doubted if all(map(is_apart, texts(phrase))))

    def _not_called(self, written: list[WrittenPiece], best: Best, check: Check) -> tuple[str, ...]:
        """Lists the doubted wake words with which no text fits nearly as well as Whisper's, wherever they stand."""
        if written[0].of > 1:
            return ()
        [piece] = written
        own = as_spoken(piece.texts[0].text)
        doubted = [phrase for phrase in self.doubted if phrase in self._calls]
        least = self._model.fit(piece.encoded, _LANGUAGE, as_written(own)).log_prob - _CALLED if doubted else 0.0

        def is_apart(text: str) -> bool:
            check()
            return self._model.fit(piece.encoded, _LANGUAGE, as_written(text)).log_prob < least

        def is_absent(call: str) -> bool:
            return not _has(best.text, call) and all(map(is_apart, calls_in(own, call)))

        return tuple(phrase for phrase in doubted if is_absent(self._calls[phrase]))

    def _called(self, piece: WrittenPiece, check: Check) -> str | None:
        """Returns Whisper's text with a wake word in place of its first words, where they may have been that."""
        own = as_spoken(piece.texts[0].text)
        calls = self._calls.values()
        if not calls or _STOPS.read(own) is not None or any(_has(own, call) for call in calls):
            return None
        fits: dict[str, float] = {}
        for text in (text for call in calls for text in with_call(own, call)):
            check()
            fits[text] = self._model.fit(piece.encoded, _LANGUAGE, as_written(text)).log_prob
        best = max(fits, key=lambda text: fits[text])
        least = self._model.fit(piece.encoded, _LANGUAGE, as_written(own)).log_prob - _CALLED
        return best if fits[best] >= least else None

    def _possible_stops(
        self, written: list[WrittenPiece], best: Best, fits: list[tuple[str, Fit]], check: Check
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Lists the stop phrases that words may have been that were not understood, and the stop words that a few words
        may have been if the spotter suspects one; the likeliest first."""
        count = len(best.text.split())
        if best.understood or count > _MOST_WORDS or len(written) > 1:
            return (), ()
        known = {text: fit.log_prob for text, fit in fits}
        most = max(known.values())
        looked_for = {*LOOKED_FOR, *(text for texts in _VOTED_FOR.values() for text in texts)} - known.keys()
        scored = self._scored(written[0], sorted(looked_for), check)
        known |= {text: fit.log_prob for text, fit in scored.items()}

        def listed(best_fits: Mapping[str, float], apart: float) -> tuple[str, ...]:
            found = (phrase for phrase in best_fits if best_fits[phrase] >= most - apart)
            return tuple(sorted(found, key=lambda phrase: -best_fits[phrase]))

        voted = {word: max(known[text] for text in texts) for word, texts in _VOTED_FOR.items()}
        near = listed({phrase: known[phrase] for phrase in LOOKED_FOR}, _NEARLY)
        return near, listed(voted, _POSSIBLE) if count <= FEW else ()

    def _fits(self, written: list[WrittenPiece], heard: Hypotheses, check: Check) -> list[tuple[str, Fit]]:
        """Lists what may have been said, and how well it fits; Whisper's own text first."""
        if len(written) > 1:
            own = [piece.texts[0] for piece in written]
            joined = Fit(sum(one.log_prob for one in own), sum(one.tokens for one in own))
            return [(" ".join(as_spoken(one.text) for one in own), joined)]
        [piece] = written
        fits: dict[str, Fit] = {}
        if (called := self._called(piece, check)) is not None:
            fits[called] = Fit(piece.texts[0].log_prob, piece.texts[0].tokens)  # the name tells nothing of the rest
        for text in piece.texts:
            fits.setdefault(as_spoken(text.text), Fit(text.log_prob, text.tokens))
        candidates = [each for each in self._app.candidates(next(iter(fits)), heard) if each not in fits]
        return [*fits.items(), *self._scored(piece, candidates, check).items()]

    def _scored(self, piece: WrittenPiece, texts: Sequence[str], check: Check) -> dict[str, Fit]:
        """Scores texts in spoken words against the sound."""
        found = self._model.fits(piece.encoded, _LANGUAGE, [*map(as_written, texts)], check)
        return dict(zip(texts, found, strict=True))


def _has(text: str, phrase: str) -> bool:
    return f" {phrase} " in f" {text} "
