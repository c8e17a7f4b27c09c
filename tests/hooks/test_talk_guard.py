"""A guard of what people type to a small model: what asks for nothing moves nothing."""

import threading

import pytest

from edgeagent import Agent, Message, RunResult, Session, ToolCall, ToolResult, skill, tool
from edgeagent.hooks import I_WAIT, NOT_LATER, TalkGuardHook, changes
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import SchemaSignature, Tool, ToolTraits

LIMIT_S = 10


def told(
    *said: str, replies: tuple[object, ...] = (), messages: tuple[Message, ...] = (), **settings: bool
) -> tuple[list[str], RunResult]:
    """What moves when a model that always drives is told something, and the last result."""
    moved: list[str] = []

    @skill
    def go_to(place: str) -> str:
        """Drive to a place of the flat, such as the kitchen.

        Args:
            place: Where to.
        """
        moved.append(place)
        return "arrived"

    @tool
    def note(text: str) -> str:
        """Keep a text.

        Args:
            text: The text.
        """
        return "noted"

    llm = ScriptedLLM(*(replies or ([call("go_to", place="balcony")], "On my way.")))
    agent = Agent("robi", llm=llm, tools=[go_to, note], hooks=[TalkGuardHook(**settings)])
    return moved, agent.run(said[0], messages=messages)


def called(text: str, *names: str) -> list[str]:
    """The tools that are run when a model that calls all of these is told something."""
    signature = SchemaSignature({"type": "object", "properties": {}}, description="Do so.", injected={})
    tools = [Tool(lambda arguments: "done", ToolTraits(), name=name, signature=signature) for name in names]
    llm = ScriptedLLM([call(name) for name in names], "Done.")
    result = Agent("robi", llm=llm, tools=tools, hooks=[TalkGuardHook(changes)]).run(text)
    return [made.name for made in result.tool_calls if made.result and made.result.status == "ok"]


@pytest.mark.parametrize(
    "text",
    [
        "\N{GRINNING FACE}",
        "\N{GRINNING FACE} don't go to the kitchen",
        "€ please don't",
        "\udcff\udcfe don't",
        "\x07\x08\x1b don't go",
        "42",
        "1 2 3",
        "...",
        "",
        "go to the kitchen never",
        "drive two meters don't",
        "\u53bb\u53a8\u623f",
        "asdf",
        "the coffee is cold",
        "what would happen if I let you fall off the balcony?",
        "what happens when you go out on the balcony",
        "were you on the balcony?",
        "nice balcony",
        "too far",
        "way too much!",
        "Wrong way.",
        "only if it is safe",
        "is that the balcony?",
        "is it still on?",
        "do you follow me?",
        "the balcony looks nice",
        "someone is on the balcony",
        "no more",
        "come again?",
        "Sorry, I was on the phone.",
        "more or less",
        "here we go",
        "is that all?",
        "nice turn",
        "keep away from me",
        'say "go to the balcony"',
        "Repeat after me: go to the balcony.",
        'what does "go to the balcony" mean',
        "when will you go to the balcony?",
        "check if the balcony light is on",
        "tell me whether the light is off in the living room",
        "tell me when you are on the balcony",
        "let me know once you are out there",
        "get off the charger",
        "stop charging",
        "unplug yourself",
        "don't go to the balcony, wait here",
        "don't follow me wait here",
        "Don't go. Please stay.",
        "don't move, wait for me here",
    ],
)
def test_what_asks_for_nothing_moves_nothing(text: str) -> None:
    moved, result = told(text)
    assert moved == []
    assert result.reply == "Sorry, I did not understand that."
    assert result.reason == "stopped"


@pytest.mark.parametrize(
    "text",
    [
        "go to the balcony",
        "balcony",
        "Please! Go \N{ROCKET}",
        "balcony kichen",
        "it is warm, over to the balcony please",
        "it would be lovely if you were on the balcony",
        "I am off to the balcony, so tag along behind me",
        "what would happen if it rained? well, go to the balcony",
        "what if you went to the balcony",
        "go to the balcony and tell me if the plants look bad",
        "can you clean where it looks dirty",
        "come here, it looks great",
        "is it time to go on",
        "someone bring me to the balcony",
        "one more thing: go to the balcony",
        "sorry, I was wrong, go to the balcony",
        "say, could you go to the balcony?",
        "say hello and go to the balcony",
        "tell me when 5 minutes are over",
        "tell me when you are there, go to the balcony",
        "go to the balcony and tell me when you are there",
        "when you are done go to the balcony",
        "check if the light is on and turn it off",
        "get off the charger, go to the balcony",
        "don't wait here, come to the balcony",
        "don't wait here come to the balcony",
        "don't go to the kitchen, wait for me on the balcony",
        "don't go there, wait here and then go to the balcony",
        "don't follow me, go to the balcony",
        "sorry, I was wrong, the kitchen",
        "sorry, I am blind, the bedroom too",
        "sorry I was too fast, off",
        "sorry I forgot the light",
    ],
)
def test_what_asks_moves(text: str) -> None:
    assert told(text)[0] == ["balcony"]


@pytest.mark.parametrize("text", ["hold on a second", "just a minute", "one sec, please", "bear with me"])
def test_what_asks_to_wait_does_nothing_and_is_no_misunderstanding(text: str) -> None:
    moved, result = told(text)
    assert moved == []
    assert result.reply == I_WAIT


def test_a_time_that_answers_a_question_is_an_answer() -> None:
    asked = (Message.user("wait"), Message.assistant("For how long?"))
    assert told("just a minute", messages=asked)[0] == ["balcony"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wait", "wait a minute"),
        ("say", 'say "go to the balcony"'),
        ("note_down", "write down: go to the balcony"),
        ("undock", "get off the charger"),
        ("undock", "unplug yourself"),
        ("take_note", "write down: go to the balcony"),
        ("add_todo", "write down go to the balcony"),
        ("exit_dock", "get off the charger"),
        ("set_charging", "stop charging"),
        ("play_speech", "say go to the balcony"),
        ("replay_last", "say that again"),
        ("repeat", "come again"),
        ("volume_down", "too loud"),
        ("slow_down", "too fast"),
        ("calm_down", "calm down"),
        ("keep_distance", "keep away from me"),
        ("sleep", "wait a minute"),
        ("pause", "one moment"),
        ("wait", "hold on"),
        ("notify_when", "tell me when the laundry is done"),
        ("watch_tank", "let me know when the tank is full"),
        ("check_pump", "check if the pump is on"),
    ],
)
def test_a_tool_that_is_called_so_is_asked_for(name: str, text: str) -> None:
    assert called(text, name) == [name]


@pytest.mark.parametrize(
    "text",
    [
        "fahr in die K\xfcche",
        "va \xe0 la cuisine",
        "ve a la cocina por favor",
        "vai in cucina",
        "ga naar de keuken",
        "g\xe5 till k\xf6ket",
        "\u53bb\u53a8\u623f",
        "\u0438\u0434\u0438 \u043d\u0430 \u043a\u0443\u0445\u043d\u044e",
        "\u0627\u0630\u0647\u0628 \u0625\u0644\u0649 \u0627\u0644\u0645\u0637\u0628\u062e",
    ],
)
def test_another_language_is_told_that_only_english_is_known(text: str) -> None:
    moved, result = told(text, english_only=True)
    assert (moved, result.reply, len(result.messages)) == ([], "I only understand English.", 2)


@pytest.mark.parametrize("text", ["asdf qwer", "nenda jikoni"])
def test_unknown_words_may_be_of_another_language_or_of_none(text: str) -> None:
    moved, result = told(text, english_only=True)
    reply = "Sorry, I did not understand that. I only understand English."
    assert (moved, result.reply, len(result.messages)) == ([], reply, 2)


@pytest.mark.parametrize(
    ("text", "reply"), [("folow mee", "I follow you."), ("folgen sie mir", "I only understand English.")]
)
def test_typing_errors_in_what_a_tool_is_called_are_no_other_language(text: str, reply: str) -> None:
    @tool
    def follow() -> str:
        """Follow the person."""
        return "following"

    llm = ScriptedLLM([call("follow")], "I follow you.")
    agent = Agent("robi", llm=llm, tools=[follow], hooks=[TalkGuardHook(english_only=True)])
    assert agent.run(text).reply == reply


@pytest.mark.parametrize("text", ["go to the caf\xe9", "follow Jos\xe9", "take me to the balcony, por favor", "42"])
def test_a_foreign_word_in_an_english_sentence_is_none(text: str) -> None:
    assert told(text, english_only=True)[1].reply != "I only understand English."


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("drive 999999999999 meters", "Sorry, I did not understand that."),
        ("driv too meters fast", "Sorry, I did not understand that."),
        ("do you speak German", "I only understand English."),
    ],
)
def test_a_model_that_takes_english_for_another_language_says_that_it_did_not_understand(text: str, reply: str) -> None:
    said: list[str] = []
    agent = Agent("robi", llm=ScriptedLLM("I only understand English."), hooks=[TalkGuardHook(english_only=True)])
    agent.subscribe(lambda event: said.append(getattr(event, "delta", "")))
    assert agent.run(text).reply == reply
    assert "".join(said) == reply, "the other text is not streamed either"


@pytest.mark.parametrize(("text", "reply"), [("continue", "There is nothing to continue."), ("stop", "Stopped.")])
def test_a_small_model_stops_nothing_at_a_word_that_lets_go_on(text: str, reply: str) -> None:
    stopped = []

    @tool
    def stop() -> str:
        """Stop."""
        stopped.append(text)
        return "stopped"

    llm = ScriptedLLM([call("stop")], "Stopped.")
    agent = Agent("robi", llm=llm, tools=[stop], hooks=[TalkGuardHook(english_only=True)])
    assert (agent.run(text).reply, stopped) == (reply, [] if text == "continue" else ["stop"])


def done(status: str, *, answer: str = "Done.") -> tuple[Message, ...]:
    """A turn that called go_to, which ended so, and a stop after it."""
    made = (ToolCall("1", "go_to", {}), ToolCall("2", "stop", {}))
    results = [ToolResult("1", "go_to", status, "."), ToolResult("2", "stop", "ok", "stopped")]
    first = (Message.user("go"), Message.assistant("", made[:1]), Message.tool(results[0]), Message.assistant(answer))
    return (*first, Message.user("stop"), Message.assistant("", made[1:]), Message.tool(results[1]))


@pytest.mark.parametrize("text", ["carry on", "keep going", "Go on, please.", "continue"])
def test_a_small_model_goes_on_only_with_what_was_left_undone(text: str) -> None:
    moved, result = told(text, messages=(*done("ok"), Message.assistant("Done.")), english_only=True)
    assert (moved, result.reply) == ([], "There is nothing to continue.")
    for status, answer in (("interrupted", "I stopped."), ("not_run", "I stopped."), ("ok", "Shall I go on?")):
        assert told(text, messages=(*done(status), Message.assistant(answer)), english_only=True)[0] == ["balcony"]


@pytest.mark.parametrize(("last", "driven"), [("drive", [1, 1]), ("go_to", [1])])
def test_a_small_model_drives_on_where_it_has_driven(last: str, driven: list[float]) -> None:
    done: list[float] = []

    @skill
    def drive(distance_m: float) -> str:
        """Drive straight; negative is backwards."""
        done.append(distance_m)
        return "drove"

    @skill
    def go_to(place: str) -> str:
        """Drive to a place."""
        done.append(1)
        return "arrived"

    first = call("drive", distance_m=1) if last == "drive" else call("go_to", place="hall")
    llm = ScriptedLLM([first], "Done.", [call("drive", distance_m=1)], "Done.")
    session = Session(Agent("robi", llm=llm, tools=[drive, go_to], hooks=[TalkGuardHook(english_only=True)]))
    session.step("go there")
    session.step("keep going")
    assert done == driven


def test_a_stop_word_reaches_the_model_in_any_language() -> None:
    assert told("bitte sofort stop", replies=("Stopped.",), english_only=True)[1].reply == "Stopped."


def test_a_model_that_knows_other_languages_is_not_refused_them_but_what_has_no_english_moves_nothing() -> None:
    assert told("wie geht es dir", replies=("Gut.",))[1].reply == "Gut."


def test_a_number_that_answers_a_question_is_an_answer() -> None:
    asked = (Message.user("drive forward"), Message.assistant("How far? Tell me in meters."))
    assert told("5", messages=asked)[0] == ["balcony"]
    assert told("\N{GRINNING FACE}", messages=asked)[0] == []
    assert told("don't go", messages=asked)[0] == []


def test_a_tool_that_does_not_move_works_for_whatever_is_typed() -> None:
    assert told("42", replies=([call("note", text="42")], "Noted."))[1].reply == "Noted."


@pytest.mark.parametrize(
    "text",
    [
        "go to the balcony tomorrow",
        "Could you go to the balcony later, please?",
        "in ten minutes go to the balcony",
        "in half an hour go to the balcony",
        "When I say go, go to the balcony.",
        "as soon as I'm gone, go to the balcony",
        "go to the balcony at 5 o'clock",
        "go to the balcony tomorrow morning",
        "go to the balcony later on",
        "go to the balcony at half past five",
        "go to the balcony in 30 seconds",
        "go to the balcony an hour from now",
        "go to the balcony in 10 minutes and turn the light on",
        "on Monday go to the balcony",
        "wait ten seconds, then go to the balcony",
        "wait a minute and go to the balcony",
        "after 10 seconds go to the balcony",
        "count to ten and then go to the balcony",
        "go to the balcony when your battery is full",
        "if the battery is full, go to the balcony",
        "should the battery be full, go to the balcony",
        "only if you are in the kitchen, go to the balcony",
        "go to the balcony only if you're in the kitchen",
    ],
)
def test_what_is_not_for_now_is_not_done_now(text: str) -> None:
    moved, result = told(text)
    assert moved == []
    assert result.reply == NOT_LATER
    assert told(text, small=False)[0] == ["balcony"]


@pytest.mark.parametrize(
    ("text", "reply", "told_at_last"),
    [
        ("every morning go to the balcony", "I see.", NOT_LATER),
        ("tomorrow go to the balcony", "Okay.", NOT_LATER),
        ("tomorrow go to the balcony", "I know no balcony.", "I know no balcony."),
        ("I will go to the balcony tomorrow", "I see.", "I see."),
        ("the balcony is nice", "I see.", "I see."),
        ("don't go to the balcony tomorrow", "Okay.", "Okay."),
    ],
)
def test_a_command_for_later_is_not_just_acknowledged(text: str, reply: str, told_at_last: str) -> None:
    assert told(text, replies=(reply,), english_only=True)[1].reply == told_at_last


@pytest.mark.parametrize(
    "text",
    [
        "once you have turned, go to the balcony",
        "go to the balcony and remind me in two hours",
        "go to the balcony, where I stood when I was young",
        "my nephew is coming later so please go to the balcony",
        "go to the balcony at once I need you",
        "go to the balcony now, not tomorrow",
        "go to the balcony so I can eat later",
        "go to the balcony because guests come in 10 minutes",
        "go to the balcony, I have to leave in 10 minutes",
        "go to the balcony where I sleep every night",
        "go to the balcony, once, I mean now",
        "go to the balcony, guests are coming tonight",
        "go to the balcony. My mother visits tomorrow.",
        "go to the balcony and wait there until tomorrow",
        "only if it's dark go to the balcony",
        "wait, go to the balcony",
        "go to the balcony and wait ten seconds",
        "after that go to the balcony",
        "after two meters go to the balcony",
        "your battery is full, go to the balcony",
        "if your battery is above 50 percent go to the balcony",
        "go to the balcony if you are ready",
        "go to the balcony because the battery is full",
    ],
)
def test_what_is_for_now_though_something_else_is_not_is_done(text: str) -> None:
    assert told(text)[0] == ["balcony"]


@pytest.mark.parametrize("parameter", ["timeout_s", "speed_m_s", "duration_s"])
def test_how_fast_and_how_long_motion_may_last_does_not_tell_when(parameter: str) -> None:
    made: list[object] = []
    schema = {"type": "object", "properties": {parameter: {"type": "number"}}}
    signature = SchemaSignature(schema, description="Mows the lawn.", injected={})
    mow = Tool(lambda **given: made.append(given), ToolTraits(motion=True), name="mow", signature=signature)
    llm = ScriptedLLM([call("mow", **{parameter: 5})], "I mow.")
    agent = Agent("robi", llm=llm, tools=[mow], hooks=[TalkGuardHook()], latch=SafetyLatch())
    assert agent.run("mow the lawn tomorrow").reply == NOT_LATER
    assert not made


@pytest.mark.parametrize(
    ("verb", "text"),
    [
        ("wait", "wait ten seconds, then go"),
        ("count", "count to 10 and then go"),
        ("sleep", "wait ten seconds, then go"),
        ("pause", "pause ten seconds, then go"),
        ("wait", "after 10 seconds go to the balcony"),
        ("delay", "wait a minute and go"),
    ],
)
def test_a_tool_that_waits_takes_the_time_before_the_next(verb: str, text: str) -> None:
    assert called(text, verb, "go_to_balcony") == [verb, "go_to_balcony"]


def test_a_stop_beside_what_is_for_later_is_done() -> None:
    made: list[str] = []

    @tool
    def stop() -> str:
        """Stop."""
        made.append("stop")
        return "stopped"

    @tool
    def turn(angle_deg: float) -> str:
        """Turn."""
        made.append("turn")
        return "turned"

    both = [call("stop"), call("turn", angle_deg=90)]
    agent = Agent("robi", llm=ScriptedLLM(both, both[1:]), tools=[stop, turn], hooks=[TalkGuardHook(changes)])
    assert agent.run("stop and turn left later").reply == NOT_LATER
    assert made == ["stop"]


def test_a_tool_that_waits_by_itself_is_called_for_later() -> None:
    @tool
    def close_gate(duration_s: int) -> str:
        """Close the gate after so many seconds."""
        return f"gate {duration_s}"

    @tool
    def open_gate(when: str) -> str:
        """Open the gate at some time."""
        return f"open {when}"

    llm = ScriptedLLM([call("close_gate", duration_s=600), call("open_gate", when="in ten minutes")], "I will.")
    result = Agent("robi", llm=llm, tools=[close_gate, open_gate], hooks=[TalkGuardHook(changes)]).run(
        "close the gate in ten minutes"
    )
    assert [made.result.text for made in result.tool_calls if made.result] == ["gate 600", "open in ten minutes"]


def test_to_a_large_model_what_is_typed_is_meant() -> None:
    assert told("the coffee is cold", small=False)[0] == ["balcony"]


def test_a_model_that_may_know_another_language_judges_it() -> None:
    assert told("fahr bitte auf den balkon", any_language=True)[0] == ["balcony"]
    assert told("don't go to the balcony", any_language=True)[0] == []


def test_while_something_moves_a_prohibition_may_stop_it() -> None:
    order: list[str] = []
    under_way, stands = threading.Event(), threading.Event()

    @skill(mode="parallel", on_interrupt="detach")
    def sail() -> str:
        """Sail on."""
        under_way.set()
        stands.wait(LIMIT_S)
        return "stands"

    @skill(mode="parallel")
    def make_way(knots: float) -> str:
        """Sail as fast as this."""
        order.append(f"{knots}")
        stands.set()
        return "done"

    llm = ScriptedLLM([call("sail")], [call("make_way", knots=0.0)], *["I stand."] * 3)  # its end is told, too
    agent = Agent("helm", llm=llm, tools=[sail, make_way], hooks=[TalkGuardHook(any_language=True)])
    handle = agent.start("sail on")
    assert under_way.wait(LIMIT_S)
    agent.abort()  # the sailing outlives it
    handle.wait(LIMIT_S)
    assert agent.is_moving
    agent.run("don't move")
    assert order == ["0.0"]


@pytest.mark.parametrize(
    ("before", "moved"), [((), []), (("note",), []), (("go_to",), ["balcony"]), (("go_to", "note"), ["balcony"])]
)
def test_the_same_again_moves_only_what_was_called_before(before: tuple[str, ...], moved: list[str]) -> None:
    calls = [ToolCall(name, name, {}) for name in before]
    messages = (
        Message.user("do it"),
        Message.assistant("", calls),
        *(Message.tool(ToolResult(call.id, call.name, "ok", "done")) for call in calls),
        Message.assistant("Done."),
    )
    for text in ("the office one as well", "repeat that", "The same, please.", "do it again", "one more time", "again"):
        assert told(text, messages=messages)[0] == moved
    for text in ("go to the office", "the office one as well and then go to the balcony"):
        assert told(text, messages=messages)[0] == ["balcony"]


def test_the_same_again_may_answer_a_question() -> None:
    assert told("do that again", messages=(Message.user("hello"), Message.assistant("What next?")))[0] == ["balcony"]


def test_again_may_be_what_a_tool_does() -> None:
    assert called("repeat that", "repeat_song") == ["repeat_song"]
