"""The models that a person means: by their names, or by a set for a task and a machine."""

from __future__ import annotations

import difflib

from edgeagent.cli import streams
from edgeagent.errors import ConfigError
from edgeagent.llm import native
from edgeagent.models.catalog import Entry, entries
from edgeagent.models.profiles import PROFILES, Profile, Task, nearest


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


def chosen(
    names: list[str], task: Task | None, profile: str | None, *, otherwise: list[Entry] | None = None
) -> list[Entry]:
    """The models of the names, then those of the set.

    Args:
        task: What the set is for; None with a profile is "talk".
        profile: Name of the machine; None with a task is the profile that is nearest to this machine.
        otherwise: The answer where nothing is asked for; None makes that an error.

    Raises:
        ConfigError: A name is not in the catalogue, or nothing is asked for.
    """
    found = [named(name) for name in names]
    if task or profile:
        machine = board(profile)
        if profile is None:
            streams.tell(f"by this machine's memory and cores: --profile {machine.name} ({machine.board})", "dim")
        found += [entries()[name] for name in machine.models(task or "talk")]
    elif not names:
        if otherwise is None:
            raise ConfigError("name a model, or a set with --for talk or --for text; edgeagent models list shows all")
        return otherwise
    return list({entry.name: entry for entry in found}.values())


def board(profile: str | None) -> Profile:
    """The profile of a name, or the one that is nearest to this machine."""
    return PROFILES[profile] if profile else nearest(native.total_bytes(), native.usable_cores())
