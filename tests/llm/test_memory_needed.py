"""The memory that is computed from a header is what llama.cpp allocates."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeagent import LlamaLLM, ModelError
from edgeagent.llm import EngineSettings, KvType, Memory, memory_needed, native, read_header, sizes_of
from edgeagent.models import LanguageModel, language_models, store
from tests.llm.random_models import FAMILIES

MIB = 1 << 20
_SIZE = r"=\s*([\d.]+) MiB"


def allocated(caplog: pytest.LogCaptureFixture, path: Path, window: int, kv_type: KvType = "f16") -> Memory:
    """What llama.cpp says that it allocates for a model, in bytes; the weights as they lie in the file."""
    caplog.clear()
    with caplog.at_level("DEBUG", "edgeagent.llama"):
        llm = LlamaLLM(path, context_window=window, settings=EngineSettings(kv_type=kv_type, prefix_file=False))
        llm.load()
        llm.close()

    def told(buffer: str) -> int:
        return round(sum(float(size) for size in re.findall(rf"{buffer} buffer size {_SIZE}", caplog.text)) * MIB)

    return Memory(weights=told("CPU_Mapped model"), context=told("KV") + told("RS"), compute=told("compute"))


def computed(path: Path, window: int, kv_type: KvType = "f16") -> Memory:
    header = read_header(path)
    return memory_needed(header.bytes, sizes_of(header), window, kv_type=kv_type)


def check(real: Memory, ours: Memory) -> None:
    """Two percent, or what a graph of a very small model takes beside its logits. Weights may count the header too."""
    assert real.weights <= ours.weights + 0.01 * MIB
    assert ours.context == pytest.approx(real.context, rel=0.02, abs=0.03 * MIB)
    assert ours.compute == pytest.approx(real.compute, rel=0.02, abs=1.0 * MIB)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_architecture_takes_what_its_header_says(
    family: str,
    family_file: Callable[[str], Path],
    cut_file: Callable[[str], Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = (family_file if family == "phi3" else cut_file)(family)  # a whole vocabulary once
    for window in (1024, 8192):
        check(allocated(caplog, path, window), computed(path, window))


def test_coarser_keys_take_half(cut_file: Callable[[str], Path], caplog: pytest.LogCaptureFixture) -> None:
    path = cut_file("granite3")
    check(allocated(caplog, path, 8192, "q8_0"), computed(path, 8192, "q8_0"))
    assert computed(path, 8192, "q8_0").context == pytest.approx(computed(path, 8192).context * 8.5 / 16, rel=0.001)


@pytest.mark.parametrize("entry", language_models().values(), ids=lambda entry: entry.name)
def test_a_model_of_the_catalogue_takes_what_its_header_says(
    entry: LanguageModel, pulled_models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path,) = store.paths(entry)
    if not path.exists():
        pytest.skip(f"{entry.name} is not on this machine")
    for window in (1024, 4096):
        real, ours = allocated(caplog, path, window), computed(path, window)
        check(real, ours)
        assert ours.weights <= real.weights * 1.05 + 4 * MIB  # the vocabulary
    if entry.sizes is not None:
        assert sizes_of(read_header(path)) == entry.sizes


@pytest.mark.parametrize(
    ("name", "window", "context_mib", "compute_mib"),
    [
        ("smollm2-135m", 1024, 22.50, 12.28),
        ("smollm2-135m", 4096, 90.00, 12.28),
        ("qwen2.5-coder-0.5b", 1024, 12.00, 37.53),
        ("qwen2.5-coder-0.5b", 4096, 48.00, 37.53),
        ("qwen2.5-coder-1.5b", 1024, 28.00, 37.84),
        ("qwen2.5-coder-1.5b", 4096, 112.00, 37.84),
    ],
)
def test_the_catalogue_tells_what_llama_cpp_has_logged(
    name: str, window: int, context_mib: float, compute_mib: float
) -> None:
    """The figures are from llama-cpp-python 0.3.36 with these weights, on x86-64."""
    entry = language_models()[name]
    assert entry.bytes is not None
    assert entry.sizes is not None
    ours = memory_needed(entry.bytes, entry.sizes, window)
    assert ours.context / MIB == pytest.approx(context_mib, rel=0.001)
    assert ours.compute / MIB == pytest.approx(compute_mib, rel=0.01)


def test_a_model_that_would_not_fit_is_refused_before_it_is_loaded(
    nano: LlamaLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = computed(nano.path, 4096).total
    monkeypatch.setattr(native, "available_bytes", lambda: needed - 1)
    llm = LlamaLLM("nano", context_window=4096)
    with pytest.raises(ModelError, match=r"needs about .* window of 4096 .*context_window to 3584"):
        llm.load()
    monkeypatch.setattr(native, "available_bytes", lambda: 1 << 20)
    with pytest.raises(ModelError, match=r"MB are free: choose a smaller model \(edgeagent models list\)"):
        llm.load()
    monkeypatch.setattr(native, "available_bytes", lambda: needed)
    llm.load()
    llm.close()


def test_a_header_that_tells_no_sizes_counts_the_file_alone(write: Callable[..., Path]) -> None:
    header = read_header(write())
    header.metadata.clear()
    sizes = sizes_of(header)
    assert (sizes.kv_numbers, sizes.width, sizes.state_bytes) == (0, 0, 0)
    assert memory_needed(header.bytes, sizes, 4096).context == 0


def test_where_the_file_system_has_no_locks_a_model_is_taken_for_unused(
    babble_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("fcntl.flock", refused)
    assert not store.in_use(babble_file)


def test_a_loaded_model_is_marked_as_in_use_until_it_is_closed(babble_file: Path) -> None:
    llm = LlamaLLM(babble_file)
    assert not store.in_use(babble_file)
    llm.load()
    assert store.in_use(babble_file)
    llm.close()
    assert not store.in_use(babble_file)
