"""Who may reach a server of the robot's: requests as browsers and programs send them, to a real server."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from edgeagent.errors import ConfigError
from edgeagent.web import Access, allowed_names, configured, is_loopback, kept_token, new_token

LIMIT_S = 20
TOKEN = new_token()
CROSS = {"Sec-Fetch-Site": "cross-site"}
NAVIGATION = {**CROSS, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.method} {len(await request.body())}")


class Served:
    """A server of an application, in a thread of its own."""

    def __init__(self, app: Any) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self._server = uvicorn.Server(configured(app, connections=32))
        self._thread = threading.Thread(target=self._server.run, args=([self.socket],), daemon=True)
        self._thread.start()
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=LIMIT_S)

    def raw(self, text: str) -> bytes:
        """Sends bytes as they are, and returns all that comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S) as connection:
            connection.sendall(text.encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        return answer

    def close(self) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join(LIMIT_S)
        self.socket.close()


def _served(token: str | None) -> Iterator[Served]:
    app = Starlette(routes=[Route(path, _answer, methods=["GET", "POST"]) for path in ("/", "/do")])
    served = Served(Access(app, names=allowed_names("127.0.0.1"), token=token, open_paths=["/"], most_bytes=1000))
    yield served
    served.close()


@pytest.fixture(scope="module")
def free() -> Iterator[Served]:
    """A server that asks for no token."""
    yield from _served(None)


@pytest.fixture(scope="module")
def locked() -> Iterator[Served]:
    """A server that asks for a token."""
    yield from _served(TOKEN)


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "LOCALHOST:9000", "localhost.", "192.168.1.5:80", "[::1]:1"]
)
def test_the_robot_is_reached_by_its_names_and_by_addresses(free: Served, host: str) -> None:
    assert free.client.get("/do", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:80:80", "0.0.0.0", "a@b", "[x]"],  # noqa: S104
)
def test_another_name_is_turned_away(free: Served, host: str) -> None:
    answer = free.client.post("/do", headers={"Host": host})
    assert answer.status_code == 421
    assert "name" in answer.text


def test_two_hosts_are_turned_away(free: Served) -> None:
    request = "GET /do HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert b" 400 " in free.raw(request).splitlines()[0]


def test_a_server_on_every_address_is_called_by_the_machine_s_name_too() -> None:
    own = socket.gethostname().lower().partition(".")[0]
    assert allowed_names("127.0.0.1") == {"localhost", "127.0.0.1"}
    assert {own, f"{own}.local", "localhost"} <= allowed_names("0.0.0.0")  # noqa: S104
    assert "0.0.0.0" not in allowed_names("0.0.0.0")  # noqa: S104


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"])
def test_what_only_this_machine_reaches(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "robot.local", "", "127.0.0.1.evil.example"])  # noqa: S104
def test_what_others_reach_too(host: str) -> None:
    assert not is_loopback(host)


# --- pages of other sites -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:PORT", "http://127.0.0.1:1", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_site_reaches_nothing(free: Served, locked: Served, origin: str, method: str) -> None:
    for served in (free, locked):
        headers = {"Origin": origin.replace("PORT", str(served.port)), "Authorization": f"Bearer {TOKEN}"}
        assert served.client.request(method, "/do", headers=headers).status_code == 403
        assert served.client.request(method, "/", headers=headers).status_code == 403


def test_the_own_page_and_programs_reach_all(free: Served) -> None:
    own = {"Origin": f"http://127.0.0.1:{free.port}", "Sec-Fetch-Site": "same-origin"}
    assert free.client.post("/do", headers=own, content=b"abc").text == "POST 3"
    assert free.client.post("/do").text == "POST 0"
    assert free.client.get("/do", headers={"Sec-Fetch-Site": "none"}).text == "GET 0"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_what_a_browser_loads_for_another_site_without_an_origin_is_turned_away(free: Served, site: str) -> None:
    for path in ("/", "/do"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        assert free.client.get(path, headers=headers).status_code == 403


def test_only_the_page_itself_may_be_followed_from_a_link(free: Served) -> None:
    assert free.client.get("/", headers=NAVIGATION).status_code == 200
    assert free.client.get("/do", headers=NAVIGATION).status_code == 403
    assert free.client.post("/", headers=NAVIGATION).status_code == 403
    assert free.client.get("/", headers={**NAVIGATION, "Sec-Fetch-Dest": "iframe"}).status_code == 403


def test_no_other_site_is_ever_told_that_it_may(free: Served) -> None:
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = free.client.options("/do", headers=preflight)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


# --- the token ------------------------------------------------------------------------------------------------------


def test_the_token_opens_and_nothing_else_does(locked: Served) -> None:
    assert locked.client.get("/do", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    wrong = ["", "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"]
    for given_ in wrong:
        answer = locked.client.get("/do", headers=[(b"Authorization", given_.encode("latin-1"))])
        assert answer.status_code == 401, given_
        assert answer.headers["www-authenticate"] == "Bearer"
    assert locked.client.get("/do", params={"token": TOKEN}).status_code == 401
    assert locked.client.get("/do", headers={"Cookie": f"token={TOKEN}"}).status_code == 401


def test_the_page_itself_needs_no_token_but_only_to_be_read(locked: Served) -> None:
    assert locked.client.get("/").status_code == 200
    assert locked.client.head("/").status_code == 200
    assert locked.client.post("/").status_code == 401


def test_two_tokens_are_turned_away(locked: Served) -> None:
    twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x")]
    assert locked.client.get("/do", headers=twice).status_code == 400


def test_a_token_is_long_and_new() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert all(len(token) >= 32 for token in (new_token() for _ in range(100)))


def test_a_kept_token_is_the_same_again_and_nobody_else_s_to_read(tmp_path: Path) -> None:
    path = tmp_path / "state" / "token"
    token = kept_token(path)
    assert kept_token(path) == token
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="other users may read"):
        kept_token(path)


def test_a_token_that_found_no_room_is_made_once_there_is_some(tmp_path: Path) -> None:
    path = tmp_path / "token"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(ConfigError, match="cannot be kept"):
            kept_token(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
    assert kept_token(path) == kept_token(path)


@pytest.mark.parametrize("text", [b"", b"short", b"x" * 40 + b" y", b"\xff" * 40, "é".encode() * 40])
def test_a_file_without_a_token_is_told(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="holds no token"):
        kept_token(path)


def test_a_token_that_can_not_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be kept"):
        kept_token(tmp_path / "file" / "token")


# --- garbage, and too much ------------------------------------------------------------------------------------------


def test_a_body_has_a_limit_whether_its_length_is_told_or_not(free: Served) -> None:
    assert free.client.post("/do", content=b"x" * 1000).text == "POST 1000"
    assert free.client.post("/do", content=b"x" * 1001).status_code == 413
    assert free.client.post("/do", content=iter([b"x" * 500] * 3)).status_code == 413
    assert free.client.post("/do", content=iter([b"x" * 500] * 2)).text == "POST 1000"


def test_who_sends_a_body_that_was_refused_already_gets_the_answer(free: Served) -> None:
    head = "POST /do HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", free.port), LIMIT_S) as client:
        client.sendall(head.encode())
        assert client.recv(1) == b"H"  # the answer has been sent
        for _ in range(10):
            client.sendall(b"x" * 100_000)
        rest = client.makefile("rb").read()
    assert rest.startswith(b"TTP/1.1 413 ")
    assert rest.endswith(b" bytes\n")


def test_garbage_behind_a_body_that_was_refused_ends_the_connection(
    free: Served, caplog: pytest.LogCaptureFixture
) -> None:
    head = "POST /do HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", free.port), LIMIT_S) as client:
        client.sendall(f"{head}5dc\r\n{'x' * 1500}\r\n".encode())
        assert client.recv(1) == b"H"
        client.sendall(b"ZZ\r\n")
        with suppress(ConnectionResetError):
            while client.recv(65536):
                pass
    assert free.client.get("/do").text
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("header", "begun", "garbage"),
    [
        ("Connection: close", True, b"\x00\xff no HTTP\r\n\r\n"),
        ("Transfer-Encoding: chunked", False, b"ZZ\r\n"),
    ],
    ids=["in an answer", "before an answer"],
)
def test_garbage_while_an_answer_is_made_ends_the_connection_and_tells_no_error(
    header: str, begun: bool, garbage: bytes, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    goes_on: list[asyncio.Event] = []

    async def pieces() -> AsyncIterator[bytes]:
        if begun:
            yield b"first"
        await goes_on[0].wait()
        yield b"second"

    async def answer(request: Request) -> Response:
        goes_on.append(asyncio.Event())
        asked.set()
        return StreamingResponse(pieces()) if begun else Response(b"".join([piece async for piece in pieces()]))

    connection: Any = configured(answer, connections=1).http
    takes = connection.data_received

    def at_once(self: Any, data: bytes) -> None:
        """Has the answer go on in the same turn of the loop in which the garbage comes."""
        for event in goes_on:
            event.set()
        takes(self, data)

    monkeypatch.setattr(connection, "data_received", at_once)
    served = Served(Starlette(routes=[Route("/", answer)]))
    try:
        with socket.create_connection(("127.0.0.1", served.port), LIMIT_S) as client:
            client.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
            assert asked.wait(LIMIT_S)
            told = b""
            while begun and not told.endswith(b"first\r\n"):
                told += client.recv(65536)
            client.sendall(garbage)
            with suppress(ConnectionResetError):
                while client.recv(65536):
                    pass
    finally:
        served.close()
    assert caplog.text == ""


def test_a_body_that_is_announced_as_huge_is_not_waited_for(free: Served) -> None:
    head = "POST /do HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    assert b" 413 " in free.raw(head).splitlines()[0]


def test_every_answer_tells_the_browser_to_keep_to_itself(free: Served, locked: Served) -> None:
    answers = [free.client.get("/do"), locked.client.get("/do"), free.client.get("/", headers={"Host": "evil.example"})]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@settings(max_examples=30)
@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=30))
def test_no_garbage_in_host_passes_or_breaks(free: Served, host: str) -> None:
    status = free.raw(f"GET /do HTTP/1.1\r\nHost: x{host}\r\nConnection: close\r\n\r\n").splitlines()[0]
    assert b" 421 " in status or b" 400 " in status
