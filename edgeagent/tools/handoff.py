"""Handoff: the value that a tool returns to let another agent go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Named(Protocol):
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Handoff:
    """Returned by any tool: ``target`` takes the request over, without another call of the model that asked.

    ``target`` is an Agent, or the name of one that the asking agent has among its ``handoffs``. ``task`` is what the
    target is told; None: what the asking agent was told. ``reason`` is for logs and people.
    """

    target: Named | str
    task: str | None = None
    reason: str = ""

    @property
    def target_name(self) -> str:
        return self.target if isinstance(self.target, str) else self.target.name
