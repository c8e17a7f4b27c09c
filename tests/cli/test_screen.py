"""``edgeagent chat`` at a terminal: typing while the robot moves and answers, and every way out."""

import signal

import pytest

SLOW = """
def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return "Done: " + last.text
    known = {"drive": [call("drive", distance_m=2.0)], "fail": [call("fail")], "nothing": ""}
    return known.get(last.text, "heard " + last.text)

@skill
def drive(distance_m: float, goal: GoalHandle) -> str:
    "Drives until somebody sends it on, or stops it."
    goal.set_progress("under way")
    while not there.wait(0.02):
        goal.checkpoint()
    return "arrived"

@tool
def fail() -> str:
    raise RuntimeError("no luck")

there = threading.Event()
agent = Agent("toy", llm=ScriptedLLM(*[answer] * 100), tools=[drive, fail])
agent.subscribe(lambda event: there.set() if event.kind == "message_end" and event.message.text == "go" else None)
"""
STREAMING = """
words = " ".join(f"word{i}" for i in range(1000))
agent = Agent("toy", llm=ScriptedLLM(words, "the second", token_delay_s=0.02))
def close():
    print("closed")
"""


@pytest.fixture
def chat(edgeagent, at_terminal):
    def start(text: str, *arguments: object, **options: object):
        terminal = at_terminal("chat", "--app", edgeagent.app(text), *arguments, **options)
        terminal.expect("toy on scripted · /help for help · Ctrl-D leaves")
        terminal.expect(">")
        return terminal

    return start


def test_a_conversation(chat) -> None:
    terminal = chat(SLOW)
    terminal.enter("hello")
    terminal.expect("toy: heard hello")
    terminal.enter("nothing")
    terminal.expect(r"\(no answer\)")
    terminal.enter("fail")
    terminal.expect("→ fail")
    terminal.expect("← RuntimeError: no luck")
    terminal.expect("toy: Done: ")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_a_line_during_a_run_is_steered_in_and_stop_stops(chat) -> None:
    terminal = chat(SLOW)
    terminal.enter("drive")
    terminal.expect("⋯ drive 2.0")
    terminal.expect("under way")  # drawn with it or after it
    terminal.enter("faster")
    terminal.enter("Stop!")
    terminal.expect("← interrupted: stopped for safety")
    terminal.expect("■ stopped")
    terminal.enter("stop")
    terminal.expect("toy: heard stop")  # nothing moves: the model's
    terminal.enter("/reset")
    terminal.expect("the conversation is forgotten")
    terminal.type("\x04")
    assert terminal.ends() == 0


def test_what_is_typed_during_a_run_is_answered_after_the_step(edgeagent, at_terminal) -> None:
    text = SLOW.replace("there.wait(0.02)", "agent.has_pending")
    terminal = at_terminal("chat", "--app", edgeagent.app(text))
    terminal.enter("drive")
    terminal.expect("⋯ drive 2.0")
    terminal.enter("and then?")
    terminal.expect("← arrived")
    terminal.expect("toy: heard and then\\?")


def test_reset_during_a_run_is_refused(chat) -> None:
    terminal = chat(SLOW)
    terminal.enter("drive")
    terminal.expect("⋯ drive")
    terminal.enter("/reset")
    terminal.expect("the robot is at work; stop it first")


@pytest.mark.parametrize("how", ["key", "signal"])
def test_ctrl_c_interrupts_and_a_second_one_leaves(chat, how: str) -> None:
    terminal = chat(STREAMING)
    before = terminal.modes()

    def ctrl_c() -> None:
        terminal.type("\x03") if how == "key" else terminal.signal(signal.SIGINT)

    terminal.enter("hello")
    terminal.expect("toy: word0 word1 word2")
    ctrl_c()
    terminal.expect("■ interrupted")
    ctrl_c()
    if "again" in terminal.expect("closed|Ctrl-C again leaves"):  # a very slow machine: it was the first one again
        ctrl_c()
    assert terminal.ends() == 0
    assert "word900" not in terminal.seen
    assert "Traceback" not in terminal.seen
    assert before != terminal.modes(), "it was raw, and is not any more"


def test_the_chat_goes_on_after_an_interruption(chat) -> None:
    terminal = chat(STREAMING)
    terminal.enter("hello")
    terminal.expect("word2")
    terminal.type("\x03")
    terminal.expect("■ interrupted")
    terminal.enter("again")
    terminal.expect("toy: the second")


def test_ctrl_c_when_idle_clears_the_line_and_says_how_to_leave(chat) -> None:
    terminal = chat(SLOW)
    terminal.type("half a line")
    terminal.expect("half a line")
    terminal.type("\x03")
    terminal.expect("Ctrl-C again leaves; so does Ctrl-D")
    terminal.enter("hello")
    terminal.expect("toy: heard hello\n")
    terminal.type("\x03\x03")
    assert terminal.ends() == 0


def test_leaving_during_a_run_stops_everything_and_restores_the_terminal(edgeagent, at_terminal) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(STREAMING))
    before = terminal.modes()
    terminal.expect(">")
    terminal.enter("hello")
    terminal.expect("word2")
    assert terminal.modes() != before
    terminal.type("\x04")
    terminal.expect("closed")
    assert terminal.ends() == 0
    assert terminal.modes() == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_termination_leaves_in_order(edgeagent, at_terminal, number: signal.Signals, code: int) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(STREAMING))
    before = terminal.modes()
    terminal.expect(">")
    terminal.enter("hello")
    terminal.expect("word2")
    terminal.process.send_signal(number)
    terminal.expect("closed")
    assert terminal.ends() == code
    assert terminal.modes() == before


def test_long_replies_are_wrapped_between_words(chat) -> None:
    reply = " ".join(["abcdefghi"] * 30)
    terminal = chat(f"agent = Agent('toy', llm=ScriptedLLM({reply!r}))")
    terminal.enter("hello")
    shown = terminal.expect(r"(abcdefghi ?){10}\n(abcdefghi ?)+\n")
    assert "abcdefghij" not in shown


def test_it_stays_up_after_an_error_of_the_model(chat) -> None:
    terminal = chat("def bad(r):\n    raise ModelError('too long')\nagent = Agent('toy', llm=ScriptedLLM(bad, 'fine'))")
    terminal.enter("hello")
    terminal.expect("error: too long")
    terminal.enter("hello")
    terminal.expect("toy: fine")


def test_what_an_app_prints_and_warns_is_shown_above_the_prompt(chat) -> None:
    terminal = chat("""
import logging
@tool
def shout() -> str:
    print("HOORAY", flush=True)
    logging.getLogger("toy").warning("careful")
    return "shouted"
agent = Agent("toy", llm=ScriptedLLM([call("shout")], "ok"), tools=[shout])
""")
    terminal.enter("hello")
    terminal.expect("HOORAY\n")
    terminal.expect("warning: careful\n")


def test_lines_are_remembered_for_the_next_chat_and_only_for_their_owner(edgeagent, at_terminal) -> None:
    app = edgeagent.app(SLOW)
    terminal = at_terminal("chat", "--app", app)
    terminal.expect(">")
    terminal.enter("remember me")
    terminal.expect("toy: heard remember me")
    terminal.type("\x04")
    terminal.ends()
    history = edgeagent.home / ".local/state/edgeagent/chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    terminal = at_terminal("chat", "--app", app)
    terminal.expect(">")
    terminal.type("\x1b[A")
    terminal.expect("remember me")


def test_a_home_that_cannot_be_written_costs_the_history_only(edgeagent, at_terminal) -> None:
    (edgeagent.home / ".local").write_text("no folder")
    terminal = at_terminal("chat", "--app", edgeagent.app(SLOW))
    terminal.expect("what you type is not kept for the next chat: Not a directory")
    terminal.enter("hello")
    terminal.expect("toy: heard hello")


def test_slash_commands_complete_with_the_tab_key(chat) -> None:
    terminal = chat(SLOW)
    terminal.enter("/sta\t")
    terminal.expect("tokens +0 read, 0 written")


def test_a_timer_speaks_up_between_prompts(edgeagent, at_terminal) -> None:
    terminal = at_terminal("chat", "--speed", "50", house=True)
    terminal.expect("robi on nano")
    terminal.enter('set_timer {"duration_s": 10}')
    terminal.expect("timer set for 10 seconds")
    terminal.expect(r"heard \[timer\] 10 seconds are over")


def test_a_100_kb_line_is_taken(chat) -> None:
    terminal = chat("agent = Agent('toy', llm=ScriptedLLM(lambda r: f'{len(r.messages[-1].text)} characters'))")
    terminal.enter("\x1b[200~" + "x" * 100_000 + "\x1b[201~")
    terminal.expect("toy: 100000 characters")
