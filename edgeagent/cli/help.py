"""Help of the commands: flags without the type of a value, and the examples and texts below the options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperGroup


class PlainFlags(TyperGroup):
    """The commands, whose help shows nothing behind a flag: typer's <bool> reads as if a flag took a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)
        _plain(params)
        return params

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        for each in [found, *getattr(found, "commands", {}).values()] if found is not None else ():
            _plain(each.get_params(ctx))
        return found


def _plain(params: Iterable[Any]) -> None:
    for one in params:
        if getattr(one, "is_flag", False):
            one.metavar = ""


def epilog(examples: Mapping[str, str], **sections: str) -> str:
    """Text below the options of a command, in the markup of rich.

    Args:
        examples: What each command line does, by the line.
        sections: Texts by their headings; ``exit_code`` is headed "Exit code".
    """
    shown = ["[bold]Examples[/]"] if examples else []
    shown += [f"[cyan]{line}[/]  {told}".rstrip() for line, told in examples.items()]
    for heading, text in sections.items():
        shown += [f"[bold]{heading.replace('_', ' ').capitalize()}[/]", text]
    return "\n\n".join(shown)
