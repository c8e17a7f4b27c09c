"""What every test may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeagent import LlamaLLM


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def nano() -> Iterator[LlamaLLM]:
    """The model that is shipped."""
    llm = LlamaLLM("nano")
    yield llm
    llm.close()
