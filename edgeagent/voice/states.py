"""The state of a conversation, and how it changes: by the table, and by what goes on.

The conversation's thread. Knows the actions only by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from edgeagent import events
from edgeagent.voice.robot_side import Emit, RobotSide
from edgeagent.voice.table import TABLE, Action, State, TableEvent
from edgeagent.voice.turn import Turn

_PLAYBACK: Final = {State.SPEAKING: "playing", State.HELD: "held"}
"""State of the loudspeaker; in other states it is stopped."""


def going_on(turn: Turn | None, robot: RobotSide, *, awake: bool, waits: bool = False) -> State:
    """The state that is what goes on.

    Args:
        turn: What is being said.
        robot: What it does.
        waits: Somebody has asked the robot to wait.
        awake: No wake word is needed.
    """
    if turn is not None and not turn.dismissed and not turn.asleep and not turn.complete:
        return State.HELD if robot.sounding else State.HEARING
    if robot.sounding:
        return State.HELD if waits else State.SPEAKING
    if robot.runs.acting:
        return State.ACTING
    if robot.thinking:
        return State.THINKING
    return State.LISTENING if awake else State.ASLEEP


class States:
    """The state, and the way from one to the next.

    Args:
        first: The state at the beginning.
        robot: It is held while somebody has the floor.
        what_goes_on: The state of what goes on now.
        stop_waits: A stop word waits for its transcript, or somebody has said "wait", so that nothing may go on yet.
        emit: Told of the events of the voice.

    Attributes:
        now: The state.
        now_s: The device's clock, set from outside.
        since_s: When the state began.
        actions: What each action of the table does.
    """

    def __init__(
        self,
        first: State,
        robot: RobotSide,
        *,
        what_goes_on: Callable[[], State],
        stop_waits: Callable[[], bool],
        emit: Emit,
    ) -> None:
        self.now = first
        self.now_s = self.since_s = 0.0
        self.actions: Mapping[Action, Callable[[], object]] = {}
        self._robot, self._what_goes_on, self._stop_waits, self._emit = robot, what_goes_on, stop_waits, emit

    def fire(self, event: TableEvent) -> None:
        """Does the cell of an event."""
        cell = TABLE[self.now, event]
        self.actions[cell.action]()
        if cell.then == "back":
            self.go_back(event)
        elif cell.then != "stay":
            self._become(cell.then, event)

    def go_back(self, why: TableEvent) -> None:
        """To what goes on."""
        self._become(self._what_goes_on(), why)

    def stay(self, why: TableEvent) -> None:
        """In this state; but what is held may go on, if the state lets it."""
        self._become(self.now, why)

    def look(self) -> None:
        """Takes up changes of the loudspeaker, and a goal that has ended after its run."""
        if self.now is State.SPEAKING:
            if not self._robot.sounding:
                self.fire(TableEvent.PLAYBACK_FINISHED)
        elif self.now in (State.HEARING, State.HELD):
            return
        elif self._robot.sounding:
            self.fire(TableEvent.SOUND)
        elif self.now in (State.THINKING, State.ACTING) and self._what_goes_on() is not self.now:
            self.fire(TableEvent.RUN_FINISHED)

    def change(self, event: events.Event) -> None:
        """Takes up the changes of a run."""
        if isinstance(event, events.AgentEnd):
            self._robot.ended(event)
        if isinstance(event, events.ToolExecutionStart):
            self.fire(TableEvent.TOOL)
        elif self.now in (State.THINKING, State.ACTING):
            self.fire(TableEvent.RUN_FINISHED)

    def _become(self, state: State, why: TableEvent) -> None:
        if state in (State.HEARING, State.HELD):
            self._robot.hold()
        elif not self._stop_waits():
            self._robot.resume()
        if state is not self.now:
            old, self.now = self.now, state
            self.since_s = self.now_s
            self._emit(events.VoiceState, old=str(old), new=str(state), why=str(why))
            if (told := _PLAYBACK.get(state, "stopped")) != _PLAYBACK.get(old, "stopped"):
                self._emit(events.Playback, state=told, position_s=self._robot.position_s)
