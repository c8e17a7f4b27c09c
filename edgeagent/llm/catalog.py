"""Which language models edgeagent knows by name, and where their files lie.

The table is ``models/catalog.toml``. Downloads nothing. Any thread.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import platformdirs

from edgeagent.errors import ModelError
from edgeagent.resources import models_dir

FOLDER_VARIABLE: Final = "EDGEAGENT_MODELS"
_CATALOG: Final = "catalog.toml"
_SUFFIX: Final = ".gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One language model of the catalogue."""

    name: str
    file: str
    licence: str
    tool_format: str
    """How it writes calls; a name of ``llm.parsers`` once that format is supported."""
    prefix_rollback: bool
    """Whether the context can go back to an earlier token; hybrid and recurrent models can't."""
    packaged: bool = False
    """The file comes with edgeagent."""
    repo: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    """None when nobody has told it yet."""


@cache
def entries() -> dict[str, Entry]:
    """The catalogue's language models by name."""
    table = tomllib.loads((models_dir() / _CATALOG).read_text(encoding="utf-8"))
    llms: dict[str, dict[str, Any]] = table["llm"]
    return {name: Entry(name=name, **fields) for name, fields in llms.items()}


def user_models_dir() -> Path:
    """The folder for downloaded models: ``EDGEAGENT_MODELS``, or the user's data folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("edgeagent")) / "models"


def find_model(model: str | os.PathLike[str]) -> tuple[str, Path]:
    """A model's name and file, from a path or a catalogue name.

    Raises:
        ModelError: The name is not in the catalogue, or its file is not there; the text says how to get it. A path is
            not looked at: reading its header does that.
    """
    text = os.fspath(model)
    entry = entries().get(text)
    if entry is None:
        if not isinstance(model, str) or text.endswith(_SUFFIX) or os.sep in text or Path(text).exists():
            path = Path(text).expanduser()
            return path.stem, path
        raise ModelError(
            f"there is no model {text!r}: give the path of a {_SUFFIX} file, or a name: {', '.join(entries())}"
        )
    if entry.packaged:
        path = models_dir() / entry.file
        if not path.exists():
            raise ModelError(f"edgeagent's own model {path} is missing: install edgeagent again")
        return entry.name, path
    path = user_models_dir() / entry.file
    if not path.exists():
        size = f" ({entry.bytes / 1e6:,.0f} MB)" if entry.bytes else ""
        raise ModelError(
            f"the model {entry.name} is not on this machine: download {entry.file}{size} from "
            f"https://huggingface.co/{entry.repo} and put it into {path.parent}"
        )
    return entry.name, path
