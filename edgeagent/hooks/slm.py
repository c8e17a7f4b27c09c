"""The hooks that make small language models usable with tools."""

from __future__ import annotations

from edgeagent.hooks.echoed_payload import EchoedPayloadHook
from edgeagent.hooks.hook import Hook
from edgeagent.hooks.loop_detector import LoopDetectorHook
from edgeagent.hooks.schema_retry import SchemaRetryHook


def default_slm_hooks() -> list[Hook]:
    """A guard against repetition, plain words instead of echoed results, and one more try for wrong arguments."""
    return [LoopDetectorHook(), EchoedPayloadHook(), SchemaRetryHook()]
