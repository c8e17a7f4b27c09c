"""``edgeagent replay``: what a robot was asked and did, turn by turn, from the file of an ``AuditLogHook``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from edgeagent.cli import exits

EPILOG: Final = """\
[bold]Examples[/]

[cyan]edgeagent replay audit.jsonl[/]  each run: its turns, its calls, where its time went

[cyan]edgeagent replay audit.jsonl | less[/]

[cyan]edgeagent replay audit.jsonl --prompts[/]  why: each prompt, raw reply, how it was read, what the grammar refused

[cyan]edgeagent replay audit.jsonl --json > turns.jsonl[/]  one line a turn, and one at the end of each run

[bold]To record[/]

Agent(..., hooks=[AuditLogHook("audit.jsonl")])

[bold]Exit code[/]

0 shown · 2 there is no such file, or it is no audit log
"""


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What AuditLogHook wrote.", show_default=False)],
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also each prompt, the raw reply and how it was read.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Fold nothing of the prompts: neither tools nor what was shown before.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print turns and runs as lines of JSON.")] = False,
) -> None:
    """Show recorded runs turn by turn, with what took how long. Nothing is run again."""
    with exits.guarded():
        from edgeagent.cli.replaying import Replaying

        Replaying(file, prompts=prompts or full, full=full, as_json=as_json).show()
