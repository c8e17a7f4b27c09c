"""How many words history has of an answer that was interrupted, and how many the loudspeaker has played."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from threading import Event
from typing import Any, Final

import numpy as np
from bench import voice_lines
from bench.report import Rows
from bench.voice_trials import LIMIT_S, VOICES, Once, calm, talking, tell

from edgeagent.audio import Resampler, Samples
from edgeagent.llm import LLMRequest
from edgeagent.testing import Recorded, RoomSettings
from edgeagent.tts import make_speaker
from edgeagent.voice import State

_FAINT: Final = 1e-3
"""Power of sound that is none."""
_SILENT: Final = 1e-4
_GAP_S: Final = 0.1
_NEAR_S: Final = 0.2


class Reference:
    """A story as the loudspeaker plays it, and when its words begin and end."""

    def __init__(self, text: str, rate_hz: int) -> None:
        self.words: list[tuple[float, float]] = []
        parts: list[Samples] = []
        passed_s = 0.0
        with closing(make_speaker()) as speaker:
            for sentence in text.split(". "):
                chunks = list(speaker.speak(sentence.rstrip(".") + ".", Event()))
                samples = np.concatenate([chunk.samples for chunk in chunks])
                begins = [passed_s + word.at_s for chunk in chunks for word in chunk.words]
                passed_s += len(samples) / speaker.rate_hz
                self.words += zip(begins, [*begins[1:], passed_s], strict=True)
                parts.append(samples)
            made = np.concatenate(parts)
            sound = Resampler(speaker.rate_hz, rate_hz).process(made, last=True)
        self._rate_hz = rate_hz
        self._sounding = sounding(sound, rate_hz)
        self._sound = sound[self._sounding]

    def position_s(self, played: Samples) -> float:
        """How much of it was played: where the last of the sound fits best, near to what its length says. Silence is
        left out of both: the robot may have been held for a moment, and have gone on.
        """
        heard = played[sounding(played, self._rate_hz)].astype(np.float64)
        if not len(heard):
            return 0.0
        last = heard[-self._rate_hz // 2 :]
        first = max(len(heard) - len(last) - round(_NEAR_S * self._rate_hz), 0)
        near = self._sound[first : len(heard) + round(_NEAR_S * self._rate_hz)].astype(np.float64)
        size = 1 << (len(near) + len(last)).bit_length()
        fits = np.fft.irfft(np.fft.rfft(near, size) * np.conj(np.fft.rfft(last, size)), size)
        power = np.concatenate(([0.0], np.cumsum(np.square(near))))
        places = max(len(near) - len(last) + 1, 1)
        loudness = np.sqrt(np.maximum(power[-places:] - power[:places], _FAINT))  # or a loud place fits best
        end = min(first + int(np.argmax(fits[:places] / loudness)) + len(last), len(self._sounding))
        return (int(self._sounding[end - 1]) + 1) / self._rate_hz


def sounding(sound: Samples, rate_hz: int) -> np.ndarray[Any, Any]:
    """Numbers of the samples that are no silence of more than a tenth of a second."""
    near = round(_GAP_S / 2 * rate_hz)
    loud = np.concatenate((np.zeros(near + 1), np.cumsum(np.abs(sound) > _SILENT), np.zeros(near)))
    loud[near + 1 + len(sound) :] = loud[near + len(sound)]
    return np.flatnonzero(loud[2 * near + 1 :] > loud[: len(sound)])


def heard_words(count: int, once: Once) -> Rows:
    """People interrupt an answer at random moments; its words in history are compared with the loudspeaker's sound."""
    stories = voice_lines.STORIES

    def reply(request: LLMRequest) -> str:
        told = request.messages[-1].text.partition("story ")[2]
        return stories[int(told)] if told.isdigit() else "Okay."

    with talking(RoomSettings(echo_gain_db=-6), reply) as (talk, log):
        references = [Reference(text, talk.room.settings.rate_hz) for text in stories]

        def trial(number: int) -> list[int] | None:
            """Words that nobody heard, and that are missing; None: it was no interruption."""
            calm(talk)
            talk.app.session.reset()
            log.events.clear()
            which = number % len(stories)
            talk.room.recorded = Recorded()
            talk.conversation.hear(f"story {which}")
            talk.pass_until(lambda: talk.state is State.SPEAKING, LIMIT_S)
            talk.pass_s(np.random.default_rng([5, number]).uniform(0.3, 8.0))
            question = voice_lines.QUESTIONS[number % len(voice_lines.QUESTIONS)]
            talk.say(question, VOICES[number % len(VOICES)])
            if not talk.pass_until(lambda: bool(log.of("barge_in", action="final")), 3.0):
                tell(f"not an interruption: {question!r}: {log.brief()}")
                talk.conversation.rearm()
                talk.pass_until(lambda: talk.state is State.LISTENING, LIMIT_S)
                return None
            position_s = references[which].position_s(talk.room.recorded.loudspeaker)
            text = next(m.text for m in talk.app.session.messages() if m.role == "assistant")
            kept = len(text.split())
            words = references[which].words
            unheard = max(kept - sum(begin_s < position_s for begin_s, _ in words), 0)
            missing = max(sum(end_s <= position_s for _, end_s in words) - kept, 0)
            if max(unheard, missing) > 1:
                tell(f"{position_s:.2f} s were played: {text!r}")
            talk.pass_until(lambda: talk.state is State.LISTENING, LIMIT_S)
            return [unheard, missing]

        made = [found for number in range(count) if (found := once(number, trial)) is not None]
    return [
        ("words in history that nobody heard, an interruption", _most([unheard for unheard, _ in made]), "at most 1"),
        ("heard words missing in history, an interruption", _most([missing for _, missing in made]), "at most 1"),
        ("speech over the robot's voice that did not interrupt it", f"{count - len(made)} of {count}", ""),
    ]


def _most(counts: Sequence[int]) -> str:
    return f"at most {max(counts, default=0)}, in all {sum(counts)} of {len(counts)} interruptions"
