"""``edgeagent ask``: one request and its answer, or many from a pipe. Runs on the main thread."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgeagent.cli import exits, options, sessions, streams
from edgeagent.cli.help import epilog
from edgeagent.errors import ConfigError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent import events
    from edgeagent.agent import RunHandle
    from edgeagent.app import App
    from edgeagent.cli.activity import Activity
    from edgeagent.config import Config
    from edgeagent.messages import ToolCall, ToolResult
    from edgeagent.session import Session

EPILOG: Final = epilog(
    {
        'edgeagent ask "how full is your battery"': "",
        'edgeagent ask "drive forward two meters and turn left" --json': "",
        "edgeagent ask --stdin --json --speed 1000 < commands.txt > answers.jsonl": "",
        'edgeagent ask "turn left" --app examples/my_robot.py': "",
    },
    exit_code="0 answered · 1 aborted by its deadline · 2 wrong usage, settings or app file · 3 the model · 130 Ctrl-C",
)


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
        said = streams.utterance(sent)
        if not said:
            raise ConfigError('the text is empty; say something, such as: edgeagent ask "where are you"')
        with self._ready() as app:
            sessions.remember(app)
            record = recorded(app.session, streams.whole(sent), said)
            if self._as_json:
                streams.answer_json(record.fields())
            elif record.reason != "error" and (record.reply or record.reason != "aborted"):
                streams.answer(streams.printable(record.reply))
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
        with self._ready() as app:
            for number, sent in enumerate(streams.lines(sys.stdin.buffer)):
                said = streams.utterance(sent)
                if said and number:
                    app.renew()
                record = recorded(app.session, sent, said) if said else SentRecord(text=sent, agent=app.agent.name)
                if self._as_json:
                    streams.answer_json(record.fields())
                    continue
                if record.error is not None:
                    streams.complain(f"line {number + 1}: {record.error}")
                streams.answer(streams.one_line(record.reply) if record.error is None else "")
        return exits.OK

    @contextmanager
    def _ready(self) -> Iterator[App]:
        """The app with its model loaded, and whoever looks on."""
        from edgeagent.app import build
        from edgeagent.cli.activity import Activity, Approvals

        with build(self._config) as app, exits.ending():
            app.person = Approvals(streams.typed, always=self._always)
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
            line.tell()


# --- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRecord:
    """One request and what came of it, as ``--json`` writes it.

    ``text`` is what was sent, ``failure`` what the run raised, if it did. Times in seconds.
    """

    text: str
    agent: str
    reply: str = ""
    calls: tuple[tuple[ToolCall, ToolResult | None], ...] = ()
    reason: str = "completed"
    abort_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    first_token_s: float | None = None
    total_s: float = 0.0
    error: str | None = None
    failure: BaseException | None = None

    def fields(self) -> dict[str, Any]:
        """JSON values. ``abort_reason`` and ``error`` are there only when there is one."""
        fields: dict[str, Any] = {
            "text": self.text,
            "reply": self.reply,
            "calls": [_call(call, result) for call, result in self.calls],
            "reason": self.reason,
            "agent": self.agent,
            "usage": {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens},
            "timings": {"first_token_s": _rounded(self.first_token_s), "total_s": _rounded(self.total_s)},
        }
        if self.abort_reason is not None:
            fields["abort_reason"] = self.abort_reason
        if self.error is not None:
            fields["error"] = self.error
        return fields


def recorded(session: Session, text: str, said: str) -> SentRecord:
    """Runs one request to its end, whatever the end is.

    Args:
        text: As it was sent, for the record.
        said: As the model is told it.
    """
    name, began_s = session.agent.name, time.monotonic()
    try:
        handle = session.start(said)
    except EdgeAgentError as error:
        return SentRecord(text=text, agent=name, reason="error", error=str(error), failure=error)
    log = list(handle.events())
    handle.wait()
    return _recorded(text, handle, log, began_s)


def _recorded(text: str, handle: RunHandle, log: Sequence[events.Event], began_s: float) -> SentRecord:
    """The record of a run that is over. One that raised has left its calls in the log."""
    from edgeagent import events

    failure = handle.error
    if failure is None:
        result = handle.result()
        reply, error = result.reply, result.error
    else:
        reply, error = "", str(failure) or type(failure).__name__
    asked: list[ToolCall] = []
    ended: dict[str, tuple[ToolCall, ToolResult]] = {}
    first_s: float | None = None
    read = written = 0
    reason: str = "error"
    abort_reason: str | None = None
    for event in log:
        match event:
            case events.MessageUpdate(t=t):
                first_s = first_s or t - began_s
            case events.MessageEnd(message=message, t=t) if message.role == "assistant":
                asked += message.tool_calls
                if (usage := message.usage) is not None:
                    read, written = read + usage.input_tokens, written + usage.output_tokens
                if message.tool_calls:
                    first_s = first_s or t - began_s
            case events.ToolExecutionEnd(call=call, result=done):
                ended[call.id] = (call, done)
            case events.AgentEnd(reason=reason, abort_reason=abort_reason):
                pass
    return SentRecord(
        text=text,
        agent=handle.agent.name,
        reply=reply,
        calls=tuple(ended.get(call.id, (call, None)) for call in asked),
        reason=reason,
        abort_reason=abort_reason,
        input_tokens=read,
        output_tokens=written,
        first_token_s=first_s,
        total_s=log[-1].t - began_s if log else time.monotonic() - began_s,
        error=error,
        failure=failure,
    )


def _call(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "status": "not_run" if result is None else result.status,
        "result": "" if result is None else result.text,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
