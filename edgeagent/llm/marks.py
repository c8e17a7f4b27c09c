"""Ends of the parts of a prompt that can be shared: an agent's system prompt and tools, and its conversation so far.

Found by rendering, because only the template knows: requests that agree up to there are made, and what their ids have
in common is what they share, however the template and the tokeniser work.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from edgeagent.errors import ModelError
from edgeagent.llm.engine import common_prefix
from edgeagent.llm.prompt import Prompt, Prompter
from edgeagent.llm.protocol import LLMRequest
from edgeagent.messages import Message

_OPENINGS: Final = ("a", "\n1")  # what people may begin with
_KEPT: Final = 32


@dataclass(frozen=True, slots=True)
class Marks:
    """Places in a prompt, in ids from its beginning."""

    prefix: int = 0
    """The end of the system prompt and the tools."""
    history: int = 0
    """The end of what the next prompt of this conversation repeats; 0 where nobody asked."""


class Marker:
    """Finds the marks of requests to one model. Only the generating thread uses it."""

    def __init__(self, prompter: Prompter, *, history: bool) -> None:
        """Make one.

        Args:
            prompter: Makes the prompts.
            history: Also find the end of the history; only models that can't roll back need it, and it costs another
                rendering for each request.
        """
        self._prompter = prompter
        self._history = history
        self._prefixes: OrderedDict[str, list[int]] = OrderedDict()

    def find(self, request: LLMRequest, prompt: Prompt) -> Marks:
        """The marks of a request and its prompt."""
        prefix = common_prefix(self._prefix(request), prompt.ids)
        if not self._history:
            return Marks(prefix)
        later = (*request.messages, Message.assistant("a"), Message.user("a"))
        return Marks(prefix, max(prefix, common_prefix(self._ids(replace(request, messages=later)), prompt.ids)))

    def _prefix(self, request: LLMRequest) -> list[int]:
        """Find the ids with which every prompt with this system prompt and these tools begins."""
        tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
        key = json.dumps((request.system, tools, request.thinking_level), sort_keys=True, default=str)
        if key not in self._prefixes:
            first, *others = (self._ids(replace(request, messages=[Message.user(opening)])) for opening in _OPENINGS)
            self._prefixes[key] = first[: min(common_prefix(first, other) for other in others)]
            if len(self._prefixes) > _KEPT:
                self._prefixes.popitem(last=False)
        self._prefixes.move_to_end(key)
        return self._prefixes[key]

    def _ids(self, request: LLMRequest) -> list[int]:
        try:
            return self._prompter.make(request).ids
        except ModelError:  # this template refuses such a conversation, so nothing is known of what is shared
            return []
