"""scripts/train: --help tells of the trainers and does nothing; each name runs its own."""

import subprocess
from pathlib import Path

import pytest

NAMES = ["nano", "keywords", "whisper_fixture"]


@pytest.fixture
def root(checkout: Path, tmp_path: Path) -> Path:
    """A copy, so that what a wrong script does is done to nothing."""
    train = tmp_path / "scripts" / "train"
    train.parent.mkdir()
    train.write_bytes((checkout / "scripts" / "train").read_bytes())
    program(tmp_path / "bin" / "python3", "echo python3 was started >&2; exit 1")
    return tmp_path


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def train(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{root}/bin:/usr/bin:/bin"}
    command = ["bash", root / "scripts" / "train", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment)


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("name", NAMES)
def test_help_only_helps(root: Path, name: str, option: str) -> None:
    done = train(root, name, "--minutes", "5", option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Trains ")
    assert f"scripts/train {name} " in done.stdout
    assert "#" not in done.stdout
    assert "set -e" not in done.stdout
    assert sorted(each.name for each in root.iterdir()) == ["bin", "scripts"]


@pytest.mark.parametrize("arguments", [(), ("none",), ("prepare",)])
def test_another_name_is_told_of_those_that_there_are(root: Path, arguments: tuple[str, ...]) -> None:
    done = train(root, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(f"scripts/train {name} " in done.stderr for name in NAMES)


def test_without_the_product_nothing_is_trained(root: Path) -> None:
    done = train(root, "nano")
    assert done.returncode == 1
    assert "run scripts/run once first" in done.stderr


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("nano", ["train.py --run runs/try --minutes 5 --run runs/try", "export.py", "evaluate.py"]),
        ("keywords", ["people.py", "speak.py", "train.py", "train.py"]),
        ("whisper_fixture", ["speak.py", "train.py", "check.py"]),
    ],
)
def test_a_training_takes_its_steps(root: Path, checkout: Path, name: str, steps: list[str]) -> None:
    log = root / "log"
    for python in (".venv/bin/python", ".venv-train/bin/python"):
        program(root / python, f'case $1 in -c) ;; *) echo "$@" >>{log} ;; esac')
    program(root / ".venv/bin/edgeagent", "exit 1")
    (root / "runs/keywords/packages/usr").mkdir(parents=True)
    arguments = ["--minutes", "5", "--run", "runs/try"] if name == "nano" else ["--minutes", "5"]
    done = train(root, name, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    taken = log.read_text().splitlines()
    folder = f"{root}/scripts/lab/train_{name}/"
    assert len(taken) == len(steps)
    for line, step in zip(taken, steps, strict=True):
        assert line.startswith(folder + step), line
        assert (checkout / "scripts" / "lab" / f"train_{name}" / step.partition(" ")[0]).is_file()
    assert any("--minutes 5" in line for line in taken)


def test_the_second_part_of_the_stop_words_is_trained_by_itself(root: Path) -> None:
    log = root / "log"
    for python in (".venv/bin/python", ".venv-train/bin/python"):
        program(root / python, f'case $1 in -c) ;; *) echo "$@" >>{log} ;; esac')
    program(root / ".venv/bin/edgeagent", "exit 1")
    (root / "runs/keywords/packages/usr").mkdir(parents=True)
    assert train(root, "keywords", "--waits", "--init", "x.onnx").returncode == 0
    (trained,) = [line for line in log.read_text().splitlines() if "train.py" in line]
    assert trained.endswith("--waits --init x.onnx")
