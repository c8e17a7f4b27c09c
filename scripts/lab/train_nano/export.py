"""From a checkpoint to the GGUF that the product loads.

    python export.py --checkpoint runs/nano/final.pt --out models/nano.gguf
    python export.py --checkpoint runs/more/final.pt --average runs/nano/final.pt --share 0.4 --out models/nano.gguf

The matrices are quantised to Q8_0, unless --type says otherwise; the gains stay F32. A training that went on from
another one may be averaged with it: that is often better than both (Wortsman et al. 2022, Model soups).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

import gguf
import torch
from template import END_OF_TEXT, IM_END, SPECIALS, TEMPLATE
from tools import HOUSE_TOOLS, listed

from edgeagent.train import tensor_name, write_gguf


def write_vocabulary(writer: gguf.GGUFWriter, tokenizer: dict[str, Any]) -> None:
    """Tokens, their kinds and the merges, as llama.cpp's byte-level BPE takes them."""
    ids: dict[str, int] = tokenizer["model"]["vocab"]
    ids |= {added["content"]: added["id"] for added in tokenizer["added_tokens"]}
    tokens = sorted(ids, key=ids.__getitem__)
    kinds = [gguf.TokenType.CONTROL if token in SPECIALS else gguf.TokenType.NORMAL for token in tokens]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(ids[END_OF_TEXT])
    writer.add_eos_token_id(ids[IM_END])
    writer.add_eot_token_id(ids[IM_END])
    writer.add_pad_token_id(ids[END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


_TYPES: Final = {
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (gguf.GGMLQuantizationType.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
}


def export(
    checkpoint: Path,
    tokenizer: Path,
    out: Path,
    *,
    average: Path | None = None,
    share: float = 0.5,
    kind: str = "q8_0",
) -> None:
    """Writes the file whole or not at all, and beside it the list of the tools that the model was trained for.

    Args:
        average: Another checkpoint of the same shape and vocabulary, of which the weights are averaged with.
        share: The other checkpoint's, from 0 to 1.
        kind: The type of the matrices, of ``_TYPES``.
    """
    matrix_type, file_type = _TYPES[kind]
    state = torch.load(checkpoint, weights_only=True, map_location="cpu")
    shape = state["shape"]
    weights = {name: tensor.to(torch.float32) for name, tensor in state["model"].items()}
    if average is not None:
        other = torch.load(average, weights_only=True, map_location="cpu")["model"]
        weights = {name: torch.lerp(one, other[name].to(torch.float32), share) for name, one in weights.items()}
    arrays = {name: tensor.numpy() for name, tensor in weights.items()}
    matrices = {tensor_name(name) for name, data in arrays.items() if data.ndim == 2}

    def settings(writer: gguf.GGUFWriter) -> None:
        writer.add_name("edgeagent-nano")
        writer.add_description("Tool calls of edgeagent's house robot; trained from scratch by the edgeagent authors")
        writer.add_license("apache-2.0")
        writer.add_file_type(file_type)
        writer.add_vocab_size(shape["vocabulary"])
        writer.add_context_length(shape["window"])
        writer.add_embedding_length(shape["width"])
        writer.add_block_count(shape["layers"])
        writer.add_feed_forward_length(shape["hidden"])
        writer.add_head_count(shape["heads"])
        writer.add_head_count_kv(shape["heads"])
        writer.add_rope_dimension_count(shape["width"] // shape["heads"])
        writer.add_rope_freq_base(shape["rope_base"])
        writer.add_layer_norm_rms_eps(shape["epsilon"])
        write_vocabulary(writer, json.loads(tokenizer.read_text(encoding="utf-8")))

    plain = gguf.GGMLQuantizationType.F32
    write_gguf(out, settings, arrays, lambda name: matrix_type if name in matrices else plain)
    out.with_suffix(".toml").write_text(listed(HOUSE_TOOLS), encoding="utf-8")


def main() -> None:
    """Exports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, help="default: tokenizer.json beside the checkpoint")
    parser.add_argument("--average", type=Path, help="another checkpoint, to average the weights with")
    parser.add_argument("--share", type=float, default=0.5, help="of the other checkpoint in the average")
    parser.add_argument("--type", choices=_TYPES, default="q8_0", help="of the matrices")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    tokenizer = args.tokenizer or args.checkpoint.parent / "tokenizer.json"
    export(args.checkpoint, tokenizer, args.out, average=args.average, share=args.share, kind=args.type)
    print(f"{args.out}: {args.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
