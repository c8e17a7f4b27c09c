"""A robot does not move while its tools are checked, whatever its model calls and however its app is built."""

import pytest

from edgeagent.check import Case, Outcome, Trial
from edgeagent.config import Config


def asked(robot, text: str) -> Outcome:
    """Asks an app once; nothing of its tools may have run."""
    file = robot(text)
    with Trial(Config(app=file.path)) as trial:
        outcome = trial.ask(Case("go", ()))
    assert file.bodies == []
    return outcome


def made(outcome: Outcome) -> list[str]:
    return [call.name for call in outcome.made]


@pytest.mark.parametrize(
    "text",
    [
        "agent = Agent('a', llm=ScriptedLLM([call('wave'), call('walk', steps=2)], 'Done.'), tools=[wave, walk])",
        """
def build(llm):
    script = ScriptedLLM([call("wave"), call("walk", steps=2)], "Done.")
    return Agent("a", llm=script, tools=[wave, walk])
""",
    ],
)
def test_calls_end_before_the_body(robot, text: str) -> None:
    outcome = asked(robot, text)
    assert made(outcome) == ["wave", "walk"]
    assert (outcome.reply, outcome.error, outcome.refused) == ("Done.", None, ())


def test_the_model_is_told_a_result(robot) -> None:
    told = "llm = ScriptedLLM([call('wave')], lambda request: request.messages[-1].text)\n"
    assert asked(robot, told + "agent = Agent('a', llm=llm, tools=[wave])").reply == "done"


def test_nobody_is_asked_about_what_can_t_be_undone_and_no_question_is_put(robot) -> None:
    text = """
@tool(destructive=True)
def erase(name: str) -> str:
    "Erase."
    ran("erase")
    return "erased"

@tool(question=True)
def ask_person(question: str) -> str:
    "Ask."
    return ""

def confirm(name, arguments):
    ran("confirm")
    return True

llm = ScriptedLLM([call("erase", name="x"), call("ask_person", question="Why?")], "Done.")
agent = Agent("a", llm=llm, tools=[erase, ask_person], options=Options(confirm=confirm))
"""
    assert made(asked(robot, text)) == ["erase", "ask_person"]


def test_an_async_body_and_a_method_s_do_not_run(robot) -> None:
    text = """
@tool
async def fly() -> str:
    "Fly."
    ran("fly")
    return "flew"

class Arm:
    @skill(stop=lambda: ran("stop of lift"), pause=lambda: ran("pause"), resume=lambda: ran("resume"))
    def lift(self, height_m: float) -> str:
        "Lift."
        ran("lift")
        return "lifted"

llm = ScriptedLLM([call("fly"), call("lift", height_m=1)], "Done.")
agent = Agent("a", llm=llm, tools=[fly, Arm().lift])
"""
    assert made(asked(robot, text)) == ["fly", "lift"]


def test_the_tools_of_an_agent_that_is_handed_over_to_do_not_run(robot) -> None:
    text = """
other = Agent("other", llm=ScriptedLLM([call("walk", steps=1)], "Walked."), tools=[walk])
agent = Agent("a", llm=ScriptedLLM([call("handoff_to_other", task="walk")]), tools=[wave], handoffs=[other])
"""
    outcome = asked(robot, text)
    assert made(outcome) == ["walk"]
    assert outcome.reply == "Walked."


def test_an_agent_that_is_a_tool_is_not_asked(robot) -> None:
    text = """
other = Agent("other", llm=ScriptedLLM([call("walk", steps=1)], "Walked."), tools=[walk])
agent = Agent("a", llm=ScriptedLLM([call("other", task="walk")], "Done."), tools=[other.as_tool()])
"""
    assert made(asked(robot, text)) == ["other"]


def test_a_tool_that_is_added_during_the_run_does_not_run_either(robot) -> None:
    text = """
llm = ScriptedLLM([call("wave")], [call("walk", steps=1)], "Done.")
agent = Agent("a", llm=llm, tools=[wave])
add = lambda event: agent.tools.add(walk) if event.kind == "tool_execution_end" and len(agent.tools) < 2 else None
agent.subscribe(add)
"""
    assert made(asked(robot, text)) == ["wave", "walk"]


def test_a_call_that_a_hook_makes_another_tool_s_does_not_run(robot) -> None:
    text = """
def rewrite(call, stop_event):
    return ToolCall(call.id, "walk", {"steps": 3})

llm = ScriptedLLM([call("wave")], "Done.")
agent = Agent("a", llm=llm, tools=[wave, walk], options=Options(before_tool_call=rewrite))
"""
    asked(robot, text)


def test_a_tool_that_a_hook_of_the_app_calls_by_the_registry_does_not_run(robot) -> None:
    text = """
llm = ScriptedLLM("Hello.")
agent = Agent("a", llm=llm, tools=[wave])
agent.subscribe(lambda event: [tool() for tool in agent.tools])
"""
    assert made(asked(robot, text)) == []
