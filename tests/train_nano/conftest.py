"""The scripts that train the nano model are no package: their folder goes on the path."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def scripts_on_path(checkout: Path) -> Iterator[Path]:
    folder = checkout / "scripts" / "lab" / "train_nano"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


@pytest.fixture(scope="session")
def corpus(scripts_on_path: Path) -> Any:
    """The phrase files, which every generator draws from."""
    from generate import load_corpus  # type: ignore[import-not-found]  # a script beside the trainer

    return load_corpus()
