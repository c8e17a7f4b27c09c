"""The network of the stop words, on the file that is shipped."""

from __future__ import annotations

from functools import lru_cache
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.audio import Samples
from edgeagent.errors import RecognitionError
from edgeagent.stt import STOP_WORDS, WAITS, WORDS, SpottedPhrase, StopNetwork, learnt
from edgeagent.testing import synthesised

RATE_HZ = 16_000
BEFORE_S, AFTER_S = 0.8, 0.6
SOON_S = 0.3
"""After the end of a word, within which it has to be heard."""
PEAK = 0.2
FLOOR = 3e-4
TALK = (
    "go to the kitchen", "the shop is on top of the hill", "turn the light on in the hall", "please tell me a story",
    "that was a long drive", "it is cold in here", "what time is it", "I gave up smoking", "put it on a shelf",
    "there are three trees", "how full is your battery", "she stepped out of the house",
)  # fmt: skip


def heard(network: StopNetwork, sound: Samples, block: int = 160) -> list[SpottedPhrase]:
    """What is heard in a sound that begins at 0 s."""
    network.reset()
    blocks = range(0, len(sound), block)
    return [each for at in blocks for each in network.process(sound[at : at + block], at / RATE_HZ)]


@lru_cache(maxsize=64)
def clip(text: str, voice: str) -> tuple[Samples, float]:
    """A text as a microphone has it, silence around it; and when it ends."""
    said = synthesised(text, voice, RATE_HZ)
    sound = np.concatenate([np.zeros(round(BEFORE_S * RATE_HZ)), said, np.zeros(round(AFTER_S * RATE_HZ))])
    sound = sound * (PEAK / np.abs(said).max()) + np.random.default_rng(0).normal(0, FLOOR, len(sound))
    return sound.astype(np.float32), BEFORE_S + len(said) / RATE_HZ


@pytest.fixture(scope="module")
def network() -> StopNetwork:
    return StopNetwork()


@pytest.mark.parametrize("voice", ["heart", "slt", "rms", "awb", "en-us", "en-gb-x-gbclan", "en-us+f3"])
@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_heard_once_and_soon_in_voices_it_was_trained_on_and_others(
    network: StopNetwork, word: str, voice: str
) -> None:
    sound, end_s = clip(word, voice)
    found = heard(network, sound)
    assert [each.phrase for each in found] == [word]
    assert found[0].heard_s <= end_s + SOON_S
    assert found[0].end_s == pytest.approx(end_s, abs=0.3)
    assert found[0].start_s < found[0].end_s


@pytest.mark.parametrize("voice", ["heart", "slt", "rms", "en-us", "en-gb-x-gbclan"])
@pytest.mark.parametrize("phrase", WAITS)
def test_each_phrase_that_makes_motion_wait_is_heard_once_and_soon(phrase: str, voice: str) -> None:
    sound, end_s = clip(phrase, voice)
    found = heard(StopNetwork((*WORDS, *WAITS)), sound)
    assert [each.phrase for each in found] == [phrase]
    assert found[0].heard_s <= end_s + SOON_S


@pytest.mark.parametrize("voice", ["heart", "rms"])
def test_talk_without_such_a_phrase_is_none(voice: str) -> None:
    network = StopNetwork(WAITS)
    assert not [(text, each.phrase) for text in TALK for each in heard(network, clip(text, voice)[0])]


def test_a_phrase_that_makes_motion_wait_is_never_the_likeliest_stop_word() -> None:
    network = StopNetwork((*WORDS, *WAITS))
    sound, end_s = clip("hold on", "heart")
    assert [each.phrase for each in heard(network, sound)] == ["hold on"]
    word = network.likeliest(end_s - 0.5, end_s + SOON_S)
    assert word is not None
    assert word.phrase in WORDS
    assert word.score < 0.5


@pytest.mark.parametrize("voice", ["heart", "rms"])
def test_talk_without_a_stop_word_is_none(network: StopNetwork, voice: str) -> None:
    found = [(text, each.phrase) for text in TALK for each in heard(network, clip(text, voice)[0])]
    assert not found


@pytest.mark.parametrize("sound", ["silence", "noise", "full scale"])
def test_what_is_no_speech_is_no_stop_word(network: StopNetwork, sound: str) -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, 10 * RATE_HZ)
    made = {"silence": np.zeros_like(noise), "noise": noise, "full scale": np.sign(noise)}[sound]
    assert not heard(network, made.astype(np.float32))


def test_a_word_that_is_said_twice_is_heard_twice(network: StopNetwork) -> None:
    sound, _ = clip("stop", "heart")
    assert [each.phrase for each in heard(network, np.tile(sound, 2))] == ["stop", "stop"]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=40))
def test_blocks_of_any_length_give_the_same(sizes: list[int]) -> None:
    network = StopNetwork()
    sound, _ = clip("please stop", "heart")
    whole = heard(network, sound, len(sound))
    network.reset()
    found, at = [], 0
    for size in cycle(sizes):
        if at >= len(sound):
            break
        found += network.process(sound[at : at + size], at / RATE_HZ)
        at += size
    assert [each.phrase for each in found] == [each.phrase for each in whole] == ["stop"]
    assert found[0].end_s == pytest.approx(whole[0].end_s, abs=1e-6)


def test_it_tells_how_likely_any_word_was_that_is_listened_for() -> None:
    sound, end_s = clip("stop", "heart")
    for words, likely in ((["stop"], True), (["halt"], False)):
        network = StopNetwork(words)
        heard(network, sound)
        word = network.likeliest(end_s - 0.5, end_s + SOON_S)
        assert word is not None
        assert (word.phrase, word.score > 0.8) == (words[0], likely)
        assert not likely or word.end_s == pytest.approx(end_s, abs=0.3)
        before = network.likeliest(0.0, BEFORE_S)
        assert before is not None
        assert before.score < 0.1
        assert network.likeliest(100.0, 200.0) is None


def test_words_that_nobody_asked_for_are_not_told() -> None:
    only = StopNetwork(["halt"])
    assert not heard(only, clip("stop", "heart")[0])
    assert [each.phrase for each in heard(only, clip("halt", "heart")[0])] == ["halt"]


def test_after_a_reset_nothing_of_the_past_counts(network: StopNetwork) -> None:
    sound, end_s = clip("stop", "heart")
    middle = round((end_s - 0.25) * RATE_HZ)
    network.reset()
    assert not network.process(sound[:middle], 0.0)
    network.reset()
    assert not network.process(np.zeros(RATE_HZ, np.float32), 10.0)


def test_the_stop_words_that_are_shipped_are_learnt_and_a_threshold_is_pocketsphinxs() -> None:
    assert learnt(dict.fromkeys(STOP_WORDS)) == list(STOP_WORDS)
    assert learnt({"stop": 1e-28, "halt": None, "whoa there": None}) == ["halt"]


def test_a_file_that_is_missing_or_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecognitionError, match=r"gone\.onnx"):
        StopNetwork(path=tmp_path / "gone.onnx")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"none")
    with pytest.raises(RecognitionError, match=r"broken\.onnx"):
        StopNetwork(path=broken)


def test_another_network_is_refused() -> None:
    from edgeagent.resources import models_dir

    with pytest.raises(RecognitionError, match="not the network"):
        StopNetwork(path=models_dir() / "silero_vad_v6.onnx")
