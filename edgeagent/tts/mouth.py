"""The mouth: text that streams in becomes sound that is ahead of the playback by a bounded time, and it is known which
words of it were heard.

One thread of its own synthesises; ``feed`` and ``stop`` may be called from any. Knows nothing of agents.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Final, Self

import numpy as np

from edgeagent.audio.playback import HeardText, PlaybackQueue, SpokenWord, Utterance
from edgeagent.audio.stream_clock import Resampler
from edgeagent.english.normalise import speakable
from edgeagent.english.sentences import Piece, SentenceStream
from edgeagent.errors import AudioError, SpeechError
from edgeagent.stop import JOIN_S
from edgeagent.tts.speaker import Speaker, WordTime

logger = logging.getLogger(__name__)

AHEAD_S: Final = 2.0
"""Synthesised before it is played; more would only be thrown away when somebody interrupts."""
_POLL_S: Final = 0.02
"""Least seconds between two looks if there is room; the device's callback, which makes room, wakes nobody."""


class Speech:
    """One reply as it is spoken, fed with text until ``end``. Made by ``Mouth.begin``."""

    def __init__(self, mouth: Mouth, utterance: Utterance) -> None:
        self.utterance = utterance
        self.error: AudioError | None = None
        """Why it was not spoken to its end, if the voice failed."""
        self.stopped = threading.Event()
        self.first_sound_s: float | None = None
        """Monotonic time at which its first samples were queued."""
        self._mouth = mouth
        self._lock = threading.Lock()
        self._sentences = SentenceStream()
        self._source: list[str] = []
        self._queued = self._taken = 0
        self._words = HeardText()
        self._spoken_s = 0.0
        self._pending: SpokenWord | None = None
        self._cut_short = False
        self._resampler = Resampler(mouth.speaker.rate_hz, utterance.rate_hz)

    def feed(self, delta: str) -> None:
        """The next piece of the text, however it was split."""
        with self._lock:
            self._source.append(delta)
            pieces = self._sentences.feed(delta)
            self._queued += len(pieces)
        self._mouth.queue(self, pieces)

    def end(self) -> None:
        """Nothing more will be fed."""
        with self._lock:
            pieces = self._sentences.end()
            self._queued += len(pieces)
        self._mouth.queue(self, pieces)
        self._mouth.queue(self, [None])

    def stop(self) -> None:
        """Ends its synthesis, in the middle of a word if need be; ``Mouth.flush`` also what waits to be played."""
        self.stopped.set()
        self._mouth.rouse()

    def drop(self) -> None:
        """Silence within a block of the device for this speech alone; those after it are played."""
        self.stop()
        if not self.utterance.ended:
            self.utterance.dropped = True

    @property
    def is_said(self) -> bool:
        """True if nothing more of the utterance will be synthesised."""
        return self.utterance.complete or self.stopped.is_set()

    @property
    def waiting(self) -> int:
        """Sentences and clauses that wait to be synthesised; whoever feeds a pipe waits for them."""
        return 0 if self.is_said else self._queued - self._taken

    @property
    def text(self) -> str:
        """All that was fed."""
        with self._lock:
            return "".join(self._source)

    def heard(self, now_s: float) -> str:
        """The text as far as it was heard, to the word.

        Args:
            now_s: The clock of the device that plays it.
        """
        if self.is_over(now_s) and not self.utterance.dropped and not self._cut_short:
            return self.text
        position_s = self._mouth.playback.heard_s(self.utterance, now_s)
        return self.text[: self._words.end(position_s)].rstrip()

    def is_over(self, now_s: float) -> bool:
        """True if nothing more of the utterance will be heard: all has left the loudspeaker, or it was stopped or
        flushed.

        Args:
            now_s: The clock of the device that plays it.
        """
        if not self.utterance.ended:
            return False
        return self._mouth.playback.heard_s(self.utterance, now_s) >= self.utterance.handed_s

    # --- the mouth's thread -----------------------------------------------------------------------------------------

    def say(self, piece: Piece) -> None:
        """Synthesises one piece."""
        self._taken += 1
        made = speakable(piece.text, self._mouth.language)
        speaker, playback = self._mouth.speaker, self._mouth.playback
        before_s, samples = self._spoken_s, 0
        if not made.text.strip():
            return
        whole = False
        try:
            for chunk in speaker.speak(made.text, self.stopped):
                for word in chunk.words:
                    self._add(word, piece.start + made.heard(word.end), before_s)
                playback.write(self.utterance, self._resampler.process(chunk.samples))
                self.first_sound_s = self.first_sound_s or time.monotonic()
                samples += len(chunk.samples)
                self._spoken_s = before_s + samples / chunk.rate_hz
                if not self._wait_for_room():
                    return
            whole = not self.stopped.is_set()
        finally:
            self._settle(piece.end if whole else None)

    def finish(self) -> None:
        """All pieces were said, or it was stopped."""
        if self.stopped.is_set():
            self._cut_short = True
        else:
            rest = self._resampler.process(np.zeros(0, np.float32), last=True)
            self._mouth.playback.write(self.utterance, rest)
        self._mouth.playback.finish(self.utterance)

    def _wait_for_room(self) -> bool:
        """Until little enough waits to be played; False when it was stopped."""
        while not self.stopped.is_set():
            surplus_s = self._mouth.playback.queued_s - AHEAD_S
            if surplus_s <= 0 and not self._mouth.playback.held:
                return True
            self._mouth.rest(max(min(surplus_s, 0.5), _POLL_S))
        return False

    def _add(self, word: WordTime, source_end: int, before_s: float) -> None:
        at_s = before_s + word.at_s
        if self._pending is not None:
            self._words.add(SpokenWord(self._pending.end, self._pending.at_s, at_s))
        self._pending = SpokenWord(source_end, at_s, at_s)

    def _settle(self, piece_end: int | None) -> None:
        """The last word of a piece ends with it, punctuation and what follows included; None: it was cut short."""
        if self._pending is not None:
            end = self._pending.end if piece_end is None else piece_end
            self._words.add(SpokenWord(end, self._pending.at_s, self._spoken_s))
            self._pending = None


class Mouth:
    """A voice and a loudspeaker. A context manager.

    Args:
        speaker: The voice.
        playback: What it writes to; the voice's rate need not be that of the loudspeaker.
    """

    def __init__(self, speaker: Speaker, playback: PlaybackQueue) -> None:
        self.speaker = speaker
        self.playback = playback
        self.language: str = getattr(speaker, "language", "en")  # a builder's voice may not know of it
        self._queue: SimpleQueue[tuple[Speech, Piece | None] | threading.Event | None] = SimpleQueue()
        self._speeches: list[Speech] = []
        self._lock = threading.Lock()
        """Two may begin at once: a reply on its run's thread, and what the robot says by itself."""
        self._calm = threading.Condition()
        self._rests = 0
        """Rests begun and ended: odd while it rests."""
        self._roused = False
        self._thread = threading.Thread(target=self._run, name="mouth", daemon=True)
        self._thread.start()

    def begin(self) -> Speech:
        """A new reply, spoken after those before it."""
        with self._lock:
            speech = Speech(self, self.playback.begin())
            self._speeches = [*(known for known in self._speeches if not known.is_said), speech]
        return speech

    def say(self, text: str) -> Speech:
        """A whole reply."""
        speech = self.begin()
        speech.feed(text)
        speech.end()
        return speech

    def flush(self) -> None:
        """Silence within a block of the device, and nothing of what was queued is said."""
        for speech in self._speeches:
            speech.stop()
        self.playback.flush()

    def close(self) -> None:
        """Ends what is said. Safe to call again; the voice stays open."""
        self.flush()
        self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def settle(self, timeout_s: float = 10.0) -> bool:
        """Waits until as much is synthesised as may be ahead; for tests on a virtual clock. False: not in time."""
        done = threading.Event()
        self._queue.put(done)
        with self._calm:
            looked = self._rests + (2 if self._rests % 2 else 3)  # roused, it looks for room, and rests once more
            self._roused = True
            self._calm.notify_all()
            return self._calm.wait_for(lambda: done.is_set() or self._rests >= looked, timeout_s)

    def rest(self, seconds: float) -> None:
        """Waits, on the mouth's thread, until somebody rouses it or the time is over."""
        with self._calm:
            self._rests += 1
            self._calm.notify_all()
            self._calm.wait_for(lambda: self._roused, seconds)
            self._roused = False
            self._rests += 1

    def rouse(self) -> None:
        """Has it look again what there is to do."""
        with self._calm:
            self._roused = True
            self._calm.notify_all()

    def queue(self, speech: Speech, pieces: Sequence[Piece | None]) -> None:
        """Has pieces synthesised; None ends a speech."""
        for piece in pieces:
            self._queue.put((speech, piece))

    def _load(self) -> None:
        """Has the voice get ready, if it is one that takes time to, so that the first reply begins at once."""
        load = getattr(self.speaker, "load", None)
        if load is None:
            return
        try:
            load()
        except Exception as error:  # noqa: BLE001 - it is told when the voice is to speak
            logger.debug("%s can't be loaded: %s", self.speaker.name, error)

    def _run(self) -> None:
        self._load()
        while (item := self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                self.rouse()
                continue
            speech, piece = item
            if piece is None:
                speech.finish()
                continue
            if speech.stopped.is_set():
                continue
            try:
                speech.say(piece)
            except AudioError as error:
                logger.error("%s", error)
                speech.error = error
                speech.stop()
            except Exception as error:  # a voice's; the mouth goes on with the next speech
                logger.exception("the voice failed")
                speech.error = SpeechError(f"the voice {self.speaker.name} failed: {error}")
                speech.stop()
