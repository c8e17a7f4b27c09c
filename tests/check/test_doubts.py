"""Names and docstrings that a small model is likely to misread are found, and good ones are left alone."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from edgeagent import tool
from edgeagent.check import LONG_DESCRIPTION_WORDS, MANY_TOOLS, RULES, doubts
from edgeagent.house import HouseRobot


def made(name: str, description: str = "Do what is asked for here.", **parameters: Any) -> Any:
    def body(**values: Any) -> str:
        return "done"

    kinds = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=kind) for key, kind in parameters.items()
    ]
    body.__dict__["__signature__"] = inspect.Signature(kinds)
    body.__annotations__ = parameters
    return tool(name=name, description=description)(body)


@dataclass
class Spot:
    x_m: float
    y_m: float


DOUBTFUL = [
    ("no docstring", [made("open_hatch", "")], "open_hatch"),
    ("alike", [made("get_humidity"), made("read_humidity", "Other.")], "get_humidity, read_humidity"),
    ("alike", [made("open_hatch"), made("hatch_open", "Other.")], "open_hatch, hatch_open"),
    ("alike", [made("feed", "Open the valve."), made("flush", "open the valve")], "feed, flush"),
    ("alike", [made("stop"), made("halt", "Other.")], "stop, halt"),
    ("unclear name", [made("set_led2")], "set_led2"),
    ("unclear name", [made("mv_arm")], "mv_arm"),
    ("unclear name", [made("move_arm", pos_m=float)], "move_arm(pos_m)"),
    ("unclear name", [made("setGrp")], "setGrp"),
    ("vague name", [made("execute_command")], "execute_command"),
    ("no unit", [made("drive", distance=float)], "drive(distance)"),
    ("no unit", [made("wait", time=int | None)], "wait(time)"),
    ("no unit", [made("dim", lamp=Annotated[float, Field(description="A number.")])], "dim(lamp)"),
    ("not described", [made("find", thing=str)], "find(thing)"),
    ("not described", [made("mix", colors=list[str])], "mix(colors)"),
    ("unclear choice", [made("set_mode", mode=Literal["a1", "b2"])], "set_mode(mode)"),
    ("unclear choice", [made("set_mode", mode=Literal[0, 1, 2])], "set_mode(mode)"),
    ("nested", [made("go", spot=Annotated[Spot, Field(description="Where.")])], "go(spot)"),
    ("many parameters", [made("go", **{f"{word}_m": float for word in "ab cd ef gh ij kl".split()})], "go"),
    ("long docstring", [made("go", "word " * (LONG_DESCRIPTION_WORDS + 1))], "go"),
    ("many tools", [made(f"tool_{'x' * i}", "x" * i) for i in range(1, MANY_TOOLS + 2)], "all tools"),
]


@pytest.mark.parametrize(("rule", "tools", "where"), DOUBTFUL)
def test_a_doubt_names_its_place_and_what_to_do(rule: str, tools: list[Any], where: str) -> None:
    found = [doubt for doubt in doubts(tools) if doubt.rule == rule]
    assert [doubt.where for doubt in found] == [where]
    assert found[0].what
    assert found[0].advice.endswith(".")


def test_every_rule_has_an_example() -> None:
    assert {rule for rule, _, _ in DOUBTFUL} == {rule.name for rule in RULES}


@pytest.mark.parametrize(
    "good",
    [
        [made("open_left_hatch", "Open the left hatch."), made("open_right_hatch", "Open the right hatch.")],
        [made("open_hatch"), made("close_hatch", "Other.")],
        [made("drive", distance_m=float)],
        [made("drive", "Drive straight, in meters.", distance=float)],
        [made("drive", distance=Annotated[float, Field(description="Metres ahead.")])],
        [made("open_roof", opening=Annotated[int, Field(description="0 to 100 %.")])],
        [made("wave", times=int)],
        [made("water", bed=Annotated[int, Field(description="Number of the bed, 1 to 8.")])],
        [made("find", thing=Annotated[str, Field(description="What to look for.")])],
        [made("set_mode", mode=Literal["slow", "fast"])],
        [made("set_mode", mode=Annotated[Literal[0, 1], Field(description="0 is slow, 1 is fast.")])],
        [made("set_light", on=bool)],
        [made("go_to", place=Literal["kitchen", "hall"])],
    ],
)
def test_what_is_clear_is_left_alone(good: list[Any]) -> None:
    assert doubts(good) == []


def test_the_house_robot_has_only_what_its_places_leave_open() -> None:
    found = doubts(HouseRobot().tools)
    assert {doubt.rule for doubt in found} <= {"not described"}
