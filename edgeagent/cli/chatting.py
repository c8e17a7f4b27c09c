"""A chat from its beginning to its end, whatever is at the other side."""

from __future__ import annotations

import sys
from typing import Final

from edgeagent.app import App, build
from edgeagent.app.agent_phrases import examples
from edgeagent.cli import exits, streams, text
from edgeagent.config import Config
from edgeagent.voice.announcer import GoalReports

_EXAMPLE_CHARS: Final = 60


def chatting(config: Config, *, screen: bool, always: bool = False, conversing: bool = False) -> int:
    """Talks until somebody leaves.

    Args:
        screen: A person sits at a terminal; else stdin is a script.
        always: Allow what can't be undone without asking.
        conversing: It stands for a conversation aloud: a line interrupts, and what moves goes on meanwhile.

    Returns:
        The exit code.

    Raises:
        ConfigError, ModelError: It cannot begin.
    """
    with build(config, live=screen) as app, exits.ending():
        if conversing:
            app.session.context.conversing = True
            app.agent.hooks.append(GoalReports(app.telling.report))
        app.load()
        tell = streams.answer if screen else streams.tell
        colour = streams.coloured(streams.stdout() if screen else sys.stderr)
        for line in _greeting(app, colour=colour, person=screen):
            tell(line)
        for note in app.notes:
            streams.warn(note)
        if screen:
            from edgeagent.cli.screen import Screen

            return Screen(app, always=always).run()
        from edgeagent.cli.script import LineScript

        LineScript(app, always=always).play()
    return exits.OK


def _greeting(app: App, *, colour: bool, person: bool) -> list[str]:
    """Tells who is there, on which model, and how to get help; to a person also what to say."""
    name = streams.toned(app.agent.name, "name", colour=colour)
    rest = streams.toned(f"on {app.llm.name} · /help for help · Ctrl-D leaves", "dim", colour=colour)
    known = [message for message in app.session.messages() if message.role == "user" and message.origin == "user"]
    resumed = f"resumed after: {text.shortened(known[-1].text, 60)}" if known else ""
    return [
        f"{name} {rest}",
        *([streams.toned(hint, "dim", colour=colour)] if person and (hint := what_to_say(app)) else []),
        *([streams.toned(resumed, "dim", colour=colour)] if resumed else []),
        *([text.printable(app.say_at_start)] if app.say_at_start else []),
    ]


def what_to_say(app: App) -> str:
    """Two examples of what to say, as a line; empty where the app has no phrases."""
    quoted = [f'"{text.shortened(phrase, _EXAMPLE_CHARS)}"' for phrase in examples(app.agent)]
    return f"say for example {' or '.join(quoted)}" if quoted else ""
