"""Models by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeagent import LlamaLLM, ModelError
from edgeagent.llm.catalog import entries, find_model, user_models_dir


def test_every_entry_can_be_fetched_and_checked_by_hand() -> None:
    assert len(entries()) == 15
    for entry in entries().values():
        assert entry.file.endswith(".gguf")
        assert entry.licence
        assert entry.tool_format
        if not entry.packaged:
            assert entry.repo is not None
            assert entry.repo.count("/") == 1
        assert entry.sha256 is None or len(bytes.fromhex(entry.sha256)) == 32


def test_a_name_whose_file_is_absent_says_repo_file_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        LlamaLLM("qwen3-0.6b")
    for part in ("unsloth/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q4_K_M.gguf", str(tmp_path)):
        assert part in str(caught.value)


def test_a_name_whose_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, babble_file: Path) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    (tmp_path / "Qwen3-0.6B-Q4_K_M.gguf").write_bytes(babble_file.read_bytes())
    llm = LlamaLLM("qwen3-0.6b")
    assert llm.name == "qwen3-0.6b"
    assert llm.path.parent == tmp_path


def test_without_the_variable_models_lie_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEAGENT_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert user_models_dir() == Path("/somewhere/edgeagent/models")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"no model 'qwen9'.*nano.*qwen3-0\.6b"):
        LlamaLLM("qwen9")


@pytest.mark.parametrize("path", ["x.gguf", "./nano", "a/b"])
def test_what_looks_like_a_path_is_one(path: str) -> None:
    assert find_model(path)[1] == Path(path)
    assert find_model(Path("plain"))[1] == Path("plain")
