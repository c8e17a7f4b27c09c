"""Levels of sound: how far a voice stands over the noise, and one level for all voices."""

import math

import numpy as np
import pytest

from edgeagent.stt import Levelling, snr_db
from edgeagent.testing import from_db, speech_level, steady_noise
from tests.stt.speech import RATE_HZ, VOICES, said


def in_noise(voice: str, ratio_db: float) -> float:
    clean = said("turn left and drive one meter", voice, 0.5).astype(np.float64)
    level = speech_level(clean, RATE_HZ) * from_db(-ratio_db)
    noise = steady_noise("pink", level, np.random.default_rng(3), RATE_HZ).block(0, len(clean))
    return snr_db((clean + noise).astype(np.float32))


@pytest.mark.parametrize("voice", VOICES)
def test_more_noise_is_less(voice: str) -> None:
    ratios = [in_noise(voice, ratio_db) for ratio_db in (40.0, 20.0, 10.0, 0.0)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] - ratios[-1] > 15


@pytest.mark.parametrize("voice", VOICES)
def test_a_quiet_room_and_how_loud_it_is_count_for_nothing(voice: str) -> None:
    clean = said("turn left and drive one meter", voice, 0.5)
    assert snr_db(clean) > 32
    assert snr_db(clean * np.float32(0.1)) == pytest.approx(snr_db(clean), abs=0.1)


def test_noise_alone_has_next_to_nothing() -> None:
    noise = steady_noise("pink", 0.05, np.random.default_rng(3), RATE_HZ).block(0, 2 * RATE_HZ)
    assert snr_db(noise.astype(np.float32)) < 3


@pytest.mark.parametrize("count", [0, 10, 400])
def test_of_too_little_nothing_is_known(count: int) -> None:
    assert snr_db(np.zeros(count, np.float32)) == math.inf


def test_what_is_no_number_is_silence() -> None:
    assert snr_db(np.full(16_000, np.nan, np.float32)) == pytest.approx(0)


@pytest.mark.parametrize("peak", [0.05, 0.1, 0.5, 1.0])
def test_voices_come_out_at_one_level(peak: float) -> None:
    voice = (peak * np.sin(np.arange(16_000) / 5)).astype(np.float32)
    made = np.frombuffer(Levelling().process(voice), "<i2")
    assert len(made) == len(voice)
    assert np.abs(made[8_000:]).max() / 32_767 == pytest.approx(0.1, rel=0.05)


def test_silence_is_never_digital_and_nonsense_is_silence() -> None:
    for sound in (np.zeros(1600, np.float32), np.full(1600, np.nan, np.float32)):
        made = np.frombuffer(Levelling().process(sound), "<i2")
        assert 3 < made.astype(float).std() < 15
    assert Levelling().process(np.zeros(0, np.float32)) == b""
