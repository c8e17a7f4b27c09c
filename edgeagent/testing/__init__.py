"""Tests of a builder's app: a scripted model, a simulated room with people, a conversation in that room.

Only the scripted model is loaded at once; the rest needs numpy and loads when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeagent.front import front
from edgeagent.testing.scripted import ScriptedLLM, call

if TYPE_CHECKING:
    from edgeagent.testing.people import Said, speechlike, synthesised
    from edgeagent.testing.rehearsal import Rehearsal
    from edgeagent.testing.room import Room
    from edgeagent.testing.room_settings import RoomSettings


__all__ = ["Rehearsal", "Room", "RoomSettings", "Said", "ScriptedLLM", "call", "speechlike", "synthesised"]

__getattr__ = front(
    __name__,
    {
        "acoustics": """
            FULL_SPEED_MPS Loop Motor NoiseSource Reverberation Signal babble band_pass echo_gain_db from_db in_db rms
            snr_db speech_frames speech_level steady_noise
        """,
        "echo_path": "Convolver DelayLine",
        "people": "FLITE_VOICES NATURAL_VOICES Said speechlike synthesised",
        "rehearsal": "Rehearsal",
        "room": "Recorded Room",
        "room_settings": "NoiseKind RoomSettings",
    },
)
