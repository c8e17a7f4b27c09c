"""What the tests of the loop share: a hook made of a function, gates that end, and what is read from a result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from edgeagent import AgentContext, FirePoint, HookResult, RunHandle, RunResult, events

LIMIT_S = 10.0
"""Nothing here takes longer; a test that waits so long has failed."""

Answer = Callable[[AgentContext, Any], HookResult | None]


class At:
    """A hook at some points that answers with what a function of the context and the payload returns."""

    priority = 0
    fail_closed = False
    holds_text = False
    concurrent = False

    def __init__(self, *points: FirePoint, does: Answer = lambda ctx, payload: None, **traits: Any) -> None:
        self.points = frozenset(points)
        self.does = does
        for name, value in traits.items():
            setattr(self, name, value)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult | None:
        return self.does(ctx, payload)


def raises(ctx: AgentContext, payload: Any) -> HookResult | None:
    """The answer of a hook that is broken."""
    raise RuntimeError("hook broke")


def opened(gate: threading.Event) -> bool:
    """Waits at a gate, which must be opened in time."""
    assert gate.wait(LIMIT_S), "nobody opened the gate"
    return True


def first(handle: RunHandle, kind: str, **fields: Any) -> Any:
    """Waits for the first event of a kind (and with a call of that name); an AssertionError if none comes."""
    for event in handle.events():
        if event.kind == kind and all(_field(event, name) == value for name, value in fields.items()):
            return event
    raise AssertionError(f"no {kind} came")


def _field(event: events.Event, name: str) -> Any:
    return event.call.name if name == "tool" else getattr(event, name)  # type: ignore[attr-defined]


def ends(handle: RunHandle, reason: str, abort_reason: str | None = None) -> RunResult:
    """The result of a run that must end so, and soon."""
    result = handle.result(LIMIT_S)
    assert (result.reason, result.abort_reason) == (reason, abort_reason)
    return result


def statuses(result: RunResult) -> list[str]:
    """How each call ended, in the order asked."""
    return [made.result.status for made in result.tool_calls if made.result]


def texts(messages: Iterable[Any], role: str | None = None) -> list[str]:
    """The texts of messages, of one role or of all."""
    return [message.text for message in messages if role in (None, message.role)]


def kinds(handle: RunHandle) -> list[str]:
    """The kinds of all events of a run, to its end."""
    return [event.kind for event in handle.events()]


def calls_are_answered(messages: Iterable[Any]) -> bool:
    """Every call has exactly one result, after it and in the order of the calls."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not waiting or waiting.pop(0) != message.call_id:
                return False
        elif waiting:
            return False
        else:
            waiting = [made.id for made in message.tool_calls]
    return not waiting
