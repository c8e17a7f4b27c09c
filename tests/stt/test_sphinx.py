"""PocketSphinx hears commands, does not take talk for one, and loses nothing when its process dies."""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import numpy as np
import pytest

from edgeagent.audio import Samples
from edgeagent.english import NEGATIONS
from edgeagent.errors import ConfigError
from edgeagent.stt import RecognisedText, SphinxOptions, SphinxTranscriber, Transcriber, WorkerEvent
from edgeagent.testing import NoiseKind, from_db, speech_level, steady_noise, synthesised
from tests.stt.speech import PHRASES, ROOMS, VOICES, blocks, said

NEVER = threading.Event()
LIMIT_S = 30.0


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ears")


@pytest.fixture(scope="module")
def events() -> Queue[WorkerEvent]:
    return Queue()


@pytest.fixture(scope="module")
def ears(cache: Path, events: Queue[WorkerEvent]) -> Iterator[SphinxTranscriber]:
    # tests run beside one another: a process that gets no turn hangs no engine
    transcriber = SphinxTranscriber(PHRASES, SphinxOptions(names=[ROOMS], cache=cache, on_event=events.put, hang_s=5.0))
    yield transcriber
    transcriber.close()


def hear(ears: Transcriber, sound: Samples) -> RecognisedText:
    ears.begin()
    for block in blocks(sound, 1600):
        ears.feed(block)
    return ears.finish(NEVER)


@pytest.mark.parametrize("voice", VOICES)
def test_commands_are_heard(ears: SphinxTranscriber, voice: str) -> None:
    commands = ["go to the bathroom", "turn left", "what time is it"]
    heard = [hear(ears, said(command, voice)) for command in commands]
    assert sum(one.raw == command for one, command in zip(heard, commands, strict=True)) >= 2
    assert sum(one.understood for one in heard) >= 2
    assert sum(one.engine.endswith("app") for one in heard) >= 2


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("don't go to the kitchen", "slt"),
        ("do not turn on the light in the office", "rms"),
        ("never drive to the bedroom", "awb"),
    ],
)
def test_a_command_that_is_forbidden_keeps_its_negation(ears: SphinxTranscriber, text: str, voice: str) -> None:
    heard = hear(ears, said(text, voice)).raw.split()
    assert {"don't", "not", "never"} & set(heard), heard


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("my sister is coming to visit us next weekend", "slt"),
        ("the weather in the mountains was terrible this year", "rms"),
        ("she said the movie was far too long for the children", "awb"),
    ],
)
def test_talk_is_not_bent_into_a_command(ears: SphinxTranscriber, text: str, voice: str) -> None:
    heard = hear(ears, said(text, voice))
    assert heard.engine.endswith("general") or not heard.understood, heard.raw


@pytest.mark.parametrize("negation", ["don't", "never", "please don't"])
def test_a_forbidden_command_is_never_understood_without_its_negation(ears: SphinxTranscriber, negation: str) -> None:
    for verb, voice in zip(("drive to the bedroom", "turn around", "follow me"), VOICES, strict=True):
        heard = hear(ears, said(f"{negation} {verb}", voice))
        assert NEGATIONS.search(heard.raw) or not heard.understood, heard.raw


def test_what_is_understood_over_noise_is_right(ears: SphinxTranscriber) -> None:
    commands = ["pick up the red cube", "what time is it", "turn on the light in the office"]
    for seed, (command, voice) in enumerate(zip(commands, VOICES, strict=True)):
        clean = said(command, voice)
        level = speech_level(clean.astype(np.float64), 16_000) * from_db(-10.0)
        noise = steady_noise("pink", level, np.random.default_rng(seed), 16_000)
        sound = clean + noise.block(0, len(clean)).astype(np.float32)
        heard = hear(ears, sound)
        assert heard.raw == command or not heard.understood


@pytest.mark.parametrize("kind", ["pink", "fan"])
def test_nothing_is_understood_of_noise_alone(ears: SphinxTranscriber, kind: NoiseKind) -> None:
    noise = steady_noise(kind, 0.05, np.random.default_rng(2), 16_000)
    assert not any(hear(ears, noise.block(at, 24_000).astype(np.float32)).understood for at in (0, 24_000))


def test_words_have_times_and_confidence(ears: SphinxTranscriber) -> None:
    sound = said("move ahead one meter", "rms", 0.5)  # before a plosive its silence may begin anywhere in the pause
    heard = hear(ears, sound)
    assert [word.text for word in heard.words] == heard.raw.split()
    assert heard.words[0].start_s == pytest.approx(0.5, abs=0.12)
    assert heard.words[-1].end_s == pytest.approx(len(sound) / 16_000 - 0.5, abs=0.2)
    assert all(a.end_s <= b.start_s + 0.011 for a, b in zip(heard.words, heard.words[1:], strict=False))
    assert all(word.confidence is not None and 0 <= word.confidence <= 1 for word in heard.words)
    assert heard.confidence is not None
    assert heard.confidence > 0.5


def test_numbers_come_out_as_a_person_types_them(ears: SphinxTranscriber) -> None:
    heard = hear(ears, said("drive forward two meters", "slt"))
    assert heard.raw == "drive forward two meters"
    assert "2" in heard.text


def test_a_name_that_the_dictionary_lacks_is_heard(ears: SphinxTranscriber) -> None:
    assert "robi" in ears.model.guessed
    assert any("robi" in hear(ears, said("roby wake up", voice)).raw for voice in VOICES)


def test_what_is_known_so_far_is_told_while_somebody_speaks(ears: SphinxTranscriber) -> None:
    ears.begin()
    told = []
    for block in blocks(said("please take the book to the desk", "slt"), 1600):
        if known := ears.feed(block):
            told.append(known)
        threading.Event().wait(0.05)
    final = ears.finish(NEVER)
    assert told
    assert not any(known.final for known in told)
    assert final.final


@pytest.mark.parametrize(
    "sound",
    [
        np.zeros(0),
        np.zeros(80),
        np.zeros(32_000),
        np.full(16_000, 0.7),
        np.full(16_000, np.nan),
        np.random.default_rng(0).normal(0, 5, 16_000),
    ],
    ids=["nothing", "5 ms", "zeros", "an offset", "no numbers", "clipping"],
)
def test_sound_without_words_is_not_understood(ears: SphinxTranscriber, sound: Samples) -> None:
    heard = hear(ears, sound.astype(np.float32))
    assert not heard.understood
    assert heard.final


def test_another_language_is_not_understood(ears: SphinxTranscriber) -> None:
    german = "kannst du mir bitte sagen wie viel Uhr es ist"
    assert not hear(ears, np.array(synthesised(german, "de", 16_000))).understood


def test_who_does_not_wait_gets_what_is_known(ears: SphinxTranscriber) -> None:
    ears.begin()
    ears.feed(said("set a timer for five minutes", "rms"))
    stopped = threading.Event()
    stopped.set()
    assert not ears.finish(stopped).final
    assert hear(ears, said("turn left", "slt")).raw == "turn left"


@pytest.mark.parametrize("model", [0, 1], ids=["app", "general"])
def test_a_process_that_dies_in_an_utterance_costs_no_word(
    ears: SphinxTranscriber, events: Queue[WorkerEvent], model: int, caplog: pytest.LogCaptureFixture
) -> None:
    pid = ears.pids[model]
    assert pid is not None
    with caplog.at_level(logging.CRITICAL, "edgeagent.stt"):
        ears.begin()
        for number, block in enumerate(blocks(said("pick up the red cube", "slt"), 1600)):
            if number == 8:
                os.kill(pid, signal.SIGKILL)
            ears.feed(block)
        assert ears.finish(NEVER).raw == "pick up the red cube"
    while events.get(timeout=LIMIT_S).kind != "died":
        pass
    assert ears.pids[model] not in (None, pid)


def test_many_utterances_in_a_row(ears: SphinxTranscriber) -> None:
    sound = said("turn around", "rms")
    heard = {hear(ears, sound).raw for _ in range(6)}
    assert heard == {"turn around"}


def test_a_phrase_that_nobody_can_say_is_an_error(cache: Path) -> None:
    with pytest.raises(ConfigError, match="###"):
        SphinxTranscriber(["go to ### now"], SphinxOptions(cache=cache))
