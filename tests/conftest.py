"""What every test may ask for."""

import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest
from hypothesis import HealthCheck, settings

from edgeagent import LlamaLLM

# A busy machine is no fault of what is tested: pytest's own limit ends an example that hangs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# To compile this package is half of what a command needs to start. Where nothing may be written beside the sources, the
# processes that tests start keep what they have compiled elsewhere.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(platformdirs.user_cache_dir("edgeagent-tests")) / "compiled")


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
