"""``edgeagent chat``: a conversation in a terminal, or a script from a pipe."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import typer

from edgeagent.cli import exits, options, sessions, streams, web_door
from edgeagent.cli.help import epilog

if TYPE_CHECKING:
    from edgeagent.app import App
    from edgeagent.config import Config

EPILOG: Final = epilog(
    {
        "edgeagent chat": "type; /help tells the rest",
        "edgeagent chat --speed 5 --seed 7": "",
        "edgeagent chat --app examples/my_robot.py": "",
        "edgeagent chat --session robi": "keep it under a name; go on where you stopped, also after a power cut",
        "edgeagent chat --continue": "go on with the last session of this folder or app",
        "edgeagent chat --audit audit.jsonl": "then [cyan]edgeagent replay audit.jsonl[/]",
        "edgeagent chat --web": "a page in the browser beside it",
        "edgeagent chat < script.txt": "every line to its end; replies on stdout, activity on stderr",
    },
    keys="Before a tool does what can't be undone you are asked; y allows it. While the robot works, a line is taken "
    "up after the running step; [bold]stop[/] alone stops it at once. Ctrl-C interrupts, twice within 2 s leaves; so "
    "do Ctrl-D and /quit.",
)
_EXAMPLE_CHARS: Final = 60


@options.tabled
def chat(
    *,
    robot: options.RobotOptions,
    deadline: options.Deadline = None,
    web: options.WebOptions,
    run: options.RunOptions,
    yes: options.Yes = False,
) -> None:
    """Talk to the robot. It goes on moving and answering while you type."""
    screen = has_screen()
    with exits.guarded(screen=screen):
        exits.watch(screen=screen)
        chosen = options.settings(run.config, robot, run, web, deadline_s=deadline)
        code = chatting(chosen, screen=screen, always=yes)
    raise typer.Exit(code)


def has_screen() -> bool:
    """True if somebody sits before it, and it can move the cursor."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


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
    from edgeagent.app import build
    from edgeagent.voice.announcer import GoalReports

    web_door.check(config)
    with ExitStack() as last, build(config, live=screen) as app, exits.ending():
        sessions.remember(app)
        if conversing:
            app.session.context.conversing = True
            app.agent.hooks.append(GoalReports(app.telling.report))
        app.load()
        tell = streams.answer if screen else streams.tell
        for line in _greeting(app, person=screen):
            tell(line)
        for note in app.notes:
            streams.warn(note)
        if screen:
            from edgeagent.cli.chat_screen import ChatScreen

            shown = ChatScreen(app, always=always)
            with web_door.served(config, app, shown.door, app.subscribe, last):
                return shown.run()
        from edgeagent.cli.script import LineScript

        script = LineScript(app, always=always)
        with web_door.served(config, app, script.door, app.subscribe, last):
            script.play()
    return exits.OK


def _greeting(app: App, *, person: bool) -> list[str]:
    """Tells who is there, on which model, and how to get help; to a person also what to say."""
    stream = streams.stdout() if person else sys.stderr
    name = streams.toned(app.agent.name, "name", stream)
    rest = streams.toned(f"on {app.llm.name} · /help for help · Ctrl-D leaves", "dim", stream)
    known = [message for message in app.session.messages() if message.role == "user" and message.origin == "user"]
    resumed = f"resumed after: {streams.shortened(known[-1].text, 60)}" if known else ""
    return [
        f"{name} {rest}",
        *([streams.toned(hint, "dim", stream)] if person and (hint := what_to_say(app)) else []),
        *([streams.toned(resumed, "dim", stream)] if resumed else []),
        *([streams.printable(app.say_at_start)] if app.say_at_start else []),
    ]


def what_to_say(app: App) -> str:
    """Two examples of what to say, as a line; empty where the app has no phrases."""
    from edgeagent.app.agent_phrases import examples

    quoted = [f'"{streams.shortened(phrase, _EXAMPLE_CHARS)}"' for phrase in examples(app.agent)]
    return f"say for example {' or '.join(quoted)}" if quoted else ""
