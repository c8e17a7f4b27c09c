"""The voice, for a builder with a main loop of his own: an agent, a microphone and a loudspeaker.

Puts the parts of a conversation together from the settings; what it does is ``edgeagent.voice``'s.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

from edgeagent.agent import Agent
from edgeagent.app.agent_phrases import conversation_phrases
from edgeagent.app.app import latch_of
from edgeagent.app.ears_setup import Vocabulary, build_ears, open_device, stop_words, wake_words
from edgeagent.app.guards import BY_HAND, add_grounding, is_nano
from edgeagent.app.outfit import Outfit
from edgeagent.audio.device import SoundDevice
from edgeagent.audio.playback import PlaybackQueue
from edgeagent.audio.stereo_recorder import StereoRecorder
from edgeagent.config import Config, load_config
from edgeagent.english.completeness import Phrases
from edgeagent.errors import AudioError, BusyError, ConfigError
from edgeagent.extras import check
from edgeagent.hooks import Hook
from edgeagent.hooks.tool_guards import changes, moves
from edgeagent.llm import LLM, LLMRequest
from edgeagent.messages import Message
from edgeagent.session import Session
from edgeagent.stt.whisper_model import share_arenas
from edgeagent.tts.mouth import Mouth
from edgeagent.tts.voice_choice import make_speaker
from edgeagent.views import Callbacks
from edgeagent.voice.announcer import AnnouncerSettings
from edgeagent.voice.chimes import Chime
from edgeagent.voice.dialogue import LEARN_S, Dialogue, VoiceSubscriber
from edgeagent.voice.speech_queue import Priority, SpeechHandle
from edgeagent.voice.telling import Telling
from edgeagent.voice.turn_end import SmartTurn
from edgeagent.voice.turn_states import State
from edgeagent.voice.voice_settings import DialogueSettings, preset

logger = logging.getLogger(__name__)

RECORDED: Final = "This conversation is being recorded."
"""Said at the start of a recording."""
BARGE_IN: Final = "balanced"
"""The preset, unless another one is set."""
_SILENCE_S: Final = LEARN_S + 1.0
"""Before a file that stands for the microphone: its first word is to be heard, and shown."""


class Conversation:
    """People talk with an agent, and interrupt it. A context manager.

    Args:
        agent: Who answers; without a model it has that of the settings until the conversation is closed.
        config: The settings; None: those of the user's file and the environment. They count before the agent's options.
        input, output: Index or name of a device, a WAV file, or a ``SoundDevice`` as ``edgeagent.testing.Room``; None:
            those of the settings. One device may be both.
        session: One of the agent, whose history goes on, with its own options, audit and PII; None: a new one, as the
            settings say.
        telling: What is said of skills that start and end; None: sentences made of their names.

    Attributes:
        device: What hears and speaks.
        latch: Stops and allows motion.
        session: The history.

    Raises:
        AudioError: There is no such device, or the ears or the voice can't be had.
        ConfigError: A setting is wrong, or the session is another agent's.
        ModelError: The model can't be used.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        config: Config | None = None,
        input: SoundDevice | str | int | Path | None = None,  # noqa: A002 - the word for it on every page
        output: SoundDevice | str | int | Path | None = None,
        session: Session | None = None,
        telling: Telling | None = None,
    ) -> None:
        check("voice")
        share_arenas()
        if session is not None and session.agent is not agent:
            raise ConfigError(f"the session is one of the agent {session.agent.name!r}, not of {agent.name!r}")
        self._config = config = config or load_config()
        self._closed = threading.Event()
        self._closing_down = threading.Event()
        self._started = False
        self._closing = threading.Lock()
        with ExitStack() as owned:
            self._owned = owned
            """Closes everything at the end, the last part first, though one may fail."""
            outfit = self._own(Outfit(config))  # closed last: the log is to have the end
            guards: list[Hook] = []
            self._owned.callback(_without_model_of, outfit, agent, agent.llm, guards)
            if agent.llm is None:
                agent.llm = outfit.llm()
            self.session = session or self._own(outfit.session(agent, outfit.options(agent.options)))
            assert agent.llm is not None  # noqa: S101 - it was set, or made of fallback models
            self._llm: LLM = agent.llm
            guards += add_grounding(agent)
            self.device = device = self._device(input, output)
            self._owned.callback(device.stop)
            voice = self._own(make_speaker(**config.speech))
            mouth = self._own(Mouth(voice, PlaybackQueue(device.output_rate_hz or voice.rate_hz)))
            vocabulary = replace(Vocabulary.of(agent), often=conversation_phrases())
            self.latch = latch_of(agent)
            self._dialogue = Dialogue(
                self.session,
                mouth,
                lambda on_event: build_ears(config, device, vocabulary, on_event),
                settings=replace(_settings(config, vocabulary, agent.name, self._llm), telling=telling or Telling()),
                latch=self.latch,
            )
            self._owned.callback(self._dialogue.close)
            self.subscribe(outfit.log)
            if "turn_end" in config.conversation:
                self._dialogue.ears.judge_ends(SmartTurn(config.conversation["turn_end"]).probability)
            self._owned = owned.pop_all()
        self._let_people_be_asked()
        self._owned.callback(self._let_nobody_be_asked)

    def start(self) -> None:
        """Listens and speaks, and loads the model meanwhile; returns at once.

        Raises:
            AudioError: The device can't be opened; it may be tried again.
            BusyError: It has been started, or closed.
        """
        if self._closing_down.is_set():
            raise BusyError("the conversation is closed: make another one")
        if self._started:
            raise BusyError("the conversation has been started already")
        self._dialogue.robot.ready = False
        self._dialogue.start()
        self._started = True
        threading.Thread(target=self._warm, name="warm-up", daemon=True).start()

    def run(self) -> None:
        """``start``, and waits until ``close``, or Ctrl-C.

        Raises:
            AudioError: The device can't be opened.
        """
        self.start()
        self._closed.wait()

    def close(self) -> None:
        """Stops what moves, speaks and thinks, and ends everything. Safe on any thread, that of an event included;
        another call returns at once, though the first may not be done.

        Raises:
            AudioError: A device has failed meanwhile; everything else is closed nevertheless.
        """
        self.session.abort("safety_stop")  # what moves must not wait for a device to close
        if not self._closing.acquire(blocking=False):  # whoever waited here may be whom the first call waits for
            return
        self._closing_down.set()
        try:
            self._dialogue.quit()
            self._owned.close()
        finally:
            self._closed.set()

    def say(self, text: str, *, priority: Priority = "normal", interruptible: bool = True) -> SpeechHandle:
        """Says something: at the next pause, or at once if it is urgent.

        Args:
            interruptible: False: who speaks over it does not end it; a stop word does.

        Raises:
            BusyError: Too much waits to be said already.
            ConfigError: There is no such priority.
        """
        return self._dialogue.say(text, priority=priority, interruptible=interruptible)

    def hear(self, text: str) -> None:
        """Takes a text as if somebody had said it: "stop" trips the latch, whatever goes on."""
        self._dialogue.hear(text)

    def listen(self, on: bool) -> None:
        """Opens or closes the ears; what is being said then ends. Closed ears hear no stop word either."""
        self._dialogue.ears.listen(on)

    def push_to_talk(self, down: bool) -> None:
        """The button of a robot that hears only while it is pressed (``push_to_talk`` of the settings)."""
        self._dialogue.push_to_talk(down)

    def mute(self, on: bool) -> None:
        """Says nothing aloud, or does again; it hears and acts as before."""
        self._dialogue.robot.mute(on=on)

    def stop(self, reason: str = "user") -> None:
        """Stops everything, actuators first, before it returns; motion stays off until ``rearm``. Any thread."""
        self._dialogue.stop(reason)

    def rearm(self) -> bool:
        """Allows motion again. True if it was off."""
        return self._dialogue.rearm()

    def record(self, path: Path) -> StereoRecorder:
        """Records both ends in a WAV file until the conversation is closed, and says so aloud. Call after ``start``.

        A disk that is full ends the recording and not the conversation; that is told as a warning.

        Args:
            path: Where such a file is there, a number is put to the name; the recorder has the path that was taken.

        Raises:
            AudioError: The file can't be made, or the device has no microphone.
            BusyError: It records already.
        """
        sound = self._dialogue.ears.sound
        if sound.recorder is not None:
            raise BusyError(f"the conversation is recorded already, in {sound.recorder.path}")

        def ended(why: str) -> None:
            logger.warning("the recording %s has ended: %s; the conversation goes on", recorder.path, why)

        recorder = StereoRecorder(path, sound.input_rate_hz, self.device.output_rate_hz, on_end=ended)
        self._owned.callback(recorder.close)
        sound.recorder = recorder
        if not recorder.is_over:
            self.say(RECORDED, interruptible=False)
        return recorder

    def subscribe(self, fn: VoiceSubscriber) -> Callable[[], None]:
        """Calls it with every event of the runs and the voice, on the thread of each. Returns what ends that."""
        return self._dialogue.subscribe(fn)

    @property
    def state(self) -> State:
        """asleep, listening, hearing, thinking, acting, speaking or held."""
        return self._dialogue.state

    @property
    def dialogue(self) -> Dialogue:
        """The parts, for measurements and tests."""
        return self._dialogue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _own(self, part: Any) -> Any:
        self._owned.callback(part.close)
        return part

    def _device(
        self,
        input: SoundDevice | str | int | Path | None,  # noqa: A002 - the word for it on every page
        output: SoundDevice | str | int | Path | None,
    ) -> SoundDevice:
        named = (str, int, Path, type(None))
        if not isinstance(input, named):
            if output is not None and output is not input:
                raise AudioError("input and output have no common clock: pass one device as both")
            return input
        if not isinstance(output, named):
            raise AudioError("output is a device, and input is none: pass one device as both")
        chosen = {"input": input, "output": output}
        audio = {**self._config.audio, **{end: str(name) for end, name in chosen.items() if name is not None}}
        return open_device(replace(self._config, audio=audio), silence_s=_SILENCE_S, on_state=self._device_state)

    def _device_state(self, state: str, told: str) -> None:
        self._dialogue.device(state, told)

    def _let_people_be_asked(self) -> None:
        """By voice, unless the builder has a way of his own."""
        person, session = self._dialogue.robot.person, self.session
        self._asked_before = session.callbacks, session.options
        if session.callbacks is None:
            session.callbacks = Callbacks(on_question=person.question)
        options = session.options or session.agent.options
        if options.confirm is None:
            session.options = replace(options, confirm=person.confirm)

    def _let_nobody_be_asked(self) -> None:
        """As it was before: the session may go on without a voice, or with another."""
        self.session.callbacks, self.session.options = self._asked_before

    def _warm(self) -> None:
        """Loads the weights and evaluates system prompt and tools, so that the first answer waits for neither."""
        agent, robot = self.session.agent, self._dialogue.robot
        load = getattr(self._llm, "load", None)
        if not callable(load):
            robot.ready = True
            return
        options = self.session.options or agent.options
        request = LLMRequest(
            system=agent.instructions,
            messages=[Message.user("hello")],
            tools=list(agent.tools),
            tool_choice="none",
            max_tokens=1,
            thinking_level=options.thinking_level,
        )
        try:
            load()
            self._llm.complete(request, self._closing_down)
        except Exception as error:  # noqa: BLE001 - the first request says the same, to whoever asks
            logger.error("the model did not warm up: %s", error)
            robot.chime(Chime.ERROR)
        else:
            robot.chime(Chime.READY)
        robot.ready = True


def _without_model_of(outfit: Outfit, agent: Agent, before: LLM | None, guards: list[Hook]) -> None:
    """Takes a model that is about to be closed, and what guards it, from an agent. A model of the builder's keeps its
    guards: another conversation may rely on them."""
    if outfit.made(agent.llm):
        agent.llm = before
        agent.hooks[:] = [hook for hook in agent.hooks if hook not in guards]


def _settings(config: Config, vocabulary: Vocabulary, name: str, llm: LLM) -> DialogueSettings:
    """Returns the settings of turn taking."""
    table = config.conversation
    numbers = preset(table.get("barge_in", BARGE_IN))
    if "soft_end_ms" in config.ears:
        numbers = replace(numbers, soft_end_ms=config.ears["soft_end_ms"])
    stops, wakes = tuple(stop_words(config)), tuple(wake_words(config))
    chosen = {name: table[name] for name in ("push_to_talk", "follow_up_s", "chimes") if name in table}
    if "filler_s" in table:
        chosen["announcer"] = AnnouncerSettings(filler_s=table["filler_s"])
    by_hand = vocabulary.phrases if len(vocabulary.phrases) <= BY_HAND else ()
    return DialogueSettings(
        preset=numbers,
        phrases=Phrases(by_hand, names=vocabulary.names, stops=stops, called=(name, *wakes)),
        stop_words=stops,
        wake_words=wakes,
        keeps_from_talk=changes if config.app is None else moves,
        small_model=is_nano(llm),
        **chosen,
    )
