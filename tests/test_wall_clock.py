"""A clock that jumps: nothing that waits or measures goes by the wall's clock, which stands in logs and lists only."""

import re
import time
from pathlib import Path

import pytest

from edgeagent import Agent, Options, ToolContext, tool
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 30
ALLOWED = {
    "hooks/run_records.py": "the time of a record",
    "session/audit.py": "the time of a record",
    "web/story.py": "the time beside a line",
    "llm/prompt.py": "the date that a template asks for",
    "models/intake.py": "the date of a pulled model",
    "stt/whisper_speed.py": "the age of a measurement, which is made again when it is old or of tomorrow",
}
"""Files that read the wall's clock, and what for."""


def test_only_records_and_dates_are_of_the_walls_clock(checkout: Path) -> None:
    package = checkout / "edgeagent"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(
            r"\btime\.time(_ns)?\(|datetime\.(now|today|utcnow)\(|from time import .*\btime\b", path.read_text()
        )
    }
    assert found == ALLOWED.keys()


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0, 1e9])
def test_time_outs_and_deadlines_hold_while_the_clock_jumps(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    wall, jumps = time.time, iter(range(1, 1_000_000))
    monkeypatch.setattr(time, "time", lambda: wall() + next(jumps) * jump_s % 4e9)

    @tool(timeout_s=0.2)
    def hang(context: ToolContext) -> None:
        """Hangs."""
        context.stop_event.wait(LIMIT_S)

    begun_s = time.monotonic()
    late = Agent("robi", llm=ScriptedLLM([call("hang")], "Done."), tools=[hang]).run("go on")
    assert [made.result.status for made in late.tool_calls if made.result] == ["timed_out"]
    slow = ScriptedLLM("word " * 1000, token_delay_s=0.05)
    ended = Agent("robi", llm=slow, options=Options(deadline_s=0.3)).run("go on")
    assert (ended.reason, ended.abort_reason) == ("aborted", "deadline")
    quick = Agent("robi", llm=ScriptedLLM("Hi."), options=Options(deadline_s=LIMIT_S)).run("hello")
    assert quick.reason == "completed"
    assert time.monotonic() - begun_s < LIMIT_S
