"""Lines that the robot says and the reply of a run, which is a line a message: what was heard of each is known.

A line may be said in several stretches if something more urgent comes between. A reply is a subscriber on the run's
thread, where it waits for nothing; the conversation's thread asks, suspends and cuts. Knows nothing of the order.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from edgeagent import events
from edgeagent.errors import AudioError, EdgeAgentError
from edgeagent.messages import Message
from edgeagent.session import Session
from edgeagent.session.spoken import aloud
from edgeagent.tts.mouth import Mouth, Speech

logger = logging.getLogger(__name__)


class SpokenLine:
    """A text that is spoken as it comes. Any thread.

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
            self._start = len(self.heard_by(math.inf))
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
        heard = self.heard_by(now_s)
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
    def tried(self) -> bool:
        """The mouth was given some of it."""
        with self._lock:
            return self._start > 0 or self._speech is not None

    @property
    def begun(self) -> bool:
        """Its first sample was given to the device."""
        with self._lock:
            return self._start > 0 or (self._speech is not None and self._speech.utterance.handed > 0)

    def heard_by(self, now_s: float) -> str:
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


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """Words of one message of the assistant's that were heard."""

    message_id: str
    text: str
    complete: bool
    """All of it was heard, and the model has finished it."""


class SpokenReply:
    """The voice of one run. Subscribe it before the run starts, or call it with the run's events.

    Args:
        mouth: Says it.
        spoken: What is said of a message's whole text, if that is not the text: the answer in a JSON object.
        suspended: Say nothing until ``resume``: somebody has the floor.
        on_heard: Told once of each message, when it was heard to its end or is cut; ``keep_heard`` is for this. On the
            thread of ``tick``, ``cut``, or the run.
        on_failure: Told why a message was not spoken to its end. On the thread of ``tick``.
    """

    def __init__(
        self,
        mouth: Mouth,
        *,
        spoken: Callable[[str], str] | None = None,
        suspended: bool = False,
        on_heard: Callable[[HeardMessage], object] = lambda heard: None,
        on_failure: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.deferred = False
        """Nobody has asked for it, and it was begun while somebody had the floor: an interruption of what was said
        before leaves it alone."""
        self._mouth = mouth
        self._to_speak = spoken
        self._on_heard, self._on_failure = on_heard, on_failure
        self._lock = threading.RLock()
        self._lines: list[SpokenLine] = []
        self._suspended = suspended
        self._cut = self._run_ended = False

    # --- the run's thread -------------------------------------------------------------------------------------------

    def __call__(self, event: events.Event) -> None:
        """Says what an event of the run holds for the ears."""
        match event:
            case events.MessageStart(message=message) if message.role == "assistant":
                self._open(message)
            case events.MessageUpdate(channel="text", delta=delta, message=message) if self._to_speak is None:
                self._feed(message, aloud(delta))
            case events.MessageEnd(message=message) if message.role == "assistant":
                self._close(message)
            case events.AgentEnd(abort_reason=reason, new_messages=messages):
                with self._lock:
                    self._run_ended = True
                if reason == "user" and any(message.stop_reason == "aborted" for message in messages):
                    self.cut()

    def _open(self, message: Message) -> SpokenLine:
        with self._lock:
            for known in self._lines:
                if known.message_id == message.id:
                    return known
            return self._begin(message.id)

    def _begin(self, message_id: str) -> SpokenLine:
        line = SpokenLine(self._mouth, message_id=message_id, suspended=self._suspended)
        if self._cut:
            line.drop()
        self._lines.append(line)
        return line

    def _feed(self, message: Message, delta: str) -> None:
        with self._lock:
            self._open(message).feed(delta)

    def _close(self, message: Message) -> None:
        with self._lock:
            line = self._open(message)
            text = (self._to_speak or aloud)(message.text)
            if not line.text:  # nothing was streamed: a hook's words, a tool's, or an answer out of JSON
                line.feed(text)
            line.end()
            unheard = self._cut and not line.told and bool(text)
            line.told = line.told or unheard
        if unheard:  # it began after the cut, before the run saw its end
            self._on_heard(HeardMessage(message.id, "", complete=False))

    def conclude(self, text: str) -> None:
        """Says what the run came to, if it has said nothing: for a result whose reply is in no message."""
        with self._lock:
            if text.strip() and not self._cut and not self.has_words:
                line = self._begin("")
                line.feed(text)
                line.end()

    # --- the conversation's thread ----------------------------------------------------------------------------------

    def suspend(self) -> None:
        """Silence within a block; the rest waits, and the run goes on."""
        with self._lock:
            self._suspended = True
            for line in self._lines:
                line.suspend()

    def resume(self) -> None:
        """Goes on with the first word that was not heard, after what is being said."""
        with self._lock:
            self._suspended = False
            for line in self._lines:
                line.resume()

    def tick(self, now_s: float) -> None:
        """Tells of the messages that were heard to their end since the last call, and of a voice that failed.

        Args:
            now_s: The device's clock.
        """
        told: list[HeardMessage] = []
        failures: list[str] = []
        with self._lock:
            for line in self._lines:
                if line.error is not None and not line.failure_told:
                    line.failure_told = True
                    failures.append(str(line.error))
                if not line.told and line.ended and line.is_over(now_s):
                    line.told = True
                    if line.text:
                        told.append(HeardMessage(line.message_id, line.heard_by(now_s), line.is_whole(now_s)))
        for text in failures:
            self._on_failure(text)
        self._tell(told)

    def cut(self) -> None:
        """Ends it within a block: an interruption is final, or the robot must stop. What the run says later is dropped.

        ``on_heard`` is told of every message that it has not been told of: here, or when the model is done with it.
        """
        told: list[HeardMessage] = []
        with self._lock:
            self._cut = True
            for line in self._lines:
                whole = line.is_whole(math.inf)
                line.drop()
                if not line.told and line.text:
                    line.told = True
                    told.append(HeardMessage(line.message_id, line.heard_by(math.inf), whole))
        self._tell(told)

    @property
    def lines(self) -> list[SpokenLine]:
        """The run's messages so far, as they are said."""
        with self._lock:
            return list(self._lines)

    @property
    def has_words(self) -> bool:
        """The run has said something, or is about to."""
        return any(line.text.strip() for line in self.lines)

    @property
    def begun(self) -> bool:
        """Some of it was given to the device."""
        return any(line.begun for line in self.lines)

    def is_silent(self, now_s: float) -> bool:
        """True if all that the run has said so far was heard, or dropped."""
        return all(line.is_over(now_s) or not line.text for line in self.lines)

    def is_over(self, now_s: float) -> bool:
        """True if the run has ended and nothing more of it will be heard or told."""
        with self._lock:
            told = all(line.told or not line.text for line in self._lines)
            return (self._run_ended or self._cut) and told and self.is_silent(now_s)

    def _tell(self, heard: Iterable[HeardMessage]) -> None:
        for one in heard:
            if one.message_id:
                self._on_heard(one)


def keep_heard(session: Session, heard: HeardMessage) -> None:
    """Cuts the history to what was heard of a message, if that is less than was said. Any thread."""
    if heard.complete:
        return
    try:
        session.set_heard(heard.message_id, heard.text)
    except EdgeAgentError as error:  # the session was reset meanwhile, or the run left nothing of it
        logger.info("nothing to cut: %s", error)
