"""The lines of the page, made of the events of real runs."""

from __future__ import annotations

from typing import Any

import pytest

from edgeagent import Agent, ToolResult, tool
from edgeagent.events import (
    BargeIn,
    Device,
    Heard,
    MessageUpdate,
    Partial,
    SpeechEnd,
    SpeechStart,
    Transcript,
    VoiceState,
)
from edgeagent.messages import Message
from edgeagent.testing import ScriptedLLM, call
from edgeagent.web import KEPT, LIMIT, Inbox, Note, Story

PNG = b"\x89PNG\r\n\x1a\n" + b"rest"


@tool(read_only=True)
def look() -> ToolResult:
    "Looks."
    return ToolResult("", "", "ok", "a picture of a cat", PNG)


@tool
def send(to: str) -> str:
    "Sends."
    return f"sent to {to}"


def told(*replies: Any, said: str = "go on", mode: Any = "redact", voice: bool = False) -> Story:
    """The story of one run."""
    story = Story(mode, voice=voice)
    agent = Agent("robi", llm=ScriptedLLM(*replies), tools=[look, send])
    agent.subscribe(story.take)
    agent.run(said)
    return story


def lines(story: Story, kind: str) -> list[dict[str, Any]]:
    return [line for line in story.since(0) if line["kind"] == kind]


def test_a_run_is_told_in_its_order_and_whole() -> None:
    story = told([call("look")], "I saw a cat.")
    shown = [(line["kind"], line["text"]) for line in story.since(0) if line["kind"] != "turn"]
    assert shown == [("you", "go on"), ("tool", "a picture of a cat"), ("robot", "I saw a cat.")]
    (done,) = lines(story, "tool")
    assert (done["name"], done["status"]) == ("look", "ok")
    assert done["end"] >= done["t"]
    assert lines(story, "robot")[0]["done"]
    assert story.state == "ready"


def test_each_turn_tells_where_its_time_went() -> None:
    (turn,) = lines(told([call("look")], "I saw a cat."), "turn")
    assert turn["text"] == "go on"
    assert [span["kind"] for span in turn["spans"]] == ["think", "tool", "think", "write"]
    ends = [0.0]
    for span in turn["spans"]:
        assert ends[-1] <= span["start"] <= span["end"]
        ends.append(span["end"])
    assert ends[-1] <= turn["end"] - turn["t"]


def test_a_picture_of_a_tool_is_kept_and_its_bytes_stand_in_no_line() -> None:
    story = told([call("look")], "I saw a cat.")
    assert story.picture == ("image/png", PNG)
    assert "PNG" not in str(story.since(0))


def test_personal_data_is_shown_as_a_log_shows_it() -> None:
    replies = [call("send", to="ann@example.com")], "I wrote to ann@example.com."
    redacted = str(told(*replies, said="write to ann@example.com").since(0))
    assert "ann@example.com" not in redacted
    assert redacted.count("<EMAIL>") >= 4
    assert "ann@example.com" in str(told(*replies, mode="off").since(0))


def test_a_page_is_told_only_what_has_changed_and_old_lines_go() -> None:
    story = Story("redact")
    for number in range(KEPT + 50):
        story.take(Note(0.0, f"line {number}"))
    assert len(story.since(0)) == KEPT
    assert story.first == 50
    before = story.version
    story.take(Note(0.0, "the last"))
    assert [line["text"] for line in story.since(before)] == ["the last"]
    assert story.since(story.version) == []


def test_the_history_of_a_session_comes_first() -> None:
    story = Story("redact")
    story.remember([Message.user("mail ann@example.com"), Message.assistant("Done."), Message("system", "secret")])
    assert [line["text"] for line in story.since(0)] == ["mail <EMAIL>", "Done."]


def spoken(text: str, t: float, *, understood: bool = True) -> list[Any]:
    return [
        SpeechStart(t=t),
        Partial(t=t + 0.3, text=text[:3]),
        Transcript(t=t + 1.2, text=text, latency_s=0.2, understood=understood),
        SpeechEnd(t=t + 1.3, soft=False),
    ]


def test_what_was_said_aloud_is_shown_once_though_a_run_tells_of_it_again() -> None:
    story = Story("redact", voice=True)
    for event in spoken("Go on.", 1.0):
        story.take(event)
    agent = Agent("robi", llm=ScriptedLLM("Okay, I go on now."))
    told: list[Any] = []
    agent.subscribe(story.take)
    agent.subscribe(told.append)
    agent.run("go on")
    assert [line["text"] for line in lines(story, "you")] == ["Go on."]
    (said,) = lines(story, "robot")
    (message,) = [message for message in told[-1].new_messages if message.role == "assistant"]
    story.take(VoiceState(t=2.0, old="thinking", new="speaking", why=""))
    story.take(BargeIn(t=3.0, action="final"))
    story.take(Heard(t=3.0, message_id=message.id, text="Okay, I"))
    assert said["heard"] == "Okay, I"


@pytest.mark.parametrize("order", ["run, words, end", "end, run, words", "end, words, run"])
def test_what_was_said_aloud_is_shown_once_in_whatever_order_it_is_told(order: str) -> None:
    story = Story("redact", voice=True)
    start, partial, words, end = spoken("Go on.", 1.0)
    agent = Agent("robi", llm=ScriptedLLM(*["Okay."] * 4))
    agent.subscribe(story.take)
    agent.run("go on")  # it was typed, and stands for itself
    for _ in range(2):
        story.take(start)
        story.take(partial)
        for what in order.split(", "):
            agent.run("go on") if what == "run" else story.take(words if what == "words" else end)
    assert [line["text"].lower().strip(".") for line in lines(story, "you")] == ["go on"] * 3
    assert story.partial == ""


def test_the_time_of_a_spoken_turn_begins_when_the_speech_ends() -> None:
    import time

    story = Story("redact", voice=True)
    now = time.monotonic()
    for event in spoken("go on", now - 1.3):
        story.take(event)
    agent = Agent("robi", llm=ScriptedLLM("Okay."))
    agent.subscribe(story.take)
    agent.run("go on")
    (turn,) = lines(story, "turn")
    assert turn["t"] == pytest.approx(now - 0.3)
    assert [span["kind"] for span in turn["spans"]] == ["hear", "think", "write"]
    assert turn["spans"][0]["end"] == pytest.approx(0.2)
    story.take(VoiceState(t=now + 1, old="thinking", new="speaking", why=""))
    story.take(VoiceState(t=now + 2, old="speaking", new="listening", why=""))
    assert turn["spans"][-1]["kind"] == "speak"
    assert turn["spans"][-1]["end"] == pytest.approx(2.3)


def test_speech_that_is_not_understood_is_marked_and_growing_speech_is_partial() -> None:
    story = Story("redact", voice=True)
    *before, end = spoken("mumble", 1.0, understood=False)
    for event in before:
        story.take(event)
    assert story.partial == "mumble"
    story.take(end)
    assert story.partial == ""
    assert lines(story, "you")[0]["understood"] is False
    story.take(Device(t=1.0, state="lost", name="the microphone is gone"))
    assert lines(story, "note")[-1]["tone"] == "warning"


# --- the inbox ------------------------------------------------------------------------------------------------------


def piece(text: str, message_id: str = "m") -> MessageUpdate:
    message = Message("assistant", text, id=message_id)
    return MessageUpdate(seq=0, t=0.0, run_id="r", agent="a", turn=1, channel="text", delta="", message=message)


def test_a_text_that_grows_waits_as_two_pieces_whatever_its_length() -> None:
    inbox = Inbox()
    for count in range(1000):
        inbox.put(piece("x" * count))
    items, lost = inbox.take()
    assert [len(item.message.text) for item in items] == [0, 999]
    assert lost == 0


def test_too_much_is_counted_and_told() -> None:
    inbox, story = Inbox(), Story("redact")
    for number in range(LIMIT + 7):
        inbox.note(str(number))
    items, lost = inbox.take()
    assert (len(items), lost) == (LIMIT, 7)
    story.take(items[0], lost=lost)
    assert [line["text"] for line in story.since(0)] == ["7 events were too many to show", "7"]


def test_whoever_takes_is_woken_once_until_he_takes() -> None:
    inbox, woken = Inbox(), []
    inbox.note("before")
    inbox.serve(lambda: woken.append(1))
    inbox.note("one")
    inbox.note("two")
    assert len(woken) == 1
    inbox.take()
    inbox.note("three")
    assert len(woken) == 2
    inbox.leave()
    inbox.take()
    inbox.note("four")
    assert len(woken) == 2
