"""The doctor says what is there, what is wrong and what to do, and looks at the rest whatever is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeagent import LlamaLLM, ModelError
from edgeagent.doctor import DoctorReport, Row, engine, examine, machine, machine_section


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from edgeagent.cli import main; main()", "doctor", *arguments]
    settings = os.environ | environment
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60, check=False)


def rows(found: Iterator[Row]) -> dict[str, Row]:
    return {row.name: row for row in found}


def test_the_machine_is_described() -> None:
    found = rows(machine())
    assert {"python", "system", "processor", "memory", "disk"} <= set(found)
    assert found["processor"].value["cores"] >= 1
    assert found["memory"].value > 0


def test_the_embedded_model_is_read_loaded_and_asked() -> None:
    found = rows(engine(lambda: LlamaLLM("nano")))
    assert not [row for row in found.values() if row.status == "problem"]
    assert found["model"].value["architecture"] == "llama"
    assert found["calls"].value == "hermes"
    assert found["speed"].value["prompt"] > 0
    assert found["speed"].value["reply"] > 0


def test_a_bad_model_and_ears_of_another_language_are_told_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"no model")
    done = run("--model", str(bad), "--json", EDGEAGENT_LANGUAGE="de")
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert report["engine"]["model"]["status"] == "problem"
    assert str(bad) in report["engine"]["model"]["found"]
    assert report["machine"]["python"]["status"] == "ok"
    assert report["ears"]["voice activity"]["status"] == "ok"
    assert report["ears"]["recogniser"]["status"] == "problem"
    assert "English only" in report["ears"]["recogniser"]["found"]
    assert done.stderr == ""


def test_what_fails_does_not_keep_the_next_section_from_being_looked_at() -> None:
    def broken() -> Iterator[Row]:
        yield Row("first", "fine")
        raise ModelError("no model at all")

    report = DoctorReport(tuple(examine([("one", broken), ("two", lambda: iter([Row("a", "b")]))])))
    assert [row.found for row in report.problems] == ["no model at all"]
    assert [section.name for section in report.sections] == ["one", "two"]
    assert report.as_dict()["two"] == {"a": {"found": "b", "status": "ok"}}


@pytest.mark.parametrize(
    ("info", "features", "status", "word"),
    [
        ("CPU : AVX2 = 1 | FMA = 1 |", ["avx2", "fma"], "ok", "avx2 fma"),
        ("CPU : FMA = 1 |", ["avx2", "fma"], "note", "without avx2"),
        ("CPU : AVX2 = 1 | FMA = 1 |", ["fma"], "problem", "avx2"),
        ("CPU : NEON = 1 | ARM_FMA = 1 |", ["asimddp", "asimd"], "note", "without asimddp"),
    ],
)
def test_a_build_for_another_processor_is_told(
    monkeypatch: pytest.MonkeyPatch, info: str, features: list[str], status: str, word: str
) -> None:
    monkeypatch.setattr(machine_section, "features", lambda: features)
    row = machine_section._build(info)
    assert row.status == status
    assert word in row.found
    assert (row.advice == "") == (status == "ok")


def test_the_command_prints_a_table_without_colour_in_a_pipe() -> None:
    done = run()
    assert done.returncode == 0
    assert done.stdout.startswith("machine\n  python")
    assert "\nengine\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_help_has_examples() -> None:
    assert "edgeagent doctor --json" in run("--help").stdout
