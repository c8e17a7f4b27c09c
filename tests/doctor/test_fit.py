"""What fits on a machine, before anything is fetched or loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from edgeagent.doctor import Machine, fit, machine_of, memory, this_machine, window_of
from edgeagent.doctor import machine_section as fits
from edgeagent.llm import Memory
from edgeagent.models import (
    PROFILES,
    LanguageModel,
    Profile,
    ProfileName,
    Recogniser,
    Voice,
    entries,
    language_models,
    nearest,
)

MB = 1_000_000
ROBOT = Machine(name="robot", total=1000 * MB, free=600 * MB, cores=4, architecture="aarch64")


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))


def of(total_mb: int) -> Memory:
    return Memory(weights=total_mb * MB - 32 * (1 << 20), context=0, compute=0)


@pytest.mark.parametrize(("needed_mb", "verdict"), [(600, "fits"), (601, "tight"), (1000, "tight"), (1001, "no")])
def test_a_verdict_goes_by_what_is_there_and_what_is_free(needed_mb: int, verdict: str) -> None:
    found = fit(of(needed_mb), ROBOT)
    assert found is not None
    assert found.verdict == verdict
    assert bool(found.why) == (verdict != "fits")


def test_a_machine_of_32_bits_runs_nothing() -> None:
    found = fit(of(1), replace(ROBOT, architecture="armv7l"))
    assert found is not None
    assert (found.verdict, "64-bit" in found.why) == ("no", True)


def test_no_verdict_without_a_size() -> None:
    assert fit(None, ROBOT) is None
    assert memory(replace(language_models()["qwen3-0.6b"], sizes=None)) is None


def test_a_larger_window_takes_more_up_to_what_a_model_was_trained_for() -> None:
    model = language_models()["smollm2-135m"]
    small, large, larger = (memory(model, window) for window in (1024, 8192, 32768))
    assert small is not None
    assert large is not None
    assert small.total < large.total
    assert larger == large
    assert window_of(model, 32768) == 8192


def test_every_model_but_those_of_unknown_size_has_a_memory() -> None:
    lacking = [name for name, entry in entries().items() if memory(entry) is None]
    assert lacking == [name for name, entry in entries().items() if fits.size_of(entry) is None and name != "heart"]
    assert {"pocketsphinx", "espeak"} < set(lacking)


def test_a_voice_that_comes_in_a_package_has_a_memory_too() -> None:
    needed = memory(entries()["heart"])
    assert needed is not None
    assert 100 * MB < needed.total < 300 * MB


def test_the_embedded_model_is_told_by_its_header() -> None:
    needed = memory(entries()["nano"])
    assert needed is not None
    assert needed.weights > 5 * MB
    assert needed.context > 0


def test_what_runs_this_has_memory_and_cores() -> None:
    machine = this_machine()
    assert 0 < machine.free <= machine.total * 1.01
    assert machine.cores >= 1


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_the_set_of_a_profile_fits_its_board_together(profile: Profile) -> None:
    kinds = (LanguageModel, Recogniser, Voice)
    models = [entries()[name] for name in profile.models("talk")]
    assert [isinstance(model, kind) for model, kind in zip(models, kinds, strict=True)] == [True] * 3
    needed = [memory(model) for model in models]
    assert all(needed)
    together = sum(one.total for one in needed if one is not None)
    assert together < machine_of(profile).free
    assert profile.models("text") == (profile.mind,)


def test_every_name_of_a_profile_has_its_profile() -> None:
    assert tuple(PROFILES) == get_args(ProfileName)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_set_can_be_had_without_a_hub(profile: Profile) -> None:
    models = [entries()[name] for name in profile.models("talk")]
    assert all(model.packages or model.packaged for model in models)


@pytest.mark.parametrize(
    ("memory_gb", "cores", "name"),
    [(1, 4, "pi4"), (3.9, 4, "pi4"), (7.9, 4, "pi5"), (7.4, 6, "orin-nano"), (15.4, 8, "laptop"), (64, 2, "pi4")],
)
def test_a_machine_is_likened_to_the_largest_profile_that_it_reaches(memory_gb: float, cores: int, name: str) -> None:
    assert nearest(int(memory_gb * 1e9), cores).name == name
