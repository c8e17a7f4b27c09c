"""The ears of an app, from its settings: devices, key phrases, recognisers, and what happens to their processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeagent.app import (
    Vocabulary,
    build_ears,
    check,
    chosen_engine,
    ears_settings,
    hot_words,
    key_phrases,
    make_transcriber,
    open_device,
    stop_words,
    vocabulary,
    wake_words,
    whisper_folder,
)
from edgeagent.audio import FileDevice, WavWriter
from edgeagent.config import Config
from edgeagent.errors import AudioError, ConfigError, RecognitionError
from edgeagent.stt import (
    RATE_HZ,
    STOP_WORDS,
    Ears,
    FinalTranscript,
    HearingEvent,
    KeywordSpotted,
    Level,
    SpeechStarted,
    SphinxTranscriber,
    Trouble,
)
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.processes import descendants
from tests.stt.speech import PHRASES, ROOMS, within

LIMIT_S = 30.0
FIXTURE = Path(__file__).parents[1] / "stt/whisper_fixture"
WORDS = Vocabulary(phrases=tuple(PHRASES), names=(tuple(ROOMS),))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


# --- settings -------------------------------------------------------------------------------------------------------


def test_key_phrases_may_have_thresholds() -> None:
    assert key_phrases("Stop, halt/1e-20 ,  emergency stop/0.5,,") == {
        "stop": None,
        "halt": 1e-20,
        "emergency stop": 0.5,
    }
    assert key_phrases("") == key_phrases(" , ") == {}


@pytest.mark.parametrize("text", ["stop/loud", "stop/0", "stop/2", "stop/", "stop/nan"])
def test_a_threshold_that_is_none_is_refused_with_its_phrase(text: str) -> None:
    with pytest.raises(ConfigError, match="stop/"):
        key_phrases(text)


def test_stop_words_are_on_and_wake_words_are_off_unless_somebody_sets_them() -> None:
    assert list(stop_words(Config())) == list(STOP_WORDS)
    assert wake_words(Config()) == {}
    config = Config(ears={"stop_words": "", "wake_words": "hey robi/1e-30"})
    assert stop_words(config) == {}
    assert wake_words(config) == {"hey robi": 1e-30}


def test_settings_reach_the_ears() -> None:
    config = Config(
        ears={"soft_end_ms": 300, "hard_end_ms": 900, "pre_roll_ms": 400, "max_s": 12.0, "noise_suppression": False,
              "speculative": False},
        audio={"echo": "off"},
    )  # fmt: skip
    settings = ears_settings(config)
    end = settings.endpoint
    assert (end.soft_end_ms, end.hard_end_ms, end.pre_roll_ms, end.max_s) == (300, 900, 400, 12.0)
    assert (settings.noise_suppression, settings.speculative, settings.echo) == (False, False, "off")
    assert not settings.in_step


@pytest.mark.parametrize(
    ("ears", "error", "told"),
    [
        ({"engine": "vosk"}, ConfigError, "sphinx, whisper"),
        ({"language": "de"}, ConfigError, "English only"),
        ({"engine": "whisper", "model": "tiny.en"}, RecognitionError, "edgeagent models pull tiny.en"),
        ({"engine": "whisper", "model": "no/such/folder"}, RecognitionError, "no/such/folder"),
        ({"engine": "whisper", "model": str(FIXTURE), "language": "xx"}, RecognitionError, "'xx'"),
    ],
)
def test_what_can_not_be_is_told(
    ears: dict[str, Any], error: type[Exception], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    with pytest.raises(error, match=re.escape(told)):
        make_transcriber(Config(ears=ears), WORDS)


def test_a_whisper_model_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    (tmp_path / "whisper/base.en").mkdir(parents=True)
    assert whisper_folder("base.en") == tmp_path / "whisper/base.en"
    assert whisper_folder(str(tmp_path)) == tmp_path


def pulled(models: Path, name: str = "tiny.en") -> Path:
    """The fixture in the place of a model of Whisper that was pulled."""
    return shutil.copytree(FIXTURE, models / "whisper" / name)


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models and cache of nobody."""
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "models"


def test_what_hears_is_the_best_that_is_here(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faster_whisper")
    engine, why = chosen_engine(Config())
    assert (engine, "models pull tiny.en" in why) == ("sphinx", True)
    pulled(empty_home)
    assert chosen_engine(Config())[0] == "fused"
    assert chosen_engine(Config(ears={"engine": "sphinx"})) == ("sphinx", "as the settings say")
    assert chosen_engine(Config(ears={"language": "de"}))[0] == "sphinx"
    assert chosen_engine(Config(ears={"language": "de", "model": "base"}))[0] == "whisper"
    assert chosen_engine(Config(ears={"language": "auto", "model": "base"}))[0] == "whisper"
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    assert chosen_engine(Config())[0] == "sphinx"
    with pytest.raises(RecognitionError, match="without rapidfuzz"):
        make_transcriber(Config(ears={"engine": "fused"}), WORDS)


def test_both_hear_where_whisper_is_here_and_a_slow_machine_does_without(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faster_whisper")
    pulled(empty_home)

    def name() -> str:
        transcriber = make_transcriber(Config(), WORDS)
        transcriber.close()
        return transcriber.name

    assert name() == "pocketsphinx and whisper tiny.en"
    monkeypatch.setattr("edgeagent.stt.whisper_speed.MOST_S", 0.0)
    assert name() == "pocketsphinx"
    engine, why = chosen_engine(Config())
    assert engine == "sphinx"
    assert "s for an utterance here" in why
    assert make_transcriber_named("fused") == "pocketsphinx and whisper tiny.en"


def make_transcriber_named(engine: str) -> str:
    transcriber = make_transcriber(Config(ears={"engine": engine}), WORDS)
    transcriber.close()
    return transcriber.name


def test_a_damaged_model_leaves_pocketsphinx_unless_somebody_asked_for_it(
    empty_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("faster_whisper")
    folder = pulled(empty_home)
    (folder / "model.bin").write_bytes(b"garbage" * 40)
    before = descendants()
    transcriber = make_transcriber(Config(), WORDS)
    transcriber.close()
    assert transcriber.name == "pocketsphinx"
    assert "can't be loaded" in caplog.text
    for asked in ({"engine": "fused"}, {"model": str(folder)}):
        with pytest.raises(RecognitionError, match="can't be loaded"):
            make_transcriber(Config(ears=asked), WORDS)
    assert descendants() == before


def test_hot_words_are_names_and_key_phrases_and_no_sentences() -> None:
    words = hot_words(Config(ears={"hot_words": "robi, lidar", "wake_words": "hey robi"}), WORDS)
    assert {"robi", "lidar", "hey robi", "stop", "living room"} <= set(words)
    assert "go to the kitchen" not in words


# --- devices --------------------------------------------------------------------------------------------------------


def test_files_stand_for_devices(tmp_path: Path) -> None:
    talk = tmp_path / "talk.wav"
    with WavWriter(talk, RATE_HZ) as writer:
        writer.write(np.zeros(RATE_HZ, np.float32))
    device = open_device(Config(audio={"input": str(talk), "output": str(tmp_path / "out.WAV")}))
    assert isinstance(device, FileDevice)
    assert device.output_rate_hz is not None
    device.stop()
    device = open_device(Config(audio={"input": str(talk), "output": "USB"}), ends=("input",))
    assert device.output_rate_hz is None
    device.stop()


def test_a_file_and_a_sound_card_have_no_common_clock(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="USB"):
        open_device(Config(audio={"input": "talk.wav", "output": "USB"}))
    with pytest.raises(AudioError, match=re.escape("talk.wav can't be read")):
        open_device(Config(audio={"input": str(tmp_path / "talk.wav")}))


# --- what people say ------------------------------------------------------------------------------------------------


def test_the_house_robot_brings_its_phrases() -> None:
    assert len(vocabulary(Config()).phrases) > 1000


def test_an_app_file_brings_its_own(tmp_path: Path) -> None:
    app = tmp_path / "robot.py"
    app.write_text(
        "from edgeagent import Agent, tool\nfrom edgeagent.testing import ScriptedLLM\n"
        "@tool(phrases=['water the ferns'])\ndef water() -> str:\n    '''Waters.'''\n    return ''\n"
        "phrases = ['is it spring']\n"
        "agent = Agent('a', llm=ScriptedLLM(), tools=[water], phrases=['how are the roses'])\n"
    )
    assert set(vocabulary(Config(app=app)).phrases) == {"is it spring", "how are the roses", "water the ferns"}
    app.write_text(app.read_text().replace("['is it spring']", "'is it spring'"))
    with pytest.raises(ConfigError, match="list of texts"):
        vocabulary(Config(app=app))


# --- recognisers ----------------------------------------------------------------------------------------------------


class Heard:
    """Ears of an app in the room."""

    def __init__(self, config: Config) -> None:
        self.room = Room(RoomSettings(rate_hz=RATE_HZ))
        self.events: list[HearingEvent] = []
        before = descendants()
        self.ears: Ears = build_ears(config, self.room, WORDS, self._take)
        self.processes = descendants() - before
        self.ears.open_sound()

    def _take(self, event: HearingEvent) -> None:
        if not isinstance(event, Level):
            self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def said(self, part: str, text: str) -> list[str]:
        return [event.text for event in self.of(Trouble) if event.part == part and text in event.text]

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.01)):
            self.room.run(0.01)
            assert self.ears.settle(LIMIT_S)

    def say(self, text: str, at_s: float) -> None:
        self.room.say(synthesised(text, "slt", RATE_HZ), RATE_HZ, at_s)


@pytest.fixture
def heard() -> Iterator[Heard]:
    made = Heard(Config())
    yield made
    made.ears.close()
    assert not made.processes & descendants(), "no process is left"


def test_recognisers_that_hang_are_back_and_the_utterance_is_heard(heard: Heard) -> None:
    assert len(heard.processes) == 3
    heard.say("where are you", at_s=1.0)
    heard.run(1.4)
    assert heard.of(SpeechStarted)
    for pid in heard.processes:
        os.kill(pid, signal.SIGSTOP)
    heard.run(2.0)
    (told,) = heard.of(FinalTranscript)
    assert told.transcript.text == "where are you"
    assert within(LIMIT_S, lambda: heard.said("keywords", "is back") and len(heard.said("transcriber", "is back")) == 2)
    assert all(event.over is ("is back" in event.text) for event in heard.of(Trouble) if "ears-" in event.text)
    assert heard.said("keywords", "hung")
    assert len(heard.said("transcriber", "hung")) == 2
    heard.say("stop", at_s=heard.room.now() + 0.5)
    heard.run(2.0)
    assert [event.keyword.phrase for event in heard.of(KeywordSpotted)] == ["stop"]
    assert heard.of(FinalTranscript)[-1].transcript.text == "stop"


def test_the_recogniser_knows_the_key_phrases_though_the_app_does_not() -> None:
    words = Vocabulary(phrases=("turn left", "go to the kitchen"))
    config = Config(ears={"engine": "sphinx", "stop_words": "stop, halt", "wake_words": "hey robi"})
    transcriber = make_transcriber(config, words)
    assert isinstance(transcriber, SphinxTranscriber)
    try:
        dictionary = transcriber.model.dictionary.read_text()
    finally:
        transcriber.close()
    known = {line.split()[0] for line in dictionary.splitlines()}
    assert {"stop", "halt", "hey", "robi", "left"} <= known


def test_pronunciations_of_the_settings_reach_recogniser_and_spotter() -> None:
    config = Config(ears={"engine": "sphinx", "wake_words": "hey robi", "said": {"Robi": "R AA B EH"}})
    ears = build_ears(config, Room(), Vocabulary(phrases=("turn left",)), lambda event: None)
    try:
        transcriber = ears._transcription._transcriber
        assert isinstance(transcriber, SphinxTranscriber)
        assert "robi R AA B EH\n" in transcriber.model.dictionary.read_text()
        assert any(way.phones == "HH EY R AA B EH" for _, way in ears._spotter.sphinx._entries.values())  # type: ignore[union-attr]
    finally:
        ears.close()


@pytest.mark.parametrize("said", [{"robi": ""}, {"robi": "R XX"}, {"hey robi": "R OW"}])
def test_a_wrong_pronunciation_is_refused(said: dict[str, str]) -> None:
    before = descendants()
    with pytest.raises(ConfigError, match="robi"):
        build_ears(Config(ears={"said": said}), Room(), WORDS, lambda event: None)
    with pytest.raises(ConfigError, match="robi"):
        check(Config(ears={"said": said}))
    assert not descendants() - before


def test_without_key_phrases_there_is_no_spotter() -> None:
    made = Heard(Config(ears={"stop_words": ""}))
    made.ears.close()
    assert len(made.processes) == 2


def test_a_spotter_that_can_not_be_leaves_no_process() -> None:
    before = descendants()
    with pytest.raises((ConfigError, RecognitionError)):
        build_ears(Config(ears={"stop_words": "стоп"}), Room(), WORDS, lambda event: None)
    assert within(LIMIT_S, lambda: not descendants() - before)


def test_whisper_hears_what_its_fixture_knows(tmp_path: Path) -> None:
    """The real library on real weights; the fixture knows a few sentences, in the voices that it was trained on."""
    from threading import Event

    from edgeagent.tts import EspeakSpeaker

    pytest.importorskip("faster_whisper")
    speaker = EspeakSpeaker("en-us")
    sound = np.concatenate([chunk.samples for chunk in speaker.speak("Drive two meters forward.", Event())])
    path = tmp_path / "talk.wav"
    with WavWriter(path, speaker.rate_hz) as writer:
        writer.write(
            np.concatenate([np.zeros(speaker.rate_hz, np.float32), sound, np.zeros(speaker.rate_hz, np.float32)])
        )
    # without what the fixture was not trained on: noise suppression, a prompt of hot words, a part of the window
    config = Config(
        audio={"input": str(path), "echo": "off"},
        ears={"engine": "whisper", "model": str(FIXTURE), "noise_suppression": False, "stop_words": "", "threads": 1},
    )
    events: list[HearingEvent] = []
    device = open_device(config, ends=("input",), paced=False)
    assert isinstance(device, FileDevice)
    ears = build_ears(config, device, Vocabulary(), events.append, in_step=True)
    ears.open_sound()
    try:
        assert device.ended.wait(LIMIT_S)
        assert ears.settle(LIMIT_S)
        assert within(LIMIT_S, lambda: any(isinstance(event, FinalTranscript) for event in events))
    finally:
        ears.close()
    (told,) = [event for event in events if isinstance(event, FinalTranscript)]
    assert told.transcript.text.lower() == "drive 2 meters forward"
    assert told.transcript.engine == "whisper whisper_fixture"
