"""Every item of the five seed documents has a home in the code and a test; docs/reference/seeds.md says which."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

ROW = re.compile(r"^\| (?P<seed>S[0-4]) \| (?P<item>.+?) \| (?P<home>[^|]*?) ?\| (?P<shown>[^|]*?) ?\|$")
HOME = re.compile(r"`([\w.]+:[\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py::\w+)`")
REPLACED = re.compile(r"\breplaced by section \d+: [^.|]+\.")
COLLECT_LIMIT_S = 60

# All names of options, defaults, fields, events, callbacks and methods that the seeds write out.
NAMES = {
    "S0": """
        Engine Agent _execute_tool_calls
        AgentState system_prompt messages pending_tool_calls is_streaming error_message streaming_message thinking_level
        llm tools follow_up_queue steering_queue ThinkingLevel FollowupQueue SteeringQueue LLMMessage AssistantMessage
        AgentContext LLMContext run agent_start agent_end agent_error turn_start turn_end message_start message_update
        message_end tool_execution_start tool_execution_update tool_execution_end Error Abort ToolCalls Stop
        TextDeltaEvent ThinkingDeltaEvent TextEndEvent ThinkingEndEvent ToolCallEndEvent ErrorEvent EndEvent
        stop_reason error Sequential Parallel Batch tool_execution_mode ToolExecutionMode execution_mode
        ToolResultContent is_error before_tool_call after_tool_call invocation signal execute tool_call_id params
        on_update terminate OneAtATime All steering_mode SteeringMode followup_mode FollowupMode steer follow_up
        clear_steering clear_follow_up clear_all_queues abort process_events on_event get_steering_messages
        get_follow_up_messages should_stop_after_turn transform_context get_ephemeral_messages run_continue Options
        BeforeToolCallCallback AfterToolCallCallback OnEventCallback GetSteeringMessagesCallback
        GetFollowUpMessagesCallback ShouldStopAfterTurnCallback TransformContextCallback GetEphemeralMessagesCallback
    """,
    "S1": """
        Run Session DefaultMaxTurns DefaultContextBudget DefaultCompactionThreshold DefaultCompactionTarget
        DefaultMaxConcurrentTools Config Provider Model System Tools Temperature MaxTokens PIIGuard MaxContextTokens
        FallbackModels ResolveModel ResponseSchema Out Status MaxTurns ToolConfirm PolicyCheck ContinueConfirm
        ErrorIntervention MaxConcurrentTools Audit AuditSink AuditSessionID PolicyViolationError Tool Reason NewSession
        LastInputTokens Messages Reset RestoreMessages SetModel SetSystem SetUsage Step Truncate maxExchanges Usage
    """,
    "S2": """
        LLMAgent _drive run Handoff handoff_to_ should_stop stop_event _inference_lock complete ON_RUN_START BEFORE_LLM
        AFTER_LLM BEFORE_TOOL AFTER_TOOL ON_RUN_END max_tool_hops AgentContext tool_registry llm hook_state state
        __tool_registry__ __llm__ ContextCompactionHook TokenBudgetHook _dispatch_batch max_workers end_turn HookResult
        tool_calls Session deps bus hooks blackboard memory interrupt artifacts run_stream TimingHook EchoingHook
        AuditLogHook default_slm_hooks hooks_slm ThreadPoolExecutor
    """,
    "S3": """
        Base supported_messages env AgentStream LLMCall pending_functions pending_tools on_content on_reasoning
        on_tool_call_start on_tool_result on_question MAX_ITERATIONS agent session initialize pipeline input callbacks
        perform call cancel error generate_id jobs result state status should_exit ParallelQueue ToolCallStep
        tool_results name arguments
    """,
    "S4": """
        NewAgent AgentConfig SystemPrompt Pipeline Tools ToolRegistry Provider GetSteeringMessages GetFollowUpMessages
        Orchestrator Prompt Events Result Type Payload EventToolCall EventTextDelta ToolCallPayload ToolName args
        TextDeltaPayload Text AgentMessage UserMessage AssistantMessage ToolResultMessage TextContent convertToLlm
        turn_start steering_mode mode queueSize thinking tool_call tool_result text_delta turn_end Run State Config
        NewToolRegistry NewProvider GetSteeringMessagesFunc GetFollowUpMessagesFunc Messages Complete
        SteeringDecision ExecuteTool EventStream End EndWithError Done WithTimeout Reset Register
    """,
}


@dataclass(frozen=True)
class Row:
    """One item; ``line`` is its line on the page."""

    line: int
    seed: str
    item: str
    homes: tuple[str, ...]
    tests: tuple[str, ...]
    text: str


@cache
def rows() -> tuple[Row, ...]:
    text = (Path(__file__).parent.parent / "docs" / "reference" / "seeds.md").read_text(encoding="utf-8")
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if row := ROW.match(line):
            homes, tests = HOME.findall(row["home"]), TEST.findall(row["shown"])
            found.append(Row(number, row["seed"], row["item"], tuple(homes), tuple(tests), line))
    return tuple(found)


def test_every_line_of_the_table_is_a_row(checkout: Path) -> None:
    lines = (checkout / "docs" / "reference" / "seeds.md").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|") and not line.startswith(("| seed ", "|---"))]
    assert [line for line in table if not ROW.match(line)] == []
    assert len(table) == len(rows())


@pytest.mark.parametrize("seed", NAMES)
def test_every_seed_has_rows(seed: str) -> None:
    assert len([row for row in rows() if row.seed == seed]) >= 20


def test_no_row_is_there_twice() -> None:
    seen = [(row.seed, row.item) for row in rows()]
    assert sorted({item for item in seen if seen.count(item) > 1}) == []


def test_nothing_is_missing() -> None:
    assert [row.text for row in rows() if "MISSING" in row.text] == []


@pytest.mark.parametrize("seed", NAMES)
def test_every_name_that_a_seed_writes_out_is_in_a_row(seed: str) -> None:
    items = "\n".join(row.item for row in rows() if row.seed == seed)
    named = {word for code in re.findall(r"`([^`]+)`", items) for word in re.findall(r"\w+", code)}
    assert sorted(set(NAMES[seed].split()) - named) == []


# --- homes ----------------------------------------------------------------------------------------------------------


def test_every_row_has_a_home_that_is_there() -> None:
    assert [row.text for row in rows() if not row.homes] == []
    wrong = {}
    for row in rows():
        for home in row.homes:
            try:
                resolve(home)
            except (ImportError, LookupError) as error:
                wrong[f"line {row.line}: {home}"] = str(error)
    assert wrong == {}


@cache
def resolve(home: str) -> Any:
    """What stands at ``module:name.name``.

    Raises:
        ImportError, LookupError: There is no such thing.
    """
    module, _, path = home.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = _part(found, name, home)
    return found


def _part(owner: Any, name: str, home: str) -> Any:
    """What ``getattr`` finds, else a field, an attribute, a parameter, or a choice of a Literal."""
    if hasattr(owner, name):
        return getattr(owner, name)
    if get_origin(owner) is Literal and name in get_args(owner):
        return name
    if inspect.isclass(owner):
        fields = {field.name: field for field in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else {}
        if name in fields:
            return fields[name]
        if name in _annotated(owner) or name in _set_when_made(owner):
            return name
    if callable(owner) and name in inspect.signature(owner).parameters:
        return name
    raise LookupError(f"{home}: no {name}")


def _annotated(owner: type) -> set[str]:
    return {name for base in owner.__mro__ for name in inspect.get_annotations(base)}


def _set_when_made(owner: type) -> set[str]:
    """Attributes that ``__init__`` sets."""
    made = owner.__dict__.get("__init__")
    if not inspect.isfunction(made) or dataclasses.is_dataclass(owner):
        return set()  # of a dataclass the fields say it all
    tree = ast.parse(textwrap.dedent(inspect.getsource(made)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


@pytest.mark.parametrize(
    "home",
    [
        "edgeagent.nothing:Agent",
        "edgeagent.agent:Nobody",
        "edgeagent.agent:Options.max_luck",
        "edgeagent.agent:Agent.nothing",
        "edgeagent.agent:Agent.run.nothing",
        "edgeagent.messages:Status.fine",
        "edgeagent.hooks:FirePoint.NEVER",
        "edgeagent.events:TurnStart.mood",
    ],
)
def test_a_home_that_is_not_there_is_found_out(home: str) -> None:
    with pytest.raises((ImportError, LookupError)):
        resolve(home)


@pytest.mark.parametrize(
    "home",
    [
        "edgeagent.agent:Options.max_turns",  # a field with slots
        "edgeagent.agent:RunResult.reply",  # a field without a default
        "edgeagent.agent:Agent.subscriber_errors",  # set when made
        "edgeagent.agent:Agent.start.callbacks",  # a parameter
        "edgeagent.messages:Status.denied",  # a choice of a Literal
        "edgeagent.hooks:FirePoint.BEFORE_LLM",  # of an enum
        "edgeagent.hooks:Hook.priority",  # an attribute of a protocol
        "edgeagent.events:Event.turn",
        "edgeagent.agent.ledger:CEILING",
    ],
)
def test_every_kind_of_home_is_found(home: str) -> None:
    resolve(home)


# --- tests ----------------------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys, pytest

class Collected:
    def pytest_collection_finish(self, session):
        told = [
            [item.nodeid.partition("[")[0], [mark.name for mark in item.iter_markers()]] for item in session.items
        ]
        with open(sys.argv[1], "w") as file:
            json.dump(told, file)

sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[2:]], plugins=[Collected()]))
"""


@pytest.fixture(scope="module")
def collected(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The marks of every test of the files that are named, by its name without parameters."""
    files = sorted({test.partition("::")[0] for row in rows() for test in row.tests})
    found = tmp_path_factory.mktemp("seeds") / "collected.json"
    command = [sys.executable, "-c", PROGRAM, str(found), *(file for file in files if (checkout / file).exists())]
    ran = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=COLLECT_LIMIT_S)
    assert found.exists(), ran.stdout + ran.stderr
    marks: dict[str, set[str]] = {}
    for name, names in json.loads(found.read_text()):
        marks.setdefault(name, set()).update(names)
    return marks


def test_every_row_names_a_test_or_what_replaced_it() -> None:
    assert [row.text for row in rows() if not row.tests and not REPLACED.search(row.text)] == []
    assert [row.text for row in rows() if "replaced by" in row.text and not REPLACED.search(row.text)] == []


def test_every_test_that_is_named_is_collected_and_expected_to_pass(collected: dict[str, set[str]]) -> None:
    named = sorted({test for row in rows() for test in row.tests})
    assert [test for test in named if test not in collected] == []
    assert [test for test in named if collected[test] & {"xfail", "skip"}] == []
