"""Events as JSON lines."""

import dataclasses
import json
import threading

from edgeagent import Agent, events, tool
from edgeagent.events import as_dict, to_json
from edgeagent.testing import ScriptedLLM, call


def test_every_event_of_a_run_is_one_line_of_json():
    @tool
    def give() -> object:
        """Gives something that JSON cannot hold."""
        return threading.Lock()

    agent = Agent("a", llm=ScriptedLLM([call("give")], {"text": "li\nne", "thinking": "hm"}), tools=[give])
    for event in agent.start("go").events():
        line = to_json(event)
        assert "\n" not in line
        read = json.loads(line)
        assert read["kind"] == event.kind
        assert read["t"] == event.t


def test_a_results_own_object_is_left_out_of_json():
    @tool
    def give() -> object:
        """Gives much."""
        return ["x" * 10_000]

    handle = Agent("a", llm=ScriptedLLM([call("give")], "x"), tools=[give]).start("go")
    ended = next(e for e in handle.events() if e.kind == "tool_execution_end")
    assert "value" not in as_dict(ended)["result"]


def test_every_event_of_the_voice_has_its_kind_its_time_and_its_fields():
    @dataclasses.dataclass(frozen=True)
    class Word:
        text: str
        start_s: float
        end_s: float
        confidence: float | None

    made = [
        events.VoiceState(t=1.5, old="listening", new="hearing", why="speech start"),
        events.SpeechStart(t=1.5),
        events.SpeechEnd(t=1.5, soft=True),
        events.Partial(t=1.5, text="go"),
        events.Transcript(t=1.5, run_id="r", text="go", words=(Word("go", 0.5, 0.7, None),), latency_s=0.2),
        events.Keyword(t=1.5, phrase="stop", confirmed=None),
        events.BargeIn(t=1.5, action="hold"),
        events.Playback(t=1.5, state="held", position_s=0.3),
        events.Heard(t=1.5, message_id="m", text="I am"),
        events.Device(t=1.5, state="lost", name="USB"),
    ]
    kinds = "voice_state speech_start speech_end partial transcript keyword barge_in playback heard device"
    assert [event.kind for event in made] == kinds.split()
    assert {type(event).__name__ for event in made} == {kind.__name__ for kind in events.VoiceEvent.__subclasses__()}
    read = [json.loads(to_json(event)) for event in made]
    for event, line in zip(made, read, strict=True):
        assert list(line)[:3] == ["kind", "t", "run_id"]
        assert set(line) == {"kind", *(field.name for field in dataclasses.fields(event))}
        assert "seq" not in line
    assert read[4]["words"] == [{"text": "go", "start_s": 0.5, "end_s": 0.7, "confidence": None}]
    assert (read[1]["run_id"], read[4]["run_id"]) == (None, "r")
