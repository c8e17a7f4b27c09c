"""The person that tools ask by voice: approvals of what can't be undone, and the questions of question tools.

``confirm`` and ``question`` wait, on threads of runs; the conversation gives the answers and the time. One question at
a time; the next one waits for its turn.
"""

from __future__ import annotations

import itertools
import logging
import math
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

from edgeagent import events
from edgeagent.english.answers import yes_or_no
from edgeagent.errors import BusyError
from edgeagent.messages import ToolCall
from edgeagent.views import Answer, Unanswered
from edgeagent.voice.speech_queue import SpeechHandle, SpeechQueue
from edgeagent.voice.telling import command

logger = logging.getLogger(__name__)
ANSWER_S: Final = 15.0
"""Seconds that an answer is waited for after the question was said; the run itself may wait less."""
_HEARD_S: Final = 0.5
"""Seconds after the beginning of a question: a person who begins to speak sooner has not heard the question, and
answers something else."""


class _Question:
    """One question that is open."""

    def __init__(self, number: int, said: SpeechHandle, *, understands: Callable[[str], bool], yes_or_no: bool) -> None:
        self.number = number
        self.said = said
        self.yes_or_no = yes_or_no
        self.understands = understands
        self.answer: SimpleQueue[str | None] = SimpleQueue()
        self.begun_s = math.inf
        """When it began to be heard;"""
        self.since_s: float | None = None
        """when it was over."""


class VoicePerson:
    """Asks through the loudspeaker, and takes the next thing that is said for the answer.

    Args:
        queue: The question goes there, before what waits for a pause.
        answer_s: Seconds of the device's clock from the end of the question.
        on_asked: Called when a question is open, on the thread of the run.
    """

    def __init__(
        self, queue: SpeechQueue, *, answer_s: float = ANSWER_S, on_asked: Callable[[], object] = lambda: None
    ) -> None:
        self._queue, self._on_asked = queue, on_asked
        self._answer_s = answer_s
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._open: _Question | None = None
        self._given_up = 0
        self._numbers = itertools.count(1)

    # --- threads of runs --------------------------------------------------------------------------------------------

    def confirm(self, name: str, arguments: dict[str, Any], /) -> bool:
        """Asks whether a tool may do what can't be undone: only a clear yes is one."""
        wanted = command(ToolCall("", name, arguments))
        answer = self._ask(
            f"Shall I {wanted}? Yes or no?", understands=lambda text: yes_or_no(text) is not None, yes=True
        )
        return answer is not None and yes_or_no(answer) is True

    def question(self, questions: list[str], answer: Answer, /) -> None:
        """Asks one after the other; the answers are one text. The first that is not answered is told, and the last."""
        given: list[str] = []
        for question in questions:
            said = self._ask(question, understands=lambda text: bool(text.strip()))
            if said is None:
                answer.put(Unanswered("nobody answered"))
                return
            given.append(said)
        answer.put("\n".join(given))

    def _ask(self, question: str, *, understands: Callable[[str], bool], yes: bool = False) -> str | None:
        """Asks a question, and returns the words of the person; None if they are no answer, or none came."""
        round_of_asking = self._given_up
        with self._asking:
            try:
                said = self._queue.aside(question)
                opened = _Question(next(self._numbers), said, understands=understands, yes_or_no=yes)
            except BusyError as error:  # the builder says more than the robot can
                logger.warning("not asked: %s", error)
                return None
            with self._lock:
                if self._given_up != round_of_asking:  # the run has ended while another question was open
                    opened.answer.put(None)
                else:
                    self._open = opened
            self._on_asked()
            answer = opened.answer.get()
            opened.said.cancel()
            return answer

    # --- the conversation's thread ----------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """A question is open, or about to be asked."""
        return self._open is not None

    def hear(self, text: str, *, began_s: float) -> bool:
        """Takes what was said. False: it is no answer, and was meant otherwise; the question is over, unless who spoke
        had not heard it.

        Args:
            began_s: When that person began to speak, by the device's clock.
        """
        with self._lock:
            opened = self._open
            if opened is None or not text.strip() or began_s < opened.begun_s + _HEARD_S:
                return False
            self._open = None
            taken = opened.understands(text)
            opened.answer.put(text if taken else None)
            return taken

    @property
    def asked(self) -> tuple[int, str, bool] | None:
        """The number and the text of the question that is open, and True if it is answered by yes or no. Any thread."""
        opened = self._open
        return None if opened is None else (opened.number, opened.said.text, opened.yes_or_no)

    def answer(self, number: int, text: str) -> bool:
        """Takes a written answer to the question with that number. False: it is no answer, or not open. Any thread."""
        with self._lock:
            opened = self._open
            if opened is None or opened.number != number or not opened.understands(text):
                return False
            self._open = None
            opened.answer.put(text)
            return True

    def cut_short(self) -> bool:
        """Somebody speaks over a question: its sound ends, and it stays open. False: none is being said, or was."""
        with self._lock:
            opened = self._open
            if opened is None or math.isinf(opened.begun_s):
                return False
        opened.said.cancel()
        return True

    def tick(self, now_s: float) -> None:
        """Notes when a question is heard, and gives it up when its time is over.

        Args:
            now_s: The device's clock.
        """
        with self._lock:
            opened = self._open
            if opened is None:
                return
            if opened.said.begun or opened.said.done:
                opened.begun_s = min(opened.begun_s, now_s)
            if opened.since_s is None:
                opened.since_s = now_s if opened.said.done else None
            elif now_s - opened.since_s >= self._answer_s:
                self._close(opened)

    def give_up(self) -> None:
        """The run has ended or is stopped: nobody waits for an answer any more. Any thread; waits for nothing."""
        with self._lock:
            self._given_up += 1
            if self._open is not None:
                self._close(self._open)

    def __call__(self, event: events.Event) -> None:
        """A subscriber: the questions of a run end with it."""
        if isinstance(event, events.AgentEnd):
            self.give_up()

    def _close(self, opened: _Question) -> None:
        self._open = None
        opened.answer.put(None)
