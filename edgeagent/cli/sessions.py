"""``edgeagent sessions``: which conversations are kept; and what ``--session`` and ``--continue`` of a command name.

Runs on the main thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, streams
from edgeagent.cli.help import epilog
from edgeagent.errors import BusyError, ConfigError

if TYPE_CHECKING:
    from edgeagent.app import App
    from edgeagent.app.ears_setup import Waiting
    from edgeagent.config import Config

LIST_EPILOG: Final = epilog(
    {
        "edgeagent sessions list": "the newest first",
        "edgeagent sessions list --json": "a line of JSON each, for a program",
    },
    exit_code="0 told · 1 the answer can't be written",
)
PATH_EPILOG: Final = epilog(
    {'cp "$(edgeagent sessions path robi)" robi.journal': "a copy"},
    exit_code="0 told · 1 the answer can't be written · 2 there is no such session",
)
REMOVE_EPILOG: Final = epilog(
    {
        "edgeagent sessions remove robi": "asks first",
        "edgeagent sessions remove robi --yes": "in a script",
    },
    exit_code="0 removed, or left after a no · 2 there is no such session, it is in use, or nobody is there to be "
    "asked",
)
_HOUSE: Final = "house"
_FIRST_CHARS: Final = 60

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of a session.", show_default=False)]

sessions = typer.Typer(
    name="sessions", help="Conversations that are kept: list them, find their files, remove them.", no_args_is_help=True
)


@sessions.command("list", epilog=LIST_EPILOG)
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Answer with a JSON object a session.")] = False,
) -> None:
    """List the named sessions, and those in files that --continue would go on with."""
    with exits.guarded():
        _show(as_json=as_json)


@sessions.command("path", epilog=PATH_EPILOG)
def path(name: Name) -> None:
    """Print the path of a named session's file."""
    with exits.guarded():
        from edgeagent.journal.shelf import Shelf

        file = Shelf().path(name)
        if not file.is_file():
            raise ConfigError(f"there is no session {name!r}; edgeagent sessions list tells which there are")
        streams.answer_path(file)


@sessions.command("remove", epilog=REMOVE_EPILOG)
def remove(
    name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False
) -> None:
    """Remove a named session for good."""
    with exits.guarded():
        from edgeagent.journal.shelf import Shelf

        shelf = Shelf()
        if yes or not os.path.lexists(shelf.path(name)) or streams.allowed(f"remove the session {name}? [y/N] "):
            try:
                freed = shelf.remove(name)
            except BusyError as error:
                raise ConfigError(str(error)) from error
            streams.tell(f"removed {name}, {_size(freed)}")
        else:
            streams.tell("nothing was removed")


def _show(*, as_json: bool) -> None:
    from edgeagent.journal.shelf import Shelf

    found = Shelf().sessions()
    if as_json:
        for one in found:
            changed = datetime.fromtimestamp(one.changed_t, UTC).isoformat(timespec="seconds")
            fields = {**asdict(one), "path": str(one.path), "changed": changed}
            del fields["changed_t"]
            streams.answer_json(fields)
        return
    if not found:
        streams.tell("no session is kept yet: edgeagent chat --session NAME keeps one")
        return
    rows = [("NAME", "CHANGED", "TURNS", "SIZE", "BEGINS WITH")]
    for one in found:
        when = datetime.fromtimestamp(one.changed_t, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
        told = f"({one.fault})" if one.fault else one.first
        rows.append(
            (streams.printable(one.name), when, str(one.turns), _size(one.bytes), streams.shortened(told, _FIRST_CHARS))
        )
    for line in streams.columns(rows):
        streams.answer(line)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


# --- options of chat, talk and ask ----------------------------------------------------------------------------------


def chosen(text: str) -> Path:
    """The file of ``--session NAME|FILE``: a plain name is a session in the user's folder for data, unless a file of
    that name is in the current folder.

    Raises:
        ConfigError: It is empty, or the folder can't be made.
    """
    from edgeagent.journal.shelf import Shelf, is_name

    if not text:
        raise ConfigError("--session: the name of a session can't be empty")
    if not is_name(text) or Path(text).is_file():
        return Path(text)
    shelf = Shelf()
    shelf.prepare()
    return shelf.path(text)


def continued(config: Config) -> Config:
    """The settings with the last session of the app or, without an app, of the folder; a new named one where there is
    none. A session that the settings name is the one that goes on.

    Raises:
        ConfigError: The folder of the sessions can't be made.
    """
    from edgeagent.journal.shelf import Shelf

    if config.session is not None:
        return config
    shelf = Shelf()
    last = shelf.last(_whose(config))
    if last is not None:
        return replace(config, session=last)
    shelf.prepare()
    name = shelf.free_name(_HOUSE if config.app is None else config.app.stem)
    what = f"the folder {Path.cwd()}" if config.app is None else str(config.app)
    streams.tell(f"no session of {what} was kept, so a new one begins: {name}", "dim")
    return replace(config, session=shelf.path(name))


def built_when_free(build: Callable[[], App], session: Path | None, tell: Waiting) -> App:
    """Builds an app as soon as no other conversation has its session, and the disk has room for it; for as long as that
    takes.

    Raises:
        EdgeAgentError: As ``build``, for another reason.
    """
    from edgeagent.app.ears_setup import wait_for
    from edgeagent.journal import is_in_use

    def look() -> App:
        if session is not None and is_in_use(session):  # or the app file would be run again and again
            raise BusyError(f"the session {session} is in use by another conversation")
        try:
            return build()
        except ConfigError as error:
            if _passes(error):
                raise BusyError(str(error)) from error
            raise

    return wait_for(look, BusyError, tell)


def _passes(error: BaseException) -> bool:
    """True if an error came of a session that is in use, or of a full disk."""
    cause = error.__cause__
    return exits.passes(error) or isinstance(cause, BusyError) or (cause is not None and _passes(cause))


def remember(app: App) -> None:
    """Notes for ``--continue`` which session an app has, if one is kept."""
    from edgeagent.journal.shelf import Shelf

    if app.journal is not None:
        Shelf().remember(_whose(app.config), app.journal)


def _whose(config: Config) -> str:
    return f"folder {Path.cwd()}" if config.app is None else f"app {os.path.realpath(config.app)}"
