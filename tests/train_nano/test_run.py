"""The scripts that train: --help tells of them, and does nothing."""

import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("script", ["train_nano", "train_keywords", "train_whisper_fixture"])
def test_help_only_helps(checkout: Path, tmp_path: Path, script: str, option: str) -> None:
    """A copy, so that what a wrong script does is done to nothing."""
    run = tmp_path / "scripts" / "lab" / script / "run"
    run.parent.mkdir(parents=True)
    run.write_bytes((checkout / "scripts" / "lab" / script / "run").read_bytes())
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "python3").write_text("#!/bin/sh\necho python3 was started >&2\nexit 1\n")
    (tools / "python3").chmod(0o755)
    path = f"{tools}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", run, "--minutes", "5", option], capture_output=True, text=True, timeout=30, env={"PATH": path}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Trains the ")
    assert f"scripts/lab/{script}/run --minutes" in done.stdout
    assert "#" not in done.stdout
    assert "set -e" not in done.stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bin", "scripts"]
