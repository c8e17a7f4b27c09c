"""The echo is subtracted, and a person keeps his voice: with responses of rooms, and in the simulated room."""

import numpy as np
import pytest

from edgeagent.audio import EchoCanceller, LinearCanceller, Remainder, Samples
from edgeagent.testing import Room, RoomSettings, in_db, rms, speech_level, synthesised

RATE_HZ = 16_000
FRAME = 160


ROBOT = (
    "The kitchen is clear and the door is open. I have driven four metres and turned to the left. My battery is at "
    "sixty two percent, so I can go on for about two hours."
)
PERSON = "Wait a moment please, I did not mean the kitchen. Could you drive to the bedroom? And then come back here."


def speech(text: str, voice: str, seconds: float) -> Samples:
    """So much of it at -20 dBFS."""
    spoken = np.resize(synthesised(text, voice, RATE_HZ), round(seconds * RATE_HZ))
    return (spoken * (0.1 / speech_level(spoken, RATE_HZ))).astype(np.float32)


def response(rt60_s: float, delay_s: float, seed: int = 0) -> Samples:
    """Of a room: noise that dies away, after a first sound."""
    at_s = np.arange(round(0.3 * RATE_HZ)) / RATE_HZ
    tail = np.random.default_rng(seed).normal(0, 0.05, len(at_s)) * 10 ** (-3 * at_s / rt60_s)
    tail[0] = 0.7
    return np.concatenate((np.zeros(round(delay_s * RATE_HZ)), tail)).astype(np.float32)


def echo_of(far: Samples, way: Samples) -> Samples:
    size = len(far) + len(way)
    made = np.fft.irfft(np.fft.rfft(far, size) * np.fft.rfft(way, size), size)[: len(far)]
    return made.astype(np.float32)


def left_of(near: Samples, far: Samples, lead_s: float, canceller: LinearCanceller | None = None) -> Samples:
    canceller = canceller or LinearCanceller(RATE_HZ)
    frames = [
        canceller.process(near[at : at + FRAME], far[at : at + FRAME], lead_s) for at in range(0, len(near), FRAME)
    ]
    return np.concatenate(frames)


@pytest.mark.parametrize("lead_s", [0.01, 0.04, 0.12])
def test_the_echo_is_subtracted_wherever_it_begins(lead_s: float) -> None:
    far = speech(ROBOT, "en", 6)
    echo = echo_of(far, response(0.2, lead_s))
    left = left_of(echo, far, lead_s)
    assert in_db(rms(echo[48_000:])) - in_db(rms(left[48_000:])) > 14


def test_a_person_who_speaks_meanwhile_keeps_his_voice_and_the_filter_its_response() -> None:
    far, person = speech(ROBOT, "en", 8), speech(PERSON, "slt", 8)
    person[: 4 * RATE_HZ] = 0
    person[6 * RATE_HZ :] = 0
    echo = echo_of(far, response(0.2, 0.04))
    left = left_of(echo + person, far, 0.04)
    both, after = slice(4 * RATE_HZ, 6 * RATE_HZ), slice(6 * RATE_HZ, None)
    assert in_db(rms(person[both])) - in_db(rms((left - person)[both])) > 15
    assert in_db(rms(echo[after])) - in_db(rms(left[after])) > 20


def test_a_silent_loudspeaker_costs_a_microphone_nothing() -> None:
    person = speech(PERSON, "slt", 2)
    assert np.array_equal(left_of(person, np.zeros_like(person), 0.04), person)


def test_a_response_that_becomes_another_is_learned_anew_and_is_never_louder_for_long() -> None:
    far = speech(ROBOT, "en", 10)
    echo = echo_of(far, response(0.2, 0.04))
    echo[5 * RATE_HZ :] = -echo_of(far, response(0.3, 0.05, seed=3))[5 * RATE_HZ :]
    left = left_of(echo, far, 0.04)
    jump = slice(round(5.5 * RATE_HZ), 6 * RATE_HZ)
    assert in_db(rms(left[jump])) - in_db(rms(echo[jump])) < 3
    assert in_db(rms(echo[-2 * RATE_HZ :])) - in_db(rms(left[-2 * RATE_HZ :])) > 8


def test_what_is_left_of_the_robot_is_no_person_and_a_person_is() -> None:
    far, person = speech(ROBOT, "en", 8), speech(PERSON, "slt", 8)
    echo = echo_of(far, response(0.2, 0.04))
    near = echo + np.where(np.arange(len(echo)) < 6 * RATE_HZ, 0, person).astype(np.float32)
    left = left_of(near, far, 0.04)
    remainder = Remainder(RATE_HZ)
    more = [
        remainder.has_more(left[at : at + FRAME], (near - left)[at : at + FRAME]) for at in range(0, len(near), FRAME)
    ]
    assert np.mean(more[200:600]) < 0.03
    assert np.mean(more[600:]) > 0.2


def test_recognisers_hear_all_of_a_person_over_the_robots_voice() -> None:
    """What AEC3 leaves of a person then is 3 dB over what it took; of the other sound 12 dB and more."""
    heard = {}
    for mode in ("nobody", "person"):
        room = Room(RoomSettings(rate_hz=RATE_HZ, echo_gain_db=-6, rt60_s=0.2, drift_ppm=100))
        voice = speech(ROBOT, "en", 9)
        room.calibrate(voice, RATE_HZ)
        canceller = EchoCanceller(RATE_HZ, RATE_HZ, noise_suppression=False)
        at, clean, sound = 0, [], []

        def fill(block: Samples, dac_s: float, voice: Samples = voice, canceller: EchoCanceller = canceller) -> None:
            nonlocal at
            block[: len(voice[at : at + len(block)])] = voice[at : at + len(block)]
            at += len(block)
            canceller.far(block, dac_s)

        def take(
            block: Samples,
            adc_s: float,
            canceller: EchoCanceller = canceller,
            clean: list[Samples] = clean,
            sound: list[Samples] = sound,
        ) -> None:
            clean.append(canceller.near(block, adc_s))
            sound.append(canceller.unsuppressed)
            assert len(sound[-1]) == len(clean[-1])

        if mode == "person":
            room.say(speech(PERSON, "slt", 2), RATE_HZ, 6.0)
        room.start(fill=fill, take=take)
        room.run(8.5)
        heard[mode] = np.concatenate(clean), np.concatenate(sound)
    person = room.recorded.person
    words = slice(6 * RATE_HZ, 8 * RATE_HZ)
    late = round(0.008 * RATE_HZ)  # AEC3's delay
    wanted = person[words.start - late : words.stop - late]
    lost_db = [in_db(rms(wanted)) - in_db(rms(both[words] - wanted)) for both in heard["person"]]
    assert lost_db[1] > 12
    assert lost_db[1] > lost_db[0] + 6
    clean, sound = heard["nobody"]
    robot = slice(4 * RATE_HZ, 8 * RATE_HZ)
    assert in_db(rms(sound[robot])) < in_db(rms(wanted)) - 20, "little of its own voice is left"
