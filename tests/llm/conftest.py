"""A model of random weights, written by the tests: the Llama architecture, a byte-level vocabulary, ChatML."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from edgeagent.llm import LlamaLLM
from tests.llm.random_models import SMALL, Family, cut, write_random
from tests.llm.scripted_models import write_scripted

Array = np.ndarray[Any, np.dtype[np.float32]]

CHATML = """{%- if tools %}{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n' }}{% endif %}
{{- '<tools>' }}{% for tool in tools %}{{- tool | tojson }}{% endfor %}{{- '</tools><|im_end|>\\n' }}
{%- elif messages and messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}{{- '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}{{- '<|im_start|>assistant\\n' + message.content }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson + '}</tool_call>' }}
{%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}{{- '<|im_start|>tool\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}
"""
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
USER_DEFINED = (
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "ž",
    "\n\n",
)  # the last two as DeepSeek and Gemma do
_MERGES = ("h e", "l l", "he ll", "hell o", "Ġ t", "Ġt h", "Ġth e", "o n", "i n", "i m", "Ġ a")


def _byte_symbols() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes, in byte order."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    symbols = {byte: chr(byte) for byte in plain}
    others = (byte for byte in range(256) if byte not in symbols)
    symbols.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return [symbols[byte] for byte in range(256)]


def write_model(
    path: Path,
    *,
    template: str | None = CHATML,
    architecture: str = "llama",
    trained: int = 4096,
    width: int = 64,
    layers: int = 2,
    seed: int = 1,
    script: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    poisoned: bool = False,
) -> Path:
    """Write a model. Without a script it babbles and never ends its turn.

    With one it is a chain: after the line break that ends the prompt comes the first item, after each item the next,
    and <|im_end|> after the last. An item is a token: a byte as "<0xE2>", a marker, or any text.
    """
    rng = np.random.default_rng(seed)
    symbols = _byte_symbols()
    tokens = [*symbols, *(merge.replace(" ", "") for merge in _MERGES), *CONTROL, *USER_DEFINED]
    types = [gguf.TokenType.NORMAL] * (256 + len(_MERGES))
    types += [gguf.TokenType.CONTROL] * len(CONTROL) + [gguf.TokenType.USER_DEFINED] * len(USER_DEFINED)
    chain = [tokens.index(symbols[ord("\n")])]
    for item in script:
        symbol = symbols[int(item[3:5], 16)] if item.startswith("<0x") else "".join(symbols[b] for b in item.encode())
        if item in CONTROL + USER_DEFINED:
            symbol = item
        if symbol not in tokens:
            tokens.append(symbol)
            types.append(gguf.TokenType.NORMAL)
        chain.append(tokens.index(symbol))
    assert len(set(chain)) == len(chain), "each item of a script may come once"
    chain.append(tokens.index("<|im_end|>"))
    heads = 4
    if script:
        width = -(-len(tokens) // (2 * heads)) * 2 * heads

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("random")
    writer.add_context_length(trained)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(width * 2)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(list(_MERGES))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)
    for key, value in (metadata or {}).items():
        writer.add_key_value(key, value, gguf.GGUFValueType.get_type(value))

    def random(*shape: int) -> Array:
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    mixing = 0.0 if script else 1.0  # a chain looks at the last token alone
    embedding, output = random(len(tokens), width) * 4, random(len(tokens), width) * 3
    output[[tokens.index(text) for text in CONTROL + USER_DEFINED]] = 0  # a logit of 0 is never the largest
    if script:
        embedding, output = np.eye(len(tokens), width, dtype=np.float32), np.zeros_like(output)
        output[chain[1:], chain[:-1]] = 1
    writer.add_tensor("token_embd.weight", embedding)
    for i in range(layers):
        writer.add_tensor(f"blk.{i}.attn_norm.weight", np.ones(width, np.float32))
        writer.add_tensor(f"blk.{i}.ffn_norm.weight", np.ones(width, np.float32))
        for name in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(f"blk.{i}.{name}.weight", random(width, width))
        writer.add_tensor(f"blk.{i}.attn_output.weight", random(width, width) * np.float32(mixing))
        writer.add_tensor(f"blk.{i}.ffn_gate.weight", random(width * 2, width))
        writer.add_tensor(f"blk.{i}.ffn_up.weight", random(width * 2, width))
        writer.add_tensor(f"blk.{i}.ffn_down.weight", random(width, width * 2) * np.float32(mixing))
    writer.add_tensor("output_norm.weight", np.full(width, np.nan if poisoned else 1, np.float32))
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@dataclass(frozen=True)
class Spec:
    """A tool as a model is told of it."""

    name: str = "drive"
    description: str = "Drive straight."
    parameters: dict[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"distance_m": {"type": "number"}},
            "required": ["distance_m"],
        }
    )


@pytest.fixture(scope="session")
def babble_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that says random bytes and never ends its turn."""
    return write_model(tmp_path_factory.mktemp("models") / "babble.gguf")


@pytest.fixture
def babble(babble_file: Path) -> Iterator[LlamaLLM]:
    """That model, loaded for one test."""
    llm = LlamaLLM(babble_file)
    yield llm
    llm.close()


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., LlamaLLM]]:
    """Makes models that say exactly these tokens."""
    made: list[LlamaLLM] = []

    def make(*script: str, **options: Any) -> LlamaLLM:
        file = write_model(
            tmp_path / f"scripted{len(made)}.gguf", script=script, template=options.pop("template", CHATML)
        )
        made.append(LlamaLLM(file, **options))
        return made[-1]

    yield make
    for llm in made:
        llm.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a model file with the options of ``write_model``."""
    return lambda **options: write_model(tmp_path / "written.gguf", **options)


@pytest.fixture(scope="session")
def family_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The model of random weights of a family in ``random_models``, written when it is first asked for."""
    folder = tmp_path_factory.mktemp("families")
    yield cache(lambda family: write_random(folder / f"{family}.gguf", family))
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def cut_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """As ``family_file``, with a vocabulary that was cut: for tests in which its size makes no difference."""
    folder = tmp_path_factory.mktemp("cut")
    yield cache(lambda family: write_random(folder / f"{family}.gguf", cut(family)))
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def scripted_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    """Writes models that say a text with a real vocabulary, each once: the arguments of ``write_scripted`` after the
    path."""
    folder = tmp_path_factory.mktemp("scripted")
    known: dict[Any, Path] = {}

    def write(script: Sequence[str | bytes], family: Family | str = SMALL, *, endless: bool = False) -> Path:
        key = (tuple(script), family, endless)
        if key not in known:
            known[key] = write_scripted(folder / f"{len(known)}.gguf", script, family, endless=endless)
        return known[key]

    yield write
    shutil.rmtree(folder)


@pytest.fixture
def says(scripted_file: Callable[..., Path]) -> Iterator[Callable[..., LlamaLLM]]:
    """Makes models that say a text: the arguments of ``scripted_file``."""
    made: list[LlamaLLM] = []

    def make(*args: Any, **options: Any) -> LlamaLLM:
        made.append(LlamaLLM(scripted_file(*args, **options)))
        return made[-1]

    yield make
    for llm in made:
        llm.close()


@pytest.fixture
def spec() -> type[Spec]:
    """The class of tool descriptions."""
    return Spec
