"""``edgeagent models pull`` and ``verify``: the files of models, fetched and compared.

Paths and verdicts go to stdout, progress and everything else to stderr.
"""

from __future__ import annotations

from edgeagent.cli import streams
from edgeagent.cli.models_chosen import named
from edgeagent.cli.pull_progress import shown
from edgeagent.errors import ConfigError, ModelError
from edgeagent.models import pulling, store
from edgeagent.models.catalog import Entry
from edgeagent.models.verification import Finding
from edgeagent.models.verification import verify as findings


def pull(wanted: list[Entry], *, source: str | None, accept_upstream: bool) -> None:
    """Fetches models one after the other and prints where the files of each lie.

    Args:
        source: "hub" or "index"; None: the first home, then the others.

    Raises:
        ConfigError: A model is not to be had from the source; raised before anything is fetched.
        ModelError: A model could not be fetched.
    """
    places = {
        entry.name: [each for each in pulling.sources_of(entry) if source in (None, each.key)] for entry in wanted
    }
    for entry in wanted:
        if not places[entry.name] and not entry.packaged:
            raise ConfigError(f"{entry.name} is not on the {source}: leave --from out")
    for entry in wanted:
        with shown() as progress:
            try:
                fetched = pulling.pull(entry, progress, sources=places[entry.name], accept_upstream=accept_upstream)
            except (KeyboardInterrupt, SystemExit):
                progress.say(f"what was fetched of {entry.name} is kept: edgeagent models pull {entry.name} goes on")
                raise
        if not fetched:
            streams.tell(f"{entry.name} {'comes with edgeagent' if entry.packaged else 'is here, as it should be'}")
        for path in store.paths(entry):
            streams.answer(str(path))


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
