"""The maps show what is there."""

import io
import math
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from edgeagent.house import (
    OBJECTS,
    HouseRobot,
    Placer,
    Point,
    Rect,
    Scene,
    Snapshot,
    map_png,
    map_svg,
    terminal_map,
    the_flat,
)


@pytest.fixture
def snapshot(house: HouseRobot) -> Snapshot:
    house.drive(2.0)
    house.go_to("kitchen")
    house.set_light("kitchen", True)
    house.pick_up("cup")
    house.go_to("sofa")
    return house.world.snapshot()


def test_the_terminal_map_fits_into_80_by_24(snapshot: Snapshot) -> None:
    lines = terminal_map(snapshot).split("\n")
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("seed", range(12))
def test_it_shows_every_room_landmark_and_object_wherever_they_are(seed: int) -> None:
    text = terminal_map(Scene(seed).snapshot())
    for room in the_flat().rooms:
        assert room.name in text
    for name in ("front door", "dock", "dining table", "sofa", "desk", "fridge", "window"):
        assert name in text
    area = "\n".join(line[:59] for line in text.split("\n"))
    for index, name in enumerate(OBJECTS):
        letter = chr(ord("A") + index)
        assert f"{letter} {name}" in text
        assert area.count(letter) == 1
    assert area.count("☺") == 1
    assert sum(area.count(arrow) for arrow in "→↗↑↖←↙↓↘") == 1


def test_it_shows_the_way_what_is_held_and_which_light_is_on(snapshot: Snapshot) -> None:
    text = terminal_map(snapshot)
    assert text.count("·") > 30
    assert "cup (held)" in text
    assert "kitchen*" in text
    assert "bedroom*" not in text
    assert f"battery {snapshot.battery_percent} %" in text


def test_walls_are_closed_except_at_doors(snapshot: Snapshot) -> None:
    first = terminal_map(Scene(0).snapshot()).split("\n")[0]
    assert first.startswith("┌────────────────┬───")
    assert " " not in first[:59]


def test_colour_is_rich_markup_and_only_if_asked(snapshot: Snapshot) -> None:
    from rich.text import Text

    plain, coloured = terminal_map(snapshot), terminal_map(snapshot, colour=True)
    assert "[" not in plain
    assert Text.from_markup(coloured).plain == plain


@pytest.mark.parametrize(
    ("heading", "arrow"), [(0, "→"), (90, "↑"), (180, "←"), (-180, "←"), (-90, "↓"), (45, "↗"), (-44, "↘")]
)
def test_the_arrow_points_where_the_robot_faces(heading: float, arrow: str) -> None:
    scene = Scene()
    scene.base.heading = math.radians(heading)
    assert arrow in terminal_map(scene.snapshot())


def test_the_svg_is_well_formed_and_names_everything(snapshot: Snapshot) -> None:
    root = ET.fromstring(map_svg(snapshot))
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {room.name for room in the_flat().rooms} <= texts
    assert {landmark.name for landmark in the_flat().landmarks} <= texts
    assert set(OBJECTS) - {"cup"} <= texts
    assert {"robot with the cup", "person", "2 m"} <= texts
    lines = [line.attrib["points"].split() for line in root.iter("{http://www.w3.org/2000/svg}polyline")]
    assert len(snapshot.trail) in map(len, lines)


def test_the_png_has_its_size_and_the_colours_of_what_it_shows(snapshot: Snapshot) -> None:
    with Image.open(io.BytesIO(map_png(snapshot))) as image:
        assert image.size == (1260, 960)
        robot = snapshot.robot.point.along(snapshot.robot.heading + math.pi, 0.16)
        pixel = image.getpixel((round((robot.x + 0.3) * 100), round((9.3 - robot.y) * 100)))
        assert pixel == (0x1B, 0x5F, 0xAE)
        wall = image.getpixel((round(12.3 * 100), round((9.3 - 2.0) * 100)))
        assert wall == (0x4A, 0x47, 0x44)


def test_a_map_of_a_robot_that_has_not_moved_can_be_drawn() -> None:
    now = Scene(0).snapshot()
    assert map_svg(now).startswith(b"<svg ")
    assert map_png(now).startswith(b"\x89PNG")


def test_labels_go_where_they_cover_least() -> None:
    placer = Placer([Rect(-1, -1, 1, 0.05)])
    below, above = Point(0, -0.2), Point(0, 0.2)
    assert placer.place("cup", 0.15, [below, above]) == above
    assert placer.place("cup", 0.15, [above, Point(0, 0.6)]) == Point(0, 0.6), "the first place is taken now"


def test_a_long_way_is_thinned_out_and_keeps_both_ends() -> None:
    scene = Scene()
    for index in range(9_000):
        scene.base.x = 4.3 + index * 0.11
        scene._leave_trail()
    assert len(scene.trail) <= 4_000
    assert scene.trail[0].x == 4.3
    assert scene.snapshot().trail[-1] == scene.base.point
