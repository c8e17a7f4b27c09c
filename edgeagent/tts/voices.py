"""The voice that somebody named: one of espeak-ng, or a Piper voice by its file or by its name in the catalogue."""

from __future__ import annotations

from typing import Any

from edgeagent.errors import SpeechError
from edgeagent.models.catalog import voices
from edgeagent.models.store import absent, is_here, paths
from edgeagent.resources import expanded
from edgeagent.tts.types import Speaker

DEFAULT_VOICE = "en"


def speaker(voice: str = DEFAULT_VOICE, **settings: Any) -> Speaker:
    """The voice of a name.

    Args:
        voice: A name of espeak-ng's, such as en-us; the path of a Piper voice, which ends in .onnx; or the name of a
            Piper voice in the catalogue, such as joe.
        settings: ``rate_wpm``, ``pitch`` and ``volume`` of espeak-ng; Piper has only ``rate_wpm`` of them.

    Raises:
        SpeechError: There is no such voice, or it has no such setting.
    """
    if (entry := voices().get(voice)) is not None:
        if not is_here(entry):
            raise SpeechError(absent(entry))
        voice = str(paths(entry)[0])
    if voice.lower().endswith(".onnx"):
        from edgeagent.tts.piper import PiperSpeaker

        if lacking := sorted(settings.keys() - {"rate_wpm"}):
            raise SpeechError(f"a Piper voice has no {' and no '.join(lacking)}; only espeak-ng's voices have")
        rate_wpm = settings.get("rate_wpm")
        return PiperSpeaker(expanded(voice), length_scale=None if rate_wpm is None else 175 / rate_wpm)
    if expanded(voice).is_file():
        raise SpeechError(f"{voice} is no voice: the file of a Piper voice ends in .onnx")
    from edgeagent.tts.espeak import EspeakSpeaker

    return EspeakSpeaker(voice, **settings)
