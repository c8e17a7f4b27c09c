"""The app's model, in a process of its own: espeak-ng's voice is the process's, and other tests have chosen others."""

import subprocess
import sys
from pathlib import Path


def test_app_model(checkout: Path) -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/stt/app_model_checks.py"]
    done = subprocess.run(argv, cwd=checkout, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
