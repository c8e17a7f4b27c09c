"""The tokenizer: byte-level BPE whose pre-tokeniser is llama.cpp's "qwen2" (digits one by one).

Trained once, at the first training; a later corpus spells what it does not know by bytes. ``read`` takes it back out of
a model's file.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import Final

import gguf
import lexicon
from generate import CORPUS, Generator, load_corpus
from template import SPECIALS
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY: Final = 2048
_SAMPLE: Final = 24_000
_WORD_REPEATS: Final = 6
_QWEN2: Final = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The regular expression of LLAMA_VOCAB_PRE_TYPE_QWEN2 in llama.cpp's llama-vocab.cpp."""


def _tokenizer(model: models.BPE) -> Tokenizer:
    """The pipeline around merges, that of llama.cpp."""
    tokenizer = Tokenizer(model)
    split = pre_tokenizers.Split(Regex(_QWEN2), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def read(path: Path) -> Tokenizer:
    """The tokenizer of a model that export.py has written."""
    fields = gguf.GGUFReader(path).fields
    tokens = [str(token) for token in fields[gguf.Keys.Tokenizer.LIST].contents()]
    kinds = fields[gguf.Keys.Tokenizer.TOKEN_TYPE].contents()
    merges = [tuple(str(pair).split(" ")) for pair in fields[gguf.Keys.Tokenizer.MERGES].contents()]
    tokenizer = _tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def train(seed: str, corpus: Path = CORPUS) -> Tokenizer:
    """Trains on generated dialogues (their user and assistant sides) and on everyday words."""
    tokenizer = _tokenizer(models.BPE())
    generator = Generator(load_corpus(corpus), f"tokenizer {seed}")
    texts = [t.partition("<|im_end|>")[2] if i % 20 else t for i, t in enumerate(islice(generator.texts(), _SAMPLE))]
    words = (*lexicon.COMMON_WORDS, *lexicon.UNKNOWN_OBJECTS, *lexicon.UNKNOWN_PLACES, *lexicon.UNSERVED_VERBS)
    phrases = [p.read_text(encoding="utf-8") for p in sorted(corpus.glob("*.txt"))]
    sample = (
        texts + [f" {w} {w.capitalize()} {w}" for w in words for _ in range(_WORD_REPEATS)] + phrases * _WORD_REPEATS
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(s, special=True, normalized=False) for s in SPECIALS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample, trainer)
    return tokenizer


def main() -> None:
    """Trains and saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="tokenizer.json to write")
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = train(args.seed)
    tokenizer.save(str(args.out))
    print(f"{args.out}: {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
