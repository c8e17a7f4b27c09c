"""The house robot's tools as others would have written them: other names, parameters and descriptions, the same meaning.

A robot of somebody else drives and turns too. A drawn renaming goes over the tools and over the calls of dialogues that
were written for the house.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tools import ToolSpec, name_of, parameters_of


@dataclass(frozen=True, slots=True)
class Other:
    """Other names and descriptions of one tool; "|" parts them."""

    names: str
    descriptions: str
    parameters: tuple[tuple[str, str], ...] = ()
    """A parameter with other names for it."""


_KEPT: Final = 0.5
"""Share of names and of parameters that stay as they are."""
_OTHERS: Final = {
    "drive": Other(
        "move|drive_straight|go_straight|drive_distance|move_forward|travel|roll|advance|move_robot|drive_by",
        "Drive straight; negative is backwards.|Drive straight ahead; negative is backwards.|Move forward or backward.|Drives a distance in meters."
        "|Go straight by so many meters; a negative number goes back.|Moves the robot; negative distances go backwards.|Drive the robot forward.|Drive.|",
        (("distance_m", "distance_m|distance|meters|metres|length_m|dist_m|m"),),
    ),
    "turn": Other(
        "rotate|spin|turn_by|rotate_robot|turn_robot|yaw|swivel|turn_on_spot",
        "Turn on the spot; positive is left.|Turn on the spot; negative is to the right.|Turn on the spot; negative is right.|Rotate by an angle; positive is left."
        "|Turns the robot by degrees, left is positive.|Rotate in place.|Turn left or right.|Turn.|",
        (("angle_deg", "angle_deg|angle|degrees|deg|rotation_deg|yaw_deg"),),
    ),
    "go_to": Other(
        "goto|navigate_to|drive_to|move_to|navigate|go_to_place|go_to_room|travel_to",
        "Drive to a room or landmark.|Go to a named place.|Navigate to a place.|Drives to a place by its name.|Go to a room.|Move to a location.|",
        (("place", "place|location|room|target|destination|where|name"),),
    ),
    "stop": Other("halt|stop_moving|stop_all|stop_robot|freeze", "Stop whatever is moving.|Stop.|Stops the robot.|Halt all motion.|Stop moving.|"),
    "get_battery": Other(
        "battery|battery_level|read_battery|get_charge|check_battery|battery_status",
        "Battery level.|Tells the charge of the battery.|How full the battery is.|Battery in percent.|Read the battery.|",
    ),
    "get_location": Other(
        "where_am_i|location|get_position|position|get_pose|current_room",
        "Where the robot is.|Tells where the robot is.|The robot's position.|Current room.|",
    ),
    "scan": Other(
        "look_around|get_obstacles|obstacles|nearest_obstacle|check_surroundings|get_distance",
        "Nearest obstacle.|Tells the nearest obstacle.|Looks for obstacles.|Scan the surroundings.|What is in the way.|",
    ),
    "pick_up": Other(
        "grab|fetch|take|grasp|pick|get_object|grip|collect",
        "Fetch an object.|Pick up an object.|Grab a thing.|Takes an object with the gripper.|Get something.|",
        (("object", "object|thing|item|name|object_name|what"),),
    ),
    "put_down": Other(
        "place|drop|release|deliver|put|place_object|drop_at",
        "Bring the held object to a place.|Put the held object down at a place.|Drop what is held.|Place the object.|",
        (("place", "place|location|where|target|destination"),),
    ),
    "set_light": Other(
        "switch_light|light|lights|set_lamp|toggle_light|control_light|room_light",
        "Switch a room's light.|Switch the light of a room on or off.|Turns a light on or off.|Light of a room.|",
        (("place", "place|room|location|lamp|where"), ("on", "on|state|is_on|enabled|switch_on")),
    ),
    "set_timer": Other(
        "start_timer|timer|set_alarm|start_countdown|countdown",
        "Start a timer.|Starts a countdown in seconds.|Set a timer for some seconds.|Timer.|",
        (("duration_s", "duration_s|seconds|duration|secs|time_s"),),
    ),
    "get_time": Other("time|current_time|clock|tell_time|what_time", "Time of day.|The current time.|Tells the time.|Clock.|"),
    "follow": Other("follow_me|follow_person|track_person|come_along", "Follow the person.|Follows whoever speaks.|Come along.|Follow.|"),
    "dock": Other(
        "charge|go_charge|return_to_dock|go_home|recharge|go_to_charger",
        "Return to the charging dock.|Go and charge.|Drives to the charger.|Recharge the battery.|",
    ),
    "look": Other(
        "look_to|tilt_head|move_head|point_camera|turn_camera|move_camera",
        "Point the camera.|Turn the head.|Looks in a direction.|Aim the camera.|",
        (("direction", "direction|where|way|side"),),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Renaming:
    """New names of tools and of their parameters, by the old ones."""

    names: dict[str, str]
    parameters: dict[str, dict[str, str]]

    def tool(self, spec: ToolSpec, description: str) -> ToolSpec:
        """The tool under its new names."""
        old, function = name_of(spec), spec["function"]
        renamed = self.parameters[old]
        schema = {
            "type": "object",
            "properties": {renamed[name]: one for name, one in parameters_of(spec).items()},
            "required": [renamed[name] for name in function["parameters"]["required"]],
        }
        new = {"name": self.names[old], "description": description, "parameters": schema}
        return {"type": "function", "function": new}

    def over(self, messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Messages with the new names in their calls; calls of other tools stay."""
        return [
            {**one, "tool_calls": [self._call(call) for call in one["tool_calls"]]} if "tool_calls" in one else one
            for one in messages
        ]

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        made = call["function"]
        if made["name"] not in self.names:
            return call
        renamed = self.parameters[made["name"]]
        arguments = {renamed[name]: value for name, value in made["arguments"].items()}
        return {**call, "function": {"name": self.names[made["name"]], "arguments": arguments}}


def draw(
    rng: random.Random, tools: Iterable[ToolSpec], taken: Iterable[str] = ()
) -> tuple[Renaming, tuple[ToolSpec, ...]]:
    """Draws a renaming of house tools, and the tools under it.

    Args:
        taken: Names that other tools have.
    """
    tools, used = list(tools), set(taken)
    renaming = Renaming({}, {})
    made: list[ToolSpec] = []
    for spec in tools:
        old = name_of(spec)
        other = _OTHERS[old]
        name = old if rng.random() < _KEPT else rng.choice(other.names.split("|"))
        name = old if name in used else name
        used.add(name)
        renaming.names[old] = name
        options = dict(other.parameters)
        renaming.parameters[old] = {
            one: one if rng.random() < _KEPT else rng.choice(options[one].split("|")) for one in parameters_of(spec)
        }
        made.append(renaming.tool(spec, rng.choice(other.descriptions.split("|"))))
    return renaming, tuple(made)
