"""Agents that take turns on one model evaluate only what is new, within a bound of memory, also after a restart."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message
from edgeagent.llm import EngineSettings, LLMRequest

RULES = " ".join(f"Rule {i}: go on." for i in range(60))
SLACK = 16
"""Tokens that may be evaluated again at a border."""


class Talk:
    """One agent's conversation: its own system prompt, and what was said so far."""

    def __init__(self, llm: LlamaLLM, name: str) -> None:
        self._llm = llm
        self._system = f"You are {name}. {RULES}"
        self._history: list[Message] = []
        self._known = 0

    def say(self, text: str) -> int:
        """Ask; gives how many tokens were evaluated beyond the new ones."""
        self._history.append(Message.user(text))
        request = LLMRequest(system=self._system, messages=self._history, max_tokens=8)
        self._history.append(self._llm.complete(request, Event()))
        stats = self._llm.stats
        beyond = stats.evaluated_tokens - (stats.prompt_tokens - self._known)
        self._known = stats.prompt_tokens + stats.output_tokens
        return beyond


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of prefix files of a user who has none yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "edgeagent" / "prefixes"


@pytest.fixture
def load(babble_file: Path, cache: Path) -> Iterator[Callable[..., LlamaLLM]]:
    """Loads the babbling model with engine settings."""
    made: list[LlamaLLM] = []

    def make(**settings: Any) -> LlamaLLM:
        settings = {"prefix_file": False, **settings}
        made.append(LlamaLLM(babble_file, settings=EngineSettings(**settings)))
        return made[-1]

    yield make
    for llm in made:
        llm.close()


def test_agents_that_alternate_evaluate_only_what_is_new(load: Callable[..., LlamaLLM]) -> None:
    llm = load()
    agents = [Talk(llm, name) for name in "ABC"]
    assert agents[0].say("one") == 0
    for agent in agents[1:]:
        agent.say("one")
    assert all(agent.say(text) <= SLACK for text in ("two", "three", "four") for agent in agents)


def test_a_snapshot_gives_the_reply_that_evaluating_gives(load: Callable[..., LlamaLLM]) -> None:
    def replies(llm: LlamaLLM, switch: bool) -> list[str]:
        request = LLMRequest(system=f"You are A. {RULES}", messages=[Message.user("hello")], max_tokens=12)
        first = llm.complete(request, Event()).text
        if switch:
            Talk(llm, "B").say("hello")
            again = llm.complete(request, Event()).text
            assert llm.stats.evaluated_tokens <= SLACK
            return [first, again]
        return [first, first]

    assert replies(load(), switch=True) == replies(load(), switch=False)


def test_the_least_recently_used_agent_is_forgotten_first(load: Callable[..., LlamaLLM]) -> None:
    measure = load()
    Talk(measure, "A").say("one")
    Talk(measure, "B").say("one")
    one_mb = measure.stats.prefix_bytes / (1 << 20)
    llm = load(prefix_memory_mb=int(2.5 * one_mb) + 1)
    kept = int((int(2.5 * one_mb) + 1) // one_mb)
    agents = [Talk(llm, chr(ord("A") + i)) for i in range(kept + 3)]
    for agent in agents:
        agent.say("one")
        assert llm.stats.prefix_bytes <= (int(2.5 * one_mb) + 1) << 20
    assert agents[-2].say("two") <= SLACK
    assert agents[0].say("two") > SLACK


def test_without_memory_another_agent_is_evaluated_again(load: Callable[..., LlamaLLM]) -> None:
    llm = load(prefix_memory_mb=0)
    one, two = Talk(llm, "A"), Talk(llm, "B")
    one.say("one")
    two.say("one")
    assert one.say("two") > SLACK
    assert llm.stats.prefix_bytes == 0


def ask(llm: LlamaLLM, name: str = "A") -> str:
    request = LLMRequest(system=f"You are {name}. {RULES}", messages=[Message.user("hello")], max_tokens=12)
    return llm.complete(request, Event()).text


def start(load: Callable[..., LlamaLLM], name: str = "A") -> tuple[str, LlamaLLM]:
    """A process that starts, says one thing and ends; its files are whole afterwards."""
    llm = load(prefix_file=True, prefix_file_after_s=0.0)
    reply = ask(llm, name)
    llm.close()
    return reply, llm


def test_a_later_start_is_warm(load: Callable[..., LlamaLLM], cache: Path) -> None:
    first, cold = start(load)
    (file,) = cache.iterdir()
    assert file.stat().st_mode & 0o077 == 0  # nobody else may read what an agent was told
    second, warm = start(load)
    assert second == first
    assert warm.stats.evaluated_tokens < 64 < cold.stats.evaluated_tokens
    assert len(list(cache.iterdir())) == 1


def test_a_prefix_file_on_a_read_only_disk_is_used_as_well(
    load: Callable[..., LlamaLLM], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    first, _ = start(load)
    monkeypatch.setattr(os, "utime", read_only)
    second, warm = start(load)
    assert second == first
    assert warm.stats.evaluated_tokens < 64


def test_a_quick_prefix_is_not_worth_a_file(load: Callable[..., LlamaLLM], cache: Path) -> None:
    llm = load(prefix_file=True, prefix_file_after_s=1000.0)
    ask(llm)
    llm.close()
    assert not cache.exists()


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "foreign", "longer"])
def test_a_bad_prefix_file_is_ignored_with_a_notice_and_written_again(
    load: Callable[..., LlamaLLM], cache: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    first, cold = start(load)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    if damage == "foreign":
        start(load, "B")
        other = next(path for path in cache.iterdir() if path != file)
        bad = other.read_bytes()
    else:
        flipped = bytearray(whole)
        flipped[-1000] ^= 1
        bad = {"truncated": whole[:-7], "changed": bytes(flipped), "empty": b"", "longer": whole + b"x"}[damage]
    file.write_bytes(bad)
    with caplog.at_level(logging.WARNING, "edgeagent.llm"):
        second, again = start(load)
    assert second == first
    assert again.stats.evaluated_tokens == cold.stats.evaluated_tokens
    assert str(file) in caplog.text
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_lost(
    load: Callable[..., LlamaLLM], cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING, "edgeagent.llm"):
        start(load)
    assert "can't be written" in caplog.text


def test_another_setting_or_model_does_not_take_the_file(
    load: Callable[..., LlamaLLM], cache: Path, write: Callable[..., Path]
) -> None:
    start(load)
    other = LlamaLLM(write(seed=2), settings=EngineSettings(prefix_file=True, prefix_file_after_s=0.0))
    ask(other)
    assert other.stats.reused_tokens == 0
    other.close()
    assert len(list(cache.iterdir())) == 2


def test_old_prefix_files_make_room(tmp_path: Path) -> None:
    import os

    import numpy as np

    from edgeagent.llm import PrefixFiles

    files = PrefixFiles(tmp_path, {"model": "m"}, worth_s=0.0, kept_bytes=3000)
    for i in range(4):
        files.write([i], np.zeros(1000, np.uint8))
        files.close()
        for age, path in enumerate(sorted(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime_ns, reverse=True)):
            os.utime(path, (1000 - age, 1000 - age))
    assert files.read([3]) is not None
    assert files.read([0]) is None
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 3000
