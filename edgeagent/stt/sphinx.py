"""PocketSphinx as a recogniser: the app's own model and a general one side by side, each in a process of its own.

The app's model knows little and bends everything into a command; the general one knows much and mishears commands. The
app's hypothesis counts where its path score per frame beats the general one's by a threshold (design.md, section 6).
What neither explains is not understood. One thread, as ``Transcriber`` says; sound is kept until the end of the
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
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np

from edgeagent.audio.types import Samples
from edgeagent.errors import RecognitionError
from edgeagent.stt import app_model
from edgeagent.stt.child import Message
from edgeagent.stt.front_end import Cepstra, FrontEnd
from edgeagent.stt.inverse import inverse_normalised
from edgeagent.stt.mel import COUNT
from edgeagent.stt.phrases import sentences
from edgeagent.stt.reply import Reply
from edgeagent.stt.snr import snr_db
from edgeagent.stt.types import HeardWord, Transcript
from edgeagent.stt.worker import HANG_S, Worker, WorkerEvent

log: Final = logging.getLogger("edgeagent.stt")

ENGINE: Final = "pocketsphinx"

LEAD: Final = 0.5
"""Least lead of the app's hypothesis over the general one: natural logarithm of the path score times 10,000, per frame.
Set on flite's kal and espeak-ng's en-gb, neither of which the measurements use."""
LEAST_APP: Final = 0.45
"""Least confidence, a geometric mean over the words, of a command that is understood. Of kal's commands that are heard
right 95 % have 0.44 or more, of those in which half of the words are wrong two in three have less."""
LEAST_GENERAL: Final = 0.4
"""The same of other talk: 95 % of what is heard right of kal's has 0.43 or more. Of twenty foreign sentences of
espeak-ng it lets one to three pass, by what was heard before."""

LEAST_ACOUSTIC: Final = -5.0
"""Least acoustic score of what the general model is not sure of: a small closed model is sure of itself in any
language. What is heard right of flite's people stays over it (kal's lowest is -4.87); the commands that the app's model
makes of espeak-ng's foreign speech are at -4.3 to -5.5, and those over it less sure than ``LEAST_APP``."""
LEAST_STRANGE: Final = 0.5
"""Least confidence of the general model there; of thirteen foreign sentences it had 0.45 at most."""

LEAST_NOISY: Final = 0.7
"""Least confidence in heavy noise, where most of what is understood with less is wrong: of slt's and rms's sentences
at 10 dB, after the noise suppression, 27 of 36 with the others' and 5 of 9 with this one."""
QUIET_DB: Final = 30.0
"""Over the noise, as ``snr_db`` tells it after the noise suppression: from here on down more confidence is asked for.
Speech in a quiet room has 35 and more, with noise 10 dB under the voice at the microphone 6 to 27."""
LOUD_DB: Final = 20.0
"""From here on down ``LEAST_NOISY`` is asked for."""
NOBODY_DB: Final = 8.0
"""Below it nothing is understood: noise alone has 0 to 9."""

LANGUAGE_WEIGHTS: Final = {"fwdflatlw": 10.5, "bestpathlw": 11.5}
"""How much the words count beside the sound, in the second and third pass; PocketSphinx's own are 8.5 and 9.5. On
flite's kal these make the general model better (37.0 to 30.8 % of the words wrong) and the choice between the models
too: of other talk in near-commands 28 % are wrong after the choice, with the old ones 31 %."""

NEGATIONS: Final = re.compile(r"\b(?:not|never|nobody|cannot|don't|\w+n't)\b")
"""A command is not understood where only the other model heard one of these, or the app's model almost."""
_SUBJECTS: Final = frozenset("i you we they he she it this that there these those nobody somebody".split())

_CONTROL: Final = 3
"""Words of "you can move", which allows motion again and always sounds a little like its contrary."""
_TOLD: Final = 10
"""Of the best paths of each model, as what else it may have been; of more, most commands almost have a "don't"."""
_LEAST: Final = 1e-12
_SCALE: Final = 10_000
FRAMES_PER_S: Final = 100
_RESTART_S: Final = 5.0
"""So long after the first loss an utterance waits for processes that are started again."""
_MOST_AGAIN: Final = 5
"""So often it is decoded again."""
_FRAME_BYTES: Final = 4 * COUNT
_WORK: Final = 1.0
"""Seconds of work for a second of sound on the slowest machine that keeps up."""
_LAST_WORK: Final = 0.5
"""The same of the passes over all of an utterance, at its end."""
_VARIANT: Final = re.compile(r"\(\d+\)$")
_FILLERS: Final = re.compile(r"^[<\[+]")
_RECOGNISER: Final = "edgeagent.stt.decoding:Recogniser"


@dataclass(frozen=True, slots=True)
class SphinxOptions:
    """How ``SphinxTranscriber`` works.

    Attributes:
        names: Groups of names of one kind, see ``phrases.sentences``.
        said: Pronunciations that the builder knows better, such as {"robi": "R OW B IY"}.
        cache: Folder of built models; in the user's cache folder unless told.
        lead: See ``LEAD``.
        least_app, least_general, least_acoustic: See ``LEAST_APP``, ``LEAST_GENERAL``, ``LEAST_ACOUSTIC``; in noise
            more is asked for, see ``LEAST_NOISY``.
        normalise: Makes the text of a transcript from the words as they were spoken.
        on_event: Told when a process starts, dies or hangs, on a thread of its own.
        hang_s: See ``worker.HANG_S``.
    """

    names: Sequence[Sequence[str]] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    lead: float = LEAD
    least_app: float = LEAST_APP
    least_general: float = LEAST_GENERAL
    least_acoustic: float = LEAST_ACOUSTIC
    normalise: Callable[[str], str] = inverse_normalised
    on_event: Callable[[WorkerEvent], None] | None = None
    hang_s: float = HANG_S


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What one model made of an utterance."""

    words: tuple[HeardWord, ...]
    score: float | None
    """Of the whole path, per frame, scaled as ``LEAD``; None if there is none."""
    confidence: float
    """A geometric mean over the words."""
    acoustic: float
    """Of the words alone, per frame, a natural logarithm; what people say is at -2 to -4."""
    others: tuple[str, ...] = ()
    """The best paths."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


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
        known = sentences(phrases, names=options.names)
        self.model = app_model.build(known, said=options.said, cache=options.cache)
        self._forbidding = frozenset(
            pair for sentence in known for pair in pairwise(sentence.split()) if NEGATIONS.fullmatch(pair[0])
        )
        general = app_model.general_model()
        self._partials: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._utterance = 0
        self._told = ""
        self._front = FrontEnd()
        self._sound: list[Samples] = []
        self._cepstra: list[bytes] = []

        def app_files() -> tuple[Path, Path]:
            model = app_model.build(known, said=options.said, cache=options.cache)  # the cache may have lost it
            return model.language, model.dictionary

        files = {"app": app_files, "general": lambda: (general.language, general.dictionary)}
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
    def pids(self) -> list[int | None]:
        """The processes, for measurements."""
        return [model.worker.pid for model in self._models.values()]

    def begin(self) -> None:
        self._utterance += 1
        self._front.begin()
        self._sound, self._cepstra = [], []
        self._told = ""
        with self._lock:
            self._partials = {}
        for model in self._models.values():
            model.begin(self._utterance)

    def feed(self, samples: Samples) -> Transcript | None:
        self._sound.append(samples)
        self._pass_on(self._front.feed(samples))
        text = self._partial()
        if text == self._told:
            return None
        self._told = text
        return Transcript(self._options.normalise(text), final=False, engine=ENGINE, raw=text)

    def finish(self, stop_event: Event) -> Transcript:
        self._pass_on(self._front.finish())
        if not self._cepstra:
            return Transcript("", understood=False, engine=ENGINE)
        replies = [(model, model.ask_end()) for model in self._models.values()]
        found = {}
        for model, reply in replies:
            message = model.wait_end(reply, self._utterance, self._cepstra, stop_event)
            if message is None:
                text = self._partial()
                return Transcript(self._options.normalise(text), final=False, engine=ENGINE, raw=text)
            found[model.name] = _hypothesis(message)
        sound = np.concatenate(self._sound)
        return self._chosen(found["app"], found["general"], snr_db(sound))

    def _pass_on(self, made: Cepstra) -> None:
        if payload := _bytes(made):
            self._cepstra.append(payload)
            for model in self._models.values():
                model.feed(payload)

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Wait until all that was fed has been decoded; ``feed`` with nothing then tells what is known of it."""
        late = Event()
        timer = threading.Timer(timeout_s, late.set)
        timer.daemon = True
        timer.start()
        try:
            return all(model.worker.ask("idle").wait(late) is not None for model in self._models.values())
        except RecognitionError:  # it is started again, and hears all of it then
            return False
        finally:
            timer.cancel()

    def close(self) -> None:
        for model in self._models.values():
            model.worker.close()

    def _chosen(self, app: Hypothesis, general: Hypothesis, clear_db: float = math.inf) -> Transcript:
        """The app's hypothesis where it leads, else the general one; in noise a doubtful one is not understood."""
        least_app, least_general = (
            _least(least, clear_db) for least in (self._options.least_app, self._options.least_general)
        )
        if app.score is not None and (general.score is None or app.score - general.score >= self._options.lead):
            best, explained = app, app.confidence >= least_app
        else:
            best, explained = general, general.confidence >= least_general
        if best.acoustic < self._options.least_acoustic:
            explained = explained and general.confidence >= max(least_general, LEAST_STRANGE)
        if not NEGATIONS.search(best.text) and self._perhaps_forbidden(best, app, general):
            explained = False
        second = general if best is app else app
        others = (second.text, *best.others[:_TOLD], *second.others[:_TOLD])
        return Transcript(
            self._options.normalise(best.text),
            best.words,
            best.confidence,
            understood=bool(best.words) and explained and clear_db >= NOBODY_DB,
            engine=f"{ENGINE} {'app' if best is app else 'general'}",
            raw=best.text,
            others=tuple(dict.fromkeys(text for text in others if text and text != best.text)),
        )

    def _perhaps_forbidden(self, best: Hypothesis, app: Hypothesis, general: Hypothesis) -> bool:
        """Whether one of the models hears a negation, or the app's almost: "don't grab" comes out as "go and grab".

        Of what it almost hears only what somebody says counts: "don't right" is another hearing of "turn right". A
        sentence with a subject has its negation in a syllable: "you needn't go" comes out as "you need to go"; what the
        app's model makes of such a one is doubtful if either almost hears a negation.
        """
        if NEGATIONS.search(app.text) or NEGATIONS.search(general.text):
            return True
        if best is app and len(app.words) > _CONTROL and app.words[0].text in _SUBJECTS:
            return any(NEGATIONS.search(other) for other in (*app.others, *general.others))
        pairs = (pair for other in app.others[:_TOLD] for pair in pairwise(other.split()))
        return any(pair in self._forbidding for pair in pairs)

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
            return {"decoder": {"hmm": str(acoustic), "lm": str(language), "dict": str(dictionary), **LANGUAGE_WEIGHTS}}

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

    def feed(self, cepstra: bytes) -> None:
        if self._whole:
            length_s = len(cepstra) / (_FRAME_BYTES * FRAMES_PER_S)
            self._fed_s += length_s
            self._whole = self.worker.send("feed", cepstra, work_s=_WORK * length_s)

    def hear_again(self, utterance: int, cepstra: list[bytes]) -> None:
        """All of an utterance, by a process that has heard none of it or not all."""
        self.begin(utterance)
        for piece in cepstra:
            self.feed(piece)

    def ask_end(self) -> Reply | None:
        """Asks for the result; None if the process has not heard all."""
        if not self._whole or self.worker.generation != self._generation:
            return None
        try:
            return self.worker.ask("finish", work_s=_LAST_WORK * self._fed_s)
        except RecognitionError:
            return None

    def wait_end(self, reply: Reply | None, utterance: int, cepstra: list[bytes], stop_event: Event) -> Message | None:
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
            self.hear_again(utterance, cepstra)
            reply = self.ask_end()
        if reply is None:
            raise RecognitionError(f"{self.worker.name} is lost again and again")
        return reply.wait(stop_event)


def _least(quiet: float, clear_db: float) -> float:
    """Least confidence at that many dB over the noise, where there is such a one without noise."""
    noisy = min(1.0, max(0.0, (QUIET_DB - clear_db) / (QUIET_DB - LOUD_DB)))
    return quiet + max(0.0, LEAST_NOISY - quiet) * noisy


def _bytes(cepstra: Cepstra) -> bytes:
    return cepstra.astype("<f4").tobytes()


def _plain(text: str) -> str:
    return " ".join(_VARIANT.sub("", word) for word in text.split() if not _FILLERS.match(word))


def _hypothesis(message: Message) -> Hypothesis:
    parts = [part for part in message["words"] if not _FILLERS.match(part["word"])]
    if not parts or message["score"] is None:
        return Hypothesis((), None, 0.0, -math.inf)
    words = tuple(
        HeardWord(_VARIANT.sub("", part["word"]), part["start_s"], part["end_s"], part["confidence"]) for part in parts
    )
    confidence = math.exp(sum(math.log(max(part["confidence"], _LEAST)) for part in parts) / len(parts))
    frames = FRAMES_PER_S * sum(word.end_s - word.start_s for word in words)
    acoustic = sum(part["acoustic"] for part in parts) / frames
    others = tuple(_plain(other) for other in message["others"])
    return Hypothesis(words, _SCALE * message["score"] / message["frames"], confidence, acoustic, others)
