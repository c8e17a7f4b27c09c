"""docs/architecture.md names every room and every thread that the code has, and no others."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_imports import LAYERS

STARTED_BY_NAME = {
    "confirm",
    "continue_confirm",
    "transcriber",
    "tool-<name>",
    "stop-<name>",
    "hold-<name>",
    "watch-<name>",
}
"""Threads whose name is handed to the function that starts them, so that no call of ``Thread`` spells it."""


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / "docs" / "architecture.md").read_text(encoding="utf-8")


def table(page: str, heading: str) -> set[str]:
    """The names in code style of the first column of a section's table."""
    section = page.partition(f"| {heading} |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in section.splitlines()[2:]]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def thread_names(package: Path) -> Iterator[str]:
    """The names given to ``Thread(name=...)`` in a package, with `<name>` for what is filled in."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("threading.Thread", "Thread"):
                for keyword in node.keywords:
                    if keyword.arg == "name":
                        yield from spelled(keyword.value)


def spelled(name: ast.expr) -> Iterator[str]:
    match name:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in parts)


def test_every_thread_of_the_code_is_on_the_page_and_no_other(page: str, checkout: Path) -> None:
    told = {re.sub(r"<\w+>", "<>", name) for name in table(page, "thread")}
    worker = {"<>-<>"} & set(thread_names(checkout / "edgeagent"))
    parts = {"<>-supervise", "<>-write", "<>-watch"} if worker else set()
    threads = set(thread_names(checkout / "edgeagent")) - worker | parts
    assert told == threads | {re.sub(r"<\w+>", "<>", name) for name in STARTED_BY_NAME}


def test_every_room_of_the_code_is_on_the_page_and_no_other(page: str) -> None:
    assert table(page, "room") == set(LAYERS) - {"__main__"}
