"""``edgeagent check`` and ``edgeagent test``: how well a model understands the tools of your robot. Nothing moves.

``check`` tells a person all that there is to know; ``test`` asks the cases as assertions, for CI. On the main thread;
progress goes to stderr.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.streams import one_line
from edgeagent.errors import ConfigError

if TYPE_CHECKING:
    from edgeagent.check import Case, Outcome, Report, Trial
    from edgeagent.check.doubts import Doubt
    from edgeagent.config import Config

CHECK_EPILOG: Final = epilog(
    {
        "edgeagent check --app my_robot.py": "the tools as the model sees them, their cost, and what is doubtful",
        "edgeagent check --app my_robot.py --write-cases cases.toml": "a file of sentences and right calls to begin "
        "with",
        "edgeagent check --app my_robot.py --cases cases.toml": "a score, and every miss with its prompt and its raw "
        "reply",
        "edgeagent check --app my_robot.py --cases cases.toml --models nano,qwen2.5-coder-1.5b": "two models in one "
        "table",
    },
    nothing_moves='No body of a tool is run: a call ends where the body would begin, and the model is told "done".',
    exit_code="0 looked, whatever was found; [cyan]edgeagent test[/] fails where calls are wrong · 2 wrong usage, "
    "settings, app file or cases · 3 the model · 130 Ctrl-C",
)

TEST_EPILOG: Final = epilog(
    {
        "edgeagent test --app my_robot.py --cases cases.toml": "",
        "edgeagent test --app my_robot.py --cases cases.toml --min-exact 0.9 --junit report.xml": "",
    },
    exit_code="0 enough cases are right · 1 too few are · 2 wrong usage, settings, app file or cases · 3 the model · "
    "130 Ctrl-C",
)


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
    as_json: options.AsJson = False,
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
        settings = options.settings(config, model=model, app=app)
        names = [name.strip() for name in (models or model or "").split(",") if name.strip()]
        if models is not None and not names:
            raise ConfigError("--models names no model; write them with commas between: nano,qwen2.5-coder-1.5b")
        if write_cases is not None:
            _write_starter(settings, write_cases)
        else:
            _check(settings, cases, list(dict.fromkeys(names)), as_json=as_json, verbose=verbose)


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
        settings = options.settings(config, model=model, app=app)
        code = _asserted(settings, cases, junit=junit, min_exact=min_exact, override=model is not None)
    raise typer.Exit(code)


def _check(config: Config, path: Path | None, models: Sequence[str], *, as_json: bool, verbose: bool) -> None:
    """Tries every model; without a name the app's own, or the configured one.

    Raises:
        ConfigError: The app file, the cases or a setting is wrong.
        ModelError: A model can't be used.
    """
    from edgeagent.app import configured_llm
    from edgeagent.check import Trial, doubts, read_cases
    from edgeagent.cli.check_report import CheckView, report_json

    view = CheckView(config.app, path, verbose=verbose)
    reports: list[Report] = []
    found: list[Doubt] = []
    for model in models:  # a wrong name is told before minutes are spent on the models before it
        configured_llm(replace(config, model=model)).close()
    for model in models or [config.model]:
        exits.going_on()
        with Trial(replace(config, model=model), override=bool(models)) as trial, exits.ending():
            cases = [] if path is None else read_cases(path, trial.tools)
            report = _tried(trial, cases)
            if not reports:
                found = doubts(trial.tools)
        if not as_json:
            view.show(report, found if not reports else [])
        reports.append(report)
    if as_json:
        told = report_json(config.app, reports, found)
        streams.answer_json(told, indent=2)
    else:
        view.end(reports)


def _write_starter(config: Config, path: Path) -> None:
    """Writes cases to begin with.

    Raises:
        ConfigError: The file is there already, or can't be written; the app file is wrong.
        ModelError: The model that the app needs can't be used.
    """
    from edgeagent.check import Trial, starter

    with Trial(config) as trial:
        text = starter(trial.tools)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is there already; name another file, or move it away") from None
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise ConfigError(f"{path}: the cases can't be written: {error.strerror}") from error
    app, cases = shlex.quote(str(config.app)), shlex.quote(str(path))
    streams.answer(f"wrote {path}: correct it, then: edgeagent check --app {app} --cases {cases}")


def _asserted(config: Config, path: Path, *, junit: Path | None, min_exact: float, override: bool) -> int:
    """Asks all cases of a file.

    Args:
        junit: Where to write a report for CI.
        min_exact: Least share of cases that must be right, from 0 to 1.
        override: The configured model answers, also where the app brings its own.

    Returns:
        The exit code.

    Raises:
        ConfigError: The app file, the cases or a setting is wrong, or the report can't be written.
        ModelError: The model can't be used.
    """
    from edgeagent.check import Trial, read_cases
    from edgeagent.check.trial import difference
    from edgeagent.cli.check_report import score_text, write_junit

    with Trial(config, override=override) as trial, exits.ending():
        report = _tried(trial, read_cases(path, trial.tools))
    for outcome in report.missed:
        where = str(path) if outcome.case.line is None else f"{path}:{outcome.case.line}"
        streams.answer(f'missed: {where}: "{one_line(outcome.case.say)}": {one_line(difference(outcome))}')
    passed = report.exact >= min_exact
    asked = f"at least {min_exact:.0%} of all cases asked for"
    streams.answer(f"{'passed' if passed else 'failed'}: {score_text(report)}; {asked}")
    if junit is not None:  # last, because what was asked for minutes is not to be lost by a path
        write_junit(junit, path, report)
    return exits.OK if passed else exits.FAILED


def _tried(trial: Trial, cases: Sequence[Case]) -> Report:
    """The report of a model, with the weights loaded and progress told."""
    with streams.patience(f"loading {trial.llm.name} …"):
        trial.load()
    if not cases:
        return trial.report()
    with closing(_Progress(trial.llm.name, len(cases))) as progress:
        return trial.run(cases, progress)


class _Progress(streams.LongWork):
    """A line about the cases that were asked."""

    def __init__(self, model: str, count: int) -> None:
        super().__init__()
        self._model = model
        self._count = count
        self._done = self._missed = 0
        streams.progress(self._text)

    def __call__(self, outcome: Outcome) -> None:
        self._done += 1
        self._missed += not outcome.right
        self.tell(self._text)

    @property
    def _text(self) -> str:
        return f"{self._model}: {self._done} of {self._count} cases asked, {self._missed} missed"
