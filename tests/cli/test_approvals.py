"""What a person is asked while the robot works, and what chat keeps and takes back."""

import json

import pytest

from edgeagent.cli import is_yes

DESTRUCTIVE = """
@tool(destructive=True)
def wipe(room: str) -> str:
    return "wiped " + room
def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return last.text
    return [call("wipe", room="attic")] if "wipe" in last.text else "heard " + last.text
agent = Agent("toy", llm=ScriptedLLM(*[answer] * 100), tools=[wipe])
"""
ASKING = """
@tool(question=True)
def ask_user(question: str) -> str:
    "Asks the user."
agent = Agent("toy", llm=ScriptedLLM([call("ask_user", question="Which colour?")], lambda r: r.messages[-1].text),
              tools=[ask_user])
"""


@pytest.mark.parametrize(
    ("line", "yes"), [("y", True), (" YES\n", True), ("n", False), ("", False), ("maybe y", False)]
)
def test_only_a_clear_yes_is_one(line: str, yes: bool) -> None:
    assert is_yes(line) is yes
    assert not is_yes(None)


@pytest.mark.parametrize(
    ("given", "said"), [("y", "wiped attic"), ("n", "the user did not allow it"), ("hm", "the user did not allow it")]
)
def test_in_a_script_the_next_line_answers(edgeagent, given: str, said: str) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(DESTRUCTIVE), stdin=f"wipe it\n{given}\nhello\n".encode())
    assert done.stdout == f"{said}\nheard hello\n"
    assert "allow wipe attic? [y/N]" in done.stderr


def test_the_end_of_a_script_is_a_no(edgeagent) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(DESTRUCTIVE), stdin=b"wipe it\n")
    assert done.stdout == "the user did not allow it\n"


def test_yes_allows_without_asking(edgeagent) -> None:
    app = edgeagent.app(DESTRUCTIVE)
    assert edgeagent("ask", "wipe it", "--yes", "--app", app).stdout == "wiped attic\n"
    done = edgeagent("chat", "--yes", "--app", app, stdin=b"wipe it\n")
    assert (done.stdout, "allow" in done.stderr) == ("wiped attic\n", False)


def test_ask_in_a_pipe_declines(edgeagent) -> None:
    assert edgeagent("ask", "wipe it", "--app", edgeagent.app(DESTRUCTIVE)).stdout == "the user did not allow it\n"


def test_at_a_terminal_the_next_line_that_is_typed_answers(edgeagent, at_terminal) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(DESTRUCTIVE))
    terminal.enter("wipe it")
    terminal.expect(r"allow wipe attic\? \[y/N\]")
    terminal.enter("y")
    terminal.expect("toy: wiped attic")
    terminal.enter("wipe it")
    terminal.expect(r"allow wipe attic\? \[y/N\]")
    terminal.enter("")
    terminal.expect("the user did not allow it")
    terminal.type("\x04")
    assert terminal.ends() == 0


def test_stop_while_it_asks_stops(edgeagent, at_terminal) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(DESTRUCTIVE))
    terminal.enter("wipe it")
    terminal.expect(r"allow wipe attic\? \[y/N\]")
    terminal.enter("stop")
    terminal.expect("■ stopped")
    terminal.enter("hello")
    terminal.expect("toy: heard hello")


def test_a_question_of_a_tool_is_answered_by_the_next_line(edgeagent, at_terminal) -> None:
    done = edgeagent("chat", "--app", edgeagent.app(ASKING), stdin=b"paint\nblue\n")
    assert done.stdout == "blue\n"
    assert "Which colour?" in done.stderr
    terminal = at_terminal("chat", "--app", edgeagent.app(ASKING))
    terminal.enter("paint")
    terminal.expect(r"(?<!ask_user )Which colour\? ")
    terminal.enter("green")
    terminal.expect("toy: green")


@pytest.mark.parametrize(
    ("command", "stdin"),
    [
        (["chat"], b"paint\n"),
        (["ask", "paint"], b""),
        (["ask", "paint"], b"blue\n"),
        (["ask", "--stdin"], b"paint\nblue\n"),
    ],
)
def test_a_question_that_nobody_can_answer_is_an_error_at_once(edgeagent, command: list[str], stdin: bytes) -> None:
    """It would wait for an hour otherwise."""
    waits = ASKING.replace("tools=[ask_user]", "tools=[ask_user], options=Options(confirm_timeout_s=3600)")
    done = edgeagent(*command, "--app", edgeagent.app(waits), stdin=stdin)
    assert done.stdout.splitlines()[0] == "nobody is there to answer"


def test_the_end_of_a_terminals_input_answers_no_question(edgeagent, at_terminal) -> None:
    waits = ASKING.replace("tools=[ask_user]", "tools=[ask_user], options=Options(confirm_timeout_s=3600)")
    terminal = at_terminal("ask", "paint", "--app", edgeagent.app(waits))
    terminal.expect(r"Which colour\? ")
    terminal.type("\x04")
    terminal.expect("nobody is there to answer")


def test_a_session_is_resumed(edgeagent) -> None:
    app = edgeagent.app(
        "agent = Agent('toy', llm=ScriptedLLM(*[lambda r: ' | '.join(m.text for m in r.messages)] * 9))"
    )
    assert edgeagent("chat", "--session", "s", "--app", app, stdin=b"one\n").stdout == "one\n"
    done = edgeagent("chat", "--session", "s", "--app", app, stdin=b"two\n/undo\nthree\n")
    assert done.stdout.splitlines()[0] == "one | one | two"
    assert done.stdout.splitlines()[-1] == "one | one | three"
    assert "resumed after: one" in done.stderr
    assert edgeagent("ask", "four", "--session", "s", "--app", app).stdout.startswith("one | one | three | ")


def test_a_session_in_use_is_refused(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM(*['hi'] * 9))")
    with edgeagent.start("chat", "--session", "s", "--app", app) as process:
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"hi\n"
        done = edgeagent("ask", "two", "--session", "s", "--app", app)
        assert (done.returncode, "in use" in done.stderr) == (2, True)
        process.stdin.close()
        assert process.wait(30) == 0


def test_stdin_of_ask_and_a_session_exclude_each_other(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--session", "s", stdin=b"hi\n", house=True)
    assert (done.returncode, "new session" in done.stderr) == (2, True)


def test_there_is_nothing_to_undo_at_first_and_steer_needs_a_text(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM(*['hi'] * 9))")
    done = edgeagent("chat", "--app", app, stdin=b"/undo\n/steer\n/steer left\n")
    assert "nothing to undo" in done.stderr
    assert "/steer needs a text" in done.stderr


def test_what_a_run_did_is_replayed(edgeagent) -> None:
    edgeagent("chat", "--audit", "audit.jsonl", "--yes", "--app", edgeagent.app(DESTRUCTIVE), stdin=b"wipe it\nbye\n")
    shown = edgeagent("replay", "audit.jsonl")
    assert shown.returncode == 0
    assert "wipe it" in shown.stdout
    assert "→ wipe attic" in shown.stdout
    assert "wiped attic" in shown.stdout
    records = [json.loads(line) for line in edgeagent("replay", "audit.jsonl", "--json").stdout.splitlines()]
    assert [r["kind"] for r in records] == ["turn", "turn", "run", "turn", "run"]
