"""Chimes are short, quiet, without clicks, and no two sound alike."""

from itertools import combinations

import numpy as np
import pytest

from edgeagent.voice import PEAK, Chime, chime

RATES_HZ = (16_000, 22_050, 44_100, 48_000)


@pytest.mark.parametrize("rate_hz", RATES_HZ)
@pytest.mark.parametrize("kind", Chime)
def test_a_chime_is_short_and_at_its_level(kind: Chime, rate_hz: int) -> None:
    sound = chime(kind, rate_hz)
    assert sound.dtype == np.float32
    assert 0.1 < len(sound) / rate_hz <= 0.25
    assert np.abs(sound).max() == pytest.approx(PEAK)
    assert 20 * np.log10(PEAK) == pytest.approx(-20)


@pytest.mark.parametrize("kind", Chime)
def test_a_chime_does_not_click(kind: Chime) -> None:
    """A click is a step: it has as much sound at 8 kHz as at 1 kHz. A tone that fades in and out has none there."""
    rate_hz = 48_000
    sound = chime(kind, rate_hz)
    assert abs(sound[0]) < 1e-4
    assert abs(sound[-1]) < 1e-4
    padded = np.pad(sound, rate_hz // 10)
    assert _above_db(padded, rate_hz) < -70
    cut = np.pad(sound[: len(sound) // 3 + 17], rate_hz // 10)  # the measure finds a click
    assert _above_db(cut, rate_hz) > -50


def _above_db(sound: np.ndarray, rate_hz: int) -> float:
    """Energy over 5 kHz, against all."""
    power = np.abs(np.fft.rfft(sound)) ** 2
    high = power[np.fft.rfftfreq(len(sound), 1 / rate_hz) > 5_000]
    return float(10 * np.log10(high.sum() / power.sum()))


def test_chimes_are_told_apart() -> None:
    spectra = {kind: np.abs(np.fft.rfft(chime(kind, 16_000), 8_000)) for kind in Chime}
    for one, other in combinations(Chime, 2):
        a, b = spectra[one], spectra[other]
        assert a @ b / np.sqrt((a @ a) * (b @ b)) < 0.6, (one, other)


def test_waking_rises_and_an_error_falls() -> None:
    def pitch_hz(part: np.ndarray) -> float:
        return float(np.abs(np.fft.rfft(part, 16_000)).argmax())

    for kind, rises in ((Chime.WAKE, True), (Chime.ERROR, False)):
        sound = chime(kind, 16_000)
        assert (pitch_hz(sound[-1_600:]) > pitch_hz(sound[:1_200])) == rises
