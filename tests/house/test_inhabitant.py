"""The person walks by the seed, through doors, and around the robot."""

import math

from edgeagent.house import RADIUS_M, Inhabitant, the_flat, the_obstacles

FAR = (-50.0, -50.0)


def test_the_person_visits_many_rooms_and_never_crosses_a_wall() -> None:
    person, rooms, least = Inhabitant(3), set(), math.inf
    for step in range(200_000):
        person.step(*FAR)
        if step % 10 == 0:
            rooms.add(the_flat().locate(person.x, person.y))
            if person.walking:
                least = min(least, the_obstacles().nearest(person.x, person.y).outline.distance(person.x, person.y))
    assert len(rooms - {None}) >= 6
    assert None not in rooms
    assert least >= RADIUS_M - 1e-6


def test_the_same_seed_walks_the_same_ways() -> None:
    walks = []
    for seed in (4, 4, 5):
        person, walk = Inhabitant(seed), []
        for _ in range(30_000):
            person.step(*FAR)
            walk.append((person.x, person.y, person.heading))
        walks.append(walk)
    assert walks[0] == walks[1]
    assert walks[0] != walks[2]


def test_the_person_stays_a_minute_at_first() -> None:
    for seed in range(20):
        person = Inhabitant(seed)
        for _ in range(5_900):
            person.step(*FAR)
        assert not person.walking


def test_the_person_walks_around_a_robot_in_the_way() -> None:
    hallway = the_flat().room("hallway")
    assert hallway is not None
    person, goal, robot = Inhabitant(0), hallway.people[1], (6.3, 3.2)
    person.place(hallway.people[0])
    living_room = the_flat().room("living room")
    assert living_room is not None
    person.place(living_room.people[1])
    person.walk(goal)
    gaps = []
    for _ in range(6_000):
        person.step(*robot)
        gaps.append(math.hypot(person.x - robot[0], person.y - robot[1]))
        if not person.walking:
            break
    assert person.point == goal
    assert min(gaps) > RADIUS_M + 0.2


def test_skipping_quiet_time_is_the_same_as_stepping_through_it() -> None:
    one, two = Inhabitant(1), Inhabitant(1)
    quiet = one.quiet_steps()
    one.skip(quiet)
    for _ in range(quiet):
        two.step(*FAR)
    for _ in range(3_000):
        one.step(*FAR)
        two.step(*FAR)
        assert (one.x, one.y, one.still_steps) == (two.x, two.y, two.still_steps)
