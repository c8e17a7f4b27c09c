"""Messages and calls are copies wherever they are given out: what is written into one changes no run and no history."""

from __future__ import annotations

from typing import Any

import pytest

from edgeagent import Agent, FirePoint, HookResult, Message, Options, Session, ToolCall, tool
from edgeagent.hooks import AfterLLM
from edgeagent.testing import ScriptedLLM, call

from .kit import At

P = FirePoint
GIVEN: dict[str, Any] = {"where": {"x": 1}}


def spoil(*givens: Any) -> None:
    """Writes into every call and every data that can be reached."""
    for given in givens:
        if given is None or isinstance(given, str | int | float):
            continue
        if isinstance(given, tuple | list | frozenset):
            spoil(*given)
        elif isinstance(given, Message):
            spoil(given.tool_calls)
            if isinstance(given.data, dict):
                given.data["speed"] = 100
        elif hasattr(given, "arguments"):
            given.arguments.get("where", {})["x"] = 100
            given.arguments["spoilt"] = True
        else:
            held = ("message", "messages", "new_messages", "tool_calls", "call", "task", "streaming_message")
            spoil(*(getattr(given, name, None) for name in (*held, "steering_queue", "follow_up_queue")))


class Scene:
    """A session with one call, in which something spoils whatever it is given."""

    def __init__(self, hook: At | None = None, **options: Any) -> None:
        self.seen: list[dict[str, int]] = []

        @tool(destructive=True)
        def look(where: dict[str, int]) -> str:
            """Looks."""
            self.seen.append(dict(where))
            return "a wall"

        self.llm = ScriptedLLM({"text": "I look.", "calls": [call("look", where={"x": 1})]}, "a wall", "again")
        hooks = [] if hook is None else [hook]
        self.agent = Agent("a", llm=self.llm, tools=[look], hooks=hooks, options=Options(**options))
        self.session = Session(self.agent)

    def plays(self, *, requests: bool = True) -> None:
        """Two runs; then everything is as the model and the person said it, in later requests too unless told so."""
        self.agent.steer(Message("telemetry", "fast", data={"speed": 1}))
        self.session.step(Message("user", "what is there?", data={"speed": 1}))
        self.session.step("and now?")
        assert self.seen == [{"x": 1}], "the body"
        told = [message for message in self.session.messages() if message.tool_calls or message.data is not None]
        assert [m.data for m in told if m.data is not None] == [{"speed": 1}] * 2
        assert [m.tool_calls[0].arguments for m in told if m.tool_calls] == [GIVEN]
        for request in self.llm.requests[1:] if requests else ():
            assert [m.tool_calls[0].arguments for m in request.messages if m.tool_calls] == [GIVEN]


@pytest.mark.parametrize("point", list(P))
def test_what_a_hook_writes_into_its_payload_stays_there(point: FirePoint) -> None:
    scene = Scene(At(point, does=lambda ctx, payload: spoil(payload)))
    scene.plays(requests=point is not P.BEFORE_LLM)  # which is there to change what the model is shown


def slowed(ctx: Any, payload: Any) -> HookResult:
    """Writes into the calls of a payload, and answers with that payload."""
    for made in payload.tool_calls if isinstance(payload, AfterLLM) else [payload.call]:
        made.arguments["where"] = {"x": 0}
    return HookResult.replace(payload)


def before_tool_call(made: ToolCall, stop_event: object) -> ToolCall:
    made.arguments["where"] = {"x": 0}
    return made


@pytest.mark.parametrize(
    "scene",
    [
        Scene(At(P.AFTER_LLM, does=slowed)),
        Scene(At(P.BEFORE_TOOL, does=slowed)),
        Scene(before_tool_call=before_tool_call),
    ],
)
def test_what_is_written_into_a_call_that_is_returned_counts(scene: Scene) -> None:
    scene.agent.run("what is there?")
    assert scene.seen == [{"x": 0}]


@pytest.mark.parametrize("point", list(P))
def test_what_a_hook_writes_into_the_history_of_its_context_stays_there(point: FirePoint) -> None:
    Scene(At(point, does=lambda ctx, payload: spoil(ctx.history()))).plays()


def test_what_a_subscriber_writes_into_an_event_stays_there() -> None:
    for subscribed in (lambda scene: scene.agent.subscribe(spoil), lambda scene: scene.session.subscribe(spoil)):
        scene = Scene()
        subscribed(scene)
        scene.plays()
    Scene(on_event=spoil).plays()


def test_what_a_subscriber_writes_into_the_state_stays_there() -> None:
    scene = Scene()
    scene.agent.subscribe(lambda event: spoil(scene.agent.state))
    scene.plays()
    spoil(scene.agent.state)
    assert [m.tool_calls[0].arguments for m in scene.agent.state.messages if m.tool_calls] == [GIVEN]


def test_what_should_stop_after_turn_writes_into_its_state_stays_there() -> None:
    Scene(should_stop_after_turn=spoil).plays()


@pytest.mark.parametrize(
    "options",
    [
        {"before_tool_call": lambda made, stop_event: spoil(made)},
        {"after_tool_call": lambda made, result, stop_event: spoil(made)},
        {"policy_check": lambda name, arguments: arguments["where"].update(x=100)},
        {"confirm": lambda name, arguments: arguments["where"].update(x=100) is None},
    ],
)
def test_what_a_callback_writes_into_its_arguments_stays_there(options: dict[str, Any]) -> None:
    Scene(**options).plays()


def test_the_result_of_a_run_does_not_show_what_a_hook_wrote_into_its_own() -> None:
    scene = Scene(At(P.ON_RUN_END, does=lambda ctx, payload: spoil(payload)))
    result = scene.session.step("what is there?")
    assert [m.tool_calls[0].arguments for m in result.messages if m.tool_calls] == [GIVEN]
    assert [made.arguments for made in result.tool_calls] == [GIVEN]


def test_what_is_written_into_the_result_of_a_run_is_not_continued() -> None:
    scene = Scene()
    spoil(scene.agent.run("what is there?"))
    scene.agent.steer("and now?")
    assert [m.tool_calls[0].arguments for m in scene.agent.run_continue().messages if m.tool_calls] == [GIVEN]


def test_what_an_orchestrator_writes_into_what_it_is_given_stays_there() -> None:
    class Strategy:
        def run(self, run, message):
            run.append(message)
            reply = run.complete()
            spoil(run.state, reply)

    scene = Scene(orchestrator=Strategy())
    result = scene.agent.run("what is there?")
    assert [m.tool_calls[0].arguments for m in result.messages if m.tool_calls] == [GIVEN]


def test_what_a_tools_body_writes_into_its_arguments_stays_there() -> None:
    @tool
    def put(where: dict[str, Any]) -> str:
        """Puts."""
        where["way"].append("spoilt")
        return "put"

    llm = ScriptedLLM([call("put", where={"way": [1]})], "done")
    told = []
    agent = Agent("a", llm=llm, tools=[put])
    agent.subscribe(lambda event: told.append(event.call) if event.kind == "tool_execution_end" else None)
    result = agent.run("go")
    asked = [result.messages[1].tool_calls[0], llm.requests[1].messages[1].tool_calls[0], *told]
    assert [made.arguments for made in asked] == [{"where": {"way": [1]}}] * 3
