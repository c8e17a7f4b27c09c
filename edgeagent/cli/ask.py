"""``edgeagent ask``: one request and its answer, or many from a pipe."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options
from edgeagent.errors import ConfigError

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent ask "how full is your battery"[/]

[cyan]edgeagent ask "drive forward two meters and turn left" --json[/]

[cyan]edgeagent ask --stdin --json --speed 1000 < commands.txt > answers.jsonl[/]

[cyan]edgeagent ask "turn left" --app examples/my_robot.py[/]

[bold]Exit code[/]

0 answered · 1 aborted by its deadline · 2 wrong usage, settings or app file · 3 the model · 130 Ctrl-C
"""


def ask(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What to say to the robot.", show_default=False)
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="One request a line from stdin, each in a new session and a new flat.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer with a JSON object, one a line.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what the robot does on stderr, also in a pipe.")
    ] = False,
    model: options.Model = None,
    app: options.App = None,
    deadline: options.Deadline = None,
    log: options.Log = None,
    log_level: options.LogLevel = None,
    session: options.Session = None,
    audit: options.Audit = None,
    yes: options.Yes = False,
    speed: options.Speed = None,
    seed: options.Seed = None,
    config: options.ConfigFile = None,
) -> None:
    """Ask the robot one thing, print its answer, and end. Stdout carries only the answer."""
    if stdin == bool(words):
        given = "both TEXT and --stdin" if stdin else "neither TEXT nor --stdin"
        raise typer.BadParameter(f"{given}; give one of them", param_hint="TEXT")
    with exits.guarded():
        exits.watch(screen=False)
        from edgeagent.cli.ask_lines import Asking

        chosen = options.settings(
            config,
            model=model,
            app=app,
            deadline=deadline,
            log=log,
            session=session,
            audit=audit,
            speed=speed,
            seed=seed,
        )
        if stdin and chosen.session is not None:
            raise ConfigError("--stdin asks every line in a new session, so --session has nothing to keep")
        asking = Asking(chosen, as_json=as_json, verbose=verbose, always=yes)
        code = asking.many() if stdin else asking.one(" ".join(words or ()))
    raise typer.Exit(code)
