"""Utterance of a person, from its onset to its end: what is known of it so far.

Values for one thread, the conversation's. Times are seconds of the device's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final

from edgeagent.english.stop_phrases import Grade
from edgeagent.english.tokens import NEGATIONS, after
from edgeagent.stt.transcriber import Transcript
from edgeagent.voice.utterance import Kind

_WHOLE: Final = frozenset({Kind.COMMAND, Kind.QUESTION, Kind.CORRECTION, Kind.CONTROL, Kind.ANSWER})
"""Kinds of utterances that were said by themselves, whatever follows."""


@dataclass(slots=True)
class Turn:
    """One utterance."""

    utterance: int
    onset_s: float
    """Of the speech that is heard now; later than the beginning if speech was resumed after a dismissal."""
    began_s: float = field(init=False)
    """Of the utterance."""
    sound_s: float | None = None
    """When the sound of the utterance begins, from which the times of its words count; None: not known."""
    asleep: bool = False
    """True if the utterance began while the robot slept. Only a wake word in the utterance makes it count."""
    before: Turn | None = None
    """The turn that was answered already when the same utterance went on."""
    asked: str = ""
    """Request to the model that the turn led to."""
    settled: str = ""
    """The words before that: parts of the utterance that were answered by themselves, and are not asked again."""
    partial: str = ""
    certain_words: int = 0
    """Number of first words that are the same in the last two partial transcripts."""
    transcript: Transcript | None = None
    """Of all until the soft end; None while it is not known, or void because speech went on."""
    kind: Kind | None = None
    """Of the words until the soft end."""
    grade: Grade | None = None
    """Effect of those words as a stop phrase."""
    done: bool | None = None
    """Judgement of a turn-end model on the sound until the soft end; None without one."""
    soft_end_s: float | None = None
    ended: bool = False
    final: bool = False
    """True if the turn has interrupted the robot, or there was nothing to interrupt. Such a turn will be answered."""
    dismissed: bool = False
    """True if the turn is a stop word, a backchannel or a false alarm. Such a turn will not be answered."""
    waits: bool = False
    """True if the turn has asked the robot to wait."""
    stops: int = 0
    """Number of stop words in the turn that have counted."""
    cut: bool = False
    """True if the utterance was too long. Speech that follows belongs to this utterance."""
    lead: str = ""
    """The words of the turn that was cut before this one."""
    woken_s: float | None = None
    """When a wake word in it ended."""

    def __post_init__(self) -> None:
        self.began_s = self.onset_s if self.before is None else self.before.began_s

    @property
    def text(self) -> str:
        return self.partial if self.transcript is None else self.transcript.text

    def rest(self, transcript: Transcript) -> Transcript:
        """Returns the words that were said after the part that was answered already; all of it if nothing was.

        Also all of it where that part is heard otherwise now, or was no whole command or question, or has a "don't": it
        may belong to the rest.
        """
        before = self.before
        if before is None or before.kind not in _WHOLE or NEGATIONS.search(f"{before.lead} {before.text}"):
            return transcript
        rest = after(transcript.text, before.text) if before.text.strip() else None
        return replace(transcript, text=rest) if rest else transcript

    @property
    def answered(self) -> Turn | None:
        """The last part of it that the model was asked; parts after that were not understood."""
        part = self.before
        while part is not None and not part.asked:
            part = part.before
        return part

    @property
    def heard(self) -> str:
        """All of the utterance that was asked, be it in parts."""
        return f"{self.settled} {self.asked}".strip()

    @property
    def is_whole(self) -> bool:
        """Nothing of it was asked before."""
        return not self.lead and self.answered is None

    @property
    def speaking(self) -> bool:
        """Nobody has paused yet."""
        return self.soft_end_s is None and not self.ended

    def hear_partly(self, text: str) -> None:
        """Another guess at its words."""
        pairs = zip(self.partial.split(), text.split(), strict=False)
        self.certain_words = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.partial = text

    def resume(self, at_s: float) -> None:
        """Speech goes on after what looked like its end."""
        self.soft_end_s = self.done = None
        self.transcript = None
        if self.dismissed or not self.final:
            self.onset_s = at_s
            self.dismissed = False
            self.certain_words = 0

    @property
    def complete(self) -> bool:
        """True if the turn is over, and its words are known."""
        return self.ended and self.transcript is not None
