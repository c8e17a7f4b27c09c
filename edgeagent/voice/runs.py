"""The runs of the conversation's session: what goes on, what it has done, and how its replies are spoken.

Told of events on the runs' threads, asked on the conversation's. Knows nothing of turns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.errors import BusyError
from edgeagent.messages import Message
from edgeagent.session import Session
from edgeagent.voice.announcer import Announcer
from edgeagent.voice.speech_queue import SpeechQueue
from edgeagent.voice.spoken_reply import HeardMessage, SpokenReply, keep_heard

_END_S: Final = 1.0
"""From the last event of a run to its result."""


@dataclass(slots=True)
class _Going:
    """The run that goes on."""

    run_id: str
    before: list[Message]
    """History when it began."""
    reply: SpokenReply
    text: str = ""
    woken: bool = False
    """A message of the app's began it, or a goal that has ended, and nobody who spoke."""
    tools: int = 0
    """At work."""
    acted: bool = False
    changed: bool = False
    """By a tool that does more than read."""
    notes: list[Message] = field(default_factory=list)
    """Told with its requests, and kept for others if it is undone."""
    motions: set[str] = field(default_factory=set)
    """Calls of motion tools that have not ended; a held latch keeps them waiting before they start."""


class Runs:
    """Runs of a session, one after the other.

    Args:
        session: Whose runs.
        queue: Speaks their replies.
        announcer: Told of their events too.
        on_change: Told that a run or a tool of it has begun or ended; on the run's thread.
        on_heard: Told of each message of the assistant's, when it is known what was heard of it.
        on_failure: Told why a reply could not be spoken.
        tell: Given every event.
    """

    def __init__(
        self,
        session: Session,
        queue: SpeechQueue,
        announcer: Announcer,
        *,
        on_change: Callable[[events.Event], object],
        on_heard: Callable[[HeardMessage], object],
        on_failure: Callable[[str], object],
        tell: Callable[[events.Event], object],
    ) -> None:
        self.session, self._queue, self._announcer = session, queue, announcer
        self._on_change, self._on_heard, self._on_failure, self._tell = on_change, on_heard, on_failure, tell
        self._going: _Going | None = None
        self._last: _Going | None = None
        """The run that went on last, be it over."""
        self._handle: RunHandle | None = None
        self._starting = False
        """Somebody has asked, and the run that answers has not begun."""
        self._last_reply: SpokenReply | None = None
        self._calm = threading.Condition()
        self.last_text = ""
        """The last answer, for who did not catch it."""
        self._unsubscribe = session.subscribe(self._take)

    def close(self) -> None:
        """Listens to no further run. Safe to call again."""
        self._unsubscribe()

    # --- the run's thread -------------------------------------------------------------------------------------------

    def _take(self, event: events.Event) -> None:
        if isinstance(event, events.AgentStart):
            self._begin(event.run_id)
        going = self._going
        if going is not None:
            self._follow(going, event)
            going.reply(event)
        self._announcer(event)
        self._tell(event)
        if isinstance(event, events.AgentEnd):
            with self._calm:
                self._last_reply = None if going is None else going.reply
                self._going = None
        if isinstance(event, events.AgentStart | events.AgentEnd | events.ToolExecutionStart | events.ToolExecutionEnd):
            self._on_change(event)
        with self._calm:
            self._calm.notify_all()

    def _begin(self, run_id: str) -> None:
        reply = self._queue.begin_reply(
            spoken=self.session.context.spoken, on_heard=self._heard, on_failure=self._on_failure
        )
        with self._calm:
            self._going = self._last = _Going(run_id, self.session.messages(), reply)
            self._starting = False

    def _follow(self, going: _Going, event: events.Event) -> None:
        match event:
            case events.MessageEnd(message=message) if message.origin == "note":
                going.notes.append(message)
            case events.MessageEnd(message=message) if message.role == "user":
                if not going.text:
                    going.woken = message.origin == "follow_up"
                    going.reply.deferred = going.woken and self._queue.held
                going.text = f"{going.text} {message.text}".strip()
            case events.MessageEnd(message=message) if message.role == "assistant":
                self.last_text = message.text if message.text.strip() else self.last_text
                with self._calm:
                    going.motions |= {call.id for call in message.tool_calls if self._moves(call.name)}
            case events.ToolExecutionStart(call=call):
                known = self.session.agent.tools.get(call.name)
                with self._calm:
                    going.tools += 1
                    going.acted = True
                    going.changed = going.changed or known is None or not known.traits.read_only
            case events.ToolExecutionEnd(call=call):
                with self._calm:
                    going.tools = max(going.tools - 1, 0)
                    going.motions.discard(call.id)

    def _moves(self, name: str) -> bool:
        known = self.session.agent.tools.get(name)
        return known is None or known.traits.motion

    def _heard(self, heard: HeardMessage) -> None:
        keep_heard(self.session, heard)
        self._on_heard(heard)

    # --- the conversation's thread ----------------------------------------------------------------------------------

    @property
    def run_id(self) -> str | None:
        going = self._going
        return None if going is None else going.run_id

    @property
    def active(self) -> bool:
        """A run goes on, or is about to begin."""
        return self._going is not None or self._starting

    @property
    def acting(self) -> bool:
        """A tool works, be it of a run that has ended."""
        going = self._going
        return (going is not None and going.tools > 0) or bool(self.session.agent.goals_at_work)

    @property
    def moves(self) -> bool:
        """A motion tool works, be it another agent's, or waits to start, or a goal is at work."""
        going, agent = self._going, self.session.agent
        return (going is not None and bool(going.motions)) or agent.is_moving or bool(agent.goals_at_work)

    @property
    def driving(self) -> bool:
        """A motion tool of the run that goes on works: the model is not asked before the tool ends."""
        going = self._going
        return going is not None and bool(going.motions) and going.tools > 0

    @property
    def about_to_move(self) -> bool:
        """Motion was called for, and nothing of the run works yet."""
        going = self._going
        return going is not None and bool(going.motions) and not going.tools

    def await_motion(self, timeout_s: float) -> bool:
        """Waits until motion that was called for has begun, or ended; False: not in time."""
        with self._calm:
            return self._calm.wait_for(lambda: not self.about_to_move, timeout_s)

    @property
    def unheard_report(self) -> bool:
        """The run that goes on tells what nobody has asked for, and nobody has heard any of it."""
        going = self._going
        return going is not None and going.woken and not going.reply.begun

    @property
    def unnoticed(self) -> str:
        """Returns the request of the run that goes on, if nothing of the run was heard and nothing was done; else an
        empty text."""
        going = self._going
        if going is None or going.woken or going.acted or going.reply.begun:
            return ""
        return going.text

    def ask(self, text: str) -> None:
        """Starts a run, or has the next one begin with it as soon as the one that ends has ended."""
        self._starting = True
        try:
            self._handle = self.session.start(text)
        except BusyError:
            self.add(text)
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Forgets a request that was taken back before its run began."""
        self._starting = False
        self.look_again()

    def add(self, text: str) -> None:
        """Has the run that goes on answer it too, or another one if that has ended."""
        self.session.steer(text, wake=True, starter=self._woken)

    def _woken(self) -> RunHandle:
        """Starts the run that a message wakes, maybe on the thread of the run before it."""
        self._handle = handle = self.session.start()
        return handle

    def conclude(self, run_id: str) -> None:
        """Says what a run that has ended came to, if that is in none of its messages."""
        handle, reply = self._handle, self._last_reply
        if handle is None or reply is None or handle.id != run_id:
            return
        if handle.wait(_END_S) and handle.error is None:
            reply.conclude(handle.result(0).reply)

    def discard(self, timeout_s: float) -> bool:
        """Undoes a run of which nothing is known outside; False if that came too late, and it is only stopped."""
        going, handle = self._going, self._handle
        if going is None or handle is None or handle.id != going.run_id or not self.unnoticed:
            return False
        handle.abort("reopened")
        if not handle.wait(timeout_s) or going.acted:
            return False
        return self._undo(going)

    def take_back(self, text: str, timeout_s: float) -> bool:
        """Undoes the last run, be it over, though some of its answer was heard; what it has begun to move goes on until
        something else needs the same.

        Args:
            text: What that run was asked.

        Returns:
            False if it has changed something, so that history must keep it.
        """
        last, handle = self._last, self._handle
        if last is None or handle is None or handle.id != last.run_id or last.text != text:
            return False
        handle.abort("reopened")
        if not handle.wait(timeout_s) or last.changed:
            return False
        return self._undo(last)

    def _undo(self, run: _Going) -> bool:
        self._queue.cut()
        try:
            self.session.restore(run.before)
        except BusyError:  # a message has woken another one
            return False
        for note in run.notes:
            self.session.note(note)
        return True

    def settle(self, timeout_s: float, *, waits: Callable[[], bool]) -> bool:
        """Waits while a model thinks; a tool may take its time. False: not in time.

        Args:
            waits: Whether the run waits for a person; ``look_again`` when that changes.
        """
        with self._calm:
            return self._calm.wait_for(lambda: waits() or self._is_calm, max(timeout_s, 0.0))

    def look_again(self) -> None:
        """Has ``settle`` ask ``waits`` again."""
        with self._calm:
            self._calm.notify_all()

    @property
    def _is_calm(self) -> bool:
        return not self._starting if self._going is None else self._going.tools > 0
