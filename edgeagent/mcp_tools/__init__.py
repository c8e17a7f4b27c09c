"""Tools of other programs, which speak the Model Context Protocol: their servers, and their tools as an agent's."""

from __future__ import annotations

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "offered_tools": "LeftOut as_result offered readable",
        "server_settings": "ServerSettings checked_settings need_package",
        "tool_servers": "ToolServers",
    },
)
