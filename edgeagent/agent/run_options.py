"""Values that go into a run and come out: options, state and result; and the hooks that stand for options."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import EnumType, StrEnum
from typing import Any, ClassVar, Final, Literal, Protocol, get_args, get_origin, get_type_hints

from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.events import EndReason, Event
from edgeagent.hooks import AfterTool, BaseHook, BeforeTool, FirePoint, Hook, HookResult
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.hooks.run_guards import LoopDetectorHook, ToolOutputCapHook
from edgeagent.llm import LLM
from edgeagent.messages import Message, Origin, ToolCall, ToolResult, Usage, as_message
from edgeagent.tools import Tool
from edgeagent.tools.signature import is_async
from edgeagent.tools.tool import OUTPUT_LIMIT
from edgeagent.tools.workers import MAX_ABANDONED


class RunCallbacks(Protocol):
    """Callbacks that ``start(callbacks=...)`` takes; ``edgeagent.views.Callbacks`` is one."""

    def __call__(self, event: Event, /) -> object: ...
    def ask(self, questions: list[str], stopping: Callable[[], bool], timeout_s: float, /) -> Any: ...


class ToolMode(StrEnum):
    """Order in which the calls of one reply run."""

    SEQUENTIAL = "sequential"
    """Each alone, in source order."""
    PARALLEL = "parallel"
    """All at once, except tools declared sequential, which follow alone."""
    BATCH = "batch"
    """In source order, each contiguous group of parallel tools at once."""


class QueueMode(StrEnum):
    """Number of queued messages that one drain takes."""

    ONE_AT_A_TIME = "one_at_a_time"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """End of a run. ``messages`` is the whole history, ``new_messages`` what this run added."""

    reply: str
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]
    tool_calls: tuple[ToolCall, ...]
    """Every call, in the order asked, each with its ``result`` and ``agent``."""
    usage: Usage
    reason: EndReason
    abort_reason: str | None
    agent_name: str
    """The agent that was asked."""
    elapsed_s: float
    handed_off_to: str | None = None
    """The agent that answered, if it was another one."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A frozen copy of an agent's state at one moment."""

    system_prompt: str | None
    messages: tuple[Message, ...]
    pending_tool_calls: frozenset[str] = frozenset()
    is_streaming: bool = False
    error_message: str | None
    streaming_message: Message | None = None
    thinking_level: str | None
    llm: LLM | None
    tools: tuple[Tool, ...]
    follow_up_queue: tuple[Message, ...]
    steering_queue: tuple[Message, ...]
    run_id: str | None = None
    """The run that goes on; None between two runs."""
    hop: int = 0


class Strategy(Protocol):
    """Another strategy than the loop's own, as the options hold it; ``Orchestrator`` names its parameters."""

    run: Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a run. None means the default; so does 0, except where 0 is a value.

    An inner ``options=`` replaces an outer one whole.

    Raises:
        ConfigError: A value that can't be, or a callback that is async or can't be called.
    """

    tool_execution_mode: ToolMode = ToolMode.BATCH
    steering_mode: QueueMode = QueueMode.ONE_AT_A_TIME
    followup_mode: QueueMode = QueueMode.ONE_AT_A_TIME
    steering_check: Literal["after_batch", "after_each_tool"] = "after_batch"
    """"after_each_tool" runs the calls of a reply one by one, and a message that comes meanwhile skips the rest."""
    max_concurrent_tools: int = 8
    tool_timeout_s: float = 30
    """Seconds for a tool's body; skills and questions have no limit unless they declare one."""
    max_turns: int = 15
    """Model calls of a run."""
    max_tool_hops: int | None = None
    """Turns whose tools may run; None: no limit of their own."""
    continue_confirm: Callable[[int], bool] | None = None
    """Asked with the number of turns when the budget is spent; true grants as much again."""
    on_budget: Literal["last_content", "final_answer"] = "last_content"
    max_continuations: int = 1
    """Times that a reply that was cut by ``max_tokens`` may go on; 0 is a value."""
    before_tool_call: Callable[[ToolCall, threading.Event], ToolCall | ToolResult | None] | None = None
    after_tool_call: Callable[[ToolCall, ToolResult, threading.Event], ToolResult | None] | None = None
    on_event: Callable[[Event], object] | None = None
    get_steering_messages: Callable[[], Sequence[Message | str]] | None = None
    """Asked whenever steering is looked for; what it returns is queued behind what is there."""
    get_follow_up_messages: Callable[[], Sequence[Message | str]] | None = None
    should_stop_after_turn: Callable[[RunState], bool] | None = None
    transform_context: Callable[[list[Message]], list[Message]] | None = None
    """Makes of the history what one request holds."""
    get_ephemeral_messages: Callable[[], Sequence[Message | str]] | None = None
    """Added to the end of each request, never stored."""
    convert_messages: Callable[[list[Message]], list[Message]] | None = None
    """Makes of an app's own messages what a model can read; those that are left are dropped."""
    policy_check: Callable[[str, dict[str, Any]], str | None] | None = None
    """Name and arguments to a reason for denying the call, or None."""
    confirm: Callable[[str, dict[str, Any]], bool] | None = None
    """Asked before each destructive call; None approves."""
    confirm_timeout_s: float = 30
    """Seconds that a person has for an answer: to ``confirm``, ``continue_confirm`` and question tools."""
    error_intervention: Callable[[str, str], str | None] | None = None
    """A failed tool's name and error to a hint that is added to it, or None."""
    max_tool_errors: int = 3
    """Times that one tool may fail in a row."""
    tool_output_limit: int = OUTPUT_LIMIT
    """Characters of a result that reach the model."""
    max_abandoned_tools: int = MAX_ABANDONED
    """With so many bodies that never came back no further tool starts."""
    abort_grace_s: float = 0.5
    """Seconds that a stopped body has to return, and hooks to look at a call that timed out; 0 is a value."""
    deadline_s: float | None = None
    """Seconds after which the run is aborted with reason deadline."""
    llm_timeout_s: float | None = None
    """Seconds for the first token of a model that a Session may replace by a fallback."""
    orchestrator: Strategy | None = None
    """Another strategy than the ReAct loop."""
    temperature: float | None = None
    max_tokens: int = 256
    thinking_level: str | None = None
    tool_choice: Literal["auto", "required_first", "none"] = "auto"
    """"required_first" makes the first model call of a run call a tool; "none" lets no model call do so."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            name, value = setting.name, getattr(self, setting.name)
            if value is None or (value == 0 and name not in _ZERO_IS_A_VALUE):
                object.__setattr__(self, name, setting.default)
            elif name in CALLBACKS:
                check_callback(value, f"Options({name}={{}})")
            elif name in CHOICES:
                object.__setattr__(self, name, _chosen(name, value))
            elif name in _NUMBERS:
                _check_number(name, value)
            elif name == "orchestrator":
                if isinstance(value, type) or not callable(getattr(value, "run", None)):
                    raise ConfigError(
                        f"Options(orchestrator={value!r}): it should be an object with a method run(run, message)"
                    )
                check_callback(value.run, "Options(orchestrator={})")

    @classmethod
    def default(cls, name: str) -> Any:
        """The default of an option."""
        return next(setting.default for setting in fields(cls) if setting.name == name)


_ZERO_IS_A_VALUE: Final = frozenset({"temperature", "max_continuations", "abort_grace_s"})
_HINTS: Final = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Options).items()}
"""The types of each option; those of a ``Literal`` are its values."""
CALLBACKS: Final = frozenset(name for name, kinds in _HINTS.items() if get_origin(kinds[0]) is Callable)
CHOICES: Final[dict[str, Sequence[str]]] = {
    name: list(kinds[0]) if isinstance(kinds[0], EnumType) else kinds
    for name, kinds in _HINTS.items()
    if isinstance(kinds[0], EnumType | str)
}
_NUMBERS: Final = {name: kinds[0] for name, kinds in _HINTS.items() if kinds[0] in (int, float)}


def _check_number(name: str, value: Any) -> None:
    kinds, what = ((int,), "a whole number") if _NUMBERS[name] is int else ((int, float), "a number")
    if not isinstance(value, kinds) or isinstance(value, bool) or not value >= 0:
        raise ConfigError(f"Options({name}={value!r}): it should be {what} that is not negative")


def _chosen(name: str, value: Any) -> Any:
    choices = CHOICES[name]
    if value not in choices:
        raise ConfigError(f"Options({name}={value!r}): it should be one of {', '.join(choices)}")
    return choices[choices.index(value)]  # a mode for its text


def check_argument(argument: str, value: object, kind: type | str, *, such_as: str = "", optional: bool = True) -> None:
    """Refuses what is not of that kind.

    Args:
        argument: Where it was given: "run(options".
        kind: A class, or a method of an object by its name.
        such_as: An example, told with what is needed.
        optional: None will do, too.

    Raises:
        ConfigError: It is of another kind.
    """
    if isinstance(kind, str):
        fits = callable(getattr(value, kind, None)) and not isinstance(value, type)
        needed = f"be an object with a method {kind}()"
    else:
        fits, needed = isinstance(value, kind), f"be of the class {kind.__name__}"
    if not (fits or (optional and value is None)):
        raise ConfigError(f"{argument}={value!r}): it should {needed}{such_as and f', such as {such_as}'}")


def check_callback(value: object, where: str) -> None:
    """Refuses what nobody can call, and what would only make a coroutine.

    Args:
        where: Where it was given, with ``{}`` in its place: "subscribe({})".

    Raises:
        ConfigError: It is no function, or async.
    """
    if not callable(value):
        raise ConfigError(f"{where.format(repr(value))}: it should be a function")
    if is_async(value):
        raise ConfigError(
            f"{where.format('...')}: it is async; callbacks are plain functions, called on a run's thread"
        )


def returned_messages(made: Iterable[Message | str] | Message | str | None, origin: Origin) -> list[Message]:
    """The messages that a callback returned, with this origin; a lone one is a list of one, and None an empty list.

    Raises:
        EdgeAgentError: There is something else among them.
    """
    given: Iterable[Message | str] = [made] if isinstance(made, str | Message) else made or ()
    return [as_message(message, origin=origin) for message in given]


# --- hooks of a run ---------------------------------------------------------------------------------------------------


def callback_hooks(options: Options) -> Iterator[BaseHook]:
    """The hooks that stand for the options that are set, in the order in which they are called."""
    if options.before_tool_call is not None:
        yield BeforeToolCall(options.before_tool_call)
    if options.error_intervention is not None:
        yield ErrorIntervention(options.error_intervention)
    if options.after_tool_call is not None:
        yield AfterToolCall(options.after_tool_call)


@dataclass(eq=False)
class _CallbackHook(BaseHook):
    """Callbacks may run side by side, as the calls that they are asked about do."""

    callback: Any
    concurrent: ClassVar[bool] = True  # type: ignore[misc]  # a class variable over one of an instance


class BeforeToolCall(_CallbackHook):
    points = frozenset({FirePoint.BEFORE_TOOL})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeTool) -> HookResult | None:
        answer = self.callback(payload.call, ctx.stop_event)
        match answer:
            case None:
                return None
            case ToolResult():
                return HookResult.supply(answer)
            case ToolCall():
                return HookResult.replace(replace(payload, call=answer))
        raise TypeError(
            f"before_tool_call returned {type(answer).__name__}; None, a ToolCall or a ToolResult is wanted"
        )


class ErrorIntervention(_CallbackHook):
    points = frozenset({FirePoint.AFTER_TOOL})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        if payload.result.status not in ("error", "timed_out"):
            return None
        hint = self.callback(payload.call.name, payload.result.text)
        if not hint:
            return None
        text = f"{payload.result.text}\n{hint}"
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))


class AfterToolCall(_CallbackHook):
    points = frozenset({FirePoint.AFTER_TOOL})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        patched = self.callback(payload.call, payload.result, ctx.stop_event)
        return None if patched is None else HookResult.replace(replace(payload, result=patched))


_DEFAULTS: Final[tuple[tuple[type[Any], dict[str, str]], ...]] = (
    (LoopDetectorHook, {"max_tool_errors": "max_tool_errors"}),
    (ToolOutputCapHook, {"limit": "tool_output_limit"}),
    (ContextCompactionHook, {}),
)
"""Hooks that are on unless one of the kind is given, with the options that their arguments are."""


def hooks_of(agent: Sequence[Hook], context: Sequence[Hook], options: Options) -> list[Hook]:
    """All hooks of a run, in the order in which they count as registered. One that is given twice is called once: its
    state is one, so a guard would count everything twice.

    Raises:
        ConfigError: A hook is given and the option that does the same is set too.
    """
    given = list({id(hook): hook for hook in (*agent, *context)}.values())
    return [*given, *callback_hooks(options), *_defaults(given, options)]


def _defaults(given: Sequence[Hook], options: Options) -> Iterator[Hook]:
    for kind, arguments in _DEFAULTS:
        if not any(isinstance(hook, kind) for hook in given):
            yield kind(**{argument: getattr(options, option) for argument, option in arguments.items()})
            continue
        for option in arguments.values():
            if getattr(options, option) != Options.default(option):
                raise ConfigError(f"both {kind.__name__} and Options({option}=...) are given; use one of them")
