"""Key phrases as they are shipped: PocketSphinx and the network together, the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from queue import SimpleQueue

import numpy as np
import pytest

from edgeagent.audio import Samples
from edgeagent.stt import STOP_WORDS, KeyPhraseSpotter, SpottedPhrase, StopNetwork
from tests.stt.test_stop_network import BEFORE_S, RATE_HZ, clip

LIMIT_S = 30.0


class Heard:
    """A spotter of the words that are shipped and of a wake word, and what it told."""

    def __init__(self) -> None:
        self.told: SimpleQueue[SpottedPhrase] = SimpleQueue()
        self.counts = True
        self.spotter = KeyPhraseSpotter(dict.fromkeys((*STOP_WORDS, "hello charlie")), self._take)

    def _take(self, keyword: SpottedPhrase) -> bool:
        self.told.put(keyword)
        return self.counts

    def hear(self, sound: Samples) -> list[str]:
        """The phrases in a sound of its own."""
        self.spotter.flush()
        for number, at in enumerate(range(0, len(sound), 160)):
            if number % 25 == 0:
                assert self.spotter.wait_idle(LIMIT_S)
            self.spotter.feed(sound[at : at + 160], at / RATE_HZ)
        assert self.spotter.wait_idle(LIMIT_S)
        return [self.told.get().phrase for _ in range(self.told.qsize())]


@pytest.fixture(scope="module")
def heard() -> Iterator[Heard]:
    made = Heard()
    yield made
    made.spotter.close()


@pytest.mark.parametrize("voice", ["heart", "rms"])
@pytest.mark.parametrize("word", STOP_WORDS)
def test_a_stop_word_that_both_hear_is_told_once(heard: Heard, word: str, voice: str) -> None:
    assert heard.hear(clip(word, voice)[0]) == [word]


def test_a_phrase_that_is_not_learnt_is_pocketsphinxs(heard: Heard) -> None:
    assert heard.spotter.learnt == STOP_WORDS
    assert "hello charlie" in heard.hear(clip("hello charlie", "slt")[0])


def test_a_word_with_a_threshold_of_the_builders_is_pocketsphinxs_alone() -> None:
    spotter = KeyPhraseSpotter({"stop": 1e-20}, lambda keyword: None)
    try:
        assert spotter.learnt == ()
        assert spotter.suspected(0.0, 10.0) is None
        assert spotter.sphinx.thresholds == {"stop": 1e-20}
    finally:
        spotter.close()


def test_a_phrase_that_makes_motion_wait_is_told_as_well(heard: Heard) -> None:
    assert heard.hear(clip("hold on", "heart")[0]) == ["hold on"]


def test_pocketsphinx_is_not_believed_where_the_network_finds_nothing_like_the_word(heard: Heard) -> None:
    heard.spotter.flush()
    heard.spotter.feed(np.random.default_rng(0).normal(0, 0.02, 2 * RATE_HZ).astype(np.float32), BEFORE_S)
    made_up = SpottedPhrase("stop", BEFORE_S + 1.1, BEFORE_S + 1.5, BEFORE_S + 1.5, 1.0)
    assert heard.spotter.sphinx.on_keyword(made_up) is False
    assert heard.told.empty()
    heard.spotter.flush()
    assert heard.spotter.sphinx.on_keyword(made_up) is not False, "the network has heard none of that"
    assert heard.told.get().phrase == "stop"


def test_the_network_hears_the_sound_with_its_noise_and_pocketsphinx_the_one_without(heard: Heard) -> None:
    sound, _ = clip("stop", "heart")
    silence = np.zeros(len(sound), np.float32)

    def told(samples: Samples, raw: Samples) -> list[str]:
        heard.spotter.flush()
        for number, at in enumerate(range(0, len(sound), 160)):
            if number % 25 == 0:
                assert heard.spotter.wait_idle(LIMIT_S)
            heard.spotter.feed(samples[at : at + 160], at / RATE_HZ, raw=raw[at : at + 160])
        assert heard.spotter.wait_idle(LIMIT_S)
        return [heard.told.get().phrase for _ in range(heard.told.qsize())]

    assert told(silence, sound) == ["stop"]
    assert told(sound, silence) == [], "PocketSphinx alone, which the network does not believe"


@pytest.mark.parametrize("word", STOP_WORDS)
def test_a_word_right_after_a_flush_is_heard(heard: Heard, word: str) -> None:
    sound, _ = clip(word, "heart")
    assert heard.hear(sound[round((BEFORE_S - 0.1) * RATE_HZ) :]) == [word]


@pytest.mark.parametrize(("nobody_s", "floor"), [(0.9, 0.02), (1.02, 3e-4), (1.1, 0.02), (1.3, 3e-4), (3.0, 0.02)])
def test_a_word_after_a_rest_is_heard_by_the_network_however_late_somebody_is_noticed(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, nobody_s: float, floor: float
) -> None:
    monkeypatch.setattr(heard.spotter.sphinx, "feed", lambda *_, **__: None)
    for word, late_s in zip((*STOP_WORDS, *STOP_WORDS), (0.1, 0.2, 0.3, 0.4, 0.5, 0.15), strict=True):
        sound, _ = clip(word, "heart")
        begin = round((max(nobody_s - late_s, 0.0) + 1.5) * RATE_HZ)
        whole = np.concatenate((np.zeros(begin - round(BEFORE_S * RATE_HZ), np.float32), sound))
        whole += np.random.default_rng(1).normal(0, floor, len(whole)).astype(np.float32)
        noticed = begin + round(late_s * RATE_HZ)
        heard.spotter.flush()
        for at in range(0, len(whole), 160):
            nobody = noticed - nobody_s * RATE_HZ <= at < noticed
            heard.spotter.feed(whole[at : at + 160], at / RATE_HZ, nobody=nobody)
        told = [heard.told.get().phrase for _ in range(heard.told.qsize())]
        assert told == [word], late_s


def test_the_network_rests_while_nobody_speaks(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(StopNetwork, "process", lambda network, samples, at_s: given.append(at_s) or [])
    heard.spotter.flush()
    for at in range(0, 10 * RATE_HZ, 160):
        heard.spotter.feed(np.zeros(160, np.float32), at / RATE_HZ, nobody=at < 9 * RATE_HZ)
    assert max(np.diff(given)) > 6.5, "of nine seconds the first one and the last one"
    assert given[-1] == pytest.approx(9.99)


def test_a_callback_may_flush(heard: Heard) -> None:
    take = heard.spotter.on_keyword
    heard.spotter.on_keyword = lambda keyword: heard.spotter.flush()
    try:
        assert heard.hear(clip("stop", "heart")[0]) == []
    finally:
        heard.spotter.on_keyword = take


def test_a_word_of_which_the_network_is_sure_counts_while_what_pocketsphinx_heard_is_being_refused(
    heard: Heard,
) -> None:
    told: list[SpottedPhrase] = []

    def take(keyword: SpottedPhrase) -> bool:
        told.append(keyword)
        if not keyword.sure:  # the network hears it meanwhile
            heard.spotter.tell(replace(keyword, end_s=keyword.end_s + 0.05, sure=True))
        return keyword.sure

    heard.spotter.flush()
    counts, heard.spotter.on_keyword = heard.spotter.on_keyword, take
    word = SpottedPhrase("stop", 4.6, 5.0, 5.05, 0.9)
    try:
        heard.spotter.tell(word)
        heard.spotter.tell(replace(word, sure=True))
    finally:
        heard.spotter.on_keyword = counts
    assert [keyword.sure for keyword in told] == [False, True], "it counts once"


def test_a_word_that_did_not_count_may_be_found_again(heard: Heard) -> None:
    heard.counts = False
    try:
        found = heard.hear(clip("stop", "heart")[0])
    finally:
        heard.counts = True
    assert found
    assert set(found) == {"stop"}
    assert heard.hear(clip("stop", "heart")[0]) == ["stop"]
