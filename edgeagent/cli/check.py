"""``edgeagent check`` and ``edgeagent test``: how well a model understands the tools of your robot. Nothing moves.

``check`` tells a person all that there is to know; ``test`` asks the cases as assertions, for CI.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options
from edgeagent.errors import ConfigError

CHECK_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent check --app my_robot.py[/]  the tools as the model sees them, their cost, and what is doubtful

[cyan]edgeagent check --app my_robot.py --write-cases cases.toml[/]  a file of sentences and right calls to begin with

[cyan]edgeagent check --app my_robot.py --cases cases.toml[/]  a score, and every miss with its prompt and its raw reply

[cyan]edgeagent check --app my_robot.py --cases cases.toml --models nano,qwen2.5-coder-1.5b[/]  two models in one table

No body of a tool is run: a call ends where the body would begin, and the model is told "done".

[bold]Exit code[/]

0 looked, whatever was found; [cyan]edgeagent test[/] fails where calls are wrong · 2 wrong usage, settings, app file
or cases · 3 the model · 130 Ctrl-C
"""

TEST_EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent test --app my_robot.py --cases cases.toml[/]

[cyan]edgeagent test --app my_robot.py --cases cases.toml --min-exact 0.9 --junit report.xml[/]

[bold]Exit code[/]

0 enough cases are right · 1 too few are · 2 wrong usage, settings, app file or cases · 3 the model · 130 Ctrl-C
"""

Cases = Annotated[
    Path | None,
    typer.Option("--cases", metavar="FILE.toml", help="What people say, and which calls are right."),
]
NeededCases = Annotated[
    Path | None,
    typer.Option("--cases", metavar="FILE.toml", help="What people say, and which calls are right. [dim]required[/]"),
]


def check(
    app: options.App = None,
    cases: Cases = None,
    model: options.Model = None,
    models: Annotated[
        str | None, typer.Option("--models", metavar="A,B", help="Compare several models in one table.")
    ] = None,
    write_cases: Annotated[
        Path | None,
        typer.Option("--write-cases", metavar="FILE.toml", help="Write cases to begin with, from the tools, and end."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the whole prompt of every miss.")] = False,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Tell how well a model understands your robot's tools. No body of a tool is run."""
    if model is not None and models is not None:
        raise typer.BadParameter("give --model or --models", param_hint="--models")
    if write_cases is not None and (cases is not None or models is not None or as_json):
        raise typer.BadParameter("it only writes; leave --cases, --models and --json out", param_hint="--write-cases")
    with exits.guarded():
        exits.watch(screen=False)
        from edgeagent.cli.checking import Checking, write_starter

        settings = options.settings(config, model=model, app=app)
        names = [name.strip() for name in (models or model or "").split(",") if name.strip()]
        if models is not None and not names:
            raise ConfigError("--models names no model; write them with commas between: nano,qwen2.5-coder-1.5b")
        if write_cases is not None:
            write_starter(settings, write_cases)
        else:
            Checking(settings, cases, names, as_json=as_json, verbose=verbose).run()


def assert_cases(
    app: options.App = None,
    cases: NeededCases = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE.xml", help="Also write a report that CI servers read.")
    ] = None,
    min_exact: Annotated[
        float,
        typer.Option("--min-exact", metavar="SHARE", min=0.0, max=1.0, help="Least share of cases that are right."),
    ] = 1.0,
    model: options.Model = None,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Ask the cases of your robot, and fail if too few calls are right. No body of a tool is run."""
    if cases is None:
        raise typer.BadParameter("which cases? Name their file; edgeagent check writes one", param_hint="--cases")
    with exits.guarded():
        exits.watch(screen=False)
        from edgeagent.cli.checking import asserted

        settings = options.settings(config, model=model, app=app)
        code = asserted(settings, cases, junit=junit, min_exact=min_exact, override=model is not None)
    raise typer.Exit(code)
