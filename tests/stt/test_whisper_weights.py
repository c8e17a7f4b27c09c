"""Weights of Whisper's files, read and added to, on a real file of CTranslate2's: the fixture's."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeagent.errors import RecognitionError
from edgeagent.resources import models_dir
from edgeagent.stt import WhisperModel, add_learnt, hardened, read_weights
from tests.stt.speech import spoken

pytest.importorskip("faster_whisper")
FOLDER = Path(__file__).parent / "whisper_fixture"
DATA = (FOLDER / "model.bin").read_bytes()
MATRIX, BIAS = "encoder/layer_0/ffn/linear_0/weight", "encoder/layer_0/ffn/linear_0/bias"
END = DATA.index(b"\1\0\0\0\x1a\0decoder/projection")
"""Where the weights end; names of the same array stand behind them."""
DRIVE = "Drive two meters forward."


def learnt_of(folder: Path, name: str, data: bytes, **arrays: Any) -> None:
    """Writes a file of what was learnt for a model of that name and those bytes."""
    digest = np.frombuffer(hashlib.sha256(data).digest(), np.uint8)
    np.savez(folder / f"whisper_{name}_noise.npz", sha256=digest, **arrays)


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which what was learnt is looked for."""
    monkeypatch.setattr("edgeagent.stt.whisper_weights.models_dir", lambda: tmp_path)
    return tmp_path


def written(folder: Path) -> str:
    """The text that a model writes for a sentence that the fixture knows."""
    model = WhisperModel(folder, threads=1)
    return str(model.decode(model.encode(spoken(DRIVE), 30.0), "en")[0].text)


def test_the_weights_are_read_as_ctranslate2_has_them() -> None:
    weights = read_weights(DATA)
    assert weights["encoder/conv1/weight"].shape == (64, 80, 3)
    assert weights["decoder/embeddings/weight"].ndim == 2
    assert all(np.isfinite(array).all() for name, array in weights.items() if array.dtype.kind == "f")


def test_a_product_is_added_to_a_matrix_and_a_sum_to_anything_else() -> None:
    before = read_weights(DATA)
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, 64)) / 8, random.standard_normal((before[MATRIX].shape[0], 2)) / 8
    d = np.full(before[BIAS].shape, 0.25)
    data = bytearray(DATA)
    add_learnt(data, {f"{MATRIX}:a": a.astype(np.float16), f"{MATRIX}:b": b.astype(np.float16), f"{BIAS}:d": d})
    after = read_weights(data)
    assert np.allclose(after[MATRIX].astype(float), before[MATRIX] + b @ a, atol=0.01)
    assert np.allclose(after[BIAS].astype(float), before[BIAS] + d, atol=0.01)
    assert all(np.array_equal(after[name], before[name]) for name in before if name not in (MATRIX, BIAS))


@pytest.mark.parametrize(
    "learnt",
    [
        {"encoder/layer_9/ffn/linear_0/weight:d": np.zeros(3)},
        {f"{BIAS}:d": np.zeros(7)},
        {f"{MATRIX}:a": np.zeros((2, 64))},
        {f"{MATRIX}:a": np.zeros((2, 64)), f"{MATRIX}:b": np.zeros((5, 3))},
        {f"{MATRIX}:a": np.zeros(64), f"{MATRIX}:b": np.zeros(64)},
        {f"{BIAS}:d": np.zeros(1)},
        {f"{BIAS}:d": np.full(read_weights(DATA)[BIAS].shape, np.nan)},
        {f"{BIAS}:d": np.full(read_weights(DATA)[BIAS].shape, "a")},
        {"encoder/num_heads:d": np.zeros(())},
        {"no colon": np.zeros(3)},
    ],
    ids=[
        "another layer",
        "another shape",
        "half a product",
        "no product",
        "a number",
        "one for all",
        "not a number",
        "text",
        "no weight",
        "no name",
    ],
)
def test_what_was_learnt_of_another_model_is_refused(learnt: dict[str, np.ndarray]) -> None:
    with pytest.raises(RecognitionError, match="does not fit this Whisper model"):
        add_learnt(bytearray(DATA), learnt)


@given(cut=st.integers(0, END - 1))
def test_a_file_that_is_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(RecognitionError, match=r"model\.bin"):
        read_weights(DATA[:cut])


@given(st.binary(max_size=300))
def test_bytes_of_anything_else_are_refused(data: bytes) -> None:
    with pytest.raises(RecognitionError, match=r"model\.bin"):
        read_weights(data)


def test_a_model_hears_with_what_was_learnt_for_it(ours: Path) -> None:
    assert written(FOLDER) == DRIVE
    beta = read_weights(DATA)["encoder/layer_norm/beta"]
    learnt_of(ours, FOLDER.name, DATA, **{"encoder/layer_norm/beta:d": np.zeros(beta.shape)})
    with hardened(FOLDER) as files:
        assert files != FOLDER
    assert not files.exists()
    assert written(FOLDER) == DRIVE
    learnt_of(ours, FOLDER.name, DATA, **{"encoder/layer_norm/beta:d": np.full(beta.shape, 30.0)})
    assert written(FOLDER) != DRIVE


def test_nothing_is_added_to_a_model_of_other_bytes_or_another_name(ours: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(FOLDER, other)
    learnt_of(ours, FOLDER.name, DATA + b"other", **{f"{BIAS}:d": np.zeros(1)})
    for folder in (FOLDER, other):
        with hardened(folder) as files:
            assert files == folder


def test_a_model_that_fails_to_load_leaves_nothing_behind(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    folder = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, folder)
    (folder / "config.json").write_text("{")
    learnt_of(ours, FOLDER.name, DATA)
    open_files = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(RecognitionError, match="can't be loaded"):
        WhisperModel(folder, threads=1)
    assert set(Path("/proc/self/fd").iterdir()) <= open_files
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("lacking", ["a folder", "memory"])
def test_a_machine_that_lacks_something_hears_as_before(
    lacking: str, ours: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    learnt_of(ours, FOLDER.name, DATA)
    if lacking == "a folder":
        monkeypatch.setattr(tempfile, "tempdir", str(ours / "nowhere"))
    else:

        def refuse(name: str) -> int:
            raise PermissionError(f"no memory for {name}")

        monkeypatch.setattr(os, "memfd_create", refuse)
    assert written(FOLDER) == DRIVE
    assert "hears without what it has learnt of noise" in caplog.text


def test_links_and_folders_beside_the_weights_do_no_harm(ours: Path, tmp_path: Path) -> None:
    folder = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, folder)
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("missing")
    (folder / "more").mkdir()
    learnt_of(ours, FOLDER.name, DATA)
    assert written(folder) == DRIVE


@pytest.mark.parametrize("broken", [b"PK not a zip", b"", b"\x93NUMPY"])
def test_a_broken_file_of_what_was_learnt_is_told(broken: bytes, ours: Path) -> None:
    (ours / f"whisper_{FOLDER.name}_noise.npz").write_bytes(broken)
    with pytest.raises(RecognitionError, match=r"whisper_fixture_noise\.npz is broken"):
        WhisperModel(FOLDER, threads=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(at=st.integers(0, 600), bit=st.integers(0, 7))
def test_a_bit_that_was_lost_is_told_or_does_no_harm(at: int, bit: int, ours: Path) -> None:
    """Anything but a RecognitionError, or weights that can't be read, is a fault."""
    learnt_of(ours, FOLDER.name, DATA, **{f"{BIAS}:d": np.zeros(read_weights(DATA)[BIAS].shape, np.float16)})
    file = ours / f"whisper_{FOLDER.name}_noise.npz"
    data = bytearray(file.read_bytes())
    data[at % len(data)] ^= 1 << bit
    file.write_bytes(data)
    with suppress(RecognitionError), hardened(FOLDER) as files:
        assert set(read_weights((files / "model.bin").read_bytes())) == set(read_weights(DATA))


def test_what_ships_was_learnt_for_the_model_of_the_catalogue() -> None:
    catalog = tomllib.loads((models_dir() / "catalog.toml").read_text(encoding="utf-8"))
    [weights] = [file for file in catalog["recogniser"]["tiny.en"]["files"] if file["name"] == "model.bin"]
    with np.load(models_dir() / "whisper_tiny.en_noise.npz") as learnt:
        assert learnt["sha256"].tobytes().hex() == weights["sha256"]
        assert all(np.isfinite(learnt[name]).all() for name in learnt.files)
        assert {name.rpartition("/")[0].partition("/")[0] for name in learnt.files if name != "sha256"} == {"encoder"}
