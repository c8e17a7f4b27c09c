"""Stop words and wake words: any phrase, always listened for, in a process of its own.

Knows nothing of utterances; what was meant is the transcript's to say (``confirm``). ``feed`` is called by one thread
and never waits; the callbacks come on the thread that watches the process.
"""

from __future__ import annotations

import logging
import math
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeagent.errors import ConfigError
from edgeagent.stt import app_model
from edgeagent.stt.hearing import AGAIN_S, RATE_HZ, SpottedPhrase
from edgeagent.stt.level_meter import Levelling
from edgeagent.stt.patterns import Pattern, When, is_short, phone_patterns
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.worker import Worker, WorkerEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeagent.audio.device import Samples
    from edgeagent.stt.child import Message

log: Final = logging.getLogger("edgeagent.stt")

HANG_S: Final = 0.7
"""With the start of another process, a hang is over within a second."""
BEHIND_S: Final = 3.0
"""Seconds of sound that may wait for the process; more is dropped, and a warning says so. Over the robot's first words
1.5 s of it come at once, and after a rest another 0.5 s before them."""
DELAY_FRAMES: Final = 3
"""Of 10 ms, that a detection waits for a better score: with 10, PocketSphinx's own, it comes after 205 ms."""

TUNED: Final = {"stop": 1e-28, "freeze": 1e-24, "halt": 1e-5}
"""Thresholds chosen on flite's kal and six voices of espeak-ng, at times stricter than ``tune`` finds;
``docs/figures.md`` has their figures."""
STOP_WORDS: Final = ("stop", "halt", "freeze")
"""Words that stop the robot unless the builder says otherwise; no wake word is needed unless he asks for one."""

_DEFAULT_SHORT: Final = 1e-24
_LONG: Final = (6, 20.0, 2.5, 30.0)
"""Phones of a phrase that is not short, its threshold as a power of a tenth, and by how many powers each phone more
makes it looser, up to the last: the longer a phrase, the rarer in talk, and the more of it may be said otherwise."""
_REPLAY_S: Final = 1.5
"""Seconds of the past that are heard again by a process that was started again."""
_SILENT: Final = 1e-3
"""Peak of a block in which nobody speaks, -60 dBFS: a whisper 20 dB under a voice has -35."""
REST_AFTER_S: Final = 1.0
"""After so long without speech PocketSphinx rests: most of the day there is nothing to hear."""
_LEAD_S: Final = 0.5
"""Of that time, what is heard before the first sound after it."""
_BACK_S: Final = 0.5
"""A block that is so much earlier than the one before it is of another clock."""
_OWN_ECHO_S: Final = 0.2
"""Seconds after its speech in which the robot's voice is still in the room."""
_WORK: Final = 0.3
"""Seconds of work for a second of sound on the slowest machine that keeps up."""
_SPOTTER: Final = "edgeagent.stt.decoding:Spotter"


@dataclass(frozen=True, slots=True)
class SpotterOptions:
    """Options of ``KeywordSpotter``.

    Attributes:
        said: Pronunciations that the builder knows better, such as {"robi": "R OW B IY"}.
        on_behind: Told with the seconds of sound that were dropped, when the process keeps up again.
        on_event: Told when the process starts, dies or hangs.
        hang_s: See ``HANG_S``.
    """

    said: Mapping[str, str] = field(default_factory=dict)
    on_behind: Callable[[float], None] | None = None
    on_event: Callable[[WorkerEvent], None] | None = None
    hang_s: float = HANG_S


class KeywordSpotter:
    """Listens for phrases.

    Args:
        phrases: Each with its threshold, from 1e-50 (hears it everywhere) to 1 (hears it hardly ever), or None for that
            of ``TUNED``, or one by its length. A short phrase has to be surer in the midst of talk.
        on_keyword: Called for each hit, on the thread that watches the process. False: it does not count, so that the
            same phrase may be found again at once.

    Attributes:
        on_keyword: As given; may be another one later.
        thresholds: What is used, by phrase.
        dropped_s: Sound that the process has never heard, since it was behind.
        rested_s: Silence that it was not given.

    Raises:
        ConfigError: There is no phrase, one can't be said, or a threshold is none.
        RecognitionError: PocketSphinx is missing, or the process does not start.
    """

    def __init__(
        self,
        phrases: Mapping[str, float | None],
        on_keyword: Callable[[SpottedPhrase], object],
        options: SpotterOptions | None = None,
    ) -> None:
        options = options or SpotterOptions()
        self.on_keyword, self._on_behind = on_keyword, options.on_behind
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._entries, self.thresholds = _listed(phrases, options.said)
        self.dropped_s = self.rested_s = 0.0
        self._behind_s = self._silent_s = 0.0
        self._rests = False
        self._levelling = Levelling()
        self._fed_s = 0.0
        self._spans: dict[When, _Span] = {}
        """When a pattern counts that does not always count."""
        self._recent: deque[tuple[float, Samples]] = deque()
        self._heard: dict[str, float] = {}
        self._epoch = 0
        """Counts what has nothing to do with one another."""
        self._generation = 1
        self._worker = Worker(
            "ears-keywords",
            _SPOTTER,
            self._settings,
            on_emit=self._take,
            on_event=options.on_event,
            hang_s=options.hang_s,
        )
        try:
            self._worker.wait_ready()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """The process, for measurements."""
        return self._worker.pid

    def feed(
        self,
        samples: Samples,
        at_s: float | None = None,
        *,
        raw: Samples | None = None,
        played: Samples | None = None,
        nobody: bool = False,
        speaking: bool = False,
        early: bool = False,
    ) -> None:
        """The next block; returns at once.

        Args:
            samples: At 16 kHz, 10 ms or any other length.
            at_s: The time of its first sample; by default the blocks follow one another from 0.
            raw, played: Not listened to: PocketSphinx hears more in what a noise suppressor leaves.
            nobody: It is known that nobody speaks, however loud the room is; may come up to half a second late.
            speaking: The robot does, so that a short phrase may be less sure of itself.
            early: Its echo is not learnt yet, so that much of it is left: it may be less sure still.
        """
        at_s = self._fed_s if at_s is None else at_s
        if at_s < self._fed_s - _BACK_S:  # another clock: what was heard by the old one is over
            self.flush()
        length_s = len(samples) / RATE_HZ
        self._fed_s = at_s + length_s
        cases: dict[When, bool] = {"speaking": speaking, "early": early}
        for when in (when for when, is_so in cases.items() if is_so):
            self._spans.setdefault(when, _Span()).add(at_s, self._fed_s)
        self._recent.append((at_s, samples.copy()))
        while self._recent[0][0] < at_s - _REPLAY_S:
            self._recent.popleft()
        if self._worker.pid is None:  # what it misses now, it hears when it is back
            return
        loud = not nobody and not float(np.abs(samples).max(initial=0.0)) < _SILENT  # what is no number is no silence
        self._silent_s = 0.0 if loud else self._silent_s + length_s
        if self._worker.generation != self._generation:
            self._generation, self._rests = self._worker.generation, False
            self._send_recent(_REPLAY_S)
        elif self._silent_s > REST_AFTER_S:
            self._rests = True
            self.rested_s += length_s
            return
        elif self._rests:
            self._rests = False
            self._worker.send("flush")
            self._levelling.reset()
            self._send_recent(_LEAD_S)
        elif self._worker.waiting_s > _WORK * BEHIND_S:
            self._behind_s += length_s
            self.dropped_s += length_s
            self._worker.ping()
            return
        if self._behind_s:
            self._say_behind()
        self._send(at_s, samples)

    def flush(self) -> None:
        """Forgets all that was fed before: what follows has nothing to do with it, and what is still found in it is not
        told."""
        self._epoch += 1
        self._recent.clear()
        self._levelling.reset()
        self._heard = {}
        self._spans = {}
        self._worker.send("flush")

    def suspected(self, begin_s: float, end_s: float) -> SpottedPhrase | None:
        """Returns None: PocketSphinx tells of what it finds, and has no doubts."""
        return None

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Wait until all that was fed has been listened to; for tests and measurements."""
        return self._worker.ask("idle").wait(limit_s=timeout_s) is not None

    def close(self) -> None:
        """Ends the process. Safe to call again."""
        self._worker.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _settings(self) -> Message:
        """Those of the next process, with its files; whatever tidies up may have taken those of the one before."""
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = tempfile.TemporaryDirectory(prefix="edgeagent-keywords-")
        entries = [(name, way.phones, way.threshold(self.thresholds[of])) for name, (of, way) in self._entries.items()]
        files = app_model.write_keywords(Path(self._folder.name), entries)
        return {"decoder": {**files, "kws_delay": DELAY_FRAMES}}

    def _send(self, at_s: float, samples: Samples) -> None:
        block = self._levelling.process(samples)
        self._worker.send("feed", block, work_s=_WORK * len(samples) / RATE_HZ, at_s=at_s, epoch=self._epoch)

    def _send_recent(self, seconds: float) -> None:
        """Sends what came before the newest block."""
        for earlier_s, earlier in list(self._recent)[:-1]:
            if earlier_s >= self._recent[-1][0] - seconds:
                self._send(earlier_s, earlier)

    def _say_behind(self) -> None:
        behind_s, self._behind_s = self._behind_s, 0.0
        log.warning("the keyword spotter was behind: %.2f s of sound were not listened to", behind_s)
        if self._on_behind is not None:
            self._on_behind(behind_s)

    def _take(self, message: Message) -> None:
        if "keyword" not in message:
            log.warning("the keyword spotter: %s", message.get("error", message))
            return
        if message["epoch"] != self._epoch:
            return
        phrase, pattern = self._entries[message["keyword"].strip()]
        if abs(message["end_s"] - self._heard.get(phrase, -math.inf)) < AGAIN_S:
            return
        if pattern.when != "always" and not self._spans.get(pattern.when, _Span()).has(message["end_s"]):
            return
        start_s, end_s, heard_s, score = (float(message[key]) for key in ("start_s", "end_s", "heard_s", "score"))
        if self.on_keyword(SpottedPhrase(phrase, start_s, end_s, heard_s, min(1.0, score))) is not False:
            self._heard[phrase] = message["end_s"]


class _Span:
    """Latest time at which something was the case."""

    def __init__(self) -> None:
        self._from_s, self._until_s = math.inf, -math.inf

    def add(self, begin_s: float, end_s: float) -> None:
        """From then until then it was."""
        if begin_s > self._until_s + _OWN_ECHO_S:
            self._from_s = begin_s
        self._until_s = end_s

    def has(self, at_s: float) -> bool:
        """True if it was the case at that time, or shortly before."""
        return self._from_s <= at_s <= self._until_s + _OWN_ECHO_S


def _listed(
    phrases: Mapping[str, float | None], said: Mapping[str, str]
) -> tuple[dict[str, tuple[str, Pattern]], dict[str, float]]:
    """The phrase and the way to listen for it by the entry of PocketSphinx's list, and the thresholds by phrase."""
    if not phrases:
        raise ConfigError("a keyword spotter needs a phrase")
    spoken = {phrase: spoken_words(phrase) for phrase in phrases}
    for phrase, words in spoken.items():
        if not words:
            raise ConfigError(f"the keyword {phrase!r} has no words")
    known, _ = app_model.pronounced({word for words in spoken.values() for word in words}, said)
    entries: dict[str, tuple[str, Pattern]] = {}
    thresholds = {}
    for phrase, words in spoken.items():
        thresholds[phrase] = _threshold(phrase, phrases[phrase], " ".join(known[word][0] for word in words))
        for pattern in phone_patterns(words, known):
            entries[f"k{len(entries)}"] = (phrase, pattern)
    return entries, thresholds


def _threshold(phrase: str, wanted: float | None, phones: str) -> float:
    if wanted is None:
        return TUNED.get(phrase.lower(), _DEFAULT_SHORT if is_short(phones) else _by_length(len(phones.split())))
    if not 0.0 < wanted <= 1.0:
        raise ConfigError(f"the threshold of the keyword {phrase!r} is {wanted}; it has to be in (0, 1]")
    return wanted


def _by_length(phones: int) -> float:
    shortest, strictest, looser, loosest = _LONG
    return float(10 ** -min(strictest + looser * (phones - shortest), loosest))
