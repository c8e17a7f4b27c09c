"""The lines of a conversation aloud."""

from __future__ import annotations

import pytest

from edgeagent import events
from edgeagent.cli import Line, TalkLines, latch_line
from edgeagent.messages import Message
from edgeagent.robot import LatchState


def transcript(text: str, *, understood: bool = True, latency_s: float = 0.2) -> events.Transcript:
    return events.Transcript(t=10.0, text=text, latency_s=latency_s, understood=understood)


def told(lines: TalkLines, *happened: events.VoiceEvent) -> list[str]:
    return [line.text for event in happened for line in lines.lines(event)]


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_said_is_shown_when_it_is_over_and_known(order: int) -> None:
    lines = TalkLines("robi")
    end, words = [events.SpeechEnd(t=0.0, soft=False), transcript("go to the kitchen")][::order]
    assert told(lines, events.SpeechStart(t=0.0), events.SpeechEnd(t=0.0, soft=True), end) == []
    assert told(lines, words) == ["you: go to the kitchen"]


def test_words_after_which_speech_goes_on_are_not_shown() -> None:
    lines = TalkLines("robi")
    assert told(lines, events.SpeechStart(t=0.0), transcript("go to the"), events.SpeechStart(t=0.0)) == []
    assert told(lines, transcript("go to the kitchen")) == []
    assert told(lines, events.SpeechEnd(t=0.0, soft=False)) == ["you: go to the kitchen"]


def test_what_was_not_understood_says_so_and_nothing_at_all_is_nothing() -> None:
    lines = TalkLines("robi")
    end = events.SpeechEnd(t=0.0, soft=False)
    assert told(lines, transcript("mumble", understood=False), end) == ["you: mumble (not understood)"]
    assert told(lines, events.SpeechStart(t=0.0), transcript(""), end) == []


def test_of_an_answer_that_was_interrupted_only_what_was_heard_is_shown() -> None:
    lines = TalkLines("robi")
    message = Message.assistant("I am in the kitchen, beside the table.")
    ended = events.MessageEnd(seq=0, t=0.0, run_id="r", agent="robi", turn=1, message=message)
    assert lines.lines(ended) == []
    heard = events.Heard(t=0.0, message_id=message.id, text="I am in")
    assert lines.lines(heard) == [Line("robi: I am in …", "name")]
    assert told(lines, events.Heard(t=0.0, message_id="", text="One moment.")) == ["robi: One moment."]
    assert told(lines, events.Heard(t=0.0, message_id="m", text="")) == []


def test_the_latency_is_from_the_end_of_speech_to_the_next_sound() -> None:
    lines = TalkLines("robi")
    speaks = events.VoiceState(t=10.3, old="thinking", new="speaking", why="first sound")
    told(lines, speaks)
    assert lines.latency_s is None  # nobody had asked
    told(lines, transcript("where are you", latency_s=0.2), speaks)
    assert lines.latency_s == pytest.approx(0.5)
    quiet = events.VoiceState(t=11.0, old="hearing", new="listening", why="false alarm")
    told(lines, transcript("uh-huh"), quiet, speaks)
    assert lines.latency_s == pytest.approx(0.5)


def test_a_text_from_outside_moves_no_cursor() -> None:
    lines = TalkLines("ro\x1b[2Jbi")
    shown = told(lines, events.Heard(t=0.0, message_id="", text="a\x1b[2J\nb"))
    assert shown == ["robi: a b"]


def test_the_latch_is_told_when_it_is_tripped_or_a_person_has_said_wait() -> None:
    tripped = latch_line(LatchState.TRIPPED, "SIGUSR1")
    assert tripped is not None
    assert "stopped (SIGUSR1)" in tripped.text
    assert latch_line(LatchState.HELD, "stop word") is None
    assert latch_line(LatchState.HELD, "wait") == Line("■ held; it moves on after “continue”", "warning")


def test_a_device_that_is_lost_and_comes_back_is_told() -> None:
    lines = TalkLines("robi")
    assert lines.lines(events.Device(t=0.0, state="lost", name="mic is gone")) == [Line("mic is gone", "warning")]
    assert lines.lines(events.Device(t=0.0, state="back", name="mic is back")) == [Line("mic is back", "dim")]
