"""The ears of an app, from the settings: microphone, recogniser, key phrases. The place that knows their engines.

Nothing here prints or reads anything; what happens to a recogniser's process is told as ``Trouble``.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from edgeagent.agent import Agent
from edgeagent.app.agent_phrases import ears_phrases, house_phrases, name_groups
from edgeagent.app.app import INSTRUCTIONS, NAME
from edgeagent.app.file import AppFile
from edgeagent.app.outfit import configured_llm
from edgeagent.audio.device import SoundDevice
from edgeagent.audio.endpoint import EndpointSettings
from edgeagent.audio.files import FileDevice, check_format, is_file
from edgeagent.audio.portaudio import LATENCY_S, End, PortAudioDevice, State, forget_devices
from edgeagent.config import Config
from edgeagent.errors import AudioError, ConfigError, EdgeAgentError, RecognitionError
from edgeagent.extras import install, lacking
from edgeagent.llm import LLM
from edgeagent.models.catalog import recognisers
from edgeagent.models.store import absent, folder
from edgeagent.resources import expanded
from edgeagent.stt.app_model import sounds
from edgeagent.stt.ears import Ears, EarsSettings
from edgeagent.stt.hearing import HearingEvent, Transcriber, Trouble
from edgeagent.stt.key_phrases import STOP_WORDS, SpotterOptions
from edgeagent.stt.phrases import spoken_words
from edgeagent.stt.spotters import KeyPhraseSpotter
from edgeagent.stt.worker import WorkerEvent

if TYPE_CHECKING:
    from edgeagent.stt.whisper_model import WhisperModel, WhisperOptions

log: Final = logging.getLogger("edgeagent.stt")

ENGINES: Final = ("fused", "sphinx", "whisper")
"""PocketSphinx and Whisper together, and each alone."""
WHISPER_MODEL: Final = "tiny.en"
"""Name of the model of Whisper that is used if the settings name none."""

_LOOK_S: Final = 2.0
"""Seconds between two looks for a sound card that comes late."""
_ENGLISH_ONLY: Final = ".en"
"""Ends the names of such models."""
_END: Final = ("soft_end_ms", "hard_end_ms", "pre_roll_ms", "max_s")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words and phrases that people say to an app."""

    phrases: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    """Groups of names of one kind, such as all rooms."""
    often: tuple[str, ...] = ()
    """Phrases that are said in every conversation, whatever the app is about."""

    @classmethod
    def of(cls, agent: Agent, phrases: Sequence[str] = ()) -> Vocabulary:
        """Returns the vocabulary of an agent, its tools, and those it hands over to.

        Args:
            phrases: Of the app, beside them.
        """
        groups = tuple(tuple(group) for group in name_groups(agent))
        return cls(phrases=tuple(dict.fromkeys((*phrases, *ears_phrases(agent)))), names=groups)


def vocabulary(config: Config) -> Vocabulary:
    """Returns what people say to the app of the settings; without a model, if the app needs none.

    Raises:
        ConfigError: The app file is missing or wrong.
        ModelError: It needs the configured model, which can't be used.
    """
    if config.app is None:
        from edgeagent.house import HouseRobot

        robot = HouseRobot(seed=config.seed)
        try:
            return Vocabulary.of(Agent(NAME, INSTRUCTIONS, tools=robot.tools, phrases=house_phrases()))
        finally:
            robot.close()
    file = AppFile.load(config.app)
    models: list[LLM] = []

    def model() -> LLM:
        models.append(configured_llm(config))
        return models[0]

    try:
        return Vocabulary.of(file.agent(model), file.phrases)
    finally:
        file.close()
        for each in models:
            each.close()


def key_phrases(text: str) -> dict[str, float | None]:
    """Phrases with commas between them, each with its threshold behind a slash, or None.

    Raises:
        ConfigError: A threshold is no number in (0, 1].
    """
    found: dict[str, float | None] = {}
    for part in text.split(","):
        phrase, slash, number = part.strip().rpartition("/")
        if not slash:
            phrase, number = number, ""
        if not phrase.strip():
            continue
        try:
            threshold = float(number) if slash else None
        except ValueError:
            threshold = -1.0
        if threshold is not None and not 0.0 < threshold <= 1.0:
            raise ConfigError(
                f"{part.strip()!r}: the threshold of a key phrase is a number above 0 and up to 1, like 1e-20"
            )
        found[phrase.strip().lower()] = threshold
    return found


def stop_words(config: Config) -> dict[str, float | None]:
    """The stop words of the settings, and their thresholds where somebody has set them."""
    return key_phrases(config.ears.get("stop_words", ", ".join(STOP_WORDS)))


def wake_words(config: Config) -> dict[str, float | None]:
    """The wake words likewise."""
    return key_phrases(config.ears.get("wake_words", ""))


def check(config: Config) -> None:
    """Finds out what is wrong with the settings of hearing before any device is looked for.

    Raises:
        ConfigError: There is no such engine, PocketSphinx is to hear another language, or a key phrase or pronunciation
            is none.
    """
    _checked_engine(config)
    for phrase in stop_words(config) | wake_words(config):
        if not spoken_words(phrase):
            raise ConfigError(f"the key phrase {phrase!r} has no words")
    sounds(config.ears.get("said", {}))


def open_device(
    config: Config,
    *,
    ends: tuple[End, ...] = ("input", "output"),
    paced: bool = True,
    silence_s: float = 0.0,
    on_state: Callable[[State, str], object] | None = None,
) -> SoundDevice:
    """The devices of the settings: sound cards, or files in their place.

    Args:
        ends: Which of them; where files stand for devices, an end without one is left out.
        paced: Files keep the time of the wall.
        silence_s: Before a file that stands for the microphone.
        on_state: Told when a sound card is lost and when it is back.

    Raises:
        AudioError: There is no such device, or the file can't be read.
        ConfigError: One end is a file and the other one a sound card, which have no common clock.
    """
    wanted = {end: config.audio.get(end) for end in ends}
    for device in wanted.values():
        check_format(device)
    if any(map(is_file, wanted.values())):
        cards = [f"{end} = {device!r}" for end, device in wanted.items() if device is not None and not is_file(device)]
        if cards:
            raise ConfigError(f"{cards[0]} is a sound card, and the other end is a file: use files for both")
        return FileDevice(
            input=wanted.get("input"),
            output=wanted.get("output"),
            paced=paced,
            channel=config.audio.get("channel"),
            silence_s=silence_s,
        )
    return PortAudioDevice(
        input=wanted.get("input"),
        output=wanted.get("output"),
        ends=ends,
        latency_s=config.audio.get("latency_ms", LATENCY_S * 1000) / 1000,
        channel=config.audio.get("channel"),
        on_state=on_state,
    )


_Seen = TypeVar("_Seen")


class Waiting(Protocol):
    """Told what is not there yet; ``again``: for the same reason as before."""

    def __call__(self, why: str, *, again: bool) -> object: ...


def wait_for(look: Callable[[], _Seen], lacking: type[EdgeAgentError], tell: Waiting) -> _Seen:
    """Looks every two seconds until that does not raise ``lacking`` any more, and returns what it returned; for as long
    as that takes."""
    told, pause = "", threading.Event()
    while True:
        try:
            return look()
        except lacking as error:
            tell(str(error), again=str(error) == told)
            told = str(error)
            pause.wait(_LOOK_S)


def wait_for_sound(config: Config, tell: Waiting) -> None:
    """Waits until microphone and loudspeaker of the settings can be opened; for as long as that takes.

    Files in their place are not waited for.
    """
    if any(is_file(config.audio.get(end)) for end in ("input", "output")):
        return

    def look() -> None:
        forget_devices()
        device = open_device(config)
        try:
            device.start(fill=lambda block, dac_s: None, take=lambda block, adc_s: None)
        finally:
            device.stop()

    wait_for(look, AudioError, tell)


def make_transcriber(
    config: Config, vocabulary: Vocabulary, *, on_event: Callable[[WorkerEvent], None] | None = None
) -> Transcriber:
    """The recogniser of the settings. Takes seconds the first time that an app's phrases are heard.

    Args:
        on_event: Told what becomes of its processes, on threads of their own.

    Raises:
        ConfigError: There is no such engine, or a phrase can't be said.
        RecognitionError: It can't be started, or its model is missing.
    """
    engine = _checked_engine(config)
    if engine == "whisper":
        from edgeagent.stt.whisper import WhisperTranscriber

        of_whisper = dataclasses.replace(_whisper_options(config), hot_words=hot_words(config, vocabulary))
        return WhisperTranscriber(whisper_folder(_whisper_model(config)), of_whisper)
    from edgeagent.stt.sphinx import SphinxOptions, SphinxTranscriber

    # a closed model that lacks a word hears another one: the transcript has to be able to say "stop"
    phrases = list(dict.fromkeys((*vocabulary.phrases, *stop_words(config), *wake_words(config))))
    whisper = None
    if engine == "fused":
        try:
            whisper = _open_whisper(config)
        except RecognitionError as error:
            if "engine" in config.ears or "model" in config.ears:
                raise
            log.warning("%s: PocketSphinx hears alone", error)
    options = SphinxOptions(
        names=vocabulary.names,
        often=vocabulary.often,
        said=config.ears.get("said", {}),
        helps=whisper is not None,
        on_event=on_event,
    )
    sphinx = SphinxTranscriber(phrases, options)
    if whisper is None:
        return sphinx
    from edgeagent.stt.fused import FusedTranscriber

    try:
        alone = dataclasses.replace(options, helps=False)
        calls = list(wake_words(config))
        return FusedTranscriber(sphinx, *whisper, alone=lambda: SphinxTranscriber(phrases, alone), calls=calls)
    except BaseException:  # Ctrl-C too
        sphinx.close()
        raise


def chosen_engine(config: Config) -> tuple[str, str]:
    """The recogniser of the settings, or else the best one that this machine has, and the reason for ``doctor``."""
    if "engine" in config.ears:
        return config.ears["engine"], "as the settings say"
    model, language = _whisper_model(config), config.ears.get("language", "en")
    if lacking("whisper"):
        return "sphinx", f"which is ready at once ({install('whisper')}, and people are heard better)"
    if "model" not in config.ears and not whisper_folder(model, here=False).is_dir():
        return "sphinx", f"which is ready at once (people are heard better after: edgeagent models pull {model})"
    if language != "en" and not model.endswith(_ENGLISH_ONLY):
        return "whisper", f"for language = {language!r}"
    if language not in ("en", "auto"):
        return "sphinx", "for want of a model that knows the language"
    from edgeagent.stt.whisper_speed import MOST_S, known_speed

    known = known_speed(whisper_folder(model), _whisper_options(config))
    if known is not None and known.seconds > MOST_S:
        why = f"because Whisper takes {known.seconds:.1f} s for an utterance here (--engine fused takes it anyway)"
        return "sphinx", why
    return "fused", "which hear better together"


def _checked_engine(config: Config) -> str:
    """The recogniser of the settings.

    Raises:
        ConfigError: There is none of that name, or PocketSphinx is to hear another language.
    """
    engine, language = chosen_engine(config)[0], config.ears.get("language", "en")
    if engine not in ENGINES:
        raise ConfigError(f"there is no engine {engine!r} for the ears; there are {', '.join(ENGINES)}")
    if engine != "whisper" and language not in ("en", "auto"):
        raise ConfigError(
            f'language = {language!r}: PocketSphinx hears English only; for another language set engine = "whisper" '
            "and a model without .en"
        )
    return engine


def _open_whisper(config: Config) -> tuple[WhisperModel, WhisperOptions] | None:
    """Whisper, to hear together with PocketSphinx; None where this machine is too slow, and nobody has asked for it.

    Raises:
        RecognitionError: It can't be used.
    """
    if missing := lacking("whisper"):
        raise RecognitionError(f"Whisper can't hear without {' and '.join(missing)}: {install('whisper')}")
    from edgeagent.stt.whisper import open_model
    from edgeagent.stt.whisper_speed import MOST_S, speed

    options, files = _whisper_options(config), whisper_folder(_whisper_model(config))
    asked = "engine" in config.ears
    if not asked or options.threads is None:
        measured = speed(files, options)
        if not asked and measured.seconds > MOST_S:
            log.warning("Whisper takes %.1f s for an utterance here: PocketSphinx hears alone", measured.seconds)
            return None
        options = dataclasses.replace(options, threads=measured.threads)
    return open_model(files, options), options


def _whisper_model(config: Config) -> str:
    return str(config.ears.get("model", WHISPER_MODEL))


def _whisper_options(config: Config) -> WhisperOptions:
    from edgeagent.stt.whisper_model import USUAL_BEAM, USUAL_WINDOW_S, WhisperOptions

    language = config.ears.get("language", "en")
    return WhisperOptions(
        language=None if language == "auto" else language,
        beam_size=config.ears.get("beam_size", USUAL_BEAM),
        threads=config.ears.get("threads"),
        window_s=config.ears.get("window_s", USUAL_WINDOW_S),
    )


def whisper_folder(model: str, *, here: bool = True) -> Path:
    """The folder of a model, by its path or its name.

    Args:
        here: It has to be on this machine.

    Raises:
        RecognitionError: It is a name, and the model is not on this machine.
    """
    path = expanded(model)
    entry = recognisers().get(model)
    if path.exists() or entry is None:
        return path
    if here and not folder(entry).is_dir():
        raise RecognitionError(absent(entry))
    return folder(entry)


def hot_words(config: Config, vocabulary: Vocabulary) -> list[str]:
    """Returns the words that Whisper should expect: the settings' own words, the stop and wake words, and the app's
    names.

    Whole phrases would fill its prompt, and every word of it makes it slower.
    """
    own = [*key_phrases(config.ears.get("hot_words", "")), *stop_words(config), *wake_words(config)]
    return list(dict.fromkeys([*own, *(name for group in vocabulary.names for name in group)]))


def build_ears(
    config: Config,
    device: SoundDevice,
    vocabulary: Vocabulary,
    on_event: Callable[[HearingEvent], None],
    *,
    in_step: bool = False,
) -> Ears:
    """Ears that are not started; close them.

    Args:
        in_step: For a file that is read as fast as possible.

    Raises:
        AudioError: A recogniser or voice activity can't be had, or the device has no microphone.
        ConfigError: A setting is wrong.
    """
    relay = _Relay()
    settings = ears_settings(config, in_step=in_step)
    keywords = stop_words(config) | wake_words(config)
    called = [f"{word} {phrase}" for word in wake_words(config) for phrase in vocabulary.phrases]
    with_calls = dataclasses.replace(vocabulary, phrases=(*vocabulary.phrases, *called))
    transcriber = make_transcriber(config, with_calls, on_event=relay.worker)
    spotter = None
    try:
        if keywords:
            said = config.ears.get("said", {})
            options = SpotterOptions(said=said, on_event=relay.worker, on_behind=relay.behind)
            spotter = KeyPhraseSpotter(keywords, lambda keyword: None, options)
        ears = Ears(device, transcriber, on_event, spotter=spotter, settings=settings)
    except BaseException:
        transcriber.close()
        if spotter is not None:
            spotter.close()
        raise
    relay.ears = ears
    return ears


def ears_settings(config: Config, *, in_step: bool = False) -> EarsSettings:
    """Returns the settings of the ears.

    Raises:
        ConfigError: They contradict each other.
    """
    ends = {name: config.ears[name] for name in _END if name in config.ears}
    return EarsSettings(
        endpoint=EndpointSettings(**ends),
        echo=config.audio.get("echo", "webrtc"),
        noise_suppression=config.ears.get("noise_suppression", True),
        speculative=config.ears.get("speculative", True),
        in_step=in_step,
    )


class _Relay:
    """Has the ears tell what happens to their recognisers' processes. Threads of the workers."""

    def __init__(self) -> None:
        self.ears: Ears | None = None

    def worker(self, event: WorkerEvent) -> None:
        name, again = event.worker, "" if event.final else "; it is started again"
        match event.kind:
            case "started":
                if event.restarts:
                    self._tell(name, f"{name} is back after {event.after_s:.2f} s", over=True)
            case "died":
                self._tell(name, f"{name} died ({event.reason}){again}")
            case "hung":
                self._tell(name, f"{name} hung ({event.reason}){again}")
            case "failed":
                self._tell(name, f"{name} can't be started: {event.reason}{again}")

    def behind(self, seconds: float) -> None:
        text = f"{seconds:.1f} s of sound were not searched for key phrases: this machine is too busy"
        self._tell("keywords", text, lost=False)

    def _tell(self, name: str, text: str, *, over: bool = False, lost: bool = True) -> None:
        part = "keywords" if name.endswith("keywords") else "transcriber"
        if self.ears is not None:
            self.ears.trouble(Trouble(part, text, over, name, lost))
