"""A conversation on a stage: the real mouth and the real loop over ears that a test plays, on a clock that it moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from edgeagent import Agent, Session, events
from edgeagent.audio import Fill, PlaybackQueue, Samples
from edgeagent.robot import SafetyLatch
from edgeagent.stt import HearingEvent, RecognisedText, SpottedPhrase, hearing
from edgeagent.testing import ScriptedLLM
from edgeagent.tts import EspeakSpeaker, Mouth
from edgeagent.voice import Dialogue, DialogueSettings, State

RATE_HZ = 16_000
BLOCK = 160
LATENCY_S = 0.06


class PlayedEars:
    """As ``Ears``, but a test says what is heard. Its device is a loudspeaker whose samples it keeps."""

    def __init__(self, on_event: Callable[[HearingEvent], None]) -> None:
        self.on_event = on_event
        self.hard_end_ms = self.soft_end_ms = 0.0
        self.utterance = self.blocks = 0
        self.doubted: Sequence[str] = ()
        self.looks: list[Sequence[str]] = []
        self.now_s = 0.0
        self.level_db = -60.0
        """How loud it is in a room whose floor is at -60 dB."""
        self.listening = True
        self.played: list[Samples] = []
        self._fill: Fill | None = None

    def open_sound(self, play: Fill | None = None) -> None:
        self._fill = play

    def listen(self, on: bool) -> None:
        self.listening = on

    def settle(self, timeout_s: float = 10.0) -> bool:
        return True

    def doubt(self, phrases: Sequence[str]) -> None:
        self.doubted = phrases

    def look_early(self) -> None:
        self.looks.append(self.doubted)

    def close(self) -> None:
        self._fill = None

    def block(self) -> None:
        """10 ms pass."""
        block: Samples = np.zeros(BLOCK, np.float32)
        if self._fill is not None:
            self._fill(block, self.now_s + LATENCY_S)
        self.played.append(block)
        self.blocks += 1
        self.now_s += BLOCK / RATE_HZ
        if len(self.played) % 5 == 0:
            self.on_event(hearing.Level(self.now_s, self.level_db, -60.0, voiced=False, far_active=False))


class Stage:
    """A conversation, and what a test does to it."""

    def __init__(
        self,
        *replies: Any,
        settings: DialogueSettings | None = None,
        agent: Agent | None = None,
        token_delay_s: float = 0,
    ) -> None:
        self.llm = ScriptedLLM(*replies, token_delay_s=token_delay_s)
        self.agent = agent or Agent("robi")
        self.agent.llm = self.agent.llm or self.llm
        self.agent.latch = latch = self.agent.latch or SafetyLatch()
        assert isinstance(latch, SafetyLatch)
        self.session = Session(self.agent)
        self.speaker = EspeakSpeaker()
        self.mouth = Mouth(self.speaker, PlaybackQueue(RATE_HZ))
        self.dialogue = Dialogue(
            self.session,
            self.mouth,
            self._make_ears,  # type: ignore[arg-type] - test_the_played_ears_are_like_the_real_ones
            settings=settings or DialogueSettings(chimes=False),
            latch=latch,
        )
        self.log: list[Any] = []
        self.dialogue.subscribe(self.log.append)
        self.dialogue.start()

    def _make_ears(self, on_event: Callable[[HearingEvent], None]) -> PlayedEars:
        self.ears = PlayedEars(on_event)
        return self.ears

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dialogue.close()
        self.mouth.close()
        self.session.close()
        self.speaker.close()

    @property
    def state(self) -> State:
        return self.dialogue.state

    @property
    def now_s(self) -> float:
        return self.ears.now_s

    def settle(self) -> None:
        assert self.dialogue.settle(20.0), "the conversation does not come to rest"

    def pass_s(self, seconds: float) -> None:
        """Time passes, in which nobody says anything."""
        for _ in range(round(seconds * RATE_HZ / BLOCK)):
            self.ears.block()
            self.settle()

    def pass_until(self, condition: Callable[[], bool], limit_s: float = 30.0) -> None:
        """Time passes until something is true."""
        end_s = self.now_s + limit_s
        while not condition():
            assert self.now_s < end_s, f"not within {limit_s} s; the conversation is {self.state}"
            self.ears.block()
            self.settle()

    def tell(self, *heard: HearingEvent) -> None:
        """The ears tell something."""
        for event in heard:
            self.ears.on_event(event)
        self.settle()

    def begin(self, ago_s: float = 0.1) -> None:
        """Somebody begins to speak, and has done so for a tenth of a second."""
        self.ears.utterance += 1
        began_s = self.now_s - ago_s
        self.tell(hearing.SpeechStarted(self.ears.utterance, began_s, begin_s=began_s))

    def partly(self, text: str) -> None:
        self.tell(hearing.PartialTranscript(self.ears.utterance, RecognisedText(text, final=False)))

    def look(self, text: str) -> None:
        """An early look at what was said until now; another text may have been said as well."""
        transcript = RecognisedText(text, understood=False, confidence=0.8, others=(f"{text} now",), excluded=("stop",))
        self.tell(hearing.EarlyLook(self.ears.utterance, transcript, self.now_s))

    def pause(
        self, text: str, *, understood: bool = True, confidence: float = 0.9, suspected: float = 0.0, **known: Any
    ) -> None:
        """A soft end, and the words until it, with what else is known of them, and how likely a "stop" was."""
        transcript = RecognisedText(text, understood=understood, confidence=confidence, **known)
        word = SpottedPhrase("stop", self.now_s - 0.4, self.now_s, self.now_s, suspected)
        self.tell(hearing.SoftEnd(self.ears.utterance, self.now_s))
        self.tell(hearing.FinalTranscript(self.ears.utterance, transcript, self.now_s, 0.1, word))

    def go_on(self) -> None:
        self.tell(hearing.SpeechResumed(self.ears.utterance, self.now_s))

    def end(self) -> None:
        self.tell(hearing.HardEnd(self.ears.utterance, self.now_s, cut=False))

    def say(
        self,
        text: str,
        *,
        seconds: float = 0.3,
        understood: bool = True,
        confidence: float = 0.9,
        **known: Any,
    ) -> None:
        """A whole utterance, and the silence after it."""
        self.begin()
        self.pass_s(seconds)
        self.pause(text, understood=understood, confidence=confidence, **known)
        self.pass_s(0.2)
        self.end()

    def spot(self, phrase: str) -> None:
        """The spotter hears a phrase that ends now."""
        keyword = SpottedPhrase(phrase, self.now_s - 0.3, self.now_s, self.now_s, 0.9)
        self.tell(hearing.KeywordSpotted(keyword))

    def spot_wait(self, phrase: str) -> None:
        """The network hears a phrase that makes motion wait, which ends now."""
        keyword = SpottedPhrase(phrase, self.now_s - 0.3, self.now_s, self.now_s, 0.9, waits=True)
        self.tell(hearing.WaitSpotted(keyword))

    def kinds(self) -> list[str]:
        """The kinds of the voice's events so far, without those of the runs."""
        return [event.kind for event in self.log if not isinstance(event, events.Event)]

    def states(self) -> list[str]:
        return [event.new for event in self.log if event.kind == "voice_state"]
