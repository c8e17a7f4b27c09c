"""Stop phrases that are typed in a chat, in their three grades (contract, case 19)."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeagent.app import App, build
from edgeagent.cli import STOPPED, ChatStops, Line
from edgeagent.config import Config

LIMIT_S = 20.0
ROVER = """
from edgeagent import *
from edgeagent.testing import ScriptedLLM, call
import threading

began, notes = threading.Event(), []

def note(what):
    def take():
        notes.append(what)
    return take

@skill(stop=note("stop"), pause=note("pause"), resume=note("resume"))
def drive(goal: GoalHandle) -> str:
    "Drives until it is stopped."
    began.set()
    while not goal.cancelled:
        goal.checkpoint()
        threading.Event().wait(0.005)
    return "stopped"

@tool
def muse() -> str:
    "Thinks, and moves nothing."
    began.set()
    done.wait()
    return "mused"

done = threading.Event()

def answer(request):
    last = request.messages[-1]
    known = {"drive": [call("drive")], "muse": [call("muse")]}
    return "Done." if last.role == "tool" else known.get(last.text, "heard " + last.text)

agent = Agent("rover", llm=ScriptedLLM(*[answer] * 100), tools=[drive, muse])

def close():
    done.set()
"""


class Chat:
    """A chat with a robot that drives when it is told to."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.shown: list[str] = []
        self.changed = threading.Condition()
        self.stops = ChatStops(app, self._show)
        parts = app.agent.tools.get("drive").function.__globals__  # type: ignore[union-attr]
        self.began, self.notes, self.done = parts["began"], parts["notes"], parts["done"]
        app.subscribe(lambda event: self._notify())

    def _show(self, line: Line) -> None:
        self.shown.append(line.text)
        self._notify()

    def _notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def until(self, condition) -> bool:  # type: ignore[no-untyped-def]
        with self.changed:
            return self.changed.wait_for(condition, LIMIT_S)

    @property
    def latch(self) -> str:
        assert self.app.agent.latch is not None
        return str(self.app.agent.latch.state)

    @property
    def asked(self) -> int:
        return len(self.app.llm.requests)  # type: ignore[attr-defined]

    def begin(self, task: str) -> None:
        self.app.session.start(task)
        assert self.began.wait(LIMIT_S)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    path = tmp_path / "rover.py"
    path.write_text(ROVER, encoding="utf-8")
    with build(Config(app=path)) as app:
        yield Chat(app)


@pytest.mark.parametrize(
    "said", ["stop", "Halt!", "freeze", "stop it", "stop now", "no, stop", "please stop", "STOP STOP", "rover, stop!"]
)
def test_a_first_grade_while_it_moves_trips_the_latch_and_asks_no_model(chat: Chat, said: str) -> None:
    chat.begin("drive")
    assert chat.stops.take(said)
    assert chat.latch == "tripped"
    assert "stop" in chat.notes
    assert chat.until(lambda: not chat.app.agent.is_running)
    assert chat.asked == 1
    assert chat.shown == ["■ stopped (stop word); it moves again after “continue”"]
    chat.began.clear()
    assert chat.app.session.step("drive").reply == STOPPED
    assert not chat.began.is_set()
    assert chat.stops.take("continue, please")
    assert chat.latch == "free"
    chat.begin("drive")


def test_the_stop_words_of_the_settings_count_typed_too(tmp_path: Path) -> None:
    path = tmp_path / "rover.py"
    path.write_text(ROVER, encoding="utf-8")
    with build(Config(app=path, ears={"stop_words": "stop/1e-28, basta"})) as app:
        chat = Chat(app)
        assert not chat.stops.take("basta")
        chat.begin("drive")
        assert chat.stops.take("Basta, rover!")
        assert chat.latch == "tripped"
        assert "stop" in chat.notes


@pytest.mark.parametrize(
    "said", ["stop", "please stop", "halt", "wait", "hold on", "cancel", "no", "continue", "go on"]
)
def test_every_grade_is_for_the_model_while_nothing_goes_on(chat: Chat, said: str) -> None:
    assert not chat.stops.take(said)
    assert chat.latch == "free"


@pytest.mark.parametrize(
    "said", ["don't stop", "do not halt", "stop at the door", "the bus stop", "wait for me", "drive"]
)
def test_other_lines_are_for_the_model_while_it_moves(chat: Chat, said: str) -> None:
    chat.begin("drive")
    assert not chat.stops.take(said)
    assert not chat.notes


@pytest.mark.parametrize("said", ["wait", "Wait!", "hold on", "please wait", "wait wait", "rover, hold on"])
def test_a_second_grade_holds_what_moves_until_continue(chat: Chat, said: str) -> None:
    chat.begin("drive")
    assert chat.stops.take(said)
    assert chat.latch == "held"
    assert chat.notes == ["pause"]
    assert chat.stops.take("go on")
    assert chat.latch == "held", "only continue moves it"
    assert chat.stops.take("continue")
    assert chat.latch == "free"
    assert chat.notes == ["pause", "resume"]
    assert chat.asked == 1
    assert chat.shown == [
        "■ held; it moves on after “continue”",
        "  it waits; “continue” lets it move",
        "  it may move again",
    ]


@pytest.mark.parametrize("said", ["cancel", "cancel that", "please cancel that", "no", "no!", "no no", "rover, no"])
def test_a_third_grade_cancels_what_moves_without_the_latch(chat: Chat, said: str) -> None:
    chat.begin("drive")
    assert chat.stops.take(said)
    assert "stop" in chat.notes
    assert chat.until(lambda: not chat.app.agent.is_running)
    assert chat.latch == "free"
    assert chat.asked == 1


def test_no_is_for_the_model_while_nothing_moves_and_an_answer_while_a_question_is_open(chat: Chat) -> None:
    chat.begin("muse")
    assert not chat.stops.take("no")
    chat.done.set()
    assert chat.until(lambda: not chat.app.agent.is_running)
    chat.began.clear()
    chat.begin("drive")
    assert not chat.stops.take("no", asked=True)
    assert chat.stops.take("no")


def test_a_stop_while_it_only_thinks_trips_too(chat: Chat) -> None:
    chat.begin("muse")
    assert chat.stops.take("stop", asked=True)
    assert chat.latch == "tripped"


def test_wait_is_an_answer_while_nothing_moves(chat: Chat) -> None:
    chat.begin("muse")
    assert not chat.stops.take("wait", asked=True)


def test_wait_holds_the_drive_that_is_still_being_thought_of(chat: Chat) -> None:
    chat.begin("muse")
    assert chat.stops.take("wait")
    chat.app.session.steer("drive")
    chat.began.clear()
    chat.done.set()
    assert chat.until(lambda: "  it waits; “continue” lets it move" in chat.shown)
    assert not chat.began.is_set()
    assert chat.stops.take("continue")
    assert chat.began.wait(LIMIT_S)


def test_a_stop_ends_a_hold_and_a_cancel_too(chat: Chat) -> None:
    chat.begin("drive")
    chat.stops.take("wait")
    chat.stops.take("stop")
    assert chat.latch == "tripped"
    chat.stops.take("continue")
    assert chat.latch == "free"
    assert chat.until(lambda: not chat.app.agent.is_running)
    chat.began.clear()
    chat.begin("drive")
    chat.stops.take("wait")
    chat.stops.take("cancel")
    assert chat.latch == "free"


def test_a_hold_of_the_apps_own_is_not_released(chat: Chat) -> None:
    latch = chat.app.agent.latch
    assert latch is not None
    chat.begin("drive")
    latch.hold("the lidar is lost", owner="lidar")  # type: ignore[attr-defined]
    chat.stops.take("stop")
    assert chat.stops.rearm()
    assert chat.latch == "held"
    assert chat.shown[-1] == "  it is still held: the lidar is lost"
    assert not chat.stops.take("continue"), "there is nothing that it could end"


def test_a_line_stops_at_a_terminal_and_continue_lets_it_move(edgeagent, at_terminal) -> None:  # type: ignore[no-untyped-def]
    terminal = at_terminal("chat", "--app", edgeagent.app(ROVER))
    terminal.expect(">")
    terminal.enter("drive")
    terminal.expect("→ drive")
    terminal.enter("wait")
    terminal.expect("■ held; it moves on after “continue”")
    terminal.enter("continue")
    terminal.expect("it may move again")
    terminal.enter("please stop")
    terminal.expect("■ stopped")
    terminal.expect("interrupted: stopped for safety")
    terminal.enter("drive")
    terminal.expect(f"rover: {STOPPED}")
    terminal.enter("/continue")
    terminal.expect("it may move again")
    terminal.enter("/stop")
    terminal.expect("■ stopped")
    terminal.enter("/continue")
    terminal.expect("it may move again")
    terminal.enter("drive")
    terminal.expect("→ drive")
    terminal.enter("no!")
    terminal.expect("■ cancelled")
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_a_script_stops_with_a_slash_and_its_stop_is_a_request(edgeagent) -> None:  # type: ignore[no-untyped-def]
    lines = b"stop\n/stop\ndrive\ncontinue\nhello\n/continue\n"
    done = edgeagent("chat", "--app", edgeagent.app(ROVER), stdin=lines)
    assert done.stdout == f"heard stop\n{STOPPED}\nheard hello\n"
    assert "■ stopped (/stop); it moves again after “continue”" in done.stderr
    assert "nothing is stopped: it may move" in done.stderr
