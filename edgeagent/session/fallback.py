"""Several models in order of preference: the next one takes over when one can't answer.

The switch happens before anything was said, and it sticks. Runs on the thread of whoever asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeVar

from edgeagent.errors import ConfigError, EdgeAgentError, ModelError
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.llm import LLM, Error, LLMEvent, LLMRequest
from edgeagent.llm.protocol import drain, load_weights
from edgeagent.llm.window import check_window
from edgeagent.messages import Message
from edgeagent.stop import StopSignal

T = TypeVar("T")
Resolve = Callable[[str], LLM]
_STUCK_S: Final = 30.0
"""Without a sign of life for so long, a local model is stuck."""
_SILENT_S: Final = 10.0
"""Without a first token for so long, a model that tells of no chunks, such as a remote one, is given up (the same)."""


class FallbackLLM:
    """An LLM made of several.

    A model is given up when it raises ``ModelError`` (it does not load, memory would not do, the context does not fit)
    or ``OSError`` (it is unreachable), when its stream is nothing but an error (it is overloaded), or when it gives no
    sign of life in time. Once it has said anything, no error is covered up. The last model's error is the answer.

    Args:
        models: LLMs, or names for ``resolve``; one at least.
        instead_of: The agent's own model, in whose place this one is put.
        resolve: Makes a model of a name; called when that name is reached, and needed only then. None: there is none.
        on_switch: Told the name of the model that takes over and why, as a sentence.
        timeout_s: Seconds for the first event of a reply; None: 30 for each chunk of the prompt, and 10 where a model
            does not tell of them.
        compaction: Makes a request fit that was made for the window of a model that was given up.
    """

    checks_window = True
    """True, because this class looks at the window of each model, and gives up a model that a request does not fit."""

    def __init__(
        self,
        models: Sequence[LLM | str],
        *,
        instead_of: LLM | None,
        resolve: Resolve | None,
        on_switch: Callable[[str], object],
        timeout_s: float | None,
        compaction: ContextCompactionHook,
    ) -> None:
        self.instead_of = instead_of
        self._on_switch = on_switch
        self._timeout_s = timeout_s
        self._models = list(models)
        self._compaction = compaction
        self._switched = False
        """The request at hand was made for another model."""
        self._resolve = resolve
        self._lock = threading.Lock()

    @property
    def models(self) -> tuple[LLM | str, ...]:
        """Those that were not given up, a name where none was made of it yet."""
        with self._lock:
            return tuple(self._models)

    @property
    def current(self) -> LLM:
        """The model that answers now; a name is resolved when it is reached.

        Raises:
            ModelError, ConfigError: None of the models that are left can be made.
        """
        while True:
            with self._lock:
                model = self._models[0]
            if not isinstance(model, str):
                return model
            try:
                if self._resolve is None:
                    raise ConfigError(
                        f"fallback_models has {model!r}: resolve_model is needed to make a model of a name"
                    )
                made = self._resolve(model)
                if not hasattr(made, "stream"):
                    raise ConfigError(f"resolve_model({model!r}) returned {made!r}: it should be an LLM")
            except Exception as error:  # noqa: BLE001 - the builder's code: the next model is tried
                own = isinstance(error, EdgeAgentError | OSError)
                self._give_up(model, str(error) if own else f"{type(error).__name__}: {error}", error)
                continue
            with self._lock:
                self._models[0] = made
            return made

    @property
    def name(self) -> str:
        return self.current.name

    @property
    def context_window(self) -> int:
        return self.current.context_window

    def stream(self, request: LLMRequest, stop_event: threading.Event) -> Iterator[LLMEvent]:
        """Streams the reply of the first model that gives one.

        Raises:
            ModelError: The last one could not either.
        """
        while True:
            model = self.current
            begun = False
            watch = _Watch(model, stop_event, self._timeout_s)
            try:
                if self._switched:
                    request = self._fitting(model, request, watch.stop)
                check_window(model, request)
                with _closing(model.stream(request, watch.stop)) as stream:
                    for event in stream:
                        why = None if begun or stop_event.is_set() else self._failed(event, watch)
                        if why is not None:
                            break
                        begun, self._switched = True, False
                        watch.end()
                        yield event
                    else:
                        return
                self._give_up(model, why)
            except (ModelError, OSError) as error:
                if begun or stop_event.is_set():
                    raise
                self._give_up(model, str(error), error)
            finally:
                watch.end()

    def _fitting(self, model: LLM, request: LLMRequest, stop_event: threading.Event) -> LLMRequest:
        """The request for a model that may have a smaller window."""
        shorter = self._compaction.shrink(
            request.messages,
            llm=model,
            system=request.system,
            tools=request.tools,
            max_tokens=request.max_tokens,
            stop_event=stop_event,
            ask=False,
        )
        return request if shorter is None else replace(request, messages=shorter)

    def _failed(self, first: LLMEvent, watch: _Watch) -> str | None:
        """Why another model should be asked instead of telling this first event, if one should."""
        if watch.end():
            return f"it gave no sign of life for {watch.limit_s:g} s"
        return first.message if isinstance(first, Error) and len(self._models) > 1 else None

    def complete(self, request: LLMRequest, stop_event: threading.Event) -> Message:
        """The message that the stream adds up to."""
        return drain(self.stream(request, stop_event))

    def tokenize(self, request: LLMRequest) -> list[int]:
        return self._first(lambda model: model.tokenize(request))

    def count_tokens(self, request: LLMRequest) -> int:
        return self._first(lambda model: model.count_tokens(request))

    def load(self) -> None:
        """Loads the first model that does."""
        self._first(load_weights)

    def close(self) -> None:
        """Closes the models that were made."""
        for model in self._models:
            if not isinstance(model, str):
                model.close()

    def _first(self, ask: Callable[[LLM], T]) -> T:
        while True:
            model = self.current
            try:
                return ask(model)
            except (ModelError, OSError) as error:
                self._give_up(model, str(error), error)

    def _give_up(self, model: LLM | str, why: str, error: Exception | None = None) -> None:
        """Goes on with the next model; the last one's error is the answer."""
        with self._lock:
            if self._models[0] is not model:
                return  # another request was faster
            if len(self._models) == 1:
                raise error or ModelError(f"{_name(model)}: {why}; there is no further model to fall back on")
            self._models.pop(0)
            self._switched = True
            following = self._models[0]
        self._on_switch(f"{_name(model)} cannot answer ({why}); {_name(following)} takes over")


class _Watch:
    """Sets a stop of its own when the first event of a reply does not come in time."""

    def __init__(self, model: LLM, callers: threading.Event, timeout_s: float | None) -> None:
        self.stop = StopSignal(callers)
        self._lock = threading.Lock()
        self._expired = self._ended = False
        self._model = model
        self._chunks = timeout_s is None and hasattr(model, "chunks_done")
        self.limit_s = timeout_s or (_STUCK_S if self._chunks else _SILENT_S)
        self._seen = self._progress()
        self._start()

    def end(self) -> bool:
        """The reply has begun, or is over. Returns True if that came too late."""
        with self._lock:
            self._ended = True
            self._timer.cancel()
            return self._expired

    def _start(self) -> None:
        self._timer = threading.Timer(min(self.limit_s, threading.TIMEOUT_MAX), self._over)
        self._timer.daemon = True
        self._timer.start()

    def _over(self) -> None:
        with self._lock:
            if self._ended:
                return
            now = self._progress()
            if self._chunks and (now is None or now != self._seen):
                self._seen = now
                self._start()
                return
            self._expired = True
        self.stop.set()

    def _progress(self) -> int | None:
        """Chunks that the model has evaluated; None while it loads, or if it does not say."""
        return getattr(self._model, "chunks_done", None)


@contextmanager
def _closing(stream: Iterator[LLMEvent]) -> Iterator[Iterator[LLMEvent]]:
    """Ends a stream as soon as it is left; any iterator is one."""
    try:
        yield stream
    finally:
        if callable(close := getattr(stream, "close", None)):
            close()


def _name(model: LLM | str) -> str:
    return model if isinstance(model, str) else model.name
