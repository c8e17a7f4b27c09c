"""The hooks for small models come together, and fresh each time."""

from edgeagent.hooks import EchoedPayloadHook, LoopDetectorHook, SchemaRetryHook, default_slm_hooks


def test_the_three_of_them() -> None:
    assert [type(hook) for hook in default_slm_hooks()] == [LoopDetectorHook, EchoedPayloadHook, SchemaRetryHook]


def test_each_agent_gets_its_own() -> None:
    one, two = default_slm_hooks(), default_slm_hooks()
    assert all(first is not second for first, second in zip(one, two, strict=True))
