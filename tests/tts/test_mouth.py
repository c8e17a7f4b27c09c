"""The mouth: at once, in time, and known to the word."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from edgeagent.audio import PlaybackQueue, Samples
from edgeagent.errors import SpeechError
from edgeagent.tts import AHEAD_S, EspeakSpeaker, Mouth, Speech, SpeechChunk, WordTime

RATE_HZ = 16_000
LIMIT_S = 20
TEXT = "Okay, I will drive 2.5 m to the kitchen. It is 21 °C there, and the battery is at 64 %."


class Counting:
    """A voice that says each word in exactly 0.1 s, as a sample that is the number of the word."""

    name, rate_hz = "counting", 8_000

    def __init__(self) -> None:
        self.spoken: list[str] = []
        self.going = threading.Event()
        self.going.set()

    def speak(self, text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
        self.spoken.append(text)
        at = 0
        for number, word in enumerate(text.split()):
            assert self.going.wait(LIMIT_S)
            if stop_event.is_set():
                return
            start = text.index(word, at)
            at = start + len(word)
            yield SpeechChunk(np.full(800, 0.5, np.float32), 8_000, (WordTime(start, at, number / 10),))

    def close(self) -> None: ...


class Broken(Counting):
    def speak(self, text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
        raise SpeechError("no such voice")


class Loudspeaker:
    """A device whose clock goes when it is told to."""

    def __init__(self, playback: PlaybackQueue) -> None:
        self.playback = playback
        self.now_s = 0.0

    def play(self, seconds: float) -> Samples:
        out = []
        for _ in range(round(seconds * 100)):
            block = np.zeros(RATE_HZ // 100, np.float32)
            self.playback.fill(block, self.now_s)
            self.now_s += 0.01
            out.append(block)
        return np.concatenate(out) if out else np.zeros(0, np.float32)

    def play_out(self, speech: Speech) -> None:
        """Until it has ended; the mouth is given the time to synthesise."""
        pause = threading.Event()
        for _ in range(100_000):
            if speech.utterance.ended or speech.error is not None:
                return
            if speech.utterance.queued_s > 0.02 or speech.utterance.complete:
                self.play(0.01)
            else:
                pause.wait(0.001)
        raise TimeoutError


def wait_until_written(speech: Speech, seconds: float) -> None:
    pause = threading.Event()
    for _ in range(20_000):
        if speech.utterance.written >= seconds * RATE_HZ or speech.utterance.complete:
            return
        pause.wait(0.001)
    raise TimeoutError


def test_it_begins_before_the_text_is_whole() -> None:
    voice = Counting()
    playback = PlaybackQueue(RATE_HZ)
    with Mouth(voice, playback) as mouth:
        speech = mouth.begin()
        for delta in ("Okay, I will", " drive to the", " kitchen, and"):
            speech.feed(delta)
        wait_until_written(speech, 0.2)
        assert voice.spoken, "the first clause has left"
        assert not speech.utterance.complete
        speech.feed(" then I come back.")
        speech.end()
        Loudspeaker(playback).play_out(speech)
    assert " ".join(" ".join(voice.spoken).split()) == "Okay, I will drive to the kitchen, and then I come back."


def test_what_was_heard_is_known_to_the_word_in_the_words_of_the_text() -> None:
    voice = Counting()
    playback = PlaybackQueue(RATE_HZ)
    loudspeaker = Loudspeaker(playback)
    with Mouth(voice, playback) as mouth:
        speech = mouth.say("It is 21 °C. Good.")
        wait_until_written(speech, 0.6)
        heard = []
        for _ in range(9):
            loudspeaker.play(0.1)
            heard.append(speech.heard(loudspeaker.now_s))
    # it - is - twenty - one - degrees - celsius - good: a number counts when all of it was said
    assert heard[0] == "It"
    assert heard[1] == "It is"
    assert heard[2:4] == ["It is", "It is"]
    assert heard[-1] == "It is 21 °C. Good."


def test_it_is_ahead_of_the_playback_by_a_bounded_time() -> None:
    playback = PlaybackQueue(RATE_HZ)
    with Mouth(Counting(), playback) as mouth:
        speech = mouth.say("word " * 200 + ".")
        wait_until_written(speech, AHEAD_S)
        threading.Event().wait(0.05)
        assert speech.utterance.queued_s < AHEAD_S + 0.2
        loudspeaker = Loudspeaker(playback)
        loudspeaker.play_out(speech)
        assert speech.utterance.handed_s == pytest.approx(20, abs=0.1)
        assert speech.utterance.starved == 0


def test_a_flush_ends_it_and_the_next_reply_is_spoken() -> None:
    playback = PlaybackQueue(RATE_HZ)
    loudspeaker = Loudspeaker(playback)
    with Mouth(Counting(), playback) as mouth:
        first, second = mouth.say("one two three four five six seven eight. " * 5), mouth.say("never said")
        wait_until_written(first, 1)
        loudspeaker.play(0.3)
        mouth.flush()
        assert not loudspeaker.play(0.1)[RATE_HZ // 100 :].any()
        third = mouth.say("and now this.")
        loudspeaker.play_out(third)
        loudspeaker.play(0.1)
        assert first.heard(loudspeaker.now_s) == "one two three"
        assert (second.heard(loudspeaker.now_s), third.heard(loudspeaker.now_s)) == ("", "and now this.")


def test_a_hold_stops_the_clock_of_what_is_heard() -> None:
    playback = PlaybackQueue(RATE_HZ)
    loudspeaker = Loudspeaker(playback)
    with Mouth(Counting(), playback) as mouth:
        speech = mouth.say("one two three four five six.")
        wait_until_written(speech, 0.6)
        loudspeaker.play(0.2)
        playback.hold()
        loudspeaker.play(1)
        assert speech.heard(loudspeaker.now_s) == "one two"
        playback.resume()
        loudspeaker.play(1)
        assert speech.heard(loudspeaker.now_s) == "one two three four five six."


def test_a_voice_that_fails_is_told_and_the_mouth_goes_on() -> None:
    playback = PlaybackQueue(RATE_HZ)
    with Mouth(Broken(), playback) as mouth:
        for _ in range(2):
            speech = mouth.say("hello")
            Loudspeaker(playback).play_out(speech)
            assert str(speech.error) == "no such voice"


def test_closing_twice_and_in_the_middle_leaves_no_thread() -> None:
    before = threading.active_count()
    mouth = Mouth(Counting(), PlaybackQueue(RATE_HZ))
    mouth.say("word " * 100)
    mouth.close()
    mouth.close()
    assert threading.active_count() == before


def test_random_stops_of_a_real_voice_are_known_within_a_word() -> None:
    """The words whose samples left the loudspeaker, against the words that it says were heard."""
    rng, voice = random.Random(1), EspeakSpeaker()
    words = "the robot drives through the hall and looks at every door on its way to the kitchen".split()
    ends = []
    at = 0.0
    for chunk in voice.speak(" ".join(words), threading.Event()):
        ends += [word.at_s for word in chunk.words]
        at += len(chunk.samples) / chunk.rate_hz
    ends.append(at)
    for _ in range(20):
        playback = PlaybackQueue(RATE_HZ)
        loudspeaker = Loudspeaker(playback)
        with Mouth(voice, playback) as mouth:
            speech = mouth.say(" ".join(words))
            wait_until_written(speech, AHEAD_S)
            played_s = rng.uniform(0.1, AHEAD_S)
            loudspeaker.play(played_s)
            mouth.flush()
            loudspeaker.play(0.05)
            heard = speech.heard(loudspeaker.now_s).split()
        complete = sum(end <= played_s for end in ends[1:])
        assert abs(len(heard) - complete) <= 1, (played_s, heard)


def test_a_sentence_that_was_stopped_in_its_middle_was_not_heard_to_its_end() -> None:
    voice = Counting()
    voice.rate_hz = RATE_HZ  # nothing is held back by a resampler
    playback = PlaybackQueue(RATE_HZ)
    loudspeaker = Loudspeaker(playback)
    with Mouth(voice, playback) as mouth:
        speech = mouth.begin()
        third = threading.Event()
        spoken = voice.speak

        def speak(text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
            for number, chunk in enumerate(spoken(text, stop_event)):
                yield SpeechChunk(np.repeat(chunk.samples, 2), RATE_HZ, chunk.words)
                if number == 2:  # the voice itself ends when it is stopped
                    third.set()
                    stop_event.wait(LIMIT_S)

        voice.speak = speak  # type: ignore[method-assign]
        speech.feed("one two three four five six seven. ")
        speech.feed("And more.")
        assert third.wait(LIMIT_S)
        loudspeaker.play(0.5)
        mouth.flush()
        speech.end()
        for _ in range(1000):
            if speech.utterance.complete:
                break
            threading.Event().wait(0.01)
        assert speech.heard(loudspeaker.now_s) == "one two three"


def test_speeches_that_are_stopped_and_never_ended_are_forgotten() -> None:
    with Mouth(Counting(), PlaybackQueue(RATE_HZ)) as mouth:
        for _ in range(1000):
            mouth.begin().feed("one two. ")
            mouth.flush()
        assert len(mouth._speeches) <= 1


def test_many_short_replies_are_not_synthesised_long_before_they_are_heard() -> None:
    voice = Counting()
    playback = PlaybackQueue(RATE_HZ)
    with Mouth(voice, playback) as mouth:
        speeches = [mouth.say("one two three four five.") for _ in range(50)]
        wait_until_written(speeches[3], 0.5)
        threading.Event().wait(0.1)
        assert playback.queued_s < AHEAD_S + 0.6
        loudspeaker = Loudspeaker(playback)
        for speech in speeches:
            loudspeaker.play_out(speech)
        assert speeches[-1].heard(loudspeaker.now_s) == "one two three four five."


def test_who_feeds_sees_how_much_waits() -> None:
    voice = Counting()
    voice.going.clear()
    with Mouth(voice, PlaybackQueue(RATE_HZ)) as mouth:
        speech = mouth.begin()
        speech.feed("One sentence is here. " * 20)
        assert speech.waiting >= 18
        speech.stop()
        voice.going.set()
        assert speech.waiting == 0


def test_numbers_are_said_in_the_language_of_the_voice() -> None:
    voice = Counting()
    voice.language = "de"  # type: ignore[attr-defined]
    playback = PlaybackQueue(RATE_HZ)
    with Mouth(voice, playback) as mouth:
        Loudspeaker(playback).play_out(mouth.say("Es sind 21 Kisten."))
    assert voice.spoken == ["Es sind einundzwanzig Kisten."]


def test_a_flush_at_any_moment_of_a_real_voice_ends_it_and_the_next_is_whole() -> None:
    """Also while it synthesises, and before its first sound."""
    rng, playback = random.Random(2), PlaybackQueue(RATE_HZ)
    loudspeaker, voice, text = Loudspeaker(playback), EspeakSpeaker(), "one two three four five. six seven eight nine."
    pause = threading.Event()
    with Mouth(voice, playback) as mouth:
        for _ in range(30):
            speech = mouth.say(text * 5)
            pause.wait(rng.choice((0, 0, 0.001, 0.003, 0.01)))
            loudspeaker.play(rng.choice((0, 0.05, 0.3)))
            mouth.flush()
            assert not loudspeaker.play(0.05)[RATE_HZ // 100 :].any()
            heard = speech.heard(loudspeaker.now_s)
            assert (text * 5).startswith(heard)
            assert len(heard.split()) <= 3
        last = mouth.say(text)
        loudspeaker.play_out(last)
        assert last.heard(loudspeaker.now_s) == text
