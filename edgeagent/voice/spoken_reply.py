"""Speech of one run: its messages are spoken as they stream, and it is known what was heard of each.

A subscriber on the run's thread, where it waits for nothing; the conversation's thread asks and cuts. Announcements and
what the robot says by itself are no part of it.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from edgeagent import events
from edgeagent.errors import EdgeAgentError
from edgeagent.messages import Message
from edgeagent.session import Session
from edgeagent.session.spoken import aloud
from edgeagent.tts.mouth import Mouth
from edgeagent.voice.line import SpokenLine

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """Words of one message of the assistant's that were heard."""

    message_id: str
    text: str
    complete: bool
    """All of it was heard, and the model has finished it."""


@dataclass(slots=True)
class _Spoken:
    """A message and the line that says it; a text without a message has no id."""

    message_id: str
    line: SpokenLine
    told: bool = False
    failure_told: bool = False


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
        self._messages: list[_Spoken] = []
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
            case events.AgentEnd():
                with self._lock:
                    self._run_ended = True

    def _open(self, message: Message) -> _Spoken:
        with self._lock:
            for known in self._messages:
                if known.message_id == message.id:
                    return known
            opened = _Spoken(message.id, SpokenLine(self._mouth, suspended=self._suspended))
            if self._cut:
                opened.line.drop()
            self._messages.append(opened)
            return opened

    def _feed(self, message: Message, delta: str) -> None:
        with self._lock:
            self._open(message).line.feed(delta)

    def _close(self, message: Message) -> None:
        with self._lock:
            spoken = self._open(message)
            text = (self._to_speak or aloud)(message.text)
            if not spoken.line.text:  # nothing was streamed: a hook's words, a tool's, or an answer out of JSON
                spoken.line.feed(text)
            spoken.line.end()
            unheard = self._cut and not spoken.told and bool(text)
            spoken.told = spoken.told or unheard
        if unheard:  # it began after the cut, before the run saw its end
            self._on_heard(HeardMessage(message.id, "", complete=False))

    def conclude(self, text: str) -> None:
        """Says what the run came to, if it has said nothing: for a result whose reply is in no message."""
        with self._lock:
            if text.strip() and not self._cut and not self.has_words:
                line = SpokenLine(self._mouth, suspended=self._suspended)
                self._messages.append(_Spoken("", line))
                line.feed(text)
                line.end()

    # --- the conversation's thread ----------------------------------------------------------------------------------

    def suspend(self) -> None:
        """Silence within a block; the rest waits, and the run goes on."""
        with self._lock:
            self._suspended = True
            for spoken in self._messages:
                spoken.line.suspend()

    def resume(self) -> None:
        """Goes on with the first word that was not heard, after what is being said."""
        with self._lock:
            self._suspended = False
            for spoken in self._messages:
                spoken.line.resume()

    def tick(self, now_s: float) -> None:
        """Tells of the messages that were heard to their end since the last call, and of a voice that failed.

        Args:
            now_s: The device's clock.
        """
        told: list[HeardMessage] = []
        failures: list[str] = []
        with self._lock:
            for spoken in self._messages:
                line = spoken.line
                if line.error is not None and not spoken.failure_told:
                    spoken.failure_told = True
                    failures.append(str(line.error))
                if not spoken.told and line.ended and line.is_over(now_s):
                    spoken.told = True
                    if line.text:
                        told.append(HeardMessage(spoken.message_id, line.heard(now_s), line.is_whole(now_s)))
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
            for spoken in self._messages:
                line, whole = spoken.line, spoken.line.is_whole(math.inf)
                line.drop()
                if not spoken.told and line.text:
                    spoken.told = True
                    told.append(HeardMessage(spoken.message_id, line.heard(math.inf), whole))
        self._tell(told)

    def heard(self, now_s: float) -> list[HeardMessage]:
        """Returns the words that were heard of each message so far.

        Args:
            now_s: The device's clock; infinity counts what is on its way out.
        """
        with self._lock:
            return [
                HeardMessage(spoken.message_id, spoken.line.heard(now_s), spoken.line.is_whole(now_s))
                for spoken in self._messages
                if spoken.message_id and spoken.line.text
            ]

    @property
    def has_words(self) -> bool:
        """The run has said something, or is about to."""
        with self._lock:
            return any(spoken.line.text.strip() for spoken in self._messages)

    @property
    def begun(self) -> bool:
        """Some of it was given to the device."""
        with self._lock:
            return any(spoken.line.begun for spoken in self._messages)

    def position_s(self, now_s: float) -> float:
        """Seconds that were heard of the message that is being heard."""
        with self._lock:
            sounding = (spoken.line for spoken in self._messages if spoken.line.is_sounding(now_s))
            return max((line.position_s(now_s) for line in sounding), default=0.0)

    def is_sounding(self, now_s: float) -> bool:
        """True if a message is in the middle of being heard, be it held."""
        with self._lock:
            return any(spoken.line.is_sounding(now_s) for spoken in self._messages)

    def saying(self, now_s: float) -> tuple[str, str]:
        """The message that is being heard: as far as it was, and the rest that is known."""
        with self._lock:
            for spoken in self._messages:
                if spoken.line.is_sounding(now_s):
                    heard = spoken.line.heard(now_s)
                    return heard, spoken.line.text[len(heard) :]
        return "", ""

    def is_silent(self, now_s: float) -> bool:
        """True if all that the run has said so far was heard, or dropped."""
        with self._lock:
            return all(spoken.line.is_over(now_s) or not spoken.line.text for spoken in self._messages)

    def is_over(self, now_s: float) -> bool:
        """True if the run has ended and nothing more of it will be heard or told."""
        with self._lock:
            told = all(spoken.told or not spoken.line.text for spoken in self._messages)
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
