"""A check of a robot's tools, for a person, as JSON, or as JUnit XML for CI servers. Runs on the main thread."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

from edgeagent.check import Expected, Outcome, Report
from edgeagent.check.cases import calls_text
from edgeagent.check.doubts import LARGE_SHARE, Doubt
from edgeagent.check.trial import difference
from edgeagent.cli import streams
from edgeagent.cli.streams import columns, one_line, printable
from edgeagent.cli.why import explained_reading
from edgeagent.errors import ConfigError
from edgeagent.messages import Reading

_INDENT: Final = "    "
_PIPE_WIDTH: Final = 1_000_000
"""Columns of a pipe: no line is wrapped there, for grep."""
_HARMLESS: Final = (
    'No body of a tool was run: each call ended where its body would begin, and the model was told "done".'
)
_HOW: Final = """\
No cases were given. Write what people say and which calls are right into a file, and pass it with --cases:

  [[case]]
  say = "..."
  calls = [{{ name = "{name}" }}]

  [[case]]
  say = "thank you"
  calls = []

A file to begin with: edgeagent check --app {app} --write-cases cases.toml"""


class CheckView:
    """Shows the reports of one check.

    Args:
        app: The file of the app.
        cases: The file of the cases, if there is one.
        verbose: Show the whole prompt of every miss.
    """

    def __init__(self, app: Path | None, cases: Path | None, *, verbose: bool) -> None:
        self._app = app
        self._cases = cases
        self._verbose = verbose
        self._width = streams.width() if streams.stdout().isatty() else _PIPE_WIDTH

    def show(self, report: Report, found: Sequence[Doubt]) -> None:
        """Shows one model's report, and first what is doubtful in the tools."""
        streams.answer(f"{report.agent} on {report.model}, window {report.window:,} tokens", "bold")
        for note in report.notes:
            streams.answer(f"note: {note}", "warning")
        for cost in report.costs:
            whose = "" if len(report.costs) == 1 else f" of {cost.agent}"
            count = f"{len(cost.each)} tool{'' if len(cost.each) == 1 else 's'}"
            streams.answer("")
            streams.answer(
                f"{count}{whose}, {cost.tokens:,} tokens of every request ({_percent(cost.tokens, report.window)})"
            )
            for name, tokens in cost.each.items():
                streams.answer(f"  {tokens:>6,}  {name}")
            streams.answer("as the model sees them:")
            self._quote(cost.text)
        if report.share > LARGE_SHARE:
            streams.answer(
                f"note: that is more than {LARGE_SHARE:.0%} of the window; the history has the rest", "warning"
            )
        streams.answer("")
        self._show_doubts(found)
        if report.outcomes:
            self._show_score(report)

    def _show_doubts(self, found: Sequence[Doubt]) -> None:
        told: set[str] = set()
        for doubt in found:
            streams.answer(f"doubtful: {doubt.where} {doubt.what}", "warning")
            if doubt.rule not in told:
                told.add(doubt.rule)
                streams.answer(f"  → {doubt.advice}")
        if found:
            streams.answer("")

    def _show_score(self, report: Report) -> None:
        for outcome in report.missed:
            self._show_miss(outcome, report)
        streams.answer(score_text(report), "bold")
        streams.answer("")

    def _show_miss(self, outcome: Outcome, report: Report) -> None:
        where = "" if outcome.case.line is None else f" ({self._cases}:{outcome.case.line})"
        streams.answer(f'missed: "{one_line(outcome.case.say)}"{where}', "error")
        streams.answer(f"  {one_line(difference(outcome))}")
        for refused in outcome.refused:
            call = calls_text([Expected(refused.call.name, refused.call.arguments)])
            streams.answer(f"  {refused.result.status}: {one_line(call)}: {one_line(refused.result.text)}")
        if outcome.reply:
            streams.answer(f"  reply: {one_line(outcome.reply)}")
        before: Reading | None = None
        for turn in outcome.turns:
            for line in explained_reading(turn, before, width=self._width, full=self._verbose):
                streams.answer(line.text, line.tone)
            before = turn
        streams.answer("")

    def end(self, reports: Sequence[Report]) -> None:
        """Shows several models in one table, and what else there is to know."""
        if len(reports) > 1:
            self._compare(reports)
        if self._cases:
            streams.answer(_HARMLESS)
        else:
            streams.answer(_HOW.format(name=_a_tool(reports[0]), app=shlex.quote(str(self._app))))

    def _compare(self, reports: Sequence[Report]) -> None:
        rows = [("model", "exact", "right tools", "quiet in talk", "wrong actions", "tokens of tools", "s a case")]
        for report in reports:
            tokens = max(cost.tokens for cost in report.costs)
            rows.append(
                (
                    report.model,
                    _right(report.commands),
                    _named(report.commands),
                    _right(report.talk),
                    str(len(report.wrong_actions)),
                    f"{tokens:,} ({_percent(tokens, report.window)})",
                    f"{_mean_s(report):.1f}" if report.outcomes else "-",
                )
            )
        for number, line in enumerate(columns(rows)):
            streams.answer(line, "bold" if number == 0 else "plain")
        streams.answer("")

    def _quote(self, text: str) -> None:
        """The text of a prompt, at a terminal in lines that fit, in a pipe as it is."""
        for line in printable(text).split("\n"):
            for piece in textwrap.wrap(line, self._width - len(_INDENT), replace_whitespace=False) or [""]:
                streams.answer(f"{_INDENT}{piece}")


def report_json(app: Path | None, reports: Sequence[Report], found: Sequence[Doubt]) -> dict[str, Any]:
    """The reports of a check as JSON values."""
    return {
        "app": str(app),
        "doubts": [asdict(doubt) for doubt in found],
        "models": [_as_json(report) for report in reports],
    }


def score_text(report: Report) -> str:
    """The figures of a report in a line."""
    commands, talk = report.commands, report.talk
    parts = [f"{report.model}: {_right(report.outcomes)} cases right"]
    if commands:
        parts.append(f"commands {_right(commands)} exact, {_named(commands)} with the right tools")
    if talk:
        parts.append(f"talk {_right(talk)} without a call")
    wrong = len(report.wrong_actions)
    parts.append(f"wrong action{'' if wrong == 1 else 's'} in {wrong}")
    return ", ".join([*parts, f"{_mean_s(report):.1f} s a case"])


def _right(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(one.right for one in outcomes)} of {len(outcomes)}"


def _named(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(one.names_right for one in outcomes)} of {len(outcomes)}"


def _percent(tokens: int, window: int) -> str:
    return f"{tokens / window:.0%} of the window"


def _mean_s(report: Report) -> float:
    return sum(outcome.seconds for outcome in report.outcomes) / len(report.outcomes)


def _a_tool(report: Report) -> str:
    return next((name for cost in report.costs for name in cost.each), "...")


def _as_json(report: Report) -> dict[str, Any]:
    """A report as JSON values."""
    fields: dict[str, Any] = {
        "model": report.model,
        "agent": report.agent,
        "window": report.window,
        "notes": list(report.notes),
        "tools": [
            {
                "agent": cost.agent,
                "tokens": cost.tokens,
                "share": round(cost.tokens / report.window, 4),
                "each": cost.each,
                "prompt": cost.text,
            }
            for cost in report.costs
        ],
    }
    if report.outcomes:
        commands, talk = report.commands, report.talk
        fields["score"] = {
            "exact": round(report.exact, 4),
            "cases": len(report.outcomes),
            "commands": len(commands),
            "commands_exact": sum(one.right for one in commands),
            "commands_right_tools": sum(one.names_right for one in commands),
            "talk": len(talk),
            "talk_quiet": sum(one.right for one in talk),
            "wrong_actions": len(report.wrong_actions),
            "seconds_a_case": round(_mean_s(report), 3),
        }
        fields["missed"] = [_missed_as_json(outcome) for outcome in report.missed]
    return fields


def _missed_as_json(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "say": case.say,
        "line": case.line,
        "wanted": [[asdict(call) for call in calls] for calls in (case.calls, *case.also_right)],
        "got": [asdict(call) for call in outcome.made],
        "refused": [
            {
                "name": refused.call.name,
                "arguments": refused.call.arguments,
                "status": refused.result.status,
                "result": refused.result.text,
            }
            for refused in outcome.refused
        ],
        "reply": outcome.reply,
        "error": outcome.error,
        "turns": [asdict(turn) for turn in outcome.turns],
    }


# --- JUnit XML --------------------------------------------------------------------------------------------------------


_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have, not even as a reference (https://www.w3.org/TR/xml/#charsets)."""


def write_junit(path: Path, cases: Path, report: Report) -> None:
    """Writes the report of a trial as JUnit XML: a test suite a model, a test case a case.

    Args:
        cases: The file of the cases, which each test case names.

    Raises:
        ConfigError: The file can't be written.
    """
    missed, seconds = report.missed, sum(outcome.seconds for outcome in report.outcomes)
    failed = sum(outcome.error is not None for outcome in missed)
    counts = {
        "name": f"{report.agent} on {report.model}",
        "tests": str(len(report.outcomes)),
        "failures": str(len(missed) - failed),
        "errors": str(failed),
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", {name: _clean(value) for name, value in counts.items()})
    suite = ET.SubElement(root, "testsuite", dict(root.attrib))
    for outcome in report.outcomes:
        _add(suite, outcome, report, cases)
    ET.indent(root)
    try:
        path.write_bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: the JUnit report can't be written: {error.strerror}") from None


def _add(suite: ET.Element, outcome: Outcome, report: Report, cases: Path) -> None:
    place = {} if outcome.case.line is None else {"line": str(outcome.case.line)}
    attributes = {
        "classname": f"{cases.stem}.{report.agent}",
        "name": outcome.case.say,
        "file": str(cases),
        **place,
        "time": f"{outcome.seconds:.3f}",
    }
    case = ET.SubElement(suite, "testcase", {name: _clean(value) for name, value in attributes.items()})
    if not outcome.right:
        kind = "failure" if outcome.error is None else "error"
        miss = ET.SubElement(case, kind, {"message": _clean(difference(outcome)), "type": "calls"})
        raw = [f"turn {number}, raw reply:\n{turn.raw}" for number, turn in enumerate(outcome.turns, 1)]
        prompt = [f"prompt:\n{outcome.turns[0].prompt}"] if outcome.turns else []
        miss.text = _clean("\n\n".join([f"reply: {outcome.reply}", *raw, *prompt]))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
