"""``edgeagent chat < script.txt``: every line to its end, replies on stdout, the rest on stderr."""

import os
import signal

ECHO = """
def answer(request):
    return " | ".join(message.text for message in request.messages if message.role == "user")
agent = Agent("toy", llm=ScriptedLLM(*[answer] * 100))
"""


def test_lines_are_one_conversation(edgeagent) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(ECHO), stdin=b"one\n\n two \nthree")
    assert done.returncode == 0
    assert done.stdout == "one\none | two\none | two | three\n"
    assert done.stderr == "toy on scripted · /help for help · Ctrl-D leaves\n"


def test_what_is_steered_while_nothing_runs_is_a_line_like_any_other(edgeagent) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(ECHO), stdin=b"/steer one\nstop\ntwo\n")
    assert done.stdout == "one\none | stop\none | stop | two\n"
    assert "stopped" not in done.stderr


def test_activity_is_on_stderr_and_no_line_waits_for_the_next(edgeagent) -> None:
    lines = b'drive {"distance_m": 2}\nfly\ndrive {"distance_m": 50}\n'
    done = edgeagent("chat", "--speed", "1000", stdin=lines, house=True)
    assert done.stdout.splitlines()[:2] == ["drove forward 2 m.", "heard fly"]
    greeting, *activity = done.stderr.splitlines()
    assert greeting.startswith("robi on nano · /help")
    assert activity[:3] == ["  → drive 2", "  ← drove forward 2 m", "  → drive 50"]
    assert "blocked by" in activity[3]
    assert "\x1b" not in done.stdout + done.stderr


def test_slash_commands_work(edgeagent) -> None:
    lines = b"/help\n/tools\n/model\nhello\n/stats\n/reset\nhello\n/mop\n/ nonsense\n/quit\nnever\n"
    done = edgeagent("chat", stdin=lines, house=True)
    assert done.returncode == 0
    for said in (
        "/quit      leave",
        "drive(distance_m)      Drive straight; negative is backwards.",
        "model   nano",
        "window  4,096 tokens",
        "turns   1 in 1 run",
        "the conversation is forgotten; robot and flat stay as they are",
    ):
        assert said in done.stdout
    assert done.stdout.count("heard hello\n") == 2
    assert "never" not in done.stdout
    assert "there is no /mop; did you mean /map?" in done.stderr
    assert "there is no /; there are /help, /stop" in done.stderr


def test_the_map_is_shown_and_written(edgeagent) -> None:
    done = edgeagent("chat", "--speed", "1000", stdin=b'drive {"distance_m": 2}\n/map\n', house=True)
    assert "living room" in done.stdout
    assert f"written to {edgeagent.cwd}/map.svg and {edgeagent.cwd}/map.png" in done.stdout
    assert (edgeagent.cwd / "map.svg").read_text().startswith("<svg")
    assert (edgeagent.cwd / "map.png").read_bytes().startswith(b"\x89PNG")


def test_a_map_that_cannot_be_written_is_still_shown(edgeagent) -> None:
    (edgeagent.cwd / "map.svg").mkdir()
    done = edgeagent("chat", stdin=b"/map\nhello\n", house=True)
    assert "living room" in done.stdout
    assert "map.svg was not written: " in done.stderr
    assert f"written to {edgeagent.cwd}/map.png" in done.stdout
    assert "heard hello" in done.stdout


def test_a_robot_without_a_map_says_so(edgeagent) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(ECHO), stdin=b"/map\n")
    assert "this robot has no map" in done.stderr


def test_what_an_app_says_at_start_comes_first(edgeagent) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(ECHO + "say_at_start = 'Hello, I am toy.'"), stdin=b"hi\n")
    assert done.stderr.splitlines()[1] == "Hello, I am toy."
    assert done.stdout == "hi\n"


def test_a_timer_that_ends_during_a_line_speaks_up(edgeagent) -> None:
    lines = b'set_timer {"duration_s": 1}\ndrive {"distance_m": 2}\nset_timer {"duration_s": 600}\n'
    done = edgeagent("chat", "--speed", "1000", stdin=lines, house=True)
    assert "heard [timer] 1 second is over" in done.stdout
    assert done.stdout.endswith("timer set for 600 seconds.\n"), "it waits for no timer beyond the last run"


def test_it_stays_up_after_a_request_that_fails(edgeagent) -> None:
    app = edgeagent.app("""
def answer(request):
    text = request.messages[-1].text
    if "boom" in text:
        raise RuntimeError("kaboom")
    if len(text) > 1000:
        raise ModelError("the prompt is too long")
    return "fine"
agent = Agent("toy", llm=ScriptedLLM(*[answer] * 9))
""")
    done = edgeagent("chat", "--app", app, stdin=b"boom\n" + b"x" * 100_000 + b"\nhello\n")
    assert done.returncode == 0
    assert done.stdout == "fine\n"
    assert done.stderr.splitlines()[1:] == ["error: kaboom", "error: the prompt is too long"]


def test_binary_data_is_no_traceback(edgeagent) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(ECHO), stdin=bytes(range(256)) * 20)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_control_characters_of_a_reply_do_not_reach_the_terminal(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM('a\\x1b[31mb\\x07\\r\\nc'))")
    assert edgeagent("chat", "--app", app, stdin=b"hi\n").stdout == "ab\nc\n"


def test_a_run_out_of_budget_says_so(edgeagent) -> None:
    app = edgeagent.app("""
@tool
def look() -> str:
    return "nothing"
agent = Agent("toy", llm=ScriptedLLM(*[[call("look")]] * 9), tools=[look], options=Options(max_turns=2))
""")
    done = edgeagent("chat", "--app", app, stdin=b"hi\n")
    assert done.stdout == "I could not finish that.\n"
    assert "stopped after 2 model calls" in done.stderr


def test_nobody_at_the_other_end_is_a_quiet_end(edgeagent) -> None:
    with edgeagent.start("chat", "--app", edgeagent.app(ECHO)) as process:
        process.stdout.close()
        process.stdin.write(b"one\ntwo\n")
        process.stdin.close()
        assert process.wait(timeout=30) == 141
        assert b"Traceback" not in process.stderr.read()


def test_ctrl_c_ends_it(edgeagent) -> None:
    app = edgeagent.app(
        "agent = Agent('toy', llm=ScriptedLLM('hello', {'text': 'never'}))\n"
        "agent.llm._prefill_delay_s = 0\n"
        "def slow(event):\n"
        "    if event.kind == 'agent_end': agent.llm._prefill_delay_s = 60\n"
        "agent.subscribe(slow)"
    )
    with edgeagent.start("chat", "--app", app) as process:
        process.stdin.write(b"one\ntwo\nthree\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"hello\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def test_a_terminal_that_can_do_nothing_gets_plain_lines(edgeagent, at_terminal) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(ECHO), env={"TERM": "dumb"})
    terminal.expect("toy on scripted")
    terminal.expect("> ")
    terminal.enter("hello")
    terminal.expect("hello\nhello\n")
    terminal.expect("> ")
    terminal.type("\x04")
    assert terminal.ends() == 0
    assert b"\x1b" not in terminal.raw
