"""``edgeagent voices``: what speaks, and which one does."""

from __future__ import annotations


def test_the_voices_of_english_and_the_one_that_speaks(in_process) -> None:
    done = in_process("voices")
    assert (done.returncode, done.stderr) == (0, "")
    head, first, *rest = done.stdout.splitlines()
    assert head.split() == ["voice", "language", "engine"]
    assert first.split()[:4] == ["heart", "*", "en-us", "hibari"]
    assert any(line.startswith("joe ") and "edgeagent models pull joe" in line for line in rest)
    assert any(line.startswith("en-us ") and "espeak-ng" in line for line in rest)
    assert sum("*" in line for line in done.stdout.splitlines()) == 1


def test_those_of_another_language_and_all(in_process) -> None:
    german = in_process("voices", "de").stdout.splitlines()[1:]
    assert german
    assert all(line.startswith("de") for line in german)
    assert len(in_process("voices", "all").stdout.splitlines()) > 100


def test_a_language_that_nobody_speaks_is_told_in_a_line(in_process) -> None:
    done = in_process("voices", "xx")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "error: there is no voice for 'xx'; edgeagent voices all lists them\n"


def test_the_star_is_at_the_voice_of_the_settings(in_process, edgeagent) -> None:
    (edgeagent.home / "s.toml").write_text('[speech]\nvoice = "en-us"\n')
    lines = in_process("voices", "--config", edgeagent.home / "s.toml").stdout.splitlines()
    assert [line.split()[0] for line in lines if "*" in line] == ["en-us"]
    (edgeagent.home / "s.toml").write_text('[speech]\nvoice = "en+f3"\n')
    lines = in_process("voices", "ALL", "--config", edgeagent.home / "s.toml").stdout.splitlines()
    assert [line.split()[0] for line in lines if "*" in line] == ["en+f3"]
    assert len(lines) > 100
