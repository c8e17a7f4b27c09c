"""What a grammar costs a token at a vocabulary of 152k, where the model agrees with it and where it never does.

A string may be nearly anything, so random weights agree; names and numbers of a call they never do, and every token is
sampled again. Beside it stands llama-cpp-python's own way, which masks the whole vocabulary first.
"""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from typing import Any, Final

import llama_cpp
from bench.highlevel import opened

from edgeagent import LlamaLLM, Message
from edgeagent.house import HouseRobot
from edgeagent.llm import EngineSettings, LLMRequest, Rules, expression

_TOKENS: Final = 48
_ROUNDS: Final = 2
_TEXT: Final = {"type": "string"}


def rows(path: Path) -> list[tuple[str, str, str]]:
    """Name, figure and target of each measurement."""
    llm = LlamaLLM(path, settings=EngineSettings(prefix_file=False), temperature=1.0)
    llm.load()
    tools = list(HouseRobot().tools)

    def token_s(**options: Any) -> float:
        """Seconds a token, the fastest of some rounds."""
        took = []
        for i in range(_ROUNDS):
            request = LLMRequest(messages=[Message.user(f"Go on {i}.")], max_tokens=_TOKENS, **options)
            llm.complete(request, Event())
            took.append(llm.stats.generation_s / llm.stats.output_tokens)
        return min(took)

    free, agreed = token_s(), token_s(response_schema=_TEXT)
    refused = token_s(tools=tools, tool_choice="required")
    llm.close()
    theirs = opened(path)
    rules = Rules()
    grammar = llama_cpp.LlamaGrammar.from_string(rules.text(expression(rules, _TEXT)), verbose=False)

    def their_token_s(grammar: Any) -> float:
        took = []
        for i in range(_ROUNDS):
            times = [
                time.perf_counter()
                for _ in theirs.create_completion(
                    f"Go on {i}.", max_tokens=_TOKENS, stream=True, grammar=grammar, temperature=1.0, seed=1
                )
            ]
            took.append((times[-1] - times[0]) / max(1, len(times) - 1))
        return min(took)

    their_free, their_grammar = their_token_s(None), their_token_s(grammar)
    theirs.close()
    return [
        (
            "a token under a grammar : free",
            f"{agreed / free:.2f}  ({agreed * 1e3:.1f} : {free * 1e3:.1f} ms)",
            "<= 1.15",
        ),
        ("every token refused and sampled again : free", f"{refused / free:.2f}  ({refused * 1e3:.1f} ms)", ""),
        (
            "llama-cpp-python: a token under the same grammar : free",
            f"{their_grammar / their_free:.2f}  ({their_grammar * 1e3:.1f} : {their_free * 1e3:.1f} ms)",
            "",
        ),
    ]
