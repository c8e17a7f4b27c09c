"""The extras: a chat runs without them, and what lacks one says which."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from edgeagent.errors import AudioError
from edgeagent.extras import MODULES, check

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from edgeagent.cli import main
main()
"""


def run(home: Path, *arguments: str, missing: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """A command in a process that can't import some modules."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(missing=set(missing)), *arguments],
        capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL, env=os.environ | {"HOME": str(home)},
    )  # fmt: skip


EVERYTHING = tuple(module for modules in MODULES.values() for module in modules)


def test_a_chat_needs_no_extra(tmp_path: Path) -> None:
    done = run(tmp_path, "ask", "how full is your battery", missing=EVERYTHING)
    assert (done.returncode, done.stderr) == (0, "")
    assert "battery" in done.stdout


@pytest.mark.parametrize("command", [("talk",), ("listen",), ("say", "hello"), ("voices",)], ids=" ".join)
def test_what_hears_or_speaks_says_what_it_needs(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(tmp_path, *command, missing=EVERYTHING)
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(': pip install "edgeagent[voice]"')


def test_without_whisper_and_piper_it_speaks(tmp_path: Path) -> None:
    output = tmp_path / "said.wav"
    done = run(tmp_path, "say", "--output", str(output), "hello", missing=MODULES["whisper"] + MODULES["piper"])
    assert (done.returncode, done.stderr) == (0, "")
    assert output.stat().st_size > 10_000


def test_the_doctor_says_what_is_not_installed(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", missing=EVERYTHING)
    assert (done.returncode, done.stderr) == (0, "")
    assert "it answers what is typed" in done.stdout
    assert 'pip install "edgeagent[voice]"' in done.stdout


def test_every_package_of_an_extra_is_looked_for(checkout: Path) -> None:
    extras = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    named = {extra: sum(not package.startswith("edgeagent[") for package in extras[extra]) for extra in MODULES}
    assert named == {extra: len(modules) for extra, modules in MODULES.items()}
    for extra in MODULES:
        check(extra)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "voice", ("soxr", "no_such_module"))
    with pytest.raises(AudioError, match=r'need no_such_module, not installed here: pip install "edgeagent\[voice\]"'):
        check("voice")
