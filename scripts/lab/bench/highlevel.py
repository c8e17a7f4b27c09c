"""The same questions to llama-cpp-python's ``create_chat_completion``, which most programs use."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final
from unittest import mock

import llama_cpp

from edgeagent.llm import default_threads, native

_SYSTEM: Final = "Agent {}. " + "Be kind. " * 300
_TOKENS: Final = 48


def opened(path: Path) -> llama_cpp.Llama:
    """The model in llama-cpp-python's class, with our number of threads."""
    defaults = llama_cpp.llama_model_default_params

    def without_amx() -> Any:
        params = defaults()
        params.use_extra_bufts = not native.has_amx()
        return params

    with mock.patch.object(llama_cpp.llama_cpp, "llama_model_default_params", without_amx):
        return llama_cpp.Llama(str(path), n_ctx=4096, n_threads=default_threads(), verbose=False)


def rows(path: Path) -> list[tuple[str, str, str]]:
    """Name, figure and (no) target of each measurement."""
    llm = opened(path)

    def ask(agent: int, text: str) -> tuple[float, float]:
        """Seconds to the first token, and tokens per second after it."""
        messages: Any = [
            {"role": "system", "content": _SYSTEM.format(agent)},
            {"role": "user", "content": text},
        ]
        begun = time.perf_counter()
        times = [
            time.perf_counter()
            for _ in llm.create_chat_completion(messages, stream=True, temperature=0.0, max_tokens=_TOKENS)
        ]
        return times[1] - begun, (len(times) - 2) / (times[-1] - times[1])

    cold, speed = ask(1, "go to the kitchen")
    again, _ = ask(1, "turn left")
    ask(2, "go to the kitchen")
    back, _ = ask(1, "look right")
    llm.close()
    return [
        ("create_chat_completion: generation", f"{speed:,.0f} tokens/s", ""),
        ("create_chat_completion: first token of a second turn : of the first", f"{again / cold:.3f}", ""),
        ("create_chat_completion: of the way back from another agent", f"{back / cold:.3f}", ""),
        ("create_chat_completion: stop inside the prompt", "not possible", ""),
    ]
