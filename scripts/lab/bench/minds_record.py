"""Records the first replies of real models, as they are: greedy, no grammar, no gate, nothing read from them.

``scripts/bench minds --record`` writes ``tests/fixtures/replies``, one file a model. Only the open half of the cases is
recorded, so that nobody tunes on the other.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from bench.minds_cases import Case, app_file, cases, robots

from edgeagent import Agent, LlamaLLM, Message
from edgeagent.app import AppFile
from edgeagent.llm import (
    FORMATS,
    THINKING_MARKERS,
    Engine,
    EngineSettings,
    LLMRequest,
    TokenVocabulary,
    common_prefix,
    repeats,
)
from edgeagent.testing import ScriptedLLM

FOLDER: Final = Path(__file__).resolve().parents[3] / "tests" / "fixtures" / "replies"

_MAX_TOKENS: Final = 256
"""The limit of a reply, as ``Options.max_tokens`` has it."""
_FIRST: Final = 8
"""First tokens that are recorded with their probability."""
_WORTH: Final = 0.001
"""Probability below which a first token is left out."""


def record(model: str | Path, name: str, folder: Path = FOLDER) -> None:
    """Writes a model's replies to the open cases."""
    open_cases = [case for case in cases() if not case.apart]
    agents = {robot: AppFile.load(app_file(robot)).agent(lambda: ScriptedLLM("hello")) for robot in robots()}
    folder.mkdir(parents=True, exist_ok=True)
    llm = LlamaLLM(model)
    prompts = [llm.tokenize(_request(agents[case.robot], case)) for case in open_cases]
    llm.close()
    _write(folder / f"{name}.json", _replies(llm, open_cases, prompts))


def _request(agent: Agent, case: Case) -> LLMRequest:
    """The first request of a run, as the loop makes it."""
    return LLMRequest(system=agent.instructions, messages=[Message.user(case.said)], tools=list(agent.tools))


def _replies(llm: LlamaLLM, asked: Sequence[Case], prompts: Sequence[list[int]]) -> Iterator[dict[str, Any]]:
    engine = Engine(llm.header, llm.context_window, EngineSettings())
    shown = (marker for known in FORMATS for marker in known.markers)
    vocabulary = TokenVocabulary(engine.vocab, shown=(*shown, *THINKING_MARKERS))
    try:
        for case, ids in zip(asked, prompts, strict=True):
            engine.cut(min(common_prefix(engine.evaluated, ids), len(ids) - 1))
            engine.prefill(ids, lambda: False)
            first = _first(engine, vocabulary)
            yield {
                "case": case.name,
                "robot": case.robot,
                "kind": case.kind,
                "said": case.said,
                "right": case.right,
                "raw": _greedy(engine, vocabulary),
                "first": first,
            }
    finally:
        engine.free()


def _first(engine: Engine, vocabulary: TokenVocabulary) -> list[tuple[str, float]]:
    """The likeliest first tokens, with the probability that the model gives them."""
    logits = engine.logits.astype(np.float64)
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    best = np.argsort(-chances)[:_FIRST]
    return [
        (vocabulary.piece(int(token)).decode("utf-8", errors="replace"), round(float(chances[token]), 4))
        for token in best
        if chances[token] >= _WORTH
    ]


def _greedy(engine: Engine, vocabulary: TokenVocabulary) -> str:
    """The reply to its end, or to where the engine cuts a model that repeats itself."""
    engine.begin(0.0, 0)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pieces: list[str] = []
    sampled: list[int] = []
    while len(sampled) < _MAX_TOKENS and not repeats(sampled):
        token = engine.sample()
        if vocabulary.is_end(token):
            break
        sampled.append(token)
        pieces.append(decoder.decode(vocabulary.piece(token)))
        engine.decode([token])
    return "".join([*pieces, decoder.decode(b"", final=True)])


def _write(path: Path, records: Iterator[dict[str, Any]]) -> None:
    """Writes a list of JSON objects as they come, one a line, so that a change shows in a comparison."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for number, one in enumerate(records):
            file.write(f"{',' if number else '['}\n{json.dumps(one, ensure_ascii=False)}")
            file.flush()
        file.write("\n]\n")
    part.replace(path)
