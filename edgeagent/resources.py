"""Where the files that come with the package are.

Knows nothing of what a model is, of the catalogue or of downloads. Any thread.
"""

from importlib.resources import files
from pathlib import Path

__all__ = ["models_dir"]


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
