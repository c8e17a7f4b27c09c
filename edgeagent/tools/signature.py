"""From a Python function to a JSON Schema, and from a model's JSON arguments to the function's keyword arguments.

pydantic makes the schema and does the validation; ``coerce`` is stricter and kinder where models need it to be.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, Final

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from edgeagent.errors import ToolDefinitionError
from edgeagent.tools.coerce import ArgumentError, coerce

_NO_NAME: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


class Signature:
    """The parameters of one tool: their schema, their validation, and the names of injected ones.

    Args:
        function: The body, a plain or an async function or a bound method.
        injected: Types whose parameters the loop supplies; they are not in the schema.

    Raises:
        ToolDefinitionError: A parameter has no annotation, no schema, or no name that JSON could use.
    """

    def __init__(self, function: Callable[..., Any], *, injected: tuple[type, ...] = ()) -> None:
        where = f"tool {getattr(function, '__name__', function)!r}"
        hints = _hints(function, where)
        documentation = docstring_parser.parse(inspect.getdoc(function) or "")
        texts = {p.arg_name: p.description for p in documentation.params if p.description}
        parts = (documentation.short_description, documentation.long_description)
        self.description = "\n".join(part for part in parts if part)
        self.injected: dict[str, type] = {}
        fields: dict[str, Any] = {}
        for position, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
            if position == 0 and name == "self":
                continue  # a method decorated in its class; its object binds it
            if parameter.kind in _NO_NAME:
                raise ToolDefinitionError(f"{where}: a model cannot supply {parameter}; give every parameter a name")
            if name not in hints:
                raise ToolDefinitionError(f"{where}: parameter {name!r} has no type annotation; write {name}: str")
            if isinstance(hints[name], type) and issubclass(hints[name], injected):
                self.injected[name] = hints[name]
                continue
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            # An alias keeps names that pydantic reserves, such as model_config, usable as parameters.
            fields[f"p_{name}"] = (hints[name], Field(default, alias=name, description=texts.get(name)))
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
