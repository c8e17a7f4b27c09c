"""``edgeagent models list`` and ``info``: what is here, what could be, and whether it fits. Answers on stdout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from edgeagent.cli import streams
from edgeagent.cli.models_files import chosen, named
from edgeagent.cli.streams import shortened, toned
from edgeagent.doctor.machine_section import (
    WINDOW,
    Machine,
    ModelFit,
    fit,
    machine_of,
    memory,
    size_of,
    sizes,
    this_machine,
    window_of,
)
from edgeagent.errors import ModelError
from edgeagent.llm.engine_settings import Memory
from edgeagent.models import store
from edgeagent.models.catalog import PROFILES, Entry, LanguageModel, Recogniser, Task, Voice, entries

_HEAD: Final = ("model", "kind", "size", "memory", "fit", "licence", "where", "")
_NUMBERS: Final = (2, 3)
"""Columns that are set to the right."""
_FIT: Final = 4
_DESCRIPTION: Final = 7
_LEAST_DESCRIPTION: Final = 12
"""Columns below which a terminal is too narrow for descriptions."""
_TONES: Final[dict[str, streams.Tone]] = {"tight": "warning", "no": "error", "damaged": "error"}
_GAP: Final = "  "
_KINDS: Final[dict[type[Entry], str]] = {LanguageModel: "mind", Recogniser: "recogniser", Voice: "voice"}
_WINDOWS: Final = (1024, 4096, 16384, 65536)
"""Tokens of the windows of which ``info`` tells the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    entry: Entry
    here: bool
    size: int | None
    needed: Memory | None
    fit: ModelFit | None
    problem: str = ""
    """Fault of the file that is here."""


def show_list(names: list[str], *, task: Task | None, profile: str | None, here: bool, as_json: bool) -> None:
    """Prints a line for each model.

    Args:
        here: Leave out what is not on this machine.

    Raises:
        ConfigError: There is no such model in the catalogue.
    """
    machine = machine_of(PROFILES[profile]) if profile else this_machine()
    wanted = chosen(names, task, profile if task else None, otherwise=list(entries().values()))
    rows = [_row(entry, machine) for entry in wanted if not here or store.is_here(entry)]
    if as_json:
        document = {"machine": asdict(machine), "window": WINDOW, "models": [_json(row) for row in rows]}
        streams.answer_json(document, indent=2)
        return
    _print([_HEAD, *(_cells(row) for row in sorted(rows, key=_order))])
    if task:
        streams.tell(f"together about {_size(sum(row.needed.total for row in rows if row.needed))} of memory", "dim")
    streams.tell(
        f"{machine.name}: {_size(machine.free)} free of {_size(machine.total)}, {machine.cores} cores, "
        f"{machine.architecture} · memory of a mind with a window of {WINDOW:,} tokens",
        "dim",
    )


def show_info(name: str, *, profile: str | None, as_json: bool) -> None:
    """Prints everything about a model.

    Raises:
        ConfigError: There is no such model in the catalogue.
    """
    machine = machine_of(PROFILES[profile]) if profile else this_machine()
    row = _row(named(name), machine)
    if as_json:
        streams.answer_json(_json(row) | {"machine": asdict(machine)} | _details(row), indent=2)
        return
    facts = list(_facts(row, machine))
    width = max(len(key) for key, _ in facts)
    for key, value in facts:
        streams.answer(f"{key:<{width}}{_GAP}{value}".rstrip())


def _row(entry: Entry, machine: Machine) -> _Row:
    here = store.is_here(entry)
    try:
        needed = memory(entry)
    except ModelError as error:
        return _Row(entry=entry, here=here, size=size_of(entry), needed=None, fit=None, problem=str(error))
    return _Row(entry=entry, here=here, size=size_of(entry), needed=needed, fit=fit(needed, machine))


def _order(row: _Row) -> tuple[str, bool, int]:
    return (_KINDS[type(row.entry)], not row.entry.packaged, row.size or 0)


def _cells(row: _Row) -> tuple[str, ...]:
    verdict = "damaged" if row.problem else row.fit.verdict if row.fit else "?"
    has_files = bool(row.entry.files)
    return (
        row.entry.name,
        _KINDS[type(row.entry)],
        _size(row.size) if has_files else "",
        _size(row.needed.total if row.needed else None) if has_files or row.needed else "",
        verdict if has_files or row.needed else "",
        row.entry.licence,
        _where(row),
        row.entry.description,
    )


def _where(row: _Row) -> str:
    if row.entry.packaged:
        return "comes along"
    return "here" if row.here else ", ".join(_homes(row.entry))


def _homes(entry: Entry) -> list[str]:
    return [name for name, home in (("hub", entry.hub), ("index", entry.packages)) if home]


def _size(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{count / 1e6:,.0f} MB" if count < 10**9 else f"{count / 1e9:,.1f} GB"


def _print(lines: Sequence[tuple[str, ...]]) -> None:
    """A table, a line for each model. A terminal gets colours, and as much of the descriptions as fits."""
    widths = [max(len(line[index]) for line in lines) for index in range(_DESCRIPTION)]
    left = streams.width() - sum(widths) - len(_GAP) * _DESCRIPTION
    for line in lines:
        cells = [
            f"{cell:>{width}}" if index in _NUMBERS else f"{cell:<{width}}"
            for index, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        cells[_FIT] = toned(cells[_FIT], _TONES.get(line[_FIT], "plain"))
        if left >= _LEAST_DESCRIPTION:
            cells.append(shortened(line[_DESCRIPTION], left))
        text = _GAP.join(cells).rstrip()
        streams.answer(text, "bold" if line is lines[0] else "plain")


def _facts(row: _Row, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yields the lines of ``info``, each a name and a value."""
    entry = row.entry
    yield "model", f"{entry.name} ({_KINDS[type(entry)]})"
    yield "good for", entry.description
    yield "licence", entry.licence
    yield "size", _size(row.size) if row.size is not None else "nobody has told"
    yield (
        "where",
        "comes with edgeagent" if entry.packaged else "on this machine" if row.here else "not on this machine",
    )
    if row.problem:
        yield "problem", row.problem
    if row.fit:
        yield f"on {machine.name}", row.fit.verdict + (f": {row.fit.why}" if row.fit.why else "")
    if isinstance(entry, LanguageModel):
        yield from _mind(entry, row)
    elif row.needed:
        yield "memory", f"about {_size(row.needed.total)}"
    if isinstance(entry, Recogniser | Voice):
        yield "languages", "many" if "*" in entry.languages else ", ".join(entry.languages)
        yield "engine", entry.engine
    for file, path in zip(entry.files, store.paths(entry), strict=True):
        yield "file", f"{file.name}, {_size(file.bytes) if file.bytes else 'of unknown size'}"
        yield "", f"sha256 {file.sha256 or 'unknown: recorded at the first pull'}"
        if path.is_file():
            yield "", str(path)
    yield from _sources(entry)
    if not entry.packaged and not row.here:
        yield "get", f"edgeagent models pull {entry.name}"


def _mind(entry: LanguageModel, row: _Row) -> Iterator[tuple[str, str]]:
    told = None if row.problem else sizes(entry)
    yield "window", f"trained for {told.window:,} tokens" if told and told.window else "nobody has told"
    for window in _windows(entry) if row.needed else ():
        needed = memory(entry, window)
        if needed is not None:
            yield "memory", f"{_size(needed.total)} with {window:,} tokens ({_size(needed.context)} of that the window)"
    yield "calls", entry.tool_format
    yield "prefix", "can be rolled back" if entry.prefix_rollback else "can't be rolled back: a hybrid"


def _windows(entry: LanguageModel) -> list[int]:
    return sorted({window_of(entry, window) for window in _WINDOWS})


def _sources(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.hub:
        folder = f"/{entry.hub.folder}" if entry.hub.folder else ""
        yield "hub", f"{entry.hub.repo}{folder} @ {entry.hub.revision}"
    for package in entry.packages:
        yield "index", f"{package.package} {package.version}, {_size(package.bytes)}"
    if entry.packages:
        yield "", "compared with the sha256 of its first home" if entry.compared else "repackaged, not compared"
    for name, note in store.records(entry).items():
        yield "pulled", f"{name} on {note.date} from {note.source}"


def _json(row: _Row) -> dict[str, Any]:
    entry = row.entry
    fields: dict[str, Any] = {
        "name": entry.name,
        "kind": _KINDS[type(entry)],
        "description": entry.description,
        "licence": entry.licence,
        "bytes": row.size,
        "memory_bytes": row.needed.total if row.needed else None,
        "fit": row.fit.verdict if row.fit else None,
        "why": row.problem or (row.fit.why if row.fit else ""),
        "here": row.here,
        "packaged": entry.packaged,
        "sources": _homes(entry),
    }
    if isinstance(entry, LanguageModel):
        fields |= {"tool_format": entry.tool_format, "prefix_rollback": entry.prefix_rollback}
    elif isinstance(entry, Recogniser | Voice):
        fields |= {"languages": list(entry.languages), "engine": entry.engine}
    return fields


def _details(row: _Row) -> dict[str, Any]:
    entry = row.entry
    paths = store.paths(entry)
    details: dict[str, Any] = {
        "files": [
            asdict(file) | {"path": str(path) if path.is_file() else None}
            for file, path in zip(entry.files, paths, strict=True)
        ],
        "hub": asdict(entry.hub) if entry.hub else None,
        "packages": [f"{package.package}=={package.version}" for package in entry.packages],
        "compared": entry.compared,
        "pulled": {name: asdict(note) for name, note in store.records(entry).items()},
    }
    if isinstance(entry, LanguageModel) and row.needed:
        told = sizes(entry)
        details["window"] = told.window if told else None
        details["memory_by_window"] = {
            str(window): needed.total for window in _windows(entry) if (needed := memory(entry, window)) is not None
        }
    return details
