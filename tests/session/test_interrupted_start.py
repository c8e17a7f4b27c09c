"""Ctrl-C while a session starts a run, at whatever point of it."""

import sys
import threading
from types import FrameType
from typing import Any

import pytest

from edgeagent import Agent, Session
from edgeagent.testing import ScriptedLLM

LIMIT_S = 30
"""More than twice what a session that closes waits for its run."""
POINTS = 80
"""A start has some 60 points; fewer or more where its thread is sooner or later than it."""


class _CtrlC:
    """Raises KeyboardInterrupt at the nth point at which CPython looks for signals: where a call begins or is back."""

    def __init__(self, at: int) -> None:
        self._left = at

    @property
    def came(self) -> bool:
        return self._left == 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "c_return"):
            return
        self._left -= 1
        if self._left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt


def _left_behind(at: int) -> tuple[bool, list[str]]:
    """Whether the start was interrupted at this point, and the threads that a closed session left at work."""
    session = Session(Agent("waiting", llm=ScriptedLLM("never", prefill_delay_s=60)))
    ctrl_c = _CtrlC(at)
    held: list[BaseException] = []  # as by a command that closes: with the frames and what is in them
    sys.setprofile(ctrl_c)
    try:
        try:
            session.start("go")
        finally:
            sys.setprofile(None)  # what has a point left may be interrupted even here
    except (KeyboardInterrupt, RuntimeError) as error:  # a broken-off wait of threading's raises the second
        held.append(error)
    session.abort("safety_stop")
    closing = threading.Thread(target=session.close, name="close", daemon=True)
    closing.start()
    begun = [each for each in threading.enumerate() if each.name == "agent-waiting" and each.is_alive()]
    own = [closing, *begun]
    for thread in own:
        thread.join(LIMIT_S)
    return ctrl_c.came, [thread.name for thread in own if thread.is_alive()]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where garbage is freed it is lost
def test_ctrl_c_at_any_point_of_a_start_leaves_nothing_at_work() -> None:
    interrupted = 0
    for at in range(1, POINTS + 1):
        came, left = _left_behind(at)
        assert left == [], f"interrupted at point {at}"
        interrupted += came
    assert interrupted > POINTS / 4  # it did stop at many points
