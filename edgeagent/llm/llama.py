"""``LlamaLLM``: a GGUF in llama.cpp behind the LLM protocol.

Puts the parts together: header, template, prompt, engine, gate. One thread at a time generates, under the inference
lock; token counting needs only the vocabulary and never waits for a generation.
"""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import platformdirs

from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm import native
from edgeagent.llm.constraint import Plans, free_to_call
from edgeagent.llm.earlier_turns import retold
from edgeagent.llm.engine import Engine
from edgeagent.llm.engine_settings import MIN_CONTEXT_TOKENS, Chosen, EngineSettings
from edgeagent.llm.generation import Generation
from edgeagent.llm.gguf import Header, read_header
from edgeagent.llm.grammar import TokenVocabulary
from edgeagent.llm.opening import (
    Openers,
    Opening,
    answers_result,
    call_threshold,
    for_words,
    gate_of,
    only_read,
    reading_threshold,
    tagged_threshold,
)
from edgeagent.llm.parsers import FORMATS, CallFormat, format_named
from edgeagent.llm.parsers.tool_call_tags import HERMES
from edgeagent.llm.prefixes import Marker, Prefixes, PrefixFiles, fingerprint
from edgeagent.llm.prompt import ChatTemplate, Prompter, wants_thinking
from edgeagent.llm.protocol import End, InferenceLock, LLMEvent, LLMRequest, drain
from edgeagent.llm.quirks import Adapter, detect_format, probe, write_granite, write_hermes, write_pythonic
from edgeagent.llm.reply_reader import read_reply
from edgeagent.llm.stream_gate import THINKING_MARKERS, StreamGate, ends_in_thinking
from edgeagent.llm.window import check_length
from edgeagent.messages import Message
from edgeagent.models.catalog import CallGate, known_model
from edgeagent.models.store import find_model

DEFAULT_CONTEXT_TOKENS: Final = 4096
_HINT_TOKENS: Final = 32
"""Room for the hint with which a model is asked for words; ten tokens or so in ChatML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaStats:
    """Resources that the model uses, and figures of the last request. Times in seconds."""

    model: str
    context_window: int
    threads: int = 0
    chunk_tokens: int = 0
    chosen: Chosen | None = None
    """The engine's settings; None until the weights are loaded."""
    load_s: float = 0.0
    """0 until the weights are loaded."""
    resident_bytes: int = 0
    """Memory of this whole process, now."""
    prompt_tokens: int = 0
    reused_tokens: int = 0
    """Tokens of the prompt that were evaluated before."""
    evaluated_tokens: int = 0
    """Tokens of the prompt that this request evaluated."""
    prefix_bytes: int = 0
    """Memory of what is kept for other agents' prompts."""
    output_tokens: int = 0
    prefill_s: float = 0.0
    generation_s: float = 0.0

    @property
    def prompt_tokens_per_s(self) -> float:
        """Speed of prompt evaluation; 0 when nothing was evaluated."""
        return self.evaluated_tokens / self.prefill_s if self.prefill_s else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Speed of generation; 0 when nothing was generated."""
        return self.output_tokens / self.generation_s if self.generation_s else 0.0


class LlamaLLM:
    """A local model. Its header is checked here, its weights load at the first request or with ``load``.

    Args:
        model: Path of a .gguf file, or a name of the catalogue ("nano" comes with edgeagent).
        context_window: Tokens of prompt and reply together; at most what the model was trained for. None is 4,096, or
            what it was trained for if that is less.
        temperature: For requests that name none; 0 is greedy.
        seed: For temperatures above 0: equal requests then get equal replies. None is another reply every time.
        tool_format: How the model writes calls, where its template does not tell.
        constrain_tools: Whether calls are kept to their tools' names and schemas by a grammar. True refuses schemas
            that no grammar can say; None lets their arguments be any.
        call_gate: Least probability of a call, by the model's own first token, with which a reply may begin one without
            the tags of its template; below it the model talks. 0 lets every reply begin one; None takes the thresholds
            that were fitted for the model, or the default; a ``CallGate`` has one for calls with the tags too.
        retell: Earlier turns of a conversation are told in one text, in place of a dialogue, to a request with tools;
            None does so for the models of the catalogue that imitate a dialogue.
        force_arguments: Calls that a model writes without its template's tags are kept to their tools' schemas too,
            from the tool's name on; tools that move something are left alone.
        settings: How to use the machine.

    Raises:
        ModelError: The file can't be used; the text says why and what to do.
        ConfigError: There is no such tool format, or an argument is of another kind.
    """

    checks_window = True

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        context_window: int | None = None,
        temperature: float = 0.0,
        seed: int | None = 0,
        tool_format: str | None = None,
        constrain_tools: bool | None = None,
        call_gate: float | CallGate | None = None,
        retell: bool | None = None,
        force_arguments: bool = False,
        settings: EngineSettings | None = None,
    ) -> None:
        if not isinstance(model, str | os.PathLike):
            raise ConfigError(f"model must be the path of a .gguf file or a name of the catalogue, not {model!r}")
        self.name, self.path = find_model(model)
        self.header: Header = read_header(self.path)
        self._template = ChatTemplate(self.header.template, str(self.path))
        self.context_window: int = _window(self.header, context_window)
        if not native.knows_architecture(self.header.architecture):
            raise ModelError(
                f"{self.path} has the architecture {self.header.architecture!r}, which this llama.cpp can't run: "
                "choose another model, or upgrade llama-cpp-python"
            )
        self._quirks = probe(self._template)
        self._format: CallFormat | None = format_named(tool_format) if tool_format else detect_format(self._template)
        if self._format is None and not self._quirks.tools:
            self._format = HERMES  # the tools are shown in the system prompt, which says how to call them
        self._constrain_tools = constrain_tools
        self._force_arguments = force_arguments
        known = known_model(self.name, self.header.bytes)
        self._call_gate = gate_of(call_gate, known)
        self._retells = known is not None and known.retells if retell is None else retell
        self._temperature = temperature
        self._seed = seed
        self._settings = settings or EngineSettings()
        self._lock = InferenceLock()
        self._guard = threading.RLock()  # around loading, freeing and the vocabulary; never held during a generation
        self._closed = threading.Event()
        self._loaded: _Loaded | None = None
        self._finalizer: weakref.finalize[Any, LlamaLLM] | None = None
        self._stats = LlamaStats(model=self.name, context_window=self.context_window)

    def __repr__(self) -> str:
        return f"<LlamaLLM {self.name}>"

    @property
    def tool_format(self) -> str | None:
        """Name of the format in which this model writes calls; None when none of ours."""
        return self._format.name if self._format else None

    @property
    def stats(self) -> LlamaStats:
        """Resources that the model uses now, and figures of the last request."""
        return replace(self._stats, resident_bytes=native.resident_bytes())

    def load(self) -> None:
        """Load the weights now, if they are not.

        Raises:
            ModelError: llama.cpp can't load them, or the model was closed.
        """
        self._ready()

    def stream(self, request: LLMRequest, stop_event: threading.Event) -> Iterator[LLMEvent]:
        """Generate a reply. Nothing happens before the first event is asked for.

        Raises, at that moment:
            ModelError: The weights don't load, the prompt does not fit, the template refuses it, or it asks for what
                this model can't do.
            BusyError: This thread is inside a stream of this model.
        """
        self._check(request)
        try:
            with self._lock.hold(stop_event) as held:
                if held and not stop_event.is_set():
                    enough = threading.Event()
                    yield from read_reply(self._generate(request, stop_event, enough), request, enough)
                else:
                    yield End("aborted")
        finally:
            if self._closed.is_set():
                self.close()

    def complete(self, request: LLMRequest, stop_event: threading.Event) -> Message:
        """The whole reply. Raises as ``stream`` does."""
        return drain(self.stream(request, stop_event))

    def tokenize(self, request: LLMRequest) -> list[int]:
        """The ids of the prompt. Loads the weights if they are not; never waits for a generation."""
        with self._guard:
            return self._ready().prompter.make(request).ids

    def rendered(self, request: LLMRequest) -> str:
        """The prompt as text, for people to read. Loads the weights if they are not; never waits for a generation."""
        with self._guard:
            prompter = self._ready().prompter
            return prompter.shown(prompter.make(request))

    def count_tokens(self, request: LLMRequest) -> int:
        """Count the tokens of the prompt, template and tools included."""
        return len(self.tokenize(request))

    def close(self) -> None:
        """Free the memory; again does nothing. A running stream ends with its next token and frees it then."""
        self._closed.set()
        with self._lock.attempt() as idle:
            if idle:
                self._free()

    @property
    def chunks_done(self) -> int | None:
        """Number of evaluated chunks of prompts and replies: a sign of life. None until the weights are there."""
        loaded = self._loaded
        return None if loaded is None else loaded.engine.decodes

    def _check(self, request: LLMRequest) -> None:
        """Refuse what this model can't do, before anybody waits for it."""
        if request.tools and self._format is None:
            raise ModelError(
                f"the chat template of {self.path} shows none of the tool-call formats that edgeagent reads "
                f"({', '.join(known.name for known in FORMATS)}): choose another model, name the format with "
                "tool_format=, or ask it without tools"
            )

    def _generate(
        self, request: LLMRequest, stop_event: threading.Event, enough: threading.Event
    ) -> Iterator[LLMEvent]:
        """Runs under the inference lock, so the weights can't be freed meanwhile. Ends the reply where it is enough."""
        loaded = self._ready()
        generation = self._generation(loaded, request, stop_event, enough)
        held: list[LLMEvent] = []
        try:
            for event in generation.run():
                if generation.doubtful:
                    held.append(event)
                else:
                    yield event
            if generation.declined or _misses(held, request):
                request = for_words(request)
                generation = self._generation(loaded, request, stop_event, enough, after=generation.opening)
                held = list[LLMEvent]()
                yield from read_reply(generation.run(), request, enough)
            yield from held if _is_whole(held) else held[-1:]
        finally:
            self._stats = replace(self._stats, **generation.figures())

    def _generation(
        self,
        loaded: _Loaded,
        request: LLMRequest,
        stop_event: threading.Event,
        enough: threading.Event,
        *,
        after: Opening | None = None,
    ) -> Generation:
        """One reply, not begun yet.

        Args:
            after: The beginning of a reply to the same request that was left, for this one to be in words.
        """
        prompt = loaded.prompter.make(request)
        reply_tokens = max(1, request.max_tokens)
        check_length(len(prompt.ids), reply_tokens, self.context_window, f"the context window of {self.context_window}")
        may_decline = len(prompt.ids) + reply_tokens + _HINT_TOKENS <= self.context_window
        if after is None:
            opening = self._opening(loaded, request, may_doubt=may_decline)
        else:
            opening = Opening(loaded.openers, after.threshold, may_call=False, probability=after.probability)
        return Generation(
            engine=loaded.engine,
            prompter=loaded.prompter,
            prefixes=loaded.prefixes,
            prompt=prompt,
            marks=loaded.marker.find(request, prompt),
            gate=StreamGate(
                None if request.tool_choice == "none" else self._format, thinking=ends_in_thinking(prompt.text)
            ),
            max_tokens=reply_tokens,
            temperature=self._temperature if request.temperature is None else request.temperature,
            seed=secrets.randbits(32) if self._seed is None else self._seed,
            opening=opening,
            constraint=loaded.plans.constraint(request, may_think=wants_thinking(request)),
            untagged=loaded.plans.untagged(request),
            stopped=lambda: stop_event.is_set() or self._closed.is_set(),
            enough=enough.is_set,
            may_decline=may_decline,
        )

    def _opening(self, loaded: _Loaded, request: LLMRequest, *, may_doubt: bool) -> Opening | None:
        """The gate on the first token; None where the model has no choice, or may do as it likes and nothing is run."""
        limit = call_threshold(self._call_gate, request)
        if free_to_call(request):
            doubts = may_doubt and not answers_result(request)
            reading = reading_threshold(self._call_gate, request) if doubts else limit
            readers = frozenset(tool.name for tool in only_read(request.tools))
            tagged = tagged_threshold(self._call_gate, request)
            return Opening(
                loaded.openers,
                limit,
                reading=reading,
                readers=readers,
                tagged=tagged,
                asks_for_words=self._retells and may_doubt and retold(request.messages) is not request.messages,
            )
        talks = bool(request.tools) and request.tool_choice == "none" and request.response_schema is None
        return Opening(loaded.openers, limit, may_call=False) if talks and limit else None

    def _prompter(self, engine: Engine) -> Prompter:
        calls = self._format
        vocabulary = TokenVocabulary(engine.vocab, shown=(*(calls.markers if calls else ()), *THINKING_MARKERS))
        bos, eos = (self.header.metadata.get(f"tokenizer.ggml.{which}_token_id") for which in ("bos", "eos"))
        adapter = Adapter(self._quirks, _WRITERS.get(calls.name if calls else "", write_hermes))
        return Prompter(
            self._template,
            vocabulary,
            adapter,
            bos=vocabulary.text_of(bos),
            eos=vocabulary.text_of(eos),
            retells=self._retells,
        )

    def _prefixes(self, engine: Engine) -> Prefixes:
        settings = self._settings
        files = None
        if settings.prefix_file:
            identity = fingerprint(self.path) | engine.identity
            folder = Path(platformdirs.user_cache_dir("edgeagent")) / "prefixes"
            files = PrefixFiles(folder, identity, worth_s=settings.prefix_file_after_s)
        return Prefixes(engine, engine.chosen.prefix_memory_bytes, files)

    def _free(self) -> None:
        with self._guard:
            if self._loaded is not None:
                self._loaded.prefixes.close()
                self._loaded.plans.close()
            self._loaded = None
            if self._finalizer is not None:
                self._finalizer()
                self._finalizer = None

    def _ready(self) -> _Loaded:
        with self._guard:
            if self._closed.is_set():
                raise ModelError(f"the model {self.name} was closed: make a new LlamaLLM")
            if self._loaded is None:
                engine = Engine(self.header, self.context_window, self._settings)
                self._finalizer = weakref.finalize(self, engine.free)
                self._finalizer.atexit = False  # a daemon thread may still be inside llama.cpp then
                prompter = self._prompter(engine)
                self._loaded = _Loaded(
                    engine,
                    prompter,
                    self._prefixes(engine),
                    Marker(prompter, history=not engine.can_roll_back),
                    Plans(
                        prompter.vocabulary,
                        self._format,
                        constrain=self._constrain_tools,
                        force_arguments=self._force_arguments,
                    ),
                    Openers(prompter.vocabulary, self._format),
                )
                self._stats = replace(
                    self._stats,
                    load_s=engine.load_s,
                    threads=engine.chosen.threads,
                    chunk_tokens=engine.chunk_tokens,
                    chosen=engine.chosen,
                )
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Parts that exist only once the weights are loaded."""

    engine: Engine
    prompter: Prompter
    prefixes: Prefixes
    marker: Marker
    plans: Plans
    openers: Openers


_WRITERS: Final = {"granite": write_granite, "pythonic": write_pythonic}


def _window(header: Header, asked: int | None) -> int:
    """Choose the number of tokens that the context gets.

    Raises:
        ModelError: The model was trained for less, or it is less than a conversation needs.
        ConfigError: It is no number.
    """
    if asked is not None and type(asked) is not int:
        raise ConfigError(f"context_window must be a whole number of tokens, not {asked!r}")
    trained = header.trained_tokens
    if trained is not None and trained < MIN_CONTEXT_TOKENS:
        raise ModelError(
            f"{header.path} was trained for a context of {trained} tokens, and edgeagent needs at least "
            f"{MIN_CONTEXT_TOKENS}: choose another model"
        )
    if asked is None:
        return min(DEFAULT_CONTEXT_TOKENS, trained or DEFAULT_CONTEXT_TOKENS)
    if asked < MIN_CONTEXT_TOKENS:
        raise ModelError(
            f"a context window of {asked} tokens is too small: edgeagent needs at least {MIN_CONTEXT_TOKENS}"
        )
    if trained is not None and asked > trained:
        raise ModelError(
            f"a context window of {asked} tokens was asked for, and {header.path} was trained for {trained}: "
            f"ask for at most {trained}"
        )
    return asked


def _is_whole(held: Sequence[LLMEvent]) -> bool:
    """True if a doubtful reply was written to its end; of another nobody knows what it would have come to."""
    return bool(held) and isinstance(held[-1], End) and held[-1].stop_reason != "aborted"


def _misses(held: Sequence[LLMEvent], request: LLMRequest) -> bool:
    """True if a doubtful reply came to something else than calls of tools that only read."""
    if not _is_whole(held):
        return False
    *_, end = read_reply(held, replace(request, tools=only_read(request.tools)))
    return isinstance(end, End) and (end.hidden is None or end.hidden.outcome not in ("called", "misfit"))
