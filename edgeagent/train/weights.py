"""Weights of nano between its GGUF and PyTorch, both ways, with everything else in the file kept as it was.

Queries and keys stay as they are: the model rotates neighbouring pairs, as llama.cpp does for this architecture, so the
permutation of other converters is not needed. Needs the extra ``train``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np
import torch

from edgeagent.errors import ModelError
from edgeagent.resources import whole_file
from edgeagent.train.nano import Shape

Arrays = Mapping[str, "np.ndarray[Any, Any]"]

_ARCHITECTURE: Final = "llama"
_BLOCK_NAMES: Final = {
    "attn_norm.weight": gguf.MODEL_TENSOR.ATTN_NORM,
    "ffn_norm.weight": gguf.MODEL_TENSOR.FFN_NORM,
    "q.weight": gguf.MODEL_TENSOR.ATTN_Q,
    "k.weight": gguf.MODEL_TENSOR.ATTN_K,
    "v.weight": gguf.MODEL_TENSOR.ATTN_V,
    "o.weight": gguf.MODEL_TENSOR.ATTN_OUT,
    "gate.weight": gguf.MODEL_TENSOR.FFN_GATE,
    "up.weight": gguf.MODEL_TENSOR.FFN_UP,
    "down.weight": gguf.MODEL_TENSOR.FFN_DOWN,
}
_ADDED_BY_WRITER: Final = ("GGUF.", f"{gguf.Keys.General.ARCHITECTURE}")


@dataclass(frozen=True, slots=True)
class Weights:
    """A model as its file has it: the sizes and the parameters by the names of ``Nano``."""

    shape: Shape
    state: dict[str, torch.Tensor]


def tensor_name(name: str) -> str:
    """Translates the name of a parameter of ``Nano`` into llama.cpp's."""
    if name == "embedding.weight":
        return f"{gguf.TENSOR_NAMES[gguf.MODEL_TENSOR.TOKEN_EMBD]}.weight"
    if name == "norm.weight":
        return f"{gguf.TENSOR_NAMES[gguf.MODEL_TENSOR.OUTPUT_NORM]}.weight"
    _, block, rest = name.split(".", 2)
    return f"{gguf.TENSOR_NAMES[_BLOCK_NAMES[rest]].format(bid=int(block))}.weight"


def read_weights(path: Path) -> Weights:
    """Reads the weights of a model of nano's kind; quantised ones become float32.

    Raises:
        ModelError: The file is of another architecture, or of a shape that ``Nano`` has not.
    """
    reader = gguf.GGUFReader(path)
    shape = _shape(path, reader)
    found = {tensor.name: tensor for tensor in reader.tensors}
    names = ["embedding.weight", "norm.weight"]
    names += [f"blocks.{block}.{rest}" for block in range(shape.layers) for rest in _BLOCK_NAMES]
    wanted = {tensor_name(name): name for name in names}
    if found.keys() != wanted.keys():
        raise ModelError(f"{path} has other tensors than nano, so it can't be trained here")
    state = {
        name: torch.from_numpy(np.array(gguf.quants.dequantize(found[theirs].data, found[theirs].tensor_type)))
        for theirs, name in wanted.items()
    }
    return Weights(shape, state)


def retrained(base: Path, state: Mapping[str, torch.Tensor], out: Path, *, description: str) -> None:
    """Writes a model with the vocabulary, the template and the settings of another one, and weights of its own.

    The file is whole or not there. Matrices keep the type that they have in ``base``.

    Args:
        base: The model that was trained further.
        state: The new weights by the names of ``Nano``.
        description: Goes into the header, for people.
    """
    reader = gguf.GGUFReader(base)
    kinds = {tensor.name: tensor.tensor_type for tensor in reader.tensors}

    def settings(writer: gguf.GGUFWriter) -> None:
        for field in reader.fields.values():
            if field.name.startswith(_ADDED_BY_WRITER) or field.name == gguf.Keys.General.DESCRIPTION:
                continue
            kind = field.types[0]
            item = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), kind, sub_type=item)
        writer.add_description(description)

    arrays = {name: tensor.detach().to(torch.float32).numpy() for name, tensor in state.items()}
    write_gguf(out, settings, arrays, kinds.__getitem__)


def write_gguf(
    out: Path,
    settings: Callable[[gguf.GGUFWriter], None],
    arrays: Arrays,
    kind_of: Callable[[str], gguf.GGMLQuantizationType],
) -> None:
    """Writes a model file whole or not at all.

    Args:
        settings: Adds the header's keys.
        arrays: Float32 weights by the names of ``Nano``.
        kind_of: The type in which a tensor is stored, by llama.cpp's name.
    """
    with whole_file(out) as file:
        writer = gguf.GGUFWriter(file, _ARCHITECTURE)
        settings(writer)
        for name, data in arrays.items():
            theirs = tensor_name(name)
            kind = kind_of(theirs)
            if kind == gguf.GGMLQuantizationType.F32:
                writer.add_tensor(theirs, np.ascontiguousarray(data))
            else:
                writer.add_tensor(theirs, gguf.quants.quantize(data, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def _shape(path: Path, reader: gguf.GGUFReader) -> Shape:
    def value(key: str) -> Any:
        field = reader.fields.get(key.replace("{arch}", _ARCHITECTURE))
        return None if field is None else field.contents()

    keys = gguf.Keys
    heads, width = value(keys.Attention.HEAD_COUNT), value(keys.LLM.EMBEDDING_LENGTH)
    plain = (
        value(keys.General.ARCHITECTURE) == _ARCHITECTURE
        and value(keys.Attention.HEAD_COUNT_KV) == heads
        and bool(heads)
        and value(keys.Rope.DIMENSION_COUNT) == width // heads
        and value(keys.Rope.SCALING_TYPE) is None
    )
    if not plain:
        raise ModelError(f"{path} is no model of nano's shape; only nano, and what was trained from it, can be trained")
    tokens = reader.fields[keys.Tokenizer.LIST]
    return Shape(
        vocabulary=len(tokens.data),
        width=width,
        layers=value(keys.LLM.BLOCK_COUNT),
        heads=heads,
        hidden=value(keys.LLM.FEED_FORWARD_LENGTH),
        window=value(keys.LLM.CONTEXT_LENGTH),
        rope_base=value(keys.Rope.FREQ_BASE),
        epsilon=float(str(np.float32(value(keys.Attention.LAYERNORM_RMS_EPS)))),  # as it was before it became float32
    )
