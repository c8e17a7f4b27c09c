"""Nothing of a builder's holds the end of a command: two seconds after a signal it is gone, whatever hangs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

from edgeagent import Agent, Session

from .conftest import LIMIT_S, Command

GONE_S = 2.0
"""From the signal to the end (contract, section 6)."""
SLACK_S = 18.0
"""For a machine that does much else."""

APP = """
import ctypes, os, sys, time

def tell(word):
    os.write(2, f"<{word}>\\n".encode())

def hang():
    tell("hangs")
    threading.Event().wait(600)

def hold_the_lock():
    tell("hangs")
    ctypes.PyDLL(None).sleep(600)

@skill(mode="parallel", stop=lambda: tell("stop base"))
def drive(goal: GoalHandle) -> str:
    "Drives."
    tell("drives")
    goal.cancel_event.wait(600)
    tell("base is told")
    return "halted"
"""

CASES = {
    "stop": """
@skill(mode="parallel", stop=hang)
def lift(goal: GoalHandle) -> str:
    "Lifts."
    tell("lifts")
    goal.cancel_event.wait(600)
    return "halted"

agent = Agent("robi", llm=ScriptedLLM([call("lift")], "x"), tools=[lift])
""",
    "hook": """
class Stuck:
    points = frozenset({FirePoint.AFTER_LLM})
    priority, fail_closed, holds_text, concurrent = 0, False, False, False
    def __call__(self, point, ctx, payload):
        hang()

agent = Agent("robi", llm=ScriptedLLM("x"), hooks=[Stuck()])
""",
    "subscriber": """
agent = Agent("robi", llm=ScriptedLLM("hello there"))
agent.subscribe(lambda event: hang() if event.kind == "message_update" else None)
""",
    "compaction": """
class Slow(ScriptedLLM):
    def count_tokens(self, request):
        hang()

agent = Agent("robi", llm=Slow("hello there"))
""",
    "load": """
class Slow(ScriptedLLM):
    def load(self):
        hang()

agent = Agent("robi", llm=Slow("hello"))
""",
    "close": """
def close():
    hang()

@skill
def walk(goal: GoalHandle) -> str:
    "Walks."
    tell("hangs")
    goal.cancel_event.wait(600)
    return "halted"

agent = Agent("robi", llm=ScriptedLLM([call("walk")], "x"), tools=[walk])
""",
    "both": """
@skill(mode="parallel", stop=hang)
def lift(goal: GoalHandle) -> str:
    "Lifts."
    tell("lifts")
    goal.cancel_event.wait(600)
    return "halted"

agent = Agent("robi", llm=ScriptedLLM([call("lift"), call("drive")], "x"), tools=[lift, drive])
agent.subscribe(lambda event: hang() if event.kind == "turn_end" else None)
""",
    "lock": """
@tool(on_interrupt="finish")
def native() -> str:
    "Calls C code that keeps the interpreter's lock."
    hold_the_lock()
    return "done"

agent = Agent("robi", llm=ScriptedLLM([call("native")], "x"), tools=[native])
""",
}
HANGING = tuple(case for case in CASES if case != "both")


class Running:
    """A command in a process, with what it has told on stderr."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.told = b""
        os.set_blocking(process.stderr.fileno(), False)

    def expect(self, word: str) -> None:
        end_s = time.monotonic() + LIMIT_S
        while f"<{word}>".encode() not in self.told:
            assert time.monotonic() < end_s, f"{word} did not come: {self.told.decode()}"
            assert self.process.poll() is None or self.read(), f"it ended: {self.told.decode()}"
            self.read()
            time.sleep(0.01)

    def read(self) -> bool:
        data = self.process.stderr.read() or b""
        self.told += data
        return bool(data)

    def ends(self) -> tuple[int, float]:
        """Waits for the end. Returns the exit code and the seconds."""
        began_s = time.monotonic()
        code = self.process.wait(timeout=GONE_S + SLACK_S)
        took_s = time.monotonic() - began_s
        self.read()
        return code, took_s


@pytest.fixture
def running(edgeagent: Command):
    started = []

    def start(command: str, case: str, *arguments: object) -> Running:
        app = edgeagent.app(APP + CASES[case], f"{case}.py")
        words = ["go"] if command == "ask" else []
        process = edgeagent.start(command, *words, "--app", app, *arguments)
        started.append(process)
        if command == "chat":
            process.stdin.write(b"go\n")
            process.stdin.flush()
        return Running(process)

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=LIMIT_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that a command has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process.pid and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def gone(pids: list[int]) -> None:
    end_s = time.monotonic() + LIMIT_S
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < end_s, "something is left running"
        time.sleep(0.01)


def delivered(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Waits until a signal is pending no more: until then a second one of its kind is the same one."""
    end_s = time.monotonic() + LIMIT_S
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            masks = re.findall(r"(?:Sig|Shd)Pnd:\t(\w+)", status.read_text())
        except FileNotFoundError:  # some kernels show no status of a process that has ended and is not waited for
            break
        if not any(int(mask, 16) >> (number - 1) & 1 for mask in masks):
            break
        assert time.monotonic() < end_s, "the signal is not taken"
        time.sleep(0.01)


def ready(case: str) -> str:
    return "lifts" if case == "stop" else "hangs"


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("command", "numbers", "cases"),
    [
        ("chat", [signal.SIGTERM], HANGING),
        ("ask", [signal.SIGINT] * 2, ("subscriber", "load", "close", "lock")),
    ],
)
def test_a_signal_ends_it_whatever_hangs_with_the_exit_code_of_the_signal(running, command, numbers, cases) -> None:
    commands = {case: running(command, case) for case in cases}  # side by side: each has its two seconds
    left = {}
    for case, one in commands.items():
        one.expect(ready(case))
        left[case] = children(one.process)
        assert left[case], f"something watches {case}"
    for number in numbers:
        for one in commands.values():
            one.process.send_signal(number)
        for one in commands.values():
            delivered(one.process, number)
    for case, one in commands.items():
        code, took_s = one.ends()
        # with the interpreter's lock kept no Python runs that could choose a code
        assert code == (-signal.SIGKILL if case == "lock" else 128 + numbers[0]), f"{case}: {one.told.decode()}"
        assert took_s < GONE_S + SLACK_S
        gone(left[case])


@pytest.mark.real_time
def test_a_sigterm_to_every_process_as_systemd_sends_it_ends_it_whatever_hangs(running) -> None:
    commands = {case: running("chat", case) for case in ("subscriber", "lock")}
    left = {}
    for case, one in commands.items():
        one.expect("hangs")
        left[case] = children(one.process)
        assert left[case], f"something watches {case}"
        for pid in left[case]:
            os.kill(pid, signal.SIGTERM)
        one.process.send_signal(signal.SIGTERM)
    for case, one in commands.items():
        code, took_s = one.ends()
        assert code == (-signal.SIGKILL if case == "lock" else 128 + signal.SIGTERM), f"{case}: {one.told.decode()}"
        assert took_s < GONE_S + SLACK_S
        gone(left[case])


@pytest.mark.real_time
def test_two_ctrl_c_leave_a_terminal_as_it_was_whatever_hangs(at_terminal, edgeagent) -> None:
    before = []
    start = edgeagent.start

    def noting(*arguments, **options):
        before.append(termios.tcgetattr(options["stdin"]))
        return start(*arguments, **options)

    edgeagent.start = noting
    cases = ("stop", "subscriber", "close", "lock")
    terminals = {case: at_terminal("chat", "--app", edgeagent.app(APP + CASES[case], f"{case}.py")) for case in cases}
    left = {}
    for case, terminal in terminals.items():
        terminal.expect("leaves")
        terminal.enter("go")
        terminal.expect(f"<{ready(case)}>")
        left[case] = children(terminal.process)
        assert left[case]
    for terminal in terminals.values():
        terminal.type("\x03")
    time.sleep(0.3)
    for terminal in terminals.values():
        terminal.type("\x03")
    for (case, terminal), modes in zip(terminals.items(), before, strict=True):
        code = terminal.ends()
        assert code == (-signal.SIGKILL if case == "lock" else 0), f"{case}: {terminal.seen}"
        gone(left[case])
        assert terminal.modes() == modes


def test_a_signal_to_a_process_that_a_tool_has_forked_ends_that_one_alone(edgeagent, at_terminal) -> None:
    app = edgeagent.app(f"""
import multiprocessing, time

def watch(begun):
    begun.set()
    time.sleep({LIMIT_S * 4})

@tool(on_interrupt="finish")
def look() -> str:
    "Looks, in a process of its own."
    forking = multiprocessing.get_context("fork")
    begun = forking.Event()
    child = forking.Process(target=watch, args=[begun], daemon=True)
    child.start()
    begun.wait({LIMIT_S})
    child.terminate()
    child.join({LIMIT_S})
    time.sleep({GONE_S + 1})  # the command would be gone now
    return f"seen {{child.exitcode}}"

agent = Agent("robi", llm=ScriptedLLM([call("look")], lambda request: request.messages[-1].text + "."), tools=[look])
""")
    terminal = at_terminal("chat", "--app", app)
    with edgeagent.start("chat", "--app", app) as process:
        terminal.expect(">")
        terminal.enter("go")
        out, err = process.communicate(b"go\n", timeout=LIMIT_S)
    assert out.decode() == f"seen {-signal.SIGTERM}.\n", err.decode()
    assert process.returncode == 0
    terminal.expect(f"robi: seen {-signal.SIGTERM}.")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_a_ctrl_z_does_not_leave_a_robot_driving_without_its_program(at_terminal, edgeagent) -> None:
    terminal = at_terminal("chat", "--app", edgeagent.app(APP + CASES["subscriber"]))
    terminal.expect("leaves")
    terminal.expect(">")
    terminal.type("\x1a\x15\x04")  # Ctrl-U takes away what Ctrl-Z has typed
    assert terminal.ends() == 0


def test_a_ctrl_c_and_another_one_later_do_not_end_a_chat(at_terminal, edgeagent) -> None:
    app = edgeagent.app(APP + CASES["stop"].replace("stop=hang", "stop=None"))
    later = "from edgeagent.cli import exits; exits.AGAIN_S = 0.0\n"  # so that any other Ctrl-C comes later than that
    terminal = at_terminal("chat", "--app", app, before=later)
    terminal.expect("leaves")
    terminal.expect(">")
    terminal.type("\x03")
    terminal.expect("Ctrl-C again leaves")
    terminal.type("\x03")
    terminal.expect("Ctrl-C again leaves")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_a_stop_that_hangs_does_not_keep_a_chat_that_is_left(edgeagent) -> None:
    app = APP + CASES["stop"].replace('mode="parallel"', 'on_interrupt="detach"')
    app += """
agent.subscribe(lambda event: threading.Timer(0.1, agent.abort, ["barge_in"]).start()
                if event.kind == "tool_execution_start" else None)
"""
    ways = {"/quit": b"go\n/quit\n", "the end of stdin": b"go\n"}
    left = {way: edgeagent.start("chat", "--app", edgeagent.app(app)) for way in ways}
    for way, process in left.items():
        with process:
            try:
                _, err = process.communicate(ways[way], timeout=LIMIT_S)
            finally:
                process.kill()
        assert process.returncode == 0, f"{way}: {err.decode()}"
        assert b"<hangs>" in err, f"it was stopped before {way}"


@pytest.mark.real_time
def test_before_it_goes_what_moves_is_stopped_side_by_side_and_the_journal_is_whole(running, edgeagent) -> None:
    journal = edgeagent.home / "robi.journal"
    command = running("chat", "both", "--session", journal)
    command.expect("lifts")
    command.expect("drives")
    command.process.send_signal(signal.SIGTERM)
    code, _ = command.ends()
    assert code == 128 + signal.SIGTERM
    assert b"<stop base>" in command.told
    assert b"<base is told>" in command.told
    with Session.open(journal, Agent("robi")) as session:
        assert [message.role for message in session.messages()] == ["user", "assistant", "tool", "tool"]
