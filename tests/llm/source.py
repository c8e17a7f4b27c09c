"""llama.cpp's real chat templates and vocabularies, out of the source of its Python binding, fetched once."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import platformdirs
import pytest

from edgeagent.llm import ChatTemplate

_KEPT: Final = ("vendor/llama.cpp/models/templates/", "vendor/llama.cpp/models/ggml-vocab-")


@cache
def llama_source() -> Path:
    """The folder ``models`` of llama.cpp's source in the version that is installed.

    Skips the test where it is not kept yet and no package index can be reached.
    """
    release = version("llama-cpp-python")
    kept = Path(platformdirs.user_cache_dir("edgeagent-tests")) / f"llama_cpp_python-{release}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            _fetch(Path(folder), release)
            (Path(folder) / kept.name).replace(kept)
    return kept / "vendor" / "llama.cpp" / "models"


def template_source(name: str) -> str:
    """The text of one of its chat templates, by the name of the file without ``.jinja``."""
    return (llama_source() / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


@cache
def chat_template(name: str) -> ChatTemplate:
    """One of its chat templates, compiled once for all tests: templates have no state."""
    return ChatTemplate(template_source(name), name)


def vocabulary_file(name: str) -> Path:
    """A GGUF that holds a real vocabulary and no weights: "qwen2", "llama-bpe", "gemma-4" and so on."""
    return llama_source() / f"ggml-vocab-{name}.gguf"


def _fetch(folder: Path, release: str) -> None:
    """Unpack templates and vocabularies of the source distribution into ``folder``."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
    command += [f"llama-cpp-python=={release}", "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"llama.cpp's source can't be fetched: {done.stderr.strip().splitlines()[-1:]}")
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        wanted = [m for m in tar if m.isfile() and m.name.partition("/")[2].startswith(_KEPT)]
        tar.extractall(folder, members=wanted, filter="data")
