"""An app whose tools nano was not trained on is told so before nano calls them wrongly."""

import shutil
import tomllib
from pathlib import Path

import pytest

from edgeagent.app import RECOMMENDED, build
from edgeagent.config import Config
from edgeagent.resources import models_dir

OWN = """
from edgeagent import Agent, tool
from edgeagent.testing import ScriptedLLM

@tool
def open_hatch(side: str) -> str:
    "Open a hatch."
    return "open"

@tool
def spray(seconds: float) -> str:
    "Spray water."
    return "sprayed"

@tool
def drive(distance_m: float) -> str:
    "Drive straight."
    return "drove"
"""


def notes(folder: Path, agent: str, **settings: str) -> list[str]:
    file = folder / "my robot.py"
    file.write_text(OWN + agent, encoding="utf-8")
    with build(Config(app=file, **settings)) as app:
        return app.notes


def test_the_tools_that_nano_does_not_know_are_named_with_what_to_do(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, "agent = Agent('sprinkler', tools=[open_hatch, drive, spray])")
    assert note.startswith("nano was not trained on open_hatch and spray: expect wrong calls; ")
    assert f"edgeagent check --app '{tmp_path / 'my robot.py'}'" in note
    assert note.endswith(f"edgeagent models pull {RECOMMENDED}, then --model {RECOMMENDED}")


def test_many_tools_are_counted(tmp_path: Path) -> None:
    more = "def make(n):\n    @tool(name=f'spin_{n}')\n    def spin() -> str:\n        'Spin.'\n    return spin\n"
    (note,) = notes(tmp_path, f"{more}agent = Agent('spinner', tools=[make(n) for n in range(5)])")
    assert note.startswith("nano was not trained on spin_0, spin_1, spin_2 and 2 more: expect wrong calls; ")


def test_a_known_name_with_other_parameters_is_another_tool(tmp_path: Path) -> None:
    (note,) = notes(
        tmp_path, "@tool\ndef turn(clockwise: bool) -> str:\n    'Turn.'\nagent = Agent('a', tools=[turn, drive])"
    )
    assert note.startswith("nano was not trained on turn: expect wrong calls; ")


def test_the_tools_of_those_who_are_handed_over_to_count_too(tmp_path: Path) -> None:
    (note,) = notes(
        tmp_path, "other = Agent('other', tools=[spray])\nagent = Agent('a', tools=[drive], handoffs=[other])"
    )
    assert note.startswith("nano was not trained on handoff_to_other and spray: ")


@pytest.mark.parametrize(
    "agent",
    [
        "agent = Agent('rover', tools=[drive])",
        "agent = Agent('talker')",
        "agent = Agent('scripted', llm=ScriptedLLM(), tools=[open_hatch])",
    ],
)
def test_there_is_no_word_of_tools_that_the_model_can_be_expected_to_know(tmp_path: Path, agent: str) -> None:
    assert notes(tmp_path, agent) == []


def test_the_house_robot_knows_its_own_tools() -> None:
    with build(Config(speed=1000.0)) as app:
        assert app.notes == []


def test_a_copy_of_nano_is_nano(tmp_path: Path) -> None:
    copy = tmp_path / "stick.gguf"
    shutil.copy(models_dir() / "nano.gguf", copy)
    (note,) = notes(tmp_path, "agent = Agent('a', tools=[spray])", model=str(copy))
    assert note.startswith("nano was not trained on spray: ")


def test_a_model_that_was_trained_on_the_tools_of_the_app_knows_them(tmp_path: Path) -> None:
    trained = tmp_path / "mine.gguf"
    trained.symlink_to(models_dir() / "nano.gguf")
    trained.with_suffix(".toml").write_text('[tools]\nspray = ["seconds"]\n', encoding="utf-8")
    assert notes(tmp_path, "agent = Agent('a', tools=[spray])", model=str(trained)) == []
    (note,) = notes(tmp_path, "agent = Agent('a', tools=[drive])", model=str(trained))
    assert note.startswith("nano was not trained on drive: ")


def test_the_model_to_pull_is_in_the_catalogue(checkout: Path) -> None:
    catalogue = tomllib.loads((checkout / "models" / "catalog.toml").read_text(encoding="utf-8"))
    assert RECOMMENDED in catalogue["llm"]
