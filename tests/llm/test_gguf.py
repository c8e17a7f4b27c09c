"""Each kind of bad model file has its own clear error, before llama.cpp sees it."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from edgeagent import LlamaLLM, Message, ModelError
from edgeagent.llm import LLMRequest, read_header


def test_the_header_says_what_the_model_is(babble_file: Path) -> None:
    header = read_header(babble_file)
    assert (header.architecture, header.name, header.trained_tokens) == ("llama", "random", 4096)
    assert header.bytes == babble_file.stat().st_size
    assert header.vocabulary > 256
    assert "<|im_start|>" in header.template


def refusal(path: Path, **options: int) -> str:
    with pytest.raises(ModelError) as caught:
        LlamaLLM(path, **options)
    text = str(caught.value)
    assert str(path) in text or options
    return text


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    assert "download" in refusal(tmp_path / "none.gguf")


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.gguf"
    path.touch()
    assert "is empty" in refusal(path)


def test_a_folder(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


def test_a_file_that_is_not_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04" + bytes(1000))
    assert "is not a GGUF file" in refusal(path)
    path.write_bytes(b"GG")
    assert "is not a GGUF file" in refusal(path)


@pytest.mark.parametrize("version", [1, 4, 3 << 24])
def test_a_version_of_gguf_that_nobody_reads(tmp_path: Path, version: int) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", version, 0, 0))
    assert f"version {version}" in refusal(path)


def test_a_file_cut_off_anywhere(babble_file: Path, tmp_path: Path) -> None:
    whole = babble_file.read_bytes()
    path = tmp_path / "cut.gguf"
    for length in [5, 8, 20, 24, 30, 100, 1000, 5000, 12000, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert "is truncated" in refusal(path), length


def test_a_corrupt_header_is_refused_without_reading_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 1 << 60))
    assert "is truncated" in refusal(path)
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1) + b"k" + struct.pack("<I", 77) + bytes(64))
    assert "unknown type 77" in refusal(path)


def test_any_flipped_byte_of_the_header_is_an_error_or_harmless(babble_file: Path, tmp_path: Path) -> None:
    whole = bytearray(babble_file.read_bytes())
    path = tmp_path / "flipped.gguf"
    for at in [*range(200), *range(200, 9000, 131)]:
        old, whole[at] = whole[at], whole[at] ^ 0xFF
        path.write_bytes(whole)
        whole[at] = old
        with contextlib.suppress(ModelError):
            read_header(path)


def test_no_chat_template(write: Callable[..., Path]) -> None:
    assert "no chat template" in refusal(write(template=None))


@pytest.mark.parametrize("number", [0, 2])
def test_a_part_of_a_split_model_says_how_to_join_the_parts(write: Callable[..., Path], number: int) -> None:
    text = refusal(write(metadata={"split.count": 3, "split.no": number}))
    assert f"part {number + 1} of 3" in text
    assert "llama-gguf-split --merge" in text


def test_a_model_that_was_joined_from_one_part_is_whole(write: Callable[..., Path]) -> None:
    assert read_header(write(metadata={"split.count": 1})).architecture == "llama"


def test_a_number_for_each_layer_is_kept(write: Callable[..., Path]) -> None:
    metadata = read_header(write(metadata={"llama.attention.of_layers": [1, 0, 2]})).metadata
    assert metadata["llama.attention.of_layers"] == (1, 0, 2)
    assert isinstance(metadata["tokenizer.ggml.merges"], int)


def test_no_tokenizer(tmp_path: Path, babble_file: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(babble_file.read_bytes().replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.tokenz"))
    assert "no tokenizer" in refusal(path)


def test_a_vocabulary_that_llama_cpp_would_abort_the_process_over(tmp_path: Path, babble_file: Path) -> None:
    path = tmp_path / "model.gguf"
    once, twice = (struct.pack("<Q", 2) + text for text in (b"on", b"in"))
    path.write_bytes(babble_file.read_bytes().replace(once, twice))
    assert "token twice" in refusal(path)


def test_an_architecture_that_llama_cpp_does_not_know(write: Callable[..., Path]) -> None:
    text = refusal(write(architecture="frobnicate"))
    assert "'frobnicate'" in text
    assert "llama.cpp can't run" in text


def test_a_model_that_only_encodes(write: Callable[..., Path]) -> None:
    assert "can't write any" in refusal(write(architecture="bert", metadata={"bert.attention.causal": False}))


def test_weights_that_llama_cpp_refuses_surface_its_own_words(tmp_path: Path, babble_file: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(babble_file.read_bytes().replace(b"blk.0.attn_norm.weight", b"blk.0.attn_morn.weight"))
    llm = LlamaLLM(path)
    with pytest.raises(ModelError, match=r"blk\.0\.attn_norm\.weight"):
        llm.load()
    with pytest.raises(ModelError, match=r"blk\.0\.attn_norm\.weight"):
        llm.load()


def test_a_file_that_another_model_takes_the_place_of_before_it_is_loaded(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    write().replace(path)
    llm = LlamaLLM(path)
    write(layers=1).replace(path)
    with pytest.raises(ModelError, match="was replaced by another model since it was opened"):
        llm.load()
    path.unlink()
    with pytest.raises(ModelError, match="there is no model file"):
        llm.load()
    write().replace(path)
    llm.load()
    llm.close()


def test_a_file_that_is_replaced_while_it_is_in_use_goes_on(write: Callable[..., Path], tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write().replace(path)
    llm = LlamaLLM(path)
    llm.load()
    write(layers=1).replace(path)
    reply = llm.complete(LLMRequest(messages=[Message.user("go on")], max_tokens=4), Event())
    assert (reply.error, reply.stop_reason) == (None, "length")
    llm.close()


def test_a_context_that_is_too_small_or_too_large_says_both_numbers(write: Callable[..., Path]) -> None:
    path = write(trained=2048)
    text = refusal(path, context_window=8192)
    assert "8192" in text
    assert "2048" in text
    text = refusal(path, context_window=256)
    assert "256" in text
    assert "512" in text
    assert LlamaLLM(path).context_window == 2048
    text = refusal(write(trained=300))
    assert "300" in text
    assert "512" in text


@pytest.mark.parametrize("template", ["{% if %}", "{{ x ", "{% frob %}", "{% for m in messages %}"])
def test_a_template_that_does_not_compile(write: Callable[..., Path], template: str) -> None:
    assert "does not compile" in refusal(write(template=template))
