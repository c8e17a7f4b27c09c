"""A server of the page as the command line has it, on a robot that says what it is told."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest

from edgeagent.events import Event, VoiceEvent
from edgeagent.robot import SafetyLatch
from edgeagent.web import OPEN_PATHS, Access, Feed, Inbox, Page, PageActions, Question, WebServer, allowed_names, listen
from tests.cli.conftest import at_terminal, edgeagent  # noqa: F401 - fixtures

LIMIT_S = 20.0


class Robot:
    """The functions of a door, which note what they were asked."""

    def __init__(self) -> None:
        self.latch = SafetyLatch()
        self.entered: list[str] = []
        self.answered: list[tuple[int, str]] = []
        self.question: Question | None = None
        self.muted = False
        self.level: tuple[float, float, bool] | None = None
        self.map: tuple[str, bytes] | None = None
        self.drawn = 0
        self.allowing: Callable[[], object] = lambda: None
        """Called when motion is about to be allowed."""
        self.waits: threading.Event | None = None
        """What a line that is typed waits for."""
        self.entering = threading.Semaphore(0)
        """Released when a line has come;"""
        self.answering = threading.Semaphore(0)
        """when an answer has."""

    def enter(self, text: str) -> None:
        self.entering.release()
        if self.waits is not None:
            self.waits.wait(LIMIT_S)
        self.entered.append(text)

    def move_again(self) -> bool:
        self.allowing()
        return self.latch.rearm()

    def answer(self, number: int, text: str) -> bool:
        open_ = self.question is not None and self.question.number == number
        if open_:
            self.answered.append((number, text))
            self.answering.release()
        return open_

    def mute(self, on: bool) -> None:
        self.muted = on

    def draw(self) -> tuple[str, bytes]:
        self.drawn += 1
        return self.map or ("", b"")

    def door(self, *, aloud: bool) -> PageActions:
        return PageActions(
            name="robi",
            model="nano",
            latch=self.latch,
            stop=self.latch.trip,
            move_again=self.move_again,
            enter=self.enter,
            answer=self.answer,
            question=lambda: self.question,
            mute=self.mute if aloud else None,
            muted=lambda: self.muted,
            state=(lambda: "listening") if aloud else None,
            level=lambda: self.level,
            draw_map=None if self.map is None else self.draw,
        )


class Looking:
    """A page that looks on: what it was told, put together as the page's script does."""

    def __init__(self, client: httpx2.Client) -> None:
        self._stream = client.stream("GET", "/api/events")
        self.answer = self._stream.__enter__()
        self._parts = self.answer.iter_lines()
        self.state: dict[str, Any] = {}
        self.lines: dict[int, dict[str, Any]] = {}
        self.told = 0

    def next(self) -> dict[str, Any]:
        """The next message."""
        for part in self._parts:
            if part.startswith("data: "):
                news: dict[str, Any] = json.loads(part.removeprefix("data: "))
                self.told += 1
                for line in news.pop("lines", []):
                    self.lines[line["n"]] = line
                self.state |= news
                self.lines = {n: line for n, line in self.lines.items() if n >= self.state["first"]}
                return news
        raise EOFError("the stream has ended")

    def until(self, seen: Callable[[Looking], object]) -> Looking:
        """Reads until the page shows it. A second that brings nothing is told by the server, so this ends."""
        for _ in range(round(LIMIT_S * 20)):
            if self.told and seen(self):
                return self
            self.next()
        raise AssertionError(f"it was never seen: {self.state} {self.lines}")

    def texts(self, kind: str) -> list[str]:
        return [line["text"] for line in self.lines.values() if line["kind"] == kind]

    def close(self) -> None:
        self._stream.__exit__(None, None, None)


class Serving:
    """A server, and clients of it."""

    def __init__(self, robot: Robot, *, token: str | None = None, aloud: bool = False, mode: Any = "redact") -> None:
        self.robot, self.token = robot, token
        self.inbox = Inbox()
        door = robot.door(aloud=aloud)
        self.feed = Feed(door, self.inbox, mode)
        listening = listen("127.0.0.1", 0)
        self.port = listening.getsockname()[1]
        page = Page(self.feed, door).application()
        guarded = Access(page, names=allowed_names("127.0.0.1"), token=token, open_paths=OPEN_PATHS)
        self.server = WebServer(guarded, listening, self.feed.close)
        self.server.start()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=LIMIT_S, headers=headers)

    def put(self, *events: Event | VoiceEvent) -> None:
        for event in events:
            self.inbox.put(event)

    def ask(self, what: str, **fields: Any) -> httpx2.Response:
        return self.client.post(f"/api/{what}", json=fields)

    @contextmanager
    def looking(self) -> Iterator[Looking]:
        page = Looking(self.client)
        try:
            yield page
        finally:
            page.close()

    def close(self) -> None:
        self.client.close()
        self.server.end()
        assert self.server.join(LIMIT_S)


class Relay:
    """A network between a page and its server, which can be gone."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._generation = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self._flows.clear()

    def mend(self) -> None:
        """New connections are as before; what was on its way is lost."""
        self._generation += 1
        self._flows.set()

    def close(self) -> None:
        self.mend()
        for each in [self._listening, *self._sockets]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                there = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [here, there]
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pump, args=(*pair, self._generation), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, generation: int) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait(LIMIT_S)
                if generation != self._generation:
                    break
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Starts servers; all end with the test."""
    started: list[Serving] = []

    def start(robot: Robot | None = None, **options: Any) -> Serving:
        started.append(Serving(robot or Robot(), **options))
        return started[-1]

    yield start
    for serving in started:
        serving.close()


@pytest.fixture
def robot() -> Robot:
    return Robot()
