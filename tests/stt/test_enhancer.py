"""A network takes out noise and other people, and leaves a person in a quiet room nearly as he is."""

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio.types import Samples
from edgeagent.errors import RecognitionError
from edgeagent.stt import enhancer
from edgeagent.stt.enhancer import LATE, SpeechEnhancer
from edgeagent.stt.mel import FILTERS, Energies
from edgeagent.testing import synthesised
from edgeagent.testing.levels import from_db, speech_level
from edgeagent.testing.noise import FULL_SPEED_MPS, Motor, babble, steady_noise
from tests.stt.speech import RATE_HZ, VOICES, blocks, mel_bands, said

TEXT = "turn left and drive one meter"


def with_noise(voice: str, kind: str, snr_db: float = 10.0) -> Samples:
    clean = said(TEXT, voice, 0.5).astype(np.float64)
    level, random = speech_level(clean, RATE_HZ) * from_db(-snr_db), np.random.default_rng(3)
    if kind == "pink":
        sources = [steady_noise("pink", level, random, RATE_HZ)]
    elif kind == "motor":
        sources = [Motor(lambda time_s: FULL_SPEED_MPS, level, random, RATE_HZ)]
    else:
        people = [synthesised("well the other day I saw them", each, RATE_HZ) for each in ("kal", "en-gb", "en-us+f3")]
        sources = babble([person.astype(np.float64) for person in people], level, random, RATE_HZ, 0.3)
    return (clean + sum(source.block(0, len(clean)) for source in sources)).astype(np.float32)


@lru_cache
def sound(voice: str, kind: str = "") -> Samples:
    """A command as it is, or over noise."""
    return with_noise(voice, kind) if kind else said(TEXT, voice, 0.5)


def enhanced(given: Samples, size: int = 800) -> Energies:
    network = SpeechEnhancer()
    return np.concatenate([*(network.process(block) for block in blocks(given, size)), network.finish()])


def distance_db(made: Energies, clean: Energies) -> float:
    """Over what is audible of the clean voice."""
    heard = clean > clean.max(axis=0) * 1e-3
    return float(np.abs(10 * np.log10((made + 1) / (clean + 1)))[heard].mean())


@pytest.mark.parametrize("voice", VOICES)
@pytest.mark.parametrize(("kind", "share"), [("pink", 0.6), ("motor", 0.7), ("babble", 0.85)])
def test_speech_comes_nearer_to_what_it_is_without_noise(voice: str, kind: str, share: float) -> None:
    clean, noisy = mel_bands(sound(voice)), mel_bands(sound(voice, kind))
    assert distance_db(enhanced(sound(voice, kind)), clean) < share * distance_db(noisy, clean)


@pytest.mark.parametrize("voice", VOICES)
def test_a_person_in_a_quiet_room_stays_nearly_as_he_is(voice: str) -> None:
    assert distance_db(enhanced(sound(voice)), mel_bands(sound(voice))) < 3.0


@pytest.mark.parametrize(("kind", "share"), [("pink", 0.01), ("motor", 0.01), ("babble", 0.6)])
def test_what_is_left_of_noise_is_soft(kind: str, share: float) -> None:
    before, noisy = slice(20, 40), sound("slt", kind)
    assert enhanced(noisy)[before].sum() < share * mel_bands(noisy)[before].sum()


@pytest.mark.parametrize("size", [37, 160, 5_000, 100_000])
def test_in_pieces_it_is_the_same(size: int) -> None:
    given = sound("awb", "pink")[: 2 * RATE_HZ]
    assert enhanced(given, size) == pytest.approx(enhanced(given), rel=1e-3)


@pytest.mark.parametrize("count", [0, 1, LATE - 1, LATE, LATE + 1, 40])
def test_every_frame_comes_once(count: int) -> None:
    given = sound("slt")[: 410 + 160 * (count - 1) if count else 200]
    assert enhanced(given).shape == (count, FILTERS)


def test_one_utterance_knows_nothing_of_the_other() -> None:
    first = enhanced(sound("rms"))
    enhanced(sound("slt", "babble"))
    assert enhanced(sound("rms")) == pytest.approx(first)


@pytest.mark.parametrize("value", [0.0, 1.0, np.inf, np.nan])
def test_bad_sound_is_no_matter(value: float) -> None:
    assert np.isfinite(enhanced(np.full(9_000, value, np.float32))).all()


@pytest.mark.parametrize("content", [None, b"no network"])
def test_a_network_that_is_missing_or_broken_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / enhancer.FILE).write_bytes(content)
    monkeypatch.setattr(enhancer, "models_dir", lambda: tmp_path)
    with pytest.raises(RecognitionError, match=f"{re.escape(str(tmp_path / enhancer.FILE))} can't be loaded.*install"):
        SpeechEnhancer()
