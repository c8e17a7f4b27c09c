"""The deadline of the house robot's runs, in the time of the simulated flat."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from edgeagent import events
from edgeagent.agent import Agent

if TYPE_CHECKING:
    from edgeagent.house import HouseRobot


class Deadline:
    """Ends a run when its simulated time is over: a subscriber to the events of the house robot's agent.

    The time that passes in the flat while the model thinks is given back, so that a slow model has the same deadline.
    """

    def __init__(self, agent: Agent, robot: HouseRobot, limit_s: float, *, idle_passes: bool) -> None:
        self._agent = agent
        self._robot = robot
        self._world = robot.world
        self._limit_s = limit_s
        self._idle_passes = idle_passes
        self._lock = threading.Lock()
        self._run = 0
        self._busy: set[str] = set()
        self._idle_since_s = 0.0
        self._idle_s = 0.0

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                with self._lock:
                    self._run += 1
                    self._busy, self._idle_s, self._idle_since_s = set(), 0.0, self._world.time_s
                self._arm(self._limit_s)
            case events.ToolExecutionStart(call=call):
                with self._lock:
                    self._take_idle()
                    self._busy.add(call.id)
            case events.ToolExecutionEnd(call=call):
                with self._lock:
                    self._take_idle()
                    self._busy.discard(call.id)
            case events.AgentEnd():
                with self._lock:
                    self._run += 1

    def _take_idle(self) -> None:
        """Adds the idle time until now; under the lock."""
        now_s = self._world.time_s
        if not self._busy and self._idle_passes:
            self._idle_s += now_s - self._idle_since_s
        self._idle_since_s = now_s

    def _arm(self, seconds: float) -> None:
        run = self._run
        self._world.call_at(self._world.time_s + seconds, lambda: self._over(run))

    def _over(self, run: int) -> None:
        with self._lock:
            if run != self._run:
                return
            self._take_idle()
            given_back_s, self._idle_s = self._idle_s, 0.0
        if given_back_s > 0:
            self._arm(given_back_s)
            return
        self._agent.abort("deadline")
        self._robot.cancel_goals()  # at this very step of the simulation, not when the loop sees the stop
