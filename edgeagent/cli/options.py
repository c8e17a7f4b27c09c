"""The options that the commands share, and the settings that they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from edgeagent.cli import streams
from edgeagent.config import Config, load_config

_HOUSE = "Simulated house"
_SETTINGS = "Settings"


class Gravity(StrEnum):
    """Least gravity of a message that is shown on stderr."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


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
    Path | None,
    typer.Option("--session", metavar="FILE", help="Keep the conversation in a file; resume it if it is there."),
]
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


def settings(
    file: Path | None,
    *,
    model: str | None = None,
    app: Path | None = None,
    deadline: float | None = None,
    log: Path | None = None,
    session: Path | None = None,
    audit: Path | None = None,
    speed: float | None = None,
    seed: int | None = None,
    also: Mapping[str, object] | None = None,
) -> Config:
    """The settings of a command: its options over the environment over the file.

    Args:
        also: Settings of tables, such as ``{"speech.voice": "en"}``.

    Raises:
        ConfigError: One of them is wrong.
    """
    flags = {
        "model": model,
        "app": app,
        "deadline_s": deadline,
        "log": log,
        "session": session,
        "audit": audit,
        "speed": speed,
        "seed": seed,
        **(also or {}),
    }
    return load_config(file, flags=flags)
