"""Which utterance a key phrase belongs to."""

from __future__ import annotations

from typing import Any

from edgeagent.cli import Utterances
from edgeagent.stt import (
    FinalTranscript,
    HardEnd,
    KeywordSpotted,
    RecognisedText,
    SoftEnd,
    SpeechStarted,
    SpottedPhrase,
)


class Shown:
    """A view that keeps what it is shown."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def show(self, event: Any) -> None:
        self.events.append(event)

    @property
    def verdicts(self) -> list[tuple[str, bool]]:
        return [(e.phrase, e.confirmed) for e in self.events if e.kind == "keyword" and e.confirmed is not None]


def test_a_late_transcript_says_nothing_of_the_next_utterances_phrase() -> None:
    shown = Shown()
    heard = Utterances(shown, ["stop"], None)  # type: ignore[arg-type]
    for event in (
        SpeechStarted(1, 1.0),
        SoftEnd(1, 2.0),
        HardEnd(1, 2.0, cut=False),
        SpeechStarted(2, 2.5),
        KeywordSpotted(SpottedPhrase("stop", 2.6, 2.9, 2.95, 1.0)),
        FinalTranscript(1, RecognisedText("could you please go to the kitchen", confidence=0.9), 2.0, 2.0),
    ):
        heard.take(0, event)
    assert shown.verdicts == []
    for event in (
        SoftEnd(2, 3.0),
        FinalTranscript(2, RecognisedText("stop", confidence=0.9), 3.0, 1.0),
        HardEnd(2, 3.0, False),
    ):
        heard.take(0, event)
    assert shown.verdicts == [("stop", True)]
