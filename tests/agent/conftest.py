"""Short names for what a run's log is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from edgeagent.events import Event

SHORT = {
    "agent_start": "AS",
    "agent_end": "AE",
    "agent_error": "AX",
    "turn_start": "TS",
    "turn_end": "TE",
    "message_start": "MS",
    "message_update": "MU",
    "message_end": "ME",
    "tool_execution_start": "XS",
    "tool_execution_update": "XU",
    "tool_execution_end": "XE",
    "notice": "N",
}
ROLES = {"user": "u", "assistant": "a", "tool": "t"}


def _shorthand(events: Iterable[Event]) -> str:
    """The log as the contract writes it; updates in a row are one MU+."""
    words: list[str] = []
    for event in events:
        word = SHORT[event.kind]
        if event.kind in ("message_start", "message_end"):
            word += f"({ROLES[event.message.role]})"  # type: ignore[attr-defined]
        if event.kind == "agent_end":
            word += f"({event.reason})"  # type: ignore[attr-defined]
        if word == "MU":
            word = "MU+"
            if words and words[-1] == word:
                continue
        words.append(word)
    return " ".join(words)


@pytest.fixture
def shorthand() -> Callable[[Iterable[Event]], str]:
    return _shorthand
