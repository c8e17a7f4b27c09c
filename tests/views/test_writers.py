"""Writers: speech on one stream, indicators and notices on the other."""

import io
import threading

import pytest

from edgeagent import Agent, Options, tool
from edgeagent.events import MessageEnd, MessageUpdate, Notice, ToolExecutionEnd
from edgeagent.messages import Message, ToolCall, ToolResult
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Writers

LIMIT_S = 10
AT = {"seq": 0, "t": 0.0, "run_id": "r", "agent": "a", "turn": 1}


@tool
def drive(distance_m: float) -> str:
    """Drives."""
    return "arrived"


def written(agent, task="x"):
    """What a run writes to out and to status."""
    out, status = io.StringIO(), io.StringIO()
    agent.start(task, observer=Writers(out, status)).result(LIMIT_S)
    return out.getvalue(), status.getvalue()


def test_speech_goes_to_out_and_what_tools_do_to_status():
    llm = ScriptedLLM({"text": "On my way.", "calls": [call("drive", distance_m=2.0)]}, "I am there.")
    assert written(Agent("a", llm=llm, tools=[drive])) == ("On my way.\nI am there.\n", "→ drive 2.0\n← arrived\n")


def test_speech_is_flushed_as_it_streams():
    parts = []

    class Stream(io.StringIO):
        def flush(self):
            parts.append(self.getvalue())

    Agent("a", llm=ScriptedLLM("one two")).start("x", observer=Writers(Stream())).result(LIMIT_S)
    assert parts == ["one", "one two", "one two\n"]


def test_thinking_is_not_speech():
    assert written(Agent("a", llm=ScriptedLLM({"thinking": "hm", "text": "yes"}))) == ("yes\n", "")


def test_without_streams_everything_is_discarded():
    handle = Agent("a", llm=ScriptedLLM([call("drive", distance_m=1)], "ok"), tools=[drive]).start(
        "x", observer=Writers()
    )
    assert handle.result(LIMIT_S).reply == "ok"


def test_notices_go_to_status_only():
    llm = ScriptedLLM(*[[call("drive", distance_m=n)] for n in (1, 2)])
    out, status = written(Agent("a", llm=llm, tools=[drive], options=Options(max_turns=2)))
    assert out == ""
    assert status.splitlines()[-1].startswith("! ")
    assert "2 model calls" in status


def test_a_call_that_never_started_is_shown_with_its_result():
    _, status = written(Agent("a", llm=ScriptedLLM([call("fly", high=True)], "no"), tools=[drive]))
    first, second = status.splitlines()
    assert first == "→ fly true"
    assert second.startswith("← ")
    assert "drive" in second, "the valid names are told"


def test_of_several_tools_at_work_it_is_said_which_one_ended():
    told = {"left": threading.Event(), "right": threading.Event()}

    @tool(read_only=True)
    def look(where: str) -> str:
        """Looks, left until the other has started too, right until that has ended."""
        assert told[where].wait(LIMIT_S)
        return f"nothing {where}"

    class Status(io.StringIO):
        def write(self, text):
            if "→ look right" in text:
                told["left"].set()
            if "nothing left" in text:
                told["right"].set()
            return super().write(text)

    status = Status()
    agent = Agent("a", llm=ScriptedLLM([call("look", where="left"), call("look", where="right")], "ok"), tools=[look])
    agent.start("x", observer=Writers(None, status)).result(LIMIT_S)
    lines = status.getvalue().splitlines()
    assert sorted(lines[:2]) == ["→ look left", "→ look right"]
    assert lines[2] == "← look: nothing left"
    assert lines[3] == "← nothing right"


def test_an_indicator_is_one_short_line_that_a_terminal_can_show():
    status = io.StringIO()
    result = ToolResult("c", "read", "ok", "red \x1b[31m\nline\ud800 " + "x" * 500)
    Writers(None, status)(ToolExecutionEnd(**AT, call=ToolCall("c", "read"), result=result))
    shown = status.getvalue().splitlines()[-1]
    assert shown.startswith("← red line x")
    assert shown.endswith("x…")
    assert len(shown) == 200


def test_a_reply_that_is_continued_stays_on_one_line():
    llm = ScriptedLLM({"text": "one two", "stop": "length"}, " three")
    assert written(Agent("a", llm=llm))[0] == "one two three\n"


def test_a_cut_reply_that_is_not_continued_ends_its_line():
    llm = ScriptedLLM({"text": "one", "stop": "length"}, {"text": " two", "stop": "length"})
    assert written(Agent("a", llm=llm))[0] == "one two\n"


@pytest.mark.parametrize(
    ("streamed", "final", "shown"),
    [
        ("hm so yes", "yes", "hm so yes\n"),
        ("hello", "hello there", "hello there\n"),
        ("", "hello", "hello\n"),
        ("hm", "", "hm\n"),
        ("", "", ""),
    ],
)
def test_of_a_corrected_text_only_a_continuation_is_added(streamed, final, shown):
    out = io.StringIO()
    view = Writers(out)
    if streamed:
        view(MessageUpdate(**AT, channel="text", delta=streamed, message=Message("assistant", streamed)))
    view(MessageEnd(**AT, message=Message("assistant", final, stop_reason="stop")))
    assert out.getvalue() == shown


class Closing(io.StringIO):
    """A stream whose reader goes away after the first word."""

    def __init__(self, error):
        super().__init__()
        self.error = error
        self.writes = 0

    def write(self, text):
        self.writes += 1
        if self.writes > 1:
            raise self.error
        return super().write(text)


@pytest.mark.parametrize("error", [BrokenPipeError("gone"), ValueError("I/O operation on closed file")])
def test_a_stream_that_fails_is_given_up_and_that_is_logged_once(error, caplog):
    out, status = Closing(error), io.StringIO()
    llm = ScriptedLLM("one two three", [call("drive", distance_m=2.0)], "four")
    agent = Agent("a", llm=llm, tools=[drive])
    agent.subscribe(Writers(out, status))
    assert agent.start("x").result(LIMIT_S).reply == "one two three"
    assert agent.start("y").result(LIMIT_S).reply == "four"
    assert (out.writes, out.getvalue()) == (2, "one")
    assert status.getvalue() == "→ drive 2.0\n← arrived\n", "the other stream goes on"
    assert len([r for r in caplog.records if "nothing more is written to out" in r.message]) == 1


def test_a_character_that_the_stream_cannot_show_does_not_end_it():
    raw = io.BytesIO()
    view = Writers(None, io.TextIOWrapper(raw, encoding="ascii"))
    view(Notice(**AT, level="info", text="21 °C"))
    view(ToolExecutionEnd(**AT, call=ToolCall("c", "read"), result=ToolResult("c", "read", "ok", "done")))
    assert raw.getvalue() == b"! 21 ?C\n? read\n? done\n"
