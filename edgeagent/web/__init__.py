"""The page served from the robot: who may reach a server of the robot, and what the page shows and asks for."""

from __future__ import annotations

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "access": "Access allowed_names is_loopback kept_token new_token",
        "feed": "BEAT_S Feed PageActions Question",
        "inbox": "LIMIT Inbox Note",
        "page": "MAP_S MOST_PAGES MOST_TYPED_CHARS OPEN_PATHS STOPPED_BY Page",
        "server": "AddressError WebServer configured listen own_addresses",
        "story": "KEPT Story",
    },
)
