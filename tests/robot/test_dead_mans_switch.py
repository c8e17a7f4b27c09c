"""The rules of a dead man's switch, and those of a base behind one, without a network."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import DeadMansSwitch, RemoteBase, RosPose, SwitchRelay, SwitchState, Velocity

AHEAD = Velocity(0.2)
STATE = SwitchState(0.3, senders=("me",)).to_json()


@pytest.fixture
def switch() -> DeadMansSwitch:
    return DeadMansSwitch(0.3)


def test_a_velocity_passes_until_its_time_is_over(switch: DeadMansSwitch) -> None:
    assert switch.take(AHEAD, "agent", 5.0, 100.0) == ""
    assert switch.look(100.29) == AHEAD
    assert switch.look(100.3).is_zero
    assert switch.look(100.0).is_zero


def test_zero_counts_at_once(switch: DeadMansSwitch) -> None:
    switch.take(AHEAD, "agent", 5.0, 100.0)
    assert switch.take(Velocity(), "agent", 5.02, 100.02) == ""
    assert switch.look(100.02).is_zero


def test_a_velocity_that_took_long_passes_for_what_is_left_of_its_time(switch: DeadMansSwitch) -> None:
    switch.take(AHEAD, "agent", 5.0, 100.0)
    switch.take(AHEAD, "agent", 5.1, 100.3)
    assert not switch.look(100.39).is_zero
    assert switch.look(100.41).is_zero


def test_velocities_that_waited_in_a_queue_do_not_pass(switch: DeadMansSwitch) -> None:
    switch.take(AHEAD, "agent", 5.0, 100.0)
    for sent_s in (5.02, 5.04, 5.06):
        assert "late" in switch.take(AHEAD, "agent", sent_s, 103.0)
    assert switch.look(103.0).is_zero
    assert switch.take(AHEAD, "agent", 8.0, 103.0) == ""
    assert switch.look(103.0) == AHEAD


def test_first_velocities_that_waited_in_a_queue_do_not_pass(switch: DeadMansSwitch) -> None:
    assert switch.take(Velocity(), "a", 50.0, 100.0) == ""  # the base was opened
    for waited in range(20):
        assert "late" in switch.take(AHEAD, "a", 51.0 + waited / 50, 105.0)
        assert switch.look(105.0).is_zero


def test_velocities_that_waited_do_not_pass_though_another_sender_was_heard_meanwhile(switch: DeadMansSwitch) -> None:
    assert switch.take(Velocity(), "a", 50.0, 100.0) == ""
    assert switch.take(Velocity(), "b", 7.0, 104.0) == ""
    assert "late" in switch.take(AHEAD, "a", 50.5, 104.5)
    assert switch.look(104.5).is_zero


def test_clocks_that_drift_apart_do_not_stop_the_robot(switch: DeadMansSwitch) -> None:
    for second in range(100_000):
        assert switch.take(AHEAD, "agent", second * 0.9999, 100.0 + second) == ""


def test_one_sender_at_a_time_passes(switch: DeadMansSwitch) -> None:
    switch.take(AHEAD, "agent", 5.0, 100.0)
    assert "another program" in switch.take(Velocity(-0.2), "other", 70.0, 100.1)
    assert switch.tell() == SwitchState(0.3, True, ("agent", "other"), "other", "another program drives the robot")
    assert switch.tell() == SwitchState(0.3)
    assert switch.take(Velocity(), "other", 70.1, 100.1) == ""
    assert switch.look(100.1) == AHEAD
    assert switch.take(Velocity(-0.2), "other", 70.4, 100.4) == ""
    assert switch.look(100.4) == Velocity(-0.2)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_velocity_that_is_no_number_stops_the_robot(switch: DeadMansSwitch, wrong: float) -> None:
    switch.take(AHEAD, "agent", 5.0, 100.0)
    assert "no number" in switch.take(Velocity(0.1, wrong), "agent", 5.1, 100.1)
    assert switch.look(100.1).is_zero


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_no_number_moves_nothing(switch: DeadMansSwitch, wrong: float) -> None:
    assert "no number" in switch.take(AHEAD, "agent", wrong, 100.0)
    assert switch.look(100.0).is_zero
    assert switch.take(AHEAD, "agent", 5.0, 100.0) == ""


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(-10, 10), st.floats(-1, 1), st.floats(0, 1)), max_size=30))
def test_nothing_passes_longer_than_the_time_out(sent: list[tuple[str, float, float, float]]) -> None:
    switch, now_s = DeadMansSwitch(0.3), 0.0
    for sender, sent_s, forward, later_s in sent:
        now_s += later_s
        switch.take(Velocity(forward), sender, sent_s, now_s)
    assert switch.look(now_s + 0.3).is_zero


def test_a_renewal_passes_though_another_sender_is_refused_with_it(switch: DeadMansSwitch) -> None:
    """A robot that hears no renewal stops by its own time-out, though the driver renews its velocity."""
    sent: list[Velocity] = []
    relay = SwitchRelay(switch, sent.append, tell=lambda state: None, is_heard=lambda: True)
    for now_s in (100.0, 100.02):
        relay.take(lambda now_s=now_s: (AHEAD, "agent", now_s), now_s)
        relay.take(lambda now_s=now_s: (Velocity(-1.0), "another", now_s), now_s)
        relay.look(now_s)
    assert sent == [AHEAD, AHEAD]


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, 0.6, math.nan, math.inf])
def test_a_time_out_that_is_none_is_refused(timeout_s: float) -> None:
    with pytest.raises(ConfigError, match="timeout_s"):
        DeadMansSwitch(timeout_s)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"timeout_s": 9, "is_heard": true, "senders": [], "refused": "", "why": ""}',
        '{"timeout_s": %s, "is_heard": true, "senders": [], "refused": "", "why": ""}' % ("9" * 400),
        "[" * 100_000,
        "null",
        '"a"',
        "\0",
    ],
)
def test_a_state_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="switch"):
        SwitchState.from_json(text)


# --- a base behind a switch -------------------------------------------------------------------------------------------


class Wire(RemoteBase):
    """A base whose messages are put in by hand."""

    sender, switch_hint = "me", "start the switch"

    def connect(self) -> None:
        self.sent: list[Velocity] = []
        self.hear_switch(STATE)
        self.hear_pose(RosPose(0.0, 0.0))

    def publish(self, velocity: Velocity) -> None:
        self.sent.append(velocity)

    def disconnect(self) -> None:
        pass


@pytest.fixture
def base() -> Wire:
    base = Wire()
    base.open()
    assert base.sent == []
    return base


def facing(x_m: float, y_m: float, degrees: float) -> RosPose:
    return RosPose(x_m, y_m, qz=math.sin(math.radians(degrees) / 2), qw=math.cos(math.radians(degrees) / 2))


def test_a_zero_that_was_not_sent_is_sent_again_and_not_taken_for_a_stop(
    base: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.set_velocity(AHEAD)
    with monkeypatch.context() as patch:
        patch.setattr(Wire, "publish", lambda *_: 1 / 0)
        for stop in (base.stop, lambda: base.set_velocity(Velocity())):
            with pytest.raises(ZeroDivisionError):
                stop()
    base.set_velocity(Velocity())
    assert base.sent[-1] == Velocity()
    base.set_velocity(Velocity())
    assert len(base.sent) == 2, "at rest nothing is sent"


def test_the_way_is_forward_minus_back_and_the_turn_is_never_wrapped(base: Wire) -> None:
    for degrees in range(0, 721, 30):
        base.hear_pose(facing(0.0, 0.0, degrees))
    assert math.isclose(base.odometry().turned_rad, 4 * math.pi)
    for pose in (facing(0.0, 0.0, 90), facing(0.0, 2.0, 90), facing(0.0, 1.5, 90)):
        base.hear_pose(pose)
    assert math.isclose(base.odometry().travelled_m, 1.5)


def test_a_jump_to_the_side_is_told_as_a_way(base: Wire) -> None:
    base.hear_pose(RosPose(0.0, 5.0))
    assert abs(base.odometry().travelled_m) == 5.0


@pytest.mark.parametrize(
    "pose",
    [
        RosPose(math.nan, 0.0),
        RosPose(0.0, math.inf),
        RosPose(0.0, 0.0, qw=0.0),
        RosPose(0.0, 0.0, qw=math.nan),
        RosPose(0, 0, qz=5),
    ],
)
def test_a_pose_that_is_none_ends_motion(base: Wire, pose: RosPose) -> None:
    base.set_velocity(AHEAD)
    base.hear_pose(pose)
    with pytest.raises(DriveError, match="nonsense"):
        base.set_velocity(AHEAD)
    assert base.odometry().is_finite


def test_a_base_that_its_switch_does_not_hear_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wire, "sender", "another")
    base = Wire(answer_s=0.1)
    with pytest.raises(DriveError, match="does not hear this base"):
        base.open()
    assert base.sent
    assert set(base.sent) == {Velocity()}


def test_a_switch_that_is_exchanged_for_one_with_a_longer_time_out_ends_motion(base: Wire) -> None:
    base.set_velocity(AHEAD)
    base.hear_switch(SwitchState(0.5).to_json())
    with pytest.raises(DriveError, match="has a time-out of 0"):
        base.set_velocity(AHEAD)


def test_a_switch_that_nobody_reads_ends_motion(base: Wire) -> None:
    base.set_velocity(AHEAD)
    base.hear_switch(SwitchState(0.3, is_heard=False).to_json())
    with pytest.raises(DriveError, match="nobody reads"):
        base.set_velocity(AHEAD)


@pytest.mark.parametrize("refused", ["me", "*"])
def test_what_the_switch_refuses_ends_motion(base: Wire, refused: str) -> None:
    base.hear_switch(SwitchState(0.3, refused="somebody else", why="late").to_json())
    base.set_velocity(AHEAD)
    base.hear_switch(SwitchState(0.3, refused=refused, why="another program drives").to_json())
    base.hear_switch(STATE)
    with pytest.raises(DriveError, match="another program drives"):
        base.set_velocity(AHEAD)


def test_a_switch_that_knows_no_senders_refuses_every_base(base: Wire) -> None:
    base.hear_switch(SwitchState(0.3, why="late").to_json())
    with pytest.raises(DriveError, match="lets nothing pass: late"):
        base.set_velocity(AHEAD)


def test_a_base_without_a_name_is_not_refused_by_a_state_that_refuses_nobody(base: Wire) -> None:
    base.sender = ""
    base.hear_switch(STATE)
    base.set_velocity(AHEAD)
    assert base.sent == [AHEAD]


def test_zero_is_sent_once_and_then_nothing(base: Wire) -> None:
    base.set_velocity(Velocity())
    assert base.sent == []
    base.set_velocity(AHEAD)
    for _ in range(3):
        base.set_velocity(Velocity())
    assert base.sent == [AHEAD, Velocity()]
