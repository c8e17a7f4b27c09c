"""What a builder's drive becomes when somebody says something else meanwhile, at each door of the command line.

In a conversation (``talk``, ``talk --text``) it goes on, and the question is answered. In ``chat`` and ``ask`` what is
typed waits for it, and an interruption cancels it (contract, section 6).
"""

import json
import time

from edgeagent.cli import exits

# A builder's skill that says nothing about interruptions and resources. "arrive" ends the drive.
ROVER = """
there = threading.Event()
over = there.is_set

@skill
def drive(distance_m: float, goal: GoalHandle) -> str:
    "Drive straight."
    print("<drives>", flush=True)
    while not over():
        goal.checkpoint()
        goal.cancel_event.wait(0.02)
    return "I have arrived"

@tool
def arrive() -> str:
    "Ends the drive."
    there.set()
    return "there"

def answer(request):
    last = request.messages[-1]
    known = {"drive": [call("drive", distance_m=2)], "arrive": [call("arrive")]}
    return last.text if last.role == "tool" else known.get(last.text, "heard " + last.text)

agent = Agent("rover", llm=ScriptedLLM(*[answer] * 100), tools=[drive, arrive])
"""
QUESTION = "how full is your battery"


def converses(terminal) -> None:  # type: ignore[no-untyped-def]
    """A question while it drives is answered meanwhile, and the drive arrives."""
    terminal.enter("drive")
    terminal.expect("→ drive 2")
    terminal.expect("<drives>")  # a call that is shown and has not begun would be taken back
    terminal.enter(QUESTION)
    terminal.expect("← drive goes on")
    terminal.expect(f"rover: heard {QUESTION}")
    terminal.enter("arrive")
    terminal.expect("(?s)rover: [^←→]*I have arrived")  # maybe in the run of "arrive", and so below its reply
    terminal.enter("/quit")
    assert terminal.ends() == 0
    assert "interrupted:" not in terminal.seen


def test_talk_answers_a_question_while_a_builders_skill_drives_on(at_terminal, edgeagent, silent_room) -> None:  # type: ignore[no-untyped-def]
    terminal = at_terminal("talk", *silent_room, "--app", edgeagent.app(ROVER))
    terminal.expect("is ready")
    terminal.expect("listening")
    converses(terminal)


def test_talk_text_answers_a_question_while_a_builders_skill_drives_on(at_terminal, edgeagent) -> None:  # type: ignore[no-untyped-def]
    terminal = at_terminal("talk", "--text", "--app", edgeagent.app(ROVER), env={"ALSA_CONFIG_PATH": "/dev/null"})
    terminal.expect(">")
    converses(terminal)


def test_ctrl_c_stops_what_moves_in_talk_text_though_a_question_does_not(at_terminal, edgeagent) -> None:  # type: ignore[no-untyped-def]
    app = edgeagent.app(ROVER.replace("@skill\n", "@skill(stop=lambda: print('<stands>', flush=True))\n"))
    terminal = at_terminal("talk", "--text", "--app", app, env={"ALSA_CONFIG_PATH": "/dev/null"})
    terminal.expect(">")
    for said in ("", QUESTION):  # of the run, and of one before it
        terminal.enter("drive")
        terminal.expect("→ drive 2")
        terminal.expect("<drives>")
        if said:
            terminal.enter(said)
            terminal.expect(f"rover: heard {said}")
        terminal.type("\x03")
        terminal.expect("<stands>")
        time.sleep(exits.AGAIN_S + 0.2)  # the next Ctrl-C is to be a first one
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_chat_cancels_it_and_what_is_typed_meanwhile_waits(at_terminal, edgeagent) -> None:  # type: ignore[no-untyped-def]
    waits = "over = lambda: agent.has_pending  # a line that was typed\n"
    terminal = at_terminal("chat", "--app", edgeagent.app(ROVER + waits))
    terminal.expect(">")
    terminal.enter("drive")
    terminal.expect("→ drive 2")
    terminal.expect("<drives>")
    terminal.enter(QUESTION)
    terminal.expect("← I have arrived")
    terminal.expect(f"rover: heard {QUESTION}")
    terminal.enter("drive")
    terminal.expect("→ drive 2")
    terminal.expect("<drives>")
    terminal.type("\x03")
    terminal.expect("← interrupted")
    terminal.enter("/quit")
    assert terminal.ends() == 0
    assert "goes on" not in terminal.seen


def test_ask_cancels_it(edgeagent) -> None:  # type: ignore[no-untyped-def]
    done = edgeagent("ask", "drive", "--json", "--deadline", "1", "--app", edgeagent.app(ROVER))
    assert [call["status"] for call in json.loads(done.stdout)["calls"]] == ["interrupted"]
