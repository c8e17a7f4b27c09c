"""What a person waits for: from Enter to the first token, to the robot's first move, and to the finished action.

The house robot on the model, through a session, as ``chat`` runs it. Its motion takes no time here (its speed is
infinite), so that what remains is ours.
"""

from __future__ import annotations

import statistics
import time
from typing import Final

from edgeagent import Agent, LlamaLLM, Session, events
from edgeagent.app import INSTRUCTIONS, NAME
from edgeagent.house import HouseRobot

_ROUNDS: Final = 15
_COMMAND: Final = "drive forward two meters and turn left ninety degrees"


def rows(model: str) -> list[tuple[str, str, str]]:
    """Name, figure and target of each measurement; medians of turns after the first, whose prefix is warm."""
    llm = LlamaLLM(model)
    llm.load()
    first: list[float] = []
    moves: list[float] = []
    done: list[float] = []
    try:
        for _ in range(_ROUNDS + 1):
            robot = HouseRobot(speed=float("inf"))
            begun = time.monotonic()
            with Session(Agent(NAME, INSTRUCTIONS, llm=llm, tools=robot.tools)) as session:
                log = list(session.start(_COMMAND).events())
            first.append(_when(log, events.MessageUpdate, events.ToolExecutionStart) - begun)
            moves.append(_when(log, events.ToolExecutionStart) - begun)
            done.append(log[-1].t - begun)
            robot.close()
    finally:
        llm.close()
    return [
        ("Enter to first move, first turn of all", f"{moves[0] * 1e3:.0f} ms", ""),
        ("Enter to first move", f"{statistics.median(moves[1:]) * 1e3:.0f} ms", ""),
        ("Enter to first token that is shown", f"{statistics.median(first[1:]) * 1e3:.0f} ms", ""),
        ("Enter to finished action and reply, two calls", f"{statistics.median(done[1:]) * 1e3:.0f} ms", ""),
    ]


def _when(log: list[events.Event], *kinds: type[events.Event]) -> float:
    """Monotonic time of the first event of the kinds, of the end if there is none."""
    return next((event.t for event in log if isinstance(event, kinds)), log[-1].t)
