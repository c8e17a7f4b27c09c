"""For tests: a scripted model, and a simulated room with voices. What needs numpy loads when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from edgeagent.testing.scripted import ScriptedLLM, call

if TYPE_CHECKING:
    from edgeagent.testing.people import Said
    from edgeagent.testing.people_voices import speechlike, synthesised
    from edgeagent.testing.room import Room
    from edgeagent.testing.room_settings import RoomSettings

_HOME_OF = {
    "Room": "edgeagent.testing.room",
    "RoomSettings": "edgeagent.testing.room_settings",
    "Said": "edgeagent.testing.people",
    "speechlike": "edgeagent.testing.people_voices",
    "synthesised": "edgeagent.testing.people_voices",
}

__all__ = ["Room", "RoomSettings", "Said", "ScriptedLLM", "call", "speechlike", "synthesised"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)
