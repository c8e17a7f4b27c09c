"""What a server tells of its tools, whatever it is, becomes a tool or a sentence."""

import base64
from contextlib import suppress
from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.mcp_tools import LeftOut, ServerSettings, as_result, offered, offered_tools, readable
from edgeagent.messages import MOST_PICTURE_BYTES
from edgeagent.tools import ArgumentError, coerce

SERVER = ServerSettings(name="shop", url="http://127.0.0.1/")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    """type properties required items enum const anyOf oneOf allOf not $ref $defs definitions additionalProperties
    prefixItems minimum pattern maxLength title description default minItems format if""".split()
)
SCHEMAS = st.recursive(
    ANYTHING | st.sampled_from(["string", "object", "array", "#/$defs/a", "#", ["string", "null"]]),
    lambda inner: (
        st.dictionaries(KEYWORDS, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=20,
)


def spec(name: str = "saw", schema: Any = None, **fields: Any) -> mcp_types.Tool:
    return mcp_types.Tool(name=name, input_schema=schema or {"type": "object"}, **fields)


def nobody(*_: object) -> Any:
    raise AssertionError("nobody calls it")


@given(schema=st.dictionaries(KEYWORDS, SCHEMAS, max_size=5), arguments=st.dictionaries(st.text(max_size=2), ANYTHING))
def test_every_schema_is_read_or_refused(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    try:
        read = readable(schema)
    except LeftOut:
        return
    assert read["type"] == "object"
    with suppress(ArgumentError):
        coerce(arguments, read)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"properties": {"a": {"not": {}}}}, "the keyword 'not'"),
        ({"properties": {"a": False}}, "the keyword 'not'"),
        ({"properties": {"a": {"$ref": "https://example.org/a"}}}, "the reference"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "the reference"),
        ({"properties": {"a": {"$ref": "#"}}}, "the reference"),
        ({"patternProperties": {"a": {}}}, "the keyword 'patternProperties'"),
        ({"type": "array"}, "not of type object"),
        ({"properties": {"a\x07": {}}}, "control characters"),
        ({"properties": {"a": {"enum": ["x\x1b[31m"]}}}, "control characters"),
        ({"properties": {"a": {"enum": ["x" * 20_000]}}}, "characters; 16000 are allowed"),
        ({"properties": ["a"]}, "the keyword 'properties'"),
        ({"properties": {"a": {"type": "integer", "maximum": 10**400}}}, "can't be read"),
    ],
)
def test_a_schema_that_nothing_here_understands_is_told(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(LeftOut, match=why):
        readable(schema)


def test_a_schema_keeps_what_restricts_and_loses_what_only_costs() -> None:
    read = readable(
        {
            "$schema": "https://json-schema.org/draft-07/schema#",
            "type": "object",
            "title": "SawArguments",
            "properties": {
                "title": {
                    "type": "string",
                    "title": "Title",
                    "examples": ["x"],
                    "description": "a\n\tb\x00" + "c" * 999,
                },
                "size": {"$ref": "#/definitions/Size"},
                "board": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["title"],
            "definitions": {"Size": {"enum": ["small", "large"], "title": "Size"}},
        }
    )
    described = read["properties"]["title"].pop("description")
    assert described.startswith("a b c")
    assert len(described) == 300
    assert read == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "size": {"$ref": "#/$defs/Size"},
            "board": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["title"],
        "$defs": {"Size": {"enum": ["small", "large"]}},
        "additionalProperties": False,
    }
    assert coerce({"title": "x", "size": "Large"}, read) == {"title": "x", "size": "large"}


def test_a_schema_that_is_true_takes_every_value() -> None:
    schema = {"properties": {"value": True, "list": {"type": "array", "items": True}, "size": {"$ref": "#/$defs/size"}}}
    read = readable({**schema, "$defs": {"size": {"anyOf": [True]}}})
    given_values = {"value": {"a": [None]}, "list": [1, "x"], "size": 3}
    assert coerce(given_values, read) == given_values


def test_a_description_has_nothing_that_a_model_reads_and_a_person_does_not_see() -> None:
    unseen = "".join(chr(0xE0000 + ord(char)) for char in "scrap all") + "\u200b\u2060\ufeff\u061c\ud800"
    assert offered_tools.one_line(f"Add.{unseen} Two.", 300) == "Add. Two."
    with pytest.raises(LeftOut, match="control characters"):
        readable({"properties": {"a": {"enum": [f"x{unseen}"]}}})


def test_names_are_made_of_what_a_models_tools_may_have() -> None:
    assert offered(SERVER, spec("files/read.all now"), nobody).name == "shop_files_read_all_now"
    for name in ("", "x" * 60):
        with pytest.raises(LeftOut, match="64 characters at most"):
            offered(SERVER, spec(name), nobody)


@pytest.mark.parametrize(
    ("hints", "traits"),
    [
        (None, (False, True)),
        ({}, (False, True)),
        ({"destructive_hint": False}, (False, False)),
        ({"read_only_hint": True}, (True, False)),
        ({"read_only_hint": True, "destructive_hint": True}, (True, False)),
    ],
)
def test_a_tool_that_does_not_say_so_is_asked_about(hints: Any, traits: tuple[bool, bool]) -> None:
    annotations = None if hints is None else mcp_types.ToolAnnotations(**hints)
    made = offered(SERVER, spec(annotations=annotations), nobody).traits
    assert (made.read_only, made.destructive) == traits


def _image(data: str) -> Any:
    return mcp_types.ImageContent(type="image", data=data, mime_type="image/png")


@pytest.mark.parametrize("picture", [b"\x89PNG\r\n\x1a\nrest", b"\xff\xd8\xffrest"], ids=["PNG", "JPEG"])
def test_one_picture_is_the_value_of_a_result(picture: bytes) -> None:
    text = mcp_types.TextContent(type="text", text="the bench")
    result = as_result(mcp_types.CallToolResult(content=[text, _image(base64.b64encode(picture).decode())]))
    assert result.value == picture
    assert result.text == f"the bench\n[image, image/png, {len(base64.b64encode(picture)) * 3 // 4} bytes]"


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()


@pytest.mark.parametrize(
    "parts",
    [
        [_image(PNG), _image(PNG)],
        [_image("QUJDRA==")],
        [_image(f"{PNG}?")],
        [_image("Ĝ")],
        [_image(base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(MOST_PICTURE_BYTES)).decode())],
    ],
    ids=["two", "no picture", "no base64", "no ASCII", "too large"],
)
def test_what_is_no_picture_alone_is_told_in_words(parts: list[Any]) -> None:
    result = as_result(mcp_types.CallToolResult(content=parts))
    assert (result.status, result.value) == ("ok", result.text)


def test_structured_content_goes_before_a_picture() -> None:
    assert as_result(mcp_types.CallToolResult(content=[_image(PNG)], structured_content={"a": 1})).value == {"a": 1}


def test_every_kind_of_content_is_told() -> None:
    parts: list[Any] = [
        mcp_types.TextContent(type="text", text="red"),
        mcp_types.AudioContent(type="audio", data="QUJDRA==", mime_type="audio/wav"),
        mcp_types.ResourceLink(type="resource_link", name="plan\x07", uri="file:///plan.txt"),
        mcp_types.EmbeddedResource(
            type="resource", resource=mcp_types.TextResourceContents(uri="file:///a", text="inside")
        ),
        mcp_types.EmbeddedResource(
            type="resource", resource=mcp_types.BlobResourceContents(uri="file:///b", blob="QQ==")
        ),
    ]
    result = as_result(mcp_types.CallToolResult(content=parts))
    assert result.text.splitlines() == [
        "red",
        "[audio, audio/wav, 6 bytes, not shown]",
        "[plan: file:///plan.txt]",
        "inside",
        "[file:///b, not shown]",
    ]
    only = as_result(mcp_types.CallToolResult(content=[], structured_content={"a": [1]}))
    assert (only.text, only.value) == ('{"a": [1]}', {"a": [1]})
    assert as_result(mcp_types.CallToolResult(content=[])).text == "done"
    failed = as_result(mcp_types.CallToolResult(content=[], is_error=True))
    assert (failed.status, failed.text) == ("error", "the tool failed, and does not say why")
