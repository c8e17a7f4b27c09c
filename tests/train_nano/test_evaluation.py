"""The model that is shipped keeps what its card says, within what another processor's rounding may change."""

import json
from pathlib import Path

from edgeagent import LlamaLLM

COMMANDS, REST = 0.88, 0.93
"""Of a third of our set, of which it has 0.96 and 1.0 right; of the whole 0.97 and 1.0, on one machine."""


def test_the_shipped_model_does_what_its_card_says(nano: LlamaLLM, scripts_on_path: Path) -> None:
    from evaluate import evaluate  # type: ignore[import-not-found]  # a script beside the trainer

    lines = (scripts_on_path / "evaluation" / "ours.jsonl").read_text(encoding="utf-8").splitlines()
    score = evaluate(nano, [json.loads(line) for line in lines[::3]], None)
    commands, rest = score.groups["command"], score.groups["no call"]
    assert commands.right / commands.all >= COMMANDS
    assert rest.right / rest.all >= REST
