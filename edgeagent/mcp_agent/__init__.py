"""The agent as a server of the Model Context Protocol: other programs ask it, have it speak, and stop it."""

from __future__ import annotations

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "agent_server": "AgentDoor protocol_server",
        "loudspeaker": "Loudspeaker",
        "serving": "Serving",
    },
)
