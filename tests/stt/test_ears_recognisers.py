"""The ears with real recognisers, in the simulated room and on a file: what is heard, and when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgeagent.audio import EndpointSettings, FileDevice, PlaybackQueue, Samples, WavWriter
from edgeagent.errors import RecognitionError
from edgeagent.stt import (
    RATE_HZ,
    EarlyLook,
    Ears,
    EarsSettings,
    FinalTranscript,
    HardEnd,
    Judged,
    KeyPhraseSpotter,
    KeywordSpotted,
    KeywordSpotter,
    PartialTranscript,
    SoftEnd,
    SpeechStarted,
    SphinxOptions,
    SphinxTranscriber,
    Trouble,
)
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.stt.listening import Foresight, Kept, Notes, listening
from tests.stt.speech import PHRASES, ROOMS, blocks, said, within

LIMIT_S = 30.0


@pytest.fixture(scope="module")
def sphinx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    options = SphinxOptions(names=[ROOMS], cache=tmp_path_factory.mktemp("ears"), hang_s=10.0)
    transcriber = SphinxTranscriber(PHRASES, options)
    yield Kept(transcriber)
    transcriber.close()


@pytest.fixture(scope="module")
def spotter() -> Iterator[Kept]:
    made = KeyPhraseSpotter({"stop": None}, lambda keyword: None)
    yield Kept(made)
    made.close()


def test_a_command_is_heard_and_its_times_are_the_rooms(sphinx: Kept) -> None:
    with listening(sphinx) as here:
        end_s = here.say("where are you", at_s=1.5)
        here.run(3.7)
    assert here.kinds(PartialTranscript) == ["SpeechStarted", "SoftEnd", "FinalTranscript", "HardEnd"]
    (started,), (soft,), (heard,), (ended,) = (
        here.of(kind) for kind in (SpeechStarted, SoftEnd, FinalTranscript, HardEnd)
    )
    assert heard.transcript.text == "where are you"
    assert heard.transcript.final
    assert started.at_s == pytest.approx(1.5, abs=0.1)
    assert soft.at_s == heard.at_s == ended.at_s == pytest.approx(end_s, abs=0.15)
    assert heard.latency_s == pytest.approx(0.2, abs=0.06), (
        "the silence until the soft end; decoding takes no room time"
    )
    assert not ended.cut
    partials = [event.transcript for event in here.of(PartialTranscript)]
    assert partials
    assert not any(transcript.final for transcript in partials)


def test_a_microphone_that_cancels_echo_itself_is_heard_as_well(sphinx: Kept) -> None:
    with listening(sphinx, echo="hardware") as here:
        here.say("where are you", at_s=1.5)
        here.run(3.7)
    assert [heard.transcript.text for heard in here.of(FinalTranscript)] == ["where are you"]
    assert here.of(Trouble) == []


def test_a_turn_end_model_hears_each_utterance_until_its_soft_end(sphinx: Kept) -> None:
    with listening(sphinx) as here:
        sounds: list[int] = []
        here.ears.judge_ends(lambda samples: sounds.append(len(samples)) or 0.75)
        end_s = here.say("where are you", at_s=1.5)
        here.run(3.7)
    (judged,) = here.of(Judged)
    assert judged.probability == 0.75
    assert sounds[0] / RATE_HZ == pytest.approx(end_s - 1.5 + 0.5 + 0.2, abs=0.2), "pre-roll, speech, and the pause"


def test_a_turn_end_model_is_never_asked_about_nothing() -> None:
    heard: list[int] = []
    with listening(Notes()) as here:
        here.ears.judge_ends(lambda sound: float(bool(heard.append(len(sound)))))
        here.say("go to the kitchen and look at the window", at_s=1.0)
        here.run(2.0)
        here.ears.end_now()  # which is its soft and its hard end
        here.run(2.0)
    assert here.of(HardEnd)
    assert all(heard)


def test_a_turn_end_model_that_fails_is_said_and_the_words_come_nevertheless(sphinx: Kept) -> None:
    def fail(samples: object) -> float:
        raise RecognitionError("no model")

    with listening(sphinx) as here:
        here.ears.judge_ends(fail)
        here.say("where are you", at_s=1.5)
        here.run(3.7)
    assert [trouble.text for trouble in here.of(Trouble)] == ["no model"]
    assert here.of(FinalTranscript)[0].transcript.text == "where are you"


def test_a_person_is_heard_over_the_robots_own_voice_and_that_voice_is_not() -> None:
    room = Room(RoomSettings(rate_hz=RATE_HZ, echo_gain_db=-6))
    playback = PlaybackQueue(RATE_HZ)
    text = "the kitchen is warm and the lamp in the hall is on and all the windows are closed"
    talk = playback.begin()
    for _ in range(3):
        playback.write(talk, synthesised(text, "en-gb", RATE_HZ))
    with listening(Notes(), room=room, fill=playback.fill) as here:
        here.run(5.0)
        before = list(here.told)
        end_s = here.say("could you please stop right there", at_s=5.5, voice="rms")
        here.run(end_s - 4.0)
        assert here.ears.sound.echo.far_active
        assert here.ears.sound.echo.removed_db is not None
    assert before == [], "its own voice is no speech"
    assert here.of(SpeechStarted)[0].at_s == pytest.approx(5.5, abs=0.4)
    assert here.of(HardEnd)[-1].at_s == pytest.approx(end_s, abs=0.25)
    assert all(level.far_active for level in here.levels if 2.0 < level.now_s < 4.5)


def test_its_own_voice_by_a_loudspeaker_that_distorts_is_no_speech() -> None:
    room = Room(RoomSettings(rate_hz=RATE_HZ, echo_gain_db=6, clip=0.2, record=False))
    playback = PlaybackQueue(RATE_HZ)
    talk = playback.begin()
    for text in (
        "the battery is full, and the lamp in the hall is on.",
        "i put the cup on the table, then i went to the kitchen and looked for the red book.",
        "stop there, please, she said, and they all went home.",
        "seven small ships sailed slowly across the silver sea.",
    ):
        playback.write(talk, synthesised(text, "slt", RATE_HZ))
    with listening(Notes(), room=room, fill=playback.fill) as here:
        here.run(14.0)
    assert here.of(SpeechStarted) == []


def test_a_stop_word_is_spotted_over_the_robots_voice_and_the_robots_own_is_not() -> None:
    spotter = KeyPhraseSpotter({"stop": None}, lambda keyword: None)
    room = Room(RoomSettings(rate_hz=RATE_HZ, echo_gain_db=-6, rt60_s=0.2, drift_ppm=100))
    playback = PlaybackQueue(RATE_HZ)
    talk = playback.begin()
    for text in ("i will stop at the kitchen door. please tell me to stop.", "stop. i have come to a full stop now."):
        playback.write(talk, synthesised(text, "en", RATE_HZ))
    for _ in range(3):
        playback.write(talk, synthesised("the battery is full, and the lamp in the hall is on.", "en", RATE_HZ))
    with listening(Notes(), spotter=spotter, room=room, fill=playback.fill) as here:
        said = [here.say("stop", at_s=at_s, voice=voice) for at_s, voice in ((8.0, "slt"), (11.0, "awb"))]
        here.run(12.3)
        assert here.ears.sound.echo.far_active
    heard = [round(event.keyword.heard_s, 2) for event in here.of(KeywordSpotted)]
    assert all(any(end_s - 0.5 < heard_s < end_s + 0.3 for heard_s in heard) for end_s in said), (said, heard)
    assert min(heard) > 8.0, "its own"


def test_a_spotter_is_given_the_microphone_with_its_noise_and_what_the_loudspeaker_plays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[tuple[bool, Samples, Samples, Samples]] = []
    spotter = KeyPhraseSpotter({"stop": None}, lambda keyword: None)
    monkeypatch.setattr(
        spotter,
        "feed",
        lambda sound, at_s, *, raw, played, speaking, **_: given.append((speaking, sound, raw, played)),
    )
    room = Room(RoomSettings(rate_hz=RATE_HZ, noise_snr_db=10))
    playback = PlaybackQueue(RATE_HZ)
    spoken = synthesised("the lamp in the hall is on.", "en", RATE_HZ)
    with listening(Notes(), spotter=spotter, room=room, fill=playback.fill) as here:
        here.run(2.0)
        playback.write(playback.begin(), spoken)
        here.run(4.0)
    spotter.close()
    silent = [(sound, raw) for speaking, sound, raw, _ in given[100:] if not speaking]
    sound, raw = (np.concatenate([pair[which] for pair in silent]) for which in (0, 1))
    assert np.std(raw) > 2 * np.std(sound)
    assert np.array_equal(np.concatenate([raw for _, _, raw, _ in given]), room.recorded.microphone[: len(given) * 160])
    played = np.concatenate([played for _, _, _, played in given])
    assert np.sum(played**2) == pytest.approx(np.sum(spoken**2), rel=0.1)


def test_a_stop_word_is_spotted_and_its_times_are_the_rooms(spotter: Kept) -> None:
    with listening(Notes(), spotter=spotter) as here:
        end_s = here.say("stop", at_s=1.5, voice="rms")
        here.run(3.0)
    (spotted,) = here.of(KeywordSpotted)
    assert spotted.keyword.phrase == "stop"
    assert spotted.keyword.end_s == pytest.approx(end_s, abs=0.15)
    assert next(told_s for told_s, event in here.told if event is spotted) == pytest.approx(end_s, abs=0.2)


def test_an_utterance_is_looked_at_while_it_goes_on_and_not_in_silence() -> None:
    with listening(Foresight()) as here:
        here.say("go to the kitchen please and turn left", 0.5)
        for _ in range(4):
            here.ears.look_early()
            here.run(1.0)
        looks, [start], [end] = here.of(EarlyLook), here.of(SpeechStarted), here.of(HardEnd)
        assert {look.utterance for look in looks} == {1}
        assert all(start.at_s < look.at_s < end.at_s for look in looks)
        assert all(
            float(look.transcript.text.removesuffix(" s so far")) == pytest.approx(look.at_s - start.begin_s, abs=0.02)
            for look in looks
        )
        assert 1 <= len(looks) < 4


def test_a_transcript_comes_with_what_the_spotter_suspects(spotter: Kept) -> None:
    with listening(Notes(), spotter=spotter) as here:
        here.say("stop", at_s=1.0)
        here.say("go to the kitchen", at_s=4.0)
        here.run(7.0)
    stop, kitchen = (event.suspected for event in here.of(FinalTranscript))
    assert stop is not None
    assert kitchen is not None
    assert (stop.phrase, stop.score > 0.8, kitchen.score < 0.1) == ("stop", True, True)


def test_a_word_before_the_utterance_is_not_suspected_in_it(spotter: Kept) -> None:
    with listening(Notes(), spotter=spotter, endpoint=EndpointSettings(hard_end_ms=250)) as here:
        end_s = here.say("the bus stop", at_s=1.0)
        here.say("okay", at_s=end_s + 0.5)
        here.run(5.0)
    last = here.of(FinalTranscript)[-1].suspected
    assert last is not None
    assert last.score < 0.3


def test_ears_hear_with_pocketsphinxs_spotter_alone() -> None:
    with listening(Notes(), spotter=KeywordSpotter({"hello charlie": None}, lambda keyword: None)) as here:
        here.say("stop", at_s=1.0)
        here.run(3.0)
    assert [event.suspected for event in here.of(FinalTranscript)] == [None]


def test_ears_do_not_hear_what_others_gave_their_spotter(spotter: Kept) -> None:
    for block in blocks(said("stop", "slt")[: round(0.6 * RATE_HZ)]):
        spotter.feed(block)
    told: list[object] = []
    ears = Ears(Room(RoomSettings(rate_hz=RATE_HZ)), Notes(), told.append, spotter=spotter)
    for block in blocks(said("stop", "slt")[round(0.6 * RATE_HZ) :]):
        spotter.feed(block)
    assert spotter.wait_idle(LIMIT_S)
    ears.close()
    assert told == []


def test_the_same_room_gives_the_same_events(tmp_path: Path) -> None:
    def once() -> list[object]:
        options = SphinxOptions(names=[ROOMS], cache=tmp_path, hang_s=10.0)
        keywords = KeyPhraseSpotter({"stop": None}, lambda keyword: None)
        with listening(SphinxTranscriber(PHRASES, options), spotter=keywords) as here:
            here.say("drive forward", at_s=1.0)
            here.say("two meters", at_s=2.4)
            here.say("stop", at_s=4.3, voice="rms")
            here.run(5.4)
        # at one time of the room, a spotter and a recogniser tell in any order, and it what it knew meanwhile, or not
        newest = {(at_s, told if isinstance(told, KeywordSpotted) else type(told)): told for at_s, told in here.told}
        told = [(at_s, told) for (at_s, _), told in newest.items()]
        return [*sorted(told, key=lambda told: (told[0], isinstance(told[1], KeywordSpotted))), here.levels]

    first, second = once(), once()
    assert "SpeechResumed" in [type(told[1]).__name__ for told in first[:-1]]
    assert first == second


def test_a_file_that_ends_ends_its_utterance_and_is_heard_as_fast_as_possible(sphinx: Kept, tmp_path: Path) -> None:
    path = tmp_path / "talk.wav"
    with WavWriter(path, RATE_HZ) as writer:
        writer.write(np.zeros(2 * RATE_HZ, np.float32))
        writer.write(synthesised("go to the bathroom", "slt", RATE_HZ))
    told: list[object] = []
    device = FileDevice(input=path, paced=False)
    ears = Ears(device, sphinx, told.append, settings=EarsSettings(in_step=True))
    ears.open_sound()
    try:
        assert device.ended.wait(LIMIT_S)
        assert within(LIMIT_S, lambda: any(isinstance(event, HardEnd) for event in told))
        assert ears.settle(LIMIT_S)
    finally:
        ears.close()
    (heard,) = [event for event in told if isinstance(event, FinalTranscript)]
    assert heard.transcript.text == "go to the bathroom"
    ended = next(event for event in told if isinstance(event, HardEnd))
    assert ended.at_s < device.now()
