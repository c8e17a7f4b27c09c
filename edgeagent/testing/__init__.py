"""For tests: a scripted model."""

from edgeagent.testing.scripted import ScriptedLLM, call

__all__ = ["ScriptedLLM", "call"]
