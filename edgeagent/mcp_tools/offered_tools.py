"""A server's tools as tools of an agent, and its results as results. Knows the protocol's values, and no connection.

What a server tells of itself is data: descriptions are cut and lose their control characters, and a schema that nothing
here understands keeps its tool out.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from edgeagent.characters import values_without_escapes, with_texts, without_escapes
from edgeagent.errors import EdgeAgentError
from edgeagent.llm.gbnf import Rules
from edgeagent.llm.schema import SchemaError, expression
from edgeagent.mcp_tools.server_settings import ServerSettings
from edgeagent.messages import MOST_PICTURE_BYTES, ToolResult, picture_type
from edgeagent.tools import Tool, ToolContext, ToolTraits
from edgeagent.tools.signature import SchemaSignature

if TYPE_CHECKING:
    import mcp_types

NAME_MAX: Final = 64
"""Characters of a tool's name, with that of its server; the limit of most model interfaces."""
TOLD_MAX: Final = 300
"""Characters of a description. Longer ones cost a small model its window."""
SCHEMA_MAX: Final = 16_000
"""Characters of a schema as JSON."""
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ud800-\udfff"
    r"\U000e0000-\U000e0fff]+"
)
"""Control characters, ends of lines, marks that turn the direction of writing, halves of characters, and what no person
sees and a model reads, such as the letters of Unicode's tags."""
_REFERENCE: Final = re.compile(r"#/\$defs/([^/]+)")
_DROPPED: Final = frozenset({"$schema", "$id", "$comment", "title", "examples", "example"})
"""Keywords that restrict nothing and cost a model tokens."""

Call = Callable[[str, dict[str, Any], ToolContext], ToolResult]
"""Calls a tool of a server by the server's name for it."""


class LeftOut(EdgeAgentError):
    """A tool that the agent can't have; the text says why."""


class ServedTool(Tool):
    """A tool of a server. ``served_by`` are the settings of the server."""

    def __init__(self, served_by: ServerSettings, function: Callable[..., Any], traits: ToolTraits, **of: Any) -> None:
        super().__init__(function, traits, **of)
        self.served_by = served_by


def one_line(text: str, limit: int) -> str:
    """A text of a server's as one line of at most ``limit`` characters, without control characters."""
    line = " ".join(_CONTROL.sub(" ", without_escapes(text[: 4 * limit])).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def offered(server: ServerSettings, spec: mcp_types.Tool, call: Call) -> ServedTool:
    """The tool of an agent for one of a server.

    Raises:
        LeftOut: Its name is too long, or nothing here understands its schema.
    """
    name = f"{server.name}_{re.sub(r'[^A-Za-z0-9_-]', '_', spec.name)}"
    if not spec.name or len(name) > NAME_MAX:
        raise LeftOut(f"a name has {NAME_MAX} characters at most, {server.name}_ included")
    schema = readable(spec.input_schema)
    hints = spec.annotations
    read_only = bool(hints and hints.read_only_hint)
    destructive = not read_only and not (hints is not None and hints.destructive_hint is False)
    told = one_line(spec.description or spec.title or (hints.title if hints else None) or spec.name, TOLD_MAX)

    def body(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return call(spec.name, arguments, context)

    return ServedTool(
        server,
        body,
        ToolTraits(
            read_only=read_only,
            destructive=destructive,
            motion=server.motion and not read_only,
            timeout_s=server.timeout_s,
            on_interrupt="cancel" if read_only or server.motion else "finish",
        ),
        name=name,
        signature=SchemaSignature(schema, description=told, injected={"context": ToolContext}),
    )


def readable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A server's schema of arguments as a tool's parameters.

    Raises:
        LeftOut: It has a part that nothing here understands, or is too large.
    """
    try:
        size = len(json.dumps(schema))
        if size > SCHEMA_MAX:
            raise LeftOut(f"its schema has {size} characters; {SCHEMA_MAX} are allowed")
        if schema.get("type", "object") != "object":
            raise LeftOut("its schema is not of type object")
        clean: dict[str, Any] = _clean(schema)
        definitions = schema.get("definitions")
        if definitions and isinstance(definitions, dict):
            clean["$defs"] = {**clean.get("$defs", {}), **{name: _part(item) for name, item in definitions.items()}}
        clean["type"] = "object"
        clean.setdefault("properties", {})
        clean.setdefault("additionalProperties", False)
        _check_references(clean, clean.get("$defs", {}))
        expression(Rules(), clean)
    except SchemaError as error:
        raise LeftOut(f"its schema is not understood: {one_line(str(error), TOLD_MAX)}") from None
    except (RecursionError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        raise LeftOut(f"its schema can't be read: {one_line(str(error), TOLD_MAX)}") from None
    return clean


def _clean(schema: Any) -> Any:
    """The schema without what says nothing and without its ``definitions``, with short descriptions."""
    if isinstance(schema, list):
        return [_part(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    clean: dict[str, Any] = {}
    for key, value in schema.items():
        if (key in _DROPPED and isinstance(value, str | list)) or key == "definitions":
            continue
        if key in ("properties", "$defs") and isinstance(value, dict):
            clean[key] = {_plain(name): _part(item) for name, item in value.items()}
        elif key == "items":
            clean[key] = _part(value)
        elif key == "description":
            clean[key] = one_line(str(value), TOLD_MAX)
        elif key == "$ref" and isinstance(value, str):
            clean[key] = value.replace("#/definitions/", "#/$defs/", 1)
        else:
            clean[key] = with_texts(value, _plain) if key in ("enum", "const", "default") else _clean(value)
    return clean


def _part(schema: Any) -> Any:
    """A schema within another one. ``true`` takes every value, as an empty one does, and ``false`` none."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return _clean(schema)


def _plain(text: str) -> str:
    """A name, or a value that a model may write, as it is.

    Raises:
        LeftOut: It has control characters.
    """
    if _CONTROL.search(text):
        raise LeftOut("its schema has control characters in a name or a value")
    return text


def _check_references(schema: Any, definitions: Mapping[str, Any]) -> None:
    """Lets only references pass that lead into ``$defs``, where ``coerce`` looks for them."""
    if isinstance(schema, list):
        for item in schema:
            _check_references(item, definitions)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            found = _REFERENCE.fullmatch(reference)
            if found is None or found[1] not in definitions:
                raise LeftOut(f"its schema is not understood: the reference {one_line(reference, 60)!r}")
        for item in schema.values():
            _check_references(item, definitions)


def as_result(result: mcp_types.CallToolResult) -> ToolResult:
    """Returns the result of a call: text as it is; pictures, sounds and files by name, which no model here can see.

    A picture that is the only one is the result's value, which the page shows, unless there is structured content.
    """
    structured = result.structured_content
    picture = None if structured is not None else _picture(result)
    texts = [text for part in result.content if (text := _told(part, shown=picture is not None))]
    if not texts and structured is not None:
        texts = [json.dumps(values_without_escapes(structured), ensure_ascii=False)]
    text = "\n".join(texts)
    if result.is_error:
        return ToolResult.error(text or "the tool failed, and does not say why")
    value = picture or text if structured is None else structured
    return ToolResult("", "", "ok", text or "done", value)


def _picture(result: mcp_types.CallToolResult) -> bytes | None:
    """Returns the picture of a result as bytes; None where there is none, a broken one, or more than one."""
    found: list[Any] = [part for part in result.content if part.type == "image"]
    if len(found) != 1 or len(found[0].data) > 4 * (MOST_PICTURE_BYTES // 3 + 1):
        return None
    with suppress(ValueError):
        data = base64.b64decode(found[0].data, validate=True)
        return data if picture_type(data) is not None else None
    return None


def _told(part: Any, *, shown: bool) -> str:
    """One part of a result in words.

    Args:
        shown: The picture of the result is its value.
    """
    match part.type:
        case "text":
            return str(part.text)
        case "image" | "audio":
            end = "" if shown and part.type == "image" else ", not shown"
            return f"[{part.type}, {one_line(part.mime_type, 60)}, {len(part.data) * 3 // 4} bytes{end}]"
        case "resource_link":
            return f"[{one_line(part.name, 100)}: {one_line(str(part.uri), 200)}]"
        case "resource":
            held = part.resource
            text = getattr(held, "text", None)
            return str(text) if text is not None else f"[{one_line(str(held.uri), 200)}, not shown]"
    return f"[{one_line(str(part.type), 60)}, not shown]"
