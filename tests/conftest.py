"""What every test may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from edgeagent import LlamaLLM

# A busy machine is no fault of what is tested: pytest's own limit ends an example that hangs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


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
