"""The scripts that train the nano model are no package: their folder goes on the path."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def scripts_on_path(checkout: Path) -> Iterator[Path]:
    folder = checkout / "scripts" / "lab" / "train_nano"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder
