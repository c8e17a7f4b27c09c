"""Asks a robot what a line of a set says, through the product's loop: the house robot in a new flat, or a robot of
``evaluation/robots``. Judges nothing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from scoring import MOVES, Asked, Call

from edgeagent import Agent, LlamaLLM, Options, Session
from edgeagent.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, add_guards, house_phrases
from edgeagent.house import HouseRobot

ROBOTS: Final = Path(__file__).resolve().parent / "evaluation" / "robots"
_STARTED: Final = ("ok", "error", "interrupted", "timed_out", "outcome_unknown", "detached")
"""Statuses of calls whose bodies were started."""


def ask(llm: LlamaLLM, item: dict[str, Any], *, guarded: bool = False) -> list[Asked]:
    """Asks every turn of a line, in one session.

    Args:
        guarded: With the guards of what the app builds.
    """
    with _agent(llm, item.get("robot", ""), guarded=guarded) as agent, closing(Session(agent)) as session:
        tools = list(agent.tools)
        own = "robot" in item
        moving = frozenset(tool.name for tool in tools if not tool.traits.read_only) if own else MOVES
        reading = frozenset(tool.name for tool in tools if tool.traits.read_only)
        schemas = {tool.name: tool.parameters for tool in tools}
        asked = []
        for turn in item.get("turns", (item,)):
            result = session.step(turn["text"])
            calls = [(call.result.status if call.result else "", _plain(call)) for call in result.tool_calls]
            ran = [call for status, call in calls if status in _STARTED]
            stopped = guarded and result.reason == "stopped"
            made = ran if stopped else [call for _, call in calls]
            asked.append(Asked(made, ran, result.reply, stopped, moving, reading, schemas))
    return asked


@contextmanager
def _agent(llm: LlamaLLM, robot: str, *, guarded: bool) -> Iterator[Agent]:
    if robot:
        agent: Agent = app(robot).build(llm)
        if guarded:
            add_guards(agent)
        yield agent
        return
    with closing(HouseRobot(speed=float("inf"))) as house:
        options = Options(max_tool_hops=MAX_TOOL_HOPS)
        agent = Agent(NAME, INSTRUCTIONS, llm=llm, tools=house.tools, options=options, phrases=house_phrases())
        if guarded:
            add_guards(agent)
        yield agent


@cache
def app(robot: str) -> ModuleType:
    """The app file of a robot, imported."""
    spec = importlib.util.spec_from_file_location(f"evaluation_{robot}", ROBOTS / f"{robot}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"there is no robot {robot} in {ROBOTS}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plain(call: Any) -> Call:
    return {"name": call.name, "arguments": call.arguments}
