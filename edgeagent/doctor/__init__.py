"""Report on what this machine has and what of edgeagent works on it; every room's part is a section of its own."""

from edgeagent.doctor.report import DoctorReport, Row, Section, Status, examine
from edgeagent.front import front

__all__ = ["DoctorReport", "Row", "Section", "Status", "examine"]

__getattr__ = front(
    __name__,
    {
        "audio_section": "audio",
        "ears_section": "ears",
        "engine_section": "engine",
        "machine_section": "Machine fit machine machine_of memory this_machine window_of",
        "sound_section": "sound",
    },
)
