"""What the robot says: exactly the table of scripts/lab/train_nano/conventions.md, and only what really happened."""

import math
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.house import CAPACITY_MJ, DOCKED, OBJECTS, Battery, HouseRobot, Point, the_flat

ROOMS = [room.name for room in the_flat().rooms]
LANDMARKS = [landmark.name for landmark in the_flat().landmarks]


def test_the_first_thing_people_try(house: HouseRobot) -> None:
    assert house.drive(2.0).text == "drove forward 2 m"
    assert house.turn(90.0).text == "turned left 90 degrees"
    pose = house.world.snapshot().robot
    assert (round(pose.x, 3), round(pose.y, 3)) == (6.3, 3.2)
    assert pose.heading == pytest.approx(math.pi / 2, abs=1e-4)


@pytest.mark.parametrize(
    ("metres", "text"),
    [
        (2, "drove forward 2 m"),
        (2.0, "drove forward 2 m"),
        (-0.5, "drove back 0.5 m"),
        (0.25, "drove forward 0.25 m"),
        (9, "blocked by a wall after 4 m"),
        (-9, "blocked by the dining table after 1.7 m"),
    ],
)
def test_drive_reports(alone: HouseRobot, metres: float, text: str) -> None:
    assert alone.drive(metres).text == text


@pytest.mark.parametrize(
    ("degrees", "text"),
    [
        (90, "turned left 90 degrees"),
        (-45, "turned right 45 degrees"),
        (180, "turned left 180 degrees"),
        (22.5, "turned left 22.5 degrees"),
        (360, "turned left 360 degrees"),
    ],
)
def test_turn_reports(house: HouseRobot, degrees: float, text: str) -> None:
    assert house.turn(degrees).text == text


@pytest.mark.parametrize("place", ROOMS)
def test_go_to_a_room_ends_in_it(alone: HouseRobot, place: str) -> None:
    alone.world.scene.person.place(Point(3.0, 2.2))
    assert alone.go_to(place).text == f"arrived in the {place}"
    assert alone.world.scene.room == place


@pytest.mark.parametrize("place", LANDMARKS)
def test_go_to_a_landmark_ends_at_it(alone: HouseRobot, place: str) -> None:
    assert alone.go_to(place).text == f"arrived at the {place}"
    assert alone.get_location().text.endswith(f"m from the {place}")


@pytest.mark.parametrize("name", ["Kitchen", "the kitchen", " The  KITCHEN. ", "my kitchen", "a kitchen", "kitchen!"])
def test_names_are_taken_in_any_case_and_with_an_article(house: HouseRobot, name: str) -> None:
    assert house.set_light(name, True).text == "kitchen light on"


def test_unknown_names_are_told_back(house: HouseRobot) -> None:
    assert house.go_to("the Attic").text == "there is no place called attic"
    assert house.pick_up("scissors").text == "there is no object called scissors"
    assert house.set_light("attic", True).text == "there is no light called attic"
    assert house.set_light("sofa", True).text == "there is no light called sofa", "only rooms have one"
    house.pick_up("cup")
    assert house.put_down("attic").text == "there is no place called attic"


@pytest.mark.parametrize("name", ["", "   ", "the", "x" * 100_000, "\x00\x1b[31m\n", "<|im_end|>", "🤖" * 99])
def test_absurd_names_are_clear_errors_of_reasonable_length(house: HouseRobot, name: str) -> None:
    for report in (house.go_to(name), house.pick_up(name), house.set_light(name, True)):
        assert report.kind == "failed"
        assert len(report.text) < 80
        assert report.text.isprintable()
    assert house.world.scene.base.odometer_m == 0.0


@pytest.mark.parametrize("value", [0, 0.0, -0.0, math.nan, math.inf, -math.inf, 1e9, -1e9, 50.1, 1e-9, True, "2", None])
def test_absurd_numbers_are_clear_errors_and_no_motion(house: HouseRobot, value: object) -> None:
    for report in (house.drive(value), *([] if value == 50.1 else [house.turn(value)])):
        assert report.kind == "failed"
        assert report.text.startswith(("the distance ", "the angle "))
    assert house.world.time_s == 0.0
    assert house.world.scene.base.odometer_m == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (300, "timer set for 300 seconds"),
        (1, "timer set for 1 second"),
        (0, "a timer needs at least 1 second"),
        (-5, "a timer needs at least 1 second"),
        (10**9, "a timer is at most 604800 seconds"),
        (2.5, "a timer needs a whole number of seconds"),
        (math.nan, "a timer needs a whole number of seconds"),
        (True, "a timer needs a whole number of seconds"),
    ],
)
def test_set_timer_reports(house: HouseRobot, seconds: int, text: str) -> None:
    assert house.set_timer(seconds).text == text


def test_timers_speak_up_when_their_time_is_over() -> None:
    rang: list[tuple[str, float]] = []
    house = HouseRobot(speed=math.inf, on_timer=lambda text: rang.append((text, house.world.time_s)))
    for seconds in (300, 1, 60):
        house.set_timer(seconds)
    house.world.advance(299.0)
    assert rang == [("[timer] 1 second is over", 1.0), ("[timer] 60 seconds are over", 60.0)]
    house.world.advance(2.0)
    assert rang[-1] == ("[timer] 300 seconds are over", 300.0)
    house.close()


def test_a_timer_ends_while_the_robot_drives() -> None:
    rang: list[float] = []
    house = HouseRobot(speed=math.inf, on_timer=lambda text: rang.append(house.world.time_s))
    house.set_timer(2)
    house.drive(3.0)
    house.close()
    assert rang == [2.0]


def test_timers_are_limited(house: HouseRobot) -> None:
    reports = [house.set_timer(60) for _ in range(101)]
    assert reports[-1].text == "100 timers are running already"
    house.world.advance(61.0)
    assert house.set_timer(60).kind == "done"


def test_carrying(alone: HouseRobot) -> None:
    house = alone
    assert house.put_down("sofa").text == "the gripper is empty"
    room = house.world.scene.flat.locate(*_xy(house.world.scene.things["cup"].at))
    assert house.pick_up("cup").text == f"picked up the cup in the {room}"
    assert house.world.snapshot().holding == "cup"
    assert "cup" not in {thing.name for thing in house.world.snapshot().things}
    assert house.pick_up("book").text == "the gripper already holds the cup"
    assert house.pick_up("cup").text == "the gripper already holds the cup"
    assert house.put_down("the kitchen").text == "put the cup down in the kitchen"
    assert house.world.scene.flat.locate(*_xy(house.world.scene.things["cup"].at)) == "kitchen"
    assert house.pick_up("cup").text == "picked up the cup in the kitchen"
    assert house.put_down("sofa").text == "put the cup down at the sofa"
    sofa = house.world.scene.flat.landmark("sofa")
    cup = house.world.scene.things["cup"].at
    assert sofa is not None
    assert sofa.outline.contains(cup.x, cup.y)


def _xy(point: Point) -> tuple[float, float]:
    return point.x, point.y


def test_docking_charges_and_driving_off_ends_it(alone: HouseRobot) -> None:
    house = alone
    assert house.get_battery().text == "battery at 80 percent"
    assert house.dock().text == "docked and charging"
    assert house.world.scene.base.point.distance(DOCKED) < 0.01
    assert house.get_battery().text.endswith(" percent, charging")
    assert house.dock().text == "docked and charging", "again, without moving"
    house.world.advance(600.0)
    assert house.get_battery().text == "battery at 100 percent, charging"
    house.drive(-0.5)
    assert "charging" not in house.get_battery().text


def test_the_battery_drains_faster_while_driving() -> None:
    idle, driving = Battery(), Battery()
    idle.step(moving=False, charging=False, steps=60_000)
    driving.step(moving=True, charging=False, steps=60_000)
    assert (idle.percent, driving.percent) == (78, 68)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 10**6)), max_size=8))
def test_a_battery_is_never_more_than_full_or_less_than_empty(spells: list[tuple[bool, bool, int]]) -> None:
    battery = Battery()
    for moving, charging, steps in spells:
        battery.step(moving=moving, charging=charging, steps=steps)
        assert 0 <= battery.energy_mj <= CAPACITY_MJ
        assert 0 <= battery.percent <= 100
        assert (battery.percent == 0) == battery.empty


def test_with_an_empty_battery_it_does_not_move_but_answers(house: HouseRobot) -> None:
    house.world.scene.battery.energy_mj = 0
    for report in (house.drive(1.0), house.turn(90.0), house.go_to("kitchen"), house.dock(), house.follow()):
        assert (report.kind, report.text) == ("failed", "the battery is empty")
    assert house.world.scene.base.odometer_m == 0.0
    assert house.get_battery().text == "battery at 0 percent"
    assert house.set_light("kitchen", True).kind == "done"


def test_a_battery_that_runs_out_on_the_way_is_reported_as_such(house: HouseRobot) -> None:
    house.world.scene.battery.energy_mj = 300 * 300
    report = house.drive(4.0)
    assert report.kind == "failed"
    assert report.text == f"the battery ran out after {house.world.scene.base.odometer_m:.1f} m"
    assert house.world.scene.base.still


@pytest.mark.parametrize(
    ("heading_deg", "text"),
    [
        (0, "nearest obstacle: wall, 0.3 m ahead"),
        (90, "nearest obstacle: wall, 0.3 m right"),
        (-90, "nearest obstacle: wall, 0.3 m left"),
        (180, "nearest obstacle: wall, 0.3 m behind"),
    ],
)
def test_scan_tells_the_nearest_obstacle_from_the_rim(alone: HouseRobot, heading_deg: float, text: str) -> None:
    base = alone.world.scene.base
    base.x, base.y, base.heading = 8.05, 3.0, math.radians(heading_deg)
    assert alone.scan().text == text


def test_scan_sees_furniture_and_people(house: HouseRobot) -> None:
    assert house.scan().text == "nearest obstacle: sofa, 0.7 m left"
    house.world.scene.person.place(house.world.scene.base.point.along(math.pi, 0.95))
    assert house.scan().text == "nearest obstacle: person, 0.5 m behind"


def test_location_names_the_room_and_a_landmark_that_is_near(alone: HouseRobot) -> None:
    assert alone.get_location().text == "in the living room, 0.7 m from the sofa"
    alone.go_to("garage")
    assert alone.get_location().text == "in the garage"


def test_lights_are_per_room(house: HouseRobot) -> None:
    assert house.world.snapshot().lit == {"living room"}
    assert house.set_light("kitchen", True).text == "kitchen light on"
    assert house.set_light("kitchen", True).text == "kitchen light on", "it is on"
    assert house.set_light("living room", False).text == "living room light off"
    assert house.world.snapshot().lit == {"kitchen"}


def test_time_of_day_passes() -> None:
    house = HouseRobot(speed=math.inf)
    house.world.scene.start_of_day_s = 23 * 3600 + 5 * 60
    assert house.get_time().text == "it is 23:05"
    house.world.advance(3600 * 1.99)
    assert house.get_time().text == "it is 1:04"
    house.close()


def test_it_looks_where_it_is_told(house: HouseRobot) -> None:
    assert house.look("left").text == "looking left"
    assert house.world.scene.looking == "left"


def test_stop_is_always_possible(house: HouseRobot) -> None:
    assert house.stop().text == "stopped"
    assert house.drive(0.5).text == "drove forward 0.5 m", "a stop is for what moved before it"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (lambda house: house.drive(3.0), "drove 0.9 m of 3 m"),
        (lambda house: house.drive(-1.5), "drove back 0.9 m of 1.5 m"),
        (lambda house: house.turn(-360.0), "turned right 177 of 360 degrees"),
        (lambda house: house.go_to("kitchen"), "stopped after 0.9 m"),
    ],
)
def test_a_stop_on_the_way_tells_how_far_it_got(alone: HouseRobot, command: object, text: str) -> None:
    alone.world.call_at(2.0, alone.stop)
    report = command(alone)
    assert report.kind == "stopped"
    assert report.text == text
    assert alone.world.scene.base.still
    assert alone.world.time_s < 2.2


def test_who_stands_in_the_way_is_named_with_the_way_driven(alone: HouseRobot) -> None:
    alone.world.scene.person.place(Point(9.5, 5.0))
    report = alone.go_to("bedroom")
    assert report.kind == "failed"
    assert report.text == f"blocked by the person after {alone.world.scene.base.odometer_m:.1f} m"


def test_a_motion_gives_up_after_its_simulated_time(alone: HouseRobot) -> None:
    alone.world.scene.base.speed_limit = 0.01
    report = alone.go_to("office")
    assert (report.kind, report.text) == ("failed", "gave up after 120 s")
    assert 120.0 <= alone.world.time_s < 120.2


def test_the_base_belongs_to_one_motion_at_a_time(house: HouseRobot) -> None:
    reports = []

    def interfere() -> None:
        other = threading.Thread(target=lambda: reports.append(house.turn(90.0)))
        other.start()
        other.join(10)

    house.world.call_at(1.0, interfere)
    assert house.drive(2.0).text == "drove forward 2 m"
    assert reports[0].text == "base is still busy with drive"


def test_after_close_nothing_moves() -> None:
    house = HouseRobot(speed=math.inf)
    house.close()
    assert house.drive(1.0).kind == "stopped"
    assert house.world.scene.base.odometer_m == 0.0


NUMBERS = st.floats(-60, 60) | st.sampled_from([math.nan, math.inf, 1e308])
COMMANDS = st.one_of(
    st.tuples(st.just("drive"), NUMBERS),
    st.tuples(st.just("turn"), NUMBERS),
    st.tuples(st.just("go_to"), st.sampled_from([*ROOMS, *LANDMARKS, "attic"])),
    st.tuples(st.just("pick_up"), st.sampled_from([*OBJECTS, "scissors"])),
    st.tuples(st.just("put_down"), st.sampled_from([*ROOMS, *LANDMARKS, "attic"])),
    st.tuples(st.sampled_from(["dock", "stop", "scan", "get_location", "get_battery", "get_time", "follow"])),
)


@settings(max_examples=25)
@given(st.lists(COMMANDS, max_size=8), st.integers(0, 3))
def test_whatever_is_asked_the_robot_stays_in_the_flat_and_whole(commands: list[tuple[str, ...]], seed: int) -> None:
    house = HouseRobot(seed=seed, speed=math.inf)
    for name, *arguments in commands:
        report = getattr(house, name)(*arguments)
        assert report.text
        scene = house.world.scene
        assert scene.flat.locate(scene.base.x, scene.base.y) is not None
        assert scene.obstacles.hit(scene.base.x, scene.base.y, 0.2) is None
        assert scene.base.still
        assert len(scene.things) == len(OBJECTS)
    house.close()


def test_the_table_of_the_conventions_is_the_one_these_tests_know(checkout: Path) -> None:
    """Who changes what tools report must change the robot, the model's training and these tests together."""
    table = (checkout / "scripts/lab/train_nano/conventions.md").read_text(encoding="utf-8")
    for text in (
        "`drove forward 2 m` · `drove back 0.5 m`",
        "`blocked by a wall after 1.2 m` · `blocked by the sofa after 0.3 m`",
        "`turned left 90 degrees` · `turned right 45 degrees`",
        "`arrived in the kitchen` (room) · `arrived at the sofa` (landmark)",
        "`there is no place called attic` · `blocked by the person after 2.1 m`",
        "`battery at 80 percent` · `battery at 80 percent, charging`",
        "`in the living room, 0.8 m from the sofa` · `in the hallway`",
        "`nearest obstacle: wall, 1.2 m ahead` (ahead, left, right, behind)",
        "`picked up the cup in the kitchen`",
        "`the gripper already holds the cup` · `there is no object called scissors`",
        "`put the cup down in the kitchen` · `put the cup down at the sofa`",
        "`the gripper is empty`",
        "`kitchen light on` · `kitchen light off`",
        "`there is no light called attic`",
        "`timer set for 300 seconds`",
        "`a timer needs at least 1 second`",
        "`it is 14:05`",
        "`followed you to the kitchen` · `followed you for 60 s`",
        "`lost you after 12 s`",
        "`docked and charging`",
        "`looking left`",
        "`interrupted: drove 0.8 m of 2 m`",
        "`[timer] 300 seconds are over`",
    ):
        assert text in table
