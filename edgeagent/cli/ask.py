"""``edgeagent ask``: one request and its answer, or many from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from edgeagent.cli import exits, options, streams, text
from edgeagent.config import Config
from edgeagent.errors import ConfigError

if TYPE_CHECKING:
    from edgeagent import events
    from edgeagent.app import App
    from edgeagent.cli.record import Record

EPILOG = """\
[bold]Examples[/]

[cyan]edgeagent ask "how full is your battery"[/]

[cyan]edgeagent ask "drive forward two meters and turn left" --json[/]

[cyan]edgeagent ask --stdin --json --speed 1000 < commands.txt > answers.jsonl[/]

[cyan]edgeagent ask "wave" --app examples/my_robot.py[/]

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
        bool, typer.Option("--verbose", "-v", help="Show what the robot does on stderr, also where that is no terminal.")
    ] = False,
    model: options.Model = None,
    app: options.App = None,
    deadline: options.Deadline = None,
    log: options.Log = None,
    speed: options.Speed = None,
    seed: options.Seed = None,
    config: options.ConfigFile = None,
) -> None:
    """Ask the robot one thing, print its answer, and end. Stdout carries only the answer."""
    if stdin == bool(words):
        given = "both TEXT and --stdin" if stdin else "neither TEXT nor --stdin"
        raise typer.BadParameter(f"{given}; give one of them", param_hint="TEXT")
    with exits.guarded():
        wanted = options.settings(
            config, model=model, app=app, deadline=deadline, log=log, speed=speed, seed=seed
        )
        asking = _Asking(wanted, as_json=as_json, verbose=verbose)
        code = asking.many() if stdin else asking.one(" ".join(words or ()))
    if code:
        raise typer.Exit(code)


class _Asking:
    """The command once its arguments are known."""

    def __init__(self, config: Config, *, as_json: bool, verbose: bool) -> None:
        self._config = config
        self._as_json = as_json
        self._verbose = verbose

    def one(self, sent: str) -> int:
        """Asks one thing. Returns the exit code."""
        said = text.utterance(sent)
        if not said:
            raise ConfigError('the text is empty; say something, such as: edgeagent ask "where are you"')
        with self._ready() as app:
            record = ask_session(app.session, sent, said)
        if self._as_json:
            streams.answer(record.to_json())
        elif record.reply or record.error is None:
            streams.answer(text.printable(record.reply))
        if record.failure is not None:
            streams.complain(str(record.failure) or type(record.failure).__name__)
            return exits.code_of(record.failure)
        if record.reason == "error":
            return exits.MODEL
        return exits.FAILED if record.reason == "aborted" else exits.OK

    def many(self) -> int:
        """Asks every line of stdin, each of a robot that knows nothing of the others. Returns the exit code."""
        with self._ready() as app:
            for number, sent in enumerate(text.lines(sys.stdin.buffer)):
                said = text.utterance(sent)
                if said and number:
                    app.renew()
                record = ask_session(app.session, sent, said) if said else Record(text=sent, agent=app.agent.name)
                if self._as_json:
                    streams.answer(record.to_json())
                    continue
                if record.error is not None:
                    streams.complain(f"line {number + 1}: {record.error}")
                streams.answer(text.one_line(record.reply))
        return exits.OK

    @contextmanager
    def _ready(self) -> Iterator[App]:
        """The app with its model loaded, and whoever looks on."""
        with EventLog(self._config.log) as log, build(self._config) as app:
            for note in app.notes:
                streams.warn(note)
            app.load()
            app.subscribe(log)
            if self._verbose or sys.stderr.isatty():
                activity = Activity()
                app.subscribe(lambda event: _show(activity.lines(event)))
            yield app


def _show(lines: Sequence[Line]) -> None:
    for line in lines:
        streams.tell(text.shortened(line.text, streams.width(sys.stderr)), line.tone)
