"""``scripts/bench soak``: thousands of runs in one process, hundreds of kills, and records torn at every byte.

Ends with exit code 1 when something grew, or a committed message was lost.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from edgeagent import Agent, GoalHandle, Options, Session, skill, tool
from edgeagent.journal import Journal
from edgeagent.testing import ScriptedLLM, call

_WARM_SHARE: Final = 0.1
"""Of the runs: what Python and the allocator keep for later is there after them."""
_TARGET_MB: Final = 1.0
"""Growth in 10,000 runs."""
_KILL_AFTER_S: Final = 0.12
_LIMIT_S: Final = 30.0


def main() -> None:
    """Runs all three and prints a table."""
    parser = argparse.ArgumentParser(prog="scripts/bench soak", description="Runs, kills and torn records.")
    parser.add_argument("--runs", type=int, default=20_000, help="runs in one process (default: 20000)")
    parser.add_argument("--kills", type=int, default=300, help="kills of a process that talks (default: 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="2,000 runs and 20 kills")
    parser.add_argument("--talk", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.talk:
        talk(arguments.talk, arguments.seed)
        return
    runs, kills = (2_000, 20) if arguments.quick else (arguments.runs, arguments.kills)
    failures = soak(runs, arguments.seed) + killed(kills, arguments.seed) + torn()
    sys.exit(1 if failures else 0)


# --- runs ---------------------------------------------------------------------------------------------------------


@tool(read_only=True)
def look(n: int) -> str:
    """Looks."""
    return f"{n} seen"


@tool
def note(text: str) -> str:
    """Notes."""
    return text * 3


@tool
def fail() -> None:
    """Fails."""
    raise RuntimeError("no luck")


@skill(resources=("base",))
def move(goal: GoalHandle) -> str:
    """Moves for a millisecond, or until it is cancelled."""
    goal.cancel_event.wait(0.001)
    goal.checkpoint()
    return "moved"


def a_reply(rng: random.Random) -> Any:
    """A text, or a few calls."""
    if rng.random() < 0.5:
        return "some words in a row " * rng.randint(1, 3)
    made = [call("look", n=rng.randint(0, 99)), call("note", text="x"), call("fail"), call("move"), call("nothing")]
    return rng.sample(made, rng.randint(1, 4))


def one_run(rng: random.Random, agent: Agent, llm: ScriptedLLM) -> None:
    """A run with tools, that is sometimes steered or aborted."""
    with Session(agent) as session:
        llm._replies, llm._next = [a_reply(rng) for _ in range(6)], 0
        llm.requests.clear()
        handle = session.start("go")
        what = rng.random()
        if what < 0.2:
            session.steer("the other one")
        elif what < 0.3:
            session.follow_up("and then")
        elif what < 0.5:
            session.abort("user", mode=rng.choice(["now", "after_turn"]))
        if not handle.wait(_LIMIT_S):
            raise TimeoutError("a run did not end")
    agent.clear_all_queues()


def soak(runs: int, seed: int) -> int:
    """Many runs; afterwards there are no more threads and descriptors than after the first, and hardly more memory."""
    rng = random.Random(seed)
    llm = ScriptedLLM()
    agent = Agent("soak", llm=llm, tools=[look, note, fail, move], options=Options(max_turns=5))
    begun_s, warm = time.monotonic(), max(int(runs * _WARM_SHARE), 1)
    before = (0, 0, 0.0)
    for i in range(runs):
        one_run(rng, agent, llm)
        if i + 1 == warm:
            before = state()
    after = state()
    growth_mb = (after[2] - before[2]) * 10_000 / (runs - warm)
    told = f"{runs:,} runs, {runs / (time.monotonic() - begun_s):,.0f} a second"
    print(f"{told}: after {warm:,} and at the end")
    for name, first, last in zip(("threads", "descriptors", "memory, MB"), before, after, strict=True):
        print(f"  {name:<12} {first:>8.1f} {last:>8.1f}")
    print(f"  growth of memory in 10,000 runs: {growth_mb:.2f} MB (target: less than {_TARGET_MB:g})")
    return (after[0] > before[0]) + (after[1] > before[1]) + (growth_mb >= _TARGET_MB)


def state() -> tuple[int, int, float]:
    """Threads once idle workers have gone, descriptors, and resident memory in MB."""
    end_s = time.monotonic() + _LIMIT_S
    while threading.active_count() > 1 and time.monotonic() < end_s:
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join(0.5)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    resident_mb = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir())), resident_mb


# --- kills --------------------------------------------------------------------------------------------------------


def talk(path: str, seed: int) -> None:
    """The process that is killed: it talks, and writes the ids of what is committed to stdout."""
    rng = random.Random(seed)
    told: set[str] = set()

    class Told:
        """After PersistSessionHook, whose priority is higher."""

        from edgeagent.hooks import FirePoint

        points = frozenset({FirePoint.BEFORE_TOOL, FirePoint.BEFORE_LLM, FirePoint.ON_RUN_END})
        priority, fail_closed, holds_text, concurrent = 0, False, False, False

        def __call__(self, point: Any, ctx: Any, payload: Any) -> None:
            new = [message.id for message in ctx.history() if message.id not in told]
            told.update(new)
            if new:
                os.write(1, "".join(f"{known}\n" for known in new).encode())

    llm = ScriptedLLM(*[lambda _: a_reply(rng)] * 1_000_000, context_window=10**9)
    agent = Agent("talk", llm=llm, tools=[look, note, fail, move], hooks=[Told()], options=Options(max_turns=5))
    with Session(agent, path=path) as session:
        while True:
            session.step("go")
            if rng.random() < 0.01:
                session.truncate(20)
                told.clear()
                os.write(1, b"-\n")  # what was told before is not to be there any more


def killed(kills: int, seed: int) -> int:
    """A process that is killed at random moments, again and again on one journal."""
    rng = random.Random(seed)
    lost = open_calls = messages = 0
    begun_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.journal"
        for i in range(kills):
            told = kill_one(path, rng, i)
            with Journal.open(path) as journal:
                found = journal.load()
            there = {message.id for message in found.messages}
            lost += len([known for known in told if known not in there])
            open_calls += sum(message.status == "outcome_unknown" for message in found.messages[-4:])
            messages = len(found.messages)
    print(
        f"{kills:,} kills, {time.monotonic() - begun_s:.0f} s: {lost} committed messages lost (target: 0); "
        f"{open_calls} calls were open, {messages} messages at the end"
    )
    return lost


def kill_one(path: Path, rng: random.Random, seed: int) -> list[str]:
    """Lets it talk for a while, kills it, and returns the ids that it had committed and not truncated since."""
    argv = [sys.executable, "-m", "bench.soak", "--talk", str(path), "--seed", str(seed)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        if process.stdout is None or not select.select([process.stdout], [], [], _LIMIT_S)[0]:
            process.kill()
            raise TimeoutError("the process that is to be killed said nothing")
        time.sleep(rng.random() * _KILL_AFTER_S)
        process.send_signal(signal.SIGKILL)
        lines = process.stdout.read().decode().split("\n")[:-1]
    truncated = max((i for i, line in enumerate(lines) if line == "-"), default=-1)
    return lines[truncated + 1 :]


def torn() -> int:
    """A journal whose last record ends at each of its bytes: the records before it are always there."""
    lost = cuts = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.journal"
        calls = [call("look", n=1), call("note", text="ä" * 50)]
        with Session(Agent("torn", llm=ScriptedLLM(calls, "done"), tools=[look, note]), path=path) as session:
            session.step("go")
            whole = session.messages()
        content = path.read_bytes()
        lines = content.splitlines(keepends=True)
        for end in range(len(lines[0]), len(content) + 1):
            path.write_bytes(content[:end])
            complete = content[:end].count(b"\n") - 1
            with Journal.open(path) as journal:
                found = journal.load().messages
            kinds = [b'"message"' in line.split(b",")[0] for line in lines[1 : complete + 1]]
            lost += [m.id for m in found[: sum(kinds)]] != [m.id for m in whole[: sum(kinds)]]
            cuts += 1
    print(f"{cuts:,} torn files: {lost} with a committed message lost (target: 0)")
    return lost


if __name__ == "__main__":
    main()
