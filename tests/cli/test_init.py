"""``edgeagent init``: what it writes works as it says, and nothing is ever overwritten."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from edgeagent.app import AppFile
from edgeagent.check import Trial, doubts, read_cases
from edgeagent.cli import SKELETON
from edgeagent.config import load_config
from edgeagent.testing import ScriptedLLM


@pytest.fixture
def folder(in_process: Any, tmp_path: Path) -> Path:
    assert in_process("init", tmp_path / "rover").returncode == 0
    return tmp_path / "rover"


def test_the_next_command_is_told_as_it_can_be_typed_here(
    in_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    [told] = in_process("init", tmp_path / "one").stdout.splitlines()
    before, _, after = told.partition(" && ")
    assert before == f"cd {tmp_path / 'one'}"
    assert Path(shlex.split(after)[0]).is_absolute(), "no folder of the PATH has edgeagent"
    (tmp_path / "bin/edgeagent").write_text("#!/bin/sh\n")
    (tmp_path / "bin/edgeagent").chmod(0o755)
    [told] = in_process("init", tmp_path / "two").stdout.splitlines()
    assert told == f"cd {tmp_path / 'two'} && edgeagent chat --config edgeagent.toml"


def test_nano_understands_every_case_of_the_skeleton(folder: Path) -> None:
    with Trial(load_config(folder / "edgeagent.toml")) as trial:
        report = trial.run(read_cases(folder / "cases.toml", trial.tools))
        assert [(one.case.say, one.made) for one in report.outcomes if not one.right] == []
        assert doubts(trial.tools) == []


def test_the_app_and_the_settings_belong_together(folder: Path) -> None:
    config = load_config(folder / "edgeagent.toml")
    assert config.app == folder / "robot.py"
    agent = AppFile.load(config.app).agent(ScriptedLLM)
    assert sorted(tool.name for tool in agent.tools) == ["drive", "get_battery"]
    assert config.session == folder / "robot.journal"


def test_the_lines_of_the_readme_name_commands_options_and_files_that_there_are(folder: Path, in_process: Any) -> None:
    text = (folder / "README.md").read_text()
    lines = re.findall(r"`(edgeagent [a-z ]+?(?: --.*?)?)`", text)
    assert len(lines) > 5
    for line in lines:
        command = [word for word in line.split()[1:3] if not word.startswith("--") and word not in ("pull",)]
        command = command if command[0] in ("service",) else command[:1]
        shown = in_process(*command, "--help").stdout
        for option, file in re.findall(r"(--[a-z]+) (\S+)", line):
            assert option in shown, line
            assert (folder / file).exists(), line


def test_the_unit_is_the_one_that_service_installs(folder: Path, in_process: Any) -> None:
    shown = in_process("service", "install", "--config", folder / "edgeagent.toml", "--print")
    assert (folder / "edgeagent.service").read_text() == shown.stdout
    assert f"--config {folder}/edgeagent.toml" in shown.stdout


def test_the_unit_has_the_plain_path_of_the_folder(in_process: Any, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    assert in_process("init", tmp_path / "below" / ".." / "rover").returncode == 0
    assert f"WorkingDirectory={tmp_path}/rover\n" in (tmp_path / "rover" / "edgeagent.service").read_text()


def test_a_folder_that_no_unit_can_name_is_not_made(in_process: Any, tmp_path: Path) -> None:
    done = in_process("init", tmp_path / "a\nb")
    assert done.returncode == 2
    assert "line end" in done.stderr
    assert not (tmp_path / "a\nb").exists()


@pytest.mark.parametrize("name", [*SKELETON, "edgeagent.service"])
def test_a_file_that_is_there_is_kept_and_nothing_else_is_written(in_process: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.iterdir())
    done = in_process("init", tmp_path)
    assert done.returncode == 2
    assert f"{name} in {tmp_path} would be overwritten" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / name).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_kept_too(in_process: Any, tmp_path: Path) -> None:
    (tmp_path / "README.md").symlink_to(tmp_path / "elsewhere")
    assert in_process("init", tmp_path).returncode == 2
    assert not (tmp_path / "elsewhere").exists()


def test_what_fails_on_the_way_leaves_nothing(in_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(path: Path, *rest: Any, **more: Any) -> Any:
        return opened(Path("/dev/full"), "w") if path.name == "edgeagent.toml" else opened(path, *rest, **more)

    monkeypatch.setattr(Path, "open", full)
    done = in_process("init", tmp_path / "rover")
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert list((tmp_path / "rover").iterdir()) == []


def test_the_settings_are_toml() -> None:
    assert tomllib.loads(SKELETON["edgeagent.toml"])["app"] == "robot.py"
