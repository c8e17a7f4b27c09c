"""From a Python function to a JSON Schema, and from a model's JSON arguments to the function's keyword arguments.

pydantic makes the schema and does the validation; ``coerce`` is stricter and kinder where models need it to be.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from edgeagent.errors import ToolDefinitionError
from edgeagent.tools.coercion import ArgumentError, coerce

_NO_NAME: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


def innermost(body: Any) -> Any:
    """The function, or the object that can be called, below a partial."""
    while isinstance(body, partial):
        body = body.func
    return body


def is_async(function: object) -> bool:
    """True for what returns a coroutine when it is called: an async function, a partial or an object of one."""
    return inspect.iscoroutinefunction(innermost(function)) or inspect.iscoroutinefunction(written(function))


def written(body: Any) -> Any:
    """The function that somebody wrote, with its annotations: below a partial, or in an object's class."""
    body = innermost(body)
    return body if inspect.isroutine(body) else getattr(type(body), "__call__", None)  # noqa: B004  the method is wanted


class Signature:
    """The parameters of one tool: their schema, their validation, and the names of injected ones.

    Args:
        function: The body: a plain or an async function, a bound method, an object that can be called, or a partial,
            whose arguments no model sees.
        injected: Types whose parameters the loop supplies; they are not in the schema.

    Raises:
        ToolDefinitionError: A parameter has no annotation, no schema, or no name that JSON could use.
    """

    def __init__(self, function: Callable[..., Any], *, injected: tuple[type, ...] = ()) -> None:
        own = written(function)
        where = f"tool {getattr(function, '__name__', own.__qualname__)!r}"
        hints = _hints(own, where)
        documentation = docstring_parser.parse(_documentation(function))
        bound = function.keywords if isinstance(function, partial) else {}
        texts = {p.arg_name: p.description for p in documentation.params if p.description}
        parts = (documentation.short_description, documentation.long_description)
        self.description = "\n".join(part for part in parts if part)
        self.injected: dict[str, type] = {}
        fields: dict[str, Any] = {}
        for position, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
            if position == 0 and name == "self":
                continue  # a method decorated in its class; its object binds it
            if name in bound:
                continue
            if parameter.kind in _NO_NAME:
                raise ToolDefinitionError(f"{where}: a model cannot supply {parameter}; give every parameter a name")
            if name not in hints:
                raise ToolDefinitionError(f"{where}: parameter {name!r} has no type annotation; write {name}: str")
            if isinstance(hints[name], type) and issubclass(hints[name], injected):
                self.injected[name] = hints[name]
                continue
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            # An alias keeps names that pydantic reserves, such as model_config, usable as parameters.
            field = Field(default, alias=name)
            if name in texts:  # else the description of an Annotated Field stands
                field = Field(default, alias=name, description=texts[name])
            fields[f"p_{name}"] = (hints[name], field)
        config = ConfigDict(extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=False)
        try:
            self._model: type[BaseModel] = create_model("Arguments", __config__=config, **fields)
            self.schema: dict[str, Any] = _without_titles(self._model.model_json_schema())
        except (PydanticUserError, TypeError) as error:
            raise ToolDefinitionError(f"{where}: its signature has no JSON Schema: {error}") from error
        self.schema.setdefault("properties", {})

    def validate(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Checks a model's arguments.

        Returns:
            The arguments as plain JSON after coercion, and as the Python values that the body takes.

        Raises:
            ArgumentError: One or more arguments are wrong; the text names each by its path.
        """
        plain: dict[str, Any] = coerce(arguments, self.schema)
        try:
            checked = self._model.model_validate(plain)
        except ValidationError as error:
            problems = (f"{_path(item['loc'])}: {item['msg']}" for item in error.errors())
            raise ArgumentError("; ".join(problems)) from error
        values = {name.removeprefix("p_"): getattr(checked, name) for name in checked.model_fields_set}
        return plain, values


class SchemaSignature:
    """The parameters of a tool whose JSON Schema somebody else wrote, such as a server of tools.

    The body takes two parameters: ``arguments``, the plain JSON, and those of ``injected``.

    Args:
        schema: JSON Schema of type object; every ``$ref`` leads into its ``$defs``.
        description: For the model.
        injected: Parameters that the loop supplies, by name.
    """

    def __init__(self, schema: dict[str, Any], *, description: str, injected: dict[str, type]) -> None:
        self.schema, self.description, self.injected = schema, description, injected

    def validate(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """As ``Signature.validate``, but only types, choices and names are checked.

        Raises:
            ArgumentError: One or more arguments are wrong; the text names each by its path.
        """
        plain: dict[str, Any] = coerce(arguments, self.schema)
        return plain, {"arguments": plain}


def _documentation(body: Any) -> str:
    """The docstring; an object's method that has none is told of by its class."""
    body = innermost(body)
    if inspect.isroutine(body):
        return inspect.getdoc(body) or ""
    own = type(body).__call__.__doc__
    return inspect.cleandoc(own) if own else inspect.getdoc(type(body)) or ""


def _hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolDefinitionError(f"{where}: its annotations cannot be read: {error}") from error


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "arguments"


def _without_titles(schema: Any) -> Any:
    """The schema without pydantic's titles, which cost a model tokens and say nothing. Keys of properties stay."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    clean: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            clean[key] = {name: _without_titles(item) for name, item in value.items()}
        else:
            clean[key] = value if key in ("default", "enum", "const") else _without_titles(value)
    return clean
