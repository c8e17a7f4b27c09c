"""``edgeagent replay``: what a robot was asked and did, turn by turn, from the file of an ``AuditLogHook``.

For a person or as lines of JSON. Runs on the main thread.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.streams import Tone, one_line, printable, shortened, toned
from edgeagent.errors import ConfigError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent.hooks.audit_reader import CallRecord, RunRecord, TurnRecord
    from edgeagent.messages import Reading

EPILOG: Final = epilog(
    {
        "edgeagent replay audit.jsonl": "each run: its turns, its calls, where its time went",
        "edgeagent replay audit.jsonl | less": "",
        "edgeagent replay audit.jsonl --prompts": "why: each prompt, raw reply, how it was read, what the grammar "
        "refused",
        "edgeagent replay audit.jsonl --json > turns.jsonl": "one line a turn, and one at the end of each run",
        "edgeagent replay talk.wav": "what talk --record kept: the sound, and its lines at their times",
    },
    to_record='Agent(..., hooks=[AuditLogHook("audit.jsonl")])',
    exit_code="0 shown · 2 there is no such file, or it is no audit log · 4 it is no WAV file · 130 Ctrl-C",
)
_SOUND: Final = ".wav"
"""End of the name of a recording of talk."""
_LEAST_WIDTH: Final = 40
_BAR: Final = 40
"""Columns of the bar of a wide terminal."""
_PARTS: Final = ("model", "tools", "other")
_CELLS: Final = ("█", "▒", "░")
_ASCII_CELLS: Final = ("#", "=", ".")
_NO_PROMPT: Final = (
    "no prompt in this log: it was written before logs had them, or by a model that does not tell them; run it again "
    "with --audit, and with a GGUF as the model"
)


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What AuditLogHook or talk --record wrote.", show_default=False)
    ],
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also each prompt, the raw reply and how it was read.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Fold nothing of the prompts: neither tools nor what was shown before.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print turns and runs as lines of JSON.")] = False,
    output: options.Output = None,
) -> None:
    """Show recorded runs turn by turn, with what took how long, or play a recorded talk. Nothing is run again."""
    with exits.guarded():
        if file.suffix.lower() == _SOUND:
            from edgeagent.cli.recorded_talk import replay_sound

            if prompts or full:
                raise ConfigError(f"{file} is sound; --prompts and --full are for a file of --audit")
            replay_sound(file, options.settings(None, audio__output=output), as_json=as_json)
            return
        _Replay(file, prompts=prompts or full, full=full, as_json=as_json).show()


class _Replay:
    """The command once its arguments are known.

    Args:
        prompts: The reading of each reply too: prompt, raw reply, and the steps to text and calls.
        full: Whole prompts; else tools, and what the prompt before had as well, are folded.
        as_json: Lines of JSON instead of text.
    """

    def __init__(self, file: Path, *, prompts: bool, full: bool, as_json: bool) -> None:
        self._file = file
        self._prompts = prompts
        self._full = full
        self._as_json = as_json
        self._width = max(streams.width(), _LEAST_WIDTH)
        self._cells = _CELLS if streams.is_utf8() else _ASCII_CELLS

    def show(self) -> None:
        """Shows every run of the file.

        Raises:
            ConfigError: The file is not there, or is no audit log.
        """
        shown = 0
        for run in self._runs():
            if self._as_json:
                self._show_json(run)
            else:
                self._show(run, first=shown == 0)
            shown += 1
        if not shown and not self._as_json:
            streams.tell(f"{self._file} holds no run")

    def _runs(self) -> Iterator[RunRecord]:
        from edgeagent.hooks.audit_reader import read

        try:
            yield from read(self._file)
        except OSError as error:
            raise ConfigError(f"{self._file} cannot be read: {error.strerror}") from error
        except EdgeAgentError as error:
            raise ConfigError(str(error)) from error

    # --- for a person -----------------------------------------------------------------------------------------------

    def _show(self, run: RunRecord, *, first: bool) -> None:
        if not first:
            streams.answer("")
        when = datetime.fromtimestamp(run.t, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        streams.answer(f"{toned(one_line(run.agent), 'name')} {toned(when, 'dim')}")
        self._wrapped("> ", one_line(run.task) if run.task is not None else "(continues)", "bold")
        before: Reading | None = None
        for turn in run.turns:
            self._turn(turn, run, before)
            before = turn.reading or before
        self._end(run)

    def _turn(self, turn: TurnRecord, run: RunRecord, before: Reading | None) -> None:
        whose = "" if turn.agent == run.agent else f" · {one_line(turn.agent)}"
        took = "not timed" if turn.text or turn.calls else "no answer"
        took = took if turn.model_s is None else f"model {_seconds(turn.model_s)}"
        count = f"{turn.messages} message{'' if turn.messages == 1 else 's'}"
        streams.answer(f"turn {turn.number}{whose} · {took} · {count}", "dim")
        if self._prompts:
            self._reading(turn, before)
        if turn.text:
            self._wrapped("  ", printable(turn.text))
        for call in turn.calls:
            streams.answer(shortened(f"  → {_call_text(call)}", self._width))
            streams.answer(self._result(call))

    def _reading(self, turn: TurnRecord, before: Reading | None) -> None:
        from edgeagent.cli.why import explained_reading

        if turn.reading is not None:
            for line in explained_reading(turn.reading, before, width=self._width, full=self._full):
                streams.answer(line.text, line.tone)
        elif turn.model_s is None:
            self._wrapped("  ", "no prompt: a log has it with the whole reply, which did not come", "warning")
        else:
            self._wrapped("  ", _NO_PROMPT, "warning")

    def _result(self, call: CallRecord) -> str:
        """``← text (status, 0.12 s)``, of which the text is what is cut."""
        if call.status is None:
            return toned("  ← (no result in this log)", "warning")
        took = "" if call.duration_s is None else f", {_seconds(call.duration_s)}"
        tail = f" ({call.status}{took})"
        head = shortened(f"  ← {call.text}", max(self._width - len(tail), _LEAST_WIDTH // 2))
        return toned(head + printable(tail), "dim" if call.status in ("ok", "detached", "declined") else "error")

    def _end(self, run: RunRecord) -> None:
        why = "" if run.abort_reason is None else f" ({run.abort_reason})"
        if run.reason is None:
            streams.answer("■ the log ends before this run did", "warning")
        else:
            tone: Tone = "dim" if run.reason in ("completed", "terminated") else "warning"
            streams.answer(f"■ {printable(f'{run.reason}{why}')}", tone)
        if run.error is not None:
            self._wrapped("  ", f"error: {one_line(run.error)}", "error")
        if run.reply and (not run.turns or run.turns[-1].text.strip() != run.reply.strip()):
            self._wrapped("  ", printable(run.reply), "bold")
        tokens = f"{run.input_tokens:,} tokens read, {run.output_tokens:,} written"
        streams.answer(f"  {_seconds(run.elapsed_s)} · {tokens}", "dim")
        if run.elapsed_s > 0:
            streams.answer(f"  {self._bar(run)}")

    def _bar(self, run: RunRecord) -> str:
        """Draws the shares of the time, in cells; a share that is not zero has at least one."""
        seconds = (run.model_s, run.tools_s, run.other_s)
        total = sum(seconds) or 1.0
        legend = "  ".join(
            f"{cell} {name} {share / total:.0%}" for cell, name, share in zip(self._cells, _PARTS, seconds, strict=True)
        )
        cells = _shares(seconds, max(min(_BAR, self._width - len(legend) - 4), len(_PARTS)))
        bar = "".join(cell * count for cell, count in zip(self._cells, cells, strict=True))
        return f"{bar}  {toned(legend, 'dim')}"

    def _wrapped(self, indent: str, text: str, tone: Tone = "plain") -> None:
        for paragraph in text.split("\n"):
            lines = textwrap.wrap(
                paragraph, self._width, initial_indent=indent, subsequent_indent=" " * len(indent)
            ) or [""]
            for line in lines:
                streams.answer(line, tone)

    # --- for a program ----------------------------------------------------------------------------------------------

    def _show_json(self, run: RunRecord) -> None:
        for turn in run.turns:
            told = dataclasses.asdict(turn)
            if not self._prompts:
                del told["reading"]
            self._json({"kind": "turn", "run": run.id, **told})
        fields = {name: value for name, value in dataclasses.asdict(run).items() if name not in ("id", "turns")}
        parts = {"model_s": run.model_s, "tools_s": run.tools_s, "other_s": run.other_s}
        self._json({"kind": "run", "run": run.id, **fields, "turns": len(run.turns), **parts})

    def _json(self, fields: dict[str, Any]) -> None:
        plain = {name: round(value, 6) if isinstance(value, float) else value for name, value in fields.items()}
        streams.answer_json(plain)


def _call_text(call: CallRecord) -> str:
    from edgeagent.cli.activity import call_text
    from edgeagent.messages import ToolCall

    if isinstance(call.arguments, str):
        return call_text(ToolCall(call.id, call.name, raw=call.arguments))
    return call_text(ToolCall(call.id, call.name, call.arguments))


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"


def _shares(seconds: tuple[float, ...], cells: int) -> list[int]:
    """Shares the cells out: by largest remainders, but one at least for what is not zero."""
    total = sum(seconds) or 1.0
    exact = [share / total * cells for share in seconds]
    counts = [max(int(share), 1 if share > 0 else 0) for share in exact]
    while sum(counts) < cells and any(exact):
        counts[max(range(len(counts)), key=lambda i: exact[i] - counts[i])] += 1
    while sum(counts) > cells:
        counts[max(range(len(counts)), key=lambda i: counts[i] - exact[i])] -= 1
    return counts
