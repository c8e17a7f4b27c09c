"""A conversation's history on disk."""

from edgeagent.front import front
from edgeagent.journal.backlog import Backlog
from edgeagent.journal.journal import Durability, Journal
from edgeagent.journal.records import Recovered

__all__ = ["Backlog", "Durability", "Journal", "Recovered"]

__getattr__ = front(
    __name__,
    {
        "journal": "is_in_use",
        "records": "FORMAT Record",
        "shelf": "KeptSession Shelf",
    },
)
