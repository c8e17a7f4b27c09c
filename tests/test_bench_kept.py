"""``scripts/bench voice`` and ``ears`` go on where they were stopped: what is kept, and what is measured again."""

import math
import signal
import sys
from collections.abc import Callable
from types import ModuleType

import pytest


def run(bench: ModuleType, *arguments: str) -> int:
    """Its ``main``. Returns the exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["bench", *arguments])
        patch.setattr(signal, "signal", lambda *_: None)
        try:
            bench.main()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def test_what_was_measured_is_there_the_next_time(bench: Callable[[str], ModuleType]) -> None:
    kept = bench("kept")
    first = kept.Kept.of("some")
    assert first.once("one", lambda: {"s": math.inf}) == {"s": math.inf}
    first.put("two", 2)
    again = kept.Kept.of("some")
    assert again.once("one", lambda: pytest.fail("it is measured again")) == {"s": math.inf}
    assert again.get("two") == 2
    assert again.get("three") is None
    assert len(again) == 2


def test_a_line_that_a_killed_process_has_not_ended_costs_only_itself(bench: Callable[[str], ModuleType]) -> None:
    kept = bench("kept")
    first = kept.Kept.of("some")
    first.put("one", 1)
    with first.path.open("a", encoding="utf-8") as file:
        file.write('["two", ')
    again = kept.Kept.of("some")
    again.put("three", 3)
    assert kept.Kept.of("some").get("one") == 1
    assert kept.Kept.of("some").get("three") == 3
    assert kept.Kept.of("some").get("two") is None


def test_another_state_of_the_code_begins_anew(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = bench("kept")
    kept.Kept.of("some").put("one", 1)
    monkeypatch.setattr(kept, "code", lambda: "0123456789ab")
    assert len(kept.Kept.of("some")) == 0


def test_fresh_forgets(bench: Callable[[str], ModuleType]) -> None:
    kept = bench("kept")
    kept.Kept.of("some").put("one", 1)
    assert len(kept.Kept.of("some", fresh=True)) == 0
    assert len(kept.Kept.of("some")) == 0


def test_only_the_missing_latencies_are_measured(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    latency, kept = bench("voice_latency"), bench("kept").Kept.of("latency")
    plan = latency.planned(2)
    trial = dict.fromkeys(
        "sound motion understood given run tool silence final hold zero standstill spotted trip transcript".split(), 0.1
    )
    trial |= {"soft end": 0.1, "hard end": 0.1, "model done": 0.1, "speech start": 0.1}
    for each in plan[:-2]:
        kept.put(each.name, trial)
    kept.put("echo_db", -6.0)
    kept.put("xruns", [0, 0])
    measured = []

    def measure(missing, into):
        for each in missing:
            measured.append(each.name)
            into.put(each.name, trial)

    monkeypatch.setattr(latency, "_measure", measure)
    rows, wrong = latency.rows(False, kept, count=2)
    assert measured == ["stop, acting 0", "stop, acting 1"]
    assert wrong == []
    assert {name: figure for name, figure, _ in rows}["end of speech to first sound"].endswith("(4)")


def test_the_voice_goes_on_after_ctrl_c(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    voice = bench("voice")
    begun = []

    def soak(quick):
        begun.append("soak")
        return [("soak", "fine", "")], []

    def room(quick, kept):
        begun.append("room")
        if begun.count("room") == 1:
            raise KeyboardInterrupt
        return [("counts", "right", "")], []

    monkeypatch.setattr(voice, "PARTS", ("soak", "room"))
    monkeypatch.setattr(voice.voice_soak, "rows", soak)
    monkeypatch.setattr(voice, "in_room", room)
    assert run(voice) == 130
    assert "goes on" in capsys.readouterr().err
    assert run(voice) == 0
    assert begun == ["soak", "room", "room"], "the soak is not done again"
    assert "fine" in capsys.readouterr().out
    assert run(voice) == 0
    assert begun.count("soak") == 2, "after a whole run all is measured again"


def test_the_ears_go_on_with_the_part_that_is_missing(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ears = bench("ears")
    begun = []

    def part(name, quick):
        begun.append(name)
        if name == "two" and begun.count(name) == 1:
            raise KeyboardInterrupt
        return [(name, "measured", "")], []

    monkeypatch.setattr(ears, "PARTS", ("one", "two"))
    monkeypatch.setattr(ears, "one_part", part)
    assert run(ears) == 1
    assert "goes on" in capsys.readouterr().err
    assert run(ears) == 0
    assert begun == ["one", "two", "two"]
    assert "one" in capsys.readouterr().out
