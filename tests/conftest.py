"""What every test may ask for."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import platformdirs
import pytest
from hypothesis import HealthCheck, settings

from edgeagent import LlamaLLM
from edgeagent.models import FOLDER_VARIABLE, user_models_dir

# A busy machine is no fault of what is tested: pytest's own limit ends an example that hangs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# To compile this package is half of what a command needs to start. Where nothing may be written beside the sources, the
# processes that tests start keep what they have compiled elsewhere.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(platformdirs.user_cache_dir("edgeagent-tests")) / "compiled")
    # To rewrite the assertions of all tests takes this process longer than everything else before the first one.
    sys.pycache_prefix, sys.dont_write_bytecode = os.environ["PYTHONPYCACHEPREFIX"], False


# What somebody has pulled is for the tests that ask for it: the others hear and say the same on every machine. A worker
# of pytest-xdist inherits what its parent has set.
_PULLED = Path(os.environ.setdefault("PYTEST_PULLED_MODELS", str(user_models_dir())))
_NONE_PULLED = tempfile.TemporaryDirectory(prefix="edgeagent-models-")
os.environ[FOLDER_VARIABLE] = _NONE_PULLED.name


_BY_THE_CLOCK = "mark.real_time"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files without a test that goes by the clock where no other test is asked for."""
    if config.option.markexpr != "real_time" or collection_path.suffix != ".py":
        return None
    return True if _BY_THE_CLOCK not in collection_path.read_text(encoding="utf-8") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a test that ``pytest_ignore_collect`` would overlook: its file must name the mark."""
    for path in {item.path for item in items if item.get_closest_marker("real_time")}:
        if _BY_THE_CLOCK not in path.read_text(encoding="utf-8"):
            raise pytest.UsageError(f"{path} has a test that goes by the clock, but does not say {_BY_THE_CLOCK}")


@pytest.fixture(scope="module")
def pulled_models() -> Iterator[Path]:
    """The folder of the models that were pulled on this machine, which a module's tests use from here on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(_PULLED))
        yield _PULLED


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


@pytest.fixture(scope="session")
def ears_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for commands that hear, which build the language model of an app's ears once for all tests."""
    return tmp_path_factory.mktemp("ears-cache")


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of the benchmarks, which keep their results in a cache of this test's."""
    monkeypatch.syspath_prepend(str(checkout / "scripts" / "lab"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "bench"]:
        monkeypatch.delitem(sys.modules, name)

    def module(name: str) -> ModuleType:
        return pytest.importorskip(f"bench.{name}")

    return module
