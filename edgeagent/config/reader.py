"""The reader of the settings: a TOML file, then the environment, then the flags of a command; the last one wins.

Knows the table of settings (``rows``) and nothing of what they do. A wrong setting is never skipped: ``ConfigError``
says where it stands.
"""

from __future__ import annotations

import difflib
import logging
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from edgeagent.config.rows import EXPERT, LISTS, PREFIX, SETTINGS, TABLES, WHOLE, Config, Setting
from edgeagent.errors import ConfigError
from edgeagent.resources import expanded

logger = logging.getLogger(__name__)

CONFIG_FILE: Final = "config.toml"
_MODEL_SUFFIX: Final = ".gguf"
_MANY_LINES: Final = 5_000
_SHOWN_BITS: Final = 200
"""Of a number in a message; Python refuses to write out those of thousands of digits."""
_ITEM: Final = re.compile(r"(\w+)\[(\d+)\]\.(.+)", re.DOTALL)
"""A setting in an item of a list of tables, as ``_flat`` names it."""
_ELSEWHERE: Final = frozenset({"EDGEAGENT_EMBEDDED", "EDGEAGENT_MODELS", "EDGEAGENT_SERVED"})
"""Variables that are no settings: whether ``scripts/run`` fetches models, their folder (``models.store``), and the mark
of a server of tools (``mcp_tools``)."""
_WORDS: Final = {"true": True, "false": False, "1": True, "0": False}
_KINDS: Final = {
    "boolean": "true or false",
    "text": "a text",
    "texts": "a list of texts",
    "phrases": "a text, phrases with commas between them",
    "sounds": 'words with their phones, such as robi = "R OW B IY"',
    "variables": 'texts by their names, such as { LANG = "C.UTF-8" }',
    "path": "a path",
    "number": "a number",
    "integer": "a whole number",
}


def load_config(
    file: Path | None = None, *, environ: Mapping[str, str] = os.environ, flags: Mapping[str, object] | None = None
) -> Config:
    """The settings as they are now.

    Args:
        file: A TOML file; None takes ``config.toml`` of the user's folder for settings, if there is one.
        environ: ``EDGEAGENT_MODEL``, ``EDGEAGENT_SPEED`` and so on.
        flags: By the name of the setting; None was not given.

    Raises:
        ConfigError: The file can't be read, or a setting is unknown, of the wrong type or out of range.
    """
    values: dict[str, Any] = {}
    chosen = file if file is not None else _users_file()
    if chosen is not None:
        values |= _from_file(chosen)
    _warn_of_unknown(environ)
    for name, setting in SETTINGS.items():
        if setting.variable and (text := environ.get(setting.variable)):
            values[name] = _checked(setting, _parsed(setting, text), setting.variable, Path())
        flag = (flags or {}).get(name)
        if flag is not None:
            values[name] = _checked(setting, flag, setting.flag or name, Path())
    tree: dict[str, Any] = {}
    given = set(values)
    for name in LISTS:
        if name in values:
            tree[name] = values.pop(name)
    for name, value in values.items():
        table, _, key = SETTINGS[name].kept.rpartition(".")
        (tree.setdefault(table, {}) if table else tree)[key] = value
    return Config(**tree, given=frozenset(given))


def _warn_of_unknown(environ: Mapping[str, str]) -> None:
    """Warns of variables that look like settings. They may belong to another program, so they are no errors."""
    known = {setting.variable for setting in SETTINGS.values() if setting.variable} | _ELSEWHERE
    names = [variable.removeprefix(PREFIX) for variable in known]
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in known:
            continue
        name = variable.removeprefix(PREFIX)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        if (expert := f"{EXPERT}.{name.lower()}") in SETTINGS:
            hint = f"it has no variable, set {expert!r} in a file"
        else:
            hint = f"did you mean {PREFIX}{near[0]}?" if near else "docs/reference/config.md lists them"
        logger.warning("there is no setting %s; %s", variable, hint)


def _users_file() -> Path | None:
    import platformdirs

    path = platformdirs.user_config_path("edgeagent") / CONFIG_FILE
    return path if path.exists() else None


def read_toml(path: Path, what: str) -> tuple[str, dict[str, Any]]:
    """Reads a TOML document.

    Args:
        what: The document's contents in words, such as "the settings".

    Returns:
        Its text and its table.

    Raises:
        ConfigError: The file can't be read, or is not TOML; with its line.
    """
    try:
        text = expanded(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot read {what}: {getattr(error, 'strerror', None) or error}") from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        where, why = (f"{path}:{place[1]}", str(error)[: place.start()]) if place else (str(path), str(error))
        raise ConfigError(f"{where}: this is not TOML: {why}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except ValueError as error:  # a number with thousands of digits
        raise ConfigError(f"{path}: this is not TOML: {error}") from None


def _from_file(path: Path) -> dict[str, Any]:
    text, table = read_toml(path, "the settings")
    values: dict[str, Any] = {}
    lists = {name: [dict[str, Any]() for _ in table[name]] for name in LISTS if _is_list(table.get(name))}
    for key, value in _flat(table):
        of_item = _ITEM.fullmatch(key)
        of_item = of_item if of_item and int(of_item[2]) < len(lists.get(of_item[1], ())) else None
        setting = LISTS[of_item[1]].get(of_item[3]) if of_item else SETTINGS.get(key)
        try:
            if setting is None:
                raise ConfigError(_unknown(key, of_item[1] if of_item else ""))
            checked = _checked(setting, value, setting.name, expanded(path).parent)
        except ConfigError as error:
            raise ConfigError(f"{path}:{line_of_key(text, key)}: {error}") from None
        if of_item:
            lists[of_item[1]][int(of_item[2])][of_item[3]] = checked
        else:
            values[key] = checked
    return values | {name: tuple(items) for name, items in lists.items()}


def _is_list(value: object) -> bool:
    """True for the items of a ``[[list]]``."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys of a file; those of a table of ours as TABLE.KEY, those of an item of a list as LIST[INDEX].KEY."""
    for key, value in table.items():
        if key in LISTS and _is_list(value):
            for index, item in enumerate(value):
                yield from ((f"{key}[{index}].{inner}", setting) for inner, setting in item.items())
            continue
        if key in TABLES and isinstance(value, dict):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        elif key in WHOLE and isinstance(value, str):
            yield from ((name, value) for name in SETTINGS if name.startswith(f"{key}."))
        else:
            yield key, value


def _unknown(key: str, of_list: str = "") -> str:
    """A key that is no setting, and what may have been meant. ``of_list`` is the list in whose item it stands."""
    if key in LISTS:
        return f"{key} is a list of tables: write [[{key}]], and its settings below, such as {next(iter(LISTS[key]))}"
    table, _, last = key.rpartition(".")
    if of_list:
        near = difflib.get_close_matches(last, LISTS[of_list], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(LISTS[of_list])}"
        return f"[[{of_list}]] has no setting {last!r}; {hint}"
    mates = [name.rpartition(".")[2] for name in SETTINGS if name.startswith(f"{table or key}.")]
    if key in TABLES:
        return f"{key} is a table: write [{key}], and its settings below, such as {mates[0]}"
    near = [name for name in SETTINGS if name.rpartition(".")[2] == last]
    near = near or difflib.get_close_matches(key.lower(), (*TABLES, *SETTINGS), n=1, cutoff=0.5)
    near = [name for name in near if name != table]
    top = [name for name in SETTINGS if "." not in name]
    known = mates or [*top, *(f"[{name}]" for name in TABLES), *(f"[[{name}]]" for name in LISTS)]
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"there is no setting {key!r}; {hint}"


def line_of_key(text: str, key: str) -> int:
    """The line, from 1, of the statement that brings a key, such as "model" or "engine.threads", into a TOML document.

    Statements of TOML stand one after the other, so a document that is cut after one is a document too: the key comes
    with the first cut that parses and has it, and its statement begins after the last cut before that parses.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    begin = 1
    for count in range(1, min(len(lines), _MANY_LINES) + 1):
        try:
            table = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value of several lines
        if key in dict(_flat(table)):
            return begin
        begin = count + 1
    return begin


def _parsed(setting: Setting, text: str) -> object:
    """A value from the environment; text that is no number stays text, and is refused as that."""
    try:
        match setting.kind:
            case "number":
                return float(text)
            case "integer":
                return int(text)
            case "boolean":
                return _WORDS.get(text.lower(), text)
            case "texts":
                return [one.strip() for one in text.split(",") if one.strip()]
            case "sounds":
                pairs = [pair.split("=") for pair in text.split(",")]
                return {word.strip(): phones.strip() for word, phones in pairs}
    except ValueError:
        pass
    return text


def _checked(setting: Setting, value: object, where: str, folder: Path) -> object:
    """The value as ``Config`` holds it. ``folder`` is where a relative path begins.

    Raises:
        ConfigError: It is of the wrong type or out of range.
    """
    match setting.kind, value:
        case "boolean", bool():
            return value
        case "phrases", str():
            return value
        case "sounds", dict() if all(isinstance(phones, str) for phones in value.values()):
            return value
        case "variables", dict() if all(
            isinstance(text, str) and "\0" not in name + text for name, text in value.items()
        ):
            return value
        case "texts", list() if all(isinstance(one, str) and one for one in value):
            return tuple(str(_located(setting, one, folder)) for one in value)
        case "texts", str() if value:
            return (str(_located(setting, value, folder)),)
        case "text" | "path", str() | Path() if str(value) and "\0" not in str(value):  # no path has a NUL in it
            if setting.choices and value not in setting.choices:
                raise ConfigError(f"{where}: should be one of {', '.join(setting.choices)}, not {_shown(value)}")
            return _located(setting, str(value), folder)
        case ("number", float() | int()) | ("integer", int()) if not isinstance(value, bool):
            number = value if isinstance(value, (float, int)) else math.nan
            if setting.low <= number <= setting.high:
                return float(number) if setting.kind == "number" else number
            most = f" and at most {setting.high}" if setting.open_ended and number > setting.high else ""
            raise ConfigError(f"{where}: should be {setting.range}{most}, not {_shown(value)}")
    raise ConfigError(f"{where}: should be {_KINDS[setting.kind]}, not {_shown(value)}")


def _located(setting: Setting, text: str, folder: Path) -> str | Path:
    """Paths of a settings file begin at its folder. The name of a model or a device is no path."""
    if setting.kind == "path":
        return folder / expanded(text)
    if not setting.names_file:
        return text
    is_path = text.endswith(_MODEL_SUFFIX) or os.sep in text
    return str(folder / expanded(text)) if is_path else text


def _shown(value: object) -> str:
    match value:
        case dict():
            return "a table"
        case list():
            return "a list"
        case bool():
            return str(value).lower()
        case str() if len(value) > 60:
            return repr(value[:57] + "...")
        case str() | Path():
            return repr(str(value))
        case int() if value.bit_length() > _SHOWN_BITS:
            return f"a number of {value.bit_length():,} bits"
        case _:
            return str(value)
