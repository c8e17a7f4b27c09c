"""The server of the page: what it tells, what it takes, garbage, too much, and pages that come, go or never read."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from edgeagent.errors import BusyError, ConfigError
from edgeagent.events import Notice, ToolExecutionUpdate
from edgeagent.messages import ToolCall
from edgeagent.web import MAP_S, MOST_PAGES, MOST_TYPED_CHARS, Question, listen, own_addresses
from tests.web.conftest import LIMIT_S, Looking, Robot, Serving

Serve = Callable[..., Serving]
OWN = {"Content-Type": "application/json"}
OF_RUN: Any = {"seq": 0, "t": 0.0, "run_id": "r", "agent": "robi", "turn": 1}


def notice(text: str) -> Notice:
    return Notice(seq=0, t=0.0, run_id="r", agent="robi", turn=1, level="info", text=text)


# --- told -----------------------------------------------------------------------------------------------------------


def test_a_page_that_connects_gets_all_and_then_what_changes(serve: Serve, robot: Robot) -> None:
    serving = serve(robot)
    serving.put(notice("before"))
    with serving.looking() as page:
        page.until(lambda page: page.texts("note") == ["before"])
        assert page.state["robot"] == "robi"
        assert page.state["can"] == {"say": True, "mute": False, "aloud": False}
        assert page.state["latch"] == "free"
        serving.put(notice("after"))
        page.until(lambda page: page.texts("note") == ["before", "after"])
        robot.question = Question(3, "allow that?", True)
        page.until(lambda page: page.state["question"] == [3, "allow that?", True])


def test_a_conversation_aloud_tells_its_level_and_state(serve: Serve, robot: Robot) -> None:
    robot.level = (-31.4, -60.2, True)
    with serve(robot, aloud=True).looking() as page:
        page.until(lambda page: page.state["level"] == [-31, -60, True])
        assert page.state["state"] == "listening"
        robot.level = (-50.0, -60.2, False)
        page.until(lambda page: page.state["level"] == [-50, -60, False])


def test_a_page_hears_of_the_server_every_second_though_nothing_happens(serve: Serve) -> None:
    with serve().looking() as page:
        page.next()
        began_s = time.monotonic()
        assert set(page.next()) == {"now", "first"}
        assert time.monotonic() - began_s < 3.0


def test_an_event_that_can_not_be_shown_keeps_no_other_from_being_shown(serve: Serve) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise LookupError("it has no text")

    serving = serve()
    with serving.looking() as page:
        serving.put(ToolExecutionUpdate(**OF_RUN, call=ToolCall("c", "drive"), update=Broken()), notice("after"))
        page.until(lambda page: page.texts("note") == ["after"])


def test_half_a_character_keeps_no_page_from_being_told(serve: Serve) -> None:
    serving = serve()
    serving.put(notice("a \ud83d b"))
    with serving.looking() as page:
        page.until(lambda page: page.texts("note") == ["a \ud83d b"])


def test_personal_data_in_the_reason_of_a_stop_is_shown_as_a_log_shows_it(serve: Serve, robot: Robot) -> None:
    serving = serve(robot)
    with serving.looking() as page:
        page.until(lambda page: page.state["latch"] == "free")
        robot.latch.trip("ada@example.com said so")
        page.until(lambda page: page.state["latch"] == "tripped" and page.texts("note"))
        assert "ada@" not in page.state["reason"] + page.texts("note")[0]


def test_two_pages_are_told_the_same(serve: Serve) -> None:
    serving = serve()
    with serving.looking() as one, serving.looking() as other:
        one.next(), other.next()
        for number in range(50):
            serving.put(notice(f"line {number}"))
        expected = [f"line {number}" for number in range(50)]
        assert one.until(lambda page: page.texts("note") == expected)
        assert other.until(lambda page: page.texts("note") == expected)


def test_a_page_that_was_away_has_lost_nothing_and_doubles_nothing(serve: Serve) -> None:
    serving = serve()
    with serving.looking() as page:
        serving.put(notice("first"))
        page.until(lambda page: page.texts("note") == ["first"])
    serving.put(notice("second"), notice("third"))
    with serving.looking() as again:
        again.until(lambda page: page.texts("note") == ["first", "second", "third"])
        again.next()
        assert again.texts("note") == ["first", "second", "third"]


def test_a_thousand_events_a_second_reach_two_pages_and_keep_nobody_who_emits_them(serve: Serve) -> None:
    serving = serve()
    longest_s = 0.0
    with serving.looking() as one, serving.looking() as other:
        one.next(), other.next()
        pace, begun_s = threading.Event(), time.monotonic()
        for number in range(2000):
            before_s = time.perf_counter()
            serving.put(notice(f"{number}"))
            longest_s = max(longest_s, time.perf_counter() - before_s)
            pace.wait(max(begun_s + number / 1000 - time.monotonic(), 0))
        for page in (one, other):
            page.until(lambda page: page.texts("note")[-1:] == ["1999"])
            assert len(page.lines) == 300
            assert page.told < 200, "one message for what has changed meanwhile"
    assert longest_s < 0.5, "a busy machine may take a thread its core, but nobody waits for a page"


def test_a_page_that_never_reads_slows_nobody(serve: Serve) -> None:
    serving = serve()
    with socket.create_connection(("127.0.0.1", serving.port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with serving.looking() as page:
            for number in range(1000):
                serving.put(notice(f"{number} {'x' * 2000}"))
            page.until(lambda page: any(text.startswith("999 ") for text in page.texts("note")))
            assert serving.ask("stop").json() == {"latch": "tripped"}


def test_so_many_pages_look_on_and_no_more(serve: Serve) -> None:
    serving = serve()
    pages = [Looking(serving.client) for _ in range(MOST_PAGES)]
    for page in pages:
        page.next()
    refused = serving.client.get("/api/events")
    assert refused.status_code == 503
    pages.pop().close()
    end_s = time.monotonic() + LIMIT_S
    while True:  # the server sees that a page has left when it tells it something
        with serving.client.stream("GET", "/api/events") as answer:
            if answer.status_code == 200:
                break
        assert time.monotonic() < end_s
        pages[0].next()
    for page in pages:
        page.close()


def test_the_end_is_told(serve: Serve) -> None:
    serving = serve()
    with serving.looking() as page:
        page.next()
        serving.server.end()
        page.until(lambda page: page.state.get("over"))
        with pytest.raises(EOFError):
            page.next()
    assert serving.server.join(LIMIT_S)


# --- asked for ------------------------------------------------------------------------------------------------------


def test_the_stop_trips_the_latch_and_motion_is_allowed_after_that_stop_only(serve: Serve, robot: Robot) -> None:
    serving = serve(robot)
    with serving.looking() as page:
        page.until(lambda page: page.state["stops"] == 0)
        assert serving.ask("stop").json() == {"latch": "tripped"}
        assert robot.latch.reason == "stop button of the page"
        page.until(lambda page: page.state["latch"] == "tripped")
        before = page.state["stops"]
        assert page.texts("note") == ["■ stopped (stop button of the page)"]
        assert serving.ask("stop").status_code == 200, (
            "it is tripped already; what was on its way to allow motion is late"
        )
        assert serving.ask("continue", stops=before).status_code == 409
        assert robot.latch.state == "tripped"
        page.until(lambda page: page.state["stops"] > before)
        assert serving.ask("continue", stops=page.state["stops"]).json() == {"moves": True, "latch": "free"}
        page.until(lambda page: page.state["latch"] == "free")


def test_a_stop_that_comes_while_motion_is_being_allowed_counts(serve: Serve, robot: Robot) -> None:
    serving = serve(robot)
    serving.ask("stop")
    robot.allowing = partial(serving.ask, "stop")
    assert serving.ask("continue", stops=serving.feed.stops).json() == {"latch": "tripped"}
    assert robot.latch.state == "tripped"


def test_a_command_for_which_the_system_has_no_thread_takes_no_place_of_another(
    serve: Serve, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = serve(robot)

    def none_left(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("edgeagent.web.page._on_thread", none_left)
        assert {serving.ask("say", text="hello").status_code for _ in range(20)} == {503}
    assert serving.ask("say", text="hello").status_code == 200


def test_a_stop_by_somebody_else_counts_too(serve: Serve, robot: Robot) -> None:
    serving = serve(robot)
    with serving.looking() as page:
        page.next()
        robot.latch.trip("stop word")
        robot.latch.rearm()
        robot.latch.trip("stop word")
        assert serving.ask("continue", stops=0).status_code == 409
        assert serving.ask("continue").status_code == 409
        page.until(lambda page: page.state["stops"] == 2)


def test_a_stop_waits_for_no_other_command(serve: Serve, robot: Robot) -> None:
    robot.waits = threading.Event()
    serving = serve(robot)
    asking = [threading.Thread(target=serving.ask, args=("say",), kwargs={"text": "hello"}) for _ in range(16)]
    for thread in asking:
        thread.start()
    for _ in asking:
        assert robot.entering.acquire(timeout=LIMIT_S)
    assert serving.ask("say", text="one more").status_code == 503
    assert serving.ask("stop", anything=1).json() == {"latch": "tripped"}
    robot.waits.set()
    for thread in asking:
        thread.join(LIMIT_S)
    assert robot.entered == ["hello"] * 16


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"])
def test_connections_without_a_whole_request_keep_no_stop_away(serve: Serve, robot: Robot, sent: bytes) -> None:
    serving = serve(robot, token="t" * 32)
    with ExitStack() as idle:
        for _ in range(80):
            one = idle.enter_context(socket.create_connection(("127.0.0.1", serving.port)))
            with suppress(OSError):
                one.sendall(sent)
        assert serving.ask("stop").status_code == 200
    assert robot.latch.state == "tripped"


def test_a_stop_needs_no_new_thread(serve: Serve, robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    serving, start = serve(robot), threading.Thread.start

    def started(thread: threading.Thread) -> None:
        if thread.name == "web-command":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    assert serving.ask("stop").json() == {"latch": "tripped"}


def test_a_stop_needs_no_body_of_any_kind(serve: Serve, robot: Robot) -> None:
    assert serve(robot).client.post("/api/stop", content=b"\xff{garbage").status_code == 200
    assert robot.latch.state == "tripped"


def test_a_line_a_mute_and_an_answer_reach_the_robot(serve: Serve, robot: Robot) -> None:
    serving = serve(robot, aloud=True)
    assert serving.ask("say", text="go on").status_code == 200
    assert serving.ask("say", text="").status_code == 200
    assert robot.entered == ["go on"]
    assert serving.ask("mute", on=True).status_code == 200
    assert robot.muted
    robot.question = Question(7, "allow that?", True)
    assert serving.ask("answer", question=6, text="yes").status_code == 409
    assert serving.ask("answer", question=7, text="yes").status_code == 200
    assert robot.answered == [(7, "yes")]


def test_what_the_robot_refuses_is_told(serve: Serve, robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> None:
        raise BusyError("it is busy")

    monkeypatch.setattr(robot, "enter", refuse)
    answer = serve(robot).ask("say", text="hello")
    assert (answer.status_code, answer.text) == (409, "it is busy")


def test_a_map_is_drawn_once_for_all_pages(serve: Serve, robot: Robot) -> None:
    robot.map = "image/svg+xml", b"<svg/>"
    serving = serve(robot)
    got: list[bytes] = []
    asking = [threading.Thread(target=lambda: got.append(serving.client.get("/api/map").content)) for _ in range(10)]
    begun_s = time.monotonic()
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(LIMIT_S)
    assert got == [b"<svg/>"] * 10
    assert robot.drawn <= 1 + (time.monotonic() - begun_s) / MAP_S


def test_a_map_and_the_newest_picture_of_a_tool_are_shown_beside_each_other(serve: Serve, robot: Robot) -> None:
    plain = serve(robot).client
    assert [plain.get(f"/api/{name}").status_code for name in ("map", "picture")] == [404, 404]
    robot.map = "image/svg+xml", b"<svg/>"
    serving = serve(robot)
    with serving.looking() as page:
        page.until(lambda page: (page.state["map"], page.state["picture"]) == (0, None))
        for number in range(1, 3):
            picture = b"\x89PNG\r\n\x1a\n%d" % number
            serving.put(ToolExecutionUpdate(**OF_RUN, call=ToolCall("c", "look"), update=picture))
            page.until(lambda page, number=number: page.state["picture"] == number)
        serving.put(ToolExecutionUpdate(**OF_RUN, call=ToolCall("d", "drive"), update="1 m"))
        page.until(lambda page: (page.state["map"], page.state["picture"]) == (3, 2))
    for name, kind, content in (("map", "image/svg+xml", b"<svg/>"), ("picture", "image/png", picture)):
        answer = serving.client.get(f"/api/{name}")
        assert (answer.headers["content-type"], answer.content) == (kind, content)


# --- garbage, and who may not ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("say", b"", 400),
        ("say", b"\xff\xfe", 400),
        ("say", b"[" * 20_000, 400),
        ("say", b'"text"', 400),
        ("say", b'{"text": 1}', 400),
        ("say", json.dumps({"text": "x" * (MOST_TYPED_CHARS + 1)}).encode(), 413),
        ("say", b'{"text": "' + b"x" * 70_000 + b'"}', 413),
        ("mute", b'{"on": "yes"}', 400),
        ("answer", b'{"question": true, "text": "yes"}', 400),
        ("answer", b'{"question": "1", "text": "yes"}', 400),
        ("continue", b"{}", 409),
        ("continue", b'{"stops": "0"}', 409),
        ("continue", b'{"stops": true}', 409),
        ("say", b'{"text": "continue", "stops": 0}', 409),
    ],
)
def test_garbage_is_refused_and_nothing_is_done(
    serve: Serve, robot: Robot, what: str, body: bytes, status: int
) -> None:
    serving = serve(robot)
    serving.ask("stop")
    assert serving.client.post(f"/api/{what}", content=body, headers=OWN).status_code == status
    assert (robot.entered, robot.answered, robot.muted) == ([], [], False)
    assert robot.latch.state == "tripped"


def test_a_form_of_another_site_does_nothing(serve: Serve, robot: Robot) -> None:
    serving = serve(robot)
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        body = b'{"text": "go on"}'
        assert serving.client.post("/api/say", content=body, headers={"Content-Type": kind}).status_code == 415
    evil = {**OWN, "Origin": "http://evil.example"}
    assert serving.client.post("/api/stop", headers=evil).status_code == 403
    assert serving.client.get("/api/events", headers=evil).status_code == 403
    assert robot.latch.state == "free"
    assert robot.entered == []


@pytest.mark.parametrize("path", ["/api/events", "/api/picture", "/api/map"])
def test_without_the_token_nothing_is_told_or_done(serve: Serve, robot: Robot, path: str) -> None:
    serving = serve(robot, token="x" * 32)
    with httpx2.Client(base_url=serving.client.base_url, timeout=LIMIT_S) as stranger:
        assert stranger.get("/").status_code == 200
        assert stranger.get(path).status_code == 401
        assert stranger.post("/api/stop", json={}).status_code == 401
    assert robot.latch.state == "free"
    with serving.looking() as page:
        page.next()


def test_only_what_there_is_is_answered(serve: Serve) -> None:
    client = serve().client
    assert client.get("/api/stop").status_code == 405
    for path in ("/etc/passwd", "/../page.py", "/api", "/static/page.js", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 404


def test_nothing_is_loaded_from_outside_and_nothing_stands_inline(serve: Serve) -> None:
    client = serve().client
    page = client.get("/").text
    for path in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert path.startswith("/")
        assert client.get(path).status_code == 200
    assert not re.search(r"<script(?![^>]*src)|<style|\son\w+=|style=", page)
    for path in ("/page.js", "/page.css"):
        assert not re.search(r"https?://(?!www\.w3\.org)", client.get(path).text)


def test_the_framework_is_the_one_that_its_note_names() -> None:
    import edgeagent.web

    folder = Path(edgeagent.web.__file__).parent / "static"
    note = (folder / "preact.md").read_text(encoding="utf-8")
    assert hashlib.sha256((folder / "preact.js").read_bytes()).hexdigest() in note
    assert "MIT" in note
    assert "Apache-2.0" in note


# --- the socket -----------------------------------------------------------------------------------------------------


def test_small_answers_do_not_wait_for_each_other_on_the_wire() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_a_port_that_is_taken_is_told() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(ConfigError, match="is taken by another program") as raised:
        listen("127.0.0.1", taken.getsockname()[1])
    assert "0 for any that is free" in str(raised.value)


@pytest.mark.parametrize(
    ("host", "told"),
    [("203.0.113.9", "this machine has no address"), ("robot.local", "is no address"), ("", "is no address")],
)
def test_an_address_that_is_none_of_the_machine_s_is_told(host: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        listen(host, 0)


def test_the_addresses_of_the_machine_are_known_without_asking_anybody() -> None:
    assert own_addresses("127.0.0.1") == ["127.0.0.1"]
    found = own_addresses("0.0.0.0")  # noqa: S104
    assert "127.0.0.1" in found
    assert found[-1].startswith("127.")


def test_the_end_of_a_server_is_not_held_by_what_hangs(serve: Serve, robot: Robot) -> None:
    robot.waits = threading.Event()
    serving = serve(robot)
    asking = threading.Thread(target=_ignoring, args=(serving,))
    asking.start()
    assert robot.entering.acquire(timeout=LIMIT_S)
    serving.server.end()
    assert serving.server.join(LIMIT_S)
    robot.waits.set()
    asking.join(LIMIT_S)


def _ignoring(serving: Serving) -> Any:
    try:
        return serving.ask("say", text="hello")
    except httpx2.HTTPError:
        return None
