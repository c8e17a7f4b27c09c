"""``chat --web`` and ``talk --web``: the terminal as before, a page beside it, and who may reach the page."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from edgeagent.journal import Journal
from tests.processes import descendants, left

LIMIT_S = 30
ROBOT = """
import signal

def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return "Done: " + last.text
    known = {"drive": [call("drive")], "erase": [call("erase")]}
    return known.get(last.text, "heard " + last.text)

@skill
def drive(goal: GoalHandle) -> str:
    "Drives until somebody stops it."
    while not goal.cancel_event.wait(0.02):
        goal.checkpoint()
    return "stopped"

@tool(destructive=True)
def erase() -> str:
    "Erases all."
    return "erased"

agent = Agent("toy", llm=ScriptedLLM(*[answer] * 100), tools=[drive, erase])
signal.signal(signal.SIGUSR2, lambda *_: agent.follow_up("erase", wake=True))
"""


@pytest.fixture
def chat(edgeagent, at_terminal):
    """Starts a chat with a page. Returns the terminal and a client of the page."""
    clients: list[httpx2.Client] = []

    def start(*arguments: object, **options: Any):
        app = edgeagent.app(ROBOT)
        terminal = at_terminal("chat", "--app", app, "--web", "--web-port", "0", *arguments, **options)
        address = re.search(r"page: (http://\S+:\d+/)(?:#(\S+))?", terminal.expect(r"page: \S+\n"))
        assert address is not None
        headers = {} if address[2] is None else {"Authorization": f"Bearer {address[2]}"}
        clients.append(httpx2.Client(base_url=address[1], timeout=LIMIT_S, headers=headers))
        terminal.expect(">")
        return terminal, clients[-1]

    yield start
    for client in clients:
        client.close()


@contextmanager
def news(client: httpx2.Client) -> Iterator[Iterator[dict[str, Any]]]:
    with client.stream("GET", "/api/events") as stream:
        yield (json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line.startswith("data: "))


def until(told: Iterator[dict[str, Any]], name: str, wanted: Any) -> Any:
    """Waits for a value of the state that fits."""
    for message in told:
        if name in message and wanted(message[name]):
            return message[name]
    raise AssertionError("the stream has ended")


def lines_until(page, last: tuple[str, str]) -> list[tuple[str, str]]:
    """Kind and text of what the page tells until the last of them has come, without the times of turns."""
    lines: dict[int, tuple[str, str]] = {}
    with news(page) as told:
        for message in told:
            lines |= {line["n"]: (line["kind"], line["text"]) for line in message.get("lines", ())}
            if last in lines.values():
                break
    return [line for _, line in sorted(lines.items()) if line[0] != "turn"]


def test_a_line_from_the_page_is_as_one_from_the_terminal(chat) -> None:
    terminal, page = chat()
    assert page.post("/api/say", json={"text": "hello"}).status_code == 200
    terminal.expect("> hello")
    terminal.expect("toy: heard hello")
    terminal.enter("from the terminal")
    terminal.expect("toy: heard from the terminal")
    assert lines_until(page, ("robot", "heard from the terminal")) == [
        ("you", "hello"),
        ("robot", "heard hello"),
        ("you", "from the terminal"),
        ("robot", "heard from the terminal"),
    ]
    terminal.enter("/quit")
    assert terminal.ends() == 0


def test_the_history_of_a_session_is_shown(chat, edgeagent) -> None:
    assert edgeagent("ask", "hello", "--session", "s", "--app", edgeagent.app(ROBOT)).returncode == 0
    _, page = chat("--session", "s")
    assert page.post("/api/say", json={"text": "again"}).status_code == 200
    assert lines_until(page, ("robot", "heard again")) == [
        ("you", "hello"),
        ("robot", "heard hello"),
        ("you", "again"),
        ("robot", "heard again"),
    ]


def test_the_stop_button_stops_and_motion_may_be_allowed_again(chat) -> None:
    terminal, page = chat()
    terminal.enter("drive")
    terminal.expect("⋯ drive")
    assert page.post("/api/stop").json() == {"latch": "tripped"}
    terminal.expect("■ stopped \\(stop button of the page\\)")
    with news(page) as told:
        stops = until(told, "stops", lambda stops: stops > 0)
    assert page.post("/api/continue", json={"stops": stops}).json() == {"moves": True, "latch": "free"}
    terminal.expect("it may move again")
    page.post("/api/say", json={"text": "/stop"})
    terminal.expect("■ stopped \\(/stop on the page\\)")
    answer = page.post("/api/say", json={"text": "/quit now"})
    assert (answer.status_code, answer.text) == (409, "/quit is for the terminal")
    page.post("/api/say", json={"text": "\x1b[31mred\x00 \u2028 line"})
    terminal.expect("> red +line")


def test_a_question_is_asked_on_the_page_and_only_its_own_answer_counts(chat) -> None:
    terminal, page = chat()
    with news(page) as told:
        terminal.enter("erase")
        number, text, yes_or_no = until(told, "question", lambda question: question is not None)
        assert (text, yes_or_no) == ("allow erase?", True)
        late = page.post("/api/say", json={"text": "yes"})
        assert (late.status_code, late.text) == (409, "the robot asks something: answer that first")
        assert page.post("/api/answer", json={"question": number + 1, "text": "yes"}).status_code == 409
        assert page.post("/api/answer", json={"question": number, "text": "yes"}).status_code == 200
        terminal.expect("toy: Done: erased")
        until(told, "question", lambda question: question is None)
        terminal.enter("erase")
        terminal.expect("\\[y/N\\]")
        until(told, "question", lambda question: question is not None)
        assert page.post("/api/stop").status_code == 200
        until(told, "question", lambda question: question is None)
    terminal.expect("■ stopped")


def test_the_page_answers_no_question_of_the_terminal(chat) -> None:
    terminal, page = chat()
    terminal.enter("erase")
    terminal.expect("\\[y/N\\]")
    terminal.enter("y")
    terminal.expect("toy: Done: erased")
    terminal.enter("/retry")
    terminal.expect("Ask again\\? \\[y/N\\]")
    with news(page) as told:
        terminal.signal(signal.SIGUSR2)  # erases once more
        number, *_ = until(told, "question", lambda question: question is not None)
        assert page.post("/api/answer", json={"question": number, "text": "yes"}).status_code == 200
        terminal.expect("toy: Done: erased")
    terminal.enter("n")
    terminal.expect("not asked again")


def test_with_every_address_it_asks_for_a_token_that_stands_in_no_log(chat, edgeagent) -> None:
    terminal, page = chat("--web-host", "0.0.0.0", "--log", "log.jsonl", "--log-level", "debug")  # noqa: S104
    token = page.headers["authorization"].removeprefix("Bearer ")
    assert len(token) >= 32
    assert httpx2.get(page.base_url.join("/api/picture")).status_code == 401
    assert page.post("/api/say", json={"text": "hello"}).status_code == 200
    terminal.expect("toy: heard hello")
    kept = edgeagent.home / ".local/state/edgeagent/web-token"
    assert kept.read_text().strip() == token
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with news(page) as told:  # who looks on does not keep the program
        next(told)
        terminal.signal(signal.SIGTERM)
        assert terminal.ends() == 128 + signal.SIGTERM
    assert token not in (edgeagent.cwd / "log.jsonl").read_text()


def test_a_script_is_looked_at_and_stopped_and_where_nobody_sees_it_no_token_is_printed(edgeagent) -> None:
    arguments = "chat", "--app", edgeagent.app(ROBOT), "--web-port", "0", "--log-level", "debug"
    with edgeagent.start(*arguments, env={"EDGEAGENT_WEB_TOKEN": "true"}) as process:
        seen = b""
        for line in process.stderr:
            seen += line
            if b"its token is in" in line:
                break
        found = re.search(rb"page: (http://\S+/)\n", seen)
        token = (edgeagent.home / ".local/state/edgeagent/web-token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=found[1].decode(), timeout=LIMIT_S, headers=headers) as page:
            process.stdin.write(b"drive\n")
            process.stdin.flush()
            with news(page) as told:
                until(told, "state", lambda state: state == "acting")
                assert page.post("/api/say", json={"text": "hello"}).status_code == 409
                assert page.post("/api/stop").json() == {"latch": "tripped"}
                until(told, "state", lambda state: state == "ready")
        out, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0
        assert "■ stopped" in err.decode()
        assert token.encode() not in seen + out + err


def test_a_port_that_is_taken_ends_it_at_once(edgeagent, in_process) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = in_process("chat", "--app", edgeagent.app(ROBOT), "--web", "--web-port", port)
    assert done.returncode == 1, "the unit of a service tries again"
    assert f"error: port {port} of 127.0.0.1 is taken by another program" in done.stderr


FULL = """
import errno, os
made = os.open

def full(path, *rest, **more):
    if "web-token" in os.fspath(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    return made(path, *rest, **more)

os.open = full
"""


def test_a_disk_without_room_for_the_token_is_a_failure_that_a_service_tries_again(edgeagent, silent_room) -> None:
    token = {"EDGEAGENT_WEB_TOKEN": "true"}
    web = ("--web", "--web-port", "0")
    for command in (("chat",), ("talk", "--wait", *silent_room)):
        done = edgeagent(*command, "--app", edgeagent.app(ROBOT + FULL), *web, env=token)
        assert done.returncode == 1
        assert "web-token cannot be kept: No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--web-port", "70000"), "from 0 to 65535"),
        (("--web", "--web-host", "robot.local"), "is no address"),
    ],
)
def test_a_wrong_setting_is_told(edgeagent, in_process, arguments: tuple[str, ...], told: str) -> None:
    done = in_process("chat", "--app", edgeagent.app(ROBOT), *arguments)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    ("text", "mode", "told"), [("t" * 32, 0o644, "other users may read the token"), ("short", 0o600, "holds no token")]
)
def test_a_token_that_cannot_be_used_is_told_before_a_model_or_ears_are_loaded(
    edgeagent, in_process, text: str, mode: int, told: str
) -> None:
    kept = edgeagent.home / ".local/state/edgeagent/web-token"
    kept.parent.mkdir(parents=True)
    kept.write_text(text)
    kept.chmod(mode)
    # each command ends before it listens
    web = "--web", "--web-port", "0", "--web-host", "0.0.0.0"  # noqa: S104 - only then is there a token to refuse
    sound = "--input", "no.wav", "--output", "x.wav"  # is looked for later
    for command in (("chat", *web), ("talk", "--wait", *sound, *web), ("service", "install", "--", *web)):
        done = in_process(*command)
        assert (done.returncode, told in done.stderr) == (2, True)
    assert not list(edgeagent.home.rglob("*.service"))
    assert in_process("service", "install", "--system", "--user", "daemon", "--print", "--", *web).returncode == 0


def test_every_address_without_a_token_is_refused(edgeagent, in_process) -> None:
    settings = edgeagent.home / "settings.toml"
    settings.write_text('[web]\nserve = true\nhost = "0.0.0.0"\ntoken = false\n')
    done = in_process("chat", "--app", edgeagent.app(ROBOT), "--config", settings)
    assert done.returncode == 2
    assert "for loopback only" in done.stderr


def test_without_the_packages_it_says_which(edgeagent, in_process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = in_process("chat", "--app", edgeagent.app(ROBOT), "--web")
    assert done.returncode == 2
    assert 'pip install "edgeagent[web]"' in done.stderr


def test_a_service_waits_for_a_port_and_for_a_session_that_others_have(edgeagent, silent_room) -> None:
    session = edgeagent.cwd / "robi.journal"
    with socket.socket() as taken, Journal.open(session) as other:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = "--wait", "--web", "--web-port", taken.getsockname()[1], "--session", session, "--json"
        with edgeagent.start("talk", *silent_room, *words, house=True) as process:
            assert b"is taken by another program" in process.stderr.readline()
            taken.close()
            assert b"is in use by another conversation" in process.stderr.readline()
            other.close()
            assert any(b"page: http" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT_S)


def test_a_conversation_aloud_goes_on_has_a_level_is_muted_and_stopped(edgeagent, silent_room) -> None:
    assert edgeagent("ask", "hello", "--continue", house=True).returncode == 0
    words = "--continue", "--web", "--web-port", "0", "--json"
    with edgeagent.start("talk", *silent_room, *words, house=True) as process:
        for line in process.stderr:
            if found := re.search(rb"page: (http\S+)", line):
                break
        with httpx2.Client(base_url=found[1].decode(), timeout=LIMIT_S) as page, news(page) as told:
            first = next(told)
            assert first["can"] == {"say": True, "mute": True, "aloud": True}
            assert [line["text"] for line in first["lines"]] == ["hello", "heard hello"]
            until(told, "level", lambda level: level is not None)
            assert page.get("/api/map").headers["content-type"] == "image/svg+xml"
            page.post("/api/mute", json={"on": True})
            until(told, "muted", lambda muted: muted)
            page.post("/api/say", json={"text": 'drive {"distance_m": 2}'})
            until(told, "state", lambda state: state == "acting")
            assert page.post("/api/stop").json() == {"latch": "tripped"}
            stops = until(told, "stops", lambda stops: stops > 1)  # of the button, and of the latch
            assert page.post("/api/continue", json={"stops": stops}).json()["latch"] == "free"
        below = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in err
    assert left(below) == []
