"""Models from files: compared with the catalogue, and put in their place whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeagent.errors import ModelError
from edgeagent.models import Entry, Item, bundle, import_models, intake, items_of, store, verify
from tests.models.kit import CONTENT, digest, put, tree

Known = Mapping[str, Entry]


@pytest.fixture
def archive(known: Known, tmp_path: Path) -> Path:
    """A bundle of all models of the kit, from a machine whose models are gone again."""
    names = ("mind", "small", "ann")
    for name in names:
        put(known[name])
    bundle.write(tmp_path / "robot.tar", [file for name in names for file in items_of(known[name])])
    shutil.rmtree(tmp_path / "models")
    return tmp_path / "robot.tar"


def models(tmp_path: Path) -> dict[str, bytes]:
    return tree(tmp_path / "models") if (tmp_path / "models").exists() else {}


def test_a_bundle_is_put_where_models_lie(known: Known, archive: Path) -> None:
    counted: list[int] = []
    found = import_models(archive, on_bytes=counted.append)
    assert sorted(entry.name for entry in found) == ["ann", "mind", "small"]
    assert sum(counted) == sum(len(content) for content in CONTENT.values())
    for entry in found:
        assert store.is_here(entry)
        assert {finding.verdict for finding in verify(entry)} == {"ok"}
        assert {note.source for note in store.records(entry).values()} == {"the file robot.tar"}


def test_nothing_is_left_beside_the_models(archive: Path, tmp_path: Path) -> None:
    import_models(archive)
    assert not list((tmp_path / "models" / store.PARTS_FOLDER).iterdir())


def test_what_another_import_has_removed_meanwhile_is_no_error(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tmp_path / "models" / store.PARTS_FOLDER
    left = [parts / "import-1", parts / "import-2"]
    for folder in left:
        folder.mkdir(parents=True)
    remove = shutil.rmtree

    def both(folder: Path, **options: Any) -> None:
        for one in left if folder in left else [folder]:
            remove(one, **options)

    monkeypatch.setattr(shutil, "rmtree", both)
    assert import_models(archive)


def test_a_model_that_is_here_is_replaced_as_a_whole(known: Known, archive: Path) -> None:
    put(known["mind"], lambda content: b"an older one")
    (path,) = store.paths(known["mind"])
    with path.open("rb") as in_use:
        import_models(archive)
        assert in_use.read() == b"an older one"
    assert path.read_bytes() == CONTENT["mind.gguf"]


@pytest.mark.parametrize("at", [600, 3000, -1000, -1])
def test_a_damaged_bundle_leaves_everything_as_it_was(archive: Path, tmp_path: Path, at: int) -> None:
    data = bytearray(archive.read_bytes())
    data[at] ^= 1
    archive.write_bytes(data)
    with pytest.raises(ModelError, match=r"robot\.tar"):
        import_models(archive)
    assert models(tmp_path) == {}
    archive.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match=r"robot\.tar"):
        import_models(archive)
    assert models(tmp_path) == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "unheard"}, "has the model 'unheard', which this edgeagent does not know"),
        ({"model": "own"}, "has the model 'own', which"),
        ({"name": "other.gguf"}, "other files of mind than the catalogue"),
        ({"sha256": "0" * 64}, r"is not mind\.gguf of mind"),
        ({"bytes": 7}, r"has 7 bytes and should have 1,500"),
    ],
)
def test_a_bundle_of_something_else_is_refused_before_it_is_read(
    change: dict[str, Any], said: str, known: Known, tmp_path: Path
) -> None:
    right = Item(model="mind", name="mind.gguf", bytes=len(CONTENT["mind.gguf"]), sha256=digest("mind.gguf"))
    item = replace(right, **change)
    manifest = bundle._manifest([item])
    (tmp_path / "odd.tar").write_bytes(
        bundle._entry(bundle.MANIFEST, len(manifest)) + manifest + bundle._padding(len(manifest))
    )
    with pytest.raises(ModelError, match=said):
        import_models(tmp_path / "odd.tar")
    assert models(tmp_path) == {}


def test_a_single_file_is_known_by_its_content_whatever_its_name(known: Known, tmp_path: Path) -> None:
    (tmp_path / "renamed.gguf").write_bytes(CONTENT["mind.gguf"])
    (entry,) = import_models(tmp_path / "renamed.gguf")
    assert entry.name == "mind"
    assert store.paths(entry)[0].read_bytes() == CONTENT["mind.gguf"]


def test_a_voice_needs_the_file_beside_it(known: Known, tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(CONTENT["ann.onnx"])
    with pytest.raises(ModelError, match=r"half a voice: put x\.onnx\.json beside it"):
        import_models(tmp_path / "x.onnx")
    (tmp_path / "x.onnx.json").write_bytes(CONTENT["ann.onnx.json"])
    (entry,) = import_models(tmp_path / "x.onnx")
    assert store.paths(entry)[1].name == "ann.onnx.json"
    assert store.is_here(entry)


def test_the_folder_of_a_recogniser(known: Known, tmp_path: Path) -> None:
    folder = tmp_path / "whisper"
    folder.mkdir()
    (folder / "model.bin").write_bytes(CONTENT["model.bin"])
    with pytest.raises(ModelError, match=r"has no config\.json, which small needs"):
        import_models(folder)
    assert models(tmp_path) == {}
    (folder / "config.json").write_bytes(b"{}")
    (folder / "README.md").write_bytes(b"hello")
    (entry,) = import_models(folder)
    assert entry.name == "small"
    assert sorted(path.name for path in store.folder(entry).iterdir()) == ["config.json", "model.bin"]


def test_a_file_with_wrong_bytes_is_refused(known: Known, tmp_path: Path) -> None:
    (tmp_path / "mind.gguf").write_bytes(CONTENT["mind.gguf"][:-1] + b"!")
    with pytest.raises(ModelError, match=r"is not mind\.gguf of mind: its sha256 is"):
        import_models(tmp_path / "mind.gguf")
    (tmp_path / "mind.gguf").write_bytes(CONTENT["mind.gguf"][:-1])
    with pytest.raises(ModelError, match="1,499 bytes and should have 1,500"):
        import_models(tmp_path / "mind.gguf")
    assert models(tmp_path) == {}


@pytest.fixture
def newer(known: Known, tmp_path: Path) -> Path:
    """A bundle of a mind that its home has replaced, from a machine on which a person accepted that."""
    content = b"GGUF of a newer mind"
    sha256 = hashlib.sha256(content).hexdigest()
    put(known["mind"], lambda _: content)
    note = store.Pulled(bytes=len(content), sha256=sha256, source="the hub", date="2026-11-22", accepted=True)
    store.record(known["mind"], {"mind.gguf": note})
    bundle.write(tmp_path / "newer.tar", items_of(known["mind"]))
    shutil.rmtree(tmp_path / "models")
    return tmp_path / "newer.tar"


def test_what_was_accepted_where_a_bundle_was_written_can_be_accepted_here(known: Known, newer: Path) -> None:
    import_models(newer, accept_upstream=True)
    (note,) = store.records(known["mind"]).values()
    assert note.accepted
    assert [finding.text for finding in verify(known["mind"])] == [f"has the sha256 accepted on {note.date}"]
    assert [item.accepted for item, _ in items_of(known["mind"])] == [True]


def test_what_was_accepted_elsewhere_is_not_taken_unasked(newer: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"newer than the catalogue: its sha256 \w+ was accepted.*--accept-upstream"):
        import_models(newer)
    assert models(tmp_path) == {}


def test_accepting_upstream_takes_nothing_that_nobody_has_accepted(known: Known, tmp_path: Path) -> None:
    put(known["mind"], lambda _: b"GGUF of nobody's")
    (path,) = store.paths(known["mind"])
    item = Item(model="mind", name="mind.gguf", bytes=16, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    bundle.write(tmp_path / "odd.tar", [(item, path)])
    with pytest.raises(ModelError, match="by the catalogue: get the file again"):
        import_models(tmp_path / "odd.tar", accept_upstream=True)


def test_what_was_accepted_is_no_news_to_a_newer_catalogue(known: Known, tmp_path: Path) -> None:
    put(known["mind"])
    ((item, path),) = items_of(known["mind"])
    bundle.write(tmp_path / "robot.tar", [(replace(item, accepted=True), path)])
    import_models(tmp_path / "robot.tar")
    assert [note.accepted for note in store.records(known["mind"]).values()] == [False]


def test_a_file_that_the_catalogue_does_not_know(known: Known, tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF, my own")
    with pytest.raises(ModelError, match=r"no model of the catalogue.*--model FILE\.gguf"):
        import_models(tmp_path / "mine.gguf")
    with pytest.raises(ModelError, match="there is no file"):
        import_models(tmp_path / "none.gguf")


def test_a_full_disk_is_told_before_anything_is_written(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "free_bytes", lambda: 1000)
    with pytest.raises(ModelError, match="the disk is too small"):
        import_models(archive)
    assert models(tmp_path) == {}


def test_a_disk_that_fills_up_meanwhile_keeps_nothing(archive: Path, tmp_path: Path) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ModelError, match=r"robot\.tar can't be imported: No space left"):
        import_models(archive, on_bytes=full)
    assert models(tmp_path) == {}


def test_a_folder_that_cannot_be_written_is_told(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file in the place of the folder")
    with pytest.raises(ModelError, match=r"models can't be written to .*EDGEAGENT_MODELS"):
        import_models(archive)


def test_a_killed_import_is_tidied_up_by_the_next(archive: Path, tmp_path: Path) -> None:
    left = tmp_path / "models" / store.PARTS_FOLDER / "import-0123"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"x")
    with intake._staging() as running:
        import_models(archive)
        assert not left.exists()
        assert running.exists()


def test_an_interrupted_import_keeps_nothing(archive: Path, tmp_path: Path) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_models(archive, on_bytes=interrupt)
    assert models(tmp_path) == {}


def test_a_model_that_was_changed_is_not_bundled(known: Known) -> None:
    put(known["mind"], lambda content: content[:-1] + b"!")
    with pytest.raises(ModelError, match=r"is not mind\.gguf of mind"):
        items_of(known["mind"])


def test_a_model_that_is_not_here_is_not_bundled(known: Known) -> None:
    with pytest.raises(ModelError, match="edgeagent models pull mind"):
        items_of(known["mind"])
