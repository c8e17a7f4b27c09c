"""``edgeagent test``: the cases of your robot as assertions, for CI. Nothing moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits, options

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent test --app my_robot.py --cases cases.toml[/]

[cyan]edgeagent test --app my_robot.py --cases cases.toml --min-exact 0.9 --junit report.xml[/]

[bold]Exit code[/]

0 enough cases are right · 1 too few are · 2 wrong usage, settings, app file or cases · 3 the model · 130 Ctrl-C
"""


def assert_cases(
    app: options.App = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            "--cases", metavar="FILE.toml", help="What people say, and which calls are right. [dim]required[/]"
        ),
    ] = None,
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
