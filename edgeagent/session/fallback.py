"""Several models in order of preference: the next one takes over when one can't answer.

The switch happens before anything was said, and it sticks. Runs on the thread of whoever asks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, TypeVar, cast

from edgeagent.context import StopSignal
from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm import LLM, End, Error, LLMEvent, LLMRequest
from edgeagent.llm.types import drain
from edgeagent.messages import Message

logger = logging.getLogger(__name__)
T = TypeVar("T")
Resolve = Callable[[str], LLM]
_STUCK_S: Final = 30.0
"""Without a sign of life for so long, a local model is stuck (contract, section 11)."""


class FallbackLLM:
    """An LLM made of several.

    A model is given up when it raises ``ModelError`` (it does not load, memory would not do, the context does not fit)
    or gives no sign of life in time; what it raises after its first token is not covered up.

    Args:
        models: LLMs, or names for ``resolve``.
        resolve: Makes a model of a name; called when that name is reached.
        on_switch: Told the name of the model that takes over and why, as a sentence.
        timeout_s: Seconds for the first event of a reply; None: 30 for each chunk of the prompt, if the model tells of
            them.

    Raises:
        ConfigError: There is a name and no ``resolve``, or no model at all.
    """

    def __init__(
        self,
        models: Sequence[LLM | str],
        *,
        resolve: Resolve | None = None,
        on_switch: Callable[[str], object] = logger.warning,
        timeout_s: float | None = None,
    ) -> None:
        if not models:
            raise ConfigError("there is no model to fall back on")
        for model in models:
            if isinstance(model, str) and resolve is None:
                raise ConfigError(
                    f"fallback_models has the name {model!r}: resolve_model is needed to make a model of it"
                )
        self.on_switch = on_switch
        self.timeout_s = timeout_s
        self._models = list(models)
        self._resolve = resolve
        self._lock = threading.Lock()

    @property
    def current(self) -> LLM:
        """The model that answers now; a name is resolved when it is reached.

        Raises:
            ModelError: None of the models that are left can be made.
        """
        while True:
            with self._lock:
                model = self._models[0]
            if not isinstance(model, str):
                return model
            try:
                assert self._resolve is not None  # noqa: S101 - checked when it was made
                made = self._resolve(model)
            except ModelError as error:
                self._give_up(model, str(error), error)
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
            watch = _Watch(model, stop_event, self.timeout_s)
            try:
                with closing(cast(Any, model.stream(request, watch.stop))) as stream:
                    for event in stream:
                        if not begun and isinstance(event, End | Error) and watch.expired:
                            break
                        begun = True
                        watch.end()
                        yield event
                if begun:
                    return
                self._give_up(model, f"it gave no sign of life for {watch.limit_s:g} s")
            except ModelError as error:
                if begun:
                    raise
                self._give_up(model, str(error), error)
            finally:
                watch.end()

    def complete(self, request: LLMRequest, stop_event: threading.Event) -> Message:
        """The message that the stream adds up to."""
        return drain(self.stream(request, stop_event))

    def tokenize(self, request: LLMRequest) -> list[int]:
        return self._first(lambda model: model.tokenize(request))

    def count_tokens(self, request: LLMRequest) -> int:
        return self._first(lambda model: model.count_tokens(request))

    def load(self) -> None:
        """Loads the first model that does."""

        def load(model: LLM) -> None:
            loads = getattr(model, "load", None)
            if callable(loads):
                loads()

        self._first(load)

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
            except ModelError as error:
                self._give_up(model, str(error), error)

    def _give_up(self, model: LLM | str, why: str, error: ModelError | None = None) -> None:
        """Goes on with the next model; the last one's error is the answer."""
        with self._lock:
            if self._models[0] is not model:
                return  # another request was faster
            if len(self._models) == 1:
                raise error or ModelError(f"{_name(model)}: {why}; there is no further model to fall back on")
            self._models.pop(0)
            following = self._models[0]
        self.on_switch(f"{_name(model)} cannot answer ({why}); {_name(following)} takes over")


class _Watch:
    """Sets a stop of its own when the first event of a reply does not come in time."""

    def __init__(self, model: LLM, callers: threading.Event, timeout_s: float | None) -> None:
        self.stop = StopSignal(callers)
        self.expired = False
        self.limit_s = timeout_s or _STUCK_S
        self._model = model
        self._chunks = timeout_s is None
        self._seen = self._progress()
        self._timer: threading.Timer | None = None
        if timeout_s is not None or hasattr(model, "chunks_done"):
            self._start()

    def end(self) -> None:
        """The reply has begun, or is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        self._timer = threading.Timer(self.limit_s, self._over)
        self._timer.daemon = True
        self._timer.start()

    def _over(self) -> None:
        now = self._progress()
        if self._chunks and (now is None or now != self._seen):
            self._seen = now
            self._start()
            return
        self.expired = True
        self.stop.set()

    def _progress(self) -> int | None:
        """Chunks that the model has evaluated; None while it loads, or if it does not say."""
        return getattr(self._model, "chunks_done", None)


def _name(model: LLM | str) -> str:
    return model if isinstance(model, str) else model.name
