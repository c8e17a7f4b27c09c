"""``/why`` and ``replay --prompts``: what the model was asked, what it wrote, and what became of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import Agent, Handoff, events, tool
from edgeagent.cli import LastRequest, explained
from edgeagent.hooks import AuditLogHook
from edgeagent.llm import End, LLMEvent, LLMRequest
from edgeagent.messages import Reading, Step
from edgeagent.testing import ScriptedLLM, call

TOOL = '{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}'
PROMPT = f"<system>Be kind.\n<tools>\n{TOOL}\n{TOOL}\n</tools>\n<user>where is the cube?\n<assistant>"
READING = Reading(PROMPT, "I see.", (Step("hermes", "no call"), Step("bare JSON", "no call")))


class Told(ScriptedLLM):
    """A scripted model that tells how its replies were read."""

    told = READING

    def reading(self) -> Reading:
        return self.told

    def stream(self, request: LLMRequest, stop_event: Event) -> Iterator[LLMEvent]:
        for event in super().stream(request, stop_event):
            yield replace(event, reading=self.reading()) if isinstance(event, End) else event


@tool
def look() -> str:
    """Look."""
    return "a cube"


@dataclass
class Asked:
    """A request, and how it is explained."""

    agent: Agent
    last: LastRequest

    def why(self, *, width: int = 100, full: bool = False) -> str:
        return "\n".join(line.text for line in explained(self.last.calls or (), width=width, full=full))


def asked(agent: Agent) -> Asked:
    last = LastRequest()
    agent.subscribe(last)
    agent.run("where is the cube?")
    return Asked(agent, last)


def why_of(reading: Reading, *, width: int = 100, full: bool = False) -> str:
    llm = Told("I see.")
    llm.told = reading
    return asked(Agent("robi", llm=llm)).why(width=width, full=full)


# --- in a chat --------------------------------------------------------------------------------------------------------


def test_why_shows_each_model_call_of_the_last_request(edgeagent: Any) -> None:
    lines = b"/why\nhow full is your battery\ngo to the kitchen\n/why\n/why full\n/why not\n"
    done = edgeagent("chat", "--speed", "1000", stdin=lines)
    assert "nothing was asked yet" in done.stderr
    assert "/why is alone, or followed by full" in done.stderr
    folded, full = re.split(r"(?=model call 1 of 2 · robi\n)", done.stdout)[1:]
    assert re.search(r"prompt\n    <\|im_start\|>system\n    You are .*\n    … the tools, \d+ characters\n", folded)
    assert "<|im_start|>user\n    how full is your battery<|im_end|>\n" in folded
    raw = '<tool_call>{"name": "go_to", "arguments": {"place": "kitchen"}}</tool_call>'
    assert f"  reply, as it was written\n    {raw}\n  how it was read\n" in folded
    assert "  what became of it\n    → go_to kitchen\nmodel call 2 of 2 · robi\n" in folded
    assert re.search(r"prompt\n    … \d+ characters as in the call before\n    <tool_call>", folded)
    assert "drive(distance_m: number)" not in folded
    assert full.count("drive(distance_m: number)") == 2
    assert "\x1b" not in done.stdout + done.stderr


def test_a_model_that_does_not_tell_is_no_error(edgeagent: Any) -> None:
    done = edgeagent("chat", stdin=b"hello\n/help\n/why\n", house=True)
    assert "this model does not tell its prompt and its raw reply" in done.stdout
    assert "said: heard hello" in done.stdout
    assert "/why " in done.stdout


def test_at_a_terminal_it_has_colours(at_terminal: Any) -> None:
    terminal = at_terminal("chat", house=True)
    terminal.expect("say for example")
    terminal.expect(">")
    terminal.enter("hello")
    terminal.expect("heard hello")
    terminal.enter("/why")
    terminal.expect("said: heard hello")
    assert "\x1b[36mmodel call 1 of 1" in terminal.raw.decode()
    terminal.type("\x04")
    assert terminal.ends() == 0


# --- of any request ---------------------------------------------------------------------------------------------------


def test_calls_of_tools_and_what_was_said_are_told() -> None:
    told = asked(Agent("robi", llm=Told([call("look")], "a cube."), tools=[look])).why()
    assert "→ look\nmodel call 2 of 2 · robi" in told
    assert told.endswith("said: a cube.")


def test_a_call_that_was_stopped_has_what_was_written_until_then() -> None:
    agent = Agent("robi", llm=Told("one two three", token_delay_s=0.01))
    agent.subscribe(lambda event: agent.abort() if isinstance(event, events.MessageUpdate) else None)
    told = asked(agent).why()
    assert "reply, as it was written\n    I see." in told
    assert told.endswith("■ stopped before its end")


def test_a_request_that_was_stopped_before_the_model_had_begun_says_so() -> None:
    agent = Agent("robi", llm=ScriptedLLM("never"))
    agent.subscribe(lambda event: agent.abort() if isinstance(event, events.MessageStart) else None)
    assert "model" not in asked(agent).why().replace("the model had begun", "")


def test_each_call_tells_which_agent_it_was() -> None:
    cook = Agent("cook", llm=Told("boiled."))

    @tool
    def cook_it() -> Handoff:
        return Handoff(cook)

    told = asked(Agent("robi", llm=Told([call("cook_it")]), tools=[cook_it], handoffs=[cook])).why()
    assert re.findall(r"model call (\d) of 2 · (\w+)", told) == [("1", "robi"), ("2", "cook")]


def test_an_agent_that_was_asked_as_a_tool_is_among_them() -> None:
    cook = Agent("cook", llm=Told("boiled."))
    router = Agent("robi", llm=Told([call("cook", task="boil")], "done."), tools=[cook.as_tool()])
    assert re.findall(r"model call \d of 3 · (\w+)", asked(router).why()) == ["robi", "cook", "robi"]


def test_only_the_last_request_counts() -> None:
    done = asked(Agent("robi", llm=Told("one.", "two.")))
    done.agent.run("again")
    assert "two." in done.why()
    assert "one." not in done.why()


def test_a_message_that_no_model_wrote_is_no_model_call() -> None:
    @tool(terminate=True)
    def bye() -> str:
        return "bye"

    told = asked(Agent("robi", llm=Told([call("bye")]), tools=[bye])).why()
    assert "model call 1 of 1" in told


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_every_step_is_told_and_the_first_token_and_what_the_grammar_refused() -> None:
    reading = replace(
        READING, opener_probability=0.1234, opener_threshold=0.5, openers_masked=True, refused=tuple("abcdefghijk")
    )
    told = why_of(reading)
    assert "    first token: 0.1234 for a call, 0.5 is needed; so it had to talk\n" in told
    assert "    hermes: no call\n    bare JSON: no call\n" in told
    assert '    refused by the grammar: "a" "b" "c" "d" "e" "f" "g" "h" and 3 more\n' in told
    assert '"k"' in why_of(reading, full=True)


@pytest.mark.parametrize(
    "tools",
    [
        f"<tools>\n{TOOL}\n{TOOL}\n</tools>",
        f"[AVAILABLE_TOOLS][{TOOL}, {TOOL}][/AVAILABLE_TOOLS]",
        json.dumps(json.loads(TOOL), indent=4) + "\n\n" + json.dumps(json.loads(TOOL), indent=4),
    ],
)
def test_tools_are_folded_however_the_template_shows_them(tools: str) -> None:
    reading = replace(READING, prompt=f"Be kind.\n{tools}\nwhere is the cube?")
    folded = why_of(reading)
    assert "… 2 tools, " in folded
    assert "parameters" not in folded
    assert "Be kind." in folded
    assert "where is the cube?" in folded
    assert "parameters" in why_of(reading, full=True)


def test_the_tools_of_nano_are_folded_with_all_that_is_told_of_them() -> None:
    tools = "Tools: drop_anchor(chain_m: number = metres of chain), depth() = depth of the water under the keel"
    folded = why_of(replace(READING, prompt=f"Be kind.\n{tools}<|im_end|>\nwhere is the cube?"))
    assert f"… the tools, {len(tools)} characters" in folded
    assert "keel" not in folded


def test_a_call_in_a_prompt_is_no_tool() -> None:
    assert '{"name": "look", "arguments": {}}' in why_of(replace(READING, prompt='{"name": "look", "arguments": {}}'))


def test_lines_are_wrapped_and_nobody_else_moves_the_cursor() -> None:
    reading = replace(READING, prompt="word " * 50 + "\x1b[31m", raw="x" * 90 + "\x1b]0;title\x07\r\n\ttab")
    told = why_of(reading, width=40)
    assert max(map(len, told.split("\n"))) <= 40
    assert not set("\x1b\x07\r") & set(told)
    assert "\ttab" in told


# --- a recording ------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One run of two model calls, the second with a prompt that goes on where the first one's ended."""
    path = tmp_path / "audit.jsonl"

    class Longer(Told):
        def reading(self) -> Reading:
            more = "" if self.remaining else "\nlook\n<tool>a cube of ann@example.com\n<assistant>"
            return Reading(PROMPT + more, "raw reply", (Step("hermes", "1 call"),), refused=("fly",))

    hook = AuditLogHook(path)
    Agent("robi", llm=Longer([call("look")], "a cube."), tools=[look], hooks=[hook]).run("where is the cube?")
    hook.close()
    return path


def test_replay_shows_prompts_where_it_is_asked_for_them(in_process: Any, log: Path) -> None:
    assert "Be kind." not in in_process("replay", log).stdout
    done = in_process("replay", log, "--prompts")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("turn 2 ")
    assert "  prompt\n    <system>Be kind.\n    <tools>\n    … 2 tools, " in first
    assert "    raw reply\n  how it was read\n    hermes: 1 call\n" in first
    assert '    refused by the grammar: "fly"\n  → look\n' in first
    assert "characters as in the call before\n" in second
    assert "    <tool>a cube of <EMAIL>\n" in second


def test_replay_full_folds_nothing(in_process: Any, log: Path) -> None:
    done = in_process("replay", log, "--full")
    assert done.stdout.count("Be kind.") == 2
    assert done.stdout.count('"parameters"') == 4


def test_programs_get_whole_prompts(in_process: Any, log: Path) -> None:
    first = json.loads(in_process("replay", log, "--prompts", "--json").stdout.splitlines()[0])
    assert first["reading"]["prompt"] == PROMPT
    assert first["reading"]["steps"][0] == {"part": "hermes", "verdict": "1 call"}
    assert "reading" not in json.loads(in_process("replay", log, "--json").stdout.splitlines()[0])


def test_a_recording_without_prompts_says_how_to_get_them(in_process: Any, tmp_path: Path) -> None:
    hook = AuditLogHook(tmp_path / "audit.jsonl")
    Agent("robi", llm=ScriptedLLM("hello."), hooks=[hook]).run("hi")
    shown = in_process("replay", tmp_path / "audit.jsonl", "--prompts").stdout
    assert "no prompt in this log" in shown
    assert "with --audit" in shown


def test_a_reading_that_is_none_is_an_error_with_its_line(in_process: Any, log: Path) -> None:
    log.write_text(log.read_text().replace('"refused": ["fly"]', '"refuse": 1'))
    done = in_process("replay", log, "--prompts")
    assert done.returncode == 2
    assert ":3: this line is no record" in done.stderr
