"""Events of the ears as the events that a conversation tells: one translator, for ``talk`` and for ``listen``.

Only translates. When an event is told is for those to say who hear it: an onset may be told again when speech goes on,
and a hard end may come before the ears know of it. Pure, any thread.
"""

from __future__ import annotations

from typing import Any

from edgeagent import events
from edgeagent.stt import hearing
from edgeagent.stt.hearing import HearingEvent

Translated = tuple[type[events.VoiceEvent], dict[str, Any]]
"""The class of an event, and its fields beside its time and its run."""


def translated(event: HearingEvent) -> Translated | None:
    """Returns what is told of an event of the ears; None if nothing is."""
    match event:
        case hearing.SpeechStarted() | hearing.SpeechResumed():
            return events.SpeechStart, {}
        case hearing.SoftEnd():
            return events.SpeechEnd, {"soft": True}
        case hearing.HardEnd():
            return events.SpeechEnd, {"soft": False}
        case hearing.PartialTranscript(transcript=transcript):
            return events.Partial, {"text": transcript.text}
        case hearing.FinalTranscript(transcript=transcript, latency_s=latency_s):
            return events.Transcript, {
                "text": transcript.text,
                "words": transcript.words,
                "confidence": transcript.confidence,
                "latency_s": latency_s,
                "engine": transcript.engine,
                "understood": transcript.understood,
            }
        case hearing.KeywordSpotted(keyword=keyword):
            return events.Keyword, {"phrase": keyword.phrase, "confirmed": None}
        case hearing.Trouble(part=part, text=text):
            return events.Device, {"state": "trouble", "name": f"{part}: {text}"}
        case hearing.Level() | hearing.Judged() | hearing.EarlyLook() | hearing.WaitSpotted():
            return None
