"""The slash commands of a chat and of a conversation aloud, in one table. They ask the program, not the model."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.app import App
from edgeagent.cli import streams
from edgeagent.cli.activity import call_text
from edgeagent.cli.streams import printable, shortened, toned
from edgeagent.cli.why import LastRequest, explained
from edgeagent.english.answers import Control, Controlled
from edgeagent.errors import BusyError
from edgeagent.hooks.compaction import exchanges
from edgeagent.messages import Message, Usage
from edgeagent.tools import Tool

if TYPE_CHECKING:
    from edgeagent.app.conversation import Conversation
    from edgeagent.cli.chat_stops import ChatStops

_CANCEL: Final = "cancel that"
_REPEAT: Final = "repeat that"
_NEVER_BEGAN: Final = frozenset({"unknown", "invalid", "blocked", "declined", "denied", "skipped", "not_run"})
"""Statuses of calls whose body was never called."""
_DONE_CHARS: Final = 80

Door = Literal["chat", "talk"]


def is_slash(line: str) -> bool:
    """True if a line is for the program."""
    return line.startswith("/")


@dataclass(frozen=True, slots=True)
class Again:
    """The last request, which is to be asked again.

    Attributes:
        question: What a person has to allow first, because the robot has done something or was told more since; empty
            where it has not.
    """

    text: str
    question: str
    of: tuple[str, ...]
    """Ids of the messages that go."""


class Slash:
    """Answers the slash commands of one chat. Each command is a method that takes the rest of its line.

    Args:
        stops: Obeys /stop and /continue.
        say: Shows an answer, on the caller's thread.
        complain: Shows what was wrong, likewise.
    """

    door: Door = "chat"
    _again: Again | None = None
    _woken: RunHandle | None = None

    def __init__(
        self,
        app: App,
        stops: ChatStops | Conversation,
        say: Callable[[str], object],
        complain: Callable[[str], object],
    ) -> None:
        self._app = app
        self._stops = stops
        self._say = say
        self._complain = complain
        self._left = False
        self._runs = 0
        self._turns = 0
        self._last = LastRequest()
        app.subscribe(self._count)
        app.subscribe(self._last)

    def run(self, line: str) -> bool:
        """Does what a line says. False means: leave."""
        name = line.split(maxsplit=1)[0].lower()
        offered = {command.name: command for command in COMMANDS if self.door in command.doors}
        if (command := offered.get(_SAME.get(name, name))) is not None:
            command.does(self, line.partition(" ")[2].strip())
        else:
            near = difflib.get_close_matches(name, offered, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(offered)}"
            self._complain(f"there is no {shortened(name, 40)}; {hint}")
        return not self._left

    def help(self, rest: str) -> None:
        self._rows(HELP[self.door].items())
        self._note("While the robot works, type on. stop ends all at once, and nothing moves until continue;")
        self._note("wait holds what moves until continue; cancel ends it. Ctrl-C interrupts.")

    def stop(self, rest: str) -> None:
        self._stops.stop("/stop")

    def go_on(self, rest: str) -> None:
        if not self._stops.rearm():
            self._complain("nothing is stopped: it may move")

    def map(self, rest: str) -> None:
        robot = self._app.robot
        if robot is None:
            self._complain("this robot has no map")
            return
        from edgeagent.house.picture import map_png, map_svg
        from edgeagent.house.text_map import terminal_map

        now = robot.world.snapshot()
        self._say(_marked_up(terminal_map(now, colour=True)) if streams.coloured() else terminal_map(now))
        written = []
        for name, drawn in (("map.svg", map_svg), ("map.png", map_png)):
            try:
                path = Path.cwd() / name
                path.write_bytes(drawn(now))
                written.append(str(path))
            except (OSError, ImportError) as error:
                self._complain(f"{name} was not written: {error}")
        if written:
            self._note(f"written to {' and '.join(written)}")

    def tools(self, rest: str) -> None:
        self._rows((_signature(tool), tool.description) for tool in self._app.agent.tools)

    def model(self, rest: str) -> None:
        self._rows(self._model())

    def stats(self, rest: str) -> None:
        self._rows(self._stats())

    def why(self, rest: str) -> None:
        if rest not in ("", "full"):
            self._complain("/why is alone, or followed by full")
            return
        calls = self._last.calls
        if calls is None:
            self._complain("nothing was asked yet")
            return
        if not calls:
            self._note("no model was asked")
            return
        lines = explained(calls, width=streams.width() - 1, full=rest == "full")
        self._say("\n".join(toned(line.text, line.tone) for line in lines))

    def steer(self, rest: str) -> None:
        if not rest:
            self._complain("/steer needs a text, such as: /steer the bedroom instead")
            return
        working = self._app.agent.is_running
        self._woken = self._app.session.steer(rest, wake=True)
        if working:
            self._note("the robot hears it after the running step")

    def undo(self, rest: str) -> None:
        before, exchange = self._last_exchange()
        if not exchange:
            self._complain("there is nothing to undo")
            return
        try:
            self._app.session.restore(before)
        except BusyError:
            self._complain("the robot is at work; stop it first (Ctrl-C), then /undo")
            return
        self._note(f"forgotten: {shortened(exchange[0].text, 60)}")

    def retry(self, rest: str) -> None:
        _, exchange = self._last_exchange(of_person=True)
        agent = self._app.agent
        if agent.is_running or agent.is_moving or agent.goals_at_work:
            self._complain("the robot is at work; stop it first (Ctrl-C), then /retry")
        elif not exchange:
            self._complain("there is nothing to ask again")
        else:
            did = "; ".join(self._done(exchange))
            said = [message.text for message in exchange if message.role == "user" and message.origin == "steering"]
            parts = [f"it did this, and may do it again: {did}."] if did else []
            if said:  # perhaps a no to it
                asked, later = (shortened(text, _DONE_CHARS) for text in (exchange[0].text, "; ".join(said)))
                parts.append(f'what is asked again is "{asked}", without what you said to it later: "{later}".')
            question = " ".join((*parts, "Ask again? [y/N] ")) if parts else ""
            self._again = Again(exchange[0].text, question, tuple(message.id for message in exchange))

    def take_again(self) -> Again | None:
        """Request that the last command wants to be asked again; None if it wants none. Once."""
        again, self._again = self._again, None
        return again

    def take_woken(self) -> RunHandle | None:
        """Run that the last command has begun; None if it began none. Once."""
        woken, self._woken = self._woken, None
        return woken

    def ask_again(self, again: Again) -> RunHandle:
        """Takes the last request and its answer from history, and asks the request.

        Raises:
            BusyError: The robot has begun something meanwhile, or the conversation has gone on.
            EdgeAgentError: As ``Session.start``.
        """
        before, exchange = self._last_exchange(of_person=True)
        if tuple(message.id for message in exchange) != again.of:
            raise BusyError("the conversation has gone on meanwhile; /retry once more")
        self._app.session.restore(before)
        self._note(f"asked again: {shortened(again.text, 60)}")
        return self._app.session.start(again.text)

    def _last_exchange(self, *, of_person: bool = False) -> tuple[list[Message], list[Message]]:
        """History until the last request, and the request with all that came of it; empty if there is none.

        Args:
            of_person: What a timer or a goal has begun is no request.
        """
        groups = exchanges(self._app.session.messages())
        firsts = [(i, group[0]) for i, group in enumerate(groups) if group[0].role == "user"]
        begun = [i for i, first in firsts if first.origin == "user" or (not of_person and first.origin != "summary")]
        if not begun:
            return [], []
        after = [message for group in groups[begun[-1] :] for message in group]
        return [message for group in groups[: begun[-1]] for message in group], after

    def _done(self, exchange: Iterable[Message]) -> Iterator[str]:
        """Calls that have begun and may have changed something: a tool that is gone may have, too."""
        harmless = {tool.name for tool in self._app.agent.tools if tool.traits.read_only}
        calls = {call.id: call for message in exchange for call in message.tool_calls}
        for message in exchange:
            if message.role == "tool" and message.status not in _NEVER_BEGAN and message.name not in harmless:
                call = calls.get(message.call_id or "")
                yield shortened(f"{call_text(call) if call else message.name} ({message.text})", _DONE_CHARS)

    def reset(self, rest: str) -> None:
        try:
            self._app.session.reset()
        except BusyError:
            self._complain("the robot is at work; stop it first (Ctrl-C), then /reset")
            return
        flat = "" if self._app.robot is None else "; robot and flat stay as they are"
        self._note(f"the conversation is forgotten{flat}")

    def leave(self, rest: str) -> None:
        self._left = True

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

    def _count(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                self._runs += 1
            case events.TurnStart():
                self._turns += 1

    def _rows(self, rows: Iterable[tuple[str, str]]) -> None:
        """Two columns, the second one cut at the edge of the terminal."""
        table = [(printable(left), right) for left, right in rows]
        pad = max((len(left) for left, _ in table), default=0) + 2
        for left, right in table:
            rest = shortened(right, max(streams.width() - pad - 3, 20))
            self._say(f"  {left:<{pad}}{toned(rest, 'dim')}".rstrip())

    def _note(self, text: str) -> None:
        self._say(toned(text, "dim"))


class TalkSlash(Slash):
    """Answers the slash commands of one conversation aloud; ``stops`` is the conversation.

    Some of them do what one would press a button for.
    """

    door = "talk"
    _stops: Conversation

    def help(self, rest: str) -> None:
        self._rows(HELP[self.door].items())
        self._say("Anything else is heard as if you had said it. Ctrl-C stops, twice leaves.")

    def cancel(self, rest: str) -> None:
        if self._stops.dialogue.turns.grade(_CANCEL) is None:
            self._complain("nothing goes on that could be cancelled")
        else:
            self._stops.hear(_CANCEL)

    def repeat(self, rest: str) -> None:
        self._stops.hear(_REPEAT)

    def louder(self, rest: str) -> None:
        self._stops.dialogue.robot.obey(Controlled(Control.LOUDER))

    def quieter(self, rest: str) -> None:
        self._stops.dialogue.robot.obey(Controlled(Control.QUIETER))

    def mute(self, rest: str) -> None:
        muted = not self._stops.dialogue.robot.muted
        self._stops.mute(muted)
        self._say("muted; /mute again ends that" if muted else "it speaks aloud again")


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, its line of help, its method, and where it is offered."""

    name: str
    told: str
    does: Callable[[Any, str], object]
    doors: tuple[Door, ...] = ("chat", "talk")


COMMANDS: Final = (
    Command("/help", "what you can type", lambda slash, rest: slash.help(rest)),
    Command("/stop", "stops everything; it does not move until /continue", Slash.stop),
    Command("/continue", "allows motion again", Slash.go_on),
    Command("/cancel", "ends what it does and says; motion stays allowed", TalkSlash.cancel, ("talk",)),
    Command("/repeat", "says the last answer again", TalkSlash.repeat, ("talk",)),
    Command("/louder", "speaks louder", TalkSlash.louder, ("talk",)),
    Command("/quieter", "speaks more quietly", TalkSlash.quieter, ("talk",)),
    Command("/mute", "says nothing aloud any more; again: it does", TalkSlash.mute, ("talk",)),
    Command("/map", "where the robot is; also as map.svg and map.png", Slash.map),
    Command("/tools", "what the robot can do", Slash.tools),
    Command("/model", "the model that answers", Slash.model),
    Command("/stats", "tokens, speed and memory", Slash.stats),
    Command("/why", "why the last answer: prompt, raw reply, how it was read; /why full folds nothing", Slash.why),
    Command(
        "/steer", "/steer TEXT: tell it something while it works, for after the running step", Slash.steer, ("chat",)
    ),
    Command("/undo", "forget the last request and its answer; what the robot did stays done", Slash.undo, ("chat",)),
    Command("/retry", "ask the last request again; asks first where it did something", Slash.retry, ("chat",)),
    Command("/reset", "forget the conversation", Slash.reset, ("chat",)),
    Command("/quit", "leave", Slash.leave),
)
_SAME: Final = {"/exit": "/quit"}
HELP: Final[dict[Door, dict[str, str]]] = {
    door: {command.name: command.told for command in COMMANDS if door in command.doors} for door in ("chat", "talk")
}


def _signature(tool: Tool) -> str:
    return f"{tool.name}({', '.join(tool.parameters['properties'])})"


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
