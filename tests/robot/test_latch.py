"""The latch: reversible hold, trip until re-armed; and the base obeys."""

import threading

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.strategies import sampled_from

from edgeagent.errors import ConfigError
from edgeagent.robot import LatchState, SafetyLatch


def test_it_is_held_and_released() -> None:
    latch = SafetyLatch()
    assert latch.state == "free"
    assert latch.hold("stop word")
    assert (latch.state, latch.reason) == ("held", "stop word")
    assert not latch.hold("again")
    assert not latch.wait(0.01)
    assert latch.release()
    assert latch.state == "free"
    assert latch.wait(0)


def test_tripped_it_stays_so_until_re_armed() -> None:
    latch = SafetyLatch()
    latch.hold("stop word")
    assert latch.trip("stop")
    assert not latch.trip("stop again")
    assert not latch.hold("late")
    assert not latch.release()
    assert (latch.state, latch.reason) == ("tripped", "stop")
    assert not latch.wait(), "waiting does not block: motion is over"
    assert latch.rearm()
    assert latch.state == "free"
    assert not latch.rearm()


@pytest.mark.parametrize("reason", ["", None])
def test_it_trips_without_a_reason_too(reason: str) -> None:
    latch = SafetyLatch()
    assert latch.trip(reason)
    assert (latch.state, latch.reason) == ("tripped", "stopped")
    assert latch.rearm()


def test_re_arming_does_not_release_a_hold() -> None:
    latch = SafetyLatch()
    latch.hold("stop word")
    assert not latch.rearm()
    assert latch.state == "held"


def test_it_is_free_when_the_last_owner_has_released_it() -> None:
    latch = SafetyLatch()
    assert latch.hold("a person", owner="lidar")
    assert not latch.hold("stop word", owner="ears")
    assert (latch.state, latch.reason) == ("held", "a person")
    assert not latch.release(owner="lidar")
    assert (latch.state, latch.reason) == ("held", "stop word")
    assert not latch.release(), "of nobody's"
    assert latch.release(owner="ears")
    assert latch.state == "free"


def test_the_hold_of_an_owner_outlives_a_trip() -> None:
    latch, heard = SafetyLatch(), []
    latch.subscribe(lambda state, reason: heard.append(str(state)))
    latch.trip("stop")
    assert not latch.hold("a person", owner="lidar")
    assert latch.state == "tripped"
    assert latch.rearm()
    assert (latch.state, latch.reason) == ("held", "a person")
    assert latch.release(owner="lidar")
    assert heard == ["tripped", "held", "free"]


@pytest.mark.parametrize(("end", "goes_on"), [("release", True), ("trip", False)])
def test_whoever_waits_wakes_up_when_the_hold_ends(end: str, goes_on: bool) -> None:
    latch, results, waiting = SafetyLatch(), [], threading.Event()
    latch.hold("stop word")

    def wait() -> None:
        waiting.set()
        results.append(latch.wait(10))

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(10)
    if end == "release":
        latch.release()
    else:
        latch.trip("stop")
    thread.join(10)
    assert results == [goes_on]


def test_listeners_are_told_without_a_lock_and_may_use_the_latch() -> None:
    latch, heard = SafetyLatch(), []

    def listen(state: LatchState, reason: str) -> None:
        other = threading.Thread(target=latch.wait, args=(0.01,))
        other.start()
        other.join(5)
        assert not other.is_alive(), "a lock was held"
        heard.append((state, reason))
        if state == "held":
            latch.trip("from a listener")

    end = latch.subscribe(listen)
    latch.hold("stop word")
    assert heard == [("held", "stop word"), ("tripped", "from a listener")] or heard[0][0] == "tripped"
    end()
    end()
    latch.rearm()
    assert len(heard) == 2


def test_a_listener_that_raises_does_not_keep_the_others_from_stopping(caplog: pytest.LogCaptureFixture) -> None:
    latch, heard = SafetyLatch(), []
    latch.subscribe(lambda state, reason: 1 / 0)
    latch.subscribe(lambda state, reason: heard.append(state))
    latch.trip("stop")
    assert heard == ["tripped"]
    assert "ZeroDivisionError" in caplog.text


class LatchMachine(RuleBasedStateMachine):
    """Any sequence of calls against the table of the contract: "" is whoever names no owner."""

    owners = sampled_from(["", "lidar", "ears"])

    def __init__(self) -> None:
        super().__init__()
        self.latch, self.tripped, self.holds = SafetyLatch(), False, set[str]()
        self.heard: list[str] = []
        self.latch.subscribe(lambda state, reason: self.heard.append(str(state)))

    @property
    def state(self) -> str:
        return "tripped" if self.tripped else "held" if self.holds else "free"

    def _expect(self, before: str, did: bool) -> None:
        assert did == (self.state != before)
        if did:
            assert self.heard[-1] == self.state

    @rule(owner=owners)
    def hold(self, owner: str) -> None:
        before = self.state
        if owner or not self.tripped:
            self.holds.add(owner)
        self._expect(before, self.latch.hold("h", owner=owner))

    @rule(owner=owners)
    def release(self, owner: str) -> None:
        before = self.state
        self.holds.discard(owner)
        self._expect(before, self.latch.release(owner=owner))

    @rule()
    def trip(self) -> None:
        before, self.tripped = self.state, True
        self.holds.discard("")
        self._expect(before, self.latch.trip("t"))

    @rule()
    def rearm(self) -> None:
        before, self.tripped = self.state, False
        self._expect(before, self.latch.rearm())

    @invariant()
    def agrees(self) -> None:
        assert self.latch.state == self.state
        assert bool(self.latch.reason) == (self.state != "free")
        assert self.latch.wait(0) == (self.state == "free")


TestLatchMachine = LatchMachine.TestCase
TestLatchMachine.settings = settings(max_examples=50, stateful_step_count=20)


def test_what_cannot_listen_is_refused():
    async def listen(state, reason):
        raise AssertionError("nobody awaits it")

    latch = SafetyLatch()
    for listener in (listen, None):
        with pytest.raises(ConfigError, match="plain function"):
            latch.subscribe(listener)
    assert latch.trip("a test")
