"""Writes what people say to the house robot, as spoken words: draws of the corpus that the nano model learnt from.

python phrases.py

writes models/phrases/house.txt, what holds a command, and house_talk.txt, what holds none: a model that has only
commands hears a command in everything. house_ears.txt are more of both for the ears' language model alone: of commands
by another hand it has a perplexity of 22 with them and of 26 without. What the benchmarks say is left out, word for
word; so is what has a word that PocketSphinx's dictionary lacks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[2]
# these are programs of a folder and no package: what follows is found by the path
sys.path[:0] = [str(ROOT), str(HERE.parent)]

from bench import ears_sentences  # noqa: E402
from generate import Generator, load_corpus  # noqa: E402

from edgeagent.english import speakable  # noqa: E402
from edgeagent.errors import ConfigError  # noqa: E402
from edgeagent.stt import known_words, spoken_words  # noqa: E402
from edgeagent.train import dressing as noise  # noqa: E402

OUT: Final = ROOT / "models" / "phrases"
LONGEST: Final = 16
LONGEST_HEARD: Final = 12
"""Words of a phrase, and of those that are for the ears alone: what people say in one breath."""


def measured() -> Iterator[str]:
    """What the benchmarks say to the ears and the conversation."""
    yield from ears_sentences.ALL
    for file in (HERE / "evaluation").glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield speakable(json.loads(line)["text"], "en").text


def drawn(seed: str) -> Iterator[tuple[str, bool]]:
    """Endless phrases, none twice, and whether they hold a command."""
    generator, known = Generator(load_corpus(), seed), known_words()
    seen = {" ".join(spoken_words(text)) for text in measured()}
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
    parser.add_argument("--count", type=int, default=6_000)
    parser.add_argument("--heard", type=int, default=20_000, help="so many more for the ears alone")
    args = parser.parse_args()
    draws = drawn(args.seed)
    phrases = list(islice(draws, args.count))
    short = (phrase for phrase, _ in draws if len(phrase.split()) <= LONGEST_HEARD)
    files = {
        "house.txt": [phrase for phrase, command in phrases if command],
        "house_talk.txt": [phrase for phrase, command in phrases if not command],
        "house_ears.txt": islice(short, args.heard),
    }
    OUT.mkdir(exist_ok=True)
    for name, lines in files.items():
        (OUT / name).write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
