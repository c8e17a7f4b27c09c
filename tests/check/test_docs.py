"""docs/testing.md tells every rule of `edgeagent check`, and its cases can be read."""

import re
from pathlib import Path

from edgeagent import tool
from edgeagent.check import LONG_DESCRIPTION_WORDS, MANY_PARAMETERS, MANY_TOOLS, RULES, read_cases


@tool
def drive(distance_m: float) -> str:
    """Drive straight."""
    return ""


@tool
def turn(angle_deg: float) -> str:
    """Turn on the spot."""
    return ""


@tool
def wave() -> str:
    """Wave."""
    return ""


def test_the_page_has_every_rule_in_order(checkout: Path) -> None:
    page = (checkout / "docs/testing.md").read_text(encoding="utf-8")
    rows = dict(
        re.findall(r"^\| ([a-z ]+) \| (.*) \|$", page.partition("| rule |")[2].partition("\n\n")[0], re.MULTILINE)
    )
    assert list(rows) == [rule.name for rule in RULES]
    assert rows["many parameters"] == f"more than {MANY_PARAMETERS} parameters"
    assert rows["long docstring"] == f"more than {LONG_DESCRIPTION_WORDS} words"
    assert rows["many tools"] == f"more than {MANY_TOOLS} tools at once"


def test_the_cases_of_the_page_are_read(checkout: Path, tmp_path: Path) -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```", (checkout / "docs/testing.md").read_text(), re.DOTALL | re.MULTILINE)
    path = tmp_path / "cases.toml"
    path.write_text(block, encoding="utf-8")
    assert [len(case.calls) for case in read_cases(path, [drive, turn, wave])] == [1, 2, 0]
