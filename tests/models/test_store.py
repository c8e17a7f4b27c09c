"""Models on the disk: where they lie, what is here, removing, locking."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

import pytest

from edgeagent import LlamaLLM, ModelError
from edgeagent.models import Pulled, entries, find_model, store, user_models_dir

TINY = entries()["tiny.en"]
QWEN = entries()["qwen3-0.6b"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    return tmp_path


def put(home: Path) -> None:
    (home / "whisper/tiny.en").mkdir(parents=True)
    for path in store.paths(TINY):
        path.write_bytes(b"1234")


def test_a_name_whose_file_is_absent_says_what_brings_it(home: Path) -> None:
    with pytest.raises(ModelError, match=r"edgeagent models pull qwen3-0\.6b fetches it \(397 MB\)"):
        LlamaLLM("qwen3-0.6b")


def test_a_name_whose_file_is_there(home: Path) -> None:
    (home / "Qwen3-0.6B-Q4_K_M.gguf").symlink_to(find_model("nano")[1])
    llm = LlamaLLM("qwen3-0.6b")
    assert llm.name == "qwen3-0.6b"
    assert llm.path.parent == home


def test_without_the_variable_models_lie_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEAGENT_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert user_models_dir() == Path("/somewhere/edgeagent/models")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"no model 'qwen9'.*nano.*qwen3-0\.6b"):
        LlamaLLM("qwen9")


def test_a_recogniser_is_no_language_model() -> None:
    with pytest.raises(ModelError, match=r"no model 'tiny\.en'"):
        find_model("tiny.en")


@pytest.mark.parametrize("path", ["x.gguf", "./nano", "a/b"])
def test_what_looks_like_a_path_is_one(path: str) -> None:
    assert find_model(path)[1] == Path(path)
    assert find_model(Path("plain"))[1] == Path("plain")


def test_a_model_is_here_when_all_its_files_are(home: Path) -> None:
    assert not store.is_here(TINY)
    put(home)
    assert store.is_here(TINY)
    assert TINY in store.here()
    store.paths(TINY)[-1].unlink()
    assert not store.is_here(TINY)


def test_what_comes_with_edgeagent_is_here_and_is_not_removed() -> None:
    assert store.is_here(entries()["nano"])
    assert store.is_here(entries()["pocketsphinx"])
    with pytest.raises(ModelError, match="comes with edgeagent"):
        store.remove(entries()["nano"])


def test_removing_leaves_nothing_of_a_model_and_everything_of_others(home: Path) -> None:
    put(home)
    (home / QWEN.files[0].name).write_bytes(b"other")
    store.parts(TINY).mkdir(parents=True)
    (store.parts(TINY) / "piece").write_bytes(b"12345")
    store.record(TINY, {"model.bin": Pulled(bytes=4, sha256="ab", source="here", date="2026-11-22")})
    assert store.remove(TINY) == 4 * 4 + 5
    assert [path for path in home.rglob("*") if path.is_file()] == [home / QWEN.files[0].name]
    assert not (home / "whisper/tiny.en").exists()


def test_a_strangers_file_in_the_folder_of_a_model_stays(home: Path) -> None:
    put(home)
    (home / "whisper/tiny.en/notes.txt").write_text("mine")
    store.remove(TINY)
    assert (home / "whisper/tiny.en/notes.txt").read_text() == "mine"


def test_a_note_is_read_as_it_was_written(home: Path) -> None:
    assert store.records(TINY) == {}
    notes = {"model.bin": Pulled(bytes=4, sha256="ab", source="here", date="2026-11-22", accepted=True)}
    store.record(TINY, notes)
    assert store.records(TINY) == notes


def test_where_no_folder_can_be_there_are_no_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", "/dev/null/models")
    assert store.records(TINY) == {}


def test_notes_that_are_broken_are_told_with_their_file(home: Path) -> None:
    store.record(TINY, {})
    note = next(home.rglob("tiny.en.json"))
    note.write_text('{"model.bin": 3}')
    with pytest.raises(ModelError, match=str(note)):
        store.records(TINY)


def test_a_lock_keeps_another_holder_waiting_until_it_is_given_back(home: Path) -> None:
    waiting, taken = threading.Event(), threading.Event()

    def second() -> None:
        with store.lock(TINY, waiting.set):
            taken.set()

    with store.lock(TINY, lambda: pytest.fail("nobody has it")):
        other = threading.Thread(target=second)
        other.start()
        assert waiting.wait(30)
        assert not taken.is_set()
        with store.lock(QWEN, lambda: pytest.fail("another model has a lock of its own")):
            pass
    assert taken.wait(30)
    other.join(30)


def hold(home: str, held: multiprocessing.synchronize.Event) -> None:
    with store.lock(TINY):
        held.set()
        threading.Event().wait(60)


def test_the_lock_of_a_process_that_is_killed_is_free(home: Path) -> None:
    context = multiprocessing.get_context("fork")
    held = context.Event()
    holder = context.Process(target=hold, args=(str(home), held))
    holder.start()
    assert held.wait(30)
    holder.kill()
    holder.join(30)
    with store.lock(TINY, lambda: pytest.fail("its holder is dead")):
        pass


def test_a_folder_that_cannot_be_made_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path / "file/models"))
    with pytest.raises(ModelError, match="Set EDGEAGENT_MODELS to another folder"), store.lock(TINY):
        pass
