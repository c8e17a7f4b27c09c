"""What asks a robot for something, and what only tells or forbids; and the guard that keeps tools from talk."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import PII, Agent, FirePoint, Message, ToolContext, skill, tool
from edgeagent.app import house_phrases
from edgeagent.english import (
    Abilities,
    Phrases,
    asks_about_facts,
    commands,
    continues,
    may_ask,
    requests_in,
)
from edgeagent.hooks import NOT_UNDERSTOOD, ONLY_ENGLISH, BeforeLLM, BeforeTool, PIIHook, TalkGuardHook, changes, moves
from edgeagent.house import HouseRobot
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import Tool
from edgeagent.voice import DialogueSettings

from .stage import Stage

PLAIN = Phrases()
ASKS = """
do what she said
do as she says
bring me the one she said
wait until he says
go to the room that says the lab
Good, left.
Great, home.
good forward
if you were so kind, could you bring me tea?
if you were kind enough to bring me the tea
once more I am asking you to go to the kitchen
again and again you turn left
once more I want you to turn left
once more please
if I were you, go to the kitchen
go to the kitchen
could you please turn left
I want you to come here
we need you in the hallway
the red cube
that towel to the window
the cup goes on the desk
the light in the hall should be off
it's time to charge
it would be nice to have you here
I can't see the clock what time is it
don't go to the kitchen go to the bedroom
not the kitchen the bedroom
don't forget to turn off the light
do not drive to the desk but to the door
there is a box in the hall pick it up
hey you fetch the ball
you can turn around now
your job is to stay by the door
why don't you come here
when you are done turn around
lights off
two meters
engage the pump
no the bedroom
no don't go to the kitchen go to the bedroom
look left not right
why not go to the kitchen
never mind go home
never mind that take the blue one
don't worry just go
don't stop keep going
I said don't wait come here now
actually don't bring tea bring coffee
sorry don't take that one I want the blue one
bring the key and don't forget it
we are in the hall, come and find me
this very moment, roll forward
the lamp on the terrace needs to be turned off
you are wanted in the kitchen
please don't turn left execute a right turn
do not set the alarm sound the horn instead
I could use some light in the office
the office one as well
the keys too please
the second one again
those two again
then the same in the office but without the light
the hallway too and tell me the time
this time only two
""".strip().splitlines()
TELLS = """
don't turn the light off
don't drive to the loading dock
don't drive to the car park
do not, under any circumstances, move the arm
never, ever, go to the kitchen
don't push, pull or lift anything
the coffee is cold already
the coffee and follow already
the light is off again
the kitchen was cold too
this one is broken as well
the cup tell off the desk
my brother turned left at the church
my keys are not in the kitchen
I drove to the office
I do not want you to go to the door
we are having guests on Saturday
he told me to turn right
there is a spider in the bathtub
somebody parked in front of our house
this room gets a lot of sun
you are not going to the bathroom
don't go to the kitchen
please do not turn off the light
never put the cup on the floor
you must not leave the room
the red cube belongs to my daughter
no don't go to the kitchen
wait don't go to the kitchen
stop don't turn left
hold on do not turn left
and don't go to the kitchen
listen don't turn left
whatever you do don't turn left
I said don't turn left
could you please not turn left
be careful not to turn left
hey you don't go
let's not go to the kitchen
make sure not to go to the kitchen
when Anna is here do not vacuum
if the door is open don't go outside
under no circumstances go to the kitchen
never mind
don't worry
don't stop at the door
don't wait for me
if you were hungry you would go to the kitchen
nice kitchen
same to you
once more I am late
back home we have a garden
meet me in the garage, said the text
go to the kitchen, she said
go to the kitchen never
drive two meters don't
turn left no
go to the kitchen never %
I was there yesterday, see you
last week we tracked the moon all night
he stopped, turned left, and we laughed
go to the office forget it
drive two meters never mind
go to the kitchen please don't
😀 don't go to the kitchen
€ please don't
5
minus three
1 2 3
please
🚀
""".strip().splitlines()


@pytest.mark.parametrize("text", ASKS)
def test_what_may_ask(text: str) -> None:
    assert may_ask(text, PLAIN)


@pytest.mark.parametrize("text", TELLS)
def test_what_tells_or_forbids(text: str) -> None:
    assert not may_ask(text, PLAIN)


@pytest.mark.parametrize(
    "text",
    ["don't go to the kitchen?", ":: don't go there ?", "no, don't turn left?", "could you please not turn left?"],
)
def test_a_question_mark_makes_no_question_of_a_prohibition(text: str) -> None:
    assert not may_ask(text, PLAIN)


@pytest.mark.parametrize("text", ["don't you see the cup?", "why don't you go to the kitchen?", "not the kitchen?"])
def test_a_question_with_a_negation_asks(text: str) -> None:
    assert may_ask(text, PLAIN)


def test_what_an_app_lists_asks_whatever_it_begins_with() -> None:
    assert not may_ask("my name is Anna and I live here", PLAIN)
    assert may_ask("my name is Anna and I live here", Phrases(["my name is Ben"]))
    assert may_ask("the usual please", Phrases(["the usual"]))
    assert may_ask("is anybody there?", PLAIN)
    assert may_ask("5 5", Phrases(["1 2"]))
    assert not may_ask("", PLAIN)


def test_of_the_house_robots_phrases_hardly_any_is_taken_for_talk() -> None:
    phrases = house_phrases()[::4]
    told = [phrase for phrase in phrases if not may_ask(phrase, PLAIN)]
    assert len(told) < 0.03 * len(phrases), told  # odd ones, such as "it you leave by entrance"


@pytest.mark.parametrize(
    "text", ["", "...", "robi please", "\N{GRINNING FACE}", "go to the office", "the coffee is cold"]
)
def test_what_names_nothing_of_before_asks_for_nothing_again(text: str) -> None:
    assert not continues(text)


@given(st.lists(st.sampled_from(["the", "office", "one", "as", "well", "please", "robi", "and", "wave", "..."])))
def test_the_same_again_asks(words: list[str]) -> None:
    text = " ".join(words)
    assert may_ask(text, PLAIN) or not continues(text)


HALL = Abilities.of([("light_hall", "Switch the light of the hall."), ("is_dark", "True if it is dark.")], ["hall"])


@given(st.lists(st.sampled_from(sorted({word for line in (*ASKS, *TELLS) for word in line.split()})), max_size=7))
def test_any_words_can_be_judged(words: list[str]) -> None:
    text = " ".join(words)
    assert may_ask(text, PLAIN) in (True, False)
    assert commands(text, HALL) <= may_ask(text, PLAIN)
    assert 0 <= requests_in(text, HALL) <= len(words)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("go to the hall, the kitchen and the office", 3),
        ("Go to the hall, then to the kitchen.", 2),
        ("please drive back to the living room and my office", 2),
        ("visit the hall and the kitchen, then turn around", 3),
        ("go to the hall, take the cup and the plate", 2),
        ("go to the hall, kitchen and living room", 3),
        ("go to the hall, the light is on", 1),
        ("go to the hall, my friend", 1),
        ("go to the hall, the door please", 1),
        ("go to the hall, the usual way", 1),
        ("go to the hall, a quick trip", 1),
        ("go to the hall, the coffee machine", 1),
        ("go to the hall and the dog barks", 1),
        ("go to the hall and back", 1),
        ("go to the hall, the big one", 1),
        ("go to the hall, the sooner the better", 1),
        ("go to the hall or the kitchen", 1),
        ("go to the hall, please, Martin", 1),
        ("bring the cup and the plate to the kitchen", 1),
        ("turn on the light in the hall and the kitchen", 1),
        ("check the hall and the kitchen", 1),
    ],
)
def test_each_place_to_go_to_is_a_request(text: str, count: int) -> None:
    places = ["hall", "kitchen", "office", "living_room"]
    can = Abilities.of([("light_hall", "Switch the light of the hall.")], ["place"], places)
    assert requests_in(text, can) == count


# --- the guard ----------------------------------------------------------------------------------------------------


def _agent(done: list[str]) -> Agent:
    @skill
    def go_to(place: str, ctx: ToolContext) -> str:
        """Drive.

        Args:
            place: Where to.
        """
        done.append(f"go to {place}")
        return "arrived"

    @tool
    def note(text: str) -> str:
        """Keep a text.

        Args:
            text: The text.
        """
        done.append(f"note {text}")
        return "noted"

    @tool(read_only=True)
    def look_up(what: str) -> str:
        """Look something up.

        Args:
            what: What.
        """
        done.append(f"look up {what}")
        return "found"

    return Agent("robi", tools=[go_to, note, look_up])


def _settings(keeps: Callable[[Tool], bool] = moves) -> DialogueSettings:
    return DialogueSettings(chimes=False, keeps_from_talk=keeps)


def _spoken(stage: Stage) -> list[str]:
    return [event.text for event in stage.log if event.kind == "heard"]


def _heard(stage: Stage, text: str) -> None:
    stage.say(text)
    stage.pass_until(lambda: stage.dialogue.state == "listening" and not stage.dialogue.robot.busy)
    stage.pass_s(0.1)


def test_talk_moves_nothing_and_is_asked_about() -> None:
    done: list[str] = []
    with Stage([call("go_to", place="office")], "never said", settings=_settings(), agent=_agent(done)) as stage:
        _heard(stage, "your dinner is getting cold")
        assert done == []
        assert _spoken(stage) == ["Sorry, I did not understand that."]


def test_a_command_after_talk_moves() -> None:
    done: list[str] = []
    replies = ([call("go_to", place="office")], [call("go_to", place="kitchen")], "Here.")
    with Stage(*replies, settings=_settings(), agent=_agent(done)) as stage:
        _heard(stage, "don't go to the office")
        _heard(stage, "go to the kitchen")
        assert done == ["go to kitchen"]


def test_a_builders_tool_that_moves_nothing_works_for_whatever_is_said() -> None:
    done: list[str] = []
    with Stage([call("note", text="Anna")], "Noted.", settings=_settings(), agent=_agent(done)) as stage:
        _heard(stage, "my name is Anna and I live here")
        assert done == ["note Anna"]


def test_an_app_may_keep_all_from_talk_that_does_more_than_tell() -> None:
    done: list[str] = []
    replies = ([call("note", text="x")], [call("look_up", what="y")], "Found.")
    with Stage(*replies, settings=_settings(changes), agent=_agent(done)) as stage:
        _heard(stage, "the timer on the oven went away")
        _heard(stage, "the book was on the table")
        assert done == ["look up y"]


def test_a_model_that_can_talk_answers_talk_in_words() -> None:
    done: list[str] = []
    agent = _agent(done)
    agent.llm = ScriptedLLM([call("note", text="x")], "That is a pity.")
    agent.hooks.append(TalkGuardHook(changes, any_language=True, in_words=True))
    assert agent.run("the vase that you printed broke").reply == "That is a pity."
    assert done == []


def test_a_call_in_place_of_the_words_that_were_asked_for_is_not_shown() -> None:
    done: list[str] = []
    agent = _agent(done)
    agent.llm = ScriptedLLM([call("note", text="x")], 'Note: {"text": "x"}')
    agent.hooks.append(TalkGuardHook(changes, any_language=True, in_words=True))
    shown: list[str] = []
    agent.subscribe(lambda event: shown.append(event.delta) if event.kind == "message_update" else None)
    assert agent.run("don't write anything down").reply == NOT_UNDERSTOOD
    assert (done, "".join(shown)) == ([], NOT_UNDERSTOOD)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("I noted that.", NOT_UNDERSTOOD),
        ("The robot is noting it.", NOT_UNDERSTOOD),
        ("That is of note.", "That is of note."),
    ],
)
def test_words_that_tell_of_what_was_not_done_are_not_said(words: str, told: str) -> None:
    agent = _agent([])
    agent.llm = ScriptedLLM([call("note", text="x")], words)
    agent.hooks.append(TalkGuardHook(changes, any_language=True, in_words=True))
    assert agent.run("the vase that you printed broke").reply == told


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the vase is broken, note that down", False),
        ("my name is Anna. Note it please.", False),
        ("don't note that", True),
        ("this is a note", True),
        ("the vase is broken, don't note it", True),
    ],
)
def test_the_verbs_of_an_apps_own_tools_ask(text: str, *, kept: bool) -> None:
    done: list[str] = []
    agent = _agent(done)
    agent.llm = ScriptedLLM([call("note", text="x")], "Fine.")
    agent.hooks.append(TalkGuardHook(changes))
    agent.run(text)
    assert done == ([] if kept else ["note x"])


def test_what_is_said_beside_a_call_that_nobody_asked_for_is_no_answer() -> None:
    done: list[str] = []
    agent = _agent(done)
    agent.llm = ScriptedLLM({"text": "I wrote that down.", "calls": [call("note", text="x")]})
    agent.hooks.append(TalkGuardHook(changes, any_language=True, in_words=True))
    assert agent.run("don't write anything down").reply == NOT_UNDERSTOOD
    assert done == []


def test_what_the_house_robot_keeps_from_talk() -> None:
    robot = HouseRobot()
    try:
        kept, moving = ({tool.name for tool in robot.tools if keeps(tool)} for keeps in (changes, moves))
    finally:
        robot.close()
    assert {"drive", "turn", "go_to", "pick_up", "put_down", "follow", "dock"} <= moving
    assert kept - moving == {"set_light", "set_timer", "look"} - moving
    assert "stop" not in kept | moving


def test_what_answers_a_question_of_the_robots_is_no_talk() -> None:
    done: list[str] = []
    replies = ("Where to?", [call("go_to", place="office")], "Here.")
    with Stage(*replies, settings=_settings(), agent=_agent(done)) as stage:
        _heard(stage, "go and help her")
        _heard(stage, "she is waiting in the office")
        assert done == ["go to office"]


def test_what_is_typed_is_meant() -> None:
    done: list[str] = []
    with Stage([call("go_to", place="office")], "Here.", settings=_settings(), agent=_agent(done)) as stage:
        stage.dialogue.hear("your dinner is getting cold")
        stage.pass_until(lambda: bool(done))
        assert done == ["go to office"]


def test_what_is_typed_to_a_small_model_is_judged_as_what_is_spoken() -> None:
    done: list[str] = []
    settings = DialogueSettings(chimes=False, small_model=True)
    with Stage([call("go_to", place="office")], settings=settings, agent=_agent(done)) as stage:
        for text, answer in (("your dinner is getting cold", NOT_UNDERSTOOD), ("geh in die K\u00fcche", ONLY_ENGLISH)):
            stage.dialogue.hear(text)
            stage.pass_until(lambda answer=answer: answer in _spoken(stage))  # type: ignore[misc]
        assert done == []


def test_a_message_of_the_apps_after_talk_may_move() -> None:
    done: list[str] = []
    replies = ("I see.", [call("go_to", place="dock")], "Charging.")
    with Stage(*replies, settings=_settings(), agent=_agent(done)) as stage:
        _heard(stage, "the coffee is cold already")
        stage.session.follow_up("The battery is low.", wake=True)
        stage.pass_until(lambda: bool(done))
        assert done == ["go to dock"]


def test_talk_that_waits_for_its_answer_stays_talk_when_something_else_is_said() -> None:
    done: list[str] = []
    with Stage(settings=_settings(), agent=_agent(done)) as stage:
        guard = stage.dialogue.robot._guard
        guard.hears("don't go to the kitchen", spoken=True, answers=False)
        guard.hears("what time is it", spoken=True, answers=False)

        def drives_after(*said: str) -> bool:
            context, go_to = stage.session.context, stage.agent.tools.get("go_to")
            assert go_to is not None
            messages = [Message.user("hello"), Message.assistant("Hi."), *map(Message.user, said)]
            guard(FirePoint.BEFORE_LLM, context, BeforeLLM(messages, [go_to], 0))
            drive = BeforeTool(call("go_to", place="kitchen"), go_to, 0)
            return guard(FirePoint.BEFORE_TOOL, context, drive) is None

        assert not drives_after("don't go to the kitchen")
        assert not drives_after("don't go to the kitchen", "what time is it"), "both are answered at once"
        assert drives_after("what time is it")


def test_talk_stays_talk_when_personal_data_is_taken_out_of_it() -> None:
    done: list[str] = []
    agent = _agent(done)
    agent.hooks.append(PIIHook(PII(user="redact")))
    with Stage([call("go_to", place="kitchen")], settings=_settings(), agent=agent) as stage:
        _heard(stage, "don't go to the kitchen my mail is bob@example.com")
        assert "bob" not in stage.session.messages()[0].text
        assert done == []


def test_a_command_after_talk_that_nobody_answered_is_a_command() -> None:
    done: list[str] = []
    with Stage(settings=_settings(), agent=_agent(done)) as stage:
        robot = stage.dialogue.robot
        robot._guard.hears("don't go to the kitchen", spoken=True, answers=False)
        robot.interrupt("barge_in")
        robot._guard.hears("go to the office", spoken=True, answers=False)
        context, go_to = stage.session.context, stage.agent.tools.get("go_to")
        assert go_to is not None
        said = [Message.user("don't go to the kitchen"), Message.user("go to the office")]
        robot._guard(FirePoint.BEFORE_LLM, context, BeforeLLM(said, [go_to], 0))
        drive = BeforeTool(call("go_to", place="office"), go_to, 0)
        assert robot._guard(FirePoint.BEFORE_TOOL, context, drive) is None


@pytest.mark.parametrize(
    "text",
    [
        "was that left",
        "did you turn?",
        "were you in the kitchen",
        "was the door open",
        "is that the kitchen",
        "do you say that you might come",
    ],
)
def test_a_question_about_what_was_or_what_something_is(text: str) -> None:
    assert asks_about_facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "did you see the cup? bring it",
        "did you hear me? Forward!",
        "did you hear that? I want tea.",
        "did you turn off the light if not turn it off",
        "did I not tell you to go",
        "is the light on",
        "is that the door, open it",
        "was for dinner",
        "turn left",
    ],
)
def test_what_asks_for_more_than_facts(text: str) -> None:
    assert not asks_about_facts(text)
