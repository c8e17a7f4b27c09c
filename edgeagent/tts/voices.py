"""The voice that somebody named: one of espeak-ng, or a Piper voice by its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeagent.tts.types import Speaker

DEFAULT_VOICE = "en"


def speaker(voice: str = DEFAULT_VOICE, **settings: Any) -> Speaker:
    """The voice of a name.

    Args:
        voice: A name of espeak-ng's, such as en-us; or the path of a Piper voice, which ends in .onnx.
        settings: ``rate_wpm``, ``pitch`` and ``volume`` of espeak-ng; Piper has only ``rate_wpm`` of them.

    Raises:
        SpeechError: There is no such voice.
    """
    if voice.endswith(".onnx"):
        from edgeagent.tts.piper import PiperSpeaker

        rate_wpm = settings.get("rate_wpm")
        return PiperSpeaker(Path(voice).expanduser(), length_scale=None if rate_wpm is None else 175 / rate_wpm)
    from edgeagent.tts.espeak import EspeakSpeaker

    return EspeakSpeaker(voice, **settings)
