"""Time: the same result at every speed, held back to the wall clock, and stoppable at any moment."""

import itertools
import math
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.house import HouseRobot, Scene, Snapshot, World, motion

from .conftest import Eventually


def errands(house: HouseRobot) -> list[tuple[str, Snapshot]]:
    """A morning of a robot: what it reported, and the world after each command."""
    house.set_timer(9)
    tasks: tuple[Callable[[], object], ...] = (
        lambda: house.drive(1.0),
        lambda: house.turn(-120.0),
        lambda: house.pick_up("cup"),
        lambda: house.put_down("sofa"),
        house.follow,
        lambda: house.drive(9.0),
    )
    return [(str(task()), house.world.snapshot()) for task in tasks]


def test_the_same_seed_and_commands_give_the_same_world_at_any_speed() -> None:
    results, rang = [], []
    for speed in (50.0, 1000.0, math.inf):
        rings: list[tuple[str, float]] = []
        house = HouseRobot(seed=11, speed=speed)
        house._on_timer = lambda text, rings=rings, house=house: rings.append((text, house.world.time_s))
        results.append(errands(house))
        rang.append(rings)
        house.close()
    assert results[0] == results[1] == results[2]
    assert rang[0] == rang[1] == rang[2] == [("[timer] 9 seconds are over", 9.0)]


def test_the_same_at_the_speed_of_life() -> None:
    worlds = []
    for speed in (1.0, math.inf):
        house = HouseRobot(seed=2, speed=speed)
        house.drive(0.1)
        house.turn(10.0)
        worlds.append(house.world.snapshot())
        house.close()
    assert worlds[0] == worlds[1]


def test_another_seed_gives_another_world() -> None:
    worlds = [Scene(seed).snapshot() for seed in (1, 2)]
    assert worlds[0].things != worlds[1].things


@pytest.mark.parametrize("speed", [2.0, 20.0])
def test_motion_takes_as_long_as_the_speed_says(speed: float) -> None:
    house = HouseRobot(speed=speed)
    begin_s = time.monotonic()
    house.turn(90.0)
    took_s = time.monotonic() - begin_s
    house.close()
    assert took_s >= 0.8 * house.world.time_s / speed


@pytest.mark.parametrize("speed", [0.0, 0.09, 1001.0, -1.0, math.nan])
def test_a_speed_out_of_range_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match=r"from 0.1 to 1000"):
        World(speed=speed)


@pytest.mark.parametrize("speed", [0.1, 1.0, 1000.0])
def test_a_stop_is_seen_at_once_at_any_speed(speed: float, eventually: Eventually) -> None:
    house, asked, stop = HouseRobot(speed=speed), threading.Event(), threading.Event()
    ended: list[float] = []

    class Goal:
        cancelled = property(lambda self: asked.set() or stop.is_set())

        def cancel(self) -> bool:
            return True

        def set_progress(self, progress: str) -> None:
            pass

    def turn() -> None:
        house.turn(3600.0, goal=Goal())
        ended.append(time.monotonic())

    thread = threading.Thread(target=turn)
    thread.start()
    eventually(lambda: asked.is_set() and house.world.scene.base.turn_rate != 0.0)
    stopped_s = time.monotonic()
    stop.set()
    thread.join(10)
    house.close()
    assert ended
    assert ended[0] - stopped_s < 0.2, "50 ms are specified; the rest is for a busy test machine"


def test_halting_in_mid_motion_stops_within_the_braking_distance(house: HouseRobot) -> None:
    marks: list[float] = []

    def halt() -> None:
        marks.append(house.world.scene.base.x)
        house.world.halt()

    house.world.call_at(2.0, halt)
    report = house.drive(3.0)
    rolled_m = house.world.scene.base.x - marks[0]
    assert report.kind == "stopped"
    assert 0 < rolled_m <= 0.5**2 / (2 * 3.0) + 0.005
    assert house.world.scene.base.still


def test_a_program_over_its_simulated_time_gives_up(house: HouseRobot) -> None:
    outcome = house.world.run(lambda scene: motion.turn(scene, 100.0), timeout_s=2.0)
    assert outcome.end == "timed_out"
    assert 2.0 <= house.world.time_s < 2.2


def test_calls_come_in_order_at_their_time_without_the_lock(house: HouseRobot) -> None:
    calls: list[tuple[str, float]] = []
    for name, at_s in (("b", 2.0), ("a", 1.0), ("c", 2.0), ("late", 100.0)):
        house.world.call_at(at_s, lambda name=name: calls.append((name, house.world.snapshot().time_s)))
    house.world.advance(10.0)
    assert calls == [("a", 1.0), ("b", 2.0), ("c", 2.0)]


def test_a_call_that_raises_is_logged_and_time_goes_on(house: HouseRobot, caplog: pytest.LogCaptureFixture) -> None:
    house.world.call_at(1.0, lambda: 1 / 0)
    house.world.advance(2.0)
    assert house.world.time_s == 2.0
    assert "ZeroDivisionError" in caplog.text


def test_idle_time_stands_still_without_the_ticker_and_passes_with_it(eventually: Eventually) -> None:
    house = HouseRobot(speed=1000.0)
    assert house.world.time_s == 0.0
    house.world.start()
    eventually(lambda: house.world.time_s > 100.0)
    house.close()
    after_s = house.world.time_s
    assert house.world.snapshot().time_s == after_s, "closed: time has ended"


def test_with_the_ticker_a_drive_still_takes_its_simulated_time(eventually: Eventually) -> None:
    house = HouseRobot(speed=20.0)
    house.world.start()
    eventually(lambda: house.world.time_s > 0.5)
    before_s = house.world.time_s
    assert house.drive(1.0).text == "drove forward 1 m"
    assert 2.3 < house.world.time_s - before_s < 8.0
    house.close()


@settings(max_examples=20)
@given(st.lists(st.floats(0.01, 90.0), min_size=1, max_size=6), st.integers(0, 5))
def test_idle_time_in_one_go_equals_idle_time_in_pieces(pieces: list[float], seed: int) -> None:
    pieces = [round(piece, 2) for piece in pieces]
    one, two = World(seed, speed=math.inf), World(seed, speed=1000.0)
    one.advance(sum(pieces))
    for piece in pieces:
        two.advance(piece)
    assert one.scene.steps == two.scene.steps
    assert one.snapshot() == two.snapshot()
    assert one.scene.battery.energy_mj == two.scene.battery.energy_mj


def test_skipping_quiet_steps_equals_taking_them_one_by_one() -> None:
    skipping, stepping = Scene(3), Scene(3)
    while skipping.steps < 30_000:
        quiet = skipping.quiet_steps()
        if quiet > 0:
            skipping.skip(quiet)
        skipping.step()
    for _ in range(skipping.steps):
        stepping.step()
    assert skipping.snapshot() == stepping.snapshot()
    assert skipping.battery.energy_mj == stepping.battery.energy_mj


def test_questions_are_answered_while_it_drives(eventually: Eventually) -> None:
    house = HouseRobot(speed=20.0)
    thread = threading.Thread(target=lambda: house.go_to("office"))
    thread.start()
    eventually(lambda: house.world.scene.base.speed > 0.1)
    waits, places = [], set()
    for _ in itertools.count():
        if not thread.is_alive():
            break
        begin_s = time.monotonic()
        assert house.get_battery().text.startswith("battery at ")
        places.add(house.get_location().text.split(",")[0])
        assert house.scan().text.startswith("nearest obstacle: ")
        waits.append(time.monotonic() - begin_s)
    thread.join(10)
    house.close()
    assert {"in the living room", "in the hallway", "in the office"} <= places
    assert sorted(waits)[len(waits) // 2] < 0.05


def test_the_robot_is_at_least_200_times_faster_than_life(house: HouseRobot) -> None:
    house.go_to("kitchen")
    begin_s, before_s = time.process_time(), house.world.time_s
    for place in ("garage", "bedroom", "office", "balcony"):
        house.go_to(place)
    assert (house.world.time_s - before_s) / (time.process_time() - begin_s) > 200
