"""Tool-call formats: how the text of a call is told from the text around it, and read.

A format is stateless; ``StreamGate`` holds the text and asks it. None guesses on prose.
"""

from __future__ import annotations

from typing import Final

from edgeagent.errors import ConfigError
from edgeagent.llm.parsers.call_format import CallFormat
from edgeagent.llm.parsers.function_calls import FUNCTION_GEMMA, GEMMA4, PYTHONIC
from edgeagent.llm.parsers.json_calls import BARE_JSON, GRANITE, LLAMA3, MISTRAL, XLAM
from edgeagent.llm.parsers.tool_call_tags import HERMES, XML

__all__ = ["FORMATS", "CallFormat", "format_named"]

FORMATS: Final[tuple[CallFormat, ...]] = (
    HERMES,
    XML,
    PYTHONIC,
    LLAMA3,
    MISTRAL,
    GEMMA4,
    FUNCTION_GEMMA,
    GRANITE,
    XLAM,
    BARE_JSON,
)
"""All formats. The first that reads what a template writes is its model's, so those without a marker come last."""


def format_named(name: str) -> CallFormat:
    """The format of that name.

    Raises:
        ConfigError: There is none; the text lists those there are.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    raise ConfigError(f"there is no tool-call format {name!r}: choose from {', '.join(f.name for f in FORMATS)}")
