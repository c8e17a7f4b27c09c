"""``edgeagent chat``: a conversation in a terminal, or a script from a pipe."""

from __future__ import annotations

import os
import sys
from typing import Final

import typer

from edgeagent.cli import exits, options

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent chat[/]  type; /help tells the rest

[cyan]edgeagent chat --speed 5 --seed 7[/]

[cyan]edgeagent chat --app examples/my_robot.py[/]

[cyan]edgeagent chat --session robi.journal[/]  go on where you stopped, also after a power cut

[cyan]edgeagent chat --audit audit.jsonl[/]  then [cyan]edgeagent replay audit.jsonl[/]

[cyan]edgeagent chat < script.txt[/]  every line to its end; replies on stdout, activity on stderr

[bold]Keys[/]

Before a tool does what can't be undone you are asked; y allows it. While the robot works, a line is taken up after the
running step; [bold]stop[/] alone stops it at once. Ctrl-C interrupts, twice within 2 s leaves; so do Ctrl-D and /quit.
"""


def chat(
    model: options.Model = None,
    app: options.App = None,
    deadline: options.Deadline = None,
    log: options.Log = None,
    log_level: options.LogLevel = None,
    session: options.Session = None,
    audit: options.Audit = None,
    yes: options.Yes = False,
    speed: options.Speed = None,
    seed: options.Seed = None,
    config: options.ConfigFile = None,
) -> None:
    """Talk to the robot. It goes on moving and answering while you type."""
    screen = has_screen()
    with exits.guarded(screen=screen):
        exits.watch(screen=screen)
        from edgeagent.cli.chatting import chatting

        chosen = options.settings(
            config,
            model=model,
            app=app,
            deadline=deadline,
            log=log,
            session=session,
            audit=audit,
            speed=speed,
            seed=seed,
        )
        code = chatting(chosen, screen=screen, always=yes)
    raise typer.Exit(code)


def has_screen() -> bool:
    """True if somebody sits before it, and it can move the cursor."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
