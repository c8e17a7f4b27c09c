"""Extras: packages that hearing, speaking and other programs need, as ``pyproject.toml`` names them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final, Literal

from edgeagent.errors import AudioError

Extra = Literal["voice", "whisper", "piper", "mcp"]

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
    "whisper": ("faster_whisper", "rapidfuzz", "threadpoolctl"),
    "piper": ("piper",),
    "mcp": ("mcp",),
}
"""Modules of each extra."""


def install(extra: Extra) -> str:
    """The command that installs an extra."""
    return f'pip install "edgeagent[{extra}]"'


def lacking(extra: Extra) -> list[str]:
    """The modules of an extra that are not installed."""
    return [module for module in MODULES[extra] if not _is_here(module)]


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # somebody keeps it from being imported
        return False


def check(extra: Extra) -> None:
    """Refuses what needs an extra that is not installed.

    Raises:
        AudioError: The text names the command that installs it.
    """
    if missing := lacking(extra):
        raise AudioError(_told(missing, extra))


def explained(error: ModuleNotFoundError) -> AudioError | None:
    """An error that names the extra of a module that was not found; None if it is of none."""
    for extra, modules in MODULES.items():
        if error.name is not None and error.name.partition(".")[0] in modules:
            return AudioError(_told([error.name], extra))
    return None


def _told(missing: list[str], extra: Extra) -> str:
    what = "MCP needs" if extra == "mcp" else "hearing and speaking need"
    return f"{what} {', '.join(missing)}, not installed here: {install(extra)}"
