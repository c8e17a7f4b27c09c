"""The generated end of docs/reference/config.md, every setting.

``python -m tests.config.settings_page`` writes it anew.
"""

from collections.abc import Iterator
from pathlib import Path

from edgeagent.config import SETTINGS, TABLES, Setting

PAGE = Path(__file__).parents[2] / "docs/reference/config.md"
HEADING = "## Every setting\n"


def every_setting() -> str:
    """The section with all tables, from its heading on."""
    parts = [HEADING, "Written by `python -m tests.config.settings_page`, from the table by which settings are read.\n"]
    parts += _table("", "")
    for table, what in TABLES.items():
        parts += _table(table, what)
    return "\n".join(parts)


def _table(table: str, what: str) -> Iterator[str]:
    rows = [setting for setting in SETTINGS.values() if setting.name.rpartition(".")[0] == table]
    if table:
        yield f"### [{table}]\n\n{what[0].upper()}{what[1:]}.\n"
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
