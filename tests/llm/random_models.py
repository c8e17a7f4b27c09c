"""Models of random weights with real vocabularies, whole or cut, and real chat templates, one for each family.

What they write means nothing; how they are asked, tokenised, evaluated and stopped is as with the real ones. Their
turns never end by themselves: the tokens that could end one are never the likeliest. ``scripted_models`` has models
that say what a test wants to hear.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal

import gguf
import numpy as np

from edgeagent.llm import TokenVocabulary, native
from tests.llm import architectures
from tests.llm.architectures import Shape
from tests.llm.gguf_file import Array, Kind, Tensor, numbers, packed, read_pairs, texts, write_gguf
from tests.llm.source import template_source, vocabulary_file

Quantised = Literal["Q4_0", "Q8_0"]

_TOKENS: Final = "tokenizer.ggml.tokens"
_TYPES: Final = "tokenizer.ggml.token_type"
_SCORES: Final = "tokenizer.ggml.scores"
_MERGES: Final = "tokenizer.ggml.merges"
_BLANK: Final = "▁".encode()  # SentencePiece's
_PLACEHOLDER: Final = re.compile(rb"\[PAD\d+\]|<\|(?:reserved_special_token_|placeholder)\d+\|>")
_NEVER_SAID: Final = (gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED, gguf.TokenType.UNKNOWN)

# Random layers soon say one word for ever. So the last token counts for more than the context's average, which
# attention adds, and the layers for more than the embedding, which would predict itself where it is the output too.
_EMBEDDING_DEVIATION: Final = 0.05
_ATTENTION_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A chat template with a vocabulary that fits it, and the architecture that such models have.

    Markers that the vocabulary lacks take the places of its reserved tokens, as in the real models, or follow its end.
    """

    vocabulary: str
    template: str
    shape: Shape
    end: str
    """The marker that ends a turn."""
    control: tuple[str, ...] = ()
    """Markers that are control tokens."""
    user_defined: tuple[str, ...] = ()
    """Markers that llama.cpp recognises even in text whose control tokens it must not see."""
    most_tokens: int | None = None
    """Ordinary tokens of the vocabulary that are kept; None keeps all."""


FAMILIES: Final[dict[str, Family]] = {
    "qwen2.5": Family(
        vocabulary="qwen2",
        template="Qwen-Qwen2.5-7B-Instruct",
        shape=Shape(architecture="qwen2"),
        end="<|im_end|>",
        user_defined=("<tool_call>", "</tool_call>"),
    ),
    "qwen3": Family(
        vocabulary="qwen2",
        template="Qwen-Qwen3-0.6B",
        shape=Shape(architecture="qwen3"),
        end="<|im_end|>",
        user_defined=("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
    ),
    "qwen3.5": Family(
        vocabulary="qwen35",
        template="Qwen3.5-4B",
        shape=Shape(architecture="qwen35"),
        end="<|im_end|>",
        user_defined=("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
    ),
    "llama3.2": Family(
        vocabulary="llama-bpe",
        template="meta-llama-Llama-3.2-3B-Instruct",
        shape=Shape(architecture="llama"),
        end="<|eot_id|>",
        control=("<|python_tag|>", "<|eom_id|>"),
    ),
    "gemma4": Family(
        vocabulary="gemma-4",
        template="google-gemma-4-31B-it",
        shape=Shape(architecture="gemma4"),
        end="<turn|>",
    ),
    # The next two have their own vocabularies, which the distribution lacks; this one is of their kind, SentencePiece.
    "gemma2": Family(
        vocabulary="llama-spm",
        template="google-gemma-2-2b-it",
        shape=Shape(architecture="gemma2", tied=True),
        end="<end_of_turn>",
        control=("<start_of_turn>", "<end_of_turn>"),
    ),
    "mistral": Family(
        vocabulary="llama-spm",
        template="mistralai-Mistral-Nemo-Instruct-2407",
        shape=Shape(architecture="llama"),
        end="</s>",
        control=(
            "[INST]",
            "[/INST]",
            "[TOOL_CALLS]",
            "[AVAILABLE_TOOLS]",
            "[/AVAILABLE_TOOLS]",
            "[TOOL_RESULTS]",
            "[/TOOL_RESULTS]",
        ),
    ),
    "phi3": Family(
        vocabulary="phi-3",
        template="microsoft-Phi-3.5-mini-instruct",
        shape=Shape(architecture="phi3"),
        end="<|end|>",
    ),
    # Granite 3 was trained on StarCoder's vocabulary with these markers added; Granite 4 got a larger one.
    "granite3": Family(
        vocabulary="starcoder",
        template="ibm-granite-granite-3.3-2B-Instruct",
        shape=Shape(architecture="granite"),
        end="<|end_of_text|>",
        control=("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"),
    ),
    "granite4": Family(
        vocabulary="starcoder",
        template="ibm-granite-granite-4.0",
        shape=Shape(architecture="granite"),
        end="<|end_of_text|>",
        control=("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>"),
        user_defined=("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
    ),
    # LFM2's vocabulary splits text as Llama 3's does.
    "lfm2": Family(
        vocabulary="llama-bpe",
        template="LFM2.5-8B-A1B",
        shape=Shape(architecture="lfm2", layers=4),
        end="<|im_end|>",
        control=("<|im_start|>", "<|im_end|>", "<|tool_call_start|>", "<|tool_call_end|>"),
        user_defined=("<think>", "</think>"),
    ),
    "mamba": Family(
        vocabulary="gpt-neox",
        template="llama-cpp-rwkv-world",
        shape=Shape(architecture="mamba"),
        end="<|endoftext|>",
    ),
}


def cut(family: str) -> Family:
    """A family with the 4,096 commonest tokens of its vocabulary, and all its letters, bytes and markers.

    A whole vocabulary is most of the work of writing, loading and asking a small model.
    """
    return replace(FAMILIES[family], most_tokens=4096)


SMALL: Final = replace(cut("qwen3"), vocabulary="starcoder", control=("<|im_start|>", "<|im_end|>"))
"""Qwen 3's template on the vocabulary that most tests use."""


def write_random(
    path: Path,
    family: Family | str = "qwen3",
    *,
    quantised: Quantised | None = "Q8_0",
    seed: int = 1,
    poisoned: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model.

    Args:
        path: Where to.
        family: What it looks like, or the name of one of ``FAMILIES``; ``dataclasses.replace`` varies one.
        quantised: Its weights' format; None is 16 bits.
        seed: Another seed says something else.
        poisoned: Every logit is NaN.
        metadata: More keys of the header, or other values for them.
    """
    family = FAMILIES[family] if isinstance(family, str) else family
    pairs = header(family) | {key: packed(value) for key, value in (metadata or {}).items()}
    types = numbers(pairs[_TYPES])
    never_said = np.isin(types, _NEVER_SAID)
    rng = np.random.default_rng(seed)
    tensors = []
    for name, size in architectures.tensors(family.shape, len(types)).items():
        kind = _kind(name, size, getattr(Kind, quantised or "F16"))
        is_output = name == ("token_embd.weight" if family.shape.tied else "output.weight")
        make = partial(_weights, rng, name, size, kind, zero=never_said if is_output else None)
        if poisoned and name in architectures.FINAL_NORMS:
            make = partial(np.full, size, np.nan, np.float32)
        tensors.append(Tensor(name, size, kind, make))
    write_gguf(path, pairs, tensors)
    return path


def half_billion(folder: Path) -> Path:
    """A model of the shape of Qwen 2.5 0.5B in Q4_0, 350 MB, for timing; kept in ``folder`` and written only once."""
    path = folder / "half-billion-q4_0.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shape = Shape(
            architecture="qwen2",
            layers=24,
            width=896,
            heads=14,
            kv_heads=2,
            head=64,
            feed_forward=4864,
            trained_tokens=32768,
            tied=True,
        )
        family = replace(FAMILIES["qwen2.5"], shape=shape)
        unfinished = write_random(folder / f"{path.name}.{os.getpid()}", family, quantised="Q4_0")
        unfinished.replace(path)
    return path


def header(family: Family) -> dict[str, bytes]:
    """The whole header of such a model: its vocabulary with the family's markers, its template, its sizes."""
    pairs = dict(
        _vocabulary_pairs(family.vocabulary, family.control, family.user_defined, family.end, family.most_tokens)
    )
    for key, value in architectures.keys(family.shape).items():
        pairs[key] = packed(value)
    pairs["general.name"] = packed("random")
    pairs["tokenizer.chat_template"] = packed(template_source(family.template))
    return pairs


@contextmanager
def open_vocabulary(path: Path) -> Iterator[TokenVocabulary]:
    """The vocabulary of a model file, without its weights."""
    llama = native.library()
    params = llama.llama_model_default_params()
    params.vocab_only = True
    model = llama.llama_model_load_from_file(os.fsencode(path), params)
    assert model, f"llama.cpp can't load the vocabulary of {path}"
    try:
        yield TokenVocabulary(llama.llama_model_get_vocab(model))
    finally:
        llama.llama_model_free(model)


@cache
def _vocabulary_pairs(
    vocabulary: str, control: tuple[str, ...], user_defined: tuple[str, ...], end: str, most_tokens: int | None
) -> dict[str, bytes]:
    pairs = dict(_real_pairs(vocabulary, most_tokens))
    tokens = texts(pairs[_TOKENS])
    types = list(numbers(pairs[_TYPES]))
    free = (i for i, token in enumerate(tokens) if _PLACEHOLDER.fullmatch(token))
    place = {token: i for i, token in enumerate(tokens)}
    kinds = dict.fromkeys(control, gguf.TokenType.CONTROL)
    kinds |= dict.fromkeys(user_defined, gguf.TokenType.USER_DEFINED)
    for marker, kind in kinds.items():
        text = marker.encode()
        at = place[text] if text in place else next(free, len(tokens))
        if at == len(tokens):
            tokens.append(text)
            types.append(kind)
        tokens[at], types[at], place[text] = text, kind, at
    pairs[_TOKENS] = packed(tokens)
    pairs[_TYPES] = packed(np.array(types, np.int32))
    if _SCORES in pairs:
        scores = numbers(pairs[_SCORES])
        pairs[_SCORES] = packed(np.append(scores, np.zeros(len(tokens) - len(scores), np.float32)))
    pairs["tokenizer.ggml.eos_token_id"] = packed(place[end.encode()])
    return pairs


@cache
def _real_pairs(vocabulary: str, most_tokens: int | None) -> dict[str, bytes]:
    """The keys of a real vocabulary, or of its first ordinary tokens, which are the commonest."""
    pairs = {
        key: value
        for key, value in read_pairs(vocabulary_file(vocabulary)).items()
        if key.startswith("tokenizer.ggml.")
    }
    if most_tokens is None:
        return pairs
    tokens, types = texts(pairs[_TOKENS]), numbers(pairs[_TYPES])
    ordinary = types == gguf.TokenType.NORMAL
    letters = np.array([len(token) == 1 or token == _BLANK for token in tokens])  # they stand last in some
    kept = np.flatnonzero(~ordinary | letters | (np.cumsum(ordinary) <= most_tokens))
    left = {tokens[i] for i in kept}

    def is_left(merge: bytes) -> bool:
        one, _, other = merge.partition(b" ")
        return one in left and other in left and one + other in left

    pairs[_TOKENS] = packed([tokens[i] for i in kept])
    pairs[_TYPES] = packed(types[kept])
    if _SCORES in pairs:
        pairs[_SCORES] = packed(numbers(pairs[_SCORES])[kept])
    if _MERGES in pairs:
        pairs[_MERGES] = packed([merge for merge in texts(pairs[_MERGES]) if is_left(merge)])
    for key in [key for key in pairs if key.endswith("_token_id")]:
        _, token = struct.unpack("<II", pairs[key])
        pairs[key] = packed(int(np.searchsorted(kept, token)))
    return pairs


def _kind(name: str, size: tuple[int, ...], wanted: Kind) -> Kind:
    """The format of one tensor, as llama.cpp's own quantiser would choose it."""
    if len(size) == 1 or size[1] % 32 or name.endswith("ssm_a"):
        return Kind.F32
    if wanted == Kind.Q4_0 and name in ("token_embd.weight", "output.weight"):
        return Kind.Q8_0
    return wanted


def _weights(rng: np.random.Generator, name: str, size: tuple[int, ...], kind: Kind, *, zero: Array | None) -> Array:
    """The data of one tensor. Rows of ``zero`` are 0, and so are their logits, which is never the largest."""
    if name.endswith("post_attention_norm.weight"):
        return np.full(size, _ATTENTION_SHARE, np.float32)
    if name.endswith(("norm.weight", "rope_freqs.weight", "layer_output_scale.weight", "ssm_d")):
        return np.ones(size, np.float32)
    if name.endswith("ssm_a"):  # the rates at which a state decays
        return -np.broadcast_to(np.arange(1, size[-1] + 1, dtype=np.float32), size)
    deviation = _EMBEDDING_DEVIATION if name == "token_embd.weight" else size[-1] ** -0.5
    if name.endswith("attn_output.weight"):
        deviation *= _ATTENTION_SHARE
    if kind in (Kind.Q4_0, Kind.Q8_0):
        data = _blocks(rng, size, kind, deviation)
    else:
        data = rng.standard_normal(size, np.float32) * np.float32(deviation)
        data = data.astype(np.float16 if kind == Kind.F16 else np.float32)
    if zero is not None:
        data[zero] = 0
    return data


def _blocks(rng: np.random.Generator, size: tuple[int, ...], kind: Kind, deviation: float) -> Array:
    """Quantised weights, shape (rows, bytes of a row): one scale for all blocks, the quants at random.

    The lowest quant has no opposite and becomes 0: with a mean other than 0 the layers would drown the input.
    """
    quants = np.arange(256, dtype=np.uint8)
    if kind == Kind.Q8_0:
        quants[128] = 0  # -128
        values = quants.view(np.int8).astype(float)
    else:
        low, high = quants & np.uint8(15), quants >> np.uint8(4)  # each is a quant and stands for itself less 8
        low[low == 0], high[high == 0] = 8, 8
        quants = low | (high << np.uint8(4))
        values = low - 8.0
    width = gguf.GGML_QUANT_SIZES[kind][1] - 2
    blocks = np.empty((size[0], size[1] // 32), np.dtype([("scale", "<f2"), ("quants", "u1", width)]))
    blocks["scale"] = deviation / values.std()
    random = np.frombuffer(rng.bytes(blocks.size * width), np.uint8)
    blocks["quants"] = quants[random].reshape(*blocks.shape, width)
    return blocks.view(np.uint8).reshape(size[0], -1)
