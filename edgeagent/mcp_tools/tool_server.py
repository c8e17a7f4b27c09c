"""One server of tools: its connection, which is made again when it breaks, its list of tools, and calls.

Runs in the event loop of the thread ``mcp-tools``, but ``call``, which waits on the thread of a tool's body. Knows no
agent: ``on_change`` is told of another list of tools.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import mcp_types
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from edgeagent.characters import encodable
from edgeagent.errors import EdgeAgentError
from edgeagent.mcp_tools.offered_tools import TOLD_MAX, LeftOut, ServedTool, as_result, offered, one_line
from edgeagent.mcp_tools.server_links import Ended, http_link, process_link
from edgeagent.mcp_tools.server_questions import OpenCall
from edgeagent.mcp_tools.server_settings import ServerSettings
from edgeagent.messages import ToolResult
from edgeagent.stop import STOP_POLL_S
from edgeagent.tools import ToolContext

START_MAX_S: Final = 30.0
"""Seconds from the start of a server to its list of tools; what takes longer is ended and started again."""
STARTS_MAX: Final = 5
"""Starts in a row that fail, before a process is given up. A server that is reached by a URL is never given up."""
STEADY_S: Final = 30.0
"""Seconds after which a connection counts as a good one, so that the count of starts begins anew."""
BACKOFF_S: Final = 0.5
"""Seconds until the first new start; each next one waits twice as long."""
BACKOFF_MAX_S: Final = 30.0
TOOLS_MAX: Final = 64
"""Tools of one server. Each costs the model's window."""
PAGES_MAX: Final = 16
"""Pages of a list of tools."""
WHY_S: Final = 0.5
"""Seconds that a call which failed takes to find out whether its server is there still."""
_BROKEN: Final = frozenset({mcp_types.CONNECTION_CLOSED, mcp_types.INTERNAL_ERROR, mcp_types.INVALID_REQUEST})
"""Codes of errors that may mean that the connection is lost."""

logger = logging.getLogger(__name__)


def pause_s(failed: int) -> float:
    """Seconds until the next start, after so many in a row that failed; at least one."""
    return float(min(BACKOFF_S * 2 ** min(failed - 1, 16), BACKOFF_MAX_S))


class ToolServer:
    """A server of the settings.

    Args:
        settings: How to reach it.
        loop: The event loop in which all servers run.
        on_change: Called when ``tools`` are others, or the server is ready or given up.
    """

    def __init__(
        self, settings: ServerSettings, loop: asyncio.AbstractEventLoop, on_change: Callable[[], object]
    ) -> None:
        self.settings = settings
        self.tools: tuple[ServedTool, ...] = ()
        """Its tools as an agent's; those of its last list while it is started again, none once it is given up."""
        self.left_out: tuple[str, ...] = ()
        """Sentences about tools that the agent can't have."""
        self.state = "it is starting"
        """Sentence about a server that is not connected; empty for one that is."""
        self.warned = ""
        """The last state of which a warning was logged."""
        self.settled = False
        """True once it was connected, or has failed."""
        self._loop, self._on_change = loop, on_change
        self._client: Client | None = None
        self._connected_s = math.inf
        """Time in the loop at which the server was connected."""
        self._ended = Ended()
        self._specs: dict[str, tuple[mcp_types.Tool, ServedTool]] = {}
        self._open: list[OpenCall] = []
        """Calls whose bodies wait, the newest last."""

    async def run(self) -> None:
        """Keeps the server connected until it is given up. Ends by cancellation."""
        try:
            await self._keep_connected()
        except Exception as error:
            logger.exception("MCP server %s", self.settings.name)
            self._give_up(f"edgeagent failed at it, {self._told(error)}, and gave it up")

    async def _keep_connected(self) -> None:
        failed = 0
        while True:
            self._connected_s = math.inf
            why = await self._connect()
            self._client, self.state = None, why
            failed = 1 if self._loop.time() - self._connected_s >= STEADY_S else failed + 1
            if self.settings.command and failed >= STARTS_MAX:
                self._give_up(f"{why}; it was started {failed} times, and is given up")
                return
            self.state = f"{why}; it is being {'started' if self.settings.command else 'connected'} again"
            if self.state != self.warned:
                self.warned = self.state
                logger.warning("MCP server %s: %s", self.settings.name, self.state)
            self.settled = True  # nobody waits for a server that fails
            self._on_change()
            await asyncio.sleep(pause_s(failed))

    def _give_up(self, why: str) -> None:
        self.state = self.warned = why
        self.tools, self._specs, self.settled = (), {}, True
        logger.error("MCP server %s: %s", self.settings.name, why)
        self._on_change()

    async def _connect(self) -> str:
        """Connects, and serves until the connection ends. Returns why it ended."""
        self._ended = ended = Ended()
        link = process_link(self.settings, ended) if self.settings.command else http_link(self.settings)
        changed = asyncio.Event()
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + START_MAX_S) as scope:
                client = Client(
                    link,
                    message_handler=partial(self._notified, changed),
                    elicitation_callback=self._asked,
                    cache=None,
                )
                async with client, anyio.create_task_group() as group:
                    await self._list(client)
                    scope.deadline = math.inf
                    self._connected_s = self._loop.time()
                    self._client, self.state, self.settled, self.warned = client, "", True, ""
                    self._on_change()
                    group.start_soon(self._follow, client, changed)
                    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        group.start_soon(self._listen, client, changed)
                    await ended.wait()
                    self._client, self.state = None, ended.why
                    group.cancel_scope.cancel()
        except Exception as error:
            logger.debug("MCP server %s", self.settings.name, exc_info=True)
            return ended.why or self._told(error)
        if scope.cancelled_caught:
            return f"it did not get ready within {START_MAX_S:g} s"
        return ended.why

    async def _notified(self, changed: asyncio.Event, message: object) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            changed.set()

    async def _asked(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        """Has the person of a call answer a question of the server; the newest call, where several are open, because
        the protocol does not say which. Without a call nobody is asked."""
        calls = self._open[-1:]
        return await calls[0].put(params) if calls else mcp_types.ElicitResult(action="decline")

    async def _listen(self, client: Client, changed: asyncio.Event) -> None:
        """Asks a server of the newer protocol to tell of another list; one that does not serve that has only one."""
        with suppress(Exception):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    changed.set()

    async def _follow(self, client: Client, changed: asyncio.Event) -> None:
        """Reads the list of tools again whenever the server has another one, once a second at most."""
        while True:
            await changed.wait()
            changed.clear()
            try:
                with anyio.fail_after(START_MAX_S):
                    await self._list(client)
            except (MCPError, TimeoutError, ValueError) as error:
                logger.warning("MCP server %s: its tools cannot be listed: %s", self.settings.name, error)
            else:
                self._on_change()
            await asyncio.sleep(1.0)

    async def _list(self, client: Client) -> None:
        """Reads the server's tools. One that has not changed stays the same object."""
        specs: list[mcp_types.Tool] = []
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            page = await client.list_tools(cursor=cursor)
            specs += page.tools
            cursor = page.next_cursor
            if cursor is None or len(specs) > TOOLS_MAX:
                break
        known, self._specs = self._specs, {}
        kept = specs[:TOOLS_MAX]
        has_more = cursor is not None or len(specs) > len(kept)
        left_out = [f"it has more than {len(kept)} tools; the others are left out"] if has_more else []
        for spec in kept:
            try:
                before = known.get(spec.name)
                made = before[1] if before and before[0] == spec else offered(self.settings, spec, self.call)
                if any(made.name == other.name for _, other in self._specs.values()):
                    raise LeftOut(f"it has two tools that would be called {made.name}")
            except EdgeAgentError as error:
                left_out.append(f"{one_line(spec.name, TOLD_MAX)} is left out: {error}")
            else:
                self._specs[spec.name] = (spec, made)
        for sentence in left_out:
            if sentence not in self.left_out:
                logger.warning("MCP server %s: %s", self.settings.name, sentence)
        self.tools, self.left_out = tuple(made for _, made in self._specs.values()), tuple(left_out)

    # --- on the thread of a body ------------------------------------------------------------------------------------

    def call(self, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Calls a tool and waits for its result. The stop of the call cancels it at the server too.

        What the server asks meanwhile is put to the person; the time of the call goes on.
        """
        open_call = OpenCall(self.settings.name, context)
        self._open.append(open_call)
        try:
            return self._wait(name, arguments, context, open_call)
        finally:
            self._open.remove(open_call)
            open_call.close()

    def _wait(self, name: str, arguments: dict[str, Any], context: ToolContext, open_call: OpenCall) -> ToolResult:
        calling = self._call(name, arguments, context)
        try:
            pending = asyncio.run_coroutine_threadsafe(calling, self._loop)
        except RuntimeError:
            calling.close()
            return ToolResult.error(f"the server {self.settings.name} was closed")
        while True:
            try:
                return pending.result(timeout=STOP_POLL_S)
            except TimeoutError:
                open_call.serve()
                if context.should_stop():
                    pending.cancel()
                    return ToolResult.error(f"{context.name} was stopped; nobody knows how far it got")
            except CancelledError:
                return ToolResult.error(f"the server {self.settings.name} was closed during the call")

    async def _call(self, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        client, ended, server = self._client, self._ended, self.settings.name
        if client is None:
            return ToolResult.error(f"the server {server} does not work: {self.state}")

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            context.progress(one_line(message, TOLD_MAX) if message else share)

        try:
            return as_result(await client.call_tool(name, encodable(arguments), progress_callback=tell))
        except Exception as error:  # noqa: BLE001 - whatever a server brings about is a result
            if not isinstance(error, MCPError) or error.code in _BROKEN:
                with anyio.move_on_after(WHY_S):
                    await self._broken(client, ended)
            if ended.why:
                return ToolResult.error(f"the server {server} failed during the call, which may be done: {ended.why}")
            return ToolResult.error(one_line(str(error), 4 * TOLD_MAX) or type(error).__name__)

    async def _broken(self, client: Client, ended: Ended) -> None:
        """Finds out after a call that failed whether the connection is there still."""
        if not self.settings.command:
            try:
                await client.list_tools()
            except Exception as error:  # noqa: BLE001 - another connection may do better
                ended.set(self._told(error))
        await ended.wait()

    def _told(self, error: BaseException) -> str:
        """The first error of a group, in words."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        text = one_line(str(error), TOLD_MAX) or type(error).__name__
        parts = urlsplit(self.settings.url)
        return f"{parts.netloc}{parts.path} cannot be reached: {text}" if self.settings.url else text
