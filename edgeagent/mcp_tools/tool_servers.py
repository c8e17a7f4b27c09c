"""All servers of tools of an agent: one thread with one event loop, and the tools in the agent's registry.

Lists that change are followed between runs: a hook at the start of a run brings the registry up to date.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import anyio

from edgeagent.context import AgentContext
from edgeagent.hooks.hook import BaseHook, FirePoint, HookResult
from edgeagent.mcp_tools.offered_tools import ServedTool
from edgeagent.mcp_tools.server_settings import ServerSettings
from edgeagent.mcp_tools.tool_server import ToolServer
from edgeagent.tools import Tool, ToolRegistry

READY_S: Final = 10.0
"""Seconds that the first run waits for servers that start. The tools of a slower one come with a later run."""
CLOSE_MAX_S: Final = 1.3
"""Seconds for all servers to end, side by side. The thread is left then, and the system ends its processes."""

logger = logging.getLogger(__name__)


class ToolServers:
    """Starts servers at once, and keeps them until ``close``.

    Args:
        settings: The servers.
    """

    def __init__(self, settings: Sequence[ServerSettings]) -> None:
        for name in ("mcp", "client"):  # the SDK's loggers, which tell of every message that does not fit
            sdk = logging.getLogger(name)
            if sdk.level == logging.NOTSET:
                sdk.setLevel(logging.CRITICAL)
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._servers = [ToolServer(one, self._loop, self._on_change) for one in settings]
        self._closing: anyio.CancelScope | None = None
        self._closed = False
        self._told: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="mcp-tools", daemon=True)
        self._thread.start()

    @property
    def notes(self) -> list[str]:
        """Sentences about servers that do not work and tools that are left out. Warnings of them were logged, but for
        servers that still start for the first time."""
        found = []
        for server in self._servers:
            told = [server.state, *server.left_out] if server.state else server.left_out
            found += [f"MCP server {server.settings.name}: {sentence}" for sentence in told]
        return found

    @property
    def starting(self) -> list[str]:
        """Names of the servers that still start for the first time."""
        return [server.settings.name for server in self._servers if not server.settled]

    @property
    def alive(self) -> bool:
        """True until the thread of the servers has ended."""
        return self._thread.is_alive()

    def wait(self, timeout_s: float = READY_S) -> bool:
        """Waits until every server is ready or given up; False when the time was over first."""
        with self._changed:
            return self._changed.wait_for(lambda: all(server.settled for server in self._servers), timeout_s)

    def follow(self, registry: ToolRegistry) -> ServerToolsHook:
        """Adds the tools to an agent's registry. Returns the hook that keeps them as the servers have them."""
        hook = ServerToolsHook(self, registry)
        hook.update()
        return hook

    def tools(self) -> list[ServedTool]:
        """The tools that there are now."""
        return [tool for server in self._servers for tool in server.tools]

    def has_made(self, tool: Tool) -> bool:
        """True for a tool of one of these servers, be it gone."""
        return isinstance(tool, ServedTool) and any(tool.served_by is server.settings for server in self._servers)

    def warn(self, sentence: str) -> None:
        """Warns once of something."""
        if sentence not in self._told:
            self._told.add(sentence)
            logger.warning("%s", sentence)

    def close(self) -> None:
        """Ends the servers. Waits for them only so long. Safe to call again, on any thread."""
        with self._changed:
            closing, self._closed = self._closing, True
        if closing is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(closing.cancel)
        self._thread.join(CLOSE_MAX_S)
        if self._thread.is_alive():
            logger.warning("a server of tools has not ended in time; it is left behind")

    def _on_change(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with anyio.create_task_group() as group:
            with self._changed:
                if self._closed:
                    return
                self._closing = group.cancel_scope
            for server in self._servers:
                group.start_soon(server.run)
            await asyncio.Event().wait()


class ServerToolsHook(BaseHook):
    """Keeps the tools of servers in one registry, as the servers have them when a run starts."""

    points = frozenset({FirePoint.ON_RUN_START})
    priority = 100

    def __init__(self, servers: ToolServers, registry: ToolRegistry) -> None:
        self._servers, self._registry = servers, registry

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult | None:
        """Brings the registry up to date, but not that of another agent in the same run."""
        if ctx.tool_registry is self._registry:
            self.update()
        return None

    def update(self) -> None:
        """Takes tools away that are gone, and adds new ones. The app's own tools keep their names."""
        wanted = self._servers.tools()
        for tool in self._registry:
            if self._servers.has_made(tool) and not any(tool is other for other in wanted):
                self._registry.remove(tool.name)
        for tool in wanted:
            known = self._registry.get(tool.name)
            if known is None:
                self._registry.add(tool)
            elif known is not tool:
                name = tool.served_by.name
                self._servers.warn(f"MCP server {name}: {tool.name} is left out: another tool has this name")
