"""Following ends when the person stands still, is lost, or after a minute."""

import pytest

from edgeagent.house import HouseRobot, Point


@pytest.mark.parametrize("seed", range(12))
def test_it_follows_whoever_leads_it_until_that_one_stands_still(seed: int) -> None:
    house = HouseRobot(seed=seed, speed=float("inf"))
    start_s = house.world.time_s
    report = house.follow()
    scene = house.world.scene
    assert report.kind == "done"
    if report.text != "followed you for 60 s":
        assert report.text == f"followed you to the {scene.person_room}"
        assert scene.person_room != "living room"
        assert scene.person.still_steps >= 500
        assert 0.5 < scene.base.point.distance(scene.person.point) < 1.4
    assert house.world.time_s - start_s <= 60.2


def test_it_says_when_it_has_lost_the_person(house: HouseRobot) -> None:
    scene = house.world.scene
    house.world.call_at(6.0, lambda: scene.person.place(Point(1.2, 7.2)))
    report = house.follow()
    assert report.kind == "failed"
    assert report.text in {f"lost you after {seconds} s" for seconds in range(8, 20)}
    assert scene.base.still


def test_it_ends_after_60_simulated_seconds(house: HouseRobot) -> None:
    scene = house.world.scene
    west, east = Point(3.0, 2.2), Point(7.9, 3.4)

    def keep_walking(leg: int) -> None:
        scene.person.walk(east if leg % 2 else west, 0.4)
        house.world.call_at(house.world.time_s + 9.0, lambda: keep_walking(leg + 1))

    scene.person.place(west)
    keep_walking(1)
    before_s, before_m = house.world.time_s, scene.base.odometer_m
    assert house.follow().text == "followed you for 60 s"
    assert 60.0 <= house.world.time_s - before_s < 60.2
    assert scene.base.odometer_m - before_m > 5.0, "it did not just stand there"


def test_it_comes_when_called_from_another_room(house: HouseRobot) -> None:
    house.go_to("garage")
    report = house.follow()
    assert report.kind == "done"
    assert house.world.scene.sees_person()


def test_it_never_bumps_into_the_person(house: HouseRobot) -> None:
    scene, gaps = house.world.scene, []

    def watch() -> None:
        gaps.append(scene.base.point.distance(scene.person.point))
        house.world.call_at(house.world.time_s + 0.05, watch)

    watch()
    house.follow()
    assert min(gaps) > 0.5


def test_stopped_it_says_how_far_it_got(house: HouseRobot) -> None:
    house.world.call_at(8.0, house.stop)
    report = house.follow()
    assert report.kind == "stopped"
    assert report.text.startswith("stopped after ")
