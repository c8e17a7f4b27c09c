"""The laboratory of real minds: its cases are whole, and are judged as a person would."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from edgeagent import Agent
from edgeagent.app import AppFile, build
from edgeagent.check import read_cases
from edgeagent.config import load_config
from edgeagent.testing import ScriptedLLM, call
from tests.llm import recorded_replies


@pytest.fixture
def bench(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of the benchmarks."""
    monkeypatch.syspath_prepend(str(checkout / "scripts" / "lab"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "bench"]:
        monkeypatch.delitem(sys.modules, name)
    return lambda name: pytest.importorskip(f"bench.{name}")


@pytest.fixture
def cases(bench: Callable[[str], ModuleType]) -> ModuleType:
    return bench("minds_cases")


def robot(cases: ModuleType, name: str) -> Agent:
    return AppFile.load(cases.app_file(name)).agent(lambda: ScriptedLLM("hello"))


def test_every_case_can_be_called_as_it_says(cases: ModuleType) -> None:
    tools = {name: robot(cases, name).tools for name in cases.robots()}
    assert sum(len(own) for own in tools.values()) == 60
    for case in cases.cases():
        for name, arguments in (one for right in case.right for one in right):
            tool = tools[case.robot].get(name)
            assert tool is not None, f"{case.name}: {name}"
            tool.signature.validate(arguments)


def test_the_cases_by_another_hand_can_be_called_as_they_say(checkout: Path) -> None:
    folder = checkout / "scripts" / "lab" / "bench" / "minds_others"
    asked = Counter[int]()
    for app in sorted(folder.glob("*.py")):
        tools = AppFile.load(app).agent(lambda: ScriptedLLM("hello")).tools
        asked.update(len(case.calls) for case in read_cases(app.with_suffix(".toml"), list(tools)))
    assert asked == {1: 31, 0: 6 + 40}


def test_half_of_each_kind_is_kept_apart(cases: ModuleType) -> None:
    counts = Counter((case.kind, case.apart) for case in cases.cases())
    for kind, count in {"single": 25, "several": 10, "quiet": 20, "report": 5, "talk": 20}.items():
        assert counts[kind, True] == counts[kind, False] == count


def test_no_tool_is_one_of_the_generators(cases: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(checkout / "scripts" / "lab" / "train_nano"))
    foreign = pytest.importorskip("foreign")
    house = {tool["function"]["name"] for tool in foreign.HOUSE_TOOLS}
    pairs = {f"{act}_{noun}" for act in foreign._ACTS for noun in foreign._NOUNS}
    pairs |= {f"{noun}_{act}" for act in foreign._ACTS for noun in foreign._NOUNS}
    levels = {f"{noun}_{what}" for what in foreign._LEVELS for noun in foreign._NOUNS}
    taken = house | pairs | levels | set(foreign._GESTURES)
    for name in cases.robots():
        assert not taken & set(robot(cases, name).tools.names())


def case_of(cases: ModuleType, said: str) -> tuple[object, dict[str, dict[str, object]]]:
    case = next(case for case in cases.cases() if case.said == said)
    return case, {tool.name: tool.parameters for tool in robot(cases, case.robot).tools}


def test_an_argument_that_has_its_default_may_be_left_out(cases: ModuleType) -> None:
    case, schemas = case_of(cases, "Slice the onion and then put burner one on full power.")
    hob = ("hob_power", {"burner": 1, "level": 9})
    assert case.exact([("chop", {"item": "the Onion"}), hob], schemas)
    assert case.exact([("chop", {"item": "onion", "style": "slices"}), hob], schemas)
    assert not case.exact([("chop", {"item": "onion", "style": "cubes"}), hob], schemas)
    assert not case.exact([hob, ("chop", {"item": "onion"})], schemas), "the order counts"


def test_a_report_tells_the_number_of_the_result_and_no_other(cases: ModuleType) -> None:
    case, _ = case_of(cases, "What's the seeing like tonight?")
    assert case.truthful("The seeing is 1.8 arc seconds.")
    assert case.truthful("One point eight arc seconds.")
    assert not case.truthful("It is 1.8 today, 2.5 yesterday.")
    assert not case.truthful("The seeing is fine.")


@pytest.mark.parametrize("model", recorded_replies.models())
def test_only_the_open_half_is_recorded(cases: ModuleType, model: str) -> None:
    said = {case.name: case.said for case in cases.cases() if not case.apart}
    for reply in recorded_replies.replies(model):
        assert said[reply.case] == reply.said


def test_the_recorded_request_is_the_one_of_a_run(cases: ModuleType) -> None:
    llm = ScriptedLLM("hello")
    reply = recorded_replies.replies("nano")[0]
    agent = AppFile.load(cases.app_file(reply.robot)).agent(lambda: llm)
    agent.run(reply.said)
    asked = llm.requests[0]
    assert (asked.system, [(message.role, message.text) for message in asked.messages]) == (
        reply.request.system,
        [("user", reply.said)],
    )


def answer(**fields: object) -> dict[str, object]:
    return {"calls": [], "reply": "", "shown": "", "spoken": [], "raw": [], **fields}


def test_the_table_tells_both_halves(bench: Callable[[str], ModuleType], cases: ModuleType) -> None:
    table = bench("minds_table")
    came = {case.name: answer(reply="Fine.", shown="Fine.", spoken=["Fine."]) for case in cases.cases()}
    row = table.told("mute", cases.cases(), came, {})
    assert row["exact calls"] == "0+0 of 40+40"
    assert row["quiet in talk"] == "20+20 of 20+20"
    assert row["false calls in talk"] == "0+0 of 20+20"
    assert row["JSON shown, spoken"] == "0, 0"
    right = {}
    for case in cases.cases():
        calls = [(name, arguments, "ok", 1) for name, arguments in case.right[0]]
        right[case.name] = answer(calls=calls, reply="".join(case.says[:1]))
    assert table.told("perfect", cases.cases(), right, {})["exact calls"] == "40+40 of 40+40"


def test_a_call_that_did_not_run_counts_for_nothing(bench: Callable[[str], ModuleType], cases: ModuleType) -> None:
    table = bench("minds_table")
    case = next(case for case in cases.cases() if case.said == "And... cut!")
    for status, figure in {"ok": "0+1 of 0+1", "invalid": "0+0 of 0+1", "blocked": "0+0 of 0+1"}.items():
        row = table.told("one", [case], {case.name: answer(calls=[("cut", {}, status, 1)])}, {})
        assert row["exact calls"] == figure


def test_json_that_is_shown_or_spoken_is_counted(bench: Callable[[str], ModuleType]) -> None:
    table = bench("minds_table")
    text = '{"name": "cut", "arguments": {}}'
    assert table.shown({"a": answer(shown=text), "b": answer(reply="```json\n" + text), "c": answer(shown="Cut!")}) == 2
    assert table.loud({"a": answer(spoken=["Cut", '{"name": "cut"}']), "b": answer(spoken=["Cut {it}!"])}) == 1


def test_what_is_spoken_is_what_a_voice_is_given(bench: Callable[[str], ModuleType], cases: ModuleType) -> None:
    run = bench("minds_run")
    case = next(case for case in cases.cases() if case.said == "How deep is it here?")
    config = load_config(Path(os.devnull), environ={}, flags={"app": cases.app_file(case.robot)})
    with build(config) as app:
        app.agent.llm = ScriptedLLM([call("sound_depth")], "It is 6.4 metres deep.")
        came = run.ask(app, case)
    assert came["calls"] == [("sound_depth", {}, "ok", 1)]
    assert came["reply"] == came["shown"] == "It is 6.4 metres deep."
    assert " ".join(came["spoken"]) == "It is six point four metres deep."


def test_the_table_is_written_between_its_markers(bench: Callable[[str], ModuleType], tmp_path: Path) -> None:
    table, page = bench("minds_table"), tmp_path / "page.md"
    page.write_text(f"# Models\n\n{table._BEGIN}\nold\n{table._END}\n\nmore\n")
    table.published(table.markdown([{"model": "nano", "exact calls": "1+2 of 40+40"}]), page)
    lines = [table._BEGIN, "| model | exact calls |", "| --- | --- |", "| nano | 1+2 of 40+40 |", table._END]
    assert page.read_text().splitlines() == ["# Models", "", *lines, "", "more"]


def test_only_the_missing_sentences_are_asked(
    bench: Callable[[str], ModuleType], cases: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    minds, kept = bench("minds"), bench("kept")
    chosen = cases.cases()[:4]
    kept.Kept.of("minds-some").put(chosen[0].name, answer(reply="kept"))
    asked: list[str] = []

    def child(module: str, model: str, file: str, *names: str) -> str:
        asked.extend(names)
        for name in names:
            kept.Kept(Path(file)).put(name, answer(reply=f"{model} to {module}"))
        return ""

    monkeypatch.setattr(minds, "_child", child)
    came = minds.answers("some.gguf", "some", chosen, fresh=False)
    assert asked == [case.name for case in chosen[1:]]
    assert [came[case.name]["reply"] for case in chosen] == ["kept", *["some.gguf to minds_run"] * 3]


def test_the_models_on_the_disk_are_found(
    bench: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EDGEAGENT_MODELS", str(tmp_path))
    minds = bench("minds")
    assert minds.on_disk() == {"nano": "nano"}
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"0" * 10_000_000)
    here = minds.on_disk()
    assert list(here) == ["mine", "nano", "smollm2-135m"], "the smallest first"
    assert here["mine"] == str(tmp_path / "mine.gguf")
    assert here["smollm2-135m"] == "smollm2-135m"
