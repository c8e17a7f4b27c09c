"""``edgeagent check`` and ``edgeagent test``: what they print, what they write, how they end."""

import json
import re
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

ROBOT = """
from pathlib import Path
import json

@tool
def water(liters: float) -> str:
    "Water the plants."
    Path(__file__).with_suffix(".ran").touch()
    return "watered"

@tool
def feed(animal: str) -> str:
    Path(__file__).with_suffix(".ran").touch()
    return "fed"

def answer(request):
    last = request.messages[-1]
    name, _, arguments = last.text.partition(" ")
    known = last.role == "user" and name in ("water", "feed")
    return [call(name, **json.loads(arguments or "{}"))] if known else "Fine."
"""
AGENT = 'agent = Agent("gardener", tools=[water, feed], llm=ScriptedLLM(*[answer] * 99))\n'
CASES = """
[[case]]
say = 'water {"liters": 2}'
calls = [{ name = "water", arguments = { liters = 2 } }]

[[case]]
say = "please water the plants"
calls = [{ name = "water", arguments = { liters = 1 } }]

[[case]]
say = "thank you"
calls = []

[[case]]
say = "feed"
calls = []
"""


@pytest.fixture
def app(edgeagent) -> Path:
    return edgeagent.app(ROBOT + AGENT)


@pytest.fixture
def two_models(edgeagent, checkout: Path) -> str:
    """Two names of one model, as ``--models`` takes them."""
    copy = edgeagent.cwd / "copy.gguf"
    copy.symlink_to(checkout / "models" / "nano.gguf")
    return f"nano,{copy}"


@pytest.fixture
def cases(edgeagent) -> Path:
    path = edgeagent.cwd / "cases.toml"
    path.write_text(CASES, encoding="utf-8")
    return path


def unmoved(app: Path) -> bool:
    return not app.with_suffix(".ran").exists()


def test_the_tools_their_cost_and_what_is_doubtful_are_told_without_cases(edgeagent, app: Path) -> None:
    done = edgeagent("check", "--app", app)
    assert (done.returncode, done.stderr) == (0, "")
    first, *_ = done.stdout.splitlines()
    assert first == "gardener on scripted, window 4,096 tokens"
    assert re.search(r"^2 tools, \d+ tokens of every request \(\d+% of the window\)$", done.stdout, re.MULTILINE)
    assert "doubtful: feed has no docstring\n  → Say in one sentence" in done.stdout
    assert "doubtful: feed(animal) can be anything" in done.stdout
    assert f"edgeagent check --app {app} --write-cases cases.toml" in done.stdout
    assert unmoved(app)


def test_a_score_and_every_miss_are_told(edgeagent, app: Path, cases: Path) -> None:
    done = edgeagent("check", "--app", app, "--cases", cases)
    assert (done.returncode, done.stderr) == (0, "")
    assert f'missed: "please water the plants" ({cases}:6)\n  wanted water(liters=1)' in done.stdout
    assert "got no call" in done.stdout
    score = (
        "scripted: 3 of 4 cases right, commands 1 of 2 exact, 1 of 2 with the right tools, talk 2 of 2 without a call"
    )
    assert score in done.stdout
    assert "No body of a tool was run" in done.stdout
    assert unmoved(app)


def test_a_miss_of_a_real_model_has_its_prompt_and_its_raw_reply(edgeagent, cases: Path) -> None:
    app = edgeagent.app(ROBOT + AGENT)
    done = edgeagent("check", "--app", app, "--cases", cases, "--model", "nano", "--json")
    report = json.loads(done.stdout)
    (model,) = report["models"]
    assert (model["model"], model["window"]) == ("nano", 4096)
    assert model["notes"] == ["nano was not trained on water and feed: expect wrong calls"]
    assert model["tools"][0]["prompt"] == (
        "<|im_start|>system\nTools: water(liters: number) = water the plants, feed(animal: string)<|im_end|>"
    )
    assert model["score"]["cases"] == 4
    assert len(model["missed"]) == sum(model["score"][name] for name in ("commands", "talk")) - sum(
        model["score"][name] for name in ("commands_exact", "talk_quiet")
    )
    for missed in model["missed"]:
        assert missed["turns"][0]["prompt"].endswith(f"{missed['say']}<|im_end|>\n<|im_start|>assistant\n")
        assert missed["turns"][0]["raw"]
    assert {doubt["rule"] for doubt in report["doubts"]} == {"no docstring", "not described"}
    assert unmoved(app)


SLOW = """
from edgeagent.cli import watchdog
import time

if hasattr(watchdog, "was_here"):  # for the second model
    time.sleep(watchdog.END_S + 0.5)  # longer than tidying up may take
    watchdog.END_S = 60.0
else:
    watchdog.END_S = 2.0
watchdog.was_here = True
"""


def test_the_end_of_one_model_puts_no_limit_on_the_next(edgeagent, cases: Path, two_models: str) -> None:
    app = edgeagent.app(SLOW + ROBOT + AGENT)
    done = edgeagent("check", "--app", app, "--cases", cases, "--models", two_models)
    assert "left behind" not in done.stderr
    assert "\nmodel " in done.stdout


def test_several_models_are_compared_in_one_table(edgeagent, app: Path, cases: Path, two_models: str) -> None:
    done = edgeagent("check", "--app", app, "--cases", cases, "--models", two_models)
    table = done.stdout.partition("\nmodel ")[2].splitlines()
    assert re.split(" {2,}", table[0].strip()) == [
        "exact",
        "right tools",
        "quiet in talk",
        "wrong actions",
        "tokens of tools",
        "s a case",
    ]
    assert [row.split()[0] for row in table[1:3]] == ["nano", "copy"]
    assert table[1].split()[1:10] == table[2].split()[1:10]


def test_cases_to_begin_with_can_be_asked_at_once(edgeagent, app: Path) -> None:
    done = edgeagent("check", "--app", app, "--write-cases", "mine.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote mine.toml: correct it, then: edgeagent check --app {app} --cases mine.toml\n"
    assert edgeagent("check", "--app", app, "--cases", "mine.toml").returncode == 0
    again = edgeagent("check", "--app", app, "--write-cases", "mine.toml")
    assert (again.returncode, again.stdout) == (2, "")
    assert "mine.toml is there already" in again.stderr
    assert unmoved(app)


def test_cases_that_do_not_fit_the_disk_leave_no_file(
    in_process, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def full(path: Path, *rest: Any, **more: Any) -> Any:
        if path.name != "mine.toml":
            return opened(path, *rest, **more)
        path.touch()
        return opened(Path("/dev/full"), "w")

    monkeypatch.setattr(Path, "open", full)
    done = in_process("check", "--app", app, "--write-cases", tmp_path / "mine.toml")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check"], "--app my_robot.py"),
        (["check", "--app", "none.py"], "none.py is not there"),
        (["check", "--models", "a,b", "--model", "c"], "give --model or --models"),
        (["check", "--models", ","], "--models names no model"),
        (["check", "--write-cases", "a.toml", "--json"], "it only writes"),
        (["test"], "which cases?"),
        (["test", "--cases", "cases.toml"], "--app my_robot.py"),
        (["test", "--cases", "cases.toml", "--min-exact", "2"], "--min-exact"),
    ],
)
def test_wrong_usage_is_told(in_process, arguments: list[str], says: str) -> None:
    done = in_process(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_wrong_cases_end_before_a_model_loads(edgeagent, app: Path) -> None:
    path = edgeagent.cwd / "cases.toml"
    path.write_text("[[case]]\nsay = 'dance'\ncalls = [{ name = 'dance' }]\n", encoding="utf-8")
    for command in ("check", "test"):
        done = edgeagent(command, "--app", app, "--cases", "cases.toml")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "error: cases.toml:1: case 1 (\"dance\"): calls[0]: the app has no tool 'dance'; there are water, feed\n"
        )


def test_a_model_that_cannot_be_used_ends_with_3(edgeagent, app: Path, cases: Path) -> None:
    done = edgeagent("check", "--app", app, "--cases", cases, "--model", "none.gguf")
    assert (done.returncode, done.stdout) == (3, "")
    assert "none.gguf" in done.stderr


@pytest.mark.parametrize(("least", "code", "word"), [([], 1, "failed"), (["--min-exact", "0.75"], 0, "passed")])
def test_the_share_of_right_cases_decides_a_test(
    edgeagent, app: Path, cases: Path, least: list[str], code: int, word: str
) -> None:
    done = edgeagent("test", "--app", app, "--cases", cases, "--junit", "report.xml", *least)
    assert (done.returncode, done.stderr) == (code, "")
    missed, score = done.stdout.splitlines()
    assert missed.startswith(f'missed: {cases}:6: "please water the plants": wanted water(liters=1')
    assert score.startswith(f"{word}: scripted: 3 of 4 cases right, ")
    (suite,) = ET.parse(edgeagent.cwd / "report.xml").getroot()
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("gardener on scripted", "4", "1")
    assert [case.get("name") for case in suite if len(case)] == ["please water the plants"]
    assert unmoved(app)


def test_a_model_that_is_not_here_is_told_before_the_others_are_asked(edgeagent, app: Path, cases: Path) -> None:
    done = edgeagent("check", "--app", app, "--cases", cases, "--models", "nano,nothere")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: there is no model 'nothere'")


def test_a_report_that_cannot_be_written_takes_no_result_away(edgeagent, app: Path, cases: Path) -> None:
    done = edgeagent("test", "--app", app, "--cases", cases, "--junit", "none/report.xml")
    assert done.returncode == 2
    assert "failed: scripted: 3 of 4 cases right" in done.stdout
    assert "none/report.xml: the JUnit report can't be written" in done.stderr


def test_a_test_that_all_cases_pass_ends_with_0(edgeagent, app: Path, cases: Path) -> None:
    cases.write_text(CASES.replace("please water the plants", 'water {\\"liters\\": 1}'), encoding="utf-8")
    done = edgeagent("test", "--app", app, "--cases", cases)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("passed: scripted: 4 of 4 cases right")


def test_progress_is_drawn_at_a_terminal_and_ctrl_c_ends_it(edgeagent, at_terminal, cases: Path) -> None:
    slow = 'agent = Agent("slow", tools=[water, feed], llm=ScriptedLLM("never", prefill_delay_s=60))\n'
    app = edgeagent.app(ROBOT + slow + "def close():\n    print('closed')\n")
    terminal = at_terminal("check", "--app", app, "--cases", cases)
    terminal.expect("scripted: 0 of 4 cases asked, 0 missed")
    terminal.signal(signal.SIGINT)
    terminal.expect("closed")
    assert terminal.ends() == 130
    assert unmoved(app)


def test_every_option_is_on_the_page(in_process, checkout: Path) -> None:
    page = (checkout / "docs/testing.md").read_text(encoding="utf-8")
    shown = "".join(in_process(command, "--help").stdout for command in ("check", "test"))
    options = re.compile(r"--[a-z]+(?:-[a-z]+)*")
    assert set(options.findall(shown)) - {"--help", "--log-level", "--config"} <= set(options.findall(page))
