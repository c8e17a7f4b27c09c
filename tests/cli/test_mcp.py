"""``edgeagent mcp`` as the SDK's client sees it, and servers of tools behind the other commands."""

import asyncio
import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
import wave
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from edgeagent import Agent
from edgeagent.config import Config
from edgeagent.mcp_agent import Loudspeaker
from edgeagent.mcp_tools import ToolServers, checked_settings
from edgeagent.testing import ScriptedLLM, call
from tests.cli.conftest import LIMIT_S, Command
from tests.processes import descendants, left

WORKSHOP = Path(__file__).parents[1] / "mcp_tools" / "workshop.py"


@asynccontextmanager
async def client(edgeagent: Command, *arguments: object, **how: Any) -> AsyncIterator[Client]:
    """The SDK's client of the command; what it tells a person goes to the file ``stderr`` of its home."""
    program, *words = edgeagent.argv("mcp", *arguments, **how)
    parameters = StdioServerParameters(command=program, args=words, env=edgeagent.environment, cwd=edgeagent.cwd)
    with (edgeagent.home / "stderr").open("w") as told:
        async with Client(stdio_client(parameters, told)) as made:
            yield made


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await true():
            await asyncio.sleep(0.02)


def text(result: Any) -> str:
    return str(result.content[0].text)


def test_nano_answers_moves_speaks_and_stops(edgeagent: Command) -> None:
    async def talk() -> None:
        async with client(edgeagent, "--output", "said.wav") as robot:
            tools = {tool.name: tool.annotations for tool in (await robot.list_tools()).tools}
            assert list(tools) == ["say", "ask", "stop", "status"]
            assert [name for name, hints in tools.items() if hints and hints.read_only_hint] == ["status"]
            said, answer = await asyncio.gather(
                robot.call_tool("say", {"text": "Hello there."}),
                robot.call_tool("ask", {"text": "how full is your battery"}),
            )
            assert text(said) == "said"
            assert "80 percent" in text(answer)
            assert answer.structured_content["calls"] == [{"name": "get_battery", "status": "ok"}]
            drive = asyncio.create_task(robot.call_tool("ask", {"text": "go to the kitchen"}))
            await until(lambda: moving(robot))
            busy = await robot.call_tool("ask", {"text": "where are you"})
            assert busy.is_error
            began_s = time.monotonic()
            assert text(await robot.call_tool("stop")).startswith("stopped; motion stays off until")
            ended = await drive
            assert time.monotonic() - began_s < 3
            assert ended.structured_content["reason"] == "safety_stop"
            assert ended.is_error
            after = await robot.call_tool("ask", {"text": "go to the kitchen"})
            assert text(after) == "I am stopped. Motion is off until I am started again."
            state = (await robot.call_tool("status")).structured_content
            assert (state["motion"], state["why"], state["moving"]) == ("off", "stop, by MCP", False)

    asyncio.run(talk())
    with wave.open(str(edgeagent.cwd / "said.wav")) as sound:
        assert sound.getnframes() / sound.getframerate() > 0.3


async def moving(robot: Client) -> bool:
    return bool((await robot.call_tool("status")).structured_content["moving"])


WITHOUT_SOUND = "import sys; sys.modules['sounddevice'] = None\n"


def test_a_request_that_is_cancelled_ends_its_run_and_what_cannot_be_done_is_told(edgeagent: Command) -> None:
    async def talk() -> None:
        async with client(edgeagent, house=True, before=WITHOUT_SOUND) as robot:
            said = await robot.call_tool("say", {"text": "hello"})
            assert said.is_error
            assert text(said).startswith("the robot cannot speak: ")
            drive = asyncio.create_task(robot.call_tool("ask", {"text": 'go_to {"place": "kitchen"}'}))
            await until(lambda: moving(robot))
            drive.cancel()
            await until(lambda: idle(robot))
            assert (await robot.call_tool("status")).structured_content["motion"] == "allowed"
            assert text(await robot.call_tool("ask", {"text": "hello"})) == "heard hello"
            for wrong in ({}, {"text": " "}, {"text": 5}, {"text": "x" * 4001}, {"text": "x", "more": 1}):
                assert (await robot.call_tool("ask", wrong)).is_error, wrong
            assert (await robot.call_tool("dance")).is_error

    async def idle(robot: Client) -> bool:
        state = (await robot.call_tool("status")).structured_content
        return not state["working"] and not state["moving"]

    asyncio.run(talk())


APP = """
import os, sys
print("the app was imported")

@tool(destructive=True)
def erase() -> str:
    "Erase."
    print("erased")
    os.write(1, b"past Python\\n")
    return "erased"

agent = Agent("robi", llm=ScriptedLLM([call("erase")], "Done.", [call("erase")], "Done."), tools=[erase])
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ASK = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {"text": "erase"}}}


def answers(edgeagent: Command, *texts: str, app: Path, words: tuple[str, ...] = ()) -> list[str]:
    """What a robot answers, one text after the other."""
    with edgeagent.start("mcp", "--app", app, *words) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = [
            ASK | {"id": number, "params": {"name": "ask", "arguments": {"text": text}}}
            for number, text in enumerate(texts, 2)
        ]
        got = []
        for message in (HELLO, INITIALIZED, *asked):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            if message is not INITIALIZED:
                got.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(LIMIT_S) == 0
    return [answer["result"]["content"][0]["text"] for answer in got[1:]]


def test_half_a_character_in_an_answer_ends_no_connection(edgeagent: Command) -> None:
    app = edgeagent.app('agent = Agent("robi", llm=ScriptedLLM("It is \\ud83d.", "It is noon."))\n')
    assert answers(edgeagent, "what time is it", "what time is it", app=app) == ["It is ?.", "It is noon."]


@pytest.mark.parametrize(("yes", "status"), [((), "declined"), (("--yes",), "ok")], ids=["nobody asked", "yes"])
def test_stdout_carries_messages_alone_and_nobody_allows_what_destroys(
    edgeagent: Command, yes: tuple[str, ...], status: str
) -> None:
    with edgeagent.start("mcp", "--app", edgeagent.app(APP), *yes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        too_long = json.dumps(HELLO | {"id": "x" * 2_000_000}).encode()
        for line in (
            b"garbage",
            too_long,
            b"",
            b"[]",
            b"\xff\xfe",
            *(json.dumps(one).encode() for one in (HELLO, INITIALIZED, ASK)),
        ):
            process.stdin.write(line + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.stdout.read() == b""
        told = process.stderr.read().decode()
        assert process.wait(LIMIT_S) == 0
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["calls"] == [{"name": "erase", "status": status}]
    assert "the app was imported" in told
    assert ("past Python" in told) == (status == "ok")


def test_a_client_that_reads_no_more_ends_it_without_a_word(edgeagent: Command) -> None:
    with edgeagent.start("mcp", house=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert process.wait(LIMIT_S) == 0
        assert process.stderr.read() == b""


DRIVE = """
started = threading.Event()
@skill(stop=lambda: print("motors stopped", flush=True))
def drive(goal: GoalHandle) -> str:
    "Drive."
    print("driving", flush=True)
    goal.cancel_event.wait()
    goal.checkpoint()
    return "arrived"

agent = Agent("robi", llm=ScriptedLLM([call("drive")], "Done."), tools=[drive])
"""


def test_a_stop_does_not_wait_until_the_client_reads(edgeagent: Command) -> None:
    def called(number: int, name: str) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": {}}}

    with edgeagent.start("mcp", "--app", edgeagent.app(DRIVE)) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for one in (HELLO, INITIALIZED, ASK):
            process.stdin.write(json.dumps(one).encode() + b"\n")
        process.stdin.flush()
        assert b"driving" in process.stderr.readline()
        for one in (*(called(number, "status") for number in range(10, 310)), called(310, "stop")):
            process.stdin.write(json.dumps(one).encode() + b"\n")
        process.stdin.flush()  # the answers fill the pipe
        assert select.select([process.stderr], [], [], LIMIT_S)[0], "it was never stopped"
        assert b"motors stopped" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 128 + signal.SIGTERM


def test_sigterm_stops_what_moves_and_leaves(edgeagent: Command) -> None:
    with edgeagent.start("mcp", "--app", edgeagent.app(DRIVE)) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for one in (HELLO, INITIALIZED, ASK):
            process.stdin.write(json.dumps(one).encode() + b"\n")
        process.stdin.flush()
        assert b"driving" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 128 + signal.SIGTERM
        assert b"motors stopped" in process.stderr.read()


def test_continue_goes_on_with_the_session_of_a_server(edgeagent: Command) -> None:
    app = edgeagent.app(
        "agent = Agent('toy', llm=ScriptedLLM(*[lambda r: ' | '.join(m.text for m in r.messages)] * 9))"
    )
    assert answers(edgeagent, "one", app=app, words=("--session", "s")) == ["one"]
    assert edgeagent("ask", "two", "--continue", "--app", app).stdout == "one | one | two\n"


# --- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a robot, and the file of its token, which stands in nothing that it tells."""
    edgeagent = Command(checkout, tmp_path_factory.mktemp("served"))
    with edgeagent.start("mcp", "--http", 0, "--token-file", "token", house=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        yield line.split()[3].rstrip(";"), edgeagent.cwd / "token"
        process.send_signal(signal.SIGTERM)
        told = line + process.stderr.read().decode()
        assert process.wait(LIMIT_S) == 128 + signal.SIGTERM
    assert (edgeagent.cwd / "token").read_text().strip() not in told
    assert len(told.splitlines()) == 1, told


def test_over_http_the_token_the_host_and_the_origin_are_checked(served: tuple[str, Path]) -> None:
    url, path = served
    assert url.startswith("http://127.0.0.1:")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = {"authorization": f"Bearer {path.read_text().strip()}"}
    accept = {"accept": "application/json, text/event-stream"}
    for headers, status in (
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        (token | {"host": "evil.example"}, 421),
        (token | {"origin": "http://evil.example"}, 403),
        (token | {"sec-fetch-site": "cross-site"}, 403),
        (token, 200),
    ):
        answer = httpx2.post(url, json=HELLO, headers=accept | headers, trust_env=False)
        assert answer.status_code == status, (headers, answer.text)
    much = httpx2.post(url, content=b"x" * 100_000, headers=accept | token, trust_env=False)
    assert much.status_code == 413


def test_clients_that_died_keep_no_other_away(served: tuple[str, Path]) -> None:
    url, path = served
    headers = {"authorization": f"Bearer {path.read_text().strip()}", "accept": "application/json, text/event-stream"}
    for _ in range(20):
        assert httpx2.post(url, json=HELLO, headers=headers, timeout=LIMIT_S).status_code == 200


def test_our_own_client_asks_and_stops_a_robot_over_http(served: tuple[str, Path]) -> None:
    url, path = served
    servers = ToolServers(checked_settings([{"name": "robot", "url": url, "token_file": path}]))
    try:
        assert servers.wait(LIMIT_S)
        assert servers.notes == []
        llm = ScriptedLLM([call("robot_ask", text="hello")], [call("robot_stop")], [call("robot_status")], "Done.")
        agent = Agent("other", llm=llm)
        agent.hooks.append(servers.follow(agent.tools))
        asked, stopped, state = (made.result for made in agent.run("go on").tool_calls)
        assert asked.text == "heard hello"
        assert stopped.text.startswith("stopped; motion stays off")
        assert state.value["motion"] == "off"
    finally:
        servers.close()


def test_a_client_without_the_token_is_told(served: tuple[str, Path]) -> None:
    servers = ToolServers(checked_settings([{"name": "robot", "url": served[0]}]))
    try:
        assert servers.wait(LIMIT_S)
        (note,) = servers.notes
        assert note.startswith(f"MCP server robot: {served[0].removeprefix('http://')} cannot be reached: ")
    finally:
        servers.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--http", "0", "--output", "-"), "would mix sound with the protocol"),
        (("--http", "0", "--token-file", "open"), "other users may read the token"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_served(
    edgeagent: Command, arguments: tuple[str, ...], told: str
) -> None:
    (edgeagent.cwd / "open").write_text("x" * 40)
    (edgeagent.cwd / "open").chmod(0o644)
    done = edgeagent("mcp", *arguments, house=True)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_voice_is_freed_however_the_command_ends(in_process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Loudspeaker] = []

    def close(voice: Loudspeaker) -> None:
        closed.append(voice)

    monkeypatch.setattr(Loudspeaker, "close", close)
    assert in_process("mcp", "--app", "no.py").returncode == 2
    assert len(closed) == 1


def test_a_stop_that_overtakes_what_is_to_be_said_silences_it(tmp_path: Path) -> None:
    path = tmp_path / "said.wav"
    loudspeaker = Loudspeaker(Config(audio={"output": str(path)}))
    cuts = loudspeaker.cuts
    loudspeaker.cut()
    assert not loudspeaker.say("Hello.", cuts=cuts)
    assert not path.exists()
    assert loudspeaker.say("Hello.", cuts=loudspeaker.cuts)
    assert path.stat().st_size > 1000
    loudspeaker.close()


# --- servers of tools behind a command ------------------------------------------------------------------------------


@pytest.fixture
def shop(edgeagent: Command) -> list[str]:
    """Options that give a robot the tools of the workshop."""
    path = edgeagent.home / "settings.toml"
    command = json.dumps([sys.executable, str(WORKSHOP)])
    path.write_text(f'[[mcp]]\nname = "shop"\ncommand = {command}\n', encoding="utf-8")
    return ["--config", str(path)]


def test_each_line_of_a_pipe_has_the_tools(edgeagent: Command, shop: list[str]) -> None:
    lines = b'shop_add {"first": 1, "second": 2}\nshop_paint {"colour": "red"}\n'
    done = edgeagent("ask", "--stdin", *shop, stdin=lines, house=True)
    assert (done.returncode, done.stdout) == (0, "3.\nred, 1 coats.\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_no_server_outlives_its_robot(
    edgeagent: Command, shop: list[str], tmp_path: Path, number: signal.Signals
) -> None:
    mark = tmp_path / "mark"
    with edgeagent.start("chat", *shop, house=True) as process:
        assert process.stdin is not None
        process.stdin.write(f"shop_wait {json.dumps({'mark': str(mark)})}\n".encode())
        process.stdin.flush()
        end_s = time.monotonic() + LIMIT_S
        while not mark.exists():
            assert time.monotonic() < end_s
            select.select([], [], [], 0.02)
        pids = descendants(process.pid)
        os.kill(process.pid, number)
        process.wait(LIMIT_S)
    assert left(pids) == []


def test_a_mistake_in_the_settings_has_its_line(edgeagent: Command, in_process: Callable[..., Any]) -> None:
    path = edgeagent.home / "settings.toml"
    for written, told in (
        ('[[mcp]]\nname = "a"\ncomand = ["x"]\n', ":3: [[mcp]] has no setting 'comand'; did you mean 'command'?"),
        ('[[mcp]]\nname = "a"\ncommand = ["x"]\n[[mcp]]\nname = "b"\ntimeout_s = "x"\n', ":6: mcp.timeout_s: should"),
        ('[mcp]\nname = "a"\n', ":1: mcp is a list of tables: write [[mcp]]"),
        ('[[mcp]]\nname = "a b"\n', "[[mcp]] needs a name"),
        ('[[mcp]]\nname = "a"\n', "set either command"),
        ('[[mcp]]\nname = "a"\ncommand = ["no-such-program"]\n', "there is no program 'no-such-program'"),
        ('[[mcp]]\nname = "a"\nurl = "http://10.0.0.1/mcp"\n', "remote = true allows it"),
        ('[[mcp]]\nname = "a"\nurl = "http://localhost.evil.example/mcp"\n', "remote = true allows it"),
        ('[[mcp]]\nname = "a"\nurl = "http://127.0.0.1/"\ncwd = "."\n', "cwd goes with command"),
        ('[[mcp]]\nname="a"\nurl="http://127.0.0.1/"\n[[mcp]]\nname="a"\nurl="http://127.0.0.1/"\n', "two [[mcp]]"),
    ):
        path.write_text(written, encoding="utf-8")
        done = in_process("ask", "hello", "--config", path)
        assert done.returncode == 2, written
        assert told in done.stderr, (written, done.stderr)


def test_without_the_package_it_says_what_to_install(edgeagent: Command, shop: list[str]) -> None:
    without = "import sys; sys.modules['mcp'] = None\n"
    for arguments in (("mcp",), ("ask", "hello", *shop)):
        with edgeagent.start(*arguments, house=True, before=without, stdin=subprocess.DEVNULL) as process:
            _, told = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 2
        assert told.decode().endswith('needs the package mcp, not installed here: pip install "edgeagent[mcp]"\n')
