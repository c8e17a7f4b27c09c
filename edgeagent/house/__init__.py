"""The simulated house, its robot and its people. Only what wires an app together imports this room."""

from typing import TYPE_CHECKING

from edgeagent.front import front

if TYPE_CHECKING:
    from edgeagent.house.house import HouseRobot

__all__ = ["HouseRobot"]

__getattr__ = front(
    __name__,
    {
        "drivetrain": "Battery CAPACITY_MJ Drivetrain Limits STEP_S",
        "command_report": "announcement report",
        "draw": "map_png map_svg write_map",
        "flat": "DOCKED HEIGHT_M OBJECTS START WALL WIDTH_M lay_out the_flat",
        "geometry": "Point Pose Rect disc_reached length wrap",
        "house": "HouseRobot",
        "inhabitant": "Inhabitant RADIUS_M",
        "motion": "Program ProgramEnd",
        "obstacles": "the_obstacles",
        "picture": "Placer",
        "planner": "Bystander CLEARANCE_M the_planner",
        "scene": "PERSON Scene Snapshot",
        "terminal": "terminal_map",
        "world": "World",
        "world_clock": "FairLock",
    },
)
