"""``edgeagent service``: a robot that is always on, by systemd. Runs on the main thread."""

from __future__ import annotations

import contextlib
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.systemd import MARK, NAME, Unit, check_user, command, missing_groups, run_as, unit_path
from edgeagent.cli.talk import check_start, talk
from edgeagent.errors import ConfigError
from edgeagent.resources import absolute, whole_file

INSTALL_EPILOG: Final = epilog(
    {
        "edgeagent service install --app my_robot.py": "for this user; then [cyan]systemctl --user start edgeagent[/]",
        "sudo edgeagent service install --system --config edgeagent.toml": "for the machine, without anybody logged in",
        "edgeagent service install --app my_robot.py --print": "shows the unit and writes nothing",
        'edgeagent service install -- --wake-word "hey robi" --session robi': "with options of [cyan]edgeagent talk[/]",
    },
    exit_code="0 written · 1 the page's address is not there now, or the disk is full · 2 wrong usage, settings or "
    "app file, or a unit of that name is not ours · 3 the model · 4 the voice",
)
STATUS_EPILOG: Final = epilog(
    {
        "edgeagent service status": "",
        "edgeagent service status --system": "",
    },
    exit_code="0 it runs · 1 it does not · 2 there is no such unit, or no systemd",
)
UNINSTALL_EPILOG: Final = epilog(
    {"edgeagent service uninstall": "stops it, and removes the unit; sessions, logs and models stay"},
    exit_code="0 removed · 2 there is no such unit of ours, or systemd refuses",
)
_SHOWN: Final = {
    "ActiveState": "state",
    "SubState": "in detail",
    "StatusText": "says",
    "UnitFileState": "at boot",
    "NRestarts": "restarts",
    "Result": "last end",
    "MainPID": "process",
}
"""Properties of a unit by systemd's names, and what they are called here."""
_RUNS: Final = Path("/run/systemd/system")
"""A folder that is there where systemd runs (sd_booted(3))."""
_SYSTEMCTL_S: Final = 60.0
"""Seconds for one call of systemctl; a unit that ends has ten of them."""

System = Annotated[bool, typer.Option("--system", help="With the machine's systemd; without it, with the user's.")]
UnitName = Annotated[str, typer.Option("--name", metavar="NAME", help="Of the unit.")]

service = typer.Typer(
    name="service", help="A robot that is always on: a systemd unit for edgeagent talk.", no_args_is_help=True
)


@service.command("install", epilog=INSTALL_EPILOG)
def install(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- OPTIONS", help="Options of talk, after two dashes.", show_default=False),
    ] = None,
    app: options.App = None,
    config: options.ConfigFile = None,
    system: System = False,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="Who it runs as, with --system. [dim](who calls sudo)[/]"),
    ] = None,
    name: UnitName = NAME,
    only_print: Annotated[bool, typer.Option("--print", help="Show the unit, and write nothing.")] = False,
) -> None:
    """Write a unit that starts at boot, is watched and restarted; it does not start it now."""
    with exits.guarded():
        unit = _unit(arguments or [], app, config, system=system, user=user, name=name)
        if only_print:
            streams.answer(unit.text.rstrip("\n"))
        else:
            _install(unit)


@service.command("status", epilog=STATUS_EPILOG)
def status(system: System = False, name: UnitName = NAME) -> None:
    """Tell if it runs, since when, and what it says of itself."""
    code = exits.OK
    with exits.guarded():
        if not unit_path(name, system=system).is_file():
            raise ConfigError(f"there is no unit {unit_path(name, system=system)}: edgeagent service install writes it")
        shown = _systemctl(system, "show", f"{name}.service", f"--property={','.join(_SHOWN)}").stdout
        found = dict(line.partition("=")[::2] for line in shown.splitlines())
        for key, called in _SHOWN.items():
            if found.get(key):
                streams.answer(f"{called:<10} {found[key]}")
        code = exits.OK if found.get("ActiveState") == "active" else exits.FAILED
    raise typer.Exit(code)


@service.command("uninstall", epilog=UNINSTALL_EPILOG)
def uninstall(system: System = False, name: UnitName = NAME) -> None:
    """Stop it, and remove the unit."""
    with exits.guarded():
        path = unit_path(name, system=system)
        _check_ours(path)
        if not path.is_file():
            raise ConfigError(f"there is no unit {path}")
        runs = _RUNS.is_dir()
        try:
            if runs:
                _systemctl(system, "disable", "--now", f"{name}.service")
        except ConfigError as error:  # without a session of that user
            streams.warn(f"{error}; so it may still run")
            runs = False
        with _changing(path, "removed"):
            path.unlink()
        if runs:
            _systemctl(system, "daemon-reload")
        streams.tell(f"removed {path}; sessions, logs and models stay")


def _unit(
    arguments: list[str], app: Path | None, config: Path | None, *, system: bool, user: str | None, name: str
) -> Unit:
    """The unit, once everything that it names is there.

    Raises:
        ConfigError: Something is wrong or missing.
    """
    if user is not None and not system:
        raise ConfigError("--user is for --system; without it the unit is your own")
    unit_path(name, system=system)
    whose = (check_user(user) if user else run_as()) if system else ""
    files = [
        word for flag, file in (("--app", app), ("--config", config)) if file for word in (flag, str(absolute(file)))
    ]
    folder = next((absolute(file).parent for file in (app, config) if file), Path.cwd())
    _check_talk([*files, *arguments], folder, here=not system or whose == pwd.getpwuid(os.getuid()).pw_name)
    return Unit(name=name, system=system, command=command([*files, *arguments]), folder=folder, user=whose)


def _check_talk(arguments: list[str], folder: Path, *, here: bool) -> None:
    """Refuses what ``talk`` would refuse at a boot that nobody sees; typer tells of an option that it has not.

    Args:
        folder: The current folder of the unit.
        here: True for a unit of whoever calls.

    Raises:
        ConfigError, ModelError, SpeechError: An option is wrong.
    """
    alone = typer.Typer(add_completion=False)
    alone.command()(talk)
    given = typer.main.get_command(alone).make_context("edgeagent talk", list(arguments)).params
    mine = {name: value for name, value in os.environ.items() if name.startswith("EDGEAGENT_")}
    try:
        for name in mine:
            del os.environ[name]  # the unit has none of them
        with contextlib.chdir(folder):
            check_start(**options.gathered(talk, given), here=here)
    finally:
        os.environ.update(mine)


def _install(unit: Unit) -> None:
    text, path = unit.text, unit.path
    _check_ours(path)
    with _changing(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as fresh:
            fresh.write_text(text, encoding="utf-8")
    streams.tell(f"wrote {path}")
    own = () if unit.system else ("--user",)
    try:
        _systemctl(unit.system, "daemon-reload")
        _systemctl(unit.system, "enable", f"{unit.name}.service")
    except ConfigError as error:  # in an image that is being made, or without a session of that user
        streams.warn(f"{error}; so the unit is not enabled: {' '.join(('systemctl', *own, 'enable', unit.name))}")
    if any(variable.startswith("EDGEAGENT_") for variable in os.environ):
        streams.warn("the unit has no EDGEAGENT_* variables; what they set belongs into the file of --config")
    if not unit.system:
        who = pwd.getpwuid(os.getuid()).pw_name
        if missing := missing_groups():
            groups = ",".join(missing)
            streams.warn(f"you are not in {groups}; for sound cards and motors: sudo usermod -aG {groups} {who}")
        if not Path("/var/lib/systemd/linger", who).exists():
            streams.tell(f"to start at boot, before anybody logs in: sudo loginctl enable-linger {who}")
    streams.answer(" ".join(("systemctl", *own, "start", unit.name)))


def _check_ours(path: Path) -> None:
    """Refuses to touch a unit that somebody has written.

    Raises:
        ConfigError: So it is.
    """
    try:
        ours = path.read_text(encoding="utf-8", errors="replace").startswith(MARK)
    except FileNotFoundError:
        return
    if not ours:
        raise ConfigError(f"{path} was not written by edgeagent; choose another --name, or remove it yourself")


@contextlib.contextmanager
def _changing(path: Path, changed: str) -> Iterator[None]:
    """Tells of a unit that can't be ``changed``: "written" or "removed".

    Raises:
        ConfigError: So it is.
    """
    try:
        yield
    except OSError as error:
        hint = ": call it with sudo" if isinstance(error, PermissionError) else ""
        raise ConfigError(f"{path} can't be {changed}: {error.strerror}{hint}") from error


def _systemctl(system: bool, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Calls systemctl, of the user or the machine.

    Raises:
        ConfigError: There is no systemd, or it refuses.
    """
    argv = ["systemctl", *([] if system else ["--user"]), "--no-pager", *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_SYSTEMCTL_S, check=False)
    except FileNotFoundError:
        raise ConfigError("there is no systemctl here: this machine has no systemd") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{' '.join(argv)} did not end within {_SYSTEMCTL_S:g} s") from None
    if done.returncode:
        told = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise ConfigError(f"{' '.join(argv)}: {told}")
    return done
