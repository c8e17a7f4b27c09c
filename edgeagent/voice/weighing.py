"""Words in doubt, from their transcript until the model has told what it would do for all that may have been said.

Runs on the conversation's thread. Knows neither turns nor the table: who asks for it says if the robot is at rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from edgeagent.english.answers import control_of
from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import NEGATIONS
from edgeagent.session.foresight import Foresight
from edgeagent.stt.confirming import occurrences
from edgeagent.stt.hearing import FinalTranscript
from edgeagent.voice.turn import without_wake_word
from edgeagent.voice.voice_settings import DialogueSettings

logger = logging.getLogger(__name__)

_MOST_S: Final = 2.0
"""Seconds after the end of speech in which the model may tell what it would do: then a person is asked."""


class Weighing:
    """One transcript at a time.

    Args:
        foresight: Asks the model.
        settings: Words.
        grade: Grades a text as a stop phrase, with what goes on now.
        post: Has something called on the conversation's thread. Any thread.
        take: Given the transcript in the end. It is likely if most of what may have been said asks for the same.
    """

    def __init__(
        self,
        foresight: Foresight,
        settings: DialogueSettings,
        grade: Callable[[str], Grade | None],
        *,
        post: Callable[[Callable[[], object]], object],
        take: Callable[[FinalTranscript], object],
    ) -> None:
        self._foresight, self._settings, self._grade = foresight, settings, grade
        self._post, self._take = post, take
        self._event: FinalTranscript | None = None
        self._slow = False
        """The model did not tell in time once: nothing is weighed any more, because a person waits for it in vain."""

    def begin(self, event: FinalTranscript) -> bool:
        """Begins to weigh words. False: there is nothing to weigh, or it may not be."""
        possible = () if self._slow else event.transcript.possible
        texts = [without_wake_word(text, self._settings.wake_words) for text, _ in possible]
        if not texts or any(map(self._is_none_of_the_models, texts)) or not self._foresight.ready:
            return False
        self._event = event
        shares = [(text, share) for text, (_, share) in zip(texts, possible, strict=True)]
        self._foresight.ask(shares, partial(self._told, event, texts))
        return True

    def end(self, text: str | None = None) -> None:
        """Gives the words on, if any are weighed.

        Args:
            text: What they count as; None: they stay in doubt.
        """
        event = self._event
        self.drop()
        if event is not None:
            transcript = event.transcript if text is None else replace(event.transcript, text=text, likely=True)
            self._take(replace(event, transcript=transcript))

    def drop(self) -> None:
        """Forgets the words: all of them are heard anew."""
        self._event = None
        self._foresight.leave()

    def tick(self, now_s: float) -> None:
        """Time passes: a slow model is not waited for, and not asked again."""
        if self._event is not None and now_s - self._event.at_s > _MOST_S:
            logger.info("the model is too slow to tell what it would do for words in doubt: a person is asked")
            self._slow = True
            self.end()

    def _is_none_of_the_models(self, text: str) -> bool:
        """True for what forbids something, or is a stop phrase or a control: no call of a model tells what it does; and
        for a wake word alone."""
        settings = self._settings
        if not text.strip() or NEGATIONS.search(text) or occurrences(text, settings.stop_words):
            return True
        return self._grade(text) is not None or control_of(text, settings.phrases.stops) is not None

    def _told(self, event: FinalTranscript, texts: list[str], text: str | None) -> None:
        """Any thread."""
        spoken = None if text is None else event.transcript.possible[texts.index(text)][0]
        self._post(lambda: self.end(spoken) if self._event is event else None)
