"""Stopping anywhere leaves a model that goes on as if nothing had been, in one thread and in several."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from edgeagent import BusyError, LlamaLLM, Message, ModelError
from edgeagent.llm import End, EngineSettings, LLMEvent, LLMRequest, TextDelta

LIMIT_S = 20.0
LONG = "hello there " * 60


def ask(text: str = LONG, max_tokens: int = 12) -> LLMRequest:
    return LLMRequest(messages=[Message.user(text)], max_tokens=max_tokens)


class StopsAfter(Event):
    """A stop event that somebody sets while it is being looked at for the nth time."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def is_set(self) -> bool:
        self._looks -= 1
        if self._looks < 0:
            self.set()
        return super().is_set()


def wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit
        threading.Event().wait(0.001)


@pytest.fixture
def expected(babble_file: Path) -> str:
    """What the model says when nobody stops it."""
    llm = LlamaLLM(babble_file)
    text = llm.complete(ask(), Event()).text
    llm.close()
    return text


@pytest.mark.parametrize("looks", range(0, 21, 3))
def test_a_stop_at_any_moment_keeps_what_was_evaluated(babble: LlamaLLM, expected: str, looks: int) -> None:
    stopped = babble.complete(ask(), StopsAfter(looks))
    assert stopped.stop_reason == "aborted"
    assert stopped.error is None
    assert expected.startswith(stopped.text)
    before = babble.stats
    assert babble.complete(ask(), Event()).text == expected
    evaluated = before.evaluated_tokens + babble.stats.evaluated_tokens
    assert evaluated <= babble.stats.prompt_tokens + 1  # the last token is evaluated again for its logits


def test_a_stop_before_the_start_does_nothing(babble: LlamaLLM) -> None:
    stop = Event()
    stop.set()
    assert list(babble.stream(ask(), stop)) == [End("aborted")]
    assert babble.stats.load_s == 0


def test_a_stop_from_another_thread_during_the_prompt(
    write: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    llm = LlamaLLM(write(width=256, layers=6))
    llm.load()
    stop, events = Event(), list[LLMEvent]()
    request = ask("hello there " * 500)
    thread = threading.Thread(target=lambda: events.extend(llm.stream(request, stop)))
    thread.start()
    engine = llm._ready().engine
    wait_until(lambda: len(engine.evaluated) > 0)
    stop.set()
    thread.join(LIMIT_S)
    assert not thread.is_alive()
    assert next(event for event in events if isinstance(event, End)).stop_reason == "aborted"
    kept = llm.stats.evaluated_tokens
    assert 0 < kept < llm.count_tokens(request)
    assert not [record.message for record in caplog.records if record.name == "edgeagent.llama"], "a stop is no error"
    llm.complete(request, Event())
    assert llm.stats.reused_tokens == kept
    llm.close()


def test_a_stop_from_another_thread_while_it_speaks(babble: LlamaLLM, expected: str) -> None:
    stop, spoke, events = Event(), Event(), list[LLMEvent]()

    def listen() -> None:
        for event in babble.stream(ask(max_tokens=3000), stop):
            events.append(event)
            spoke.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert spoke.wait(LIMIT_S)
    stop.set()
    thread.join(LIMIT_S)
    last = events[-1]
    assert isinstance(last, End)
    assert last.stop_reason == "aborted"
    assert babble.complete(ask(), Event()).text == expected


def test_at_most_one_more_token_after_a_stop(babble: LlamaLLM) -> None:
    stop, after = Event(), 0
    for event in babble.stream(ask(max_tokens=100), stop):
        if isinstance(event, TextDelta):
            after += stop.is_set()
            if len(event.text) > 0:
                stop.set()
    assert after <= 1


def test_a_stream_that_is_dropped_releases_the_model(babble: LlamaLLM, expected: str) -> None:
    stream = babble.stream(ask(), Event())
    next(stream)
    del stream
    assert babble.complete(ask(), Event()).text == expected
    closed = babble.stream(ask(), Event())
    next(closed)
    assert isinstance(closed, Iterator)
    closed.close()  # type: ignore[attr-defined]  # the protocol only promises an iterator
    assert babble.complete(ask(), Event()).text == expected


def test_a_call_from_inside_a_stream_of_the_same_model_raises(babble: LlamaLLM) -> None:
    stream = babble.stream(ask(), Event())
    next(stream)
    with pytest.raises(BusyError):
        babble.complete(ask(), Event())
    assert babble.count_tokens(ask()) > 0
    assert list(stream)[-1].__class__ is End


def test_two_threads_take_turns(babble: LlamaLLM, expected: str) -> None:
    replies: list[str] = []
    gate = threading.Barrier(3)

    def work(text: str) -> None:
        gate.wait(LIMIT_S)
        for _ in range(5):
            reply = babble.complete(ask(text), Event()).text
            replies.append(reply if text == LONG else "")

    threads = [threading.Thread(target=work, args=(text,)) for text in (LONG, "other", "third")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sorted(replies) == [""] * 10 + [expected] * 5


def test_counting_never_waits_for_a_generation(babble: LlamaLLM) -> None:
    stream = babble.stream(ask(), Event())
    next(stream)
    counted: list[int] = []
    thread = threading.Thread(target=lambda: counted.append(babble.count_tokens(ask())))
    thread.start()
    thread.join(LIMIT_S)
    assert counted == [babble.count_tokens(ask())]
    list(stream)


def test_a_waiting_request_that_is_stopped_leaves_the_queue(babble: LlamaLLM) -> None:
    stream = babble.stream(ask(), Event())
    next(stream)
    stop, events = Event(), list[LLMEvent]()
    thread = threading.Thread(target=lambda: events.extend(babble.stream(ask("other"), stop)))
    thread.start()
    stop.set()
    thread.join(LIMIT_S)
    assert events == [End("aborted")]
    assert list(stream)[-1].__class__ is End


def test_closing_ends_a_running_stream_and_frees_the_model_after_it(babble: LlamaLLM) -> None:
    stream = babble.stream(ask(max_tokens=3000), Event())
    next(stream)
    engine = babble._ready().engine
    babble.close()
    assert engine._model is not None
    last = list(stream)[-1]
    assert isinstance(last, End)
    assert last.stop_reason == "aborted"
    assert engine._model is None
    with pytest.raises(ModelError, match="was closed"):
        babble.complete(ask(), Event())


def test_threads_that_count_generate_and_close_at_once(babble_file: Path) -> None:
    for _ in range(5):
        llm = LlamaLLM(babble_file)
        gate = threading.Barrier(4)

        def use(work: Callable[[], object], gate: threading.Barrier = gate) -> None:
            gate.wait(LIMIT_S)
            with contextlib.suppress(ModelError):  # it was closed
                for _ in range(20):
                    work()

        works: list[Callable[[], object]] = [
            lambda llm=llm: llm.count_tokens(ask()),  # type: ignore[misc]
            lambda llm=llm: llm.complete(ask(), Event()),  # type: ignore[misc]
            lambda llm=llm: llm.complete(ask("other"), Event()),  # type: ignore[misc]
        ]
        threads = [threading.Thread(target=use, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        gate.wait(LIMIT_S)
        llm.close()
        for thread in threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()


def test_a_stop_leaves_a_chunk_in_the_middle(write: Callable[..., Path]) -> None:
    file = write(width=256, layers=6, trained=8192)
    request = ask("hello there " * 250)
    whole = LlamaLLM(file, settings=EngineSettings(chunk_tokens=4096, prefix_file=False))
    expected = whole.complete(request, Event()).text
    whole.close()
    llm = LlamaLLM(file, settings=EngineSettings(chunk_tokens=4096, prefix_file=False))
    llm.load()
    stopped = llm.complete(request, StopsAfter(5))  # the looks before the only chunk are fewer
    assert stopped.stop_reason == "aborted"
    assert llm.stats.evaluated_tokens == 0
    assert llm.complete(request, Event()).text == expected
    llm.close()
