"""Calls that are written a little wrong: read where there is one reading, and left alone where there are two."""

from __future__ import annotations

import ast
import html
import io
import itertools
import json
import re
import tokenize
import warnings
from typing import Any, Final, NoReturn

_ESCAPED: Final = re.compile(r"&(?:quot|#34|#x22);")
_STRANGE_ESCAPE: Final = re.compile(r"""(?<!\\)(?:\\\\)*\\[^"'\\/bfnrtu]""")
_WORDS: Final = {"true": True, "false": False, "null": None}


def loads(text: str) -> Any:
    """The value of a JSON text, or of a text that says the same in another spelling.

    Read are: line breaks inside strings; JSON whose quotes are HTML escapes; Python's quotes, True, False, None and
    commas before a closing bracket.

    Raises:
        ValueError: It is none of these; also NaN, infinities and numbers of more digits than Python reads.
    """
    try:
        return _json(text)
    except ValueError:
        pass
    if _ESCAPED.search(text) and '"' not in text:
        return _json(html.unescape(text))
    return literal(text)


def literal(text: str) -> Any:
    """The value of a Python literal, in which JSON's true, false and null are words, too.

    Raises:
        ValueError: It is none.
    """
    return value_of(parse(text))


def parse(text: str) -> ast.expr:
    """A Python expression with one reading.

    Raises:
        ValueError: It is none; or it has an escape that JSON does not know, or two strings side by side, where a comma
            or a bracket may be missing.
    """
    if _STRANGE_ESCAPE.search(text):
        raise ValueError("an escape that is none in JSON")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(text.strip(), mode="eval").body
        kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline)]
    except (SyntaxError, Warning, RecursionError, MemoryError, tokenize.TokenError) as error:
        raise ValueError(str(error)) from error
    if any(pair == (tokenize.STRING, tokenize.STRING) for pair in itertools.pairwise(kinds)):
        raise ValueError("two strings side by side")
    return tree


def value_of(node: ast.expr) -> Any:
    """The JSON value of a parsed literal.

    Raises:
        ValueError: It is not made of constants, lists and dicts alone.
    """
    match node:
        case ast.Constant(value=str() | int() | float() | None):
            return node.value
        case ast.Name(id=word) if word in _WORDS:
            return _WORDS[word]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if number is not True:
            return -number
        case ast.List(elts=items):
            return [value_of(item) for item in items]
        case ast.Dict(keys=keys, values=values) if all(
            isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys
        ):
            pairs = zip(keys, values, strict=True)
            return {key.value: value_of(value) for key, value in pairs if isinstance(key, ast.Constant)}
    raise ValueError("not a literal")


def _json(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
