"""The options that the commands share, and the settings that they add up to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from edgeagent.cli import sessions, streams
from edgeagent.config import Config, load_config
from edgeagent.errors import ConfigError

_HOUSE = "Simulated house"
_SETTINGS = "Settings"
_WEB = "Page"
_NO_SETTING = frozenset({"config", "log_level", "go_on"})


Gravity = Literal["debug", "info", "warning", "error"]
"""Least gravity of a message that is shown on stderr."""


def _set_level(level: Gravity | None) -> None:
    if level is not None:
        streams.log_level(level.upper())


Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME|PATH", help="A model of the catalogue, or a .gguf file. [dim](nano)[/]"),
]
App = Annotated[
    Path | None,
    typer.Option("--app", metavar="FILE.py", help="Your own robot: a file that defines agent, or build(llm)."),
]
Input = Annotated[
    str | None,
    typer.Option("--input", metavar="NAME|FILE.wav", help="A microphone (number, part of its name) or a file."),
]
Output = Annotated[
    str | None,
    typer.Option("--output", metavar="NAME|FILE.wav", help="A loudspeaker (number, part of its name) or a file."),
]
Voice = Annotated[
    str | None,
    typer.Option(
        "--voice", metavar="NAME|FILE.onnx", help="A voice: edgeagent voices lists them; or a Piper voice's file."
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", metavar="NAME", help="What hears: fused, sphinx or whisper. [dim](the best that is here)[/]"
    ),
]
WhisperModel = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME|FOLDER", help="Of whisper: tiny.en, base.en … or a model's folder."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline", metavar="SECONDS", help="Abort a run after so many seconds of the robot's time. [dim](120)[/]"
    ),
]
Log = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Append every event to a file, as lines of JSON.")
]
Session = Annotated[
    str | None,
    typer.Option("--session", metavar="NAME|FILE", help="Keep the conversation under a name, or in a file; resume it."),
]
GoOn = Annotated[bool, typer.Option("--continue", help="Go on with the last session of this app or folder.")]
Audit = Annotated[
    Path | None,
    typer.Option("--audit", metavar="FILE", help="Append what every run did, for [cyan]edgeagent replay FILE[/]."),
]
LogLevel = Annotated[
    Gravity | None,
    typer.Option(
        "--log-level",
        help="What the parts of the program tell on stderr. [dim](warning)[/]",
        show_default=False,
        show_choices=True,
        callback=_set_level,
    ),
]
Web = Annotated[
    bool | None,
    typer.Option("--web", help="Serve a page to look on, type and stop; its address is told.", rich_help_panel=_WEB),
]
WebHost = Annotated[
    str | None,
    typer.Option(
        "--web-host",
        metavar="ADDRESS",
        help="Where the page is reached; 0.0.0.0 is everywhere, with a token. [dim](127.0.0.1)[/]",
        rich_help_panel=_WEB,
    ),
]
WebPort = Annotated[
    int | None,
    typer.Option(
        "--web-port",
        metavar="N",
        help="Port of the page; 0 takes any that is free. [dim](8765)[/]",
        rich_help_panel=_WEB,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Allow tools that can't be undone without asking.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings in TOML; EDGEAGENT_* variables and options override it.",
        rich_help_panel=_SETTINGS,
    ),
]
Speed = Annotated[
    float | None,
    typer.Option(
        "--speed", metavar="N", help="Simulated seconds per second, 0.1 to 1000. [dim](1)[/]", rich_help_panel=_HOUSE
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Lays the things out otherwise. [dim](0)[/]", rich_help_panel=_HOUSE),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotOptions:
    """Options of a command with a robot: which one."""

    model: Model = None
    app: App = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a command with a robot: what is kept of its runs, and where they take place."""

    log: Log = None
    log_level: LogLevel = None
    session: Session = None
    go_on: GoOn = False
    audit: Audit = None
    speed: Speed = None
    seed: Seed = None
    config: ConfigFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """Options of a conversation: its page."""

    web__serve: Web = None
    web__host: WebHost = None
    web__port: WebPort = None


def tabled(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of each table among its parameters, in the table's place."""
    own = _parameters(command)
    tables = _tables(own)

    @wraps(command)
    def spread(**given: Any) -> None:
        command(**gathered(command, given))

    shown: list[inspect.Parameter] = []
    for one in own:
        if (table := tables.get(one.name)) is None:
            shown.append(one)
        else:
            kinds, unset = get_type_hints(table, include_extras=True), table()
            shown += [one.replace(name=name, annotation=kinds[name], default=getattr(unset, name)) for name in kinds]
    spread.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # typer reads it
    spread.__annotations__ = {one.name: one.annotation for one in shown}
    return spread


def gathered(command: Callable[..., None], options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a command, ``tabled`` or not, made of the options that it has on the command line."""
    rest = dict(options)
    tables = _tables(_parameters(inspect.unwrap(command)))
    made = {name: table(**{one.name: rest.pop(one.name) for one in fields(table)}) for name, table in tables.items()}
    return rest | made


def _parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    return list(inspect.signature(command, eval_str=True).parameters.values())


def _tables(parameters: Iterable[inspect.Parameter]) -> dict[str, Any]:
    """The tables of options among parameters, by name."""
    return {one.name: one.annotation for one in parameters if is_dataclass(one.annotation)}


def settings(file: Path | None, *tables: Any, **also: object) -> Config:
    """The settings of a command: its options over the environment over the file.

    Args:
        tables: Options of several commands, by the names of the settings; ``speech__voice`` is ``speech.voice``.
        also: Options of this one, likewise.

    Raises:
        ConfigError: One of them is wrong.
    """
    given = {name: value for table in tables for name, value in asdict(table).items()} | also
    flags = {name.replace("__", "."): value for name, value in given.items()}
    if flags.get("web.host") is not None or flags.get("web.port") is not None:
        flags["web.serve"] = True  # an address or a port alone asks for a page too
    go_on = flags.get("go_on", False)
    if (session := flags.get("session")) is not None:
        check_session(session, go_on=go_on)
        flags["session"] = sessions.chosen(session)
    config = load_config(file, flags={name: value for name, value in flags.items() if name not in _NO_SETTING})
    return sessions.continued(config) if go_on else config


def check_session(session: str | None, *, go_on: bool) -> None:
    """Refuses two sessions for one command.

    Raises:
        ConfigError: There are two.
    """
    if session is not None and go_on:
        raise ConfigError("--continue goes on with the last session, and --session names one: give one of them")
