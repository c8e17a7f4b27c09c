"""The report of a trial as JUnit XML, which CI servers read: a test suite a model, a test case a case."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from edgeagent.check.cases import Expected
from edgeagent.check.trial import Outcome, Report
from edgeagent.errors import ConfigError

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have, not even as a reference (https://www.w3.org/TR/xml/#charsets)."""


def _call_text(call: Expected) -> str:
    """A call as people write it."""
    return f"{call.name}({', '.join(f'{name}={_json(value)}' for name, value in call.arguments.items())})"


def calls_text(calls: Sequence[Expected]) -> str:
    """Calls as people write them, in one line."""
    return "; ".join(map(_call_text, calls)) or "no call"


def difference(outcome: Outcome) -> str:
    """Tells in one line which calls were right, and which calls came instead."""
    wanted = " or ".join(calls_text(calls) for calls in (outcome.case.calls, *outcome.case.also_right))
    if outcome.error is not None:
        return f"wanted {wanted}, and the run failed: {outcome.error}"
    stopped = "; a hook ended the run" if outcome.stopped else ""
    return f"wanted {wanted}, got {calls_text(outcome.made)}{stopped}"


def write_junit(path: Path, cases: Path, report: Report) -> None:
    """Writes the report.

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


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
