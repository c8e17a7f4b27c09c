"""Lines of JSON: every character can be seen, and a file of them keeps its limits."""

import errno
import fcntl
import json
import math
import multiprocessing
import os
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import ConfigError
from edgeagent.json_lines import JsonLinesFile, json_text

ANY = st.text(st.characters(exclude_categories=["Cs"]))
LINE = {"text": "x" * 80}
LINE_MB = len(json.dumps(LINE) + "\n") / 1e6


def sizes(path: Path) -> dict[str, int]:
    """Lines of each file beside this one."""
    return {file.name: len(file.read_bytes().splitlines()) for file in sorted(path.parent.iterdir())}


@given(ANY)
def test_the_text_is_json_of_the_same_value(text: str) -> None:
    assert json.loads(json_text({"text": text})) == {"text": text}


@given(ANY)
def test_no_character_of_it_is_invisible(text: str) -> None:
    for shown in (json_text([text]), json_text([text], ascii_only=True)):
        kinds = {unicodedata.category(character) for character in shown}
        assert not kinds & {"Cc", "Zl", "Zp"}
        assert not {unicodedata.bidirectional(character) for character in shown} & {"LRO", "RLO", "LRE", "RLE", "PDF"}


@pytest.mark.parametrize(
    "hidden", ["\x9b", "\x85", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\xad", "\U000e0041"]
)
def test_what_can_not_be_seen_is_escaped(hidden: str) -> None:
    shown = json_text({"text": f"a{hidden}b"})
    assert shown.isascii()
    assert json.loads(shown) == {"text": f"a{hidden}b"}


def test_other_languages_stay_readable() -> None:
    assert json_text(["grün", "北", "שלום", "👍"]) == '["grün", "北", "שלום", "👍"]'


def no_json(constant: str) -> object:
    raise ValueError(f"JSON has no {constant}")


@given(st.recursive(st.floats() | ANY, lambda item: st.lists(item) | st.dictionaries(st.floats() | ANY, item)))
def test_numbers_that_are_none_or_infinite_are_null(value: object) -> None:
    json.loads(json_text(value), parse_constant=no_json)


def test_beside_a_number_that_is_none_everything_stays() -> None:
    given = {"x": [math.nan, math.inf, -math.inf, 1.5, 10**400, "NaN", None, True], "set": {1}}
    told = json.loads(json_text(given), parse_constant=no_json)
    assert told == {"x": [None, None, None, 1.5, 10**400, "NaN", None, True], "set": "{1}"}
    assert json_text([math.nan, "grün\u202e"], indent=1) == '[\n null,\n "grün\\u202e"\n]'


def test_a_full_file_gives_way_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = JsonLinesFile(path, max_mb=3 * LINE_MB, files=3)
    for _ in range(11):
        file.write(LINE)
    assert sizes(path) == {"log": 2, "log.1": 3, "log.2": 3}
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_one_file_begins_anew(tmp_path: Path) -> None:
    file = JsonLinesFile(tmp_path / "log", max_mb=3 * LINE_MB, files=1)
    for _ in range(4):
        file.write(LINE)
    assert sizes(tmp_path / "log") == {"log": 1}


def test_a_line_that_belongs_to_those_before_may_go_on_up_to_twice_the_limit(tmp_path: Path) -> None:
    file = JsonLinesFile(tmp_path / "log", max_mb=3 * LINE_MB)
    for _ in range(7):
        file.write(LINE, in_midst=True)
    assert sizes(tmp_path / "log") == {"log": 1, "log.1": 6}
    file.write(LINE)
    assert sizes(tmp_path / "log") == {"log": 2, "log.1": 6}


def test_what_an_earlier_process_wrote_counts(tmp_path: Path) -> None:
    for _ in range(4):
        file = JsonLinesFile(tmp_path / "log", max_mb=3 * LINE_MB)
        file.write(LINE)
        file.close()
    assert sizes(tmp_path / "log") == {"log": 1, "log.1": 3}


def _write_many(path: Path, name: str) -> None:
    file = JsonLinesFile(path, max_mb=0.01, files=100)
    for number in range(500):
        file.write({"name": name, "number": number})


def test_two_processes_lose_no_line_where_the_file_rotates(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_many, args=(tmp_path / "log", name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    lines = [json.loads(line) for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted((line["name"], line["number"]) for line in lines) == [(n, i) for n in "ab" for i in range(500)]


def test_a_pipe_never_rotates(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        file = JsonLinesFile(tmp_path / "pipe", max_mb=LINE_MB)
        for _ in range(3):
            file.write(LINE)
        assert os.read(reader, 10_000).count(b"\n") == 3
        assert [each.name for each in tmp_path.iterdir()] == ["pipe"]
    finally:
        os.close(reader)


def test_a_line_that_was_torn_is_ended_first(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"a": ')
    JsonLinesFile(tmp_path / "log").write(LINE)
    assert (tmp_path / "log").read_text() == '{"a": \n' + json.dumps(LINE) + "\n"


def test_a_line_that_another_process_is_writing_is_not_torn(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        other.write(b'{"a": ')
        file = JsonLinesFile(tmp_path / "log")
        other.write(b"1}\n")
        fcntl.flock(other, fcntl.LOCK_UN)
    file.write(LINE)
    assert (tmp_path / "log").read_text() == '{"a": 1}\n' + json.dumps(LINE) + "\n"


def test_a_process_that_can_not_rename_holds_up_no_other(tmp_path: Path) -> None:
    one, other = (JsonLinesFile(tmp_path / "log", max_mb=LINE_MB, files=2) for _ in range(2))
    (tmp_path / "log.1").mkdir()
    one.write(LINE)
    with pytest.raises(OSError, match="directory"):
        one.write(LINE)
    with (tmp_path / "log").open("rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH | fcntl.LOCK_NB)
    (tmp_path / "log.1").rmdir()
    other.write(LINE)
    assert sizes(tmp_path / "log") == {"log": 1, "log.1": 1}


def test_where_nothing_can_be_locked_lines_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS locks a file for readers only if it can be read, and some file systems lock none."""

    def flock(file: object, how: int) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(fcntl, "flock", flock)
    file = JsonLinesFile(tmp_path / "log")
    file.write(LINE)
    file.write(LINE)
    assert sizes(tmp_path / "log") == {"log": 2}


def test_a_closed_file_takes_nothing(tmp_path: Path) -> None:
    file = JsonLinesFile(tmp_path / "log")
    file.close()
    file.close()
    with pytest.raises(OSError, match="closed"):
        file.write(LINE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_mb": 0},
        {"max_mb": -1},
        {"max_mb": math.nan},
        {"max_mb": "10"},
        {"max_mb": True},
        {"files": 0},
        {"files": 2.0},
        {"files": True},
    ],
)
def test_a_limit_that_is_none_is_named(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        JsonLinesFile(tmp_path / "log", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "log").exists()
