"""A person is heard over the first words that the robot speaks, when nobody knows its echo yet."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from edgeagent.stt import RATE_HZ, STOP_WORDS, KeyPhraseSpotter, KeywordSpotted, SpeechStarted
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.stt.listening import Kept, Notes, listening

pytestmark = pytest.mark.skipif(
    not (shutil.which("flite") and shutil.which("espeak-ng")), reason="flite or espeak-ng is not installed"
)

BEGINS_S = 1.0
"""When the robot's sentence is heard."""
DELAY_S = 0.06


@pytest.fixture(scope="module")
def spotter():
    made = KeyPhraseSpotter(dict.fromkeys(STOP_WORDS), lambda keyword: None)
    yield Kept(made)
    made.close()


def told_over(spotter, text, *, echo_gain_db, voice=None, after_s=0.0, seconds=3.3, **settings):
    """What the ears tell while the robot says its first sentence, and somebody perhaps "stop"."""
    room = Room(RoomSettings(rate_hz=RATE_HZ, echo_gain_db=echo_gain_db, delay_ms=1000 * DELAY_S, **settings))
    words = synthesised(text, "en", RATE_HZ)
    spoken = np.zeros(round((seconds + 1) * RATE_HZ), np.float32)
    begin = round((BEGINS_S - DELAY_S) * RATE_HZ)
    spoken[begin : begin + len(words)] = words[: len(spoken) - begin] * np.float32(0.3 / np.abs(words).max())
    room.calibrate(words, RATE_HZ)
    at = 0

    def fill(block, dac_s):
        nonlocal at
        block[:] = spoken[at : at + len(block)]
        at += len(block)

    with listening(Notes(), spotter=spotter, room=room, fill=fill) as here:
        if voice is not None:
            here.say("stop", at_s=BEGINS_S + after_s, voice=voice)
        here.run(seconds)
    return here


@pytest.mark.parametrize(("echo_gain_db", "voice", "after_s"), [(-20, "rms", 0.5), (-6, "slt", 0.25), (0, "awb", 0.0)])
def test_stop_is_heard_over_the_first_sentence_of_all(spotter, echo_gain_db, voice, after_s):
    here = told_over(spotter, "Going to the kitchen.", echo_gain_db=echo_gain_db, voice=voice, after_s=after_s)
    assert len(here.of(KeywordSpotted)) == 1
    assert BEGINS_S + after_s < here.of(KeywordSpotted)[0].keyword.end_s < BEGINS_S + after_s + 0.8
    assert here.of(SpeechStarted), "somebody speaks"
    assert here.of(SpeechStarted)[0].at_s == pytest.approx(BEGINS_S + after_s, abs=0.4)


@pytest.mark.parametrize("echo_gain_db", [-20, 6])
def test_the_robots_own_first_sentence_is_no_stop_word(spotter, echo_gain_db):
    text = "I will stop at the kitchen door. Tell me to stop."
    here = told_over(spotter, text, echo_gain_db=echo_gain_db, seconds=5.0, drift_ppm=100)
    assert here.told == []
