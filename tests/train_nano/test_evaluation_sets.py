"""The sets written by hand: tools accept every right call, and each form of line is scored as described."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeagent import LlamaLLM, Tool
from edgeagent.house import HouseRobot


@pytest.fixture(scope="module")
def house_tools() -> Iterator[dict[str, Tool]]:
    robot = HouseRobot(speed=float("inf"))
    yield {tool.name: tool for tool in robot.tools}
    robot.close()


def test_every_right_call_fits_its_tool(scripts_on_path: Path, house_tools: dict[str, Tool]) -> None:
    from asking import app  # type: ignore[import-not-found]  # scripts beside the trainer
    from evaluate import SETS  # type: ignore[import-not-found]  # a script beside the trainer
    from scoring import load, wanted_of  # type: ignore[import-not-found]  # a script beside the trainer

    texts: dict[str, int] = {}
    for path in SETS:
        for item in load(path):
            tools = {t.name: t for t in app(item["robot"]).build(None).tools} if "robot" in item else house_tools
            calls = [call for turn in wanted_of(item) for calls in turn for call in calls]
            faults = [tools[call["name"]].fault(call["arguments"]) for call in calls]
            assert not any(faults), (path.name, item, faults)
            assert item["tags"], item
            if "turns" in item:
                assert 2 <= len(item["turns"]) <= 5, item
            else:
                texts[path.name + item["text"].lower()] = texts.get(path.name + item["text"].lower(), 0) + 1
            if path.name not in ("ours.jsonl", "other_hand.jsonl"):
                assert item["half"] in ("a", "b"), item
    assert not {text for text, count in texts.items() if count > 1}


def test_the_sets_are_as_large_as_the_page_says(scripts_on_path: Path) -> None:
    from evaluate import SETS
    from scoring import load

    sets = {path.stem: load(path) for path in SETS}
    house = [item for name in ("ours", "other_hand", "second_hand") for item in sets[name]]
    assert sum(bool(item["calls"]) for item in house) >= 400
    assert sum(not item["calls"] for item in sets["second_hand"]) >= 110
    assert len(sets["dialogues"]) >= 150
    assert len(sets["unseen"]) >= 160
    assert sum(not item["calls"] for item in sets["unseen"]) >= 30
    assert len(sets["newcomer"]) >= 65


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_a_rounded_conversion_is_right_and_a_rounded_number_is_not(scripts_on_path: Path) -> None:
    from scoring import same

    wanted = [call("drive", distance_m=0.3048)]
    assert same([call("drive", distance_m=0.3)], wanted, units=True)
    assert not same([call("drive", distance_m=0.3)], wanted, units=False)
    assert not same([call("drive", distance_m=-0.3)], wanted, units=True)
    assert not same([call("drive", distance_m=True)], [call("drive", distance_m=1)], units=True)


def test_defaults_may_be_left_out_and_codes_are_copied(scripts_on_path: Path) -> None:
    from asking import app
    from scoring import same

    schemas = {tool.name: tool.parameters for tool in app("lab_arm").build(None).tools}
    wanted = [call("spin", tubes=["X7Q"], rpm=1500, minutes=10.0)]
    assert same([call("spin", tubes=["x7q"], rpm=1500)], wanted, schemas, units=False)
    assert not same([call("spin", tubes=["X7"], rpm=1500)], wanted, schemas, units=False)


def test_what_must_not_happen_is_counted(scripts_on_path: Path) -> None:
    from scoring import DANGER, Asked, Score, danger

    score = Score()
    left, light = call("turn", angle_deg=90), call("set_light", place="kitchen", on=True)
    for asked, wanted in (
        ([left], []),
        ([light], []),
        ([left], [call("turn", angle_deg=-90)]),
        ([left], [left]),
        ([call("go_to", place="office")], [call("go_to", place="kitchen")]),
    ):
        danger(score, Asked(asked, asked, ""), [wanted], units=False)
    moved, misled = (score.groups[row] for row in DANGER)
    assert (moved.right, moved.all) == (1, 2)
    assert (misled.right, misled.all) == (1, 3)


def test_every_form_of_a_set_is_scored_and_half_b_stays_unread(
    nano: LlamaLLM, scripts_on_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from evaluate import evaluate, show

    left = call("turn", angle_deg=90)
    never = [call("dock")]
    items = [
        {"text": "turn left", "calls": never, "tags": ["command"], "half": "b"},
        {"turns": [{"text": "turn left", "calls": [left]}, {"text": "turn left", "calls": [left]}], "tags": ["again"]},
        {"turns": [{"text": "turn left", "calls": never}, {"text": "turn left", "calls": [left]}], "tags": ["again"]},
        {"robot": "kiln", "text": "thank you", "calls": [], "tags": ["none"], "half": "a"},
        {"text": "turn left", "right": [[], [left]], "tags": ["newcomer"], "half": "a"},
        {"text": "turn left", "right": [[left]], "says": "never said", "tags": ["newcomer"], "half": "a"},
    ]
    score = evaluate(nano, items, None)
    rows = {name: (tally.right, tally.all) for name, tally in score.groups.items()}
    assert rows["command, half b"] == (0, 1)
    assert rows["last turn"] == (2, 2)
    assert rows["last turn, no wrong action before"] == rows["every turn"] == (1, 2)
    assert rows["sensible"] == (1, 2)
    assert rows["no call"][1] == 1
    show("a set", score, details=True, errors=True)
    printed = capsys.readouterr().out
    assert "wanted dock()" not in printed
    assert "more, of half b" in printed
    show("a set", score, details=False, errors=True, reveal=True)
    assert "wanted dock()" in capsys.readouterr().out
