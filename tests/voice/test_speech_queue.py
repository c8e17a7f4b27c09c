"""Who may speak when: replies, what the robot says by itself, and a person who has the floor."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from edgeagent import events
from edgeagent.errors import BusyError, ConfigError
from edgeagent.messages import Message, StopReason
from edgeagent.voice import HeardMessage, SpeechHandle, SpokenReply
from tests.voice.speaking import LIMIT_S, Stage

LONG = "I drive through the hall and look at every door on my way, and then I come back to you."
URGENT = "My battery is nearly empty."
_numbers = itertools.count()


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


def speak(reply: SpokenReply, text: str, *, to_its_end: bool = True) -> str:
    """A run's message, as its events tell it. Returns the message's id."""
    message = Message.assistant(text)
    about = {"run_id": "run", "agent": "robi", "turn": 1, "t": 0.0}
    reply(events.MessageStart(seq=next(_numbers), message=message, **about))
    for word in text.split(" "):
        delta = f"{word} "
        reply(events.MessageUpdate(seq=next(_numbers), channel="text", delta=delta, message=message, **about))
    if to_its_end:
        reply(events.MessageEnd(seq=next(_numbers), message=message, **about))
        reply(
            events.AgentEnd(
                seq=next(_numbers), reason="completed", abort_reason=None, messages=(), new_messages=(), **about
            )
        )
    return message.id


def replying(stage: Stage, text: str = LONG, *, to_its_end: bool = True) -> tuple[SpokenReply, list[HeardMessage]]:
    told: list[HeardMessage] = []
    reply = stage.queue.begin_reply(on_heard=told.append)
    speak(reply, text, to_its_end=to_its_end)
    return reply, told


def test_what_is_said_in_a_pause_is_said_in_order_and_known_when_heard(stage: Stage) -> None:
    first, second = stage.queue.say("First this."), stage.queue.say("Then that.")
    assert not first.done
    stage.run_until_over(first)
    assert (first.heard, second.heard, second.begun) == ("First this.", "", False)
    stage.run_until_over(second)
    assert second.wait(0)
    assert second.heard == "Then that."
    assert stage.voice.spoken == ["First this.", "Then that."]
    assert not first.cancel()


@pytest.mark.parametrize("why", ["a person speaks", "a run thinks", "the robot speaks"])
def test_it_waits_for_a_pause(stage: Stage, why: str) -> None:
    if why == "a person speaks":
        stage.queue.hold()
    elif why == "a run thinks":
        stage.may_begin = False
    else:
        replying(stage)
    handle = stage.queue.say("The timer is over.")
    stage.run(1.5)
    assert not handle.begun
    stage.queue.resume()
    stage.may_begin = True
    stage.run_until_over(handle)
    assert handle.heard == "The timer is over."
    assert stage.voice.spoken[-1] == "The timer is over."


def test_an_aside_is_said_while_a_run_thinks_before_what_waits(stage: Stage) -> None:
    stage.may_begin = False
    waits = stage.queue.say("The timer is over.")
    aside = stage.queue.aside("One moment.")
    stage.run_until_over(aside)
    assert (aside.heard, waits.begun) == ("One moment.", False)
    stage.queue.hold()
    aside = stage.queue.aside("On my way.")
    stage.run(1)
    assert not aside.begun, "not while a person speaks"


def test_urgent_comes_at_once_and_the_reply_goes_on_after_it(stage: Stage) -> None:
    reply, told = replying(stage)
    stage.run(1.5)
    before = reply.lines[0].heard_by(stage.now_s)
    handle = stage.queue.say(URGENT, priority="urgent")
    stage.run(0.2)
    assert handle.begun
    stage.run_until_over(handle)
    stage.run(8)
    assert [(heard.text, heard.complete) for heard in told] == [(f"{LONG} ", True)]
    spoken = " ".join(stage.voice.spoken)
    assert spoken.count(URGENT) == 1
    rest = stage.voice.spoken[stage.voice.spoken.index(URGENT) + 1 :]
    went_on = " ".join(rest)
    assert LONG.endswith(went_on)
    assert abs(len(LONG.split()) - len(before.split()) - len(went_on.split())) <= 1, "no word twice, none left out"


def test_a_reply_that_streams_while_something_urgent_is_said_waits_for_its_end(stage: Stage) -> None:
    handle = stage.queue.say(URGENT, priority="urgent")
    stage.run(0.2)
    _, told = replying(stage, "I am in the kitchen.")
    stage.run_until_over(handle)
    stage.run(3)
    assert stage.voice.spoken == [URGENT, "I am in the kitchen."]
    assert told[0].complete


def test_urgent_is_heard_over_a_person_who_speaks_and_what_was_held_stays_held(stage: Stage) -> None:
    reply, told = replying(stage)
    stage.run(1)
    stage.queue.hold()
    stage.run(0.2)
    assert not stage.is_loud(0.5)
    handle = stage.queue.say(URGENT, priority="urgent")
    stage.run_until_over(handle)
    assert handle.heard == URGENT
    stage.run(0.2)
    assert not stage.is_loud(1), "the person still speaks"
    assert not told
    stage.queue.resume()
    stage.run(8)
    assert told[0].complete
    assert reply.is_over(stage.now_s)


def test_several_urgent_ones_come_in_order(stage: Stage) -> None:
    replying(stage, "I am in the kitchen, and I look around.")
    stage.run(0.5)
    handles = [stage.queue.say(text, priority="urgent") for text in ("One.", "Two.", "Three.")]
    stage.run_until_over(*handles)
    stage.run(4)
    said = [text for text in stage.voice.spoken if text in ("One.", "Two.", "Three.")]
    assert said == ["One.", "Two.", "Three."]


def test_a_hold_is_silence_in_the_middle_of_a_word_and_goes_on_there(stage: Stage) -> None:
    handle = stage.queue.say("one two three four five six seven eight nine ten.")
    stage.run(1)
    stage.queue.hold()
    stage.run(0.15)
    heard = handle.heard
    assert not stage.is_loud(2)
    assert handle.heard == heard
    stage.queue.resume()
    stage.run_until_over(handle)
    assert handle.heard == handle.text
    assert len(stage.voice.spoken) == len(set(stage.voice.spoken)), "nothing was synthesised twice"


def test_what_is_not_interruptible_is_said_over_a_person_and_nothing_after_it(stage: Stage) -> None:
    handle = stage.queue.say("The emergency exit is on the left.", interruptible=False)
    stage.run(0.3)
    reply, told = replying(stage, "I am here.")
    stage.queue.hold()
    stage.run_until_over(handle)
    assert handle.heard == handle.text
    stage.run(0.2)
    assert not stage.is_loud(1)
    assert not told
    stage.queue.resume()
    stage.run(2)
    assert told[0].complete
    assert not any(line.is_sounding(stage.now_s) for line in reply.lines)


def test_a_stop_word_silences_what_is_not_interruptible_and_a_false_one_lets_it_go_on(stage: Stage) -> None:
    handle = stage.queue.say("The emergency exit is on the left.", interruptible=False)
    stage.run(0.5)
    stage.queue.hold(everything=True)
    stage.queue.hold()
    stage.run(0.2)
    assert not stage.is_loud(1)
    stage.queue.resume()
    stage.run_until_over(handle)
    assert handle.heard == handle.text


@pytest.mark.parametrize(("stop_reason", "words"), [("aborted", range(2, 10)), ("stop", range(16, 30))])
def test_a_message_that_the_app_aborts_is_said_no_further_than_it_was_heard(
    stage: Stage, stop_reason: StopReason, words: range
) -> None:
    reply = stage.queue.begin_reply()
    message = replace(Message.assistant(LONG), id=speak(reply, LONG, to_its_end=False), stop_reason=stop_reason)
    stage.run(1)
    about = {"run_id": "run", "agent": "robi", "turn": 1, "t": 0.0}
    reply(events.MessageEnd(seq=next(_numbers), message=message, **about))
    ended = {"reason": "aborted", "abort_reason": "user", "messages": (message,), "new_messages": (message,)}
    reply(events.AgentEnd(seq=next(_numbers), **ended, **about))
    stage.run(10)
    assert len(reply.lines[0].heard_by(stage.now_s).split()) in words


def test_an_interruption_ends_what_is_said_and_leaves_what_waits(stage: Stage) -> None:
    said = stage.queue.say(LONG)
    waits = stage.queue.say("The timer is over.")
    stage.run(1)
    stage.queue.hold()
    stage.queue.cut()
    assert said.done
    assert 2 <= len(said.heard.split()) < 10
    stage.run(0.2)
    assert not stage.is_loud(0.5)
    assert not waits.done
    stage.queue.resume()
    stage.run_until_over(waits)
    assert waits.heard == waits.text


def test_an_interruption_leaves_alone_what_is_not_interruptible_but_a_stop_does_not(stage: Stage) -> None:
    handle = stage.queue.say(LONG, interruptible=False)
    waits = stage.queue.say("The timer is over.")
    stage.run(0.5)
    stage.queue.hold()
    stage.queue.cut()
    assert stage.is_loud(0.5)
    assert not handle.done
    stage.queue.cut(everything=True)
    assert handle.done
    assert waits.done
    assert waits.heard == ""
    stage.run(0.2)
    assert not stage.is_loud(1)


def test_a_result_that_arrives_while_a_person_speaks_waits_and_survives_the_interruption(stage: Stage) -> None:
    _, told = replying(stage)
    stage.run(1)
    stage.queue.hold()
    reply, later = replying(stage, "I am in the kitchen.")
    reply.deferred = True  # as that of a run that nobody has asked for
    stage.run(1)
    stage.queue.cut()
    assert not told[0].complete
    stage.run(1)
    assert not later, "the person still speaks"
    stage.queue.resume()
    stage.run(3)
    assert later[0].text.strip() == "I am in the kitchen."
    assert later[0].complete


def test_an_answer_that_nobody_has_heard_yet_ends_with_the_interruption(stage: Stage) -> None:
    replying(stage)
    stage.run(1)
    stage.queue.hold()
    _, later = replying(stage, "It is noon.")
    stage.run(1)
    stage.queue.cut()
    assert [(one.text, one.complete) for one in later] == [("", False)]


def test_a_handle_can_be_taken_back_before_and_in_the_middle(stage: Stage) -> None:
    said, waits = stage.queue.say(LONG), stage.queue.say("Never said.")
    stage.run(1)
    assert waits.cancel()
    assert said.cancel()
    assert not said.cancel()
    stage.run(0.2)
    assert not stage.is_loud(0.5)
    assert 2 <= len(said.heard.split()) < 10
    assert "Never said." not in stage.voice.spoken
    after = stage.queue.say("And now this.")
    stage.run_until_over(after)


def test_too_much_is_refused_and_nothing_is_lost() -> None:
    with Stage(limit=3) as stage:
        handles = [stage.queue.say(f"Number {n}.") for n in range(3)]
        with pytest.raises(BusyError, match="3 texts wait to be said already"):
            stage.queue.say("One more.", priority="urgent")
        stage.run_until_over(*handles)
        assert [handle.heard for handle in handles] == [handle.text for handle in handles]


@pytest.mark.parametrize("priority", ["URGENT", "", None])
def test_a_priority_that_there_is_not_is_refused(stage: Stage, priority: Any) -> None:
    with pytest.raises(ConfigError, match="there are normal, urgent"):
        stage.queue.say("My battery is low.", priority=priority)


def test_nothing_to_say_is_said_at_once(stage: Stage) -> None:
    for text in ("", "  \n", "```\ncode\n```"):
        handle = stage.queue.say(text)
        stage.run_until_over(handle, limit_s=1)
    assert not stage.is_loud(0.5)


def test_a_voice_that_fails_ends_the_handle_with_what_was_heard(stage: Stage) -> None:
    stage.voice.fails_after_s = 1.0
    handle = stage.queue.say(LONG)
    stage.run_until_over(handle)
    assert 2 <= len(handle.heard.split()) < 10
    stage.voice.fails_after_s = None
    after = stage.queue.say("I am back.")
    stage.run_until_over(after)
    assert after.heard == "I am back."


def test_waiting_from_another_thread_ends_when_it_was_heard(stage: Stage) -> None:
    handle = stage.queue.say("Hello.")
    waited: list[bool] = []
    thread = threading.Thread(target=lambda: waited.append(handle.wait(LIMIT_S)))
    thread.start()
    assert not handle.wait(0.01)
    stage.run_until_over(handle)
    thread.join(LIMIT_S)
    assert waited == [True]


def test_closing_ends_what_waits(stage: Stage) -> None:
    handles = [stage.queue.say(LONG), stage.queue.say("Then this.")]
    stage.run(0.5)
    stage.queue.close()
    assert all(handle.done for handle in handles)
    assert stage.queue.say("Too late.").done


def test_whatever_happens_in_whatever_order_nothing_is_lost_or_stuck(stage: Stage) -> None:
    """60 random steps; at the end everything was heard, cut, or taken back, in order, and the queue is idle."""
    rng = random.Random(7)
    handles: list[SpeechHandle] = []
    told: list[HeardMessage] = []
    asked: list[str] = []
    cuts = 0
    for step in range(60):
        match rng.choice(["say", "urgent", "reply", "hold", "resume", "resume", "cut", "run", "run", "run", "firm"]):
            case "say" | "firm" as kind if len(handles) < 60:
                handles.append(stage.queue.say(f"This is number {step}.", interruptible=kind == "say"))
            case "urgent":
                handles.append(stage.queue.say(f"Urgent {step}.", priority="urgent"))
            case "reply":
                asked.append(speak(stage.queue.begin_reply(on_heard=told.append), f"It is {step}, I think, and so on."))
            case "hold":
                stage.queue.hold()
            case "resume":
                stage.queue.resume()
            case "cut":
                cuts += 1
                stage.queue.cut()
        stage.run(rng.choice([0.05, 0.3, 0.8]))
    stage.queue.resume()
    stage.run_until_over(*handles, limit_s=300)
    stage.run(5)
    assert sorted(heard.message_id for heard in told) == sorted(asked), "each reply is told of once"
    whole = [handle for handle in handles if handle.heard == handle.text]
    assert cuts > 2
    assert len(whole) >= len(handles) - 2 * cuts, "an interruption ends at most what is being said"
    assert not stage.queue.is_sounding(stage.now_s)
    assert stage.queue.waiting == 0
    assert stage.playback.queued_s == 0
