"""Judges what models answered to the cases, and makes one table of it. Measures nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.minds_cases import Call, Case, app_file
from bench.minds_run import made

from edgeagent.app import AppFile
from edgeagent.testing import ScriptedLLM

Answers = Mapping[str, dict[str, Any]]

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "models.md"
_BEGIN: Final = "<!-- scripts/bench minds --docs writes this table -->"
_END: Final = "<!-- end of the table -->"
_CALL_SHAPE: Final = re.compile(
    r'\{\s*"(?:name|arguments|parameters|function|type)"|</?tool|\[TOOL_CALLS\]|<\|python_tag'
)
"""The shape of a call in text that is shown."""
_JSON: Final = re.compile(r'[{\[]\s*["{\[]|```|</?tool')
"""Anything of JSON in what is said aloud."""
_PI5_BYTES_PER_S: Final = 4.9 * 2_019_377_696
"""A Pi 5 writes 4.9 tokens a second with Llama 3.2 3B in Q4_K_M, as others report; each token reads the whole file."""
_SAID_ONLY: Final = ("quiet", "talk")
"""Kinds of what asks for nothing."""
_READ_BYTES: Final = 50_000_000
"""Size of a file below which reading it is not what takes the time."""


def told(name: str, chosen: Sequence[Case], came: Answers, figures: Mapping[str, Any]) -> dict[str, str]:
    """One row of the table, by the heads of its columns."""
    row = {
        "model": name,
        "exact calls": _halves(chosen, came, _exact, lambda case: case.kind not in _SAID_ONLY),
        "right names": _halves(chosen, came, _names, lambda case: case.kind not in _SAID_ONLY),
        "two or three at once, exact": _halves(chosen, came, _exact, lambda case: case.kind == "several"),
        "quiet in talk": _halves(chosen, came, lambda _, answer: not made(answer), lambda case: case.kind == "quiet"),
        "false calls in talk": _halves(
            chosen, came, lambda _, answer: bool(made(answer)), lambda case: case.kind == "talk"
        ),
        "true reports": _halves(chosen, came, _truthful, lambda case: case.kind == "report"),
        "JSON shown, spoken": f"{shown(came)}, {loud(came)}",
    }
    if figures:
        row |= {
            "generation : bare llama_decode": f"{figures['tokens_per_s'] / figures['bare_tokens_per_s']:.2f}",
            "tokens/s": f"{figures['tokens_per_s']:.0f}",
            "first token cold, warm": f"{figures['cold_s']:.2f} s, {figures['warm_s']:.2f} s",
            "abort in the prompt": f"{figures['abort_s'] * 1e3:.0f} ms",
            "memory": f"{figures['resident_bytes'] / 1e6:.0f} MB",
            "Pi 5, tokens/s (from published figures, not measured)": _on_pi5(figures["bytes"]),
        }
    return row


def _on_pi5(size: int) -> str:
    return f"about {_PI5_BYTES_PER_S / size:.0f}" if size >= _READ_BYTES else ""


def shown(came: Answers) -> int:
    """Answers of which JSON in the shape of a call was shown."""
    return sum(bool(_CALL_SHAPE.search(f"{answer['shown']} {answer['reply']}")) for answer in came.values())


def loud(came: Answers) -> int:
    """Answers of which JSON was said aloud."""
    return sum(bool(_JSON.search(" ".join(answer["spoken"]))) for answer in came.values())


def misses(chosen: Sequence[Case], came: Answers) -> None:
    """Prints what went wrong in the open half."""
    for case in chosen:
        answer = came[case.name]
        right = not made(answer) if case.kind in _SAID_ONLY else _exact(case, answer)
        if case.kind == "report":
            right = right and _truthful(case, answer)
        if right or case.apart:
            continue
        print(f"\n{case.name}: {case.said}\n  right: {list(case.right[0])}\n  called: {answer['calls']}")
        print(f"  reply: {answer['reply']!r}\n  raw: {answer['raw']}")


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """The table. A cell a+b is the open half and the half that was kept apart."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def published(table: str, page: Path = PAGE) -> None:
    """Writes the table between its markers in the page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{page} has not the markers {_BEGIN} and {_END}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


def _halves(
    chosen: Sequence[Case], came: Answers, right: Callable[[Case, dict[str, Any]], bool], which: Callable[[Case], bool]
) -> str:
    """How many are right, in the open half and in the one that is kept apart."""
    counted = [[case for case in chosen if which(case) and case.apart is apart] for apart in (False, True)]
    passed = [sum(right(case, came[case.name]) for case in half) for half in counted]
    return f"{passed[0]}+{passed[1]} of {len(counted[0])}+{len(counted[1])}"


def _exact(case: Case, answer: dict[str, Any]) -> bool:
    return case.exact(_coerced(case.robot, made(answer)), _schemas(case.robot))


def _names(case: Case, answer: dict[str, Any]) -> bool:
    return case.names(made(answer))


def _truthful(case: Case, answer: dict[str, Any]) -> bool:
    return _exact(case, answer) and case.truthful(answer["reply"])


@cache
def _tools(robot: str) -> Any:
    return AppFile.load(app_file(robot)).agent(lambda: ScriptedLLM("hello")).tools


def _schemas(robot: str) -> dict[str, dict[str, Any]]:
    return {tool.name: tool.parameters for tool in _tools(robot)}


def _coerced(robot: str, calls: Sequence[Call]) -> list[Call]:
    """The calls with the arguments that the bodies got."""
    return [(name, _tools(robot).get(name).signature.validate(arguments)[0]) for name, arguments in calls]
