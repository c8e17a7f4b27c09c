"""``scripts/bench install``: it finds the commands of the pages, and every page's installation is among them."""

import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def install(bench: Callable[[str], ModuleType]) -> ModuleType:
    return bench("install")


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ("$ a b\n$ c   # why\n", ["a b", "c   # why"]),
        ("   $ a\n   it says\n   $ b\n", ["a", "b"]),
        ("a\n\nb\n", ["a", "b"]),
        ("$ a \\\n  b\n$ c\n", ["a \\\nb", "c"]),
        ("$ python - <<'END'\nimport os\n\nEND\n$ c\n", ["python - <<'END'\nimport os\n\nEND", "c"]),
    ],
)
def test_a_block_is_split_into_its_commands(install: ModuleType, block: str, found: list[str]) -> None:
    assert install.commands(block) == found


def test_every_journey_has_commands_of_pages_in_their_order(install: ModuleType, checkout: Path) -> None:
    pages = [checkout / "README.md", *sorted((checkout / "docs").rglob("*.md"))]
    for name in install.JOURNEYS:
        steps = install.steps(name, pages)
        assert [step.command for step in steps if "apt-get install" in step.command]
        for step in steps:
            if step.where == "(check)":
                continue
            file, _, line = step.where.partition(":")
            assert int(line) <= len((checkout / file).read_text().splitlines())
    board = [step.command for step in install.steps("board", pages)]
    assert board[0] == "sudo apt-get update"
    assert board.index("cd edgeagent") < board.index("scripts/run doctor")
    package = install.steps("package", pages)
    assert not next(step for step in package if step.command.startswith("systemctl")).possible
    checks = [place for place, step in enumerate(package) if "--version" in step.command]
    links = [place for place, step in enumerate(package) if step.command.startswith("ln -sfn")]
    assert len(checks) == len(links) == 3
    assert all(link < check for link, check in zip(links, checks, strict=True))
    assert install._VERSION.findall(" ".join(step.command for step in package)) == ["0.1.0", "0.2.0"]


def test_a_wheel_of_another_version_says_so_itself(install: ModuleType, checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "edgeagent").mkdir()
    for name in ("pyproject.toml", "edgeagent/__init__.py"):
        (tmp_path / name).write_text((checkout / name).read_text())
    install.set_version(tmp_path, "9.8.7")
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["version"] == "9.8.7"
    assert '\n__version__ = "9.8.7"\n' in (tmp_path / "edgeagent/__init__.py").read_text()


def test_a_script_stops_at_the_first_command_that_fails(install: ModuleType, tmp_path: Path) -> None:
    steps = [install.Step("x", command) for command in ("cd /", "v='it is' && echo \"$v\" $PWD", "false", "echo never")]
    done = subprocess.run(["bash", "-c", install.script(steps, str(tmp_path))], capture_output=True, text=True)
    assert done.returncode == 1
    assert "it is /" in done.stdout
    assert "never" not in done.stdout
    assert re.findall(f"{install._SIGN}(\\d) (\\w+)", done.stdout) == [
        ("0", "begins"), ("0", "0"), ("1", "begins"), ("1", "0"), ("2", "begins"), ("2", "1"),
    ]  # fmt: skip


UNTRIED = {
    "docs/robot.md": [
        "CUDA_ARCHITECTURES",
        "--force-reinstall",  # no Jetson
        "zenoh-bridge-ros2dds",  # another project's program
    ],
    "docs/models.md": ["edgeagent[train]"],  # PyTorch has gigabytes
}
"""Blocks with installation commands that no journey has, by a text in them."""


def test_what_installs_stands_in_a_journey(checkout: Path) -> None:
    for page in [checkout / "README.md", *sorted((checkout / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        known = UNTRIED.get(str(page.relative_to(checkout)), [])
        for block in re.finditer(r"^ *```(\w*)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
            installs = r"^ *(\$ )?(sudo )?(apt-get install|\S*pip install|\S*python3? -m venv)"
            if block[1] not in ("", "console") or not re.search(installs, block[2], re.MULTILINE):
                continue
            marked = text[: block.start()].rstrip().endswith("-->")
            assert marked or any(part in block[2] for part in known), block[0]
