"""Files of phrases: their form, and errors that name the line."""

from pathlib import Path

import pytest

from edgeagent import ConfigError, Tool
from edgeagent.train import Phrase, TaughtCall, cases_of, kept_apart, read_phrases


def test_a_line_is_a_sentence_and_its_calls(phrases_file: Path, tools: list[Tool]) -> None:
    phrases = read_phrases(phrases_file, tools)
    assert phrases[0] == Phrase("scan the third pallet", (TaughtCall("scan_pallet", {"number": 3}),), line=3)
    assert [call.name for call in phrases[-2].calls] == ["scan_pallet", "set_lamp"]
    assert phrases[-1] == Phrase("who built you", (), "Two friends.", 11)


def test_cases_have_the_defaults_that_a_body_would_get(phrases_file: Path, tools: list[Tool]) -> None:
    cases = {case.say: case for case in cases_of(read_phrases(phrases_file, tools), tools)}
    assert cases["pick order B17"].calls[0].arguments == {"code": "B17", "gift": False}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("scan the pallet", "write SENTENCE = tool"),
        ("scan it = scan_palet(number=3)", "did you mean 'scan_pallet'?"),
        ("scan it = scan_pallet(number=x)", "x is no value"),
        ("scan it = scan_pallet(3)", "named arguments"),
        ("scan it = scan_pallet(number='many')", "whole number"),
        ("scan it = scan_pallet()", "number: missing"),
        ("scan it = scan_pallet(number=3, number=4)", "every argument once"),
        ("scan it = scan_pallet(number=3", "is no call"),
        ("scan it = scan_pallet", "write scan_pallet()"),
        ("go = set_speed(level='warp')", "level"),
        ("scan it = ;", "no call stands behind"),
        ("Scan  pallet 12 = scan_pallet(number=12)\nscan pallet 12 = scan_pallet(number=12)", "line 1 says the same"),
        ("scan it = " + "(" * 5000, "is no call"),
    ],
)
def test_an_error_names_the_line_and_what_is_wrong(line: str, told: str, tmp_path: Path, tools: list[Tool]) -> None:
    path = tmp_path / "p.txt"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_phrases(path, tools)
    assert f"p.txt:{1 + line.count(chr(10))}: " in str(error.value)
    assert told in str(error.value)


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xff\xfe\x00"])
def test_a_file_without_phrases_is_refused(content: bytes, tmp_path: Path, tools: list[Tool]) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"p\.txt"):
        read_phrases(path, tools)


def test_a_semicolon_in_a_text_ends_no_call(tmp_path: Path, tools: list[Tool]) -> None:
    path = tmp_path / "p.txt"
    path.write_text('pick it = pick_order(code="a;b"); set_lamp(on=True)', encoding="utf-8")
    assert read_phrases(path, tools)[0].calls == (
        TaughtCall("pick_order", {"code": "a;b"}),
        TaughtCall("set_lamp", {"on": True}),
    )


def test_every_fifth_phrase_of_a_tool_is_kept_apart() -> None:
    phrases = [Phrase(f"{name} {n}", (TaughtCall(name, {}),)) for name in ("a", "b") for n in range(6)]
    learnt, apart = kept_apart([*phrases, Phrase("c", (TaughtCall("c", {}),))], every=5)
    assert [phrase.say for phrase in apart] == ["a 4", "b 4"]
    assert len(learnt) == 11
