"""Ten thousand mutated replies: no exception, and no call that was not asked for."""

import random

from tests.llm.mutations import check, replies

COUNT = 10_000


def test_mutated_replies_make_no_call_out_of_nothing() -> None:
    rng = random.Random(1)
    for known, text, called in replies(COUNT, seed=1):
        check(known, text, called=called, rng=rng)
