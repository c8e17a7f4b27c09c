"""llama.cpp in this process: quiet on the terminal, heard in the log."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeagent import LlamaLLM, ModelError
from edgeagent.llm import native
from edgeagent.llm.settings import default_threads


def test_importing_edgeagent_and_its_llm_room_loads_no_llama_cpp() -> None:
    code = "import sys, edgeagent, edgeagent.llm; print([m for m in sys.modules if m.startswith(('llama', 'jinja2'))])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_nothing_is_written_to_the_terminal(babble_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(babble_file.read_bytes().replace(b"blk.0.attn_norm.weight", b"blk.0.attn_morn.weight"))
    code = f"""
import sys, threading
from edgeagent import LlamaLLM, Message, ModelError
from edgeagent.llm import LLMRequest
llm = LlamaLLM({str(babble_file)!r})
llm.complete(LLMRequest(messages=[Message.user("hi")], max_tokens=3), threading.Event())
llm.close()
try:
    LlamaLLM({str(broken)!r}).load()
except ModelError:
    sys.stdout.write("done")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("done", "")


def test_its_log_goes_through_logging(babble_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="edgeagent.llama"):
        llm = LlamaLLM(babble_file)
        llm.load()
        llm.close()
    assert any("llama_model_loader" in record.message for record in caplog.records)
    assert all("\n" not in record.message for record in caplog.records)


def test_errors_while_loading_are_logged_as_errors(
    babble_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(babble_file.read_bytes().replace(b"blk.0.attn_norm.weight", b"blk.0.attn_morn.weight"))
    with pytest.raises(ModelError):
        LlamaLLM(broken).load()
    assert any(record.levelno == logging.ERROR for record in caplog.records)


def test_asking_for_an_architecture_logs_no_error(caplog: pytest.LogCaptureFixture, write: Callable[..., Path]) -> None:
    assert native.knows_architecture("qwen3")
    assert not native.knows_architecture("frobnicate")
    assert not native.knows_architecture("clip")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["f: it broke", "g: failed to load model"], "it broke"),
        (["it broke: badly"], "it broke: badly"),
        ([], "it gave no reason"),
    ],
)
def test_the_last_line_that_says_something(lines: list[str], told: str) -> None:
    assert native.last_complaint(lines) == told


def test_one_core_is_left_to_the_rest_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    for usable, physical, threads in ((1, 1, 1), (2, 1, 1), (2, 2, 1), (4, 4, 3), (8, 4, 4), (16, 16, 15)):
        monkeypatch.setattr(native, "usable_cores", lambda n=usable: n)
        monkeypatch.setattr(native, "physical_cores", lambda n=physical: n)
        assert default_threads() == threads


def test_the_machine_tells_its_cores_and_memory() -> None:
    assert 1 <= native.physical_cores() <= native.usable_cores()
    assert native.resident_bytes() > 1_000_000
