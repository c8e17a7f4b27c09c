"""Report on what this machine has and what of edgeagent works on it; every room's part is a section of its own.

A section has rows: what was found, whether that is well, and what to do if not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from edgeagent.errors import EdgeAgentError
from edgeagent.front import front

__all__ = ["DoctorReport", "Row", "Section", "Status", "examine"]

Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was looked at.

    Attributes:
        name: What.
        found: What it is, in words.
        status: "note" is worth knowing, a "problem" keeps something from working.
        advice: What to do about it.
        value: The same as a value, for programs.
    """

    name: str
    found: str
    status: Status = "ok"
    advice: str = ""
    value: Any = None


@dataclass(frozen=True, slots=True)
class Section:
    """One room's part."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All sections."""

    sections: tuple[Section, ...]

    @property
    def problems(self) -> list[Row]:
        """Rows on what keeps something from working."""
        return [row for section in self.sections for row in section.rows if row.status == "problem"]

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values: section, name, then found, status, and advice and value where there are any."""
        return {
            section.name: {
                row.name: {
                    "found": row.found,
                    "status": row.status,
                    **({"advice": row.advice} if row.advice else {}),
                    **({"value": row.value} if row.value is not None else {}),
                }
                for row in section.rows
            }
            for section in self.sections
        }


Examination = Callable[[], Iterator[Row]]


def examine(examinations: Sequence[tuple[str, Examination]]) -> Iterator[Section]:
    """Look at one room after the other; what one of them can't find out does not keep the next from being looked at."""
    for name, examination in examinations:
        rows: list[Row] = []
        try:
            rows.extend(examination())
        except EdgeAgentError as error:
            rows.append(Row(name, str(error), "problem"))
        yield Section(name, tuple(rows))


__getattr__ = front(
    __name__,
    {
        "audio_section": "audio",
        "ears_section": "ears",
        "machine_section": "Machine engine fit machine machine_of memory this_machine window_of",
        "sound_section": "sound",
    },
)
