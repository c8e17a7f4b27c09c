"""One text that the robot says, in several stretches if something more urgent comes between, and what was heard of it.

Fed on one thread, suspended and looked at on others. Knows nothing of runs, and not who decides what is said.
"""

from __future__ import annotations

import math
import threading

from edgeagent.errors import AudioError
from edgeagent.tts.mouth import Mouth, Speech


class SpokenLine:
    """A text that is spoken as it comes.

    Args:
        mouth: Says it, after what was begun before.
        message_id: Message that the text is; empty if the text is in no message.
        suspended: Collect the text, and say nothing until ``resume``.

    Attributes:
        told: True if the owner has told what was heard.
        failure_told: True if the owner has told that the voice failed.
    """

    def __init__(self, mouth: Mouth, *, message_id: str = "", suspended: bool = False) -> None:
        self.message_id = message_id
        self.told = self.failure_told = False
        self._mouth = mouth
        self._lock = threading.RLock()
        self._text = ""
        self._start = 0
        """Offset of the newest stretch in the text; what is before it was heard."""
        self._speech: Speech | None = None
        self._suspended = suspended
        self._ended = self._dropped = False

    def feed(self, delta: str) -> None:
        """The next piece of the text, however it was split."""
        with self._lock:
            self._text += delta
            if delta and not self._suspended and not self._dropped:
                self._stretch().feed(delta)

    def end(self) -> None:
        """Nothing more will be fed."""
        with self._lock:
            if not self._ended:
                self._ended = True
                if self._speech is not None and not self._suspended:
                    self._speech.end()

    def suspend(self) -> None:
        """Silence within a block; ``resume`` goes on with the first word that was not heard."""
        with self._lock:
            if not self._suspended:
                self._suspended = True
                if self._speech is not None:
                    self._speech.drop()

    def resume(self) -> None:
        """Goes on, after what is being said."""
        with self._lock:
            if not self._suspended:
                return
            self._suspended = False
            if self._dropped or self.error is not None:
                return
            # all that was handed to the device has been heard by now, or will have been before this goes on
            self._start = len(self.heard(math.inf))
            self._speech = None
            if rest := self._text[self._start :]:
                self._stretch().feed(rest)
                if self._ended:
                    self._stretch().end()

    def drop(self) -> None:
        """Silence within a block, for good."""
        with self._lock:
            self._dropped = True
            if self._speech is not None:
                self._speech.drop()

    @property
    def text(self) -> str:
        """All that was fed."""
        return self._text

    def rest(self, now_s: float) -> tuple[str, str]:
        """Returns the text as far as it was heard, and what is known of the rest."""
        heard = self.heard(now_s)
        return heard, self.text[len(heard) :]

    @property
    def ended(self) -> bool:
        """Nothing more will be fed."""
        return self._ended

    @property
    def error(self) -> AudioError | None:
        """Why it was not spoken to its end, if the voice failed."""
        return None if self._speech is None else self._speech.error

    @property
    def begun(self) -> bool:
        """Some of it was given to the device."""
        with self._lock:
            return self._start > 0 or (self._speech is not None and self._speech.utterance.handed > 0)

    def heard(self, now_s: float) -> str:
        """The text as far as it was heard, to the word.

        Args:
            now_s: The clock of the device; infinity counts what was given to it and is about to be heard.
        """
        with self._lock:
            said = "" if self._speech is None else self._speech.heard(now_s)
            return self._text[: self._start] + said if said else self._text[: self._start].rstrip()

    def is_over(self, now_s: float) -> bool:
        """True if nothing more of the line will be heard."""
        with self._lock:
            if self._dropped or (self.error is not None and self._is_silent(now_s)):
                return True
            return self._ended and not self._suspended and self._is_silent(now_s)

    def is_whole(self, now_s: float) -> bool:
        """True if all of the line was heard."""
        with self._lock:
            if self._dropped or self.error is not None or not self.is_over(now_s):
                return False
            return self._speech is None or self._speech.heard(now_s) == self._speech.text

    def is_sounding(self, now_s: float) -> bool:
        """True if the line is in the middle of being heard, be it held."""
        with self._lock:
            if self._dropped or self._suspended or self._speech is None or self._speech.utterance.handed == 0:
                return False
            return not self._is_silent(now_s)

    def position_s(self, now_s: float) -> float:
        """Seconds of its newest stretch that were heard."""
        with self._lock:
            return 0.0 if self._speech is None else self._mouth.playback.heard_s(self._speech.utterance, now_s)

    def _stretch(self) -> Speech:
        if self._speech is None:
            self._speech = self._mouth.begin()
        return self._speech

    def _is_silent(self, now_s: float) -> bool:
        return self._speech is None or self._speech.is_over(now_s)
