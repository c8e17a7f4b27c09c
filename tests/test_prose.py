"""Docstrings begin with a verb or a noun, so that each names the thing that it stands at."""

import ast
from pathlib import Path

import pytest

CLAUSES = {"Whether", "What", "How", "Who", "Where", "When", "That"}
"""First words of docstrings that are clauses, which name nothing."""
FOR_MODELS = {"get_location"}
"""Tools: a model reads their docstrings, and was trained on these."""


def clauses(text: str) -> list[str]:
    """Lists the names of what has a docstring that is a clause; "module" for the file's own."""
    nodes = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [
        getattr(node, "name", "module")
        for node in nodes
        if (ast.get_docstring(node) or "").partition(" ")[0].rstrip(",:.") in CLAUSES
    ]


def test_no_docstring_begins_with_a_clause(checkout: Path) -> None:
    found = {
        f"{path.relative_to(checkout)}: {name}"
        for path in sorted((checkout / "edgeagent").rglob("*.py"))
        for name in clauses(path.read_text(encoding="utf-8"))
        if name not in FOR_MODELS
    }
    assert found == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""Whether it is so."""', ["module"]),
        ('"""Tells if it is so."""\n\n\ndef far():\n    """How far it is."""', ["far"]),
        ('class Place:\n    """Where it is."""', ["Place"]),
        ('"""Wherever."""\n\n\nasync def go():\n    pass', []),
    ],
)
def test_a_clause_is_found(text: str, found: list[str]) -> None:
    assert clauses(text) == found
