"""The page as an application of Starlette: its files, the events that it shows, and what it asks for.

Commands come by POST with a JSON object, events go out as server-sent events. Runs in the event loop of the server's
thread, which waits for nothing: what a command calls runs on a thread of its own, so that a stop waits for no other.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from edgeagent.errors import EdgeAgentError
from edgeagent.json_lines import json_text
from edgeagent.web.feed import Feed, PageActions

_log = logging.getLogger(__name__)

MOST_PAGES: Final = 16
"""Pages that are told of events at once; another one is answered with 503."""
MOST_COMMANDS: Final = 16
"""Commands at work at once, stops aside; another one is answered with 503."""
MAP_S: Final = 0.6
"""Seconds for which a map is new enough; to draw one takes tens of milliseconds of a core."""
MOST_TYPED_CHARS: Final = 2000
"""Characters of a line that is typed into the page."""
STOPPED_BY: Final = "stop button of the page"
"""The latch's reason."""
_FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/preact.js": ("preact.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
OPEN_PATHS: Final = frozenset(_FILES)
"""Paths that hold no secret."""


class Page:
    """Routes of the page of one conversation.

    Args:
        feed: What is told to pages.
        door: What pages may ask for.
    """

    def __init__(self, feed: Feed, door: PageActions) -> None:
        self._feed, self._door = feed, door
        self._pages = self._commands = 0
        self._drawing = asyncio.Lock()
        self._drawn: tuple[str, bytes] | None = None
        self._drawn_s = 0.0

    def application(self) -> Starlette:
        """The application. Its lifespan is that of the feed."""
        folder = files("edgeagent.web") / "static"
        routes = [
            Route(path, partial(_file, (folder / name).read_bytes(), kind)) for path, (name, kind) in _FILES.items()
        ]
        routes += [
            Route("/api/events", self._events),
            Route("/api/picture", self._picture),
            Route("/api/map", self._map),
        ]
        commands = {"stop": self._stop, "continue": self._continue, "say": self._say, "answer": self._answer}
        commands["mute"] = self._mute
        routes += [Route(f"/api/{name}", command, methods=["POST"]) for name, command in commands.items()]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._feed.run())
        try:
            yield
        finally:
            task.cancel()

    # --- told -------------------------------------------------------------------------------------------------------

    async def _events(self, request: Request) -> Response:
        if self._pages >= MOST_PAGES:
            raise HTTPException(503, f"{MOST_PAGES} pages look on already")
        return StreamingResponse(self._told(), media_type="text/event-stream")

    async def _told(self) -> AsyncIterator[bytes]:
        self._pages += 1
        try:
            beginning = {"robot": self._door.name, "model": self._door.model, "can": self._can()}
            async for news in self._feed.page():
                # half a character, which a tool may return, goes as JSON's escape of it
                yield f"data: {json_text({**beginning, **news})}\n\n".encode(errors="backslashreplace")
                beginning = {}
        finally:
            self._pages -= 1

    def _can(self) -> dict[str, bool]:
        door = self._door
        return {"say": door.enter is not None, "mute": door.mute is not None, "aloud": door.aloud}

    async def _picture(self, request: Request) -> Response:
        """Answers with the newest picture of a tool."""
        return _shown(self._feed.story.picture)

    async def _map(self, request: Request) -> Response:
        """Answers with the map as it was within ``MAP_S``, drawn once for all pages."""
        if self._door.draw_map is None:
            return _shown(None)
        async with self._drawing:
            if self._drawn is None or time.monotonic() - self._drawn_s >= MAP_S:
                self._drawn = await self._call(self._door.draw_map)
                self._drawn_s = time.monotonic()
            return _shown(self._drawn)

    # --- asked for --------------------------------------------------------------------------------------------------

    async def _stop(self, request: Request) -> Response:
        """Stops, whatever the body is and whatever else is at work, another stop included: motion may be allowed again
        between the two."""
        self._feed.stopped()
        try:
            stop = partial(self._door.stop, STOPPED_BY)
            try:
                stopping = _on_thread(stop)
            except RuntimeError:  # the system has no thread left; a stop must not fail for that
                stop()
            else:
                await asyncio.shield(stopping)
        except Exception as error:
            _log.exception("the stop button of the page failed")
            raise HTTPException(500, "the stop failed") from error
        return JSONResponse({"latch": str(self._door.latch.state)})

    async def _continue(self, request: Request) -> Response:
        """Allows motion after the stop that the page knows of, and not after one that comes meanwhile."""
        self._check_stops(await _fields(request))
        known = self._feed.stops
        moves = await self._call(self._door.move_again)
        if self._feed.stops != known:
            return await self._stop(request)
        return JSONResponse({"moves": moves, "latch": str(self._door.latch.state)})

    async def _say(self, request: Request) -> Response:
        if (enter := self._door.enter) is None:
            raise HTTPException(409, "this robot takes no lines from the page")
        fields = await _fields(request)
        text = _text_of(fields)
        if "stops" in fields:
            self._check_stops(fields)
        if text:
            await self._call(partial(enter, text))
        return JSONResponse({})

    async def _answer(self, request: Request) -> Response:
        fields = await _fields(request)
        text = _text_of(fields)
        if (answer := self._door.answer) is None or type(number := fields.get("question")) is not int:
            raise HTTPException(400, "an answer needs the number of a question")
        if not await self._call(partial(answer, number, text)):
            raise HTTPException(409, "that is no answer, or the question is over")
        return JSONResponse({})

    async def _mute(self, request: Request) -> Response:
        fields = await _fields(request)
        if (mute := self._door.mute) is None or not isinstance(on := fields.get("on"), bool):
            raise HTTPException(400, "mute needs on: true or false, and a robot that speaks")
        await self._call(partial(mute, on))
        return JSONResponse({})

    def _check_stops(self, fields: dict[str, Any]) -> None:
        """Refuses what was asked before a stop and comes after it: it may be "continue".

        Raises:
            HTTPException: The number of the newest stop is not the one that the page knew.
        """
        if type(known := fields.get("stops")) is not int or known != self._feed.stops:
            raise HTTPException(409, "a stop came meanwhile")

    async def _call(self, function: Callable[[], Any]) -> Any:
        """Calls a function of the door on a thread of its own. What it refuses is told to the page."""
        if self._commands >= MOST_COMMANDS:
            raise HTTPException(503, "too much is asked at once")
        try:
            done = _on_thread(function)
        except RuntimeError as error:
            raise HTTPException(503, "the system has no thread left") from error
        self._commands += 1
        done.add_done_callback(self._done)
        try:
            return await asyncio.shield(done)
        except EdgeAgentError as error:
            raise HTTPException(409, str(error)) from error

    def _done(self, done: asyncio.Future[Any]) -> None:
        self._commands -= 1
        if not done.cancelled():
            done.exception()  # somebody has looked, also where the page is gone


async def _file(body: bytes, kind: str, request: Request) -> Response:
    return Response(body, media_type=kind)


def _shown(picture: tuple[str, bytes] | None) -> Response:
    if picture is None:
        raise HTTPException(404, "there is no picture")
    return Response(picture[1], media_type=picture[0])


async def _fields(request: Request) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        HTTPException: There is none. A form of another site's can't send JSON without being asked for its origin.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "the body has to be application/json")
    try:
        fields = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is no JSON") from error
    if not isinstance(fields, dict):
        raise HTTPException(400, "the body is no JSON object")
    return fields


def _text_of(fields: dict[str, Any]) -> str:
    if not isinstance(text := fields.get("text"), str):
        raise HTTPException(400, "text is missing")
    if len(text) > MOST_TYPED_CHARS:
        raise HTTPException(413, f"a line has at most {MOST_TYPED_CHARS} characters")
    return text


def _on_thread(function: Callable[[], Any]) -> asyncio.Future[Any]:
    """Calls a function on a thread that nobody waits for at the end of the program."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        try:
            settle = partial(_settle, done, result=function())
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            settle = partial(_settle, done, error=error)
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the server has ended meanwhile
            _log.debug("a command of the page ended after its server")

    threading.Thread(target=work, name="web-command", daemon=True).start()
    return done


def _settle(done: asyncio.Future[Any], result: Any = None, error: Exception | None = None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
