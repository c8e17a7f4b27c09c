"""Schemas from signatures, and what a model may write for them."""

import dataclasses
import enum
import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from edgeagent import GoalHandle, ToolContext, tool
from edgeagent.errors import ToolDefinitionError
from edgeagent.tools import ArgumentError, coerce


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0


class Box(BaseModel):
    name: str
    corner: Point


class Crate(BaseModel, extra="allow"):
    name: str


def accepted(annotation: Any, value: Any) -> Any:
    def body(x) -> str:
        """Body."""
        return ""

    body.__annotations__["x"] = annotation
    return tool(body).signature.validate({"x": value})[1]["x"]


@pytest.mark.parametrize(
    ("annotation", "written", "meant"),
    [
        (float, "0.3", 0.3),
        (float, 2, 2.0),
        (int, 2.0, 2),
        (int, "7", 7),
        (bool, "true", True),
        (bool, "False", False),
        (Literal["left", "right"], "LEFT", "left"),
        (Colour, "Red", Colour.RED),
        (int | None, None, None),
        (float | None, "1.5", 1.5),
        (str | int, "12", "12"),
        (int | bool, True, True),
        (list[float], ["1", 2], [1.0, 2.0]),
        (dict[str, int], {"a": "1"}, {"a": 1}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Point, {"x": "1"}, Point(1.0, 0)),
        (Box, {"name": "b", "corner": {"x": 1, "y": "2"}}, Box(name="b", corner=Point(1.0, 2.0))),
        (list[Point], [{"x": 1}], [Point(1.0, 0)]),
        (Any, {"free": [1]}, {"free": [1]}),
    ],
)
def test_what_models_write_becomes_what_the_body_wants(annotation, written, meant):
    value = accepted(annotation, written)
    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize(
    ("annotation", "written", "says"),
    [
        (int, 2.5, "x: should be a whole number, not 2.5"),
        (int, True, "x: should be a whole number, not true"),
        (float, False, "x: should be a number, not false"),
        (float, "two", "x: should be a number"),
        (float, "nan", "x: should be a number"),
        (float, "1_0.5", "x: should be a number"),
        (int, "1_0", "x: should be a whole number"),
        (float, float("inf"), "finite"),
        (float, 10**400, "finite"),
        (bool, 1, "x: should be true or false, not 1"),
        (bool, "yes", "x: should be true or false"),
        (Literal["left", "right"], "up", 'one of "left", "right"'),
        (Literal["a", "A"], "á", "one of"),
        (str, 5, "x: should be a string, not 5"),
        (list[int], "1", "x: should be a list"),
        (list[int], [1, 2.5], "x[1]: should be a whole number"),
        (Point, {"y": 1}, "x.x: missing"),
        (Point, {"x": 1, "z": 2}, "x.z: unknown argument"),
        (Box, {"name": "b", "corner": {"x": True}}, "x.corner.x: should be a number"),
        (Box, {"name": "b", "corner": {"x": 1, "z": 2}}, "x.corner.z: unknown argument"),
        (list[Box], [{"name": "b", "corner": {"x": 1}, "size": 2}], "x[0].size: unknown argument"),
    ],
)
def test_what_is_not_certain_is_refused_by_name(annotation, written, says):
    with pytest.raises(ArgumentError) as caught:
        accepted(annotation, written)
    assert says in str(caught.value)


def test_other_keys_are_kept_where_the_type_allows_them():
    assert accepted(Crate, {"name": "b", "size": 3}).size == 3
    assert accepted(dict[str, int], {"size": 3}) == {"size": 3}


def test_a_literal_in_two_cases_is_not_guessed():
    with pytest.raises(ArgumentError):
        accepted(Literal["ab", "AB"], "Ab")
    assert accepted(Literal["ab", "AB"], "AB") == "AB"


def test_the_schema_has_descriptions_defaults_and_no_injected_parameters():
    @tool
    def drive(distance_m: float, goal: GoalHandle, ctx: ToolContext, speed: Literal["slow", "fast"] = "slow") -> str:
        """Drives straight.

        Args:
            distance_m: Metres; negative is backwards.
        """
        return ""

    assert drive.description == "Drives straight."
    assert drive.parameters == {
        "type": "object",
        "properties": {
            "distance_m": {"type": "number", "description": "Metres; negative is backwards."},
            "speed": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
        },
        "required": ["distance_m"],
        "additionalProperties": False,
    }
    json.dumps(drive.parameters)


def test_an_injected_parameter_may_be_optional():
    def drive(distance_m: float, ctx: ToolContext | None = None, goal: GoalHandle | None = None) -> str:
        """Drives."""
        return f"{distance_m} {ctx} {goal}"

    made = tool(drive)
    assert list(made.parameters["properties"]) == ["distance_m"]
    assert made.signature.injected == {"ctx": ToolContext, "goal": GoalHandle}


def test_a_description_stands_in_an_annotation_or_in_the_docstring():
    def water(
        liters: Annotated[float, Field(description="How much.")], bed: str, valve: Annotated[str, "Which valve."]
    ) -> str:
        """Waters.

        Args:
            bed: Which one.
        """
        return ""

    properties = tool(water).parameters["properties"]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        "liters": "How much.",
        "bed": "Which one.",
        "valve": "Which valve.",
    }


def test_a_default_may_be_a_field():
    def water(beds: Annotated[int, Field(2)], liters: int = Field(3, ge=1, description="How much.")) -> str:
        """Waters."""
        return f"{liters} {beds}"

    made = tool(water)
    assert made.parameters["properties"] == {
        "liters": {"type": "integer", "default": 3, "minimum": 1, "description": "How much."},
        "beds": {"type": "integer", "default": 2},
    }
    assert "required" not in made.parameters
    assert made.signature.validate({})[1] == {"liters": 3, "beds": 2}
    assert made.signature.validate({"liters": "4"})[1] == {"liters": 4, "beds": 2}
    with pytest.raises(ArgumentError, match="liters"):
        made.signature.validate({"liters": 0})


def test_a_parameter_called_title_or_like_a_pydantic_name_stays():
    @tool
    def write(title: str, model_config: int) -> str:
        """Writes."""
        return f"{title}{model_config}"

    assert set(write.parameters["properties"]) == {"title", "model_config"}
    assert write.function(**write.signature.validate({"title": "a", "model_config": 1})[1]) == "a1"


def test_the_function_stays_callable():
    @tool
    def double(x: float) -> float:
        """Doubles."""
        return 2 * x

    assert double(4) == 8
    assert double.__name__ == "double"


def test_a_decorated_method_is_a_tool_of_its_object():
    class Robot:
        def __init__(self, name):
            self.name = name

        @tool
        def who(self, loud: bool) -> str:
            """Says its name."""
            return self.name.upper() if loud else self.name

    made = Robot("robi").who
    assert made.parameters["required"] == ["loud"]
    assert made(loud=True) == "ROBI"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f(x): return x", "no type annotation; write x: str"),
        ("def f(*xs: int): return xs", "give every parameter a name"),
        ("def f(**xs: int): return xs", "give every parameter a name"),
        ("def f(x: int, /): return x", "give every parameter a name"),
        ("class C: pass\ndef f(x: C): return x", "no JSON Schema"),
        ("def f(x: 'Nowhere'): return x", "cannot be read"),
    ],
)
def test_a_signature_without_a_schema_is_refused_when_it_is_declared(source, says):
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102 - the functions under test are text
    with pytest.raises(ToolDefinitionError) as caught:
        tool(scope["f"])
    assert says in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_any_json_is_either_fitted_or_refused(value):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "number"}, "p": {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}]}},
        "additionalProperties": False,
        "$defs": {"P": {"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}}},
    }
    for given_value in (value, {"n": value}, {"p": value}, {"p": {"p": value}}):
        try:
            fitted = coerce(given_value, schema)
        except ArgumentError:
            continue
        assert isinstance(fitted, dict)
        assert not isinstance(fitted.get("n"), (bool, str))


@pytest.mark.timeout(20)
def test_a_schema_that_names_another_three_times_at_each_level_takes_no_longer_for_that():
    lists = [{"type": "array", "items": {"$ref": f"#/$defs/level{number + 1}"}} for number in range(20)]
    named = {
        f"level{number}": {"anyOf": [one, {**one, "title": "two"}, {**one, "title": "three"}]}
        for number, one in enumerate(lists)
    }
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/level0"}},
        "$defs": {**named, "level20": {"type": "string"}},
    }
    tree = 3
    for _ in range(20):
        tree = [tree]
    with pytest.raises(ArgumentError, match="should be a string, not 3"):
        coerce({"tree": tree}, schema)
