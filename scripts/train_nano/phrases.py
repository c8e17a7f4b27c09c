"""Writes the house robot's phrases, of which its ears build their language model: draws of the corpus, as spoken words.

python phrases.py --count 6000

writes models/phrases/house.txt, what holds a command, and house_talk.txt, what holds none: a model that has only
commands hears a command in everything. The sentences of the benchmarks are left out, word for word; so is what has a
word that PocketSphinx's dictionary lacks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import noise  # noqa: E402
from benchmarks import ears_sentences  # noqa: E402
from generate import Generator, load_corpus  # noqa: E402

from edgeagent.errors import ConfigError  # noqa: E402
from edgeagent.stt.app_model import known_words  # noqa: E402
from edgeagent.stt.phrases import spoken_words  # noqa: E402

OUT: Final = ROOT / "models" / "phrases"
LONGEST: Final = 16
"""Words of a phrase."""


def drawn(seed: str) -> Iterator[tuple[str, bool]]:
    """Endless phrases, none twice, and whether they hold a command."""
    generator, known = Generator(load_corpus(), seed), known_words()
    seen = {" ".join(spoken_words(text)) for text in ears_sentences.ALL}
    while True:
        said = generator.said()
        text = noise.polite(said.text, generator.rng) if said.bare and said.calls else said.text
        try:
            words = spoken_words(text)
        except ConfigError:  # a sign that nobody can say
            continue
        phrase = " ".join(words)
        if words and len(words) <= LONGEST and phrase not in seen and all(word in known for word in words):
            seen.add(phrase)
            yield phrase, bool(said.calls)


def main() -> None:
    """Writes draws, in the order of the alphabet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="phrases 1", help="any text; the same seed gives the same draws")
    parser.add_argument("--count", type=int, default=6000)
    args = parser.parse_args()
    phrases = sorted(islice(drawn(args.seed), args.count))
    OUT.mkdir(exist_ok=True)
    for name, holds in (("house.txt", True), ("house_talk.txt", False)):
        lines = [f"{phrase}\n" for phrase, command in phrases if command is holds]
        (OUT / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
