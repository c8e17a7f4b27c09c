"""Order and times of what the robot says: the replies of runs, and what it says by itself.

Any thread may ``say``; everything else is decided in ``tick``, ``hold``, ``resume`` and ``cut`` on the conversation's
thread, from the times and the state that they are given: no thread and no clock of its own. Times are seconds of the
device's clock.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Literal, get_args

from edgeagent.errors import BusyError, ConfigError
from edgeagent.tts.mouth import Mouth
from edgeagent.voice.spoken_reply import HeardMessage, SpokenLine, SpokenReply

Priority = Literal["normal", "urgent"]
LIMIT: Final = 100
"""Texts that may wait; a builder who says more than the robot can is told."""


class SpeechHandle(SpokenLine):
    """One text that the robot says by itself, once its queue resumes it. Any thread."""

    def __init__(self, queue: SpeechQueue, mouth: Mouth, text: str, *, interruptible: bool) -> None:
        super().__init__(mouth, suspended=True)
        self.interruptible = interruptible
        self._queue = queue
        self._over = threading.Event()
        self._heard = ""
        self.feed(text)
        self.end()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it was said, interrupted, cancelled, or the voice failed; False when the time was over first."""
        return self._over.wait(timeout)

    @property
    def done(self) -> bool:
        """Nothing more of it will be heard."""
        return self._over.is_set()

    @property
    def heard(self) -> str:
        """As far as it was heard, to the word; all of it when it is whole."""
        return self._heard if self._over.is_set() else self.heard_by(self._queue.now_s)

    def cancel(self) -> bool:
        """Takes it back, in the middle of a word if need be. True if it was not done."""
        return self._queue.cancel(self)

    def finish(self, *, drop: bool = False) -> None:
        """Marks the speech as done, for its queue. Safe to call again."""
        if self._over.is_set():
            return
        if self.tried:
            if drop:
                self.drop()
            self._heard = self.heard_by(math.inf)
            self._queue.finished.append(self)
        self._over.set()


class SpeechQueue:
    """The robot's side of the conversation, one after the other through one mouth.

    - A reply is spoken while its run streams it; replies follow one another without a gap.
    - ``say`` waits for a pause: nobody speaks, the robot neither, and no run is thinking.
    - ``say(priority="urgent")`` comes at once. What was being said falls silent, and goes on after it with the first
      word that was not heard.
    - ``aside`` is said as soon as the robot is silent and nobody speaks, also while a run thinks: announcements,
      fillers, questions of tools.
    - While somebody has the floor (``hold``) nothing begins but what is urgent, and nothing is lost: replies that begin
      meanwhile wait. What is not interruptible is said to its end.

    Args:
        mouth: Speaks; its playback is held and released here.
        limit: Texts that may wait.

    Attributes:
        now_s: Of the last tick.
        last_sound_s: When something was last heard of the robot; -inf if nothing was yet.
        finished: What it has said by itself since somebody last emptied this.
        last: What it has said last by itself, or says; None if a run has begun since.
    """

    def __init__(self, mouth: Mouth, *, limit: int = LIMIT) -> None:
        self.now_s = -math.inf
        self.last_sound_s = -math.inf
        self.finished: deque[SpeechHandle] = deque(maxlen=limit)
        self.last: SpeechHandle | None = None
        self._mouth = mouth
        self._limit = limit
        self._lock = threading.RLock()
        self._replies: list[SpokenReply] = []
        self._waiting: deque[SpeechHandle] = deque()
        self._asides: deque[SpeechHandle] = deque()
        self._urgent: deque[SpeechHandle] = deque()
        self._said: SpeechHandle | None = None
        """Speech by itself that is said now, or is suspended while something urgent is said."""
        self._said_urgently: SpeechHandle | None = None
        self._sounded: deque[SpokenLine] = deque(maxlen=2)
        """The lines that were heard last, the newest at the end."""
        self._held = self._suspended = self._closed = False

    # --- any thread -------------------------------------------------------------------------------------------------

    def say(self, text: str, *, priority: Priority = "normal", interruptible: bool = True) -> SpeechHandle:
        """Has the robot say something by itself.

        Args:
            priority: "urgent" does not wait for a pause.
            interruptible: False: a person who speaks over it does not end it; a stop word does.

        Raises:
            BusyError: Too much waits already.
            ConfigError: There is no such priority.
        """
        if priority not in get_args(Priority):
            raise ConfigError(f"there is no priority {priority!r}; there are {', '.join(get_args(Priority))}")
        return self._put(self._urgent if priority == "urgent" else self._waiting, text, interruptible)

    def aside(self, text: str) -> SpeechHandle:
        """Has the robot say something that belongs to what it is doing, before what waits for a pause.

        Raises:
            BusyError: Too much waits already.
        """
        return self._put(self._asides, text, True)

    def cancel(self, handle: SpeechHandle) -> bool:
        """As ``SpeechHandle.cancel``."""
        with self._lock:
            if handle.done:
                return False
            for queue in (self._waiting, self._asides, self._urgent):
                if handle in queue:
                    queue.remove(handle)
            handle.finish(drop=True)
            return True

    @property
    def held(self) -> bool:
        """Somebody has the floor."""
        return self._held

    @property
    def waiting(self) -> int:
        """Texts that have not begun."""
        with self._lock:
            return len(self._waiting) + len(self._asides) + len(self._urgent)

    def _put(self, queue: deque[SpeechHandle], text: str, interruptible: bool) -> SpeechHandle:
        handle = SpeechHandle(self, self._mouth, text, interruptible=interruptible)
        with self._lock:
            if self._closed or not text.strip():
                handle.finish()
            elif self.waiting >= self._limit:
                raise BusyError(f"{self._limit} texts wait to be said already; wait for the handle of an earlier one")
            else:
                queue.append(handle)
        return handle

    # --- the conversation's thread ----------------------------------------------------------------------------------

    def begin_reply(
        self,
        *,
        spoken: Callable[[str], str] | None = None,
        on_heard: Callable[[HeardMessage], object] = lambda heard: None,
        on_failure: Callable[[str], object] = lambda text: None,
    ) -> SpokenReply:
        """The voice of a run that is about to start, after those before it; arguments as ``SpokenReply`` has them.

        Begun while somebody has the floor, it says nothing until ``resume``. Any thread.
        """
        with self._lock:
            suspended = self._held or self._suspended
            reply = SpokenReply(
                self._mouth, spoken=spoken, suspended=suspended, on_heard=on_heard, on_failure=on_failure
            )
            self._suspended, self.last = suspended, None
            self._replies.append(reply)
            return reply

    def tick(self, now_s: float, *, may_begin: bool) -> None:
        """Tells what was heard, and begins what may begin.

        Args:
            now_s: The device's clock; more often than every 50 ms is of no use.
            may_begin: Nobody speaks and no run is thinking, so what waits for a pause may be said.
        """
        with self._lock:
            self.now_s = now_s
            if (line := self._sounding(now_s)) is not None:
                self.last_sound_s = now_s
                if line not in self._sounded:
                    self._sounded.append(line)
            replies = list(self._replies)
        for reply in replies:
            reply.tick(now_s)
        with self._lock:
            self._replies = [reply for reply in self._replies if not reply.is_over(now_s)]
            self._settle(now_s)
            if self._urgent and self._said_urgently is None:
                self._interpose()
            self._go_on()
            if not self._held and self._is_silent(now_s):
                if self._asides:
                    self._said = self._begin(self._asides)
                elif self._waiting and may_begin:
                    self._said = self._begin(self._waiting)

    def hold(self, *, everything: bool = False) -> None:
        """Somebody has the floor: silence within a block, in the middle of a word. Any thread.

        Args:
            everything: A stop word: silence also for what is not interruptible. Otherwise that goes on, and what was to
                follow it waits.
        """
        with self._lock:
            self._held = True
            if self._firm and not everything:
                self._suspend()
            else:
                self._mouth.playback.hold()

    def resume(self) -> None:
        """Nobody has the floor: what was held goes on where it was."""
        with self._lock:
            self._held = False
            self._mouth.playback.resume()
            self._settle(self.now_s)
            self._go_on()

    def cut(self, *, everything: bool = False) -> None:
        """An interruption is final: what was being said ends, and what has not begun waits on.

        Whether somebody has the floor does not change. Replies tell what was heard of them.

        Args:
            everything: A stop: also what is not interruptible, and what waits.
        """
        with self._lock:
            kept = [] if everything else [reply for reply in self._replies if reply.deferred and not reply.begun]
            ended = [reply for reply in self._replies if reply not in kept]
            self._replies = kept
            for handle in (self._said, self._said_urgently):
                if handle is not None and (everything or handle.interruptible):
                    handle.finish(drop=True)
            if everything:
                for queue in (self._waiting, self._asides, self._urgent):
                    while queue:
                        queue.popleft().finish()
            self._settle(self.now_s)
        for reply in ended:
            reply.cut()

    def close(self) -> None:
        """Says nothing more. Safe to call again; the mouth stays open."""
        self._closed = True
        self.cut(everything=True)

    def is_sounding(self, now_s: float) -> bool:
        """True if the robot is in the middle of saying something, be it held: from its first sample that was given to
        the device until the last has left it."""
        return self._sounding(now_s) is not None

    def saying(self, now_s: float) -> tuple[str, str]:
        """Returns the text that is being said, be it held: as far as it was heard, and the rest of it that is known.
        Any thread."""
        line = self._sounding(now_s)
        return ("", "") if line is None else line.rest(now_s)

    def said_between(self, from_s: float, until_s: float) -> str:
        """Returns the words that the robot began to say after one time and by another, of the two lines that were heard
        last. Any thread."""
        with self._lock:
            lines = tuple(self._sounded)
        return " ".join(line.heard_by(until_s)[len(line.heard_by(from_s)) :] for line in lines)

    def position_s(self, now_s: float) -> float:
        """Seconds that were heard of what is being said. Any thread."""
        line = self._sounding(now_s)
        return 0.0 if line is None else line.position_s(now_s)

    def _sounding(self, now_s: float) -> SpokenLine | None:
        with self._lock:
            handles = (self._said_urgently, self._said)
            said = (handle for handle in handles if handle is not None and not handle.done)
            lines = (*said, *(line for reply in self._replies for line in reply.lines))
            return next((line for line in lines if line.is_sounding(now_s)), None)

    def has_more(self, now_s: float) -> bool:
        """True if something is said, suspended, or about to be said, apart from what waits for a pause."""
        with self._lock:
            return not self._is_silent(now_s)

    # --- the lock is held -------------------------------------------------------------------------------------------

    @property
    def _firm(self) -> bool:
        """True if the speech of now must not be held."""
        said = self._said_urgently or self._said
        return said is not None and not said.done and not said.interruptible

    def _begin(self, queue: deque[SpeechHandle]) -> SpeechHandle:
        self.last = handle = queue.popleft()
        handle.resume()
        return handle

    def _is_silent(self, now_s: float) -> bool:
        """Nothing is said, suspended, or about to be said."""
        busy = self._said is not None or self._said_urgently is not None or self._suspended
        return not busy and all(reply.is_silent(now_s) for reply in self._replies)

    def _settle(self, now_s: float) -> None:
        """Ends what was said to its end."""
        for handle in (self._said, self._said_urgently):
            if handle is not None and handle.is_over(now_s):
                handle.finish()
        if self._said is not None and self._said.done:
            self._said = None
        if self._said_urgently is not None and self._said_urgently.done:
            self._said_urgently = None

    def _interpose(self) -> None:
        """Says something urgent now, whoever speaks."""
        self._suspend()
        if self._said is not None:
            self._said.suspend()
        self._said_urgently = self._begin(self._urgent)
        self._mouth.playback.resume()

    def _suspend(self) -> None:
        self._suspended = True
        for reply in self._replies:
            reply.suspend()

    def _go_on(self) -> None:
        """Resumes suspended speech, once nothing urgent or firm is said and nobody has the floor."""
        if self._said_urgently is not None or not (self._suspended or self._held):
            return
        if self._held:
            if not self._firm:
                self._mouth.playback.hold()
            return
        self._suspended = False
        if self._said is not None:
            self._said.resume()
        for reply in self._replies:
            reply.resume()
