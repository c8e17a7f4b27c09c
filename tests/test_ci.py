"""``.ci/run`` tests the engine on a real model if that can be had, and is as green without it."""

import shutil
import subprocess
from pathlib import Path

import pytest

STUB = """#!/usr/bin/env bash
echo "${{0##*/}} $*" >>journal
[[ "$*" != "models pull"* ]] || exit {pull}
[[ $0 != *wheels ]] || exit {wheels}
[[ $0 != *test ]] || exit {tests}
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def run_ci(checkout: Path, tmp_path: Path, **codes: int) -> subprocess.CompletedProcess[str]:
    """Runs it with scripts that do nothing but end with these codes."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / "scripts").mkdir()
    shutil.copy(checkout / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "scripts" / "apt-packages.txt").write_text("bash\n")
    for name in ("run", "test", "wheels"):
        stub = tmp_path / "scripts" / name
        stub.write_text(STUB.format(**codes))
        stub.chmod(0o755)
    return subprocess.run([tmp_path / ".ci" / "run", "-x"], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("pull", "wheels", "tests"), [(0, 0, 0), (3, 3, 0), (0, 0, 1), (3, 3, 1)])
def test_ci_is_as_green_as_the_tests_are_also_without_an_index(
    checkout: Path, tmp_path: Path, journal: Path, pull: int, wheels: int, tests: int
) -> None:
    done = run_ci(checkout, tmp_path, pull=pull, wheels=wheels, tests=tests)
    assert done.returncode == tests
    told = journal.read_text().splitlines()
    assert "run models pull smollm2-135m" in told
    assert told[-1] == "test -x"
    assert ("not run" in done.stderr) == (pull != 0)


def test_a_package_that_a_robot_could_not_install_is_red(checkout: Path, tmp_path: Path, journal: Path) -> None:
    assert run_ci(checkout, tmp_path, pull=0, wheels=1, tests=0).returncode == 1
    assert "test -x" not in journal.read_text()
