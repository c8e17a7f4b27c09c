"""Cepstra come while somebody speaks, and their mean is that of the voice."""

import numpy as np
import pytest

from edgeagent.stt.front_end import Cepstra, FrontEnd
from tests.stt.speech import RATE_HZ, VOICES, blocks, said

LONG = "please take the book to the desk and come back to the living room"


def made(text: str, voice: str, pause_s: float = 0.5) -> tuple[FrontEnd, list[Cepstra]]:
    """What comes of each 50 ms, and at the end."""
    front = FrontEnd()
    pieces = [front.feed(block) for block in blocks(said(text, voice, pause_s), RATE_HZ // 20)]
    return front, [*pieces, front.finish()]


@pytest.mark.parametrize("voice", VOICES)
def test_decoding_begins_when_some_speech_is_known_and_goes_on_with_what_comes(voice: str) -> None:
    _, pieces = made(LONG, voice)
    begun = next(at for at, piece in enumerate(pieces) if len(piece))
    assert 0.5 + 0.5 < (begun + 1) / 20 < 0.5 + 1.2
    later = pieces[begun + 1 : -1]
    assert sum(map(len, later)) == pytest.approx(5 * len(later), abs=9)
    assert max(map(len, later)) <= 12


def test_every_frame_comes_once() -> None:
    _, pieces = made(LONG, "slt")
    assert sum(map(len, pieces)) == (len(said(LONG, "slt", 0.5)) - 410) // 160 + 1


def test_of_a_short_utterance_the_mean_is_exact() -> None:
    _, pieces = made("stop", "rms")
    assert not any(map(len, pieces[:-1]))
    assert np.abs(pieces[-1][30:-30].mean(axis=0)).max() < 5.0


def test_how_long_and_how_silent_the_pauses_are_does_not_count() -> None:
    short, long = (np.concatenate(made("turn left please", "slt", pause_s)[1]) for pause_s in (0.3, 1.2))
    begin = round((1.2 - 0.3) * 100)
    spoken = slice(35, len(short) - 35)
    assert np.abs(long[begin:][spoken] - short[spoken]).mean() < 2.5


def test_one_utterance_knows_nothing_of_the_other() -> None:
    front, _ = made(LONG, "awb")
    front.begin()
    again = [*(front.feed(block) for block in blocks(said("turn left", "slt"), 800)), front.finish()]
    assert np.concatenate(again) == pytest.approx(np.concatenate(made("turn left", "slt", 0.3)[1]))


@pytest.mark.parametrize("count", [0, 100, 409])
def test_too_little_sound_is_nothing(count: int) -> None:
    front = FrontEnd()
    assert not len(front.feed(np.zeros(count, np.float32)))
    assert not len(front.finish())


@pytest.mark.parametrize("voice", ["slt", "rms"])
def test_a_silence_of_nothing_at_all_does_not_spoil_the_mean(voice: str) -> None:
    """Noise gates make such pauses; a room and its microphone never do."""
    quiet, pause = said("drive forward three meters", voice, 0.5), round(0.45 * RATE_HZ)
    gated = quiet.copy()
    gated[:pause] = gated[-pause:] = 0.0
    each = []
    for sound in (gated, quiet):
        front = FrontEnd()
        pieces = [front.feed(block) for block in blocks(sound, RATE_HZ // 20)]
        each.append(np.concatenate([*pieces, front.finish()]))
    assert np.abs((each[0] - each[1])[60:-60].mean(axis=0)).max() < 2.0


@pytest.mark.parametrize("spoken_s", [0.06, 0.08, 0.1, 0.14])
@pytest.mark.parametrize("voice", VOICES)
def test_speech_that_is_cut_where_it_begins_is_no_error(voice: str, spoken_s: float) -> None:
    front = FrontEnd()
    sound = said("turn left", voice, 0.3)[: round((0.3 + spoken_s) * RATE_HZ)]
    assert np.isfinite(np.concatenate([*(front.feed(block) for block in blocks(sound, 800)), front.finish()])).all()


@pytest.mark.parametrize("text", ["drive forward three meters", "turn left"])
@pytest.mark.parametrize("voice", VOICES)
def test_what_is_taken_out_does_not_depend_on_how_the_sound_comes(voice: str, text: str) -> None:
    sound, rooms = said(text, voice, 0.2), []
    for size in (800, 4_000, len(sound)):
        front = FrontEnd()
        for block in blocks(sound, size):
            front.feed(block)
        front.finish()
        rooms.append((front._room is None, front._enhancer is None))
    assert len(set(rooms)) == 1
