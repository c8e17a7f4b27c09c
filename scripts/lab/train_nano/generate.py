"""The generator: seeded dialogues from all phrase files, as a stream and as a command.

python generate.py --show 20            # dialogues to read
python generate.py --utterances 500 > fresh.jsonl   # an evaluation set of fresh draws
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fingers
from dialogue import Author, Message, Setting, draw_setting
from grammar import Grammar, load
from template import render
from utterances import Speaker, Utterance

from edgeagent.train import dressing as noise

CORPUS: Final = Path(__file__).parent / "corpus"


def load_corpus(folder: Path = CORPUS) -> Grammar:
    """All phrase files of a folder, in the order of their names."""
    return load(sorted(folder.glob("*.txt")))


def with_system(setting: Setting, messages: list[Message]) -> list[Message]:
    """Messages as the template takes them."""
    return [{"role": "system", "content": setting.system}, *messages] if setting.system else messages


class Generator:
    """An endless, seeded stream of settings and dialogues."""

    def __init__(self, grammar: Grammar, seed: int | str) -> None:
        self.rng = random.Random(f"edgeagent-nano {seed}")
        self._author = Author(Speaker(grammar, self.rng), self.rng)

    def setting(self) -> Setting:
        """Draws a system prompt with tools."""
        return draw_setting(self.rng)

    def dialogue(self, setting: Setting, *, turns: int | None = None) -> list[Message]:
        """Draws a dialogue of the setting."""
        return self._author.dialogue(setting, turns=turns)

    def texts(self) -> Iterator[str]:
        """Rendered dialogues, each in a setting of its own."""
        while True:
            setting = self.setting()
            yield render(with_system(setting, self.dialogue(setting)), list(setting.tools))

    def said(self) -> Utterance:
        """A single utterance for the house robot, as it is said."""
        return self._author.house_utterance()

    def labelled(self) -> Iterator[dict[str, Any]]:
        """Single utterances for the house robot in the schema of the evaluation files."""
        while True:
            said = self.said()
            text = noise.polite(said.text, self.rng) if said.bare and said.calls else said.text
            if not said.as_typed and self.rng.random() < fingers.HASTE:
                text = fingers.mistyped(text, self.rng)
            calls = [{"name": c.name, "arguments": c.arguments} for c in said.calls]
            yield {"text": text if said.as_typed else noise.dress(text, self.rng), "calls": calls, "tags": [said.tag]}


def main() -> None:
    """Prints draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="0", help="any text; the same seed gives the same draws")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N dialogues as the model sees them")
    parser.add_argument(
        "--utterances", type=int, default=0, metavar="N", help="print N labelled utterances as JSON lines"
    )
    args = parser.parse_args()
    generator = Generator(load_corpus(), args.seed)
    for _, text in zip(range(args.show), generator.texts(), strict=False):
        print(text)
    for _, item in zip(range(args.utterances), generator.labelled(), strict=False):
        print(json.dumps(item, ensure_ascii=False))


if __name__ == "__main__":
    main()
