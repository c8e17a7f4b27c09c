"""docs/cli.md says what is so."""

import re
from pathlib import Path

from edgeagent.cli.slash import HELP


def test_every_option_that_is_named_exists_and_the_other_way_round(in_process, checkout: Path) -> None:
    text = (checkout / "docs/cli.md").read_text(encoding="utf-8")
    shown = "".join(in_process(*command, "--help").stdout for command in ([], ["ask"], ["chat"], ["replay"]))
    options = re.compile(r"--[a-z]+")
    assert set(options.findall(text)) == set(options.findall(shown))


def test_every_slash_command_is_told(checkout: Path) -> None:
    text = (checkout / "docs/cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(/\w+)[ `]", text, re.MULTILINE) == list(HELP)
