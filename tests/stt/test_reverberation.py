"""What a room gives back late is found, and taken out."""

import numpy as np
import pytest

from edgeagent.audio.types import Samples
from edgeagent.stt.reverberation import LEFT, LateReverberation, reverberant
from tests.stt.speech import RATE_HZ, VOICES, mel_bands, said

TEXT = "please take the book to the desk"


def in_room(sound: Samples, rt60_s: float) -> Samples:
    """With diffuse reverberation, 3 dB under the sound itself."""
    times_s = np.arange(round(rt60_s * RATE_HZ)) / RATE_HZ
    tail = np.random.default_rng(0).normal(size=len(times_s)) * 10 ** (-3 * times_s / rt60_s)
    tail *= np.sqrt(0.5 / np.square(tail).sum())
    return (sound + np.convolve(sound, tail)[: len(sound)]).astype(np.float32)


@pytest.mark.parametrize("voice", VOICES)
@pytest.mark.parametrize("rt60_s", [0.3, 0.5])
def test_a_room_that_sounds_is_told_from_one_that_does_not(voice: str, rt60_s: float) -> None:
    assert not reverberant(mel_bands(said(TEXT, voice)))
    assert reverberant(mel_bands(in_room(said(TEXT, voice), rt60_s)))


@pytest.mark.parametrize("voice", VOICES)
def test_a_voice_comes_nearer_to_what_it_was_in_a_dry_room(voice: str) -> None:
    dry, wet = mel_bands(said(TEXT, voice)), mel_bands(in_room(said(TEXT, voice), 0.3))
    less = LateReverberation().process(wet)
    heard = dry > dry.max(axis=0) * 1e-4
    far, near = (np.abs(np.log(one[heard] / dry[heard])).mean() for one in (wet, less))
    assert near < 0.95 * far


def test_what_there_is_of_a_frame_is_never_less_than_a_share_of_it() -> None:
    wet = mel_bands(in_room(said(TEXT, "slt"), 0.3))
    less = LateReverberation().process(wet)
    assert (less <= wet).all()
    assert (less >= LEFT * wet).all()


def test_in_pieces_it_is_the_same() -> None:
    wet, room = mel_bands(in_room(said(TEXT, "rms"), 0.3)), LateReverberation()
    pieces = [room.process(piece) for piece in np.array_split(wet, 17)]
    assert np.concatenate(pieces) == pytest.approx(LateReverberation().process(wet))


@pytest.mark.parametrize("count", [0, 3, 9])
def test_of_too_little_nothing_is_told(count: int) -> None:
    assert not reverberant(np.ones((count, 25)))
    assert LateReverberation().process(np.ones((count, 25))).shape == (count, 25)


def test_silence_and_a_steady_tone_are_no_error() -> None:
    assert reverberant(np.zeros((100, 25)))
    assert np.isfinite(LateReverberation().process(np.zeros((100, 25)))).all()


def test_where_all_that_is_loud_comes_last_nothing_is_told() -> None:
    begun = np.ones((40, 25))
    begun[-6:] = 1e9
    assert not reverberant(begun)
