"""From a Python function to a JSON Schema, and from a model's JSON arguments to the function's keyword arguments.

pydantic makes the schema and does the validation; ``coerce`` is stricter and kinder where models need it to be. It
fits a value to the schema where the meaning is certain: "0.3" is a number and 2.0 an integer; 2.5 is no integer, and a
bool is never a number.
"""

from __future__ import annotations

import difflib
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from edgeagent.errors import EdgeAgentError, ToolDefinitionError

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

    Attributes:
        unbound: True for a method without its object.
        returns: Annotation of what the body returns; None if it has none.
    """

    unbound = False

    def __init__(self, function: Callable[..., Any], *, injected: tuple[type, ...] = ()) -> None:
        own = written(function)
        where = f"tool {getattr(function, '__name__', own.__qualname__)!r}"
        hints = _hints(own, where)
        self.returns: Any = hints.get("return")
        documentation = docstring_parser.parse(_documentation(function))
        bound = function.keywords if isinstance(function, partial) else {}
        texts = {p.arg_name: p.description for p in documentation.params if p.description}
        parts = (documentation.short_description, documentation.long_description)
        self.description = "\n".join(part for part in parts if part)
        self.injected: dict[str, type] = {}
        self._defaults: set[str] = set()
        """Parameters with a default that the body itself has."""
        fields: dict[str, Any] = {}
        for position, (name, parameter) in enumerate(_parameters(function, where).items()):
            if position == 0 and name == "self":
                self.unbound = True  # a method decorated in its class; its object binds it
                continue
            if name in bound:
                continue
            if parameter.kind in _NO_NAME:
                raise ToolDefinitionError(f"{where}: a model cannot supply {parameter}; give every parameter a name")
            if name not in hints:
                raise ToolDefinitionError(f"{where}: parameter {name!r} has no type annotation; write {name}: str")
            kind = _without_none(hints[name])
            if isinstance(kind, type) and issubclass(kind, injected):
                self.injected[name] = kind
                continue
            # An alias keeps names that pydantic reserves, such as model_config, usable as parameters.
            given: dict[str, Any] = {"alias": name}
            hint, default = hints[name], parameter.default
            said = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)]
            if name in texts or said:  # else the description of a Field stands
                given["description"] = texts.get(name) or said[0]
            if isinstance(default, FieldInfo):
                hint = Annotated[hint, default]
            elif default is not inspect.Parameter.empty:
                given["default"] = default
                self._defaults.add(name)
            fields[f"p_{name}"] = (hint, Field(**given))
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
        except Exception as error:  # a validator of the builder's
            raise ArgumentError(f"{type(error).__name__}: {error}") from error
        left_out = {f"p_{name}" for name in self._defaults} - checked.model_fields_set
        names = [name for name in self._model.model_fields if name not in left_out]
        return plain, {name.removeprefix("p_"): getattr(checked, name) for name in names}


class SchemaSignature:
    """The parameters of a tool whose JSON Schema somebody else wrote, such as a server of tools.

    The body takes two parameters: ``arguments``, the plain JSON, and those of ``injected``.

    Args:
        schema: JSON Schema of type object; every ``$ref`` leads into its ``$defs``.
        description: For the model.
        injected: Parameters that the loop supplies, by name.
    """

    unbound = False
    returns: Any = None

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
        try:
            return typing.get_type_hints(function, include_extras=True)
        except NameError:
            return typing.get_type_hints(function, localns=_names_around(function), include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolDefinitionError(f"{where}: its annotations cannot be read: {error}") from error


def _names_around(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Names of the functions in which a function is being declared, for annotations that are text: such a function's
    globals do not have them. None for one of a module or a class."""
    if "<locals>" not in getattr(function, "__qualname__", ""):
        return None
    frame: types.FrameType | None = sys._getframe(1)
    names: list[dict[str, Any]] = []
    while frame is not None:
        around = f"{frame.f_code.co_qualname}.<locals>."
        if frame.f_globals is getattr(function, "__globals__", None) and function.__qualname__.startswith(around):
            names.append(frame.f_locals)
        frame = frame.f_back
    return {name: value for local in reversed(names) for name, value in local.items()}


def _without_none(hint: Any) -> Any:
    """The type of an optional parameter; any other annotation as it is."""
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and typing.get_origin(hint) in (typing.Union, types.UnionType) else hint


def _parameters(function: Callable[..., Any], where: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError as error:
        raise ToolDefinitionError(f"{where}: {error}; write a function that calls it") from error


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


# --- what a model wrote, fitted to the schema -------------------------------------------------------------------------


_BOOLEANS: Final = {"true": True, "false": False}
_MAX_DEPTH: Final = 64
_LARGEST: Final = sys.float_info.max


class ArgumentError(EdgeAgentError):
    """Arguments that do not fit the schema; the text names each field by its path."""


def coerce(value: Any, schema: dict[str, Any]) -> Any:
    """Fits a JSON value to a schema with as little change as possible.

    Raises:
        ArgumentError: The value does not fit, even with "0.3" read as a number, 2.0 as an integer, "true" as a
            boolean, or an enum's value in another case.
    """
    return _coerce(value, schema, _Definitions(schema.get("$defs", {})), "", 0)


class _Definitions:
    """Schemas that a ``$ref`` names, and what each made of a value: two branches that name one ask it once, because the
    work would double at each level of a value else."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas
        self._known: dict[tuple[str, str, int], Any] = {}

    def fitted(self, value: Any, reference: str, path: str, depth: int) -> Any:
        """As ``_coerce``, by the schema of that reference."""
        name = reference.rsplit("/", 1)[-1]
        key = name, path, id(value)
        if key not in self._known:
            try:
                self._known[key] = _coerce(value, self._schemas[name], self, path, depth)
            except ArgumentError as error:
                self._known[key] = error
        if isinstance(known := self._known[key], ArgumentError):
            raise known
        return known


def _coerce(value: Any, schema: dict[str, Any], defs: _Definitions, path: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ArgumentError(f"{path or 'arguments'}: nested more than {_MAX_DEPTH} levels deep")
    if "$ref" in schema:
        return defs.fitted(value, schema["$ref"], path, depth + 1)
    if "const" in schema:
        return _choice(value, [schema["const"]], path)
    if "enum" in schema:
        return _choice(value, schema["enum"], path)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return _union(value, branches, defs, path, depth)
    match schema.get("type"):
        case "object":
            return _object(value, schema, defs, path, depth)
        case "array":
            return _array(value, schema, defs, path, depth)
        case "number":
            return _number(value, path)
        case "integer":
            return _integer(value, path)
        case "boolean":
            return _boolean(value, path)
        case "string" if not isinstance(value, str):
            raise _wrong(value, "a string", path)
        case "null" if value is not None:
            raise _wrong(value, "null", path)
        case _:
            return value


def _object(value: Any, schema: dict[str, Any], defs: _Definitions, path: str, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object", path)
    properties: dict[str, Any] = schema.get("properties", {})
    extra = schema.get("additionalProperties", not properties)  # a model that says nothing would drop them
    problems = []
    result = {}
    for key, item in value.items():
        inside = f"{path}.{key}" if path else str(key)
        if key not in properties and extra is False:
            near = difflib.get_close_matches(str(key), properties, n=1)
            hint = f", did you mean {near[0]!r}?" if near else f"; known: {', '.join(properties) or 'none'}"
            problems.append(f"{inside}: unknown argument{hint}")
            continue
        rule = properties.get(key, extra if isinstance(extra, dict) else {})
        try:
            result[key] = _coerce(item, rule, defs, inside, depth + 1)
        except ArgumentError as error:
            problems.append(str(error))
    missing = [key for key in schema.get("required", ()) if key not in value]
    problems += [f"{path + '.' if path else ''}{key}: missing" for key in missing]
    if problems:
        raise ArgumentError("; ".join(problems))
    return result


def _array(value: Any, schema: dict[str, Any], defs: _Definitions, path: str, depth: int) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, "a list", path)
    rules = schema.get("prefixItems", [])
    rest = schema.get("items") or {}
    return [
        _coerce(item, rules[i] if i < len(rules) else rest, defs, f"{path}[{i}]", depth + 1)
        for i, item in enumerate(value)
    ]


def _union(value: Any, branches: list[dict[str, Any]], defs: _Definitions, path: str, depth: int) -> Any:
    """The branch that takes the value unchanged, else the first that takes it at all."""
    changed = []
    problems = []
    for branch in branches:
        try:
            fitted = _coerce(value, branch, defs, path, depth + 1)
        except ArgumentError as error:
            problems.append(str(error))
            continue
        if type(fitted) is type(value) and fitted == value:
            return fitted
        changed.append(fitted)
    if not changed:
        raise ArgumentError(" or ".join(dict.fromkeys(problems)))
    return changed[0]


def _number(value: Any, path: str) -> float | int:
    if isinstance(value, str) and "_" not in value:
        try:
            value = float(value) if any(sign in value for sign in ".eE") else int(value)
        except ValueError:
            raise _wrong(value, "a number", path) from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(value, "a number", path)
    if not abs(value) <= _LARGEST:  # not so for nan either
        raise _wrong(value, "a finite number", path)
    return value


def _integer(value: Any, path: str) -> int:
    try:
        number = _number(value, path)
    except ArgumentError:
        raise _wrong(value, "a whole number", path) from None
    if number != int(number):
        raise _wrong(value, "a whole number", path)
    return int(number)


def _boolean(value: Any, path: str) -> bool:
    if isinstance(value, str) and value.strip().lower() in _BOOLEANS:
        return _BOOLEANS[value.strip().lower()]
    if not isinstance(value, bool):
        raise _wrong(value, "true or false", path)
    return value


def _choice(value: Any, choices: list[Any], path: str) -> Any:
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    if isinstance(value, str):
        folded = value.strip().casefold()
        near = [choice for choice in choices if isinstance(choice, str) and choice.casefold() == folded]
        near = near or [choice for choice in choices if not isinstance(choice, str) and json.dumps(choice) == folded]
        if len(near) == 1:
            return near[0]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        for choice in choices:
            if isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == value:
                return choice
    raise _wrong(value, "one of " + ", ".join(json.dumps(choice) for choice in choices), path)


def _wrong(value: Any, wanted: str, path: str) -> ArgumentError:
    text = json.dumps(value, ensure_ascii=False, default=str)
    shown = text if len(text) <= 80 else text[:77] + "..."
    return ArgumentError(f"{path or 'arguments'}: should be {wanted}, not {shown}")
