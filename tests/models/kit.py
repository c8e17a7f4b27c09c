"""A catalogue of small models, and a folder for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeagent.models import Entry, catalog, store

CONTENT = {
    "mind.gguf": b"GGUF of a mind " * 100,
    "model.bin": b"whisper " * 300,
    "config.json": b"{}",
    "ann.onnx": b"a voice " * 50,
    "ann.onnx.json": b'{"rate": 16000}',
}


def digest(name: str) -> str:
    return hashlib.sha256(CONTENT[name]).hexdigest()


def whole(name: str) -> str:
    """A file of the catalogue with its size and its sha256."""
    return f'{{ name = "{name}", bytes = {len(CONTENT[name])}, sha256 = "{digest(name)}" }}'


CATALOGUE = f"""
[llm.own]
description = "comes with edgeagent"
licence = "Apache-2.0"
packaged = true
tool_format = "hermes"
prefix_rollback = true
files = [{{ name = "own.gguf" }}]

[llm.mind]
description = "a mind"
licence = "Apache-2.0"
tool_format = "hermes"
prefix_rollback = true
hub = {{ repo = "people/mind" }}
files = [{whole("mind.gguf")}]

[recogniser.small]
description = "ears"
licence = "MIT"
engine = "whisper"
languages = ["en"]
hub = {{ repo = "people/small" }}
files = [{whole("model.bin")}, {{ name = "config.json" }}]

[voice.ann]
description = "a woman"
licence = "CC0-1.0"
engine = "piper"
languages = ["en"]
hub = {{ repo = "people/voices" }}
files = [{whole("ann.onnx")}, {{ name = "ann.onnx.json" }}]
"""


def use_catalogue(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str = CATALOGUE) -> dict[str, Entry]:
    """Puts a catalogue of a test in the place of the real one, and an empty folder in that of the user's models."""
    file = folder / "catalog.toml"
    file.write_text(text, encoding="utf-8")
    (folder / "own.gguf").write_bytes(b"GGUF of our own")
    found = dict(catalog.read(file))
    catalog.entries.cache_clear()
    monkeypatch.setattr("edgeagent.models.catalog.models_dir", lambda: folder)
    monkeypatch.setattr("edgeagent.models.store.models_dir", lambda: folder)
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(folder / "models"))
    return found


def put(entry: Entry, change: Callable[[bytes], bytes] = lambda content: content) -> None:
    """Puts the files of a model where models lie."""
    store.folder(entry).mkdir(parents=True, exist_ok=True)
    for path in store.paths(entry):
        path.write_bytes(change(CONTENT[path.name]))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but the locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".locks" not in path.parts
    }
