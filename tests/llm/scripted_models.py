"""Models with real vocabularies that say exactly what a test wants, token for token.

The weights are made by hand, one layer of the Llama architecture. Ten heads look at nothing but the distance and
fetch the codes of the last tokens; the feed-forward layer has a unit for each step of the script, which fires when
these codes are the step's and writes the code of the next token. So a reply depends on its last six tokens: a token may
come as often as it likes, and after words that the script does not have the model ends its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product, takewhile
from pathlib import Path
from typing import Final

import numpy as np

from edgeagent import Message
from edgeagent.llm import Adapter, LLMRequest, Prompter, TokenVocabulary, probe, write_hermes
from tests.llm.architectures import NORM_EPSILON, Shape
from tests.llm.gguf_file import Array, Kind, Tensor, write_gguf
from tests.llm.random_models import FAMILIES, SMALL, Family, header, open_vocabulary
from tests.llm.source import chat_template

CONTEXT: Final = 11
"""Tokens that decide what comes next."""

_CODE: Final = 10  # signs that stand for a token: a script may have 1,024 different ones
_HEAD: Final = 32
_HEADS: Final = CONTEXT - 1
# A token's state: its code, those of the ten before it, the code of the next one, and these two numbers.
_OUT: Final = CONTEXT * _CODE
_ONE: Final = _OUT + _CODE  # 1 for every token
_END: Final = _ONE + 1  # what speaks for the end of the turn
_WIDTH: Final = 128
_FOCUS: Final = 16.0  # leaves e^-30 of a head's attention to the token beside the right one
_ROPE_BASE: Final = 10000.0  # llama.cpp's default
_STEEP: Final = 20.0  # of a unit's threshold
# What a step writes, against an end that always speaks and the token's own code, whose signs weigh 1: two codes may
# differ in one sign only, and the right one must win all the same.
_NEXT_WEIGHT: Final = 64.0
_END_WEIGHT: Final = 12.0

Context = tuple[int, ...]


def write_scripted(
    path: Path, script: Sequence[str | bytes], family: Family | str = SMALL, *, endless: bool = False
) -> Path:
    """Write a model that answers every user with the script.

    Args:
        path: Where to.
        script: Texts and bytes, tokenised one by one, so that a test can say where a token begins. Markers become
            theirs; bytes become byte tokens, be they UTF-8 or not. With an empty script it ends its turn at once.
        family: Whose vocabulary and template it has, or its name in ``FAMILIES``.
        endless: It says the script again and again.

    Raises:
        ValueError: Eleven tokens come twice and go on differently.
        KeyError: The vocabulary has no token for one of the bytes; StarCoder's lacks 0xFF.
    """
    shape = Shape(architecture="llama", layers=1, width=_WIDTH, heads=_HEADS, kv_heads=_HEADS, head=_HEAD)
    chosen = replace(FAMILIES[family] if isinstance(family, str) else family, shape=shape)
    write_gguf(path, header(chosen))  # the vocabulary alone, to tokenise with
    with open_vocabulary(path) as vocabulary:
        size = vocabulary.size
        (end,) = vocabulary.tokenize(chosen.end, markers=True)[-1:]
        ids = [token for part in script for token in _tokens(vocabulary, part)]
        starts = _starts(chosen, vocabulary)
    said = ids * (CONTEXT + 2) if endless else [*ids, end]
    steps = _steps(starts, said)
    weights = _weights(size, end, steps)
    shape = replace(shape, feed_forward=len(weights["blk.0.ffn_gate.weight"]))
    tensors = [
        Tensor(name, value.shape, Kind.F16 if value.dtype == np.float16 else Kind.F32, partial(np.asarray, value))
        for name, value in weights.items()
    ]
    write_gguf(path, header(replace(chosen, shape=shape)), tensors)
    return path


def _tokens(vocabulary: TokenVocabulary, part: str | bytes) -> list[int]:
    if isinstance(part, str):
        return vocabulary.tokenize(part, markers=True)
    ids = {vocabulary.piece(token): token for token in range(vocabulary.size)}
    return [ids[bytes([byte])] for byte in part]


def _starts(family: Family, vocabulary: TokenVocabulary) -> list[Context]:
    """The tokens with which the template asks for a reply, whatever the user said: one such end for each way to ask."""
    template = chat_template(family.template)
    prompter = Prompter(template, vocabulary, Adapter(probe(template), write_hermes), bos="", eos="")
    starts = []
    for thinking in ("off", "high"):
        yes, no = (
            prompter.make(LLMRequest(messages=[Message.user(text)], thinking_level=thinking)).ids
            for text in ("yes", "no")
        )
        backwards = zip(reversed(yes), reversed(no), strict=False)
        common = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], backwards)]
        starts.append(tuple(reversed(common[:CONTEXT])))
    return starts


def _steps(starts: Sequence[Context], said: Sequence[int]) -> dict[Context, int]:
    """What comes after which last tokens."""
    steps: dict[Context, int] = {}
    for start in starts:
        tokens = [*start, *said]
        for at in range(len(start), len(tokens)):
            context = tuple(tokens[max(0, at - CONTEXT) : at])
            if steps.setdefault(context, tokens[at]) != tokens[at]:
                raise ValueError(f"the script goes on in two ways after the tokens {context}")
    for short, long in product(steps, steps):  # a short one is of the script's beginning, and fires there alone
        if long[-len(short) :] == short and steps[long] != steps[short]:
            raise ValueError(f"the script goes on in two ways after the tokens {short}, with which it begins")
    return steps


def _weights(size: int, end: int, steps: dict[Context, int]) -> dict[str, Array]:
    """The tensors by name."""
    known = sorted({token for context in steps for token in context} | set(steps.values()))
    numbers = np.random.default_rng(1).choice(2**_CODE, len(known), replace=False)
    signs = (numbers[:, None] >> np.arange(_CODE) & 1) * 2.0 - 1
    codes = dict(zip(known, signs, strict=True))

    embedding = np.zeros((size, _WIDTH), np.float16)
    embedding[:, _ONE] = 1
    embedding[known, :_CODE] = signs
    embedding[known, _OUT : _OUT + _CODE] = signs
    embedding[known, _END] = -1  # not 0, so that all rows with a code are of one length
    embedding[end, _END] = 1
    length = np.sqrt((embedding[known[0]].astype(np.float32) ** 2).mean() + NORM_EPSILON)

    ones = np.ones(_WIDTH, np.float32)
    return {
        "token_embd.weight": embedding,
        "blk.0.attn_norm.weight": ones,
        **{f"blk.0.{name}": value for name, value in (_attention(length) | _feed_forward(codes, steps)).items()},
        "blk.0.ffn_norm.weight": ones,
        "output_norm.weight": ones,
    }


def _attention(length: float) -> dict[str, Array]:
    """Head h fetches the code of the token h + 1 places back into part h + 1 of the state.

    Queries and keys are constant. Keys have one phase at every frequency, queries that of their distance: turned by
    RoPE, they fit at this distance alone. ``length`` is what the norm before the heads divides by.
    """
    angles = _ROPE_BASE ** (-np.arange(0, _HEAD, 2) / _HEAD)
    queries, keys = np.zeros((2, _HEADS, _HEAD), np.float32)
    values, output = np.zeros((_HEADS * _HEAD, _WIDTH), np.float32), np.zeros((_WIDTH, _HEADS * _HEAD), np.float32)
    keys[:, ::2] = _FOCUS
    for head in range(_HEADS):
        queries[head, ::2] = _FOCUS * np.cos(angles * (head + 1))
        queries[head, 1::2] = -_FOCUS * np.sin(angles * (head + 1))
        for i in range(_CODE):
            values[head * _HEAD + i, i] = length
            output[(head + 1) * _CODE + i, head * _HEAD + i] = 1
    nothing = np.zeros((_HEADS * _HEAD, _WIDTH), np.float32)
    return {
        "attn_q.weight": nothing,
        "attn_q.bias": queries.ravel(),
        "attn_k.weight": nothing,
        "attn_k.bias": keys.ravel(),
        "attn_v.weight": values,
        "attn_output.weight": output,
    }


def _feed_forward(codes: dict[int, Array], steps: dict[Context, int]) -> dict[str, Array]:
    """A unit for each step, and one that always speaks for the end."""
    gate, up = np.zeros((2, len(steps) + 1, _WIDTH), np.float32)
    down = np.zeros((_WIDTH, len(steps) + 1), np.float32)
    up[:, _ONE] = 1
    for unit, (context, following) in enumerate(steps.items()):
        for back, token in enumerate(reversed(context)):
            gate[unit, back * _CODE : (back + 1) * _CODE] = _STEEP * codes[token]
        gate[unit, _ONE] = -_STEEP * (len(context) * _CODE - 1)  # one wrong sign takes two off the sum
        down[_OUT : _OUT + _CODE, unit] = _NEXT_WEIGHT / _STEEP * codes[following]
    gate[-1, _ONE] = _STEEP
    down[_END, -1] = _END_WEIGHT / _STEEP
    return {"ffn_gate.weight": gate, "ffn_up.weight": up, "ffn_down.weight": down}
