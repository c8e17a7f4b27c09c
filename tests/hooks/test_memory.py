"""Facts outlive the process and stand at the tail of every prompt."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeagent import EdgeAgentError, Message
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import FACT_CHARS, BeforeLLM, FirePoint, HookChain, MemoryHook
from edgeagent.llm import LLMRequest
from edgeagent.testing import ScriptedLLM


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryHook]:
    with MemoryHook(tmp_path / "facts.db", max_facts=3) as hook:
        yield hook


def shown(hook: MemoryHook, messages: list[Message]) -> list[Message]:
    fired = HookChain([hook], AgentContext()).fire(FirePoint.BEFORE_LLM, BeforeLLM(messages, [], 1))
    result: list[Message] = fired.payload.messages
    return result


def test_facts_stand_behind_the_last_message_and_in_no_other(memory: MemoryHook) -> None:
    memory.remember("Ann likes tea")
    memory.remember("the door sticks")
    history = [Message.user("hi"), Message.assistant("hello"), Message.user("tea?")]
    before = list(history)
    *rest, last = shown(memory, history)
    assert rest == history == before
    assert (last.role, last.origin) == ("user", "ephemeral")
    assert last.text == "Known facts:\n- Ann likes tea\n- the door sticks"


def test_new_facts_leave_the_cached_beginning_as_it_was(memory: MemoryHook) -> None:
    llm = ScriptedLLM()
    history = [Message.user("how are you"), Message.assistant("fine")]
    prompts = []
    for fact in ("one", "two"):
        memory.remember(fact)
        prompts.append(llm.tokenize(LLMRequest(system="be brief", messages=shown(memory, history))))
    held = llm.tokenize(LLMRequest(system="be brief", messages=history))
    assert all(prompt[: len(held)] == held for prompt in prompts)


def test_nothing_is_added_when_nothing_is_known(memory: MemoryHook) -> None:
    history = [Message.user("hi")]
    assert shown(memory, history) is history


def test_the_newest_facts_are_shown_when_there_are_too_many(memory: MemoryHook) -> None:
    for i in range(5):
        memory.remember(f"fact {i}")
    assert shown(memory, [])[0].text == "Known facts:\n- fact 2\n- fact 3\n- fact 4"
    assert memory.facts() == [f"fact {i}" for i in range(5)]
    assert memory.facts(1) == ["fact 4"]
    assert memory.facts(0) == []


def test_a_known_fact_is_not_kept_twice(memory: MemoryHook) -> None:
    assert memory.remember("Ann  likes\ntea ")
    assert not memory.remember("Ann likes tea")
    assert memory.facts() == ["Ann likes tea"]


@pytest.mark.parametrize("empty", ["", " \n\t"])
def test_an_empty_text_is_no_fact_and_in_no_fact(memory: MemoryHook, empty: str) -> None:
    memory.remember("Ann likes tea")
    assert not memory.remember(empty)
    assert memory.forget(empty) == 0
    assert memory.facts() == ["Ann likes tea"]


def test_a_fact_that_is_too_long_is_refused(memory: MemoryHook) -> None:
    assert memory.remember("x" * FACT_CHARS)
    with pytest.raises(EdgeAgentError, match="501"):
        memory.remember("x" * (FACT_CHARS + 1))


def test_forgetting_finds_facts_in_any_case(memory: MemoryHook) -> None:
    for fact in ("Die STRASSE ist gesperrt", "Ärger mit der Tür", "100%_sure"):
        memory.remember(fact)
    assert memory.forget("straße") == 1
    assert memory.forget("ÄRGER") == 1
    assert memory.forget("%") == 1
    assert memory.forget("anything") == 0
    assert memory.facts() == []


def test_clearing_forgets_everything(memory: MemoryHook) -> None:
    memory.remember("a")
    memory.clear()
    assert memory.facts() == []


def test_facts_outlive_the_hook_and_its_close(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with MemoryHook(path) as hook:
        hook.remember("Ann likes tea")
    with MemoryHook(str(path)) as again:
        assert again.facts() == ["Ann likes tea"]
        again.close()
        again.close()
        assert again.facts() == ["Ann likes tea"]


def test_the_file_appears_at_the_first_use_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with MemoryHook(path) as hook:
        assert not path.exists()
        hook.remember("a")
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_many_threads_may_remember_at_once(memory: MemoryHook) -> None:
    together = threading.Barrier(4)

    def remembers(name: int) -> None:
        together.wait(5)
        for i in range(20):
            memory.remember(f"{name} {i}")

    threads = [threading.Thread(target=remembers, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(memory.facts()) == 80


def test_two_hooks_may_share_a_file(tmp_path: Path) -> None:
    with MemoryHook(tmp_path / "facts.db") as one, MemoryHook(tmp_path / "facts.db") as two:
        assert one.remember("a")
        assert not two.remember("a")
        assert two.remember("b")
        assert one.facts() == ["a", "b"]


def test_the_tools_remember_and_forget(memory: MemoryHook) -> None:
    remember, forget = memory.tools
    assert (remember.name, forget.name) == ("remember", "forget")
    assert list(remember.parameters["properties"]) == ["fact"]
    assert list(forget.parameters["properties"]) == ["text"]
    assert (remember("Ann likes tea"), remember("Ann likes tea")) == ("remembered", "already known")
    assert forget("TEA") == "facts forgotten: 1"
    assert memory.facts() == []


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes and no database at all " * 50)
    with MemoryHook(path) as hook, pytest.raises(EdgeAgentError, match=r"notes\.txt.*not a database.*another file"):
        hook.facts()
    assert path.read_text().startswith("these are notes")


def test_a_file_that_cannot_be_opened_is_named_with_what_to_do(tmp_path: Path) -> None:
    with MemoryHook(tmp_path) as hook, pytest.raises(EdgeAgentError, match="name another"):
        hook.remember("a")
    with MemoryHook(tmp_path / "no" / "facts.db") as hook, pytest.raises(EdgeAgentError, match="no folder"):
        hook.remember("a")


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE facts (subject TEXT)")
    other.close()
    with MemoryHook(path) as hook, pytest.raises(EdgeAgentError, match=r"other\.db"):
        hook.remember("a")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(ConfigError, match="max_facts"):
        MemoryHook(tmp_path / "facts.db", max_facts=limit)
