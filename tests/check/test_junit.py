"""The report for CI is valid XML of the usual form, whatever people, tools and models write."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeagent import ConfigError
from edgeagent.check import Case, Expected, Outcome, Report
from edgeagent.cli import write_junit
from edgeagent.messages import Reading

WAVE = Expected("wave", {"times": 2, "hand": "left"})


def report(*outcomes: Outcome, agent: str = "rover") -> Report:
    return Report("nano", 4096, agent, (), (), outcomes)


def outcome(say: str = "wave", made: tuple[Expected, ...] = (WAVE,), **changes: Any) -> Outcome:
    fields: dict[str, Any] = {"refused": (), "reply": "ok", "turns": (), "error": None, "seconds": 0.25} | changes
    return Outcome(Case(say, (WAVE,), line=3), made, **fields)


@pytest.mark.parametrize(("right", "of"), [(1, 5), (1, 10), (7, 10), (9, 10), (3, 3)])
def test_the_share_of_right_cases_is_the_decimal_that_a_person_asks_for(right: int, of: int) -> None:
    asked = [outcome(str(number), (WAVE,) if number < right else ()) for number in range(of)]
    assert report(*asked).exact >= float(str(round(right / of, 2)))


def test_suites_cases_and_failures_have_the_attributes_that_ci_servers_read(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    turn = Reading("the prompt", "the raw reply")
    write_junit(
        path,
        Path("my/cases.toml"),
        report(outcome(), outcome("wave twice", (), turns=(turn,)), outcome("wave thrice", error="boom")),
    )
    root = ET.parse(path).getroot()
    assert root.tag == "testsuites"
    counts = {"name": "rover on nano", "tests": "3", "failures": "1", "errors": "1", "time": "0.750"}
    assert root.attrib == counts
    (suite,) = root
    assert (suite.tag, suite.attrib) == ("testsuite", counts)
    first, second, third = suite
    place = {"classname": "cases.rover", "file": "my/cases.toml", "line": "3", "time": "0.250"}
    assert (first.tag, first.attrib, len(first)) == ("testcase", {"name": "wave", **place}, 0)
    (failure,) = second
    assert failure.tag == "failure"
    assert failure.get("message") == 'wanted wave(times=2, hand="left"), got no call'
    assert "the raw reply" in str(failure.text)
    assert "the prompt" in str(failure.text)
    assert [one.tag for one in third] == ["error"]
    assert "boom" in str(third[0].get("message"))


@given(st.text(max_size=30), st.text(max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_makes_valid_xml(tmp_path: Path, said: str, raw: str) -> None:
    path = tmp_path / "report.xml"
    made = (Expected("wave", {"hand": raw}),)
    write_junit(
        path,
        Path(f"{said or 'x'}.toml"),
        report(outcome(said, made, reply=raw, turns=(Reading(raw, said),)), agent=raw),
    )
    assert len(ET.parse(path).getroot()[0]) == 1


def test_a_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the JUnit report can't be written: "):
        write_junit(tmp_path / "none" / "report.xml", Path("cases.toml"), report(outcome()))
