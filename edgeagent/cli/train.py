"""``edgeagent train``: nano learns the tools of your robot from a handful of phrases, on this machine's CPU.

On the main thread; progress goes to stderr, scores and the path to stdout. No body of a tool is run.
"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.streams import one_line
from edgeagent.errors import ConfigError
from edgeagent.extras import is_here
from edgeagent.resources import expanded

if TYPE_CHECKING:
    from edgeagent.check import Case, Report, Trial
    from edgeagent.config import Config
    from edgeagent.train.fine_tuning import LossPoint
    from edgeagent.train.phrases_file import Phrase

EPILOG: Final = epilog(
    {
        "edgeagent train --app my_robot.py --phrases phrases.txt": "15 minutes; writes my_robot-nano.gguf",
        "edgeagent train --app my_robot.py --phrases phrases.txt --held-out others.txt --minutes 5": "a first look",
        "edgeagent chat --app my_robot.py --model my_robot-nano.gguf": "then talk with it",
    },
    phrases='A line is a sentence, " = " and the calls that are right; # begins a comment. Write five for each tool, '
    "in the words of your people:\n\n"
    "scan the third pallet = scan_pallet(number=3)\n\n"
    'scan pallet 4 and go slow = scan_pallet(number=4); set_speed(level="slow")\n\n'
    'who built you = none "I don\'t know."',
    exit_code="0 trained · 2 wrong usage, app file or phrases, or the extra is missing · 3 the model · 130 Ctrl-C",
)

MINUTES: Final = 15.0
"""Minutes of a training where nobody says otherwise."""
_SLOW_CORES: Final = 4
"""An ARM board with at most so many cores, such as a Raspberry Pi, would take hours."""
_EVERY: Final = 5
"""Of so many phrases with the same tools one is kept apart, where no file of others is given."""
_NEEDED: Final = ("torch", "gguf")


def train(
    app: options.App = None,
    phrases: Annotated[
        Path | None,
        typer.Option("--phrases", metavar="FILE.txt", help="What people say, with the right calls. [dim]required[/]"),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option("--held-out", metavar="FILE.txt", help="Other phrases, to score it. [dim](every fifth)[/]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.gguf", help="The model to write. [dim](APP-nano.gguf)[/]")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", metavar="N", min=0.01, help="Time for training. [dim](15)[/]")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", min=1, help="Steps instead of minutes: repeatable.")
    ] = None,
    seed: Annotated[str, typer.Option("--seed", metavar="TEXT", help="Draws other examples.")] = "1",
    model: options.Model = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a model that is there.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Train on a small board, too.")] = False,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Teach nano the tools of your robot, from a handful of phrases. No body of a tool is run."""
    if phrases is None:
        raise typer.BadParameter("which phrases? Name their file; --help shows the form", param_hint="--phrases")
    with exits.guarded():
        exits.watch(screen=False)
        settings = options.settings(config, model=model or "nano", app=app)
        if settings.app is None:
            raise ConfigError("whose tools? Name your robot: --app my_robot.py")
        _check_machine(anyway=anyway)
        target = expanded(out or Path(f"{settings.app.stem}-nano.gguf"))
        _check_target(target, force=force)
        budget_s = None if steps is not None and minutes is None else (MINUTES if minutes is None else minutes) * 60
        _train(settings, phrases, held_out, target, budget_s=budget_s, steps=steps, seed=seed)


def _check_machine(*, anyway: bool) -> None:
    """Refuses a machine without PyTorch, or one that is too slow.

    Raises:
        ConfigError: The text says what to do.
    """
    missing = [name for name in _NEEDED if not is_here(name)]
    if missing:
        raise ConfigError(f'training needs {" and ".join(missing)}, not installed here: pip install "edgeagent[train]"')
    cores = len(os.sched_getaffinity(0))
    if platform.machine().lower().startswith(("aarch64", "arm")) and cores <= _SLOW_CORES and not anyway:
        raise ConfigError(
            f"this board has {cores} cores of an ARM processor, and training would take hours: run the same command on "
            "a PC, and copy the .gguf and the .toml beside it to the board; --anyway trains here"
        )


def _check_target(path: Path, *, force: bool) -> None:
    """Refuses a place for the model before minutes are spent.

    Raises:
        ConfigError: It is no name of a model, there is something already, or the folder can't be written to.
    """
    if path.suffix != ".gguf":
        raise ConfigError(f"{path}: the name of a model ends in .gguf")
    if path.is_dir() or (path.exists() and not force):
        raise ConfigError(f"{path} is there already: choose another name with --out, or replace it with --force")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{path.parent} is no folder that can be written to; choose another place with --out")


def _train(
    config: Config,
    file: Path,
    held_out: Path | None,
    out: Path,
    *,
    budget_s: float | None,
    steps: int | None,
    seed: str,
) -> None:
    """Scores, trains, writes, and scores again.

    Raises:
        ConfigError: The app file or a phrase is wrong, or a file can't be written.
        ModelError: The model can't be trained.
    """
    with streams.patience("loading PyTorch …"):
        from edgeagent.check import Trial
        from edgeagent.train.course import Course
        from edgeagent.train.curve import draw_curve
        from edgeagent.train.fine_tuning import TrainingBudget
        from edgeagent.train.phrases_file import cases_of

    with Trial(config, override=True) as trial:
        trial.load()
        learnt, apart = _phrases(trial, file, held_out)
        cases = cases_of(apart, trial.tools)
        course = Course(trial, learnt, apart, seed)
        before = _scored(trial, cases, "before")
        try:
            streams.tell(_plan(learnt, apart, budget_s, steps), "dim")
            with closing(streams.LongWork()) as work:
                streams.progress("measuring this machine")
                course.run(
                    TrainingBudget(budget_s, steps), out, lambda point: work.tell(_state(point), last=point.share >= 1)
                )
        except KeyboardInterrupt:
            streams.tell(f"stopped; {out} is not written")
            raise
        losses = [(point.step, point.loss) for point in course.points]
        held = [(point.step, point.apart) for point in course.points if point.apart is not None]
        draw_curve(out.with_suffix(".png"), losses, held, f"{out.stem}: {len(losses)} steps")
    try:
        with Trial(replace(config, model=str(out)), override=True) as trial, exits.ending():
            after = _scored(trial, cases, "after")
    except KeyboardInterrupt:
        streams.tell(f"{out} is written, and was not scored")
        raise
    _tell_scores(before, after)
    app = shlex.quote(str(config.app))
    streams.answer(f"{out}  (the loss over {len(losses)} steps: {out.with_suffix('.png')})")
    streams.tell(f"now: edgeagent chat --app {app} --model {shlex.quote(str(out))}")


def _phrases(trial: Trial, file: Path, held_out: Path | None) -> tuple[list[Phrase], list[Phrase]]:
    """Phrases to learn, and those to score."""
    from edgeagent.train.phrases_file import kept_apart, read_phrases

    phrases = read_phrases(file, trial.tools)
    if held_out is None:
        return kept_apart(phrases, every=_EVERY)
    apart = read_phrases(held_out, trial.tools)
    known = {phrase.say.lower() for phrase in phrases}
    for phrase in apart:
        if phrase.say.lower() in known:
            raise ConfigError(f"{held_out}:{phrase.line}: {file} has this phrase too, so its score would tell nothing")
    untaught = {c.name for p in apart for c in p.calls} - {c.name for p in phrases for c in p.calls}
    if untaught:
        streams.warn(f"{file} has no phrase for {', '.join(sorted(untaught))}, which is scored")
    return phrases, apart


def _plan(learnt: Sequence[Phrase], apart: Sequence[Phrase], budget_s: float | None, steps: int | None) -> str:
    """Tells what happens now."""
    budget = f"{budget_s / 60:g} minutes" if budget_s is not None else f"{steps} steps"
    scored = f"{len(apart)} are kept apart" if apart else "none are kept apart: --held-out FILE names some to score"
    return f"learning from {len(learnt)} phrases for {budget}; {scored}"


def _scored(trial: Trial, cases: Sequence[Case], when: str) -> Report | None:
    if not cases:
        return None
    with streams.patience(f"asking {len(cases)} phrases, {when} …"):
        trial.load()
        return trial.run(cases)


def _tell_scores(before: Report | None, after: Report | None) -> None:
    """The table, and what is still missed."""
    from edgeagent.check.trial import difference

    if before is None or after is None:
        return
    streams.answer(f"{'phrases kept apart':24}{'before':>12}{'after':>12}")
    rows = (
        ("right", [_of(r.missed, r.outcomes) for r in (before, after)]),
        ("commands, exact", [_of([o for o in r.commands if not o.right], r.commands) for r in (before, after)]),
        ("talk without a call", [_of([o for o in r.talk if not o.right], r.talk) for r in (before, after)]),
        ("wrong actions", [str(len(r.wrong_actions)) for r in (before, after)]),
    )
    for name, cells in rows:
        streams.answer(f"{name:24}{cells[0]:>12}{cells[1]:>12}")
    for outcome in after.missed:
        streams.answer(f'missed: "{one_line(outcome.case.say)}": {one_line(difference(outcome))}')


def _of(missed: Sequence[object], every: Sequence[object]) -> str:
    return f"{len(every) - len(missed)} of {len(every)}" if every else "-"


def _state(point: LossPoint) -> str:
    told = f"step {point.step}  loss {point.loss:.2f}  {point.tokens_per_s:.0f} tokens/s"
    return f"{point.share:4.0%}  {told}  {point.left_s / 60:.1f} min left"
