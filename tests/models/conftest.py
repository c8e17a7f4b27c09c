"""What the tests of models share."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from edgeagent.models import Entry, catalog
from tests.models import servers
from tests.models.kit import use_catalogue
from tests.models.pulls import CARD, ONE, TWO, WHOLE, Heard, toml
from tests.models.servers import Served


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Entry]]:
    """The catalogue of the kit in the place of the real one; models lie in ``tmp_path / "models"``."""
    yield use_catalogue(monkeypatch, tmp_path)
    catalog.entries.cache_clear()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of models."""
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for variable in (
        "HF_TOKEN",
        "HF_HUB_OFFLINE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
    ):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with servers.hub() as served:
        served.files = {"people/voices/en/ann/ann.onnx": WHOLE, "people/voices/en/ann/ann.onnx.json": CARD}
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


@pytest.fixture
def index(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with servers.index() as served:
        served.files = dict([ONE, TWO])
        monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/simple/")
        yield served


@pytest.fixture
def write_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Puts a catalogue in the place of edgeagent's own."""
    monkeypatch.setattr(catalog, "models_dir", lambda: tmp_path)

    def write(**settings: str) -> Entry:
        (tmp_path / "catalog.toml").write_text(toml(**settings))
        catalog.entries.cache_clear()
        return catalog.entries()["ann"]

    yield write
    catalog.entries.cache_clear()
