"""Training goes on from a model's file: its weights and its tokenizer are read back."""

import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message
from edgeagent.llm import LLMRequest
from edgeagent.resources import models_dir


def test_the_tokenizer_of_a_file_is_the_engine_s(nano: LlamaLLM, corpus: Any) -> None:
    from generate import Generator  # type: ignore[import-not-found]  # a script beside the trainer
    from template import render  # type: ignore[import-not-found]  # a script beside the trainer
    from tokenizer import read  # type: ignore[import-not-found]  # a script beside the trainer

    tokenizer = read(models_dir() / "nano.gguf")
    said = [item["text"] for item in islice(Generator(corpus, "tokens").labelled(), 300)]
    for text in [*said, "geh in die Küche 😀 12345 \u200b 你好"]:
        theirs = nano.tokenize(LLMRequest(messages=[Message.user(text)]))
        assert tokenizer.encode(render([{"role": "user", "content": text}], [], generation_prompt=True)).ids == theirs


def test_a_run_begins_with_the_weights_of_a_file(scripts_on_path: Path, checkout: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [sys.executable, scripts_on_path / "train.py", "--run", tmp_path / "run", "--steps", "1", "--eager"]
    command += ["--tokens", "512", "--rate", "1e-6", "--init", models_dir() / "nano.gguf"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=checkout)
    assert done.returncode == 0, done.stderr
    # a model that begins anew has no call right
    assert float(done.stdout.split("calls exact ")[-1].partition("%")[0]) > 50
