"""``--app FILE.py``: what a builder's file may define, and what is said of one that is wrong."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeagent.app import build
from edgeagent.config import Config
from edgeagent.errors import ConfigError
from edgeagent.testing import ScriptedLLM

Write = Callable[[str], Path]

AGENT = """
from edgeagent import Agent
from edgeagent.testing import ScriptedLLM
"""


@pytest.fixture(autouse=True)
def _clean_imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("_app_", "neighbour")):
            del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "robot.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the configured models that were made; they are scripted."""
    made: list[str] = []

    def make(model: str, **settings: object) -> ScriptedLLM:
        made.append(model)
        return ScriptedLLM("from the configured model", name=model)

    monkeypatch.setattr("edgeagent.llm.llama.LlamaLLM", make)
    return made


def test_an_edit_of_the_same_second_and_length_counts(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for reply in ("one", "two"):
        path = write(AGENT + f"agent = Agent('toy', llm=ScriptedLLM({reply!r}))")
        os.utime(path, (1, 1))
        with build(Config(app=path)) as app:
            assert app.session.step("hello").reply == reply


def test_an_agent_with_a_model_of_its_own(write: Write, configured: list[str]) -> None:
    with build(Config(app=write(AGENT + "agent = Agent('toy', llm=ScriptedLLM('hi'))"))) as app:
        assert app.session.step("hello").reply == "hi"
        assert app.robot is None
    assert not configured


def test_an_agent_without_a_model_gets_the_configured_one(write: Write, configured: list[str]) -> None:
    with build(Config(app=write(AGENT + "agent = Agent('toy')"), model="some")) as app:
        assert app.session.step("hello").reply == "from the configured model"
    assert configured == ["some"]


def test_build_gets_the_configured_model(write: Write, configured: list[str]) -> None:
    with build(Config(app=write(AGENT + "def build(llm):\n    return Agent(llm.name, llm=llm)"), model="some")) as app:
        assert app.agent.name == "some"
    assert configured == ["some"]


def test_its_phrases_become_its_agents(write: Write) -> None:
    text = AGENT + "phrases = ['hop', 'jump']\nagent = Agent('toy', llm=ScriptedLLM(), phrases=['jump', 'run'])"
    with build(Config(app=write(text))) as app:
        assert app.agent.phrases == ("jump", "run", "hop")


def test_its_folder_is_on_the_path_and_dataclasses_work(write: Write, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("name = 'next door'")
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\nimport neighbour\n" + AGENT
    text += "@dataclass\nclass Box:\n    size: int\nagent = Agent(neighbour.name, llm=ScriptedLLM())"
    with build(Config(app=write(text))) as app:
        assert app.agent.name == "next door"


def test_it_is_closed_once_and_last(write: Write) -> None:
    text = (
        AGENT + "log = []\nagent = Agent('a', llm=ScriptedLLM())\nsay_at_start = 'hi'\ndef close():\n    log.append(1)"
    )
    app = build(Config(app=write(text)))
    assert app.say_at_start == "hi"
    app.close()
    app.close()
    assert sys.modules["_app_robot"].log == [1]


def test_a_close_that_raises_is_told_and_harms_nothing(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    build(Config(app=write(AGENT + "agent = Agent('a', llm=ScriptedLLM())\ndef close():\n    1 / 0"))).close()
    assert "robot.py:6: close() raised ZeroDivisionError" in caplog.text


def test_it_is_closed_when_its_model_is_missing(write: Write) -> None:
    path = write(AGENT + "log = []\nagent = Agent('a')\ndef close():\n    log.append(1)")
    with pytest.raises(Exception, match="there is no model 'nonsense'"):
        build(Config(app=path, model="nonsense"))
    assert sys.modules["_app_robot"].log == [1]


def test_a_model_that_is_not_used_is_told(write: Write) -> None:
    path = write(AGENT + "agent = Agent('a', llm=ScriptedLLM(name='mine'))")
    with build(Config(app=path, model="other", given=frozenset({"model"}))) as app:
        assert app.notes == ["the model other is not used: the app brings its own, mine"]
    with build(Config(app=path)) as app:
        assert not app.notes


def test_settings_reach_the_runs_of_an_app(write: Write) -> None:
    path = write(
        AGENT
        + "from edgeagent import Options\noptions = Options(max_turns=3, deadline_s=5)\n"
        + "agent = Agent('a', llm=ScriptedLLM(), options=options)"
    )
    with build(Config(app=path, max_tokens=9, temperature=0.5)) as app:
        options = app.session.options
        assert options is not None
        assert (options.max_turns, options.max_tokens, options.temperature) == (3, 9, 0.5)
        assert options.deadline_s == 5, "the shorter one"
    with build(Config(app=path, deadline_s=2)) as app:
        assert app.session.options is not None
        assert app.session.options.deadline_s == 2


def test_renew_forgets_the_conversation_and_keeps_the_agent(write: Write) -> None:
    path = write(AGENT + "agent = Agent('a', llm=ScriptedLLM('one', 'two'))")
    with build(Config(app=path)) as app:
        agent = app.agent
        app.session.step("first")
        app.renew()
        result = app.session.step("second")
        assert [message.text for message in result.messages] == ["second", "two"]
        assert app.agent is agent


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\ndef f(:\n  pass", "FILE:2: SyntaxError: invalid syntax"),
        ("x = 1\0", "FILE: SyntaxError: source code string cannot contain null bytes"),
        ("x = 1\n\n1 / 0", "FILE:3: ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('no')\n\nf()", "FILE:2: ValueError: no"),
        ("import nothing_of_that_name", "FILE:1: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("x = 1\nimport neighbour", "FILE:2: SyntaxError: invalid syntax (NEIGHBOUR:2)"),
        ("import sys\nsys.exit('bye')", "FILE:2: it called sys.exit('bye')"),
        ("x = 1", "FILE defines neither agent nor build(llm)"),
        ("agent = 5", "FILE: agent should be an edgeagent.Agent, not int"),
        ("build = 5", "FILE defines neither agent nor build(llm)"),
        ("def build(llm):\n    return 5", "FILE: what build(llm) returns should be an edgeagent.Agent, not int"),
        ("def build(llm):\n    x = 1\n    raise KeyError('k')", "FILE:3: KeyError: 'k'"),
        ("def build():\n    pass", "FILE:1: TypeError: build() takes 0 positional arguments but 1 was given"),
        (AGENT + "phrases = 'hop'\nagent = Agent('a', llm=ScriptedLLM())", "FILE: phrases should be a list of texts"),
        (AGENT + "phrases = [5]\nagent = Agent('a', llm=ScriptedLLM())", "FILE: phrases should be a list of texts"),
        (AGENT + "phrases = 5\nagent = Agent('a', llm=ScriptedLLM())", "FILE: phrases should be a list of texts"),
        (AGENT + "say_at_start = 5\nagent = Agent('a')", "FILE: say_at_start should be a text, not int"),
        (AGENT + "def f(): ...\nagent = Agent('a', tools=[f, f])", "FILE:5: two tools are called 'f'"),
        (
            AGENT + "def f(x): ...\nagent = Agent('a', tools=[f])",
            "FILE:5: tool 'f': parameter 'x' has no type annotation",
        ),
    ],
)
def test_a_mistake_in_it_is_told_with_its_line(
    write: Write, tmp_path: Path, configured: list[str], text: str, said: str
) -> None:
    (tmp_path / "neighbour.py").write_text("x = 1\n(:")
    path = write(text)
    with pytest.raises(ConfigError) as raised:
        build(Config(app=path))
    told = str(raised.value).replace(str(path), "FILE").replace(str(tmp_path / "neighbour.py"), "NEIGHBOUR")
    assert said in told
    assert "None" not in told


def test_a_model_that_it_names_and_that_is_missing_is_told_with_its_line(write: Write) -> None:
    with pytest.raises(ConfigError, match=r"robot.py:2: .*none.gguf"):
        build(Config(app=write("from edgeagent import LlamaLLM\nllm = LlamaLLM('none.gguf')")))


@pytest.mark.parametrize(
    ("name", "said"), [("none.py", "is not there"), (".", "is a folder"), ("robot.txt", "is no Python file")]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "robot.txt").write_text("agent = 1")
    with pytest.raises(ConfigError, match=said):
        build(Config(app=tmp_path / name))


def test_what_the_file_itself_wakes_is_a_turn_of_the_session_and_asks_nobody_who_is_not_there(
    write: Write, tmp_path: Path
) -> None:
    path = write(
        AGENT
        + """
from edgeagent import tool
from edgeagent.testing import call

done = []

@tool(destructive=True)
def erase() -> str:
    "Erases all."
    done.append(1)
    return "erased"

agent = Agent("toy", llm=ScriptedLLM("hello", [call("erase")], "I erased it."), tools=[erase])
"""
    )
    with build(Config(app=path, session=tmp_path / "kept.journal")) as app:
        app.session.step("hi")
        handle = app.agent.follow_up("erase", wake=True)
        result = handle.result(30)
        assert [call.result.status for call in result.tool_calls] == ["declined"]
        assert [message.text for message in app.session.messages()][:3] == ["hi", "hello", "erase"]
    assert app.agent.follow_up("erase", wake=True) is None  # the session is closed
    assert not app.agent.is_running
