"""The files of models for ``edgeagent models``: verified, fetched. Answers on stdout, everything else on stderr."""

from __future__ import annotations

import difflib

from edgeagent.cli import streams
from edgeagent.errors import ConfigError, ModelError
from edgeagent.models import store
from edgeagent.models.catalog import Entry, entries
from edgeagent.models.verification import Finding
from edgeagent.models.verification import verify as findings


def named(name: str) -> Entry:
    """The model of a name.

    Raises:
        ConfigError: There is no such model in the catalogue.
    """
    known = entries()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3) or known
        raise ConfigError(f"there is no model {name!r} in the catalogue; there are {', '.join(near)}")
    return known[name]


def verify(names: list[str]) -> None:
    """Prints a line for each file of the models; without names, of every model that was pulled or put there.

    Raises:
        ConfigError: There is no such model in the catalogue.
        ModelError: A file differs, is missing or can't be read; raised when every file has been told.
    """
    wanted = [named(name) for name in names] or [entry for entry in store.here() if not entry.packaged]
    bad: list[str] = []
    for entry in wanted:
        if names and not any(path.exists() for path in store.paths(entry)) and not entry.packaged:
            raise ModelError(store.absent(entry))
        with streams.patience(f"reading {entry.name} …"):
            found = findings(entry)
        for finding in found:
            streams.answer(f"{entry.name}  {finding.path.name}  {finding.text}")
        if any(_bad(finding) for finding in found):
            bad.append(entry.name)
    if bad:
        raise ModelError(f"not what they should be: {', '.join(bad)}. Remove and pull them again")


def _bad(finding: Finding) -> bool:
    return finding.verdict in ("missing", "differs")
