"""What the product adds to a bare llama.cpp: the same file, prompts and number of threads, in one process, in turn.

The bare loop is what a C program would do: the prompt in chunks of 512, then greedy sampler and ``llama_decode``, token
by token. The product's side is ``LlamaLLM.stream`` as an agent uses it, with its template, gate and stop checks.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any, Final

import llama_cpp

from edgeagent import LlamaLLM, Message, ToolResult
from edgeagent.app import INSTRUCTIONS
from edgeagent.house import HouseRobot
from edgeagent.llm import EngineSettings, LLMRequest, ToolSpec, native

_ROUNDS: Final = 20
_TOKENS: Final = 128
_FRESH: Final = 16  # what two prompts that begin with another number may still have in common
_BARE_BATCH: Final = 512
_COMMANDS: Final = (
    "drive forward two meters and turn left ninety degrees, then go to the kitchen and pick up the cup",
    "turn on the light in the bedroom, pick up the red cube and put it on the desk",
    "set a timer for five minutes, look left, then look right, and tell me the time",
)
_CHILD: Final = """
import sys, threading, time
from edgeagent import LlamaLLM, Message
from edgeagent.llm import LLMRequest, native
native.library()
before = native.resident_bytes()
begun = time.perf_counter()
llm = LlamaLLM(sys.argv[1])
llm.load()
loaded = time.perf_counter() - begun
llm.complete(LLMRequest(messages=[Message.user("hello")], max_tokens=8), threading.Event())
print(loaded, native.resident_bytes() - before, native.resident_bytes())
"""


class Stopwatch(Event):
    """A stop event that nobody sets; it notes when it is looked at: before each chunk and each token."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[float] = []

    def is_set(self) -> bool:
        self.looks.append(time.perf_counter())
        return False


class BareLoop:
    """llama.cpp without anything around it."""

    def __init__(self, path: Path, context_tokens: int, threads: int) -> None:
        model_params = llama_cpp.llama_model_default_params()
        model_params.use_extra_bufts = not native.has_amx()
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), model_params)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = context_tokens
        params.n_batch = params.n_ubatch = _BARE_BATCH
        params.n_threads = params.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._sampler: Any = llama_cpp.llama_sampler_init_greedy()

    def run(self, ids: list[int], count: int) -> tuple[float, float, list[int]]:
        """Seconds for the prompt, seconds for ``count`` tokens, and these."""
        llama_cpp.llama_memory_clear(self._memory, True)
        begun = time.perf_counter()
        for at in range(0, len(ids), _BARE_BATCH):
            self._decode(ids[at : at + _BARE_BATCH])
        evaluated = time.perf_counter()
        tokens: list[int] = []
        while len(tokens) < count:
            if tokens:
                self._decode(tokens[-1:])
            tokens.append(llama_cpp.llama_sampler_sample(self._sampler, self._context, -1))
        return evaluated - begun, time.perf_counter() - evaluated, tokens

    def close(self) -> None:
        """Frees everything."""
        llama_cpp.llama_sampler_free(self._sampler)
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    def _decode(self, ids: list[int]) -> None:
        array = (llama_cpp.llama_token * len(ids))(*ids)  # the batch only points to it
        if llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(ids))) != 0:
            raise RuntimeError("llama_decode failed")


def stream(llm: LlamaLLM, request: LLMRequest) -> tuple[float, float]:
    """Seconds until the first token is sampled from a prompt, and from there to the end of the reply."""
    watch = Stopwatch()
    begun = time.perf_counter()
    for _ in llm.stream(request, watch):
        pass
    ended = time.perf_counter()
    stats = llm.stats
    first = watch.looks[-stats.output_tokens - (1 if stats.output_tokens < request.max_tokens else 0)]
    return first - begun, ended - first


def speeds(llm: LlamaLLM, tools: list[ToolSpec], rounds: int = _ROUNDS) -> dict[str, tuple[float, float]]:
    """Tokens per second of the product and of the bare loop, for the prompt and for generation.

    Each command counts with its fastest round: what another program takes from the machine is not the product's cost.
    """
    # Without a gate nothing is asked twice: the figures of a second try would be those of half a reply.
    llm = LlamaLLM(llm.path, call_gate=0.0, settings=EngineSettings(prefix_memory_mb=0, prefix_file=False))
    llm.load()
    bare = BareLoop(llm.path, llm.context_window, llm.stats.threads)
    fastest: dict[tuple[str, str, str], float] = {}
    tokens: dict[tuple[str, str], int] = {}
    for i in range(rounds * len(_COMMANDS)):
        command = _COMMANDS[i % len(_COMMANDS)]
        # The number in front makes every prompt new from its beginning, and a model that keeps no prefixes reuses none.
        request = LLMRequest(
            system=f"{i % 2}. {INSTRUCTIONS}", messages=[Message.user(command)], tools=tools, max_tokens=_TOKENS
        )
        ids = llm.tokenize(request)
        ours = stream(llm, request)
        stats = llm.stats
        evaluated = stats.output_tokens + (1 if stats.output_tokens < _TOKENS else 0)  # and the end of the turn
        theirs = bare.run(ids, evaluated)
        for side, seconds in (("ours", ours), ("bare", theirs[:2])):
            for what, took in zip(("prompt", "generation"), seconds, strict=True):
                key = (side, what, command)
                fastest[key] = min(took, fastest.get(key, took))
        tokens["prompt", command] = len(ids)
        tokens["generation", command] = evaluated
        if stats.reused_tokens > _FRESH:
            raise RuntimeError(f"{stats.reused_tokens} tokens were reused, so this compares nothing")
    bare.close()
    llm.close()

    def speed(side: str, what: str) -> float:
        took = sum(seconds for (s, w, _), seconds in fastest.items() if (s, w) == (side, what))
        return sum(count for (w, _), count in tokens.items() if w == what) / took

    return {what: (speed("ours", what), speed("bare", what)) for what in ("prompt", "generation")}


def ratio(pair: tuple[float, float]) -> str:
    """The product's speed over the bare loop's, with both."""
    ours, theirs = pair
    return f"{ours / theirs:.2f}  ({ours:,.0f} : {theirs:,.0f} tokens/s)"


def beyond_the_new(llm: LlamaLLM, tools: list[ToolSpec]) -> int:
    """Tokens that later turns of one conversation evaluate beyond those that are new: the most of any of its turns."""
    history: list[Message] = []
    known = most = 0
    for command in _COMMANDS:
        history.append(Message.user(command))
        for _ in range(2):  # the command, and what the model says to its results
            reply = llm.complete(LLMRequest(system=INSTRUCTIONS, messages=history, tools=tools), Event())
            stats = llm.stats
            most = max(most, stats.evaluated_tokens - (stats.prompt_tokens - known)) if known else 0
            known = stats.prompt_tokens + stats.output_tokens
            history.append(reply)
            if not reply.tool_calls:
                break
            history += [Message.tool(ToolResult(call.id, call.name, "ok", "done")) for call in reply.tool_calls]
    return most


def load(path: Path) -> tuple[float, int, int]:
    """Seconds to load, bytes of memory that the model adds, and bytes of the whole process, in a fresh process."""
    output = subprocess.check_output([sys.executable, "-c", _CHILD, str(path)], text=True)
    seconds, added, resident = output.split()
    return float(seconds), int(added), int(resident)


def rows(model: str = "nano") -> list[tuple[str, str, str]]:
    """Name, figure and target of each measurement."""
    llm = LlamaLLM(model)
    tools: list[ToolSpec] = list(HouseRobot().tools)
    load_s, added, resident = load(llm.path)
    found = speeds(llm, tools)
    beyond = beyond_the_new(llm, tools)
    stats = llm.stats
    llm.close()
    return [
        (f"{llm.name}: load", f"{load_s * 1e3:.0f} ms", ""),
        (f"{llm.name}: memory", f"{added / 1e6:.0f} MB for the model, {resident / 1e6:.0f} MB resident in all", ""),
        (f"prompt : bare llama_decode ({stats.threads} threads)", ratio(found["prompt"]), ">= 0.8"),
        ("generation : bare llama_decode", ratio(found["generation"]), ">= 0.9"),
        ("second turn, tokens beyond the new ones", f"{beyond}", "<= 16"),
    ]
