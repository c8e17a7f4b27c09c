"""The settings, in one tree: a TOML file, then the environment, then the flags of the command line; the last one wins.

Knows what a setting looks like, not what it does. A wrong one is never skipped: ``ConfigError`` says where it stands.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import ConfigError

CONFIG_FILE: Final = "config.toml"
_MODEL_SUFFIX: Final = ".gguf"
_MANY_LINES: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a person may set."""

    model: str = "nano"
    """A name of the catalogue, or the path of a .gguf file."""
    app: Path | None = None
    """A Python file with an agent of one's own; None is the house robot."""
    speed: float = 1.0
    """Simulated seconds per second, 0.1 to 1,000."""
    seed: int = 0
    """Where the things in the flat lie, and what the person in it does."""
    deadline_s: float = 120.0
    """A run is aborted after so many seconds: simulated ones if there is a simulated robot, else those of the wall."""
    log: Path | None = None
    """Where to append every event as a line of JSON."""
    session: Path | None = None
    """A journal that keeps the conversation; what it holds is resumed."""
    audit: Path | None = None
    """Where to append what every run did, for ``edgeagent replay``."""
    max_tokens: int | None = None
    """Of one reply of the model; None leaves it to the agent."""
    temperature: float | None = None
    """0 always takes the likeliest token; None leaves it to the agent."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """How the engine uses the machine: what was set of the table [engine], by the names of its settings."""
    audio: Mapping[str, Any] = field(default_factory=dict)
    """Which devices, and how: what was set of the table [audio]."""
    speech: Mapping[str, Any] = field(default_factory=dict)
    """The voice: what was set of the table [speech]."""
    ears: Mapping[str, Any] = field(default_factory=dict)
    """How people are heard: what was set of the table [ears]."""
    conversation: Mapping[str, Any] = field(default_factory=dict)
    """How turns are taken: what was set of the table [conversation]."""
    given: frozenset[str] = frozenset()
    """Names of the settings that somebody set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """How a setting is written. ``low`` and ``high`` are the range of a number, ends included."""

    variable: str
    flag: str | None
    kind: str
    low: float = -math.inf
    high: float = math.inf
    what: str = ""
    choices: tuple[str, ...] = ()
    """Of a text; empty: any."""


_SETTINGS: Final[dict[str, _Setting]] = {
    "model": _Setting(variable="EDGEAGENT_MODEL", flag="--model", kind="text"),
    "app": _Setting(variable="EDGEAGENT_APP", flag="--app", kind="path"),
    "speed": _Setting(
        variable="EDGEAGENT_SPEED", flag="--speed", kind="number", low=0.1, high=1000, what="from 0.1 to 1000"
    ),
    "seed": _Setting(variable="EDGEAGENT_SEED", flag="--seed", kind="integer", low=0, high=2**63 - 1, what="0 or more"),
    "deadline_s": _Setting(
        variable="EDGEAGENT_DEADLINE",
        flag="--deadline",
        kind="number",
        low=0.001,
        high=1e6,
        what="from 0.001 to 1000000 seconds",
    ),
    "log": _Setting(variable="EDGEAGENT_LOG", flag="--log", kind="path"),
    "session": _Setting(variable="EDGEAGENT_SESSION", flag="--session", kind="path"),
    "audit": _Setting(variable="EDGEAGENT_AUDIT", flag="--audit", kind="path"),
    "max_tokens": _Setting(
        variable="EDGEAGENT_MAX_TOKENS", flag=None, kind="integer", low=1, high=1_000_000, what="1 or more"
    ),
    "temperature": _Setting(
        variable="EDGEAGENT_TEMPERATURE", flag=None, kind="number", low=0, high=5, what="from 0 to 5"
    ),
    "engine.context_window": _Setting(
        variable="EDGEAGENT_CONTEXT_WINDOW", flag=None, kind="integer", low=512, high=10_000_000, what="512 or more"
    ),
    "engine.threads": _Setting(
        variable="EDGEAGENT_THREADS", flag=None, kind="integer", low=1, high=1024, what="1 or more"
    ),
    "engine.batch_threads": _Setting(
        variable="EDGEAGENT_BATCH_THREADS", flag=None, kind="integer", low=1, high=1024, what="1 or more"
    ),
    "engine.chunk_tokens": _Setting(
        variable="EDGEAGENT_CHUNK_TOKENS", flag=None, kind="integer", low=1, high=65536, what="1 or more"
    ),
    "engine.kv_type": _Setting(variable="EDGEAGENT_KV_TYPE", flag=None, kind="text"),
    "engine.flash_attention": _Setting(variable="EDGEAGENT_FLASH_ATTENTION", flag=None, kind="text"),
    "engine.gpu_layers": _Setting(
        variable="EDGEAGENT_GPU_LAYERS", flag=None, kind="integer", low=-1, high=10_000, what="-1 (all) or more"
    ),
    "engine.mmap": _Setting(variable="EDGEAGENT_MMAP", flag=None, kind="boolean"),
    "engine.mlock": _Setting(variable="EDGEAGENT_MLOCK", flag=None, kind="boolean"),
    "engine.prefix_memory_mb": _Setting(
        variable="EDGEAGENT_PREFIX_MEMORY_MB", flag=None, kind="integer", low=0, high=1_000_000, what="0 or more"
    ),
    "engine.prefix_file": _Setting(variable="EDGEAGENT_PREFIX_FILE", flag=None, kind="boolean"),
    "audio.input": _Setting(variable="EDGEAGENT_INPUT", flag="--input", kind="text"),
    "audio.output": _Setting(variable="EDGEAGENT_OUTPUT", flag="--output", kind="text"),
    "audio.channel": _Setting(
        variable="EDGEAGENT_CHANNEL", flag=None, kind="integer", low=0, high=63, what="0 or more"
    ),
    "audio.latency_ms": _Setting(
        variable="EDGEAGENT_LATENCY_MS", flag=None, kind="integer", low=5, high=2000, what="from 5 to 2000"
    ),
    "audio.echo": _Setting(variable="EDGEAGENT_ECHO", flag=None, kind="text", choices=("webrtc", "hardware", "off")),
    "speech.voice": _Setting(variable="EDGEAGENT_VOICE", flag="--voice", kind="text"),
    "speech.rate_wpm": _Setting(
        variable="EDGEAGENT_RATE_WPM", flag="--rate", kind="integer", low=80, high=450, what="from 80 to 450"
    ),
    "speech.pitch": _Setting(
        variable="EDGEAGENT_PITCH", flag="--pitch", kind="integer", low=0, high=100, what="from 0 to 100"
    ),
    "speech.volume": _Setting(
        variable="EDGEAGENT_VOLUME", flag="--volume", kind="integer", low=0, high=200, what="from 0 to 200"
    ),
    "ears.engine": _Setting(variable="EDGEAGENT_EARS", flag="--engine", kind="text", choices=("sphinx", "whisper")),
    "ears.model": _Setting(variable="EDGEAGENT_EARS_MODEL", flag=None, kind="text"),
    "ears.language": _Setting(variable="EDGEAGENT_LANGUAGE", flag="--language", kind="text"),
    "ears.stop_words": _Setting(variable="EDGEAGENT_STOP_WORDS", flag=None, kind="phrases"),
    "ears.wake_words": _Setting(variable="EDGEAGENT_WAKE_WORDS", flag="--wake-word", kind="phrases"),
    "ears.hot_words": _Setting(variable="EDGEAGENT_HOT_WORDS", flag=None, kind="phrases"),
    "ears.said": _Setting(variable="EDGEAGENT_SAID", flag=None, kind="sounds"),
    "ears.soft_end_ms": _Setting(
        variable="EDGEAGENT_SOFT_END_MS", flag=None, kind="integer", low=50, high=5000, what="from 50 to 5000"
    ),
    "ears.hard_end_ms": _Setting(
        variable="EDGEAGENT_HARD_END_MS", flag=None, kind="integer", low=50, high=10_000, what="from 50 to 10000"
    ),
    "ears.pre_roll_ms": _Setting(
        variable="EDGEAGENT_PRE_ROLL_MS", flag=None, kind="integer", low=0, high=2000, what="from 0 to 2000"
    ),
    "ears.max_s": _Setting(
        variable="EDGEAGENT_MAX_S", flag=None, kind="number", low=5, high=60, what="from 5 to 60 seconds"
    ),
    "ears.noise_suppression": _Setting(variable="EDGEAGENT_NOISE_SUPPRESSION", flag=None, kind="boolean"),
    "ears.speculative": _Setting(variable="EDGEAGENT_SPECULATIVE", flag=None, kind="boolean"),
    "ears.beam_size": _Setting(
        variable="EDGEAGENT_BEAM_SIZE", flag=None, kind="integer", low=1, high=20, what="from 1 to 20"
    ),
    "ears.window_s": _Setting(
        variable="EDGEAGENT_WINDOW_S", flag=None, kind="number", low=10, high=30, what="from 10 to 30 seconds"
    ),
    "ears.threads": _Setting(
        variable="EDGEAGENT_EARS_THREADS", flag=None, kind="integer", low=1, high=1024, what="1 or more"
    ),
    "conversation.barge_in": _Setting(
        variable="EDGEAGENT_BARGE_IN",
        flag="--barge-in",
        kind="text",
        choices=("eager", "balanced", "strict", "off"),
    ),
    "conversation.push_to_talk": _Setting(variable="EDGEAGENT_PUSH_TO_TALK", flag="--push-to-talk", kind="boolean"),
    "conversation.follow_up_s": _Setting(
        variable="EDGEAGENT_FOLLOW_UP_S", flag=None, kind="number", low=0, high=3600, what="from 0 to 3600 seconds"
    ),
    "conversation.filler_s": _Setting(
        variable="EDGEAGENT_FILLER_S", flag=None, kind="number", low=0.5, high=3600, what="from 0.5 to 3600 seconds"
    ),
    "conversation.turn_end": _Setting(variable="EDGEAGENT_TURN_END", flag=None, kind="path"),
    "conversation.chimes": _Setting(variable="EDGEAGENT_CHIMES", flag=None, kind="boolean"),
}
_TABLES: Final = ("engine", "audio", "speech", "ears", "conversation")
_WORDS: Final = {"true": True, "false": False, "1": True, "0": False}
_KINDS: Final = {
    "boolean": "true or false",
    "text": "a text",
    "phrases": "a text, phrases with commas between them",
    "sounds": 'words with their phones, such as robi = "R OW B IY"',
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
    for name, setting in _SETTINGS.items():
        if text := environ.get(setting.variable):
            values[name] = _checked(setting, _parsed(setting, text), setting.variable, Path())
        flag = (flags or {}).get(name)
        if flag is not None:
            values[name] = _checked(setting, flag, setting.flag or name, Path())
    tables: dict[str, Any] = {
        table: {name.partition(".")[2]: value for name, value in values.items() if name.startswith(f"{table}.")}
        for table in _TABLES
    }
    top = {name: value for name, value in values.items() if "." not in name}
    return Config(**top, **tables, given=frozenset(values))


def _users_file() -> Path | None:
    import platformdirs

    path = platformdirs.user_config_path("edgeagent") / CONFIG_FILE
    return path if path.exists() else None


def _from_file(path: Path) -> dict[str, Any]:
    text = _read(path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        where, why = (f"{path}:{place[1]}", str(error)[: place.start()]) if place else (str(path), str(error))
        raise ConfigError(f"{where}: this is not TOML: {why}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    values: dict[str, Any] = {}
    for key, value in _flat(table):
        setting = _SETTINGS.get(key)
        if setting is None:
            raise ConfigError(f"{path}:{line_of_key(text, key)}: there is no setting {key!r}; {_hint(key)}")
        try:
            values[key] = _checked(setting, value, key, path.expanduser().parent)
        except ConfigError as error:
            raise ConfigError(f"{path}:{line_of_key(text, key)}: {error}") from None
    return values


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys of a file; those of a table of ours as TABLE.KEY."""
    for key, value in table.items():
        if key in _TABLES and isinstance(value, dict):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        else:
            yield key, value


def _read(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot read the settings: {_reason(error)}") from None


def _hint(key: str) -> str:
    near = difflib.get_close_matches(key.lower(), (*_TABLES, *_SETTINGS), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(_SETTINGS)}"


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


def _parsed(setting: _Setting, text: str) -> object:
    """A value from the environment; text that is no number stays text, and is refused as that."""
    try:
        match setting.kind:
            case "number":
                return float(text)
            case "integer":
                return int(text)
            case "boolean":
                return _WORDS.get(text.lower(), text)
            case "sounds":
                pairs = [pair.split("=") for pair in text.split(",")]
                return {word.strip(): phones.strip() for word, phones in pairs}
    except ValueError:
        pass
    return text


def _checked(setting: _Setting, value: object, where: str, folder: Path) -> object:
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
        case "text" | "path", str() | Path() if str(value):
            if setting.choices and value not in setting.choices:
                raise ConfigError(f"{where}: should be one of {', '.join(setting.choices)}, not {_shown(value)}")
            return _located(setting, str(value), folder)
        case ("number", float() | int()) | ("integer", int()) if not isinstance(value, bool):
            if isinstance(value, (float, int)) and setting.low <= value <= setting.high:
                return float(value) if setting.kind == "number" else value
            raise ConfigError(f"{where}: should be {setting.what}, not {_shown(value)}")
    raise ConfigError(f"{where}: should be {_KINDS[setting.kind]}, not {_shown(value)}")


def _located(setting: _Setting, text: str, folder: Path) -> str | Path:
    """Paths of a settings file begin at its folder. The name of a model is no path."""
    if setting.kind == "path":
        return folder / Path(text).expanduser()
    is_path = text.endswith(_MODEL_SUFFIX) or os.sep in text
    return str(folder / Path(text).expanduser()) if is_path else text


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
        case _:
            return str(value)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
