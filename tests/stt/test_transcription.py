"""Utterances on their way through a recogniser that does not follow."""

from __future__ import annotations

from queue import Queue

import numpy as np
import pytest

from edgeagent.stt import (
    RATE_HZ,
    EarlyLook,
    FinalTranscript,
    HearingEvent,
    RecognisedText,
    Transcription,
    Trouble,
)
from tests.stt.listening import LIMIT_S, Foresight, Notes


def test_an_utterance_that_goes_on_is_looked_at_where_the_recogniser_can() -> None:
    for transcriber, looks in (
        (Foresight(), [EarlyLook(1, RecognisedText("1.00 s so far", understood=False, engine="notes"), 1.5)]),
        (Notes(), []),
    ):
        told = Queue[HearingEvent]()
        transcription = Transcription(transcriber, told.put, lambda: 0.0, limit_s=LIMIT_S)
        transcription.begin(1, np.zeros(RATE_HZ, np.float32))
        transcription.look_early(1, 1.5)
        transcription.feed(np.zeros(RATE_HZ, np.float32))
        transcription.finish(1, 2.0)
        transcription.look_early(1, 2.5)
        done = Queue[None]()
        transcription.call(lambda done=done: done.put(None))
        done.get(timeout=LIMIT_S)
        transcription.close()
        events = [told.get() for _ in range(told.qsize())]
        assert [event for event in events if isinstance(event, EarlyLook)] == looks, "after the end it is decoded"
        assert isinstance(events[-1], FinalTranscript)


@pytest.mark.parametrize(("limit_s", "decoded"), [(0.0, 0), (LIMIT_S, 3)])
def test_what_has_waited_too_long_is_left_out_and_said(limit_s: float, decoded: int) -> None:
    notes, told = Notes(), Queue[HearingEvent]()
    transcription = Transcription(notes, told.put, lambda: 0.0, limit_s=limit_s)
    for number in (1, 2, 3):
        transcription.begin(number, np.zeros(RATE_HZ, np.float32))
        transcription.finish(number, float(number))
    done = Queue[None]()
    transcription.call(lambda: done.put(None))
    done.get(timeout=LIMIT_S)
    transcription.close()
    events = [told.get() for _ in range(told.qsize())]
    results = [event for event in events if isinstance(event, FinalTranscript)]
    assert [result.utterance for result in results] == [1, 2, 3], "each is known to have been said"
    assert len(notes.finished) == decoded
    assert [result.transcript.understood for result in results] == [decoded > 0] * 3
    assert ["more than it can follow" in event.text for event in events if isinstance(event, Trouble)] == [True] * (
        3 - decoded
    )
