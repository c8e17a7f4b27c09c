"""A run's reply is spoken as it streams, and what was heard of each of its messages is known."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest

from edgeagent import Agent, Session, events, tool
from edgeagent.hooks import BaseHook, FirePoint, HookResult
from edgeagent.session import DATA, spoken_text
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tts import SpeechChunk, WordTime
from edgeagent.voice import HeardMessage, SpokenReply, keep_heard
from tests.voice.speaking import LIMIT_S, RATE_HZ, Stage

INTERRUPTIONS: Final = 15
WORDS: Final = "robot kitchen table lamp door window garden cat".split()
LONG = "I drive through the hall and look at every door on my way. Then I come back to you and tell you all of it."


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


class Talk:
    """A session whose runs are spoken on a stage."""

    def __init__(self, stage: Stage, agent: Agent, *, schema: bool = False) -> None:
        self.stage = stage
        self.session = Session(agent)
        self.told: list[HeardMessage] = []
        self.failures: list[str] = []
        self.reply = self.begin(schema=schema)

    def begin(self, *, schema: bool = False) -> SpokenReply:
        self.reply = self.stage.queue.begin_reply(
            spoken=spoken_text if schema else None, on_heard=self._heard, on_failure=self.failures.append
        )
        return self.reply

    def ask(self, text: str) -> None:
        """Runs to its end; nothing is heard meanwhile."""
        unsubscribe = self.session.subscribe(self.reply)
        self.session.start(text).result(LIMIT_S)
        unsubscribe()

    def _heard(self, heard: HeardMessage) -> None:
        self.told.append(heard)
        keep_heard(self.session, heard)

    @property
    def history(self) -> list[tuple[str, str]]:
        return [(message.role, message.text) for message in self.session.messages()]


def robi(*replies: object, **keywords: object) -> Agent:
    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "a cup"

    return Agent("robi", llm=ScriptedLLM(*replies, **keywords), tools=[look])


def test_it_is_spoken_while_it_streams_and_told_when_it_was_heard(stage: Stage) -> None:
    heard_while_streaming = []
    talk = Talk(stage, robi("Okay, I will drive to the kitchen, and then I come back."))

    def look_at(event: events.Event) -> None:
        if isinstance(event, events.MessageUpdate) and event.message.text.endswith("kitchen, and then"):
            stage.run(1.0)
            line = talk.reply.lines[0]
            heard_while_streaming.append((line.heard_by(stage.now_s), line.is_whole(stage.now_s)))

    talk.session.subscribe(look_at)
    talk.ask("drive")
    ((heard, is_whole),) = heard_while_streaming
    assert heard.startswith("Okay, I will"), "the first clause was heard before the last word"
    assert not is_whole
    assert talk.told == []
    stage.run(6)
    message = talk.session.messages()[-1]
    assert talk.told == [HeardMessage(message.id, message.text, complete=True)]
    assert talk.reply.is_over(stage.now_s)
    assert not stage.queue.is_sounding(stage.now_s)


@pytest.mark.parametrize(
    "data",
    [
        '{"temperature": 21, "unit": "C"}',
        '```json\n{"rooms": ["hall"]}\n```',
        '["hall", "kitchen"]',
        '{"a": 1}\n{"a": 2}',
    ],
)
def test_json_is_kept_as_it_is_and_replaced_aloud_by_a_sentence(stage: Stage, data: str) -> None:
    talk = Talk(stage, robi(data))
    talk.ask("how warm is it?")
    stage.run(6)
    assert stage.voice.spoken == [DATA]
    assert talk.history[-1] == ("assistant", data)
    assert [heard.complete for heard in talk.told] == [True]


def test_an_agent_without_tools_reads_no_json_aloud_either(stage: Stage) -> None:
    data = 'Here it is:\n{"temperature": 21,\n"name": "hall", "arguments": {}}'
    talk = Talk(stage, Agent("robi", llm=ScriptedLLM(data)))
    talk.ask("how warm is it?")
    stage.run(6)
    assert " ".join(stage.voice.spoken) == f"Here it is: {DATA}"
    assert talk.history[-1] == ("assistant", data)


def test_data_inside_a_sentence_is_replaced_too(stage: Stage) -> None:
    data = 'It is {"temperature": 21} now.'
    talk = Talk(stage, robi(data))
    talk.ask("how warm is it?")
    stage.run(6)
    assert " ".join(stage.voice.spoken) == f"It is {DATA} now."
    assert talk.history[-1] == ("assistant", data)


def test_a_footnote_is_no_json(stage: Stage) -> None:
    talk = Talk(stage, robi("[1] The hall is warm."))
    talk.ask("how warm is it?")
    stage.run(6)
    assert "data" not in " ".join(stage.voice.spoken)


def test_a_call_that_can_not_be_run_is_never_spoken(stage: Stage) -> None:
    fly = '{"name": "fly", "arguments": {}}'
    talk = Talk(stage, robi(fly, fly))
    talk.ask("fly")
    stage.run(4)
    assert stage.voice.spoken == ["I could not do that."]


def test_messages_of_one_run_follow_one_another_without_a_gap(stage: Stage) -> None:
    talk = Talk(stage, robi({"text": "I have a look.", "calls": [call("look")]}, "There is a cup."))
    talk.ask("what is there?")
    stage.run(5)
    assert [(heard.text, heard.complete) for heard in talk.told] == [
        ("I have a look.", True),
        ("There is a cup.", True),
    ]
    assert stage.voice.spoken == ["I have a look.", "There is a cup."]
    samples = stage.room.recorded.loudspeaker
    loud = abs(samples).reshape(-1, 160).max(axis=1) > 0.003
    inside = loud[loud.argmax() : len(loud) - loud[::-1].argmax()]
    longest = max(len(gap) for gap in "".join("x" if one else "." for one in inside).split("x"))
    assert longest < 60, "only the pause that the voice itself makes at the end of a sentence"


def test_an_interruption_leaves_in_history_what_was_heard(stage: Stage) -> None:
    talk = Talk(stage, robi({"text": "I have a look.", "calls": [call("look")]}, LONG, "Sorry."))
    talk.ask("go")
    stage.run(3.0)
    heard = {line.message_id: line.heard_by(math.inf) for line in talk.reply.lines if line.text}
    talk.stage.queue.cut()
    (_, whole), (message_id, partly) = heard.items()
    assert whole == "I have a look."
    assert LONG.startswith(partly)
    assert 3 <= len(partly.split()) <= 12
    assert talk.history[-2:] == [("assistant", partly), ("user", "(the user interrupted here)")]
    assert talk.told[-1] == HeardMessage(message_id, partly, complete=False)
    stage.run(0.1)
    assert not stage.is_loud(1.0)
    assert talk.told[-1].message_id == message_id, "it is told once"


def test_what_nobody_has_heard_is_not_in_history(stage: Stage) -> None:
    """Also where the run is over, two messages deep, before the loudspeaker has begun with the second."""
    talk = Talk(stage, robi({"text": LONG, "calls": [call("look")]}, "There is a cup."))
    talk.ask("what is there?")
    stage.run(0.5)
    stage.queue.cut()
    told = [text for role, text in talk.history if role == "assistant"]
    assert LONG.startswith(told[0])
    assert len(told[0].split()) < 5
    assert told[1] == ""
    assert [heard.complete for heard in talk.told] == [False, False]


def test_what_the_model_says_after_the_cut_is_neither_spoken_nor_kept(stage: Stage) -> None:
    talk = Talk(stage, robi("one two three four five six seven eight nine ten."))

    def interrupt(event: events.Event) -> None:
        if isinstance(event, events.MessageUpdate) and event.message.text.endswith("five"):
            stage.run(0.5)
            stage.queue.cut()

    talk.session.subscribe(interrupt)
    talk.ask("count")
    assert not any("ten" in sentence for sentence in stage.voice.spoken)
    (heard,) = talk.told
    assert not heard.complete
    assert "six" not in heard.text
    assert [text for role, text in talk.history if role == "assistant"] == [heard.text]


def test_a_message_that_begins_after_the_cut_was_not_heard(stage: Stage) -> None:
    talk = Talk(stage, robi({"text": "I look.", "calls": [call("look")]}, "There is a cup."))

    def interrupt(event: events.Event) -> None:
        if isinstance(event, events.ToolExecutionStart):
            stage.run(3)
            stage.queue.cut()

    talk.session.subscribe(interrupt)
    talk.ask("what is there?")
    stage.run(2)
    assert stage.voice.spoken == ["I look."]
    assert [(heard.text, heard.complete) for heard in talk.told] == [("I look.", True), ("", False)]
    assert ("assistant", "There is a cup.") not in talk.history


def test_words_of_a_hook_are_spoken_too(stage: Stage) -> None:
    class Ends(BaseHook):
        points = frozenset({FirePoint.BEFORE_LLM})

        def __call__(self, point: FirePoint, ctx: object, payload: object) -> HookResult:
            return HookResult.end_turn("I can't do that safely.")

    agent = robi("never asked")
    agent.hooks.append(Ends())
    talk = Talk(stage, agent)
    talk.ask("jump")
    stage.run(3)
    assert stage.voice.spoken == ["I can't do that safely."]
    assert talk.told[0].complete


def test_of_json_the_answer_is_spoken(stage: Stage) -> None:
    talk = Talk(stage, robi('{"answer": "It is warm.", "degrees": 21}'), schema=True)
    talk.ask("how warm is it?")
    stage.run(3)
    assert stage.voice.spoken == ["It is warm."]
    assert talk.told[0].complete
    assert talk.history[-1] == ("assistant", '{"answer": "It is warm.", "degrees": 21}')


def test_a_reply_that_is_in_no_message_is_said_if_nothing_else_was(stage: Stage) -> None:
    talk = Talk(stage, robi([call("look")]))
    talk.reply.conclude("I could not finish that.")
    talk.reply.conclude("And again.")
    stage.run(3)
    assert stage.voice.spoken == ["I could not finish that."]
    assert talk.told == [], "it is no message"


def test_a_voice_that_fails_in_mid_sentence_is_told_and_the_next_reply_is_spoken(stage: Stage) -> None:
    stage.voice.fails_after_s = 1.0
    talk = Talk(stage, robi(LONG, "I am back."))
    talk.ask("go")
    stage.run(4)
    assert talk.failures == ["the voice has lost its tongue"]
    (heard,) = talk.told
    assert not heard.complete
    assert LONG.startswith(heard.text)
    assert 2 <= len(heard.text.split()) <= 6
    assert ("assistant", heard.text) in talk.history
    stage.voice.fails_after_s = None
    talk.begin()
    talk.ask("and now?")
    stage.run(3)
    assert talk.told[-1].text == "I am back."
    assert talk.told[-1].complete


class Numbered:
    """A voice that says each word in a quarter of a second, as samples that are the number of the word."""

    name, rate_hz = "numbered", RATE_HZ

    def __init__(self) -> None:
        self.count = 0

    def speak(self, text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
        at = 0
        for number, word in enumerate(text.split()):
            start = text.index(word, at)
            at = start + len(word)
            self.count += 1
            for part in range(5):
                if stop_event.is_set():
                    return
                times = (WordTime(start, at, number / 4),) if part == 0 else ()
                yield SpeechChunk(np.full(RATE_HZ // 20, self.count / 1000, np.float32), RATE_HZ, times)

    def close(self) -> None: ...


def test_interruptions_at_random_moments_are_right_to_a_word() -> None:
    """The loudspeaker's samples say which words were heard: history has these, and at most one more or less."""
    rng = random.Random(5)
    for _ in range(INTERRUPTIONS):
        with Stage(voice=Numbered()) as stage:
            texts = [" ".join(rng.choices(WORDS, k=rng.randint(3, 12))) for _ in range(2)]
            talk = Talk(stage, robi({"text": texts[0], "calls": [call("look")]}, texts[1]))
            talk.ask("go")
            stage.run(rng.uniform(0.1, 5))
            if rng.random() < 0.5:
                stage.queue.hold()
                stage.run(0.2)
            stage.queue.cut()
            said = " ".join(text for role, text in talk.history if role == "assistant").split()
            stage.run(0.2)
            loudspeaker = np.round(stage.room.recorded.loudspeaker * 1000)
            whole = sum(np.count_nonzero(loudspeaker == number) > RATE_HZ / 8 for number in range(1, 30))
            assert " ".join(texts).split()[: len(said)] == said
            assert abs(len(said) - whole) <= 1, (texts, said)
