"""The fixture's vocabulary: byte-level BPE from its own sentences, then Whisper's special tokens and time stamps."""

from __future__ import annotations

from typing import Final

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL: Final = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
)
STAMP_S: Final = 0.02
STAMPS: Final = tuple(f"<|{count * STAMP_S:.2f}|>" for count in range(1501))
# faster-whisper suppresses the first token of " -" and of notes: they must not be the bare space that words begin with
_OTHERS: Final = " - ' ♩ ♪ ♫ ♬ ♭ ♮ ♯ robot lidar Robi"
_MERGES: Final = 400


def tokenizer(sentences: list[str]) -> Tokenizer:
    """Byte-level BPE as in GPT-2; "<|endoftext|>" is the first token that is no text."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + _MERGES, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    letters = " ".join("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    made.train_from_iterator([f" {text}" for text in sentences] + [f" {letters}", _OTHERS], trainer)
    made.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL + STAMPS])
    return made


def vocabulary(made: Tokenizer) -> list[str]:
    """Every token in order of its number, as CTranslate2 wants it."""
    return [made.id_to_token(number) for number in range(made.get_vocab_size())]
