"""What no result says is replaced by what the results say."""

from typing import Any

import pytest

from edgeagent import Agent, AgentContext, Message, Tool, ToolCall, ToolResult, skill, tool
from edgeagent.hooks import BaseHook, FirePoint, GroundedReplyHook, GroundingHook, HookResult
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
        ("The wall is 1.2 meters ahead. One moment, please.", "nearest obstacle: wall, 1.2 m ahead"),
        ("I am in the kitchen.", "arrived in the kitchen"),
        ("I see 1 cup.", "a cup"),
        ("The light is on.", "kitchen light on"),
        ("No weeds found.", "no weeds found"),
        ("I stopped.", "stopped"),
        ("Free: no.", '{"free": false}'),
        ("The battery is low, at 12 percent.", "battery low (12 percent)"),
        ("The front door is open.", "door (front) open"),
        ("It is 12, 4 and 9.", "[12, 4, 9]"),
        ("I did 3 of 5 loads.", "3/5 loads done"),
        ("I drove 2/3 of a meter.", "drove forward 0.667 m"),
        (
            "The belt runs.",
            "the belt runs at 3 m/s, and doors one to nine of hall 2 are open until ten, says the guard",
        ),
    ],
)
def test_what_stands_in_the_result_is_told(reply: str, result: str) -> None:
    assert said(reply, result) == reply


def test_a_success_may_be_told_in_words_of_the_question_that_it_answers() -> None:
    told = "It is 6.4 metres deep."
    assert said(told, "6.4 metres", task="How deep is it here?") == told
    assert said("The door is open.", "closed", task="is the door open?") == "Closed."
    assert said(told, "6.4 metres", task="make it deep") == "6.4 metres."


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
        ("The battery is fine (40 percent).", ["battery fine, 80 percent"], "Battery fine, 80 percent."),
        (
            "It is 14:05. The battery is at 40 percent.",
            ["it is 14:05", "battery at 80 percent"],
            "It is 14:05. Battery at 80 percent.",
        ),
        ("It is 20 meters.", ['{"distance": 3}'], "Distance: 3."),
        ("I drove 2/3 of a meter.", ["drove forward 3 m"], "Drove forward 3 m."),
        ("It is 12/25/2026, 3 meters.", ["drove forward 3 m"], "Drove forward 3 m."),
    ],
)
def test_a_sentence_with_another_number_is_made_of_the_results(reply: str, results: list[str], told: str) -> None:
    assert said(reply, *results) == told


def test_what_was_done_three_times_is_not_told_as_done_twice() -> None:
    turned = ["turned left 180 degrees"] * 3
    assert (
        said("I turned left 180 degrees and turned left 180 degrees.", *turned) == "Turned left 180 degrees, 3 times."
    )
    for fine in (
        "I turned left 180 degrees.",
        "I turned left 180 degrees, turned left 180 degrees and turned left 180 degrees.",
    ):
        assert said(fine, *turned) == fine
    assert said("The door is open. It is wide open.", "wide open door") == "The door is open. It is wide open."


def test_what_failed_is_told_as_failed() -> None:
    assert said("I drove 5 meters.", ToolResult.error("blocked after 1 m")) == "That did not work: blocked after 1 m."


def test_results_of_a_run_that_was_stopped_are_no_matter_of_the_next_task() -> None:
    stopped = Message("tool", "drove 0.8 m of 2 m", call_id="c", name="drive", status="interrupted")
    drive = Message("assistant", "", tool_calls=(ToolCall("c", "drive", {"distance_m": 2}),))
    before = (Message.user("drive 2 m"), drive, stopped)
    told = "The battery is at 80 percent."
    assert said(told, "battery at 80 percent", before=before) == told


def test_a_thing_that_could_not_be_had_is_not_said_to_be_had() -> None:
    took = Message("assistant", "", tool_calls=(ToolCall("c", "take", {"thing": "cup"}),))
    fails = Message("assistant", "", tool_calls=(ToolCall("d", "take", {"thing": "towel"}),))
    before = (
        Message.user("take the cup and the towel"),
        took,
        Message("tool", "took the cup", call_id="c", name="take", status="ok"),
        fails,
        Message("tool", "the gripper holds the cup", call_id="d", name="take", status="error"),
        Message.assistant("I could not take the towel: the gripper holds the cup."),
    )
    told = "Take did not work: the gripper holds the cup."
    assert said("I am holding the towel.", task="what do you have", before=before) == told
    for fine in ("I am holding the cup.", "I have no towel.", "The towel is there.", "I am holding the green towel."):
        assert said(fine, task="what do you have", before=before) == fine


def test_a_thing_that_was_had_once_may_be_held_though_another_call_for_it_failed() -> None:
    before = (
        Message.user("take the cup and put it down"),
        Message("assistant", "", tool_calls=(ToolCall("c", "take", {"thing": "cup"}),)),
        Message("tool", "took the cup", call_id="c", name="take", status="ok"),
        Message("assistant", "", tool_calls=(ToolCall("d", "put_down", {"thing": "cup"}),)),
        Message("tool", "no table in reach", call_id="d", name="put_down", status="error"),
        Message.assistant("I could not put down the cup: no table in reach."),
    )
    assert said("I am holding the cup.", task="what do you have", before=before) == "I am holding the cup."


def test_numbers_at_the_end_of_a_long_text_are_known() -> None:
    manual = f"{'the manual of the pump says nothing here, ' * 100} the code of the valve is 4711"
    assert said("The code of the valve is 4711.", manual) == "The code of the valve is 4711."
    before = (Message.user(f"{'blah ' * 1000}my locker is 4711"), Message.assistant("Okay."))
    assert said("It is 4711.", before=before) == "It is 4711."


def test_without_results_the_sentence_is_left_out() -> None:
    assert said("Hello. It is 21 degrees.") == "Hello."
    assert said("It is 21 degrees.") == "I do not know."


def test_a_reply_without_numbers_and_one_with_calls_are_left_alone() -> None:
    assert said("Hello there.") == "Hello there."
    assert said("\N{GRINNING FACE}") == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    "reply",
    [
        "I could not look: the sensor does not answer.",
        "I am looking.",
        "Okay.",
        "I could not look.",
        "I looked. The distance must be at most 70 m.",
        "I am in the kitchen. I could not look: the distance must be at most 50 m.",
    ],
)
def test_a_failure_is_told_with_its_reason_and_nothing_beside_it(reply: str) -> None:
    failure = ToolResult.error("the distance must be at most 50 m")
    assert said(reply, failure) == "That did not work: the distance must be at most 50 m."


@pytest.mark.parametrize(
    "reply",
    [
        "I could not look: the lid is jammed at bay 3.",
        "I could not tell where I am: the lid is jammed at bay 3.",
        "That did not work: the lid is jammed at bay 3, sorry.",
        "Sorry, the lid of bay 3 is jammed. It did not work.",
    ],
)
def test_a_failure_that_is_told_is_left_alone(reply: str) -> None:
    assert said(reply, ToolResult.error("the lid is jammed at bay 3")) == reply


def test_a_success_is_not_told_as_a_failure_nor_as_something_else() -> None:
    assert said("I could not do that.", "door locked") == "Door locked."
    assert said("I can't.", "stopped") == "Stopped."
    assert said("I can't do that. No weeds found.", "no weeds found") == "No weeds found."
    assert said("Door locked.I can't do that.", "door locked") == "Door locked."
    assert said("The kitchen light is off.", "kitchen light on") == "Kitchen light on."
    assert said("I am at the window.", "ticket RX-204 for Anna") == "Ticket RX-204 for Anna."
    assert said("Done.", '{"free": true}') == "Free: yes."


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ToolResult("", "", "interrupted", "drove 0.8 m of 2 m"), "That was stopped: drove 0.8 m of 2 m."),
        (ToolResult("", "", "declined", "the user did not allow it"), "That was not done: the user did not allow it."),
        (
            ToolResult("", "", "timed_out", "look took longer than 30 s"),
            "That did not work: look took longer than 30 s.",
        ),
        (ToolResult.blocked("look is blocked on this robot"), "That did not work: look is blocked on this robot."),
        (ToolResult.error(""), "That did not work."),
    ],
)
@pytest.mark.parametrize("reply", ["Okay.", "", "I could not look: the battery is empty."])
def test_each_way_to_fail_is_told_as_what_it_is(result: ToolResult, told: str, reply: str) -> None:
    class Result(BaseHook):
        points = frozenset({FirePoint.BEFORE_TOOL})

        def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult:
            return HookResult.supply(result)

    llm = ScriptedLLM([call("look")], reply)
    look = tool(lambda: "done", name="look", description="Look.")
    assert Agent("robi", llm=llm, tools=[look], hooks=[Result(), GroundedReplyHook()]).run("look").reply == told


def test_what_was_not_run_is_told_in_a_clause() -> None:
    llm = ScriptedLLM([call("lift"), call("drive", to="bay 4"), call("lower")], "I lifted it. I am at bay 4.")
    robot = Agent("robi", llm=llm, tools=_forklift(), hooks=[GroundedReplyHook()])
    assert robot.run("lift, drive to bay 4, and lower").reply == "Lift did not work: too heavy. Not done: drive, lower."

    right = "I could not lift: too heavy. I did not drive to bay 4 or lower it."
    llm = ScriptedLLM([call("lift"), call("drive", to="bay 4"), call("lower")], right)
    assert Agent("robi", llm=llm, tools=_forklift(), hooks=[GroundedReplyHook()]).run("lift and so on").reply == right


def test_a_failure_is_told_and_not_asked_about_what_the_model_makes_up_then() -> None:
    llm = ScriptedLLM([call("lift")], [call("drive", to="the moon")])
    robot = Agent("robi", llm=llm, tools=_forklift(), hooks=[GroundingHook(), GroundedReplyHook()])
    assert robot.run("lift it").reply == "That did not work: too heavy."


def test_results_are_told_before_a_question_about_what_the_model_calls_next() -> None:
    llm = ScriptedLLM([call("lower")], [call("drive", to="moon")])
    robot = Agent("robi", llm=llm, tools=_forklift(), hooks=[GroundingHook(), GroundedReplyHook()])
    assert robot.run("lower it").reply == "Lowered. Did you mean the moon? Say yes."


def test_a_question_about_arguments_keeps_its_numbers() -> None:
    @skill(resources=["base"])
    def turn(angle_deg: float) -> str:
        """Turn on the spot; positive is left."""
        return "turned"

    llm = ScriptedLLM([call("turn", angle_deg=900)])
    robot = Agent("robi", llm=llm, tools=[turn], hooks=[GroundingHook(), GroundedReplyHook()])
    assert robot.run("turn left two and a half rotations").reply == "Turn left 900 degrees? Say yes."


def _forklift() -> list[Tool]:
    @skill(resources=["base"])
    def lift() -> ToolResult:
        """Lift."""
        return ToolResult.error("too heavy")

    @skill(resources=["base"])
    def drive(to: str) -> str:
        """Drive to a bay."""
        return "arrived"

    @skill(resources=["base"])
    def lower() -> str:
        """Lower."""
        return "lowered"

    return [lift, drive, lower]


@pytest.mark.parametrize("reply", ["", "...", "\N{THUMBS UP SIGN}"])
def test_a_reply_without_words_tells_nothing(reply: str) -> None:
    assert said(reply, "done") == "Done."
    assert said(reply, "") == reply


def test_half_of_a_reason_is_none() -> None:
    reply = "I could not look: the shelf after 12 s."
    assert said(reply, ToolResult.error("the shelf B12 is full")) == "That did not work: the shelf B12 is full."
