"""What makes the command line pleasant: completion, log levels, examples of what to say, a doctor for grep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeagent.doctor import examine

TALKS = """
@tool(phrases=["wave to me", "say hello"])
def wave() -> str:
    "Wave."
    import logging
    logging.getLogger("edgeagent.robi").info("the arm is up")
    logging.getLogger("edgeagent.robi").warning("the arm is hot")
    return "waved"
phrases = ["how are you"]
agent = Agent("toy", llm=ScriptedLLM([call("wave")], "I waved."), tools=[wave])
"""


def test_a_shell_completes_commands_and_options(edgeagent: Any) -> None:
    typed = {"_EDGEAGENT_COMPLETE": "complete_bash", "COMP_WORDS": "edgeagent cha", "COMP_CWORD": "1"}
    assert edgeagent(env=typed).stdout.split() == ["chat"]
    typed |= {"COMP_WORDS": "edgeagent chat --se", "COMP_CWORD": "2"}
    assert set(edgeagent(env=typed).stdout.split()) == {"--session", "--seed"}


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (None, ["warning: the arm is hot"]),
        ("error", []),
        ("info", ["info: edgeagent.robi: the arm is up", "warning: the arm is hot"]),
    ],
)
def test_the_log_level_says_what_is_told(edgeagent: Any, level: str | None, shown: list[str]) -> None:
    chosen = [] if level is None else ["--log-level", level]
    done = edgeagent("ask", "wave", "--app", edgeagent.app(TALKS), *chosen)
    assert (done.returncode, done.stdout) == (0, "I waved.\n")
    assert [line for line in done.stderr.splitlines() if "the arm" in line] == shown


def test_a_log_level_that_is_none_is_wrong_usage(in_process: Any) -> None:
    done = in_process("chat", "--log-level", "loud")
    assert done.returncode == 2
    assert "'loud' is not one of" in " ".join(done.stderr.split())


def test_the_greeting_says_what_to_say(edgeagent: Any, at_terminal: Any) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(TALKS))
    terminal.expect('say for example "how are you" or "wave to me"')
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_the_house_robot_says_what_to_say_too(at_terminal: Any) -> None:
    terminal = at_terminal("chat", house=True)
    terminal.expect('say for example "go to the kitchen" or "how full is your battery\\?"')
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_an_app_without_phrases_greets_without(edgeagent: Any, at_terminal: Any) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app("agent = Agent('toy', llm=ScriptedLLM('hi'))"))
    terminal.expect(">")
    assert "for example" not in terminal.seen


def test_the_doctor_takes_an_app_and_wraps_nothing_in_a_pipe(
    edgeagent: Any, in_process: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all that it looks at, the engine."""
    monkeypatch.setattr(
        "edgeagent.doctor.examine", lambda rooms: examine([room for room in rooms if room[0] == "engine"])
    )
    folder = edgeagent.home / ("a long name of a folder in which a model stands " * 4).strip()
    folder.mkdir()
    model = folder / "my-own.gguf"
    model.symlink_to(checkout / "models" / "nano.gguf")
    app = edgeagent.app(f"agent = Agent('toy', llm=LlamaLLM({str(model)!r}))")
    done = in_process("doctor", "--app", app)
    assert any(f"({model})" in line for line in done.stdout.splitlines())
