"""The one place that knows every part and puts them together."""

from edgeagent.app.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, App, build
from edgeagent.app.outfit import configured_llm

__all__ = ["INSTRUCTIONS", "MAX_TOOL_HOPS", "NAME", "App", "build", "configured_llm"]
