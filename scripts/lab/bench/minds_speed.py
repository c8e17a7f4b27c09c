"""What a model costs on this machine: memory, generation beside bare llama_decode, first token, abort.

A process of its own: ``python -m bench.minds_speed MODEL`` prints one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
import time
from threading import Event
from typing import Any, Final

from bench.engine import StopsAt, prompt
from bench.minds_cases import app_file, cases
from bench.model import load, speeds

from edgeagent import LlamaLLM, Message
from edgeagent.app import AppFile
from edgeagent.llm import EngineSettings, LLMRequest
from edgeagent.testing import ScriptedLLM

_ROUNDS: Final = 2
_STOPS: Final = 3
_LONG_TOKENS: Final = 1000
"""A prompt that takes long enough to be stopped."""
_PART: Final = (0.2, 0.8)
"""The stop comes in this part of its evaluation."""


def figures(model: str) -> dict[str, Any]:
    """The figures by name. Times in seconds."""
    llm = LlamaLLM(model)
    _, _, resident = load(llm.path)
    case = cases()[0]
    agent = AppFile.load(app_file(case.robot)).agent(lambda: ScriptedLLM("hello"))
    ours, bare = speeds(llm, list(agent.tools), _ROUNDS)["generation"]
    llm.close()
    cold_s, warm_s = _first_token_s(model, agent.instructions or "", list(agent.tools))
    return {
        "bytes": llm.path.stat().st_size,
        "resident_bytes": resident,
        "tokens_per_s": ours,
        "bare_tokens_per_s": bare,
        "cold_s": cold_s,
        "warm_s": warm_s,
        "abort_s": _abort_s(model),
    }


def _first_token_s(model: str, system: str, tools: list[Any]) -> tuple[float, float]:
    """Seconds to the first token with nothing evaluated, and with system prompt and tools evaluated before."""
    llm = LlamaLLM(model, settings=EngineSettings(prefix_file=False))
    llm.load()
    took: list[float] = []
    for said in ("What can you do for me?", "Please begin with the first thing.", "And now with the second."):
        request = LLMRequest(system=system, messages=[Message.user(said)], tools=tools, max_tokens=1)
        begun_s = time.perf_counter()
        llm.complete(request, Event())
        took.append(time.perf_counter() - begun_s)
    llm.close()
    return took[0], min(took[1:])


def _abort_s(model: str) -> float:
    """Seconds from a stop to the end of the stream, in the middle of a prompt: the worst of a few."""
    llm = LlamaLLM(model, settings=EngineSettings(prefix_file=False, prefix_memory_mb=0))
    llm.load()
    whole = prompt(llm, 0, _LONG_TOKENS)
    begun_s = time.perf_counter()
    llm.complete(whole, Event())
    whole_s = time.perf_counter() - begun_s
    rng = random.Random(1)
    took: list[float] = []
    for seed in range(1, _STOPS + 1):
        request = prompt(llm, seed, _LONG_TOKENS)
        stop = StopsAt(rng.uniform(*_PART) * whole_s)
        llm.complete(request, stop)
        took.append(time.perf_counter() - stop.when)
    llm.close()
    return max(took)


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1])))
