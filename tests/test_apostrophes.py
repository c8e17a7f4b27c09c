"""Apostrophes of all kinds."""

import pytest

from edgeagent import apostrophes


@pytest.mark.parametrize("kind", apostrophes.KINDS)
def test_inside_of_a_word_each_is_the_plain_one(kind: str) -> None:
    assert apostrophes.plain(f"please don{kind}t go, it{kind}s late") == "please don't go, it's late"


def test_quotation_marks_stay() -> None:
    assert apostrophes.plain("say \u2018hello there\u2019 and run `ls`") == "say \u2018hello there\u2019 and run `ls`"
