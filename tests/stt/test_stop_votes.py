"""Stop words while the robot speaks: a person's in the microphone or in what is left of it, and the robot's own."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue

import numpy as np
import pytest

from edgeagent.audio import Samples
from edgeagent.stt import STOP_WORDS, KeyPhraseSpotter, SpottedPhrase, StopNetwork
from tests.stt.test_stop_network import RATE_HZ, clip

TALK = "the battery is full and the lamp in the hall is on"
SILENCE = np.zeros(0, np.float32)


class Heard:
    """A spotter whose PocketSphinx hears nothing, and what it told."""

    def __init__(self) -> None:
        self.told: SimpleQueue[SpottedPhrase] = SimpleQueue()
        self.nobody_else = False
        """Words count that are certainly not the robot's, as where its canceller finds nobody else."""
        self.spotter = KeyPhraseSpotter(dict.fromkeys(STOP_WORDS), self._take)

    def _take(self, keyword: SpottedPhrase) -> bool:
        counts = keyword.foreign or not self.nobody_else
        if counts:
            self.told.put(keyword)
        return counts

    def hear(self, microphone: Samples, left: Samples, played: Samples) -> list[SpottedPhrase]:
        """What is told while the robot speaks; shorter sounds go on with silence."""
        self.spotter.flush()
        length = max(map(len, (microphone, left, played)))
        microphone, left, played = (
            np.concatenate((sound, np.zeros(length - len(sound), np.float32))) for sound in (microphone, left, played)
        )
        for at in range(0, length, 160):
            block = slice(at, at + 160)
            self.spotter.feed(left[block], at / RATE_HZ, raw=microphone[block], played=played[block], speaking=True)
        return [self.told.get() for _ in range(self.told.qsize())]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    made = Heard()
    monkeypatch.setattr(made.spotter.sphinx, "feed", lambda *_, **__: None)
    yield made
    made.spotter.close()


def echo(sound: Samples, delay_s: float = 0.06, gain: float = 0.5) -> Samples:
    """A sound as it comes back, so much later and softer."""
    return np.concatenate((np.zeros(round(delay_s * RATE_HZ), np.float32), np.float32(gain) * sound))


def over(person: Samples, robot: Samples) -> Samples:
    """Both at once."""
    mixed = np.zeros(max(len(person), len(robot)), np.float32)
    mixed[: len(person)] += person
    mixed[: len(robot)] += robot
    return mixed


@pytest.mark.parametrize("word", STOP_WORDS)
def test_a_word_that_only_the_microphone_has_is_somebody_elses(heard: Heard, word: str) -> None:
    heard.nobody_else = True
    played = clip(TALK, "slt")[0]
    [keyword] = heard.hear(over(clip(word, "heart")[0], echo(played, gain=0.03)), SILENCE, played)
    assert (keyword.phrase, keyword.foreign) == (word, True)


def test_no_word_is_somebody_elses_while_the_robot_says_something_like_it(heard: Heard) -> None:
    heard.nobody_else = True
    played, person = clip("stop", "slt")[0], clip("stop", "heart")[0]
    person = echo(person, delay_s=0.3, gain=1.0)
    assert heard.hear(over(person, echo(played, gain=0.03)), person, played) == []


def test_pocketsphinx_is_not_believed_about_a_word_that_the_loudspeaker_plays(heard: Heard) -> None:
    played, end_s = clip("stop", "heart")
    end_s += 0.06
    soon = echo(played)[: round((end_s + 0.1) * RATE_HZ) // 160 * 160]
    for spoken, counts in ((SILENCE[:0], True), (played[: len(soon)], False)):
        heard.hear(soon, SILENCE, spoken)
        by_sphinx = SpottedPhrase("stop", end_s - 0.4, end_s, end_s, 1.0)
        assert (heard.spotter.sphinx.on_keyword(by_sphinx) is not False) is counts


@pytest.mark.parametrize("delay_s", [0.06, 0.5, 0.9])
@pytest.mark.parametrize("word", STOP_WORDS)
def test_a_word_that_the_loudspeaker_plays_is_not_heard_in_the_microphone(
    heard: Heard, word: str, delay_s: float
) -> None:
    played = clip(word, "heart")[0]
    assert heard.hear(echo(played, delay_s), SILENCE, SILENCE) != [], "else nothing is shown"
    assert heard.hear(echo(played, delay_s), SILENCE, played) == []
    end_s = len(played) / RATE_HZ + delay_s
    suspected = heard.spotter.suspected(0.0, end_s)
    assert suspected is not None
    assert suspected.score < 0.3


def test_a_word_is_heard_in_what_is_left_while_the_robot_says_the_same(heard: Heard) -> None:
    played = clip("stop", "slt")[0]
    person = clip("stop", "heart")[0]
    [keyword] = heard.hear(over(person, echo(played)), person, played)
    assert (keyword.phrase, keyword.foreign) == ("stop", False)


def test_a_doubtful_word_in_what_is_left_is_the_robots_own_if_the_robot_says_the_same(heard: Heard) -> None:
    word = clip("stop", "slt")[0]
    noise = np.random.default_rng(3).normal(0, 0.05, len(word)).astype(np.float32)
    assert heard.hear(SILENCE, word + noise, SILENCE) != []
    suspected = heard.spotter.suspected(0.0, 2.0)
    assert suspected is not None
    assert suspected.score < 0.95, "else nothing is shown"
    assert heard.hear(SILENCE, word + noise, word) == []
    assert heard.hear(SILENCE, word, word) != [], "a clear one is somebody else's"


def test_a_word_in_the_first_moments_after_the_robots_own_is_heard(heard: Heard) -> None:
    """The robot is silent again, so that what it said explains nothing any more."""
    own, own_end_s = clip("shall i stop", "slt")
    own = own[: round((own_end_s + 0.2) * RATE_HZ) // 160 * 160]
    person = clip("stop", "heart")[0][round(0.6 * RATE_HZ) :]
    heard.hear(echo(own), SILENCE, own)
    begin_s = len(echo(own)) / RATE_HZ
    for at in range(0, len(person), 160):
        heard.spotter.feed(person[at : at + 160], begin_s + at / RATE_HZ)
    assert [heard.told.get().phrase for _ in range(heard.told.qsize())] == ["stop"]


@pytest.mark.parametrize("before_s", [0.26, 0.3, 0.34])
def test_a_word_at_the_end_of_a_speech_is_not_heard_again_in_the_next_one(heard: Heard, before_s: float) -> None:
    word, end_s = clip("stop", "heart")
    silent_at = round((end_s - before_s) * RATE_HZ) // 160 * 160
    silence = np.zeros(160, np.float32)
    for at in range(0, silent_at + round(0.3 * RATE_HZ), 160):
        block = word[at : at + 160]
        heard.spotter.feed(block, at / RATE_HZ, raw=silence, played=silence, speaking=at < silent_at)
    while not heard.told.empty():
        heard.told.get()
    talk = clip("on my way to the bedroom", "heart")[0][round(0.6 * RATE_HZ) :]
    begin_s = 4.0
    for at in range(silent_at + round(0.3 * RATE_HZ), round(begin_s * RATE_HZ), 160):
        heard.spotter.feed(silence, at / RATE_HZ, raw=silence)
    for at in range(0, len(talk) // 160 * 160, 160):
        block = talk[at : at + 160]
        heard.spotter.feed(block, begin_s + at / RATE_HZ, raw=silence, played=block, speaking=True)
    assert heard.told.empty()


@pytest.mark.parametrize(("likely", "speaking", "counts"), [(0.2, True, False), (0.2, False, True), (0.6, True, True)])
def test_pocketsphinx_needs_more_of_a_word_while_the_robot_speaks(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, likely: float, speaking: bool, counts: bool
) -> None:
    monkeypatch.setattr(StopNetwork, "likely", lambda *_: likely)
    silence = np.zeros(RATE_HZ, np.float32)
    heard.spotter.feed(silence, 0.0, raw=silence, played=silence, speaking=speaking)
    by_sphinx = SpottedPhrase("halt", -0.5, -0.1, 0.0, 1.0)
    assert (heard.spotter.sphinx.on_keyword(by_sphinx) is not False) is counts


@pytest.mark.parametrize("overlap_s", [0.1, 0.2, 0.3])
def test_a_word_that_begins_at_the_end_of_the_robots_own_is_heard(heard: Heard, overlap_s: float) -> None:
    own, own_end_s = clip("shall i stop", "slt")
    own = own[: round(own_end_s * RATE_HZ) // 160 * 160]
    silent_at = len(own) + 960  # with its echo
    begin = round((own_end_s - overlap_s - 0.8) * RATE_HZ)
    person = np.concatenate((np.zeros(begin, np.float32), clip("stop", "heart")[0]))
    person = person[: len(person) // 160 * 160]
    microphone = over(person, echo(own))[: len(person)]
    heard.spotter.flush()
    for at in range(0, len(person), 160):
        block = slice(at, at + 160)
        played = own[block] if at < len(own) else np.zeros(160, np.float32)
        left, speaking = (person, True) if at < silent_at else (microphone, False)
        heard.spotter.feed(left[block], at / RATE_HZ, raw=microphone[block], played=played, speaking=speaking)
    [keyword] = [heard.told.get() for _ in range(heard.told.qsize())]
    assert keyword.phrase == "stop"
    assert keyword.heard_s < begin / RATE_HZ + clip("stop", "heart")[1] + 0.15


def test_a_word_is_suspected_beside_one_that_the_robot_says_louder(heard: Heard) -> None:
    played, person = clip("stop", "slt")[0], clip("halt", "heart")[0]
    word = echo(person, delay_s=0.5, gain=1.0)
    heard.hear(over(word, echo(played)), SILENCE, played)
    suspected = heard.spotter.suspected(0.0, len(word) / RATE_HZ)
    assert suspected is not None
    assert (suspected.phrase, suspected.score > 0.5) == ("halt", True)


def test_a_word_is_told_once_that_both_streams_have(heard: Heard) -> None:
    person, played = clip("freeze", "heart")[0], clip(TALK, "slt")[0]
    assert [keyword.phrase for keyword in heard.hear(person, person, played)] == ["freeze"]
