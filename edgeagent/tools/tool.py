"""``@tool`` and ``@skill``: a function with what a model and the loop have to know of it; its output as a result."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from threading import Event
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    get_args,
    overload,
)

from edgeagent.characters import without_escapes
from edgeagent.errors import ToolDefinitionError
from edgeagent.messages import NO_JSON, Status, ToolCall, ToolResult, text_of
from edgeagent.tools.actuator import check_functions
from edgeagent.tools.goal import GoalHandle
from edgeagent.tools.signature import ArgumentError, SchemaSignature, Signature, innermost, written

logger = logging.getLogger(__name__)


class Named(Protocol):
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Handoff:
    """Returned by any tool: ``target`` takes the request over, without another call of the model that asked.

    ``target`` is an Agent, or the name of one that the asking agent has among its ``handoffs``. ``task`` is what the
    target is told; None: what the asking agent was told. ``reason`` is for logs and people.
    """

    target: Named | str
    task: str | None = None
    reason: str = ""

    @property
    def target_name(self) -> str:
        return self.target if isinstance(self.target, str) else getattr(self.target, "name", repr(self.target))


Mode = Literal["parallel", "sequential"]
OnInterrupt = Literal["cancel", "finish", "detach"]
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Context of a call, for its body: a parameter annotated ``ToolContext`` gets one."""

    call_id: str
    name: str
    stop_event: Event
    """Set when this call should end early: an interruption, or its time is over."""
    progress: Callable[[Any], None]
    """Reports progress, from any thread; later than the result it is ignored."""
    deps: Any = None
    agent: Any = None
    """The run's AgentContext."""

    def should_stop(self) -> bool:
        return self.stop_event.is_set()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTraits:
    """Traits that a builder declares of a tool beside its signature.

    Raises:
        ToolDefinitionError: A trait has a value that can't be.
    """

    read_only: bool = False
    destructive: bool = False
    """Ask ``Options.confirm`` first."""
    motion: bool = False
    """True if the tool moves something. Such a tool is not run after a skill of the same reply that failed."""
    timeout_s: float | None = None
    """Seconds for the body; None takes ``Options.tool_timeout_s``, for a skill: no limit."""
    mode: Mode = "parallel"
    resources: tuple[str, ...] = ()
    """Two calls that name a common one never overlap."""
    on_interrupt: OnInterrupt | None = "finish"
    """None, of a skill that does not say: detach in a conversation, cancel elsewhere."""
    terminate: bool = False
    question: bool = False
    """Its arguments are put to a person, and the answer is its result; the body is not called."""
    phrases: tuple[str, ...] = ()
    """Phrases of people who want the tool: for the ears, for training and for the docs."""
    is_skill: bool = False
    hands_over: bool = False
    """True for a tool that says that it returns a ``Handoff``: later calls of a reply wait for it, in every mode."""

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("mode", self.mode, get_args(Mode)),
            ("on_interrupt", self.on_interrupt, (None, *get_args(OnInterrupt))),
        ):
            if value not in choices:
                raise ToolDefinitionError(f"{name}={value!r}: it should be one of {', '.join(map(repr, choices))}")
        limit: Any = self.timeout_s
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0):
            raise ToolDefinitionError(f"timeout_s={limit!r}: it should be a number of seconds, or None")

    def but(self, other: ToolTraits) -> ToolTraits:
        """These traits with those in their place that the other ones say beside the defaults."""
        said = {field.name: getattr(other, field.name) for field in fields(other)}
        return replace(self, **{name: value for name, value in said.items() if value != getattr(ToolTraits(), name)})


def _texts(name: str, given: Any) -> tuple[str, ...]:
    """The texts of a trait; a lone one is the only one."""
    texts = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not all(isinstance(text, str) for text in texts):
        raise ToolDefinitionError(f"{name}={given!r}: it should be a list of texts")
    return texts


class Tool:
    """A tool. Calling it calls the function, as if it had not been decorated.

    Attributes:
        name: What a model calls it by.
        description: For the model, from the docstring unless given.
        parameters: JSON Schema of the arguments, type object.
        signature: Makes the body's arguments of a model's; of the function, unless one is given.
        traits: How the loop treats it.
        stop, pause, resume: Reach the actuator of a skill.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        traits: ToolTraits,
        *,
        name: str | None = None,
        description: str | None = None,
        signature: SchemaSignature | None = None,
        stop: Callable[..., object] | None = None,
        pause: Callable[..., object] | None = None,
        resume: Callable[..., object] | None = None,
    ) -> None:
        if isinstance(function, type) or not callable(function):
            raise ToolDefinitionError(
                f"{function!r} is no tool: give a function, an object that can be called, or another agent's as_tool()"
            )
        if any(map(inspect.isasyncgenfunction, (innermost(function), written(function)))):
            raise ToolDefinitionError(f"{function!r} is an async generator, so nothing of it would run: return a list")
        if (inner := _inner(function)) is not None:
            traits = inner.traits.but(traits)
            name, description = name or inner.name, inner.description if description is None else description
            stop, pause, resume = stop or inner.stop, pause or inner.pause, resume or inner.resume
        check_functions(stop=stop, pause=pause, resume=resume)
        functools.update_wrapper(self, written(function), updated=())
        self.signature = signature or Signature(function, injected=(ToolContext, GoalHandle))
        if Handoff in (self.signature.returns, *get_args(self.signature.returns)):
            traits = replace(traits, hands_over=True, mode="sequential")
        self.function = function
        self.traits: ToolTraits = traits
        self.stop: Callable[[], object] | None = stop
        self.pause: Callable[[], object] | None = pause
        self.resume: Callable[[], object] | None = resume
        self.name: str = name or _name(function)
        self.description: str = self.signature.description if description is None else description
        self.parameters = self.signature.schema
        if not self.name.replace("_", "").replace("-", "").isalnum():
            raise ToolDefinitionError(f"tool name {self.name!r}: use letters, digits, _ and -")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """A decorated method becomes a tool of its object, reached by methods of that object."""
        if instance is None:
            return self
        method = self.function.__get__(instance, owner)
        return Tool(
            method,
            self.traits,
            name=self.name,
            description=self.description,
            stop=_bound(self.stop, instance, owner),
            pause=_bound(self.pause, instance, owner),
            resume=_bound(self.resume, instance, owner),
        )

    def fault(self, arguments: dict[str, Any]) -> str:
        """Why a model's arguments do not fit, with the path of each that is wrong; empty if they do."""
        try:
            self.signature.validate(arguments)
        except ArgumentError as error:
            return str(error)
        return ""

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"


def _inner(body: Any) -> Tool | None:
    """The tool below a partial, or below a function that a decorator made of the tool (``functools.wraps``)."""
    while not isinstance(body, Tool):
        body = body.func if isinstance(body, functools.partial) else getattr(body, "__wrapped__", None)
        if body is None:
            return None
    return body


def _wants_arguments(function: Callable[..., object]) -> bool:
    """True for a function that can't be called without arguments, as far as its signature is known."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # one of C, which has no signature
        pass
    return False


def _bound(function: Callable[..., object] | None, instance: Any, owner: type | None) -> Callable[[], object] | None:
    """The method of an object that a function of its class becomes; a function without arguments as it is."""
    if function is None or not _wants_arguments(function) or not hasattr(function, "__get__"):
        return function
    method: Callable[[], object] = function.__get__(instance, owner)
    return method


def _name(body: Callable[..., Any]) -> str:
    """The function's name; of an object that can be called, its class's."""
    body = innermost(body)
    return str(getattr(body, "__name__", type(body).__name__))


if TYPE_CHECKING:

    class TypedTool(Tool, Generic[P, R]):
        """A tool as type checkers see it: called as the function that it was made of."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> TypedTool[P, R]: ...
        @overload
        def __get__(
            self: TypedTool[Concatenate[S, Q], R], instance: S, owner: type | None = None
        ) -> TypedTool[Q, R]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

    class ToolDecorator(Protocol):
        """Makes a function a tool, and keeps its signature."""

        def __call__(self, function: Callable[P, R], /) -> TypedTool[P, R]: ...


class ToolRegistry:
    """The tools of an agent, in order; may change between turns.

    Args:
        tools: The first ones, each as ``add`` has it.

    Attributes:
        tools: By name.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self.tools: dict[str, Tool] = {}
        for item in tools:
            self.add(item)

    def add(self, item: Tool | Callable[..., Any]) -> Tool:
        """Adds a tool, or a plain function as one.

        Raises:
            ToolDefinitionError: There is one of that name, it is a method without its object, or a function that
                reaches its actuator wants arguments.
        """
        made = item if isinstance(item, Tool) else tool()(item)
        if made.signature.unbound:
            raise ToolDefinitionError(f"{made.name} is a method of a class; give the one of an object of that class")
        for what, function in (("stop", made.stop), ("pause", made.pause), ("resume", made.resume)):
            if function is not None and _wants_arguments(function):
                raise ToolDefinitionError(f"{made.name}: its {what} function gets no arguments, but wants some")
        if made.name in self.tools:
            raise ToolDefinitionError(f"two tools are called {made.name!r}; give one another name=")
        self.tools[made.name] = made
        return made

    def remove(self, name: str) -> None:
        """Takes a tool away; an unknown name is a KeyError."""
        del self.tools[name]

    def get(self, name: str) -> Tool | None:
        return self.tools.get(name)

    def names(self) -> list[str]:
        return list(self.tools)

    def __iter__(self) -> Any:
        return iter(list(self.tools.values()))

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self.tools


@overload
def tool(function: Callable[P, R], /) -> TypedTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    motion: bool = False,
    timeout_s: float | None = None,
    mode: Mode = "parallel",
    resources: Sequence[str] = (),
    on_interrupt: OnInterrupt | None = None,
    terminate: bool = False,
    question: bool = False,
    phrases: Sequence[str] = (),
) -> ToolDecorator: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    motion: bool = False,
    timeout_s: float | None = None,
    mode: Mode = "parallel",
    resources: Sequence[str] = (),
    on_interrupt: OnInterrupt | None = None,
    terminate: bool = False,
    question: bool = False,
    phrases: Sequence[str] = (),
) -> Any:
    """Makes a function a tool; it stays callable. The schema comes from its signature, the texts from its docstring.

    Args:
        read_only: It changes nothing, so an interruption cancels it; others are allowed to finish.
        destructive: ``Options.confirm`` is asked before each call.
        motion: It moves something.
        timeout_s: Seconds for the body; default ``Options.tool_timeout_s``.
        resources: What it needs to itself, such as ("base",).
        on_interrupt: What an abort does to the body: "cancel" asks it to return, "finish" lets the run wait for it,
            "detach" lets it outlive the run and tells the model of its end later.
        terminate: Its result ends the run and is the reply.
        question: The arguments are questions to a person (``views.Callbacks.on_question``), and the answer is the
            result; the body is not called. Questions of a reply come before its other calls.
        phrases: What people say when they want it.

    Raises:
        ToolDefinitionError: A parameter has no annotation or no schema, or a trait has a value that can't be.
    """
    traits = ToolTraits(
        read_only=read_only,
        destructive=destructive,
        motion=motion,
        timeout_s=timeout_s or None,
        mode=mode,
        resources=_texts("resources", resources),
        on_interrupt=on_interrupt or ("cancel" if read_only or question else "finish"),
        terminate=terminate,
        question=question,
        phrases=_texts("phrases", phrases),
    )

    def decorate(body: Callable[..., Any]) -> Tool:
        return Tool(body, traits, name=name, description=description)

    return decorate if function is None else decorate(function)


@overload
def skill(function: Callable[P, R], /) -> TypedTool[P, R]: ...
@overload
def skill(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    question: bool = False,
    motion: bool = True,
    timeout_s: float | None = None,
    mode: Mode = "sequential",
    resources: Sequence[str] = (),
    on_interrupt: OnInterrupt | None = None,
    terminate: bool = False,
    phrases: Sequence[str] = (),
    stop: Callable[..., object] | None = None,
    pause: Callable[..., object] | None = None,
    resume: Callable[..., object] | None = None,
) -> ToolDecorator: ...
def skill(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    question: bool = False,
    motion: bool = True,
    timeout_s: float | None = None,
    mode: Mode = "sequential",
    resources: Sequence[str] = (),
    on_interrupt: OnInterrupt | None = None,
    terminate: bool = False,
    phrases: Sequence[str] = (),
    stop: Callable[..., object] | None = None,
    pause: Callable[..., object] | None = None,
    resume: Callable[..., object] | None = None,
) -> Any:
    """Makes a function a skill: a goal that takes its time and can be cancelled.

    A parameter annotated ``GoalHandle`` gets the goal; look at ``goal.cancelled`` or call ``goal.checkpoint()`` at
    least every 50 ms. Returning ``ToolResult.error(text)`` says that the goal was not reached.

    Args:
        motion: It moves something; so it does unless you say otherwise. The others are as ``tool`` has them.
        timeout_s: Seconds for the body; None: no limit.
        on_interrupt: As ``tool`` has it; None: "detach" in a conversation, where people talk to a robot that moves,
            else "cancel". A skill that moves, says neither that nor its resources, holds "motion" in a conversation.
        stop: Stops the actuator; a function without arguments, or a method of the same class. Called at once, on a
            thread of its own. After half a second without a return nothing waits for it, nothing may move, and the
            latch trips.
        pause, resume: Hold the actuator and let it go on, for a safety latch that holds; without both the skill is
            stopped then. ``goal.checkpoint()`` waits in between.

    Raises:
        ToolDefinitionError: A parameter has no annotation or no schema, or a trait has a value that can't be.
    """
    traits = ToolTraits(
        read_only=read_only,
        destructive=destructive,
        question=question,
        motion=motion,
        timeout_s=timeout_s or None,
        mode=mode,
        resources=_texts("resources", resources),
        on_interrupt=on_interrupt,
        terminate=terminate,
        phrases=_texts("phrases", phrases),
        is_skill=True,
    )

    def decorate(body: Callable[..., Any]) -> Tool:
        return Tool(body, traits, name=name, description=description, stop=stop, pause=pause, resume=resume)

    return decorate if function is None else decorate(function)


# --- what a body returned, as a result --------------------------------------------------------------------------------


OF_BODY: Final = frozenset({"ok", "error"})
"""Statuses that a body may return; the others say what the loop did with a call."""
OF_HOOK: Final = frozenset(get_args(Status)) - {"denied"}
"""Statuses that a hook may give; only ``policy_check`` denies."""
OUTPUT_LIMIT: Final = 8192
"""Characters of a result that reach the model."""


def result_of(call: ToolCall, status: Status, text: str, value: Any = None) -> ToolResult:
    """The result of a call, with its id and its name."""
    return ToolResult(call.id, call.name, status, text, value)


def as_result(call: ToolCall, value: Any, *, may: frozenset[str] = OF_BODY) -> ToolResult:
    """A result from a returned value, with its text as ``text_of`` has it; ``value`` is as it was returned.

    A value that JSON cannot hold is an error that says that the tool did run.

    Args:
        may: Statuses that a ``ToolResult`` may have; one with another is an error.
    """
    if isinstance(value, ToolResult):
        text = value.text
        if value.status == "ok" and (not text or isinstance(value.value, Handoff)):
            text = as_result(call, value.value).text
        made = replace(value, call_id=call.id, name=call.name, text=without_escapes(text))
        return with_status(made, may)
    if isinstance(value, Handoff):
        return result_of(call, "ok", f"handed to {value.target_name}", value)
    try:
        return result_of(call, "ok", text_of(value), value)
    except NO_JSON as error:
        why = "bytes are no text; return them as ToolResult.value, with a text" if isinstance(value, bytes) else error
        text = f"{call.name} ran, but what it returned cannot be shown: {why}"
        return result_of(call, "error", text, value)


def with_status(result: ToolResult, may: frozenset[str]) -> ToolResult:
    """The result, or an error in its place if it has a status that its maker may not give."""
    if result.status in may:
        return result
    given = ", ".join(sorted(may))
    told = f"{result.name} gave a result with the status {result.status!r}; it should be one of: {given}"
    logger.warning("%s", told)
    return replace(result, status="error", text=result.text or told)


def capped(text: str, limit: int) -> str:
    """The text with its middle cut out if it has more than ``limit`` characters, and a note of how much is gone.

    Where the limit is no longer than such a note, the text is cut at its end and marked by an ellipsis.
    """
    if len(text) <= limit:
        return text
    note, keep = "", limit
    for _ in range(3):  # the note takes room too, and more for a number with more digits
        note = f"\n[... {len(text) - keep} of {len(text)} characters left out ...]\n"
        keep = limit - len(note)
    if keep < 2:
        return text[: limit - 1] + "…"
    return text[: (keep + 1) // 2] + note + text[len(text) - keep // 2 :]
