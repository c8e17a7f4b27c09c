"""docs/cli.md says what is so."""

import re
from pathlib import Path

import pytest

from edgeagent.cli import HELP


def test_every_option_that_is_named_exists_and_the_other_way_round(in_process, checkout: Path) -> None:
    text = (checkout / "docs/cli.md").read_text(encoding="utf-8")
    commands = """
        , ask, chat, replay, say, listen, talk, doctor, voice-test, train, mcp, base test,
        sessions list, sessions remove, service install
    """
    shown = "".join(in_process(*command.split(), "--help").stdout for command in commands.split(","))
    options = re.compile(r"--[a-z]+")
    others = re.compile(r"^.*(?:systemctl|edgeagent test --app).*$", re.MULTILINE)  # of systemd, and of another page
    assert set(options.findall(others.sub("", text))) == set(options.findall(shown))


@pytest.mark.parametrize(("command", "commands"), HELP.items())
def test_every_slash_command_is_told(command: str, commands: dict[str, str], checkout: Path) -> None:
    text = (checkout / "docs/cli.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`/.*?) \|", section, re.MULTILINE)
    assert re.findall(r"`(/\w+)", " ".join(rows)) == list(commands)


@pytest.mark.parametrize("command", ["say", "listen", "talk", "voice-test", "base test"])
def test_the_examples_of_a_command_are_those_of_its_help(command: str, in_process, checkout: Path) -> None:
    text = (checkout / "docs/cli.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    told = " ".join(in_process(*command.split(), "--help").stdout.split())
    examples = [line for line in section.partition("```")[2].partition("```")[0].splitlines() if line]
    assert len(examples) >= 4
    assert [line for line in examples if line not in told] == []
