"""Extras: the packages that hearing and speaking need beside those of a chat, as ``pyproject.toml`` names them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final, Literal

from edgeagent.errors import AudioError

Extra = Literal["voice", "whisper", "piper"]

MODULES: Final[Mapping[Extra, tuple[str, ...]]] = {
    "voice": (
        "espeakng_loader",
        "hibari",
        "onnx",
        "onnxruntime",
        "pocketsphinx",
        "pywebrtc_audio",
        "sounddevice",
        "soxr",
        "unicode_rbnf",
        "webrtcvad",
    ),
    "whisper": ("faster_whisper",),
    "piper": ("piper",),
}
"""Modules of each extra."""


def install(extra: Extra) -> str:
    """The command that installs an extra."""
    return f'pip install "edgeagent[{extra}]"'


def check(extra: Extra) -> None:
    """Refuses what needs an extra that is not installed.

    Raises:
        AudioError: The text names the command that installs it.
    """
    if lacking := [module for module in MODULES[extra] if find_spec(module) is None]:
        raise AudioError(f"hearing and speaking need {', '.join(lacking)}, not installed here: {install(extra)}")
