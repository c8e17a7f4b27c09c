"""First replies of real models to sentences on tools that no generator knows, as they wrote them.

``scripts/bench minds --record`` makes the files in ``tests/fixtures/replies``: greedy, no grammar, no gate. Half of the
cases of the benchmark are in them; the other half is kept apart, and nothing is tuned on it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from edgeagent import Agent, Message
from edgeagent.app import AppFile
from edgeagent.llm import LLMRequest
from edgeagent.testing import ScriptedLLM

_FOLDER: Final = Path(__file__).resolve().parents[1] / "fixtures" / "replies"
_ROBOTS: Final = Path(__file__).resolve().parents[2] / "scripts" / "lab" / "bench" / "minds_robots"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReply:
    """One reply."""

    case: str
    robot: str
    """Name of the robot whose tools were offered."""
    kind: str
    """single, several, quiet (nothing should be called) or report (the reply to the result counts)."""
    said: str
    right: list[list[tuple[str, dict[str, Any]]]]
    """The lists of calls that are right, by name and arguments; one empty list where nothing should be called."""
    raw: str
    first: list[tuple[str, float]]
    """The likeliest first tokens, with the probability that the model gave them."""

    @property
    def request(self) -> LLMRequest:
        """What the model was asked."""
        agent = robot(self.robot)
        return LLMRequest(system=agent.instructions, messages=[Message.user(self.said)], tools=list(agent.tools))


def models() -> list[str]:
    """Names of the models whose replies were recorded."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def replies(model: str) -> list[RecordedReply]:
    """The recorded replies of a model."""
    rows = json.loads((_FOLDER / f"{model}.json").read_text(encoding="utf-8"))
    return [RecordedReply(**row) for row in rows]


@cache
def robot(name: str) -> Agent:
    """The robot of that name, with a model that says hello."""
    return AppFile.load(_ROBOTS / f"{name}.py").agent(lambda: ScriptedLLM("hello"))
