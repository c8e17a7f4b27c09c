"""The answer to a question of a tool, and what there is when none came."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

from edgeagent.errors import EdgeAgentError


class Unanswered(EdgeAgentError):
    """A question got no answer; the text says why."""


class Answer(SimpleQueue[Any]):
    """Receives the answer to a question by ``put(x)``, from any thread; the first counts."""
