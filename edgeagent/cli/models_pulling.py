"""``edgeagent models pull``: paths on stdout, progress and everything else on stderr."""

from __future__ import annotations

from edgeagent.cli import streams
from edgeagent.cli.pull_progress import shown
from edgeagent.errors import ConfigError
from edgeagent.models import pulling, store
from edgeagent.models.catalog import Entry


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
