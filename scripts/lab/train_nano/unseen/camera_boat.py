"""A camera boat, whose tools nano has not seen: edgeagent check --app camera_boat.py --cases camera_boat.toml"""

from typing import Literal

from edgeagent import Agent, tool


@tool
def steer(heading_deg: float, speed_knots: float | None = None) -> str:
    """Take a compass course."""
    return f"course {heading_deg}"


@tool
def drop_anchor(depth_m: float) -> str:
    """Let the hook down and hold the boat."""
    return f"anchored at {depth_m} m"


@tool
def record_clip(title: str, quality: Literal["low", "medium", "high"], sound: bool = True) -> str:
    """Film what the camera sees."""
    return f"recording {title}"


@tool
def visit_buoys(numbers: list[int]) -> str:
    """Pass the markers one after another."""
    return f"passed {len(numbers)}"


agent = Agent("boat", "You are a small boat with a camera.", tools=[steer, drop_anchor, record_clip, visit_buoys])
