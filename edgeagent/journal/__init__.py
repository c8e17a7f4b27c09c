"""A conversation's history on disk."""

from edgeagent.journal.journal import Durability, Journal
from edgeagent.journal.recovery import Recovered

__all__ = ["Durability", "Journal", "Recovered"]
