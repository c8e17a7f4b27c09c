"""The reader of cases is strict, and its errors name file, line, case and what to do."""

import string
import tomllib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from edgeagent import ConfigError, tool
from edgeagent.check import Case, Expected, read_cases, starter
from edgeagent.house import HouseRobot


class Bed(Enum):
    TOMATOES = "tomatoes"
    HERBS = "herbs"


@dataclass
class Spot:
    x_m: float
    y_m: float


@tool(phrases=["water the herbs", "the tomatoes are dry"])
def water(bed: Bed, liters: float, slowly: bool = False) -> str:
    """Water a bed."""
    return "watered"


@tool
def drive_to(spot: Spot, names: list[str], height_m: Annotated[float, Field(gt=2, le=3)]) -> str:
    """Drive to a spot."""
    return "there"


@tool
def say(text: Literal['"hi"\n', "\\"], note: str | None) -> str:
    """Speak."""
    return "said"


@tool
def sign(code: Annotated[str, Field(min_length=9)]) -> str:
    """Sign."""
    return "signed"


TOOLS = [water, drive_to, say]


def read(folder: Path, text: str) -> list[Case]:
    path = folder / "cases.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return read_cases(path, TOOLS)


def test_a_case_is_what_is_said_and_the_calls_that_are_right(tmp_path: Path) -> None:
    cases = read(
        tmp_path,
        """# mine
[[case]]
say = " the herbs want half a liter "
calls = [{ name = "water", arguments = { bed = "HERBS", liters = "0.5" } }]

[[case]]
say = "thank you"
calls = []
also_right = [[{ name = "say", arguments = { text = "\\\\", note = "" } }]]
""",
    )
    assert cases == [
        Case(
            "the herbs want half a liter",
            (Expected("water", {"bed": "herbs", "liters": 0.5, "slowly": False}),),
            line=2,
        ),
        Case("thank you", (), ((Expected("say", {"text": "\\", "note": ""}),),), line=6),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"cases\.toml: there is no case; write one as\n\[\[case\]\]"),
        ("[[case]\n", r"cases\.toml:1: this is not TOML"),
        ("case = 3", "case should be a list of tables"),
        ("case = [3]", "case should be a list of tables"),
        ("[[cases]]\nsay = 'a'", "there is no key 'cases'"),
        ("[[case]]\ncalls = []", r"cases\.toml:1: case 1: say is missing"),
        ("[[case]]\nsay = ' '\ncalls = []", "say is missing"),
        ("[[case]]\nsay = 3\ncalls = []", "say should be a text, not 3"),
        ("\n[[case]]\nsay = 'a'", r'cases\.toml:2: case 1 \("a"\): calls is missing; write calls = \[\]'),
        ("[[case]]\nsay = 'a'\ncalls = 'water'", 'calls should be a list of calls, not "water"'),
        ("[[case]]\nsay = 'a'\ncalls = ['water']", r'calls\[0\] should be \{ name = .*, not "water"'),
        ("[[case]]\nsay = 'a'\ncals = []", "a case has no key 'cals'; did you mean 'calls'"),
        ("[[case]]\nsay = 'a'\ncalls = [{ tool = 'water' }]", r"calls\[0\] has no key 'tool'; there are name, arg"),
        ("[[case]]\nsay = 'a'\ncalls = [{}]", r"calls\[0\] should have the name of a tool"),
        ("[[case]]\nsay = 'a'\ncalls = [{ name = 3 }]", r"calls\[0\] should have the name of a tool"),
        ("[[case]]\nsay = 'a'\ncalls = [{ name = 'watr' }]", "the app has no tool 'watr'; did you mean 'water'"),
        ("[[case]]\nsay = 'a'\ncalls = [{ name = 'q' }]", "no tool 'q'; there are water, drive_to, say"),
        ("[[case]]\nsay = 'a'\ncalls = [{ name = 'say', arguments = [] }]", "arguments should be a table, not a list"),
        (
            "[[case]]\nsay = 'a'\ncalls = [{ name = 'water', arguments = { bed = 'salad', liter = 1 } }]",
            r'calls\[0\]: water: bed: should be one of "tomatoes", "herbs", not "salad"; liter: unknown argument',
        ),
        ("[[case]]\nsay = 'a'\ncalls = []\nalso_right = [{}]", r"also_right\[0\] should be a list of calls, not a tab"),
        ("[[case]]\nsay = 'a'\ncalls = []\nalso_right = 3", "also_right should be a list of lists of calls, not 3"),
        (
            "[[case]]\nsay = 'a'\ncalls = []\n[[case]]\nsay = 'a '\ncalls = []",
            r'cases\.toml:4: case 2 \("a"\): case 1 says the same',
        ),
        ("case = [{ say = 'a' }]", r'cases\.toml: case 1 \("a"\): calls is missing'),
        ("say = '\udc80'", "not UTF-8 at byte 7"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot read the cases: No such file"):
        read_cases(tmp_path / "none.toml", TOOLS)


def cases_or_refusal(folder: Path, text: str) -> list[Case] | str:
    """The cases, or the error's text."""
    try:
        return read(folder, text)
    except ConfigError as error:
        return str(error)


KEYS = st.sampled_from(["case", "say", "calls", "also_right", "name", "arguments", "water", "bed", "liters"])
VALUES = st.recursive(
    st.one_of(st.sampled_from(["a", "water", "herbs"]), st.integers(), st.floats(), st.booleans()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case _:
            return str(value)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_a_table_of_any_shape_is_read_or_refused(tmp_path: Path, table: dict[str, Any]) -> None:
    text = "\n".join(f"{key} = {toml(value)}" for key, value in table.items())
    found = cases_or_refusal(tmp_path, text)
    assert "cases.toml" in found if isinstance(found, str) else found


@given(st.text(st.sampled_from("[]{}='\"#\n \\" + string.ascii_lowercase + "\x00\ud800é"), max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"cases\.toml"):
        read(tmp_path, text)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)


@given(st.lists(WORDS, min_size=1, max_size=4, unique_by=str.strip))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_starter_is_read_whatever_people_say(tmp_path: Path, phrases: list[str]) -> None:
    @tool(phrases=phrases)
    def act(word: str) -> str:
        return word

    path = tmp_path / "starter.toml"
    path.write_bytes(starter([act]).encode("utf-8"))
    cases = read_cases(path, [act])
    assert [case.say for case in cases[: len(phrases)]] == [phrase.strip() for phrase in phrases]
    assert [case.calls for case in cases[len(phrases) :]] == [(), (), ()][: len(cases) - len(phrases)]


@pytest.mark.parametrize("tools", [TOOLS, HouseRobot().tools])
def test_a_starter_has_calls_that_fit_every_tool(tmp_path: Path, tools: list[Any]) -> None:
    path = tmp_path / "starter.toml"
    path.write_text(starter(tools), encoding="utf-8")
    cases = read_cases(path, tools)
    assert {call.name for case in cases for call in case.calls} == {one.name for one in tools}
    assert sum(not case.calls for case in cases) == 3


def test_a_starter_begins_with_the_phrases_of_a_tool(tmp_path: Path) -> None:
    said = [case["say"] for case in tomllib.loads(starter([water, say]))["case"]]
    assert said[:3] == ["water the herbs", "the tomatoes are dry", "say"]


def test_a_call_that_nobody_can_guess_is_left_to_the_builder(tmp_path: Path) -> None:
    text = starter([sign])
    assert "# correct the arguments: code: " in text
    path = tmp_path / "starter.toml"
    path.write_text(text, encoding="utf-8")
    assert [case.calls for case in read_cases(path, [sign])] == [(), (), ()]
