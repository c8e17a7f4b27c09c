"""Asks one thing, or every line of a pipe, and writes the answers. Runs on the main thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from edgeagent import events
from edgeagent.app import App, build
from edgeagent.cli import exits, streams, text
from edgeagent.cli.activity import Activity
from edgeagent.cli.approvals import Approvals
from edgeagent.cli.record import SentRecord, ask
from edgeagent.config import Config
from edgeagent.errors import ConfigError


class Asking:
    """The command once its arguments are known."""

    def __init__(self, config: Config, *, as_json: bool, verbose: bool, always: bool = False) -> None:
        self._config = config
        self._as_json = as_json
        self._verbose = verbose
        self._always = always

    def one(self, sent: str) -> int:
        """Asks one thing. Returns the exit code."""
        said = text.utterance(sent)
        if not said:
            raise ConfigError('the text is empty; say something, such as: edgeagent ask "where are you"')
        with self._ready() as app:
            record = ask(app.session, text.whole(sent), said)
            if self._as_json:
                streams.answer(record.to_json(ascii_only=not streams.is_utf8(streams.stdout())))
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
        with self._ready() as app:
            for number, sent in enumerate(text.lines(sys.stdin.buffer)):
                said = text.utterance(sent)
                if said and number:
                    app.renew()
                record = ask(app.session, sent, said) if said else SentRecord(text=sent, agent=app.agent.name)
                if self._as_json:
                    streams.answer(record.to_json(ascii_only=not streams.is_utf8(streams.stdout())))
                    continue
                if record.error is not None:
                    streams.complain(f"line {number + 1}: {record.error}")
                streams.answer(text.one_line(record.reply) if record.error is None else "")
        return exits.OK

    @contextmanager
    def _ready(self) -> Iterator[App]:
        """The app with its model loaded, and whoever looks on."""
        with build(self._config) as app, exits.ending():
            app.person = Approvals(_typed, always=self._always)
            for note in app.notes:
                streams.warn(note)
            app.load()
            if self._verbose or sys.stderr.isatty():
                activity = Activity()
                app.subscribe(lambda event: _show(activity, event))
            yield app


def _typed(question: str) -> str | None:
    """Reads what is typed at a terminal; None at its end. Text from a pipe is what to ask, and no answer."""
    if not sys.stdin.isatty():
        return None
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline() or None


def _show(activity: Activity, event: events.Event) -> None:
    """The tools and the notices; how it ended is told with the answer."""
    lines = activity.lines(event)
    if not isinstance(event, events.AgentError | events.AgentEnd):
        for line in lines:
            streams.tell(text.shortened(line.text, streams.width(sys.stderr)), line.tone)
