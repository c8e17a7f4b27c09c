"""Writes models/replay.jsonl.gz: dialogues of which `edgeagent train` reminds nano while it learns a builder's tools.

    python replay.py

Two thirds are for the house robot as it ships, in one setting; the others are draws of other settings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
# these are programs of a folder and no package: what follows is found by the path
sys.path[:0] = [str(HERE.parents[2])]

from dialogue import Setting  # noqa: E402
from generate import Generator, load_corpus  # noqa: E402
from tools import HOUSE_SYSTEM, HOUSE_TOOLS, name_of  # noqa: E402

from edgeagent.train import replay_path, write_replay  # noqa: E402

HOUSE_DIALOGUES: Final = 3_800
OTHER_SETTINGS: Final = 220
EACH: Final = 10


def settings(seed: str) -> Iterator[dict[str, Any]]:
    """The settings of the file."""
    generator = Generator(load_corpus(), f"replay {seed}")

    def drawn(setting: Setting, count: int) -> dict[str, Any]:
        dialogues = [generator.dialogue(setting) for _ in range(count)]
        return {"system": setting.system, "tools": list(setting.tools), "dialogues": dialogues}

    yield drawn(Setting(HOUSE_SYSTEM, HOUSE_TOOLS, frozenset(map(name_of, HOUSE_TOOLS)), ()), HOUSE_DIALOGUES)
    count = 0
    while count < OTHER_SETTINGS:
        setting = generator.setting()
        if not (setting.whole and setting.system == HOUSE_SYSTEM):
            count += 1
            yield drawn(setting, EACH)


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", type=Path, default=replay_path())
    args = parser.parse_args()
    write_replay(args.out, settings(args.seed))
    print(f"{args.out}: {args.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
