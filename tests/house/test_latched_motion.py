"""The safety latch halts the house robot, and only a release or a re-arm lets it go on."""

import math
import threading

import pytest

from edgeagent.house import HouseRobot

from .conftest import Eventually


def test_a_hold_stops_the_base_and_after_release_it_arrives(eventually: Eventually) -> None:
    house, reports = HouseRobot(speed=math.inf), []
    house.world.call_at(2.0, lambda: house.latch.hold("stop word"))
    thread = threading.Thread(target=lambda: reports.append(house.drive(3.0)))
    thread.start()
    eventually(lambda: house.latch.state == "held" and house.world.scene.base.still)
    held = house.world.snapshot()
    assert 2.0 < held.time_s < 2.2, "braked at once"
    assert not reports
    house.latch.release()
    thread.join(10)
    assert reports[0].text == "drove forward 3 m"
    assert house.world.scene.base.x == pytest.approx(4.3 + 3.0, abs=1e-3)
    house.close()


def test_time_at_a_standstill_under_the_latch_does_not_count_as_driving_time(eventually: Eventually) -> None:
    house, reports = HouseRobot(speed=1000.0), []
    house.world.call_at(1.0, lambda: house.latch.hold("stop word"))
    house.world.start()
    thread = threading.Thread(target=lambda: reports.append(house.drive(2.0)))
    thread.start()
    eventually(lambda: house.world.time_s > 300.0)
    assert house.latch.release()
    thread.join(10)
    house.close()
    assert reports[0].text.startswith(("drove forward 2 m", "blocked by the person"))


def test_a_trip_cancels_motion_and_refuses_it_until_re_armed(house: HouseRobot) -> None:
    house.world.call_at(2.0, lambda: house.latch.trip("stop was said"))
    report = house.drive(3.0)
    assert (report.kind, report.text) == ("stopped", "drove 0.9 m of 3 m")
    assert house.world.scene.base.still
    assert house.turn(90.0).text == "motion is off until it is re-armed: stop was said"
    assert house.get_battery().kind == "done", "questions are still answered"
    house.latch.rearm()
    assert house.turn(90.0).text == "turned left 90 degrees"


def test_a_trip_during_a_hold_ends_the_motion(eventually: Eventually) -> None:
    house, reports = HouseRobot(speed=math.inf), []
    house.world.call_at(2.0, lambda: house.latch.hold("stop word"))
    thread = threading.Thread(target=lambda: reports.append(house.drive(3.0)))
    thread.start()
    eventually(lambda: house.latch.state == "held" and house.world.scene.base.still)
    house.latch.trip("stop")
    thread.join(10)
    assert reports[0].kind == "stopped"
    house.close()


def test_a_motion_that_begins_while_held_waits_and_then_runs(eventually: Eventually) -> None:
    house, reports = HouseRobot(speed=math.inf), []
    house.latch.hold("stop word")
    thread = threading.Thread(target=lambda: reports.append(house.drive(1.0)))
    thread.start()
    eventually(house._base.locked)
    house.latch.release()
    thread.join(10)
    assert reports[0].text == "drove forward 1 m"
    house.close()
