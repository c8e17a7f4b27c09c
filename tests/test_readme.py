"""What the README shows is what there is."""

import re
from pathlib import Path

import pytest


@pytest.fixture
def blocks(checkout: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (checkout / "README.md").read_text(encoding="utf-8"), re.S)


def test_the_robot_of_your_own_is_the_example(blocks: list[str], checkout: Path) -> None:
    example = (checkout / "examples" / "my_robot.py").read_text(encoding="utf-8")
    assert blocks[0] == example
    assert len(example.splitlines()) < 30


def test_every_file_that_it_points_to_is_there(checkout: Path) -> None:
    text = (checkout / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (checkout / target).exists(), target
