"""PocketSphinx as a recogniser: the app's own model and a general one side by side, each in a process of its own; or
the app's model alone, to help another recogniser.

The app's model knows little and bends everything into a command; the general one knows much and mishears commands;
``choice`` tells which of them counts. One thread, as ``Transcriber`` says; sound is kept until the end of the
utterance, so that a process that dies loses none of it.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.english.inverse import inverse_normalised
from edgeagent.errors import RecognitionError
from edgeagent.stt import app_model
from edgeagent.stt.child import Message, WorkerReply
from edgeagent.stt.choice import (
    ENGINE,
    LEAD,
    LEAST_ACOUSTIC,
    LEAST_APP,
    LEAST_GENERAL,
    NOTHING,
    Choice,
    Hypotheses,
    Hypothesis,
    mean_confidence,
)
from edgeagent.stt.decoding import BYTES_PER_S, FRAMES_PER_S
from edgeagent.stt.hearing import HeardWord, RecognisedText
from edgeagent.stt.level_meter import Levelling, snr_db
from edgeagent.stt.phrases import sentences
from edgeagent.stt.worker import HANG_S, Worker, WorkerEvent

log: Final = logging.getLogger("edgeagent.stt")

LANGUAGE_WEIGHTS: Final = {"fwdflatlw": 10.5, "bestpathlw": 11.5}
"""Weight of the words beside the sound, in the second and third pass; PocketSphinx's own are 8.5 and 9.5. On flite's
kal these make the general model better (37.0 to 30.8 % of the words wrong) and the choice between the models too: of
other talk in near-commands 28 % are wrong after the choice, with the old ones 31 %."""

OFTEN: Final = 0.05
"""Share of the sentences that people say all the time, where there are thousands. Of 360 of such in a room with
reverberation, by slt, rms, awb and kal, 120 are understood if the house robot's model knows none of them, 177 if it has
each once and 218 with this share, with four times as many 238."""
_SCALE: Final = 10_000
_RESTART_S: Final = 5.0
"""Seconds after the first loss that an utterance waits for processes that are started again."""
_MOST_AGAIN: Final = 5
"""Times that an utterance is decoded again."""
_WORK: Final = 1.0
"""Seconds of work for a second of sound on the slowest machine that keeps up."""
_LAST_WORK: Final = 0.5
"""The same of the passes over all of an utterance, at its end."""
_FILLERS: Final = re.compile(r"^[<\[+]")
_RECOGNISER: Final = "edgeagent.stt.decoding:UtteranceDecoder"


@dataclass(frozen=True, slots=True)
class SphinxOptions:
    """Options of ``SphinxTranscriber``.

    Attributes:
        names: Groups of names of one kind, see ``phrases.sentences``.
        often: What people say all the time; together a twentieth of all sentences, where there are many.
        said: Pronunciations that the builder knows better, such as {"robi": "R OW B IY"}.
        cache: Folder of built models; in the user's cache folder unless told.
        lead, least_app, least_general, least_acoustic: See ``choice.Choice``.
        helps: It helps another recogniser: the app's model alone, without the general one's 105 MB and two thirds of a
            core, and no second search at the end of an utterance, which takes 0.1 s. Its own transcripts mean nothing:
            that model bends everything into a command.
        on_event: Told when a process starts, dies or hangs, on a thread of its own.
        hang_s: See ``worker.HANG_S``.
    """

    names: Sequence[Sequence[str]] = ()
    often: Sequence[str] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    lead: float = LEAD
    least_app: float = LEAST_APP
    least_general: float = LEAST_GENERAL
    least_acoustic: float = LEAST_ACOUSTIC
    helps: bool = False
    on_event: Callable[[WorkerEvent], None] | None = None
    hang_s: float = HANG_S


class SphinxTranscriber:
    """PocketSphinx in processes of its own, as a ``Transcriber``.

    Args:
        phrases: What people say to the app.
        options: Everything else.

    Raises:
        ConfigError: A phrase has a word that nobody can say.
        RecognitionError: PocketSphinx is missing, or a process does not start.
    """

    def __init__(self, phrases: Sequence[str], options: SphinxOptions | None = None) -> None:
        self._options = options = options or SphinxOptions()
        self._phrases = phrases
        known = _known(phrases, options)
        self.model = app_model.build(known, said=options.said, cache=options.cache)
        self._choice = Choice(
            known,
            inverse_normalised,
            lead=options.lead,
            least_app=options.least_app,
            least_general=options.least_general,
            least_acoustic=options.least_acoustic,
        )
        general = app_model.general_model()
        self._partials: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._utterance = 0
        self._told = ""
        self._levelling = Levelling()
        self._sound: list[Samples] = []
        self._payloads: list[bytes] = []

        built = [self.model]

        def app_files() -> tuple[Path, Path]:
            # before each later start the cache may have lost it
            model = (
                built.pop()
                if built
                else app_model.build(_known(phrases, options), said=options.said, cache=options.cache)
            )
            return model.language, model.dictionary

        files = {"app": app_files}
        if not options.helps:
            files["general"] = lambda: (general.language, general.dictionary)
        self._models: dict[str, _Model] = {}
        try:
            for name, its_files in files.items():
                self._models[name] = _Model(name, general.acoustic, its_files, options, self._take)
            for model in self._models.values():
                model.worker.wait_ready()
        except BaseException:  # Ctrl-C too
            self.close()
            raise

    @property
    def name(self) -> str:
        return ENGINE

    @property
    def known(self) -> list[str]:
        """The sentences of the app's model, in spoken words. Made anew each time: they are megabytes."""
        return _known(self._phrases, self._options)

    @property
    def pids(self) -> list[int | None]:
        """The processes, for measurements."""
        return [model.worker.pid for model in self._models.values()]

    def begin(self) -> None:
        self._utterance += 1
        self._levelling.reset()
        self._sound, self._payloads = [], []
        self._told = ""
        with self._lock:
            self._partials = {}
        for model in self._models.values():
            model.begin(self._utterance)

    def feed(self, samples: Samples) -> RecognisedText | None:
        if len(samples):
            self._sound.append(samples)
            self._payloads.append(self._levelling.process(samples))
            for model in self._models.values():
                model.feed(self._payloads[-1])
        text = self._partial()
        if text == self._told:
            return None
        self._told = text
        return RecognisedText(inverse_normalised(text), final=False, engine=ENGINE, raw=text)

    def finish(self, stop_event: Event) -> RecognisedText:
        heard = self.heard(stop_event)
        if heard is None:
            text = self._partial()
            return RecognisedText(inverse_normalised(text), final=False, engine=ENGINE, raw=text)
        return self.choose(heard)

    def choose(self, heard: Hypotheses) -> RecognisedText:
        """Returns what counts of what was heard."""
        return self._choice.between(heard.app, heard.general, heard.clear_db)

    def heard(self, stop_event: Event) -> Hypotheses | None:
        """Ends the utterance as ``finish`` does, and returns what the models heard; None if stopped.

        Raises:
            RecognitionError: A process is lost again and again.
        """
        if not self._payloads:
            return Hypotheses(clear_db=0.0)
        replies = [(model, model.ask_end()) for model in self._models.values()]
        found = []
        for model, reply in replies:
            message = model.wait_end(reply, self._utterance, self._payloads, stop_event)
            if message is None:
                return None
            found.append(_hypothesis(message))
        app, general = found if len(found) > 1 else (found[0], NOTHING)
        return Hypotheses(app, general, snr_db(np.concatenate(self._sound)))

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Wait until all that was fed has been decoded; ``feed`` with nothing then tells what is known of it."""
        end_s = time.monotonic() + timeout_s
        replies = (model.worker.ask("idle") for model in self._models.values())
        try:
            return all(reply.wait(limit_s=end_s - time.monotonic()) is not None for reply in replies)
        except RecognitionError:  # it is started again, and hears all of it then
            return False

    def close(self) -> None:
        for model in self._models.values():
            model.worker.close()

    def _take(self, name: str, message: Message) -> None:
        """A partial result, on a supervising thread."""
        if "partial" in message and message["utterance"] == self._utterance:
            with self._lock:
                self._partials[name] = (_plain(message["partial"]), message["score"] * _SCALE)

    def _partial(self) -> str:
        with self._lock:
            app, general = self._partials.get("app"), self._partials.get("general")
        if app is not None and (general is None or app[1] - general[1] >= self._options.lead):
            return app[0]
        return general[0] if general is not None else ""


class _Model:
    """One process, and whether it has heard all of the utterance."""

    def __init__(
        self,
        name: str,
        acoustic: Path,
        files: Callable[[], tuple[Path, Path]],
        options: SphinxOptions,
        take: Callable[[str, Message], None],
    ) -> None:
        self.name = name

        def settings() -> Message:
            language, dictionary = files()
            paths = {"hmm": str(acoustic), "lm": str(language), "dict": str(dictionary)}
            return {"decoder": {**paths, **LANGUAGE_WEIGHTS, "fwdflat": not options.helps}}

        self.worker = Worker(
            f"ears-{name}",
            _RECOGNISER,
            settings,
            on_emit=lambda message: take(name, message),
            on_event=options.on_event,
            hang_s=options.hang_s,
        )
        self._generation = 0
        self._whole = False
        self._fed_s = 0.0

    def begin(self, utterance: int) -> None:
        self._generation = self.worker.generation
        # one that was not finished is ended first
        self._whole = self.worker.send("begin", work_s=_LAST_WORK * self._fed_s, utterance=utterance)
        self._fed_s = 0.0

    def feed(self, sound: bytes) -> None:
        if self._whole:
            length_s = len(sound) / BYTES_PER_S
            self._fed_s += length_s
            self._whole = self.worker.send("feed", sound, work_s=_WORK * length_s)

    def hear_again(self, utterance: int, sound: list[bytes]) -> None:
        """All of an utterance, by a process that has heard none of it or not all."""
        self.begin(utterance)
        for piece in sound:
            self.feed(piece)

    def ask_end(self) -> WorkerReply | None:
        """Asks for the result; None if the process has not heard all."""
        if not self._whole or self.worker.generation != self._generation:
            return None
        try:
            return self.worker.ask("finish", work_s=_LAST_WORK * self._fed_s)
        except RecognitionError:
            return None

    def wait_end(
        self, reply: WorkerReply | None, utterance: int, sound: list[bytes], stop_event: Event
    ) -> Message | None:
        """The result; where the process was lost, the next one hears all of it again. None if stopped.

        Raises:
            RecognitionError: It is lost again and again.
        """
        end_s = math.inf
        for _ in range(_MOST_AGAIN):
            try:
                if reply is not None:
                    return reply.wait(stop_event)
            except RecognitionError as error:
                log.warning("%s: the utterance is decoded again", error)
            end_s = min(end_s, time.monotonic() + _RESTART_S)
            if not self.worker.wait_ready(max(0.0, end_s - time.monotonic()), stop_event):
                return None
            self.hear_again(utterance, sound)
            reply = self.ask_end()
        if reply is None:
            raise RecognitionError(f"{self.worker.name} is lost again and again")
        return reply.wait(stop_event)


def _known(phrases: Sequence[str], options: SphinxOptions) -> list[str]:
    """The sentences of the app's model. Made where they are needed: they are megabytes."""
    known = sentences(phrases, names=options.names)
    if often := sentences(options.often, negate=False):
        known += often * max(1, round(OFTEN * len(known) / len(often)))
    return known


def _plain(text: str) -> str:
    return " ".join(app_model.VARIANT.sub("", word) for word in text.split() if not _FILLERS.match(word))


def _hypothesis(message: Message) -> Hypothesis:
    parts = [part for part in message["words"] if not _FILLERS.match(part["word"])]
    if not parts or message["score"] is None:
        return NOTHING
    words = tuple(
        HeardWord(app_model.VARIANT.sub("", part["word"]), part["start_s"], part["end_s"], part["confidence"])
        for part in parts
    )
    confidence = mean_confidence(part["confidence"] for part in parts)
    frames = FRAMES_PER_S * sum(word.end_s - word.start_s for word in words)
    acoustic = sum(part["acoustic"] for part in parts) / frames
    others = tuple(_plain(other) for other in message["others"])
    return Hypothesis(words, _SCALE * message["score"] / message["frames"], confidence, acoustic, others)
