"""The engine's settings: chosen from the machine where nobody did, refused where they can't work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from edgeagent import ConfigError, LlamaLLM, Message
from edgeagent.llm import EngineSettings, LLMRequest, choose, native


@pytest.mark.parametrize(
    ("cores", "physical", "threads"), [(1, 1, 1), (2, 2, 1), (4, 4, 3), (4, 2, 2), (8, 8, 7), (16, 16, 15)]
)
def test_one_core_is_left_for_audio(monkeypatch: pytest.MonkeyPatch, cores: int, physical: int, threads: int) -> None:
    monkeypatch.setattr(native, "usable_cores", lambda: cores)
    monkeypatch.setattr(native, "physical_cores", lambda: physical)
    chosen = choose(EngineSettings(), 4096)
    assert chosen.threads == chosen.batch_threads == threads
    assert choose(EngineSettings(threads=5, batch_threads=6), 4096).batch_threads == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": 0},
        {"chunk_tokens": -3},
        {"batch_threads": 1.5},
        {"kv_type": "q4_0"},
        {"flash_attention": "maybe"},
        {"kv_type": "q8_0", "flash_attention": "off"},
    ],
)
def test_what_cannot_work_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        EngineSettings(**wrong)  # type: ignore[arg-type]


def test_memory_for_prefixes_is_a_share_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "available_bytes", lambda: 1 << 30)
    assert choose(EngineSettings(), 4096).prefix_memory_bytes == 102 << 20
    monkeypatch.setattr(native, "available_bytes", lambda: 1 << 40)
    assert choose(EngineSettings(), 4096).prefix_memory_bytes == 512 << 20
    assert choose(EngineSettings(prefix_memory_mb=7), 4096).prefix_memory_bytes == 7 << 20


@pytest.mark.parametrize(
    "settings",
    [
        EngineSettings(kv_type="q8_0"),
        EngineSettings(flash_attention="off"),
        EngineSettings(flash_attention="on", mmap=False),
        EngineSettings(threads=2, batch_threads=1, chunk_tokens=16, mlock=True),
    ],
)
def test_every_setting_answers(settings: EngineSettings, cut_file: Callable[[str], Path]) -> None:
    llm = LlamaLLM(cut_file("granite3"), settings=settings)
    reply = llm.complete(LLMRequest(messages=[Message.user("hello " * 40)], max_tokens=4), Event())
    assert (reply.error, reply.stop_reason) == (None, "length")
    assert llm.stats.chosen is not None
    assert llm.stats.chosen.kv_type == settings.kv_type
    llm.close()
