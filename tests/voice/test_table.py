"""The table of the conversation is the page's, and every cell of it is there."""

import dataclasses
import math
import re
from pathlib import Path

import pytest

from edgeagent.errors import ConfigError
from edgeagent.voice import PRESETS, TABLE, Action, Cell, Preset, State, TableEvent, preset


def _table(checkout: Path, corner: str) -> dict[str, list[str]]:
    """The rows of a table of the page by their first cell."""
    page = (checkout / "docs" / "conversation.md").read_text(encoding="utf-8")
    begin = page.index(f"| {corner}")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page[begin:].split("\n\n")[0].splitlines()]
    return {row[0]: row[1:] for row in rows if not re.fullmatch("-+", row[0])}


def _shown(cell: Cell) -> str:
    action = "" if cell.action is Action.NOTHING else str(cell.action)
    return action if cell.then == "stay" else f"{action} → {cell.then}".strip()


def test_there_is_a_cell_for_every_state_and_event() -> None:
    assert set(TABLE) == {(state, event) for state in State for event in TableEvent}


def test_every_event_of_the_table_is_fired(checkout: Path) -> None:
    voice = checkout / "edgeagent" / "voice"
    code = "".join(path.read_text(encoding="utf-8") for path in voice.glob("*.py") if path.name != "turn_states.py")
    assert [event.name for event in TableEvent if f"TableEvent.{event.name}" not in code] == []


def test_every_action_is_in_a_cell_and_no_event_is_without_one() -> None:
    assert {cell.action for cell in TABLE.values()} == set(Action)
    assert {event for (_, event), cell in TABLE.items() if cell != Cell(Action.NOTHING)} == set(TableEvent)


def test_the_page_shows_every_cell(checkout: Path) -> None:
    rows = _table(checkout, "event |")
    assert rows.pop("event") == [str(state) for state in State]
    assert list(rows) == [str(event) for event in TableEvent]
    for event in TableEvent:
        assert rows[event] == [_shown(TABLE[state, event]) for state in State], event


def test_the_page_says_what_every_state_is(checkout: Path) -> None:
    rows = _table(checkout, "state | what")
    rows.pop("state")
    assert list(rows) == [str(state) for state in State]


def test_the_page_shows_the_numbers_of_the_presets(checkout: Path) -> None:
    rows = _table(checkout, "| eager")
    assert rows.pop("") == list(PRESETS)
    assert [name.strip("`") for name in rows] == [field.name for field in dataclasses.fields(Preset)]
    for name, shown in rows.items():
        numbers = [getattr(numbers, name.strip("`")) for numbers in PRESETS.values()]
        assert shown == ["never" if number == math.inf else f"{number:g}" for number in numbers]


@pytest.mark.parametrize("state", State)
def test_a_stop_word_halts_and_a_trip_stops_everything_in_every_state(state: State) -> None:
    assert TABLE[state, TableEvent.STOP_WORD].action is Action.HALT
    assert TABLE[state, TableEvent.TRIP].action is Action.STOP
    assert TABLE[state, TableEvent.REARM].action is Action.REARM


def test_a_preset_is_found_by_its_name() -> None:
    assert preset("strict") is PRESETS["strict"]
    with pytest.raises(ConfigError, match="'loud'; there are eager, balanced, strict, off"):
        preset("loud")


def test_a_preset_that_waits_less_than_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="resume_after_ms"):
        dataclasses.replace(PRESETS["eager"], resume_after_ms=-1)


def test_an_eager_robot_is_interrupted_sooner_than_a_strict_one() -> None:
    eager, strict = PRESETS["eager"], PRESETS["strict"]
    assert all(getattr(eager, field.name) < getattr(strict, field.name) for field in dataclasses.fields(Preset))
    assert not PRESETS["off"].interruptible
