"""Report on what this machine has and what of edgeagent works on it; every room's part is a section of its own."""

from edgeagent.doctor.report import DoctorReport, Row, Section, Status, examine

__all__ = ["DoctorReport", "Row", "Section", "Status", "examine"]
