"""Bundles: the same files give the same bytes, and nothing but a bundle is read as one."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.errors import ModelError
from edgeagent.models import Bundle, Item, bundle

FILES = {("ann", "ann.onnx"): b"a voice" * 90, ("ann", "ann.json"): b"", ("mind", "mind.gguf"): b"GGUF" * 512}


def prepared(folder: Path) -> list[tuple[Item, Path]]:
    found = []
    for (model, name), content in FILES.items():
        (folder / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        found.append((Item(model=model, name=name, bytes=len(content), sha256=digest), folder / name))
    return found


@pytest.fixture
def files(tmp_path: Path) -> list[tuple[Item, Path]]:
    return prepared(tmp_path)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("bundle")
    bundle.write(folder / "robot.tar", prepared(folder))
    return (folder / "robot.tar").read_bytes()


def read(data: bytes, folder: Path) -> dict[str, bytes]:
    """What a bundle writes into an empty folder."""
    folder.mkdir(exist_ok=True)
    Bundle(io.BytesIO(data), "robot.tar").extract(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_brings_what_was_put_into_it(archive: bytes, tmp_path: Path) -> None:
    assert read(archive, tmp_path) == {f"{model}/{name}": content for (model, name), content in FILES.items()}


def test_the_same_files_give_the_same_bytes_in_any_order(
    files: list[tuple[Item, Path]], tmp_path: Path, archive: bytes
) -> None:
    for _, path in files:
        os.utime(path, (1, 1))
    bundle.write(tmp_path / "again.tar", files[::-1])
    assert (tmp_path / "again.tar").read_bytes() == archive
    assert bundle.size([item for item, _ in files]) == len(archive)


def test_any_tar_shows_what_is_in_it(archive: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.getnames() == ["manifest.json", "ann/ann.json", "ann/ann.onnx", "mind/mind.gguf"]


def test_a_bundle_that_is_there_is_replaced_only_when_told(files: list[tuple[Item, Path]], tmp_path: Path) -> None:
    target = tmp_path / "robot.tar"
    target.write_bytes(b"mine")
    with pytest.raises(ModelError, match=r"is there already.*--force"):
        bundle.write(target, files)
    assert target.read_bytes() == b"mine"
    bundle.write(target, files, overwrite=True)
    assert target.stat().st_size > 4
    with pytest.raises(ModelError, match="is a folder"):
        bundle.write(tmp_path, files, overwrite=True)


@pytest.mark.parametrize("content", [b"GGUF" * 511, b"GGUF" * 511 + b"GGUE", b"GGUF" * 512 + b"!"])
def test_a_file_that_changes_while_it_is_read_leaves_no_bundle(
    files: list[tuple[Item, Path]], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "mind.gguf").write_bytes(content)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ModelError, match=r"mind\.gguf changed while it was read"):
        bundle.write(tmp_path / "robot.tar", files)
    assert sorted(tmp_path.iterdir()) == before


def test_a_full_disk_leaves_no_bundle(
    files: list[tuple[Item, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelError, match=r"robot\.tar can't be written: No space left"):
        bundle.write(tmp_path / "robot.tar", files)
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_is_missing_is_told(files: list[tuple[Item, Path]], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be written: No such file"):
        bundle.write(tmp_path / "none" / "robot.tar", files)


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar archive as anybody could make it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def with_manifest(archive: bytes, *members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A bundle's own manifest, and other entries behind it."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        content = manifest.read()
    return tar_of((member("manifest.json"), content), *members)


@pytest.mark.parametrize(
    "entry",
    [
        (member("../outside"), b""),
        (member("/outside"), b""),
        (member("ann/../../outside"), b""),
        (member("ann/ann.json", tarfile.SYMTYPE, "/etc/passwd"), b""),
        (member("ann/ann.json", tarfile.LNKTYPE, "manifest.json"), b""),
        (member("ann/ann.json", tarfile.FIFOTYPE), b""),
        (member("ann/ann.json", tarfile.CHRTYPE), b""),
        (member("ann", tarfile.DIRTYPE), b""),
        (member("ann/ann.json"), b"more"),
    ],
    ids=lambda entry: f"{entry[0].name} {entry[0].type!r}",
)
def test_what_the_manifest_does_not_name_is_refused(
    entry: tuple[tarfile.TarInfo, bytes], archive: bytes, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"ann/ann\.json is not as the manifest says"):
        read(with_manifest(archive, entry), tmp_path / "in")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b'{"edgeagent_bundle": 2, "files": []}',
        b'{"files": [{"model": "a", "name": "b"}]}',
        b'{"files": [{"model": "..", "name": "passwd", "bytes": 1, "sha256": ""}]}',
        b'{"files": [{"model": "a", "name": "x/y", "bytes": 1, "sha256": ""}]}',
        b'{"files": [{"model": "a", "name": "b", "bytes": -1, "sha256": ""}]}',
        b'{"files": [{"model": "a", "name": "b", "bytes": 99999999999999, "sha256": ""}]}',
        b"[" * 100_000,
    ],
)
def test_a_manifest_that_is_none_is_refused(manifest: bytes) -> None:
    with pytest.raises(ModelError, match="damaged: its manifest"):
        Bundle(io.BytesIO(tar_of((member("manifest.json"), manifest))), "robot.tar")


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", bytes(512), b"x" * 2000, tar_of((member("readme"), b"hello"))], ids=str
)
def test_another_file_is_no_bundle(data: bytes) -> None:
    with pytest.raises(ModelError, match=r"robot\.tar is no bundle of models"):
        Bundle(io.BytesIO(data), "robot.tar")


def test_a_manifest_that_claims_to_be_huge_is_not_read() -> None:
    info = member("manifest.json")
    info.size = 1 << 32
    with pytest.raises(ModelError, match="no bundle"):
        Bundle(io.BytesIO(info.tobuf(tarfile.USTAR_FORMAT)), "robot.tar")


@given(data=st.data())
def test_a_bundle_that_was_cut_is_refused(data: st.DataObject, archive: bytes, tmp_path_factory) -> None:
    length = data.draw(st.integers(0, len(archive) - 1))
    with pytest.raises(ModelError, match=r"damaged|no bundle"):
        read(archive[:length], tmp_path_factory.mktemp("in"))


@given(data=st.data())
def test_a_bundle_with_a_changed_byte_is_refused(data: st.DataObject, archive: bytes, tmp_path_factory) -> None:
    at, bit = data.draw(st.integers(0, len(archive) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(archive)
    changed[at] ^= 1 << bit
    with pytest.raises(ModelError, match=r"damaged|no bundle"):
        read(bytes(changed), tmp_path_factory.mktemp("in"))


@given(data=st.data())
def test_nothing_may_be_put_into_a_bundle(data: st.DataObject, archive: bytes, tmp_path_factory) -> None:
    at, more = data.draw(st.integers(0, len(archive))), data.draw(st.binary(min_size=1, max_size=1100))
    changed = archive[:at] + more + archive[at:]
    if changed != archive:
        with pytest.raises(ModelError, match=r"damaged|no bundle"):
            read(changed, tmp_path_factory.mktemp("in"))
