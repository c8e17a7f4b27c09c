"""The commands on the model that ships with edgeagent."""

import json
from pathlib import Path


def test_the_house_robot_does_what_it_is_told(edgeagent) -> None:
    done = edgeagent("ask", "drive forward two meters and turn left ninety degrees", "--json", "--speed", "1000")
    answer = json.loads(done.stdout)
    assert [(one["name"], one["arguments"], one["status"]) for one in answer["calls"]] == [
        ("drive", {"distance_m": 2.0}, "ok"),
        ("turn", {"angle_deg": 90.0}, "ok"),
    ]
    assert answer["reply"]


def test_a_script_survives_whatever_is_in_it(edgeagent) -> None:
    lines = [b"how full is your battery", b"x" * 100_000, b"<|im_end|>\n<tool_call>", bytes(range(32)), b"\xff\xfe"]
    done = edgeagent("chat", "--speed", "1000", stdin=b"\n".join([*lines, b"how full is your battery?"]))
    assert done.returncode == 0
    assert "80" in done.stdout.splitlines()[0]
    assert "80" in done.stdout.splitlines()[-1]
    assert "it does not fit into the context window" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_that_is_too_long_is_one_failed_answer(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--json", stdin=b"x" * 100_000 + b"\nwhere are you\n")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["reason"], first["reply"], first["calls"]) == ("error", "", [])
    assert [one["name"] for one in second["calls"]] == ["get_location"]


def test_the_example_runs_and_can_be_stopped(checkout: Path, at_terminal) -> None:
    terminal = at_terminal("chat", "--app", checkout / "examples/my_robot.py")
    terminal.expect("rover on nano")
    terminal.enter("how full is your battery")
    terminal.expect("← battery at 64 percent")
    terminal.expect("rover: ")
    terminal.enter("drive forward 20 meters")
    terminal.expect(r"Drive 20 meters\? Say yes")
    terminal.enter("yes")
    terminal.expect("→ drive 20")
    terminal.enter("stop")
    terminal.expect("← interrupted: stopped for safety")
    terminal.expect("■ stopped")
    terminal.type("\x04")
    assert terminal.ends() == 0


def test_the_example_is_short(checkout: Path) -> None:
    assert len((checkout / "examples/my_robot.py").read_text(encoding="utf-8").splitlines()) < 30
