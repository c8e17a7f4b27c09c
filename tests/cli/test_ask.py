"""``edgeagent ask TEXT``: one answer on stdout, and nothing else there."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

WAVING = """
@tool
def wave(times: int) -> str:
    "Wave."
    return f"waved {times} times"

agent = Agent("toy", llm=ScriptedLLM([call("wave", times=2)], "I waved."), tools=[wave])
"""
# the model waits before its reply until somebody stops it
WAITING = """
llm = ScriptedLLM("never", prefill_delay_s=60)
agent = Agent("slow", llm=llm)
agent.subscribe(lambda event: print("began", file=sys.stderr, flush=True) if event.kind == "turn_start" else None)
import sys
"""


def test_stdout_is_the_answer_alone(edgeagent) -> None:
    done = edgeagent("ask", "wave twice", "--app", edgeagent.app(WAVING))
    assert (done.returncode, done.stdout, done.stderr) == (0, "I waved.\n", "")


def test_words_need_no_quotes(edgeagent) -> None:
    done = edgeagent("ask", "wave", "twice", "--json", "--app", edgeagent.app(WAVING))
    assert json.loads(done.stdout)["text"] == "wave twice"


def test_activity_is_shown_on_stderr_if_asked_for(edgeagent) -> None:
    done = edgeagent("ask", "wave", "-v", "--app", edgeagent.app(WAVING))
    assert done.stdout == "I waved.\n"
    assert done.stderr == "  → wave 2\n  ← waved 2 times\n"


def test_activity_is_shown_where_stderr_is_a_terminal(edgeagent, at_terminal) -> None:
    terminal = at_terminal("ask", "wave", "--app", edgeagent.app(WAVING), stdout=-1)
    terminal.expect("→ wave 2")
    terminal.expect("← waved 2 times")
    assert terminal.process.stdout.read() == b"I waved.\n"
    assert b"\x1b[2m" in terminal.raw


def test_no_color_is_respected(edgeagent, at_terminal) -> None:
    terminal = at_terminal("ask", "wave", "--app", edgeagent.app(WAVING), env={"NO_COLOR": "1"})
    terminal.expect("I waved")
    assert b"\x1b" not in terminal.raw


def test_json_has_everything_that_happened(edgeagent) -> None:
    done = edgeagent("ask", "wave", "--json", "--app", edgeagent.app(WAVING))
    (line,) = done.stdout.splitlines()
    answer = json.loads(line)
    timings = answer.pop("timings")
    usage = answer.pop("usage")
    assert answer == {
        "text": "wave",
        "reply": "I waved.",
        "calls": [{"name": "wave", "arguments": {"times": 2}, "status": "ok", "result": "waved 2 times"}],
        "reason": "completed",
        "agent": "toy",
    }
    assert 0 <= timings["first_token_s"] <= timings["total_s"] < 20
    assert usage["input_tokens"] > 0
    assert usage["output_tokens"] == 3


def test_calls_are_told_in_the_order_asked_whatever_became_of_them(edgeagent) -> None:
    text = """
@tool
def fine(n: int) -> int:
    return n
@tool
def bad() -> str:
    raise RuntimeError("no")
script = [call("fine", n=1), call("fly"), call("fine", n="x"), call("bad"), call.raw("fine", "{"), call("fine", n="2")]
agent = Agent("toy", llm=ScriptedLLM(script, ""), tools=[fine, bad])
"""
    answer = json.loads(edgeagent("ask", "go", "--json", "--app", edgeagent.app(text)).stdout)
    assert [one["status"] for one in answer["calls"]] == ["ok", "unknown", "invalid", "error", "invalid", "ok"]
    assert answer["calls"][5]["arguments"] == {"n": 2}
    assert answer["calls"][3]["result"] == "RuntimeError: no"
    assert answer["reply"] == ""


@pytest.mark.parametrize(
    "reply",
    [
        "{'error': 'the model broke', 'text': 'so f'}",
        "RuntimeError('the model broke')",
        "ModelError('the model broke')",
    ],
)
def test_a_model_that_fails_ends_with_3(edgeagent, reply: str) -> None:
    app = edgeagent.app(f"agent = Agent('toy', llm=ScriptedLLM({reply}))")
    done = edgeagent("ask", "go", "--app", app)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "error: the model broke\n")
    done = edgeagent("ask", "go", "--json", "--app", app)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["reason"], answer["error"]) == (3, "error", "the model broke")


def test_a_deadline_ends_with_1_and_says_so(edgeagent) -> None:
    done = edgeagent("ask", "go", "--json", "--deadline", "0.2", "--app", edgeagent.app(WAITING))
    answer = json.loads(done.stdout)
    assert (answer["reason"], answer["abort_reason"]) == ("aborted", "deadline")
    assert done.returncode == 1
    assert "stopped by its deadline of 0.2 s" in done.stderr


def test_the_house_robot_moves_and_its_deadline_is_simulated(edgeagent) -> None:
    done = edgeagent("ask", "drive", '{"distance_m": 2}', "--speed", "1000", "--json", house=True)
    answer = json.loads(done.stdout)
    assert answer["agent"] == "robi"
    assert answer["calls"][0]["result"] == "drove forward 2 m"
    done = edgeagent("ask", 'drive {"distance_m": 4}', "--speed", "1000", "--deadline", "3", "--json", house=True)
    answer = json.loads(done.stdout)
    assert answer["abort_reason"] == "deadline"
    assert answer["calls"][0]["status"] == "interrupted"


def test_control_characters_do_not_reach_the_model(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM(lambda request: repr(request.messages[-1].text)))")
    done = edgeagent("ask", "a\x1b[31mb\x07\tc\x9b\n", "--app", app)
    assert done.stdout == "'ab c'\n"


def test_bytes_that_are_no_text_are_replaced(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM(lambda request: request.messages[-1].text))")
    argv = [*edgeagent.argv("ask", "--json", "--app", app), b"a\xffb"]
    done = subprocess.run(argv, env=edgeagent.environment, capture_output=True, check=True, timeout=30)
    answer = json.loads(done.stdout)
    assert (answer["text"], answer["reply"]) == ("a�b", "a�b")


def test_json_survives_a_stdout_that_is_not_utf_8(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM('grün → 20 °C', '21 °C'))")
    done = edgeagent("ask", "warm?", "--json", "--app", app, env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(done.stdout)["reply"] == "grün → 20 °C"
    done = edgeagent("ask", "warm?", "--app", app, env={"PYTHONIOENCODING": "ascii"})
    assert done.stdout == "gr?n ? 20 ?C\n"


def test_half_a_surrogate_is_no_traceback(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM([call('say', text=chr(0xd800))], 'a' + chr(0xd800)))")
    done = edgeagent("ask", "go", "-v", "--log", "log", "--app", app)
    assert done.stdout == "a�\n"
    assert "→ say �" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_with_130_and_stops_the_run(edgeagent) -> None:
    stopped = edgeagent.cwd / "stopped"
    app = edgeagent.app(WAITING + f"def close():\n    open({str(stopped)!r}, 'w').close()\n")
    with edgeagent.start("ask", "go", "--app", app) as process:
        assert process.stderr.readline() == b"began\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert stopped.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_termination_stops_the_robot_and_closes(edgeagent, number: signal.Signals, code: int) -> None:
    stopped = edgeagent.cwd / "stopped"
    app = edgeagent.app(WAITING + f"def close():\n    open({str(stopped)!r}, 'w').close()\n")
    inherited = signal.signal(number, signal.SIG_DFL)  # under nohup a child would ignore SIGHUP, and rightly so
    try:
        started = edgeagent.start("ask", "go", "--app", app)
    finally:
        signal.signal(number, inherited)
    with started as process:
        assert process.stderr.readline() == b"began\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, b"", b"")
    assert stopped.exists()


def test_a_tool_that_hangs_does_not_keep_ctrl_c(edgeagent) -> None:
    app = edgeagent.app("""
import sys
@tool
def hang() -> None:
    print("began", file=sys.stderr, flush=True)
    threading.Event().wait(600)
agent = Agent("toy", llm=ScriptedLLM([call("hang")], ""), tools=[hang])
""")
    with edgeagent.start("ask", "go", "--app", app) as process:
        assert process.stderr.readline() == b"began\n"
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 130


def test_results_that_are_huge_or_no_json_are_told_all_the_same(edgeagent) -> None:
    app = edgeagent.app("""
@tool
def huge() -> str:
    return "x" * 10_000_000
@tool
def odd() -> object:
    return threading.Lock()
agent = Agent("toy", llm=ScriptedLLM([call("huge"), call("odd")], "ok"), tools=[huge, odd])
""")
    done = edgeagent("ask", "go", "--json", "--log", "log", "--app", app)
    huge, odd = json.loads(done.stdout)["calls"]
    assert (huge["status"], len(huge["result"])) == ("ok", 8192)
    assert odd["status"] == "error"
    assert (edgeagent.cwd / "log").stat().st_size < 1_000_000


def test_numbers_that_json_has_no_form_for_are_null_in_the_answer_and_in_the_files(edgeagent) -> None:
    def strict(line: str) -> dict:
        return json.loads(line, parse_constant=lambda name: pytest.fail(f"JSON has no {name}"))

    app = edgeagent.app("""
@tool
def level(limit: float) -> float:
    return limit
calls = [call("level", limit=float("nan")), call("level", limit=1e999)]
agent = Agent("toy", llm=ScriptedLLM(calls, "ok"), tools=[level])
""")
    done = edgeagent("ask", "go", "--json", "--log", "log", "--audit", "audit", "--app", app)
    assert [made["arguments"] for made in strict(done.stdout)["calls"]] == [{"limit": None}] * 2
    shown = edgeagent("replay", "audit", "--json").stdout
    for text in (shown, *((edgeagent.cwd / name).read_text() for name in ("log", "audit"))):
        assert len([strict(line) for line in text.splitlines()]) > 1


def test_a_full_disk_under_stdout_is_told(edgeagent) -> None:
    with Path("/dev/full").open("wb") as full:
        done = edgeagent("ask", "wave", "--app", edgeagent.app(WAVING), stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: the answer cannot be written: No space left on device\n"


def test_the_log_has_every_event_and_is_appended(edgeagent) -> None:
    log = edgeagent.cwd / "log.jsonl"
    for _ in range(2):
        edgeagent("ask", "wave", "--app", edgeagent.app(WAVING), "--log", log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["kind"] for line in lines].count("agent_end") == 2
    assert lines[0]["kind"] == "agent_start"
    assert [line["seq"] for line in lines] == 2 * list(range(len(lines) // 2))
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_under_the_log_is_one_warning_and_the_run_goes_on(edgeagent) -> None:
    done = edgeagent("ask", "wave", "--app", edgeagent.app(WAVING), "--log", "/dev/full")
    assert (done.returncode, done.stdout) == (0, "I waved.\n")
    assert done.stderr.count("\n") == 1
    assert "the log /dev/full cannot be written: No space left on device" in done.stderr


def test_the_log_has_no_personal_data_unless_it_is_asked_for(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM('I mailed ann@example.com.'))")
    done = edgeagent("ask", "mail ann@example.com, card 4111 1111 1111 1111", "--log", "log", "--app", app)
    assert done.stdout == "I mailed ann@example.com.\n"
    log = (edgeagent.cwd / "log").read_text()
    assert "ann@" not in log
    assert "1111 1111" not in log  # four of them may stand in a time
    assert "<EMAIL>, card <CREDIT_CARD>" in log


def test_a_session_that_is_none_is_refused_and_keeps_its_mode(edgeagent) -> None:
    notes = edgeagent.cwd / "notes.txt"
    notes.write_text("milk, bread\n")
    notes.chmod(0o644)
    done = edgeagent("ask", "hello", "--session", notes, "--app", edgeagent.app(WAVING))
    assert (done.returncode, "no journal of a session" in done.stderr) == (2, True)
    assert (notes.read_text(), notes.stat().st_mode & 0o777) == ("milk, bread\n", 0o644)
