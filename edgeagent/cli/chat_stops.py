"""Stop phrases in a chat: what a typed "stop", "wait" or "cancel" does, and "continue" after it.

The latch decides what may move; a chat has no speech to hold. On the main thread, except where a method says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from edgeagent.app import App
from edgeagent.app.app import latch_of
from edgeagent.cli.activity import Line, latch_line
from edgeagent.config import Config
from edgeagent.english.stop_phrases import Grade, Release, Situation, StopPhrases
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.voice.stopped_answer import WAIT, StoppedAnswer

STOPPED: Final = "I am stopped. Type continue when I may move again."
"""The reply where motion is asked for while it is off."""
_OWNER: Final = "chat"
"""Of the hold."""
_WAITS: Final = Line("  it waits; “continue” lets it move", "warning")


class ChatStops:
    """Obeys the stop phrases of one chat.

    Args:
        show: Shows a line, on any thread.
        on_stop: Called when the run was told to end, so that nobody waits for an answer any more; on any thread.

    Raises:
        ConfigError: The agent's latch can't be held.
    """

    def __init__(
        self, app: App, show: Callable[[Line], object], *, on_stop: Callable[[], object] = lambda: None
    ) -> None:
        self._app, self._show, self._on_stop = app, show, on_stop
        self._latch = latch_of(app.agent)
        self._phrases = StopPhrases(names=[app.agent.name], trips=_own_words(app.config))
        app.agent.hooks.append(StoppedAnswer(self._latch, STOPPED, on_wait=lambda: show(_WAITS)))
        self._latch.subscribe(self._tell)

    @property
    def latch(self) -> SafetyLatch:
        """The agent's latch."""
        return self._latch

    def take(self, said: str, *, asked: bool = False) -> bool:
        """Obeys a line if it is a stop phrase now, or ends what one has begun; False where it is for the model.

        Args:
            asked: A question of the robot's is open, so that the line may be the answer.
        """
        agent = self._app.agent
        moves = agent.is_moving
        busy = moves or agent.is_running or bool(agent.goals_at_work)
        situation = Situation(busy=busy, moves=moves, asked=asked)
        match self._phrases.grade(said, situation, typed=True):
            case Grade.TRIP:
                self.stop("stop word")
            case Grade.CANCEL:
                self._cancel()
            case Grade.HOLD if moves or self._may_move:
                self._hold()
            case _:
                return not asked and self._released(said)
        return True

    def stop(self, reason: str) -> None:
        """Stops everything, what moves first; motion stays off until ``rearm``. Any thread, as ``rearm``."""
        self._latch.trip(reason)
        self._latch.release(owner=_OWNER)
        self._app.session.abort("safety_stop")
        self._on_stop()

    def interrupt(self) -> bool:
        """Ends the run and everything that moves, be it detached; the latch stays as it is. False: there was no run."""
        running = self._app.session.abort("user")
        self._app.agent.cancel_goals()
        return running

    def rearm(self) -> bool:
        """Allows motion that was stopped or held here. False if it was allowed."""
        released = self._latch.release(owner=_OWNER)
        rearmed = self._latch.rearm()
        if self._latch.state is not LatchState.FREE:
            self._show(Line(f"  it is still held: {self._latch.reason}", "warning"))
        elif released or rearmed:
            self._show(Line("  it may move again"))
        return released or rearmed

    @property
    def _may_move(self) -> bool:
        agent = self._app.agent
        return bool(agent.handoffs) or any(tool.traits.motion for tool in agent.tools)

    def _hold(self) -> None:
        if not self._latch.hold(WAIT, owner=_OWNER):  # it is held or off already
            self._show(_WAITS)

    def _cancel(self) -> None:
        agent = self._app.agent
        agent.clear_all_queues()
        running = self._app.session.abort("cancelled")
        agent.cancel_goals()
        self._latch.release(owner=_OWNER)
        self._on_stop()
        if not running:  # the end of a run says so
            self._show(Line("■ cancelled", "warning"))

    def _released(self, said: str) -> bool:
        """Obeys what ends a stop or a hold; False if it is no such phrase, or there is nothing to end."""
        state = self._latch.state
        if state is LatchState.FREE or (state is LatchState.HELD and self._latch.reason != WAIT):
            return False
        match self._phrases.release(said):
            case Release.MOTION:
                self.rearm()
            case Release.SPEECH:
                self._show(_WAITS)
            case None:
                return False
        return True

    def _tell(self, state: LatchState, reason: str) -> None:
        """On any thread."""
        if (line := latch_line(state, reason)) is not None:
            self._show(line)


def _own_words(config: Config) -> Iterable[str]:
    """The stop words of the settings, where they have any: they count typed as well as spoken."""
    if "stop_words" not in config.ears:
        return ()
    from edgeagent.app.ears_setup import stop_words  # imports all that hears

    return stop_words(config)
