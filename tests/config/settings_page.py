"""The generated end of docs/reference/config.md, every setting.

``python -m tests.config.settings_page`` writes it anew.
"""

from collections.abc import Iterator
from pathlib import Path

from edgeagent.config import LIST_TOLD, LISTS, SETTINGS, TABLES, Setting

PAGE = Path(__file__).parents[2] / "docs/reference/config.md"
HEADING = "## Every setting\n"


def every_setting() -> str:
    """The section with all tables, from its heading on."""
    written = "Written by `python -m tests.config.settings_page`, from the table of `edgeagent/config/rows.py`.\n"
    parts = [HEADING, written]
    parts += _table("", "", [one for one in SETTINGS.values() if "." not in one.name])
    for table, what in TABLES.items():
        parts += _table(f"[{table}]", what, [one for one in SETTINGS.values() if one.name.rpartition(".")[0] == table])
    for name, what in LIST_TOLD.items():
        parts += _table(f"[[{name}]]", what, list(LISTS[name].values()))
    return "\n".join(parts)


def _table(heading: str, what: str, rows: list[Setting]) -> Iterator[str]:
    if heading:
        yield f"### {heading}\n\n{what[0].upper()}{what[1:]}.\n"
    columns = ["key", "default", "meaning", "values", "variable", "option"]
    if not any(row.variable for row in rows):
        columns = columns[:4]
    yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
    for row in rows:
        cells = [f"`{row.name}`", row.default, row.what, _values(row), _code(row.variable), _code(row.flag)]
        yield f"| {' | '.join(cells[: len(columns)])} |"
    yield ""


def _values(row: Setting) -> str:
    if row.choices:
        return ", ".join(row.choices)
    return row.range if row.kind in ("number", "integer") else _KINDS[row.kind]


_KINDS = {
    "boolean": "true, false",
    "text": "a text",
    "texts": "a list of texts",
    "phrases": "phrases, with commas",
    "sounds": "words with their phones",
    "variables": "texts by their names",
    "path": "a path",
}


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def main() -> None:
    """Writes the section into the page, in the place of the one that is there."""
    prose, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    PAGE.write_text(prose + every_setting(), encoding="utf-8")


if __name__ == "__main__":
    main()
