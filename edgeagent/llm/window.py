"""The room that a model's window has for a prompt and its reply. Knows nothing of agents or hooks."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from operator import is_
from typing import Any, Final

from edgeagent.errors import ModelError
from edgeagent.llm.protocol import LLM, LLMRequest, ToolSpec
from edgeagent.messages import Message

_OF_TEMPLATE: Final = 512
"""Tokens that a chat template may add of its own, such as how to call tools."""
_OF_MESSAGE: Final = 64
"""Tokens that it may add to a message, and to each call of one."""
_FLAT: Final = 2
"""Opening brackets of JSON up to which the size of its indented form is estimated, because writing it takes longer."""


def check_length(tokens: int, reply_tokens: int, limit: int, of: str) -> None:
    """Refuses a prompt that leaves no room for its reply.

    Args:
        limit: Tokens of prompt and reply together.
        of: Name of the limit, for the error.

    Raises:
        ModelError: The prompt is too long.
    """
    if tokens + reply_tokens > limit:
        raise ModelError(
            f"the prompt has {tokens} tokens, and with a reply of up to {reply_tokens} it does not fit into "
            f"{of}: shorten the conversation or the tools, or lower max_tokens"
        )


def check_window(llm: LLM, request: LLMRequest, *, sizes: RequestSizes | None = None) -> None:
    """Refuses a request that does not fit into the window of a model; one with ``checks_window`` does so itself.

    Args:
        sizes: What was measured of earlier requests.

    Raises:
        ModelError: The prompt is too long.
    """
    window = llm.context_window
    if getattr(llm, "checks_window", False):
        return
    if (sizes or RequestSizes()).may_exceed(
        window - request.max_tokens, request.system, request.tools, request.messages
    ):
        check_length(llm.count_tokens(request), request.max_tokens, window, f"the context window of {window}")


class RequestSizes:
    """Upper bounds of requests, made without a tokeniser: no token of a text stands for less than a byte of it.

    What was measured once is remembered, so that a turn costs what is new in it.
    """

    def __init__(self) -> None:
        self._rest: tuple[Any, int] = (None, 0)
        """The system prompt and the tools, and their size."""
        self._messages: dict[str, tuple[Message, int]] = {}
        """By the message's id: the message and its size."""
        self._fitted: tuple[list[Message], int] = ([], 0)
        """The messages that certainly fitted last, and their size; the next request mostly begins with them."""
        self._arguments: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
        """By the message's id: those of its calls, the only thing in it that a hook can change in place; and copies."""

    def may_exceed(
        self, limit: int, system: str | None, tools: Sequence[ToolSpec], messages: Sequence[Message]
    ) -> bool:
        """False if a request of these certainly has no more tokens than that. No more is measured than that takes."""
        rest = (system, [(tool.name, tool.description, tool.parameters) for tool in tools])
        written = self._rest
        if written[0] != rest:
            written = self._rest = copy.deepcopy(rest), len(_as_json(rest))
        size = written[1] + _OF_TEMPLATE
        if any(arguments != copies for arguments, copies in self._arguments.values()):
            self._messages.clear()
            self._arguments.clear()
            self._fitted = [], 0
        begun, of_begun = self._fitted
        if len(begun) > len(messages) or not all(map(is_, begun, messages)):
            begun, of_begun = [], 0
        own = size
        size += of_begun
        for message in reversed(messages[len(begun) :]):
            if size > limit:
                return True
            known = self._messages.get(message.id)
            if known is None or known[0] is not message:
                known = self._measured(message)
            size += known[1]
        if size > limit:
            return True
        self._fitted = list(messages), size - own
        return False

    def _measured(self, message: Message) -> tuple[Message, int]:
        if message.tool_calls:
            arguments = [call.arguments for call in message.tool_calls]
            self._arguments[message.id] = arguments, [call.copy().arguments for call in message.tool_calls]
        known = self._messages[message.id] = message, _size(message)
        return known


def _size(message: Message) -> int:
    """Characters that a template writes of a message, at most."""
    texts = [message.text, message.call_id, message.name]
    size = _OF_MESSAGE * (1 + len(message.tool_calls))
    for call in message.tool_calls:
        texts += [call.id, call.name, call.raw]
        size += _of_arguments(call.arguments)
    return size + sum(len(encode_basestring_ascii(text)) for text in texts if text)


def _of_arguments(arguments: dict[str, Any]) -> int:
    """Characters of arguments that are written indented and quoted, at most."""
    written = json.dumps(arguments, default=str)
    depth = written.count("{") + written.count("[")
    if depth > _FLAT:
        return len(encode_basestring_ascii(_as_json(arguments)))
    lines = written.count(",") + 2 * depth
    return len(encode_basestring_ascii(written)) + lines * (len("\\n") + 4 * depth)


def _as_json(value: Any) -> str:
    """Indented, with escapes: no template writes it longer."""
    return json.dumps(value, indent=4, default=str)
