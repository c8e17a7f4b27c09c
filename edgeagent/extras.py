"""Extras: packages that hearing, speaking, the page and other programs need, as ``pyproject.toml`` names them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final, Literal

from edgeagent.errors import AudioError, ConfigError, EdgeAgentError

Extra = Literal["voice", "whisper", "piper", "mcp", "web"]

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
    "web": ("starlette", "uvicorn"),
}
"""Modules of each extra."""


def install(extra: Extra) -> str:
    """The command that installs an extra."""
    return f'pip install "edgeagent[{extra}]"'


def lacking(extra: Extra) -> list[str]:
    """The modules of an extra that are not installed."""
    return [module for module in MODULES[extra] if not is_here(module)]


def is_here(module: str) -> bool:
    """True if a module is installed."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # somebody keeps it from being imported
        return False


def check(extra: Extra) -> None:
    """Refuses what needs an extra that is not installed.

    Raises:
        AudioError: One of hearing or speaking; the text names the command that installs it.
        ConfigError: Another one, likewise.
    """
    if missing := lacking(extra):
        raise _error(missing, extra)


def explained(error: ModuleNotFoundError) -> EdgeAgentError | None:
    """An error that names the extra of a module that was not found; None if it is of none."""
    for extra, modules in MODULES.items():
        if error.name is not None and error.name.partition(".")[0] in modules:
            return _error([error.name], extra)
    return None


def _error(missing: list[str], extra: Extra) -> EdgeAgentError:
    told = f"{', '.join(missing)}, not installed here: {install(extra)}"
    if extra == "web":
        return ConfigError(f"--web needs {told}")
    if extra == "mcp":
        return ConfigError(f"MCP needs {told}")
    return AudioError(f"hearing and speaking need {told}")
