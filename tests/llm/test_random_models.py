"""A model of each family loads, is asked in its own template and vocabulary, and answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import gguf
import numpy as np
import pytest

from edgeagent import LlamaLLM, Message
from edgeagent.llm import LLMRequest
from tests.llm.architectures import Shape
from tests.llm.gguf_file import numbers, read_pairs, texts, write_gguf
from tests.llm.random_models import FAMILIES, cut, header, open_vocabulary, write_random
from tests.llm.source import vocabulary_file

HELLO = LLMRequest(messages=[Message.user("Hello there")], max_tokens=8)
TEXT = 'Drive 1.5 m, then say "schön" — 你好 🙂\n\tüber <b>all</b>!'


def eos_of(pairs: dict[str, bytes]) -> int:
    """Number of the token that ends a turn, out of a header."""
    return int.from_bytes(pairs["tokenizer.ggml.eos_token_id"][4:], "little")


@pytest.fixture
def file(family: str, family_file: Callable[[str], Path], cut_file: Callable[[str], Path]) -> Path:
    """The model of a family. A vocabulary that several have is whole in one of them."""
    shares = family in ("qwen2.5", "qwen3.5", "lfm2", "gemma2", "granite3")
    return (cut_file if shares else family_file)(family)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_answers_and_does_not_end_its_turn(file: Path) -> None:
    llm = LlamaLLM(file)
    try:
        reply = llm.complete(HELLO, Event())
        assert (reply.stop_reason, reply.error, reply.usage.output_tokens) == ("length", None, 8)
        assert reply.text.strip()
    finally:
        llm.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_vocabulary_has_its_markers_and_keeps_text(family: str, file: Path) -> None:
    known = FAMILIES[family]
    with open_vocabulary(file) as vocabulary:
        pieces = [vocabulary.piece(token) for token in vocabulary.tokenize(TEXT, markers=False)]
        assert b"".join(pieces).decode().removeprefix(" ") == TEXT  # SentencePiece begins with a blank
        for marker in (*known.control, *known.user_defined, known.end):
            assert vocabulary.tokenize(marker, markers=True)[-1] == vocabulary.markers[marker]
        assert vocabulary.is_end(vocabulary.markers[known.end])


@pytest.mark.parametrize(
    ("family", "tokens"),
    [("qwen3", 151936), ("lfm2", 128256), ("mistral", 32000 + len(FAMILIES["mistral"].control))],
)
def test_markers_take_reserved_places_where_there_are_any(family: str, tokens: int) -> None:
    assert len(texts(header(FAMILIES[family])["tokenizer.ggml.tokens"])) == tokens


def test_everything_else_of_the_vocabulary_is_copied() -> None:
    real = read_pairs(vocabulary_file("llama-spm"))
    ours = header(FAMILIES["mistral"])
    count = len(texts(real["tokenizer.ggml.tokens"]))
    assert texts(ours["tokenizer.ggml.tokens"])[:count] == texts(real["tokenizer.ggml.tokens"])
    assert np.array_equal(numbers(ours["tokenizer.ggml.scores"])[:count], numbers(real["tokenizer.ggml.scores"]))
    changed = {key for key in real if key.startswith("tokenizer.ggml.") and ours[key] != real[key]}
    assert changed == {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.scores"}


@pytest.mark.parametrize("family", ["qwen3", "llama3.2", "gemma4", "mistral"])
def test_a_vocabulary_that_was_cut_keeps_letters_bytes_and_markers(family: str, tmp_path: Path) -> None:
    whole, short = header(FAMILIES[family]), header(cut(family))
    marked = [np.sum(numbers(pairs["tokenizer.ggml.token_type"]) != gguf.TokenType.NORMAL) for pairs in (whole, short)]
    assert marked[0] == marked[1]
    assert len(texts(short["tokenizer.ggml.tokens"])) - marked[1] < 4096 + 128
    ends = [texts(pairs["tokenizer.ggml.tokens"])[eos_of(pairs)].decode() for pairs in (whole, short)]
    assert ends == [FAMILIES[family].end] * 2
    write_gguf(tmp_path / "cut.gguf", short)
    with open_vocabulary(tmp_path / "cut.gguf") as vocabulary:
        pieces = [vocabulary.piece(token) for token in vocabulary.tokenize(TEXT, markers=False)]
        assert b"".join(pieces).decode().removeprefix(" ") == TEXT
        assert max(map(len, pieces)) > 2


@pytest.mark.parametrize(("quantised", "kind"), [(None, "F16"), ("Q8_0", "Q8_0"), ("Q4_0", "Q4_0")])
def test_another_reader_finds_the_tensors_in_the_format_asked_for(
    quantised: str | None, kind: str, tmp_path: Path
) -> None:
    file = write_random(tmp_path / "model.gguf", cut("phi3"), quantised=quantised)
    llm = LlamaLLM(file)
    assert llm.complete(HELLO, Event()).usage.output_tokens == 8
    llm.close()
    (down,) = [t for t in gguf.GGUFReader(file).tensors if t.name == "blk.1.ffn_down.weight"]
    assert down.tensor_type.name == kind
    weights = gguf.quants.dequantize(down.data, down.tensor_type)
    assert weights.shape == (64, 128)
    assert weights.std() == pytest.approx(128**-0.5, rel=0.05)
    assert weights.mean() == pytest.approx(0, abs=0.005)


def test_the_same_seed_is_the_same_model(tmp_path: Path) -> None:
    first, again, other = [
        write_random(tmp_path / f"{i}.gguf", cut("gemma2"), seed=seed).read_bytes() for i, seed in enumerate((1, 1, 2))
    ]
    assert first == again
    assert first != other


def test_a_familys_shape_can_be_varied(tmp_path: Path) -> None:
    wide = replace(cut("phi3"), shape=Shape(architecture="phi3", layers=3, width=96, heads=3, trained_tokens=1024))
    llm = LlamaLLM(write_random(tmp_path / "wide.gguf", wide, metadata={"general.name": "wide"}))
    assert (llm.header.name, llm.header.metadata["phi3.block_count"], llm.context_window) == ("wide", 3, 1024)
    assert llm.complete(HELLO, Event()).usage.output_tokens == 8
    llm.close()


def test_a_poisoned_model_computes_no_number(tmp_path: Path) -> None:
    llm = LlamaLLM(write_random(tmp_path / "poisoned.gguf", cut("mistral"), poisoned=True))
    reply = llm.complete(HELLO, Event())
    assert reply.stop_reason == "error"
    assert "NaN" in str(reply.error)
    llm.close()
