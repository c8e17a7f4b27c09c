"""Dialogues of ``scenes/*.txt``: lines of one block share their slots, and each is meant as what follows the ones before.

A line is that of a phrase file, with values such as ``-<dist>/2`` in its calls; ``=> told`` answers with the last results
again, and an empty line ends a dialogue.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from grammar import GrammarError, Rule, Slot, expand, parse_rule, read_all
from slots import KINDS, Drawn
from utterances import Realised, Speaker, Utterance

FOLDER: Final = Path(__file__).parent / "scenes"
TAG: Final = "scene"
TOLD: Final = "told"
"""The reply that stands for the last results, and the action that asks for it."""
_NEAT: Final = {"duration": 1, "dist": 1000, "angle": 1000}
"""What a part of a value is rounded to: seconds are whole, metres and degrees have three decimals."""
_Scene = tuple[Rule, ...]


def load(paths: list[Path]) -> tuple[_Scene, ...]:
    """Reads files of dialogues.

    Raises:
        GrammarError: lines that cannot be read; all of them are named.
    """
    return read_all(paths, _read)


def _read(path: Path, errors: list[str]) -> Iterator[_Scene]:
    rules: list[Rule] = []
    known: set[tuple[str, int]] = set()
    for number, raw in enumerate((*path.read_text(encoding="utf-8").splitlines(), ""), 1):
        line = raw.strip()
        if line.startswith("#"):
            continue
        if not line:
            if rules:
                yield tuple(rules)
            rules, known = [], set()
            continue
        if line.endswith(f"=> {TOLD}"):
            line = line.removesuffix(TOLD) + f'none "{TOLD}"'
        try:
            rule = parse_rule(line, {}, f"{path.name}:{number}", frozenset(known))
            _check(rule)
        except GrammarError as error:
            errors.append(str(error))
            continue
        known |= {slot.key for slot in rule.slots}
        rules.append(rule)


def _check(rule: Rule) -> None:
    if unknown := {slot.kind for slot in rule.slots} - set(KINDS):
        raise GrammarError(f"{rule.where}: no slot {sorted(unknown)}")
    if rule.reply is not None and any(isinstance(piece, Slot) for piece in expand(rule.reply, random.Random(0))):
        raise GrammarError(f"{rule.where}: a reply has no slot")


@cache
def _scenes() -> tuple[_Scene, ...]:
    return load(sorted(FOLDER.glob("*.txt")))


def draw(speaker: Speaker) -> Utterance:
    """The first turn of a dialogue; each has the next one as its answer."""
    while True:
        turns = _realised(speaker, speaker.rng.choice(_scenes()))
        if turns is not None:
            break
    said: Utterance | None = None
    for turn in reversed(turns):
        reply = "" if turn.rule.reply is None else "".join(map(str, expand(turn.rule.reply, speaker.rng)))
        said = Utterance(turn.text(), turn.calls(), reply=reply, tag=TAG, bare=False, answer=said)
    if said is None:
        raise ValueError("a dialogue has a line")
    return said


def _realised(speaker: Speaker, scene: _Scene) -> list[Realised] | None:
    """Every turn with the same draws, None where a part of a value is not neat."""
    draws: dict[tuple[str, int], Drawn] = {}
    turns = []
    for rule in scene:
        turn = speaker.realise(rule, draws)
        draws |= turn.draws
        turns.append(turn)
    for turn in turns:
        for call in turn.rule.calls:
            for _, value in call.arguments:
                if isinstance(value, Slot) and not _is_neat(value, draws[value.key]):
                    return None
    return turns


def _is_neat(slot: Slot, drawn: Drawn) -> bool:
    if abs(slot.scale) == 1 or slot.kind not in _NEAT:
        return True
    value = float(drawn.value) * slot.scale * _NEAT[slot.kind]
    return abs(value - round(value)) < 1e-6
