"""Utterances on their way through a recogniser that does not follow."""

from __future__ import annotations

from queue import Queue

import numpy as np
import pytest

from edgeagent.stt import RATE_HZ, FinalTranscript, HearingEvent, Transcription, Trouble
from tests.stt.listening import LIMIT_S, Notes


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
