"""Events as JSON lines."""

import json
import threading

from edgeagent import Agent, tool
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
