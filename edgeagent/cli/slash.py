"""The commands of a chat that begin with a slash. They ask the program, not the model."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from edgeagent import events
from edgeagent.app import App
from edgeagent.cli.chat_stops import ChatStops
from edgeagent.cli.streams import toned
from edgeagent.cli.text import printable, shortened
from edgeagent.cli.why import LastRequest, explained
from edgeagent.errors import BusyError
from edgeagent.hooks.compaction import exchanges
from edgeagent.messages import Usage
from edgeagent.tools import Tool

HELP: Final = {
    "/help": "what you can type",
    "/stop": "stops everything; it does not move until /continue",
    "/continue": "allows motion again",
    "/map": "where the robot is; also as map.svg and map.png",
    "/tools": "what the robot can do",
    "/model": "the model that answers",
    "/stats": "tokens, speed and memory",
    "/why": "why the last answer: prompt, raw reply, how it was read; /why full folds nothing",
    "/steer": "/steer TEXT: tell it something while it works, for after the running step",
    "/undo": "forget the last request and its answer; what the robot did stays done",
    "/reset": "forget the conversation",
    "/quit": "leave",
}
MAP_FILES: Final = ("map.svg", "map.png")


def is_slash(line: str) -> bool:
    """True if a line is for the program."""
    return line.startswith("/")


class Slash:
    """Answers the slash commands of one chat.

    Args:
        say: Shows an answer, on the caller's thread.
        complain: Shows what was wrong, likewise.
        stops: Stops, and allows motion again; None where somebody else answers the commands for that.
        colour: Whether what it shows may be coloured.
        width: How many columns there are.
    """

    def __init__(
        self,
        app: App,
        say: Callable[[str], object],
        complain: Callable[[str], object],
        *,
        stops: ChatStops | None = None,
        colour: bool,
        width: Callable[[], int],
    ) -> None:
        self._app = app
        self._say = say
        self._complain = complain
        self._stops = stops
        self._colour = colour
        self._width = width
        self._runs = 0
        self._turns = 0
        self._last = LastRequest()
        app.subscribe(self._count)
        app.subscribe(self._last)

    def run(self, line: str) -> bool:
        """Does what a line says. False means: leave."""
        name = line.split(maxsplit=1)[0].lower()
        match name:
            case "/help":
                self.rows(HELP.items())
                self._note("While the robot works, type on. stop ends all at once, and nothing moves until continue;")
                self._note("wait holds what moves until continue; cancel ends it. Ctrl-C interrupts.")
            case "/stop" if self._stops is not None:
                self._stops.stop("/stop")
            case "/continue" if self._stops is not None:
                if not self._stops.go_on():
                    self._complain("nothing is stopped: it may move")
            case "/map":
                self._map()
            case "/tools":
                self.rows((_signature(tool), tool.description) for tool in self._app.agent.tools)
            case "/model":
                self.rows(self._model())
            case "/stats":
                self.rows(self._stats())
            case "/why":
                self._why(line.partition(" ")[2].strip())
            case "/steer":
                self._steer(line.partition(" ")[2].strip())
            case "/undo":
                self._undo()
            case "/reset":
                self._reset()
            case "/quit" | "/exit":
                return False
            case _:
                near = difflib.get_close_matches(name, HELP, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(HELP)}"
                self._complain(f"there is no {shortened(name, 40)}; {hint}")
        return True

    def _map(self) -> None:
        robot = self._app.robot
        if robot is None:
            self._complain("this robot has no map")
            return
        from edgeagent.house.draw import terminal_map, write_map

        now = robot.world.snapshot()
        self._say(_marked_up(terminal_map(now, colour=True)) if self._colour else terminal_map(now))
        written = []
        for name in MAP_FILES:
            try:
                written.append(str(write_map(now, Path.cwd() / name)))
            except (OSError, ImportError) as error:
                self._complain(f"{name} was not written: {error}")
        if written:
            self._note(f"written to {' and '.join(written)}")

    def _model(self) -> Iterator[tuple[str, str]]:
        llm = self._app.llm
        yield "model", llm.name
        for what, attribute in (("file", "path"), ("calls", "tool_format")):
            if (value := getattr(llm, attribute, None)) is not None:
                yield what, str(value)
        yield "window", f"{llm.context_window:,} tokens"

    def _stats(self) -> Iterator[tuple[str, str]]:
        usage: Usage = self._app.session.usage
        stats = getattr(self._app.llm, "stats", None)
        yield "tokens", f"{usage.input_tokens:,} read, {usage.output_tokens:,} written"
        if stats is not None:
            reading = f", {stats.prompt_tokens_per_s:,.0f} reading" if stats.evaluated_tokens else ""
            speed = f"{stats.tokens_per_s:,.0f} writing{reading} (last reply)"
            yield "tokens/s", speed if stats.output_tokens else "none yet"
            yield "load time", f"{stats.load_s:.2f} s"
            if (chosen := stats.chosen) is not None:
                threads = f"{chosen.threads} thread{'' if chosen.threads == 1 else 's'}"
                yield "engine", f"{threads}, chunks of {chosen.chunk_tokens}, {chosen.kv_type} keys"
                yield "prefixes", f"{stats.prefix_bytes / 1e6:,.0f} of {chosen.prefix_memory_bytes / 1e6:,.0f} MB"
        yield "memory", f"{_resident_bytes() / 1e6:,.0f} MB"
        yield "turns", f"{self._turns} in {self._runs} run{'' if self._runs == 1 else 's'}"

    def _why(self, how: str) -> None:
        if how not in ("", "full"):
            self._complain("/why is alone, or followed by full")
            return
        calls = self._last.calls
        if calls is None:
            self._complain("nothing was asked yet")
            return
        if not calls:
            self._note("no model was asked")
            return
        lines = explained(calls, width=self._width() - 1, full=how == "full")
        self._say("\n".join(toned(line.text, line.tone, colour=self._colour) for line in lines))

    def _steer(self, said: str) -> None:
        if not said:
            self._complain("/steer needs a text, such as: /steer the bedroom instead")
            return
        working = self._app.agent.is_running
        self._app.session.steer(said, wake=True)
        if working:
            self._note("the robot hears it after the running step")

    def _undo(self) -> None:
        groups = exchanges(self._app.session.messages())
        begun = [i for i, group in enumerate(groups) if group[0].role == "user" and group[0].origin != "summary"]
        if not begun:
            self._complain("there is nothing to undo")
            return
        try:
            self._app.session.restore([message for group in groups[: begun[-1]] for message in group])
        except BusyError:
            self._complain("the robot is at work; stop it first (Ctrl-C), then /undo")
            return
        self._note(f"forgotten: {shortened(groups[begun[-1]][0].text, 60)}")

    def _reset(self) -> None:
        try:
            self._app.session.reset()
        except BusyError:
            self._complain("the robot is at work; stop it first (Ctrl-C), then /reset")
            return
        flat = "" if self._app.robot is None else "; robot and flat stay as they are"
        self._note(f"the conversation is forgotten{flat}")

    def _count(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                self._runs += 1
            case events.TurnStart():
                self._turns += 1

    def rows(self, rows: Iterable[tuple[str, str]]) -> None:
        """Two columns, the second one cut at the edge of the terminal."""
        table = [(printable(left), right) for left, right in rows]
        pad = max((len(left) for left, _ in table), default=0) + 2
        for left, right in table:
            rest = shortened(right, max(self._width() - pad - 3, 20))
            self._say(f"  {left:<{pad}}{toned(rest, 'dim', colour=self._colour)}".rstrip())

    def _note(self, text: str) -> None:
        self._say(toned(text, "dim", colour=self._colour))


def _signature(tool: Tool) -> str:
    names = [name for name in inspect.signature(tool.function).parameters if name in tool.parameters["properties"]]
    return f"{tool.name}({', '.join(names)})"


def _marked_up(text: str) -> str:
    """Rich markup as escape codes."""
    from rich.console import Console

    console = Console(force_terminal=True, width=200, highlight=False)
    with console.capture() as captured:
        console.print(text, end="", soft_wrap=True)
    return captured.get()


def _resident_bytes() -> int:
    """Memory of this process now; 0 where the system does not tell it that way."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
