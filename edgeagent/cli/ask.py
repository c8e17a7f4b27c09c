"""``edgeagent ask``: one request and its answer, or many from a pipe. Runs on the main thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, sessions, streams, text
from edgeagent.errors import ConfigError

if TYPE_CHECKING:
    from edgeagent import events
    from edgeagent.app import App
    from edgeagent.cli.activity import Activity
    from edgeagent.config import Config

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent ask "how full is your battery"[/]

[cyan]edgeagent ask "drive forward two meters and turn left" --json[/]

[cyan]edgeagent ask --stdin --json --speed 1000 < commands.txt > answers.jsonl[/]

[cyan]edgeagent ask "turn left" --app examples/my_robot.py[/]

[bold]Exit code[/]

0 answered · 1 aborted by its deadline · 2 wrong usage, settings or app file · 3 the model · 130 Ctrl-C
"""


@options.tabled
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
    *,
    robot: options.RobotOptions,
    deadline: options.Deadline = None,
    run: options.RunOptions,
    yes: options.Yes = False,
) -> None:
    """Ask the robot one thing, print its answer, and end. Stdout carries only the answer."""
    if stdin == bool(words):
        given = "both TEXT and --stdin" if stdin else "neither TEXT nor --stdin"
        raise typer.BadParameter(f"{given}; give one of them", param_hint="TEXT")
    with exits.guarded():
        exits.watch(screen=False)
        chosen = options.settings(run.config, robot, run, deadline_s=deadline)
        if stdin and chosen.session is not None:
            raise ConfigError("--stdin asks every line in a new session, so no session has anything to keep")
        asking = _Asking(chosen, as_json=as_json, verbose=verbose, always=yes)
        code = asking.many() if stdin else asking.one(" ".join(words or ()))
    raise typer.Exit(code)


class _Asking:
    """The command once its arguments are known."""

    def __init__(self, config: Config, *, as_json: bool, verbose: bool, always: bool = False) -> None:
        self._config = config
        self._as_json = as_json
        self._verbose = verbose
        self._always = always

    def one(self, sent: str) -> int:
        """Asks one thing. Returns the exit code."""
        from edgeagent.cli.record import recorded

        said = text.utterance(sent)
        if not said:
            raise ConfigError('the text is empty; say something, such as: edgeagent ask "where are you"')
        with self._ready() as app:
            sessions.remember(app)
            record = recorded(app.session, text.whole(sent), said)
            if self._as_json:
                streams.answer_json(record.fields())
            elif record.reason != "error" and (record.reply or record.reason != "aborted"):
                streams.answer(text.printable(record.reply))
        if record.error is not None:
            streams.complain(record.error)
            return exits.MODEL if record.failure is None else exits.code_of(record.failure)
        if record.reason == "aborted":
            limit = f"its deadline of {self._config.deadline_s:g} s"
            streams.complain(f"stopped by {limit if record.abort_reason == 'deadline' else record.abort_reason}")
            return exits.FAILED
        return exits.OK

    def many(self) -> int:
        """Asks every line of stdin, each of a robot that knows nothing of the others. Returns the exit code."""
        from edgeagent.cli.record import SentRecord, recorded

        with self._ready() as app:
            for number, sent in enumerate(text.lines(sys.stdin.buffer)):
                said = text.utterance(sent)
                if said and number:
                    app.renew()
                record = recorded(app.session, sent, said) if said else SentRecord(text=sent, agent=app.agent.name)
                if self._as_json:
                    streams.answer_json(record.fields())
                    continue
                if record.error is not None:
                    streams.complain(f"line {number + 1}: {record.error}")
                streams.answer(text.one_line(record.reply) if record.error is None else "")
        return exits.OK

    @contextmanager
    def _ready(self) -> Iterator[App]:
        """The app with its model loaded, and whoever looks on."""
        from edgeagent.app import build
        from edgeagent.cli.activity import Activity
        from edgeagent.cli.approvals import Approvals, typed

        with build(self._config) as app, exits.ending():
            app.person = Approvals(typed, always=self._always)
            for note in app.notes:
                streams.warn(note)
            app.load()
            if self._verbose or sys.stderr.isatty():
                activity = Activity()
                app.subscribe(lambda event: _show(activity, event))
            yield app


def _show(activity: Activity, event: events.Event) -> None:
    """The tools and the notices; how it ended is told with the answer."""
    from edgeagent import events

    lines = activity.lines(event)
    if not isinstance(event, events.AgentError | events.AgentEnd):
        for line in lines:
            streams.tell(text.shortened(line.text, streams.width(sys.stderr)), line.tone)
