"""The voice that somebody named: of Hibari, of espeak-ng, or a Piper voice by its file or its name in the catalogue."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import SpeechError
from edgeagent.models.catalog import Voice, voices
from edgeagent.models.store import absent, is_here, paths
from edgeagent.resources import expanded
from edgeagent.tts.hibari import WPM
from edgeagent.tts.last_resort import WithLastResort
from edgeagent.tts.speaker import Speaker

NATURAL: Final = "heart"
"""The voice if nobody names one, where its packages are installed."""
PLAIN: Final = "en"
"""The voice of espeak-ng that speaks everywhere."""
_SETTINGS: Final = frozenset({"rate_wpm", "volume"})
"""Settings that neural voices have too."""
_PIPER_WPM: Final = 175


@cache
def has_natural() -> bool:
    """True if the packages of the natural voice are installed."""
    return all(map(find_spec, ("hibari", "onnx", "onnxruntime")))


def default_voice(**settings: Any) -> str:
    """Name of the voice if nobody names one: the natural one, unless a setting is beyond it.

    Args:
        settings: As of ``make_speaker``.
    """
    slowest, fastest = WPM
    fits = settings.keys() <= _SETTINGS and slowest <= settings.get("rate_wpm", slowest) <= fastest
    return NATURAL if fits and has_natural() else PLAIN


def make_speaker(voice: str | None = None, **settings: Any) -> Speaker:
    """The voice of a name. What a neural voice can't say, espeak-ng says.

    Args:
        voice: A name of the catalogue, such as heart or joe; a name of espeak-ng's, such as en-us; or the path of a
            Piper voice, which ends in .onnx. None: as ``default_voice`` has it.
        settings: ``rate_wpm`` and ``volume``; ``pitch`` of espeak-ng's voices alone.

    Raises:
        SpeechError: There is no such voice, or it has no such setting.
    """
    voice = voice or default_voice(**settings)
    entry = voices().get(voice)
    if entry is not None and not is_here(entry):
        raise SpeechError(absent(entry))
    neural = (entry is not None and entry.engine != "espeak") or voice.lower().endswith(".onnx")
    if not neural:
        if expanded(voice).is_file():
            raise SpeechError(f"{voice} is no voice: the file of a Piper voice ends in .onnx")
        return _espeak(PLAIN if entry is not None else voice, **settings)
    if lacking := sorted(settings.keys() - _SETTINGS):
        raise SpeechError(
            f"the voice {voice} has no {' and no '.join(lacking)}; espeak-ng's voices have, such as --voice {PLAIN}"
        )
    if entry is not None and entry.engine == "hibari":
        made = _hibari(entry, settings)
    else:
        made = _piper(voice, entry, dict(settings))
    return WithLastResort(made, lambda: _espeak(made.language, **settings))


def _espeak(voice: str, **settings: Any) -> Speaker:
    from edgeagent.tts.espeak import EspeakSpeaker

    return EspeakSpeaker(voice, **settings)


def _hibari(entry: Voice, settings: dict[str, Any]) -> Speaker:
    from edgeagent.tts.hibari import HibariSpeaker

    files = paths(entry)
    return HibariSpeaker(
        files[0] if files else None, name=entry.name, british=entry.languages == ("en-gb",), **settings
    )


def _piper(voice: str, entry: Voice | None, settings: dict[str, Any]) -> Speaker:
    from edgeagent.tts.piper import PiperSpeaker

    path: Path = expanded(voice) if entry is None else paths(entry)[0]
    rate_wpm = settings.pop("rate_wpm", None)
    return PiperSpeaker(path, length_scale=None if rate_wpm is None else _PIPER_WPM / rate_wpm, **settings)
