"""``.ci/run`` tests the engine on a real model if that can be had, and is as green without it."""

import shutil
import subprocess
from pathlib import Path

import pytest

STUB = """#!/usr/bin/env bash
echo "${{0##*/}} $*" >>journal
[[ "$*" != "models pull"* ]] || exit {pull}
[[ $0 != *test ]] || exit {tests}
"""


@pytest.mark.parametrize(("pull", "tests"), [(0, 0), (3, 0), (0, 1), (3, 1)])
def test_ci_is_as_green_as_the_tests_are(checkout: Path, tmp_path: Path, pull: int, tests: int) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / "scripts").mkdir()
    shutil.copy(checkout / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "scripts" / "apt-packages.txt").write_text("bash\n")
    for name in ("run", "test"):
        stub = tmp_path / "scripts" / name
        stub.write_text(STUB.format(pull=pull, tests=tests))
        stub.chmod(0o755)
    done = subprocess.run([tmp_path / ".ci" / "run", "-x"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == tests
    assert (tmp_path / "journal").read_text().splitlines()[-2:] == [
        "run models pull smollm2-135m",
        "test -x",
    ]
    assert ("not run" in done.stderr) == (pull != 0)
