"""Every row of the rules on words is needed: its example is decided by that row, and by none before it."""

import pytest

from edgeagent.english import bare, rows_of, without_asking, words_of

TABLES = (
    "command",
    "command_lacks",
    "continues",
    "corrects_next",
    "corrects_not",
    "dangles",
    "done_later",
    "doubtful",
    "end_lacks",
    "facts",
    "for_later",
    "inversion_lacks",
    "lacks_unit",
    "only_with",
    "question",
    "question_lacks",
    "remains",
    "remark",
    "reported",
    "wish",
)


@pytest.mark.parametrize(
    ("table", "number"), [(table, number) for table in TABLES for number in range(len(rows_of(table)))]
)
def test_an_example_is_decided_by_its_own_row(table: str, number: int) -> None:
    row = rows_of(table)[number]
    words = bare(words_of(row.example))
    rest = words[:4] if table == "wish" else without_asking(words)
    deciding = next(at for at, one in enumerate(rows_of(table)) if one.fits(words, rest))
    assert deciding == number, f"{row.example!r} is decided by the example {rows_of(table)[deciding].example!r}"


@pytest.mark.parametrize("number", range(len(rows_of("mention"))))
def test_an_example_of_a_mention_is_decided_by_its_own_row(number: int) -> None:
    before, _, after = (part.split() for part in rows_of("mention")[number].example.split("/"))
    deciding = next(at for at, one in enumerate(rows_of("mention")) if one.fits(before, after))
    assert deciding == number, f"decided by the example {rows_of('mention')[deciding].example!r}"


@pytest.mark.parametrize("number", range(len(rows_of("left_out"))))
def test_an_example_of_what_is_left_out_is_decided_by_its_own_row(number: int) -> None:
    before, after = (part.split() for part in rows_of("left_out")[number].example.split("/"))
    deciding = next(at for at, one in enumerate(rows_of("left_out")) if one.fits(before, after))
    assert deciding == number, f"decided by the example {rows_of('left_out')[deciding].example!r}"
