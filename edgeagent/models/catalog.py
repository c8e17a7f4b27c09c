"""The models that edgeagent knows by name: language models, recognisers of speech, voices; and profiles of them.

The table is ``models/catalog.toml``. Knows nothing of what lies on this machine. Any thread.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from edgeagent.errors import ConfigError
from edgeagent.resources import models_dir

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Task = Literal["talk", "text"]
"""``talk``: a mind, a recogniser and a voice; ``text``: a mind alone."""
ProfileName = Literal["pi4", "pi5", "orin-nano", "laptop"]
"""Names of the profiles."""

SYSTEM_BYTES: Final = 768 << 20
"""Bytes of a board's memory that its system and the robot's own programs take; an estimate."""
_TOLD: Final = 0.85
"""Least share of a board's memory that its system reports, because firmware and graphics keep some; an estimate.

With a larger share, a board whose graphics keep much counts as a smaller profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A machine, and the models to begin with on it."""

    name: ProfileName
    board: str
    memory_bytes: int
    cores: int
    architecture: str
    mind: str
    recogniser: str
    voice: str
    published: tuple[str, ...] = ()
    """Speeds on this board, as reported by others."""

    def models(self, task: Task) -> tuple[str, ...]:
        """Names of the catalogue for a task."""
        return (self.mind,) if task == "text" else (self.mind, self.recogniser, self.voice)


_ALL: Final = (
    Profile(
        name="pi4",
        board="Raspberry Pi 4, 4 GB",
        memory_bytes=4 << 30,
        cores=4,
        architecture="aarch64",
        mind="qwen2.5-coder-0.5b",
        recogniser="tiny.en",
        voice="heart",
        published=("a Piper voice of medium quality: 0.77 of real time on one thread, 0.36 on four",),
    ),
    Profile(
        name="pi5",
        board="Raspberry Pi 5, 8 GB",
        memory_bytes=8 << 30,
        cores=4,
        architecture="aarch64",
        mind="qwen2.5-coder-1.5b",
        recogniser="tiny.en",
        voice="heart",
        published=(
            "Llama 3.2 3B: 4.9 tokens/s",
            "LFM2.5 230M: 42 tokens/s",
            "whisper.cpp's encoder over 30 s of sound: tiny 1.1 s, base 2.5 s",
        ),
    ),
    Profile(
        name="orin-nano",
        board="Jetson Orin Nano Super, 8 GB",
        memory_bytes=8 << 30,
        cores=6,
        architecture="aarch64",
        mind="qwen2.5-coder-1.5b",
        recogniser="tiny.en",
        voice="heart",
        published=("LFM2.5 1.2B: 54 tokens/s",),
    ),
    Profile(
        name="laptop",
        board="laptop, 16 GB",
        memory_bytes=16 << 30,
        cores=8,
        architecture="x86_64",
        mind="qwen2.5-coder-1.5b",
        recogniser="tiny.en",
        voice="heart",
    ),
)
PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({profile.name: profile for profile in _ALL})


def nearest(memory_bytes: int, cores: int) -> Profile:
    """The largest profile that a machine reaches in memory and cores; the smallest if it reaches none."""
    reached = [p for p in _ALL if p.memory_bytes * _TOLD <= memory_bytes and p.cores <= cores]
    return reached[-1] if reached else _ALL[0]


_Record = TypeVar("_Record", bound="DataclassInstance")

CATALOG: Final = "catalog.toml"
SHA256_DIGITS: Final = 64
"""Hexadecimal digits of a SHA-256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a model."""

    name: str
    bytes: int | None = None
    """Size; None when nobody has told yet."""
    sha256: str | None = None
    """Of the file's first home, in lower case; None when nobody has told yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """The first home of a model's files, on the hub of models."""

    repo: str
    """Owner and repository, with a slash between them."""
    revision: str = "main"
    """A commit, a tag or a branch."""
    folder: str = ""
    """Folder of the files in the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package of the Python index whose wheel holds files of a model, or parts of them."""

    package: str
    version: str
    bytes: int
    """Size of the wheel."""
    sha256: str
    """Of the wheel."""
    members: Mapping[str, str]
    """Names of files, each with its path in the wheel. A file of several packages is joined in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model of the catalogue."""

    name: str
    description: str
    licence: str
    files: tuple[File, ...]
    hub: Hub | None = None
    packages: tuple[Package, ...] = ()
    packaged: bool = False
    """The model comes with edgeagent."""
    compared: bool = True
    """The packages' files are those of the first home, by its own sha256."""

    @property
    def bytes(self) -> int | None:
        """Size of all files; None when that of one is unknown."""
        sizes = [file.bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSizes:
    """Sizes of a language model on which the memory of its context depends."""

    window: int | None = None
    """Tokens of the longest context that the model was trained for; None when nobody has told."""
    kv_numbers: int
    """Numbers in the keys and values of one token, in all layers that attend."""
    width: int
    """Numbers in the vector of a token between two layers."""
    vocabulary: int
    """Tokens that the model knows."""
    state_bytes: int = 0
    """Bytes of the states of recurrent and convolutional layers, whatever the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallGate:
    """Least probabilities of a call, by a model's own first token, with which a reply may begin one; 0 lets every reply
    begin one. All but ``tagged`` are of calls without the tags of the model's template."""

    first: float
    """Of a reply to a person."""
    reading: float
    """Of such a reply that calls only tools that read; not above ``first``."""
    later: float
    """Of a reply to a tool's result."""
    further: float = 1.0
    """Of such a reply while fewer calls were made than the person's words may ask for; ``later`` if that is less."""
    asked: float = 1.0
    """Of a reply to a person who commands, in English, what a tool can do; that is ``first`` if that is less."""
    following: float = 1.0
    """Of a reply to a person who goes on talking, in words that may ask for something; ``first`` if that is less."""
    tagged: float = 0.0
    """Of a reply to a person who was not asked anything, for a call with the tags of the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModel(Entry):
    """A language model: one GGUF file."""

    tool_format: str
    """Name of ``llm.parsers`` for the way in which the model's template writes calls."""
    prefix_rollback: bool
    """The context can go back to an earlier token; that of hybrid and recurrent models can't."""
    call_gate: CallGate | None = None
    """As ``scripts/bench gate`` fitted it; None where nobody did."""
    retells: bool = False
    """Earlier turns are told to the model in one text, because it would imitate the replies of a dialogue."""
    sizes: ModelSizes | None = None
    """By the configuration in the model's first home; None of a model that comes with edgeagent, whose header tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recogniser(Entry):
    """A recogniser of speech: the files of one folder."""

    engine: Literal["sphinx", "whisper"]
    languages: tuple[str, ...]
    """Tags, such as "en"; "*" for many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice(Entry):
    """A voice: its files in one folder."""

    engine: Literal["espeak", "hibari", "piper"]
    languages: tuple[str, ...]
    """Tags, such as "en" or "en-gb"; "*" for many."""


KINDS: Final[Mapping[str, type[Entry]]] = {"llm": LanguageModel, "recogniser": Recogniser, "voice": Voice}
"""Tables of the catalogue, each with the type of its entries."""


@cache
def entries() -> Mapping[str, Entry]:
    """Every model of the catalogue by its name.

    Raises:
        ConfigError: The catalogue is wrong.
    """
    return read(models_dir() / CATALOG)


def language_models() -> dict[str, LanguageModel]:
    """The language models by name."""
    return {name: entry for name, entry in entries().items() if isinstance(entry, LanguageModel)}


def known_model(name: str, file_bytes: int) -> LanguageModel | None:
    """The language model of that name, or whose file has that size; None where the catalogue has none."""
    known = language_models()
    return known.get(name) or next((one for one in known.values() if one.bytes == file_bytes), None)


def recognisers() -> dict[str, Recogniser]:
    """The recognisers of Whisper by name."""
    return {name: e for name, e in entries().items() if isinstance(e, Recogniser) and e.engine == "whisper"}


def voices() -> dict[str, Voice]:
    """The voices by name."""
    return {name: entry for name, entry in entries().items() if isinstance(entry, Voice)}


def read(path: Path) -> Mapping[str, Entry]:
    """Reads a catalogue.

    Raises:
        ConfigError: The file can't be read, a key is unknown or missing, or a value is of the wrong type; the text
            names the key.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the catalogue of models {path} can't be read: {error}") from error
    found: dict[str, Entry] = {}
    for kind, table in document.items():
        if kind not in KINDS or not isinstance(table, dict):
            raise ConfigError(f"{path}: unknown key {kind!r}; the tables are {', '.join(KINDS)}")
        for name, fields in table.items():
            where = f"{path}: {kind}.{name}"
            if name in found:
                raise ConfigError(f"{where}: two models have this name")
            if not isinstance(fields, dict) or "name" in fields:
                raise ConfigError(f"{where} is no table of a model's keys")
            found[name] = _record(KINDS[kind], {"name": name, **fields}, where)
            _check(found[name], where)
    return found


def _check(entry: Entry, where: str) -> None:
    """Finds what no type tells: sources that bring no file of the entry, and names that leave its folder."""
    names = [file.name for file in entry.files]
    for name in (entry.name, *names):
        if not name or name != Path(name).name or name.startswith("."):
            raise ConfigError(f"{where}: {name!r} is no name of a file")
    for digest in (*(file.sha256 for file in entry.files), *(package.sha256 for package in entry.packages)):
        if digest is not None and (len(digest) != SHA256_DIGITS or not set(digest) <= set("0123456789abcdef")):
            raise ConfigError(f"{where}: {digest!r} is no sha256")
    if entry.packages and {member for package in entry.packages for member in package.members} != set(names):
        raise ConfigError(f"{where}: the members of its packages are not its files")
    if not (entry.packaged or entry.hub or entry.packages):
        raise ConfigError(f"{where} names no source: hub or packages")


def _record(kind: type[_Record], fields: Mapping[str, object], where: str) -> _Record:
    """A dataclass from a table whose keys are its fields."""
    hints = get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]
    for key in fields:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}; there are {', '.join(known)}")
    for field in dataclasses.fields(kind):
        lacking = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if lacking and field.name not in fields:
            raise ConfigError(f"{where}: the key {field.name!r} is missing")
    return kind(**{key: _value(hints[key], value, f"{where}.{key}") for key, value in fields.items()})


def _value(kind: Any, value: object, where: str) -> Any:
    """A value as the type of its field has it.

    Raises:
        ConfigError: The value is of another type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is types.UnionType:  # nothing in TOML is None: the other type is meant
        return _value(arguments[0], value, where)
    if origin is Literal:
        if value in arguments:
            return value
        raise ConfigError(f"{where}: {value!r} is none of {', '.join(map(str, arguments))}")
    if origin is tuple and isinstance(value, list):
        return tuple(_value(arguments[0], each, f"{where}[{index}]") for index, each in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return types.MappingProxyType(
            {key: _value(arguments[1], each, f"{where}.{key}") for key, each in value.items()}
        )
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        return _record(kind, value, where)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ConfigError(f"{where}: {value!r} is of the wrong type")
