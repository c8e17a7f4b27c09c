"""Numbers in a reply that nobody told the model are replaced by what the results say."""

import pytest

from edgeagent import Agent, Message, ToolResult, tool
from edgeagent.hooks import GroundedReplyHook
from edgeagent.testing import ScriptedLLM, call


def said(reply: str, *results: str | ToolResult, task: str = "tell me", before: tuple[Message, ...] = ()) -> str:
    """The reply of a robot whose tool returned these, one a call."""
    left = list(results)

    @tool
    def look(where: str = "") -> ToolResult:
        """Look."""
        result = left.pop(0)
        return ToolResult.ok(result) if isinstance(result, str) else result

    llm = ScriptedLLM(*([[call("look", where=str(at)) for at in range(len(results))]] if results else []), reply)
    told: list[str] = []
    agent = Agent("robi", llm=llm, tools=[look], hooks=[GroundedReplyHook()])
    agent.subscribe(lambda event: told.append(event.delta) if event.kind == "message_update" else None)
    result = agent.run(task, messages=before)
    assert "".join(told) == result.reply, "what is told is what is kept"
    return result.reply


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("The battery is at 80 percent.", "battery at 80 percent"),
        ("The battery is at eighty percent.", "battery at 80 percent"),
        ("I drove 0.91 meters.", "drove forward 0.914 m"),
        ("I drove 91 centimeters.", "drove forward 0.91 m"),
        ("I drove about 1 meter.", "drove forward 0.914 m"),
        ("I set a timer for 5 minutes.", "timer set for 300 seconds"),
        ("It is 2:05 pm.", "it is 14:05"),
        ("It is 14:05.", "it is 14:05"),
        ("The wall is 1.2 meters away. One moment, please.", "nearest obstacle: wall, 1.2 m ahead"),
        ("I am in the kitchen.", "arrived in the kitchen"),
        ("Look at 1 thing.", "a cup"),
        ("I could not drive forward 2 meters: blocked after 1.2 m.", "blocked by a wall after 1.2 m of 2 m"),
    ],
)
def test_what_stands_in_the_result_is_told(reply: str, result: str) -> None:
    assert said(reply, result) == reply


def test_numbers_of_the_persons_are_told() -> None:
    assert said("Eight and 3 make 11.", task="what are 8 and 3 and 11?") == "Eight and 3 make 11."
    before = (Message.user("I have 4 cats"), Message.assistant("Nice."))
    assert said("You have four cats.", task="how many?", before=before) == "You have four cats."


@pytest.mark.parametrize(
    ("reply", "results", "told"),
    [
        ("The battery is at 40 percent.", ["battery at 80 percent"], "Battery at 80 percent."),
        ("Fine. It is 40 percent.", ["battery at 80 percent"], "Fine. Battery at 80 percent."),
        ("I drove 8 meters. It is 9 m.", ["drove forward 2 m"], "Drove forward 2 m."),
        ("It is 15:05.", ["it is 14:05"], "It is 14:05."),
        (
            "It is 14:05. The battery is at 40 percent.",
            ["it is 14:05", "battery at 80 percent"],
            "It is 14:05. Battery at 80 percent.",
        ),
        ("It is 20 meters.", ['{"distance": 3}'], "Distance: 3."),
    ],
)
def test_a_sentence_with_another_number_is_made_of_the_results(reply: str, results: list[str], told: str) -> None:
    assert said(reply, *results) == told


def test_what_failed_is_told_as_failed() -> None:
    assert said("I drove 5 meters.", ToolResult.error("blocked after 1 m")) == "That did not work: blocked after 1 m."


def test_without_results_the_sentence_is_left_out() -> None:
    assert said("Hello. It is 21 degrees.") == "Hello."
    assert said("It is 21 degrees.") == "I do not know."


def test_a_reply_without_numbers_and_one_with_calls_are_left_alone() -> None:
    assert said("Hello there.") == "Hello there."
    assert said("\N{GRINNING FACE}") == "\N{GRINNING FACE}"
