"""What the loop itself costs, without a model: a turn with ScriptedLLM, and the imports."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Final

from edgeagent import Agent, tool
from edgeagent.testing import ScriptedLLM, call

_RUNS: Final = 200
_IMPORTS: Final = 7


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def turn_ms(*, tools: int) -> float:
    """Median milliseconds of a run with one text turn, and with ``tools`` calls in a turn before it."""
    times = []
    for _ in range(_RUNS):
        calls = [[call("add", a=i, b=1) for i in range(tools)]] if tools else []
        agent = Agent("bench", llm=ScriptedLLM(*calls, "done"), tools=[add])
        begun = time.perf_counter()
        agent.run("go")
        times.append((time.perf_counter() - begun) / (2 if tools else 1))
    return statistics.median(times) * 1e3


def import_ms(statement: str) -> float:
    """The least of several fresh interpreters' times for a statement, less that of an empty one."""

    def least(code: str) -> float:
        times = []
        for _ in range(_IMPORTS):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - begun)
        return min(times)

    return (least(statement) - least("pass")) * 1e3


def rows() -> list[tuple[str, str, str]]:
    """Name, figure and target of each measurement."""
    pydantic = import_ms("import pydantic")
    package = import_ms("import edgeagent")
    agent = import_ms("from edgeagent import Agent, Session, tool")
    models = import_ms("from pydantic import BaseModel, create_model")
    return [
        ("loop overhead, a turn of text", f"{turn_ms(tools=0):.2f} ms", ""),
        ("loop overhead, a turn with 1 tool", f"{turn_ms(tools=1):.2f} ms", ""),
        ("loop overhead, a turn with 8 tools", f"{turn_ms(tools=8):.2f} ms", ""),
        (
            "import edgeagent : import pydantic",
            f"{package / pydantic:.2f}  ({package:.0f} : {pydantic:.0f} ms)",
            "<= 1.5",
        ),
        ("import Agent, Session, tool : BaseModel", f"{agent / models:.2f}  ({agent:.0f} : {models:.0f} ms)", ""),
    ]
