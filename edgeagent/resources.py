"""Finds the files that come with the package, expands a person's paths, makes folders for a moment and whole files.

Knows nothing of what a model is, of the catalogue or of downloads. Any thread.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from edgeagent.errors import ConfigError


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A new folder that is gone afterwards, whatever happens while it is made.

    ``tempfile.TemporaryDirectory`` knows of its folder only when it is there: a Ctrl-C in between leaves it behind.

    Raises:
        OSError: It can't be made.
    """
    path = Path(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(8)}")
    try:
        path.mkdir(mode=0o700)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of ``path`` at the end. An error leaves ``path`` as it was.

    Raises:
        OSError: It can't be written.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def absolute(path: str | os.PathLike[str]) -> Path:
    """The absolute path without ``.`` and ``..``. Links stay: one may lead to the version of now."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow the links


def expanded(path: str | os.PathLike[str]) -> Path:
    """A person's path, with the home folder in the place of ``~`` or ``~user``.

    Raises:
        ConfigError: There is no such user, or the user has no home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = Path(path).parts[0]
        raise ConfigError(f"{os.fspath(path)}: there is no home folder {user} on this machine") from None


def models_dir() -> Path:
    """Find the packaged models: `edgeagent/_models` in an installed wheel, `models/` beside the package in a checkout.

    A path, not a `Traversable`: llama.cpp maps the file itself, so the package has to lie unpacked on a disk.

    Raises:
        FileNotFoundError: the package is neither a whole wheel nor a checkout.
    """
    package = Path(str(files("edgeagent")))
    installed, checkout = package / "_models", package.parent / "models"
    if installed.is_dir():
        return installed
    # site-packages may hold a stranger's `models`: only beside our own pyproject.toml is it a checkout
    if checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError(f"edgeagent's models are missing: neither {installed} nor {checkout} is there")
