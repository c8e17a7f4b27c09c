"""Voices for the people in the room."""

import shutil

import numpy as np
import pytest

from edgeagent.errors import SpeechError
from edgeagent.testing import rms, speech_frames, speech_level, speechlike, synthesised

RATE = 16_000


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 44_100, 48_000])
def test_what_is_like_speech_has_that_length_and_level(rate_hz):
    made = speechlike(1, 5, rate_hz)
    assert (made.dtype, len(made)) == (np.float32, 5 * rate_hz)
    assert speech_level(made, rate_hz) == pytest.approx(0.1, rel=1e-3)
    assert np.max(np.abs(made)) < 1


@pytest.mark.parametrize("seed", range(6))
def test_it_speaks_and_pauses_below_four_kilohertz(seed):
    made = speechlike(seed, 20, RATE)
    assert 0.4 < np.mean(speech_frames(made, RATE)) < 0.97
    quiet = [rms(made[at : at + 320]) < 0.003 for at in range(0, len(made) - 320, 320)]
    assert 0.05 < np.mean(quiet) < 0.5
    power = np.abs(np.fft.rfft(made)) ** 2
    assert np.sum(power[100 * 20 : 4_000 * 20]) > 0.9 * np.sum(power)


def test_it_is_always_the_same_for_a_seed():
    first = speechlike(7, 2, RATE).copy()
    speechlike.cache_clear()
    assert np.array_equal(first, speechlike(7, 2, RATE))
    assert not np.array_equal(first, speechlike(8, 2, RATE))
    with pytest.raises(ValueError, match="read-only"):
        speechlike(7, 2, RATE)[0] = 1


@pytest.mark.parametrize(
    ("program", "voice"),
    [("flite", "awb"), ("flite", "kal"), ("flite", "rms"), ("flite", "slt"), ("espeak-ng", "en-gb+f3")],
)
def test_a_program_speaks(program, voice):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    made = synthesised("Drive to the kitchen.", voice, RATE)
    assert made.dtype == np.float32
    assert 0.8 < len(made) / RATE < 2.5
    assert 0.01 < speech_level(made, RATE) < 0.5
    loudest = max(rms(made[at : at + 80]) for at in range(0, len(made) - 80, 80))
    assert rms(made[:80]) > 0.002 * loudest < 500 * rms(made[-80:]), "there is no silence at its edges"
    assert synthesised("Drive to the kitchen.", voice, RATE) is made
    assert len(synthesised("Drive to the kitchen.", voice, 48_000)) == pytest.approx(3 * len(made), rel=0.02)


def test_a_voice_that_there_is_not_is_named():
    if not shutil.which("espeak-ng"):
        pytest.skip("espeak-ng is not installed")
    with pytest.raises(SpeechError, match="nobody"):
        synthesised("Hello.", "nobody", RATE)


def test_what_is_no_word_is_an_error():
    if not shutil.which("espeak-ng"):
        pytest.skip("espeak-ng is not installed")
    with pytest.raises(SpeechError, match="says nothing"):
        synthesised("", "en-us", RATE)


@pytest.mark.parametrize(("voice", "package"), [("slt", "flite"), ("en-us", "espeak-ng")])
def test_a_program_that_is_not_installed_is_named(voice, package, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpeechError, match=f"sudo apt install {package}"):
        synthesised("Nobody has said this before.", voice, RATE)
