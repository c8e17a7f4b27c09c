"""``--log``: without personal data, also where text is not whole yet, and never larger than its limits."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from edgeagent import PII, Agent, Session, ToolCall, events, tool
from edgeagent.app import EventWriter, event_fields
from edgeagent.cli import JsonView
from edgeagent.messages import Message, Reading
from edgeagent.stt import HeardWord
from edgeagent.testing import ScriptedLLM, call

SECRETS = ("ann@example.com", "4111 1111 1111 1111", "hunter2pass")
SAID = f"mail {SECRETS[0]}, my card is {SECRETS[1]}, and my password is {SECRETS[2]}"


@tool
def mail(to: str, text: str) -> str:
    """Mail."""
    return f"sent to {to}"


def logged(path: Path, **settings: Any) -> list[dict[str, Any]]:
    """The events of a run in which personal data stand everywhere."""
    replies = [[call("mail", to=SECRETS[0], text=SAID)], {"text": SAID, "thinking": SAID}]
    agent = Agent("toy", llm=ScriptedLLM(*replies), tools=[mail])
    with EventWriter(path, **settings) as log:
        agent.subscribe(log)
        agent.run(SAID)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_no_personal_data_reaches_the_log(tmp_path: Path) -> None:
    lines = logged(tmp_path / "log")
    text = (tmp_path / "log").read_text()
    assert [secret for secret in SECRETS if secret in text] == []
    assert "<EMAIL>" in text
    assert "<CREDIT_CARD>" in text
    assert [line["seq"] for line in lines] == list(range(len(lines)))


def test_nor_do_its_pieces_while_a_reply_streams(tmp_path: Path) -> None:
    updates = [line for line in logged(tmp_path / "log") if line["kind"] == "message_update"]
    deltas = "".join(line["delta"] for line in updates)
    assert "1111" not in deltas
    assert "example" not in deltas
    assert "hunter" not in deltas
    assert deltas.startswith("mail")


def test_what_is_not_personal_streams_as_it_is(tmp_path: Path) -> None:
    agent = Agent("toy", llm=ScriptedLLM("I drove 2.5 m and turned 90 degrees."))
    with EventWriter(tmp_path / "log") as log:
        agent.subscribe(log)
        agent.run("drive 2.5 m")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    updates = [line for line in lines if line["kind"] == "message_update"]
    assert "".join(line["delta"] for line in updates) == updates[-1]["message"]["text"]
    assert updates[-1]["message"]["text"] == "I drove 2.5 m and turned 90 degrees."


def test_a_builder_s_own_object_is_redacted_too(tmp_path: Path) -> None:
    class Position:
        def __repr__(self) -> str:
            return f"at {SECRETS[0]}"

    made = ToolCall("c1", "mail", {})
    event = events.ToolExecutionUpdate(seq=1, t=1.0, run_id="r", agent="a", turn=1, call=made, update=Position())
    with EventWriter(tmp_path / "log") as log:
        log(event)
    assert json.loads((tmp_path / "log").read_text())["update"] == "at <EMAIL>"


def test_many_runs_of_a_session_cost_the_same_each(tmp_path: Path) -> None:
    path = tmp_path / "log"
    agent = Agent("toy", llm=ScriptedLLM(*["I did that."] * 30))
    sizes = []
    with EventWriter(path) as log, Session(agent) as session:
        session.subscribe(log)
        for _ in range(30):
            session.step("do that")
            sizes.append(path.stat().st_size)
    assert sizes[-1] - sizes[-2] < 1.1 * (sizes[1] - sizes[0])


def test_it_rotates(tmp_path: Path) -> None:
    logged(tmp_path / "log", max_mb=0.003, files=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1"]
    assert all(path.stat().st_size <= 3000 for path in tmp_path.iterdir())


def test_off_writes_what_was_said(tmp_path: Path) -> None:
    logged(tmp_path / "log", pii=PII(log="off"))
    assert all(secret in (tmp_path / "log").read_text() for secret in SECRETS)


def test_a_full_disk_is_told_once_whoever_writes_meanwhile(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, event = EventWriter(tmp_path / "log"), events.Partial(t=1.0, text="hello")
    both = threading.Barrier(2, timeout=10)

    def full(file: object, fields: object) -> None:
        both.wait()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edgeagent.json_lines.JsonLinesFile.write", full)
    other = threading.Thread(target=log, args=(event,))
    other.start()
    log(event)
    other.join(10)
    log(event)
    assert caplog.text.count("cannot be written: No space left on device") == 1


def test_warn_writes_what_was_said_and_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logged(tmp_path / "log", pii=PII(log="warn"))
    assert SECRETS[0] in (tmp_path / "log").read_text()
    assert "personal data" in caplog.text


@pytest.mark.parametrize("reason", ["aborted", "error", "length"])
def test_a_reply_that_was_cut_shows_no_half_of_what_is_personal(reason: Any) -> None:
    said = "your card is 4111 1111 1111"
    reading = Reading("what is my card?", raw=said)
    message = Message("assistant", said, thinking=said, stop_reason=reason)
    own = {"seq": 1, "t": 1.0, "run_id": "r", "agent": "a", "turn": 1}
    for event in (
        events.MessageEnd(**own, message=message, reading=reading),
        events.TurnEnd(**own, message=message, results=()),
        events.AgentEnd(**own, reason="aborted", abort_reason=None, messages=(message,), new_messages=(message,)),
    ):
        shown = json.dumps(event_fields(event, "redact"))
        assert "1111" not in shown
        assert message.id in shown
        assert "1111" in json.dumps(event_fields(event, "off"))


@pytest.mark.parametrize(
    "event",
    [
        events.Partial(t=1.0, text="my card is 4111 1111 1111"),
        events.Partial(t=1.0, text="mail ann@"),
        events.Transcript(t=1.0, text=SAID, words=tuple(HeardWord(word, 0.0, 0.1, 1.0) for word in SAID.split())),
        events.Heard(t=1.0, message_id="m", text=SAID),
        events.Heard(t=1.0, message_id="m", text="your card is 4111 1111 1111"),
        events.Device(t=1.0, state="lost", name=SAID),
    ],
    ids=lambda event: f"{event.kind}",
)
def test_json_on_stdout_is_redacted_like_the_log(event: events.VoiceEvent, capsys: pytest.CaptureFixture[str]) -> None:
    JsonView().show(event)
    shown = capsys.readouterr().out
    assert json.loads(shown)["kind"] == event.kind
    assert "1111" not in shown
    assert "ann@" not in shown
    JsonView(PII(log="off")).show(event)
    assert capsys.readouterr().out != shown
