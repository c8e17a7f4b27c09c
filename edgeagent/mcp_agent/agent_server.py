"""The tools that the agent offers to other programs: say, ask, stop and status.

What each does runs on a thread of its own, so that a stop never waits for an answer. Knows no transport.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from edgeagent import __version__
from edgeagent.agent import RunHandle
from edgeagent.app import App
from edgeagent.app.app import latch_of
from edgeagent.characters import encodable, without_escapes
from edgeagent.errors import EdgeAgentError
from edgeagent.mcp_agent.loudspeaker import Loudspeaker
from edgeagent.robot.latch import LatchState
from edgeagent.voice.stopped_answer import StoppedAnswer

TEXT_MAX: Final = 4_000
"""Characters of a text that is said or asked."""
STOPPED: Final = "I am stopped. Motion is off until I am started again."
"""The reply where motion is asked for after a stop."""
_REASON: Final = "stop, by MCP"

T = TypeVar("T")
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": TEXT_MAX}


def _tool(name: str, told: str, *, read_only: bool = False, destructive: bool = False, **fields: Any) -> mcp_types.Tool:
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    hints = mcp_types.ToolAnnotations(
        read_only_hint=read_only, destructive_hint=destructive, idempotent_hint=not fields, open_world_hint=False
    )
    return mcp_types.Tool(name=name, description=told, input_schema=schema, annotations=hints)


TOOLS: Final = (
    _tool("say", "Have the robot say a text aloud. Returns when it was heard.", text=_TEXT),
    _tool(
        "ask",
        "Ask the robot, or tell it what to do. It moves if it has to. Returns its answer when it is done; "
        "one request at a time.",
        destructive=True,
        text=_TEXT,
    ),
    _tool(
        "stop",
        "Stop the robot at once: its motion, its answer and its voice. Motion stays off until a person starts the "
        "robot again.",
    ),
    _tool("status", "Tell what the robot does now, and whether it may move.", read_only=True),
)
"""Tools of the agent, as a client sees them."""


class AgentDoor:
    """Requests that other programs may make of one agent. Methods run on any thread.

    Args:
        app: The agent.
        loudspeaker: Says what is to be said.

    Raises:
        ConfigError: The agent's latch can't be tripped.
    """

    def __init__(self, app: App, loudspeaker: Loudspeaker) -> None:
        self._app, self._loudspeaker = app, loudspeaker
        self._latch = latch_of(app.agent)
        app.agent.hooks.append(StoppedAnswer(self._latch, STOPPED, on_wait=lambda: None))

    @property
    def cuts(self) -> int:
        """Number of times that speech was ended."""
        return self._loudspeaker.cuts

    def say(self, text: str, *, cuts: int) -> str:
        """Says a text, unless speech was ended since there were so many ``cuts``.

        Raises:
            EdgeAgentError: It can't be said.
        """
        try:
            heard = self._loudspeaker.say(text, cuts=cuts)
        except EdgeAgentError as error:
            raise EdgeAgentError(f"the robot cannot speak: {error}") from error
        return "said" if heard else "stopped before it was said to its end"

    def ask(self, text: str, began: Callable[[RunHandle], object]) -> dict[str, Any]:
        """Runs a request to its end.

        Args:
            began: Told of the run.

        Raises:
            EdgeAgentError: Another request goes on, or this one failed.
        """
        handle = self._app.session.start(text)
        began(handle)
        result = handle.result()
        if result.error is not None:
            raise EdgeAgentError(f"the robot could not answer: {result.error}")
        calls = [
            {"name": call.name, "status": "not_run" if call.result is None else call.result.status}
            for call in result.tool_calls
        ]
        return {"reply": result.reply, "reason": result.abort_reason or result.reason, "calls": calls}

    def stop(self) -> str:
        """Stops everything; what moves first."""
        self._latch.trip(_REASON)
        self.leave()
        return "stopped; motion stays off until edgeagent mcp is started again"

    def leave(self) -> None:
        """Ends what goes on, what moves first; the client has left, or the program ends."""
        self._app.session.abort("safety_stop")
        self._loudspeaker.cut()

    def status(self) -> dict[str, Any]:
        """The state of now."""
        agent, latch = self._app.agent, self._latch
        return {
            "name": agent.name,
            "model": self._app.llm.name,
            "working": agent.is_running,
            "moving": agent.is_moving,
            "speaking": self._loudspeaker.speaks,
            "motion": {LatchState.FREE: "allowed", LatchState.HELD: "held"}.get(latch.state, "off"),
            "why": latch.reason,
            "goals": list(agent.goals_at_work),
        }


def protocol_server(door: AgentDoor) -> Server[Any]:
    """The server of the protocol, for one client or many."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], parameters: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=list(TOOLS))

    async def call_tool(
        context: ServerRequestContext[Any, Any], parameters: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        try:
            return await _called(door, parameters.name, parameters.arguments or {})
        except EdgeAgentError as error:
            return _result(str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - a model's or an app's; the client is told
            return _result(f"{type(error).__name__}: {error}", is_error=True)

    return Server(
        "edgeagent",
        version=__version__,
        title="edgeagent",
        instructions="A robot: ask it, have it speak, stop it. Call stop at once when a person says so.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _called(door: AgentDoor, name: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
    match name:
        case "say":
            text, cuts = _text(arguments), door.cuts  # a stop may overtake the thread
            return _result(await on_thread(lambda: door.say(text, cuts=cuts), name="mcp-say"))
        case "ask":
            return await _asked(door, _text(arguments))
        case "stop":
            return _result(await on_thread(door.stop, name="mcp-stop"))
        case "status":
            shown = door.status()
            return _result("\n".join(f"{key}: {value}" for key, value in shown.items()), shown)
    raise EdgeAgentError(f"there is no tool {name!r}; there are say, ask, stop and status")


async def _asked(door: AgentDoor, text: str) -> mcp_types.CallToolResult:
    """Asks; a client that cancels the request, or leaves, ends the run."""
    handles: list[RunHandle] = []
    gone = threading.Event()

    def began(handle: RunHandle) -> None:
        handles.append(handle)
        if gone.is_set():
            handle.abort("user")

    try:
        answer = await on_thread(lambda: door.ask(text, began), name="mcp-ask")
    except asyncio.CancelledError:
        gone.set()
        for handle in handles:
            handle.abort("user")
        raise
    ended = answer["reason"] in ("completed", "terminated", "stopped", "budget")
    return _result(answer["reply"] or f"no answer: {answer['reason']}", answer, is_error=not ended)


def _text(arguments: dict[str, Any]) -> str:
    text = arguments.get("text")
    if not isinstance(text, str) or len(text) > TEXT_MAX or set(arguments) != {"text"}:
        raise EdgeAgentError(f"give one argument, text, of at most {TEXT_MAX} characters")
    if not (said := " ".join(without_escapes(text).split())):
        raise EdgeAgentError("the text is empty")
    return said


def _result(text: str, structured: dict[str, Any] | None = None, *, is_error: bool = False) -> mcp_types.CallToolResult:
    content: list[Any] = [mcp_types.TextContent(type="text", text=encodable(text))]
    return mcp_types.CallToolResult(content=content, structured_content=encodable(structured), is_error=is_error)


def on_thread(work: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """Has work done on a thread of its own, in an event loop. Who awaits its end and is cancelled leaves it behind."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(cast(T, value))
        else:
            done.set_exception(
                error if isinstance(error, Exception) else EdgeAgentError(f"{type(error).__name__}: {error}")
            )

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001 - be it SystemExit; raised where the result is waited for
            error = raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, error)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError:  # the limit of the system; a stop must not fail for that
        run()
    return done
