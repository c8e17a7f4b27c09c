"""RNNoise takes out noise and other people's voices, and leaves a person in a quiet room alone."""

import importlib.util
import logging
from functools import lru_cache

import numpy as np
import pytest

from edgeagent.audio.types import Samples
from edgeagent.stt import denoise
from edgeagent.stt.denoise import Denoiser
from edgeagent.testing.levels import from_db, speech_level
from edgeagent.testing.noise import steady_noise
from tests.stt.speech import RATE_HZ, VOICES, blocks, mel_bands, said


@lru_cache
def sound(voice: str, snr_db: float | None = None) -> Samples:
    """A command as it is, or over pink noise."""
    clean = said("turn left and drive one meter", voice, 0.5).astype(np.float64)
    if snr_db is not None:
        level = speech_level(clean, RATE_HZ) * from_db(-snr_db)
        clean = clean + steady_noise("pink", level, np.random.default_rng(3), RATE_HZ).block(0, len(clean))
    return clean.astype(np.float32)


def denoised(given: Samples, size: int = 800) -> Samples:
    denoiser = Denoiser()
    return np.concatenate([*(denoiser.process(block) for block in blocks(given, size)), denoiser.finish()])


def shape(given: Samples) -> np.ndarray:
    """Logarithms of the energies in mel bands."""
    return np.log(mel_bands(given) + 1e5)


@pytest.mark.parametrize("voice", VOICES)
def test_what_is_left_of_noise_is_soft(voice: str) -> None:
    pause = slice(0, round(0.4 * RATE_HZ))
    before, after = sound(voice, 10.0)[pause], denoised(sound(voice, 10.0))[pause]
    assert np.square(after[RATE_HZ // 5 :]).mean() < 0.02 * np.square(before).mean()


@pytest.mark.parametrize("voice", VOICES)
def test_speech_comes_nearer_to_what_it_is_without_noise(voice: str) -> None:
    target = shape(sound(voice))
    before, after = shape(sound(voice, 10.0)), shape(denoised(sound(voice, 10.0)))
    assert np.square(after - target).mean() < 0.5 * np.square(before - target).mean()


@pytest.mark.parametrize("voice", VOICES)
def test_a_person_in_a_quiet_room_stays_as_he_is_and_when_he_is(voice: str) -> None:
    given, made = sound(voice), denoised(sound(voice))
    assert np.corrcoef(given, made)[0, 1] > 0.95
    assert np.square(made).sum() == pytest.approx(np.square(given).sum(), rel=0.15)


@pytest.mark.parametrize("size", [37, 160, 5_000])
def test_sound_in_pieces_is_the_same_sound(size: int) -> None:
    given = sound("slt", 10.0)
    made = denoised(given, size)
    assert len(made) == len(given)
    assert made == pytest.approx(denoised(given), abs=1e-6)


def test_one_utterance_knows_nothing_of_the_other() -> None:
    first = denoised(sound("rms", 10.0))
    denoised(sound("slt", 0.0))
    assert denoised(sound("rms", 10.0)) == pytest.approx(first)


@pytest.mark.parametrize(
    "given",
    [np.zeros(0), np.zeros(200), np.full(9_000, np.nan), np.full(9_000, np.inf)],
    ids=["nothing", "12 ms", "no numbers", "too loud"],
)
def test_bad_sound_is_no_matter(given: Samples) -> None:
    made = denoised(given.astype(np.float32))
    assert len(made) == len(given)
    assert np.isfinite(made).all()


def test_without_rnnoise_the_noise_stays_and_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    denoise._library.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, "edgeagent.stt"):
            assert denoised(sound("slt", 10.0)) == pytest.approx(sound("slt", 10.0))
            denoised(sound("slt"))
    finally:
        denoise._library.cache_clear()
    assert caplog.text.count("pip install") == 1
