"""``edgeagent replay`` shows an audit log turn by turn, to people and to programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgeagent import Message, ToolResult, Usage, tool
from edgeagent.context import AgentContext
from edgeagent.hooks import AfterLLM, AfterTool, AuditLogHook, BeforeLLM, BeforeTool, FirePoint, RunStart
from edgeagent.testing import call


@tool
def drive(distance_m: float) -> str:
    """Drive."""
    return "drove"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One run: a drive, a drive that fails, an answer."""
    path = tmp_path / "audit.jsonl"
    hook, context = AuditLogHook(path), AgentContext(agent_name="robi")
    task = Message.user("go to the kitchen")
    hook(FirePoint.ON_RUN_START, context, RunStart(task, context))
    for hop, (status, text) in enumerate((("ok", "drove 2 m"), ("error", "blocked by a \x1b[31mwall")), start=1):
        made = call("drive", distance_m=2)
        hook(FirePoint.BEFORE_LLM, context, BeforeLLM([task], [drive], hop))
        hook(FirePoint.AFTER_LLM, context, AfterLLM("on my way", (made,), hop))
        hook(FirePoint.BEFORE_TOOL, context, BeforeTool(made, drive, hop))
        result: Any = ToolResult(made.id, "drive", status, text)  # type: ignore[arg-type]
        hook(FirePoint.AFTER_TOOL, context, AfterTool(made, result))
    hook(FirePoint.BEFORE_LLM, context, BeforeLLM([task], [drive], 3))
    hook(FirePoint.AFTER_LLM, context, AfterLLM("I am stuck", (), 3))
    end = SimpleNamespace(reply="I am stuck", reason="completed", abort_reason=None, error=None, usage=Usage(1200, 34))
    hook(FirePoint.ON_RUN_END, context, SimpleNamespace(**vars(end), new_messages=()))
    return path


def test_a_run_is_shown_from_its_task_to_its_end(in_process: Any, log: Path) -> None:
    done = in_process("replay", log)
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout
    assert re.match(r"robi \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n> go to the kitchen\n", shown)
    assert re.search(r"turn 1 · model 0\.\d\d s · 1 message\n  on my way\n  → drive 2\n  ← drove 2 m \(ok, 0", shown)
    assert re.search(r"← blocked by a wall \(error, 0\.\d\d s\)", shown)
    assert re.search(r"■ completed\n  0\.\d\d s · 1,200 tokens read, 34 written\n", shown)
    assert "\x1b" not in shown


def test_a_bar_says_where_the_time_went(in_process: Any, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    made = {"id": "c", "name": "look", "arguments": {}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    records: list[tuple[float, str, dict[str, Any]]] = [
        (0, "on_run_start", {"depth": 0, "task": "look"}),
        (0, "before_llm", {"count": 1, "messages": []}),
        (5, "after_llm", {"text": "", "calls": [made]}),
        (5, "before_tool", {"call": made}),
        (8, "after_tool", {"call": made, "result": {"status": "ok", "text": "x"}, "duration_s": 3}),
        (10, "on_run_end", {"depth": 0, "reply": "x", "reason": "budget", "usage": usage, "messages": []}),
    ]
    lines = [
        json.dumps({"t": 1.7e9 + at, "run": "r", "agent": "a", "point": point, "elapsed_s": at, **content})
        for at, point, content in records
    ]
    path.write_text("\n".join(lines) + "\n")
    bar = in_process("replay", path).stdout.splitlines()[-1]
    assert bar == f"  {'█' * 20}{'▒' * 12}{'░' * 8}  █ model 50%  ▒ tools 30%  ░ other 20%"


def test_json_has_a_line_for_each_turn_and_each_run(in_process: Any, log: Path) -> None:
    done = in_process("replay", log, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["kind"] for line in lines] == ["turn", "turn", "turn", "run"]
    assert len({line["run"] for line in lines}) == 1
    first, run = lines[0], lines[-1]
    assert first["calls"][0]["arguments"] == {"distance_m": 2}
    assert first["calls"][0]["status"] == "ok"
    assert (run["task"], run["reason"], run["turns"]) == ("go to the kitchen", "completed", 3)
    assert run["elapsed_s"] == pytest.approx(run["model_s"] + run["tools_s"] + run["other_s"], abs=1e-4)


def test_a_log_that_breaks_off_is_shown_as_far_as_it_goes(in_process: Any, log: Path) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole[: whole.index(b"after_tool") + 3])
    done = in_process("replay", log)
    assert done.returncode == 0
    assert "→ drive 2\n  ← (no result in this log)" in done.stdout
    assert "■ the log ends before this run did" in done.stdout


def test_a_log_without_runs_is_no_error(in_process: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    AuditLogHook(path)
    done = in_process("replay", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "holds no run" in done.stderr
    assert in_process("replay", path, "--json").stdout == ""


def test_a_file_that_is_missing_or_no_audit_log_ends_with_2(in_process: Any, tmp_path: Path) -> None:
    other = tmp_path / "robot.py"
    other.write_text("import this\n")
    for path, said in ((tmp_path / "none", "No such file"), (tmp_path, "directory"), (other, "robot.py:1: ")):
        done = in_process("replay", path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ")
        assert said in done.stderr


def test_without_a_file_it_is_wrong_usage(in_process: Any) -> None:
    done = in_process("replay")
    assert done.returncode == 2
    assert "FILE" in done.stderr


def test_help_has_examples(in_process: Any) -> None:
    for arguments in (["replay", "--help"], ["--help"]):
        assert "edgeagent replay audit.jsonl" in in_process(*arguments).stdout


def test_at_a_terminal_it_has_colours_and_no_line_is_too_wide(at_terminal: Any, log: Path) -> None:
    terminal = at_terminal("replay", log)
    assert terminal.ends() == 0
    assert b"\x1b[36mrobi" in terminal.raw
    assert all(len(line) <= 100 for line in terminal.seen.splitlines())
    plain = at_terminal("replay", log, env={"NO_COLOR": "1"})
    assert plain.ends() == 0
    assert b"\x1b[3" not in plain.raw


def test_where_the_letters_are_ascii_the_bar_is_too(edgeagent: Any, log: Path) -> None:
    done = edgeagent("replay", log, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "# model" in done.stdout


def test_a_file_that_rotated_shows_its_runs_and_the_rest_of_one_that_went_on(in_process: Any, log: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    whole = json.loads(lines[0])["run"]
    older = [line.replace(whole, "another") for line in lines]
    for cut in range(len(older)):
        log.write_text("".join(older[cut:] + lines))
        done = in_process("replay", log, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        runs = [json.loads(line) for line in done.stdout.splitlines() if '"kind": "run"' in line]
        assert [run["run"] for run in runs] == ["another", whole]
        assert (runs[0]["reply"], runs[1]["task"]) == ("I am stuck", "go to the kitchen")
