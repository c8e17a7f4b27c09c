"""``scripts/bench parsers``: a million mutated replies through the gate and every format; it ends at a fault."""

from __future__ import annotations

import argparse
import random
import time

from tests.llm.mutations import check, replies

_TOLD_EVERY = 50_000


def main() -> None:
    """Feed, count and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench parsers", description="Fuzz the tool-call formats.")
    parser.add_argument("--count", type=int, default=1_000_000, help="replies (default: 1000000)")
    parser.add_argument("--seed", type=int, default=2)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    begun = time.perf_counter()
    for i, (known, text, called) in enumerate(replies(arguments.count, arguments.seed), 1):
        check(known, text, called=called, rng=rng)
        if i % _TOLD_EVERY == 0 or i == arguments.count:
            print(f"{i:,} replies, {i / (time.perf_counter() - begun):,.0f} a second, no fault", flush=True)


if __name__ == "__main__":
    main()
