"""The simulated house, its robot and its people. Only what wires an app together imports this room."""

from typing import TYPE_CHECKING

from edgeagent.front import front

if TYPE_CHECKING:
    from edgeagent.house.drivetrain import FlatBase
    from edgeagent.house.house import HouseRobot

__all__ = ["FlatBase", "HouseRobot"]

__getattr__ = front(
    __name__,
    {
        "drivetrain": "Battery CAPACITY_MJ Drivetrain FlatBase Limits STEP_S TOUCHED",
        "command_report": "announcement report",
        "flat": "DOCKED HEIGHT_M OBJECTS START WALL WIDTH_M lay_out the_flat",
        "geometry": "Point Pose Rect disc_reached",
        "house": "HouseRobot",
        "motion": "Program ProgramEnd",
        "picture": "Placer map_png map_svg",
        "planner": "CLEARANCE_M Bystander the_obstacles the_planner",
        "scene": "PERSON RADIUS_M Inhabitant Scene Snapshot",
        "text_map": "terminal_map",
        "world": "FairLock World",
    },
)
