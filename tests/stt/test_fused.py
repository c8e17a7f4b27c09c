"""PocketSphinx and Whisper as one recogniser, on the real engines: the Whisper fixture knows 38 sentences."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from edgeagent.english import LOOKED_FOR
from edgeagent.errors import RecognitionError
from edgeagent.stt import (
    RATE_HZ,
    FusedTranscriber,
    RecognisedText,
    SphinxOptions,
    SphinxTranscriber,
    Transcriber,
    WhisperModel,
    WhisperOptions,
    open_model,
)
from tests.stt.speech import PHRASES, ROOMS, blocks, said, spoken, within

pytest.importorskip("faster_whisper")
pytestmark = pytest.mark.timeout(60)
FOLDER = Path(__file__).parent / "whisper_fixture"
NEVER = Event()
HARD_LIMIT_S = 30.0


@pytest.fixture(scope="module")
def ears(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FusedTranscriber]:
    options = SphinxOptions(names=[ROOMS], cache=tmp_path_factory.mktemp("ears"), hang_s=5.0, helps=True)
    sphinx = SphinxTranscriber([*PHRASES, "drive two meters forward", "follow me"], options)
    of_whisper = WhisperOptions(threads=1, beam_size=2)
    alone = replace(options, helps=False)
    transcriber = FusedTranscriber(
        sphinx, open_model(FOLDER, of_whisper), of_whisper, alone=lambda: SphinxTranscriber(PHRASES, alone)
    )
    yield transcriber
    transcriber.close()


def hear(ears: Transcriber, sound: np.ndarray, stop_event: Event = NEVER) -> RecognisedText:
    ears.begin()
    for block in blocks(sound, 1600):
        ears.feed(block)
    return ears.finish(stop_event)


@pytest.mark.parametrize("text", ["Drive two meters forward.", "Follow me.", "Bring the cup to the kitchen."])
def test_both_make_one_text(ears: FusedTranscriber, text: str) -> None:
    got = hear(ears, spoken(text))
    assert got.raw == text.rstrip(".").lower()
    assert got.final
    assert got.engine == "pocketsphinx and whisper whisper_fixture"
    assert [word.text.strip(".").lower() for word in got.words] == got.text.split()
    assert all(0 <= word.start_s <= word.end_s for word in got.words)
    assert got.confidence is not None
    assert ears.cost_s is not None


def test_what_fits_the_sound_far_worse_than_another_text_was_not_said(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = ears._model.decode

    def another(*arguments: Any, **named: Any) -> Any:
        [first, *_] = decode(*arguments, **named)
        texts = {"follow me there": 3.0, "can move": 30.0}
        rest = [replace(first, text=text, log_prob=first.log_prob - less) for text, less in texts.items()]
        return [first, *rest]

    with monkeypatch.context() as patched:
        patched.setattr(ears._model, "decode", another)
        got = hear(ears, spoken("Follow me."))
    assert got.raw == "follow me"
    assert "follow me there" in got.others
    assert "can move" not in got.others


def test_numbers_are_as_a_person_types_them(ears: FusedTranscriber) -> None:
    assert hear(ears, spoken("Drive two meters forward.")).text == "drive 2 meters forward"


def test_pocketsphinx_tells_what_is_said_while_it_is_said(ears: FusedTranscriber) -> None:
    ears.begin()
    told = [ears.feed(block) for block in blocks(said("go to the bathroom and turn left", "slt"), 1600)]
    assert ears.wait_idle(HARD_LIMIT_S)
    told.append(ears.feed(np.zeros(0, np.float32)))
    known = [each for each in told if each is not None]
    assert known[-1].text.startswith("go to the bathroom")
    assert not known[-1].final
    ears.finish(NEVER)


def begun(ears: FusedTranscriber, text: str) -> None:
    ears.begin()
    for block in blocks(spoken(text), 1600):
        ears.feed(block)


def test_what_was_said_so_far_is_heard_before_the_end(ears: FusedTranscriber) -> None:
    told = Queue[RecognisedText]()
    begun(ears, "Bring the cup to the kitchen.")
    ears.look_early(told.put)
    early = told.get(timeout=HARD_LIMIT_S)
    assert early.text == "bring the cup to the kitchen"
    assert early.text not in early.others
    assert early.confidence is not None
    assert 0 < early.confidence <= 1
    assert (early.understood, early.final) == (False, True)
    assert ears.wait_idle(HARD_LIMIT_S)
    assert ears.finish(NEVER).raw == "bring the cup to the kitchen"


def test_whisper_begins_in_a_pause_and_again_if_speech_goes_on(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, heard = ears._model.encode, Queue[float]()

    def noted(sound: np.ndarray, window_s: float) -> Any:
        heard.put(len(sound) / RATE_HZ)
        return encode(sound, window_s)

    hear(ears, spoken("Follow me."))  # what a decode costs is known from now on
    monkeypatch.setattr(ears._model, "encode", noted)
    monkeypatch.setattr("edgeagent.stt.fused._CHEAP_S", 60.0)
    begun(ears, "Bring the cup to the kitchen.")
    ears.expect_end(True)
    seconds = heard.get(timeout=HARD_LIMIT_S)
    ears.feed(np.zeros(RATE_HZ // 10, np.float32))
    assert ears.finish(NEVER).raw == "bring the cup to the kitchen"
    assert heard.empty()

    sound = spoken("Bring the cup to the kitchen.")
    ears.begin()
    ears.feed(sound[: len(sound) // 2])
    ears.expect_end(True)
    assert heard.get(timeout=HARD_LIMIT_S) < seconds
    ears.expect_end(False)
    ears.feed(sound[len(sound) // 2 :])
    assert ears.finish(NEVER).raw == "bring the cup to the kitchen"
    assert heard.get(timeout=HARD_LIMIT_S) == pytest.approx(seconds - 0.1)  # without the room after a pause


@pytest.mark.parametrize("cheap_s", [0.0, 60.0])
def test_whisper_begins_in_a_pause_only_where_it_is_quick(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, cheap_s: float
) -> None:
    hear(ears, spoken("Follow me."))
    monkeypatch.setattr("edgeagent.stt.fused._CHEAP_S", cheap_s)
    begun(ears, "Follow me.")
    ears.expect_end(True)
    assert (ears._ahead is not None) is (cheap_s > 0)
    ears.begin()
    assert ears._ahead is None
    ears.finish(NEVER)


@pytest.mark.parametrize(("apart", "excluded"), [(10.0, ("stop",)), (math.inf, ())])
def test_an_early_look_excludes_a_phrase_unless_it_fits_the_sound_almost_as_well(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, apart: float, excluded: tuple[str, ...]
) -> None:
    monkeypatch.setattr("edgeagent.stt.fused._APART", apart)
    told = Queue[RecognisedText]()
    monkeypatch.setattr(ears, "doubted", ["stop"])
    begun(ears, "Bring the cup to the kitchen.")
    ears.look_early(told.put)
    early = told.get(timeout=HARD_LIMIT_S)
    assert early.excluded == excluded
    assert ears.wait_idle(HARD_LIMIT_S)
    ears.finish(NEVER)


@pytest.mark.parametrize(("apart", "excluded"), [(10.0, ("halt", "freeze")), (math.inf, ())])
def test_a_doubted_phrase_is_excluded_from_a_short_text_if_it_fits_the_sound_far_worse(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, apart: float, excluded: tuple[str, ...]
) -> None:
    monkeypatch.setattr("edgeagent.stt.fused._APART", apart)
    assert hear(ears, spoken("Follow me.")).excluded == ()
    monkeypatch.setattr(ears, "doubted", ["halt", "follow me", "freeze"])
    assert hear(ears, spoken("Follow me.")).excluded == excluded
    assert hear(ears, spoken("Bring the cup to the kitchen.")).excluded == (), (
        "a long text needs no more than its words"
    )


@pytest.mark.parametrize(("apart", "near"), [(2.0, set()), (math.inf, set(LOOKED_FOR))])
def test_stop_phrases_are_looked_for_in_a_few_words_that_are_not_understood(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, apart: float, near: set[str]
) -> None:
    monkeypatch.setattr("edgeagent.stt.fused._NEARLY", apart)
    assert hear(ears, spoken("Follow me.")).near_stops == ()
    for least in ("LEAST", "LEAST_EXCHANGED"):
        monkeypatch.setattr(f"edgeagent.stt.rescoring.{least}", 2.0)  # nothing is as sure
    likely = hear(ears, spoken("Bring the cup to the kitchen."))
    assert (likely.likely, set(likely.near_stops)) == (not near, near)
    monkeypatch.setattr("edgeagent.stt.rescoring.LEAST_LIKELY", 2.0)
    doubtful = hear(ears, spoken("Follow me."))
    assert doubtful.engine == ears.name
    assert (doubtful.raw, doubtful.understood, set(doubtful.near_stops)) == ("follow me", False, near)
    assert set(hear(ears, spoken("Bring the cup to the kitchen.")).near_stops) == near
    assert hear(ears, spoken("Turn on the light in the bedroom.")).near_stops == (), "it is too long for one"


@pytest.mark.parametrize(("apart", "far"), [(-1.0, set()), (math.inf, {"stop", "freeze"})])
def test_a_stop_word_may_fit_less_well_than_a_phrase_that_is_nearly_as_likely(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, apart: float, far: set[str]
) -> None:
    for least in ("LEAST", "LEAST_EXCHANGED"):
        monkeypatch.setattr(f"edgeagent.stt.rescoring.{least}", 2.0)  # nothing is as sure
    monkeypatch.setattr("edgeagent.stt.rescoring.LEAST_LIKELY", 2.0)
    monkeypatch.setattr("edgeagent.stt.fused._POSSIBLE", apart)
    assert set(hear(ears, spoken("Follow me.")).far_stops) == far
    assert hear(ears, spoken("Bring the cup to the kitchen.")).far_stops == (), "it is too long for one"


def test_a_stop_word_fits_as_well_as_with_a_now_behind_it(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    for least in ("LEAST", "LEAST_EXCHANGED"):
        monkeypatch.setattr(f"edgeagent.stt.rescoring.{least}", 2.0)  # nothing is as sure
    fit = ears._model.fit

    def other(encoded: Any, language: str, text: str) -> Any:
        heard = {"stop": -99.0, "stop now": 0.0}.get(text.strip(" .").lower())
        found = fit(encoded, language, text)
        return found if heard is None else replace(found, log_prob=heard)

    monkeypatch.setattr(ears._model, "fit", other)
    assert hear(ears, spoken("Go home.")).far_stops == ("stop",)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FusedTranscriber]:
    """With a wake word."""
    options = SphinxOptions(names=[ROOMS], cache=tmp_path_factory.mktemp("called"), helps=True)
    phrases = [*PHRASES, "follow me", "hey robi", *(f"hey robi {phrase}" for phrase in (*PHRASES, "follow me"))]
    of_whisper = WhisperOptions(threads=1, beam_size=2)
    transcriber = FusedTranscriber(
        SphinxTranscriber(phrases, options),
        open_model(FOLDER, of_whisper),
        of_whisper,
        alone=lambda: SphinxTranscriber(phrases, replace(options, helps=False)),
        calls=["hey robi"],
    )
    yield transcriber
    transcriber.close()


@pytest.mark.parametrize(("apart", "woken"), [(math.inf, True), (-math.inf, False)])
def test_a_wake_word_that_fits_the_first_words_nearly_as_well_was_said(
    called: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, apart: float, woken: bool
) -> None:
    monkeypatch.setattr("edgeagent.stt.fused._CALLED", apart)
    raw = hear(called, spoken("Bring the cup to the kitchen.")).raw
    assert raw.startswith("hey robi ") is woken
    assert raw.endswith("to the kitchen")


@pytest.mark.parametrize(("apart", "excluded"), [(math.inf, ()), (0.0, ("hey robi",))])
def test_a_doubted_wake_word_is_excluded_unless_it_fits_some_place_nearly_as_well(
    called: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, apart: float, excluded: tuple[str, ...]
) -> None:
    monkeypatch.setattr("edgeagent.stt.fused._CALLED", apart)
    monkeypatch.setattr(called, "doubted", ("hey robi",))
    monkeypatch.setattr(called, "_called", lambda piece, check: None)  # nothing is put before the first words
    assert hear(called, spoken("Bring the cup to the kitchen.")).excluded == excluded


def test_an_early_look_that_the_end_overtakes_is_dropped(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[RecognisedText] = []
    inside, gate = Event(), Event()
    encode = WhisperModel.encode

    def waits(*given: Any) -> Any:
        inside.set()
        assert gate.wait(HARD_LIMIT_S)
        return encode(*given)

    begun(ears, "Follow me.")
    monkeypatch.setattr(WhisperModel, "encode", waits)
    ears.look_early(told.append)
    assert inside.wait(HARD_LIMIT_S)
    ears.look_early(told.append)  # one at a time
    ended = Queue[RecognisedText]()
    thread = Thread(target=lambda: ended.put(ears.finish(NEVER)))
    thread.start()
    assert within(HARD_LIMIT_S, lambda: ears._early is not None and ears._early._left.is_set())
    gate.set()
    assert ended.get(timeout=HARD_LIMIT_S).raw == "follow me"
    thread.join(HARD_LIMIT_S)
    assert told == []


def test_an_early_look_that_hears_nobody_or_fails_tells_nothing_and_the_end_is_heard(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[RecognisedText] = []
    begun(ears, "Follow me.")
    with monkeypatch.context() as patch:
        patch.setattr(WhisperModel, "decode", lambda *given, **options: [])
        ears.look_early(told.append)
        assert ears.wait_idle(HARD_LIMIT_S)
        assert "before its end" not in caplog.text
        patch.setattr(WhisperModel, "encode", _fail)
        ears.look_early(told.append)
        assert ears.wait_idle(HARD_LIMIT_S)
    assert told == []
    assert "before its end" in caplog.text
    assert ears.finish(NEVER).raw == "follow me"


def test_while_an_early_look_hangs_pocketsphinx_hears(ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Event()
    monkeypatch.setattr("edgeagent.stt.fused._LIMIT_S", 0.2)
    with monkeypatch.context() as patch:
        patch.setattr(WhisperModel, "encode", lambda *_: gate.wait(HARD_LIMIT_S) and _fail())
        begun(ears, "Follow me.")
        ears.look_early(_fail)
        for _ in range(2):
            assert hear(ears, said("go to the kitchen", "slt")).engine.startswith("pocketsphinx")
        gate.set()
        assert ears.wait_idle(HARD_LIMIT_S)
    assert hear(ears, spoken("Follow me.")).raw == "follow me"


def _fail(*_: Any) -> Any:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize("sound", [np.zeros(0, np.float32), np.zeros(RATE_HZ, np.float32)], ids=["nothing", "zeros"])
def test_without_sound_there_is_no_text(ears: FusedTranscriber, sound: np.ndarray) -> None:
    got = hear(ears, sound)
    assert (got.text, got.understood, got.final) == ("", False, True)


def test_what_whisper_fails_to_hear_pocketsphinx_hears_with_both_of_its_models(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(ears._model, "decode", broken)
        got = hear(ears, said("go to the bathroom", "slt"))
        other = hear(ears, said("my sister likes apples", "slt"))
    assert (got.raw, got.understood, got.engine) == ("go to the bathroom", True, "pocketsphinx app")
    assert other.engine == "pocketsphinx general"
    assert hear(ears, spoken("Follow me.")).engine == ears.name


def test_pocketsphinx_helps_with_one_process(ears: FusedTranscriber) -> None:
    assert len(ears.pids) == 1


def test_while_whisper_hangs_pocketsphinx_hears(ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, entered, encode = Event(), [], ears._model.encode

    def hung(*arguments: Any) -> Any:
        entered.append(1)
        assert go_on.wait(HARD_LIMIT_S)
        return encode(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(ears._model, "encode", hung)
        patched.setattr("edgeagent.stt.fused._LIMIT_S", 0.2)
        for _ in range(2):
            assert hear(ears, said("go to the bathroom", "slt")).engine == "pocketsphinx app"
        assert len(entered) == 1, "it is not asked again while it hangs"
        go_on.set()
        assert within(HARD_LIMIT_S, lambda: ears._late is not None and ears._late.over)
    assert hear(ears, spoken("Follow me.")).engine == ears.name


def test_where_whisper_hears_nobody_there_is_no_text(ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = ears._model.decode

    def nobody(*arguments: Any, **named: Any) -> Any:
        return [replace(text, no_speech=0.9, log_prob=-50.0) for text in decode(*arguments, **named)]

    with monkeypatch.context() as patched:
        patched.setattr(ears._model, "decode", nobody)
        got = hear(ears, said("go to the bathroom", "slt"))
    assert (got.raw, got.understood) == ("", False)
    assert "go to the bathroom" in got.others, "a stop word would be among them"


def test_a_closed_one_says_so(tmp_path: Path) -> None:
    of_whisper = WhisperOptions(threads=1)
    sphinx = SphinxTranscriber(["turn left"], SphinxOptions(cache=tmp_path, helps=True))
    transcriber = FusedTranscriber(sphinx, open_model(FOLDER, of_whisper), of_whisper, alone=lambda: sphinx)
    transcriber.begin()
    transcriber.feed(spoken("Follow me."))
    transcriber.close()
    with pytest.raises(RecognitionError, match="closed"):
        transcriber.finish(NEVER)


def test_where_pocketsphinx_is_lost_whisper_hears(ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(stop_event: Event) -> None:
        raise RecognitionError("ears-app is lost again and again")

    with monkeypatch.context() as patched:
        patched.setattr(ears._sphinx, "heard", lost)
        assert hear(ears, spoken("Follow me.")).raw == "follow me"


def test_a_process_that_dies_loses_no_word(ears: FusedTranscriber) -> None:
    ears.begin()
    ears.feed(spoken("Follow me."))
    assert ears.wait_idle(HARD_LIMIT_S)
    pid = ears.pids[0]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert ears.finish(NEVER).raw == "follow me"


def test_a_stop_is_honoured_at_once_and_the_next_utterance_is_heard(
    ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on, stop = Event(), Event(), Event()
    encode = ears._model.encode

    def held(*arguments: Any) -> Any:
        entered.set()
        assert go_on.wait(HARD_LIMIT_S)
        return encode(*arguments)

    got: list[RecognisedText] = []
    with monkeypatch.context() as patched:
        patched.setattr(ears._model, "encode", held)
        caller = Thread(target=lambda: got.append(hear(ears, spoken("Follow me."), stop)))
        caller.start()
        assert entered.wait(HARD_LIMIT_S)
        stop.set()
        caller.join(HARD_LIMIT_S)
        assert not caller.is_alive()
        assert not got[0].final
        go_on.set()
    assert hear(ears, spoken("Drive two meters forward.")).raw == "drive two meters forward"


def test_a_stop_that_came_before_is_honoured(ears: FusedTranscriber) -> None:
    stop = Event()
    stop.set()
    assert not hear(ears, spoken("Follow me."), stop).final


def test_a_stop_at_the_last_moment_is_honoured(ears: FusedTranscriber, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, words = Event(), ears._model.words

    def late(*arguments: Any) -> Any:
        made = words(*arguments)
        stop.set()
        return made

    with monkeypatch.context() as patched:
        patched.setattr(ears._model, "words", late)
        assert not hear(ears, spoken("Follow me."), stop).final


def test_speech_longer_than_the_window_is_heard_to_its_end(ears: FusedTranscriber) -> None:
    pause = np.zeros(26 * RATE_HZ, np.float32)
    said = [spoken("Drive two meters forward."), pause, spoken("Follow me."), pause, spoken("Stop.")]
    assert hear(ears, np.concatenate(said)).raw == "drive two meters forward follow me stop"
