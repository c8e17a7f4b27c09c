"""A recogniser's process: killed, hung, orphaned; and what its callers see of it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from edgeagent.errors import RecognitionError
from edgeagent.stt import MOST_FAILURES, Worker, WorkerEvent

LIMIT_S = 30.0
SOON_S = 10.0  # it takes less than half a second where nothing else goes on
SERVICE = "services:Echo"


class Events:
    """What a worker told, to be waited for."""

    def __init__(self) -> None:
        self.queue: Queue[WorkerEvent] = Queue()

    def next(self, kind: str) -> WorkerEvent:
        while (event := self.queue.get(timeout=LIMIT_S)).kind != kind:
            pass
        return event


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def start(events: Events, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Worker]]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    made: list[Worker] = []

    def start(settings: dict[str, Any] | None = None, **keywords: Any) -> Worker:
        made.append(Worker("test", SERVICE, settings or {}, on_event=events.queue.put, **keywords))
        return made[-1]

    yield start
    for worker in made:
        worker.close()


def gone(pid: int) -> bool:
    """Wait until a process has ended."""
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        threading.Event().wait(0.01)
    return False


def test_it_answers_many_times_and_survives_a_refusal(start: Callable[..., Worker]) -> None:
    worker = start()
    worker.wait_ready()
    for number in range(500):
        worker.send("work", s=0)
        assert worker.ask("echo", b"x" * number, text=str(number)).wait() == pytest.approx(
            {"id": pytest.approx(number, abs=10**6), "bytes": number, "text": str(number)}
        )
    with pytest.raises(RecognitionError, match="KeyError: 'nothing'"):
        worker.ask("raise").wait()
    assert worker.ask("echo", b"1").wait() is not None
    assert worker.generation == 1


def test_what_it_says_unasked_arrives(start: Callable[..., Worker]) -> None:
    told: Queue[dict[str, Any]] = Queue()
    worker = start(on_emit=told.put)
    worker.wait_ready()
    worker.send("tell", text="héllo")
    assert told.get(timeout=LIMIT_S) == {"told": "héllo"}


def test_an_answer_that_is_there_is_none_to_whoever_has_been_stopped(start: Callable[..., Worker]) -> None:
    worker = start()
    worker.wait_ready()
    reply, stop = worker.ask("echo"), threading.Event()
    assert reply.wait(stop) is not None
    stop.set()
    assert reply.wait(stop) is None


def test_one_that_is_killed_is_back_and_says_so(start: Callable[..., Worker], events: Events) -> None:
    worker = start()
    worker.wait_ready()
    events.next("started")
    pid = worker.pid
    assert pid is not None
    reply = worker.ask("work", s=LIMIT_S, work_s=LIMIT_S)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RecognitionError):
        reply.wait()
    assert "-9" in events.next("died").reason
    back = events.next("started")
    assert back.restarts == 1
    assert back.after_s < 5  # about 0.1 s on an idle machine
    assert worker.pid not in (None, pid)
    assert worker.ask("echo").wait() is not None


def test_one_that_dies_tells_its_last_words(start: Callable[..., Worker], events: Events) -> None:
    worker = start()
    worker.wait_ready()
    worker.send("die")
    assert "the last words" in events.next("died").reason


def test_one_that_hangs_in_c_is_killed_and_back(start: Callable[..., Worker], events: Events) -> None:
    worker = start(hang_s=0.5)
    worker.wait_ready()
    pid = worker.pid
    start_s = time.monotonic()
    with pytest.raises(RecognitionError, match="did not answer"):
        worker.ask("hang").wait()
    assert time.monotonic() - start_s < 3
    assert events.next("hung").worker == "test"
    worker.wait_ready()
    assert pid is not None
    assert gone(pid)
    assert worker.ask("echo").wait() is not None


def test_a_hang_is_noticed_though_nobody_asks(start: Callable[..., Worker], events: Events) -> None:
    worker = start(hang_s=0.5)
    worker.wait_ready()
    worker.send("hang")  # a ping went with it
    assert events.next("hung")
    worker.wait_ready()


def test_one_that_is_stopped_is_killed_and_back_though_nobody_asks(
    start: Callable[..., Worker], events: Events
) -> None:
    worker = start(hang_s=LIMIT_S)
    worker.wait_ready()
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert "does not run (state T)" in events.next("hung").reason
    assert events.next("started").after_s < SOON_S
    assert gone(pid)
    assert worker.ask("echo").wait() is not None


@pytest.mark.parametrize("way", ["stopped", "waits in C"])
def test_one_that_hangs_in_a_long_work_is_killed_long_before_it_would_end(
    start: Callable[..., Worker], events: Events, way: str
) -> None:
    worker = start(hang_s=LIMIT_S)
    worker.wait_ready()
    pid = worker.pid
    assert pid is not None
    begun_s = time.monotonic()
    if way == "stopped":
        reply = worker.ask("work", s=LIMIT_S, work_s=LIMIT_S)
        os.kill(pid, signal.SIGSTOP)
    else:
        reply = worker.ask("hang", work_s=LIMIT_S)
        worker.send("echo", bytes(100_000))  # more than its buffer: something lies before it
    with pytest.raises(RecognitionError, match="does not run"):
        reply.wait()
    assert time.monotonic() - begun_s < SOON_S
    events.next("hung")
    events.next("started")


def test_one_that_computes_without_an_end_is_killed(start: Callable[..., Worker], events: Events) -> None:
    worker = start(hang_s=0.2)
    worker.wait_ready()
    with pytest.raises(RecognitionError, match="of computing"):
        worker.ask("work", s=LIMIT_S, work_s=0.2).wait()
    events.next("hung")
    worker.wait_ready()


def test_work_is_no_hang(start: Callable[..., Worker]) -> None:
    worker = start(hang_s=0.1)
    worker.wait_ready()
    for _ in range(4):
        worker.send("work", s=0.2, work_s=0.25)
    assert worker.waiting_s == pytest.approx(1.0)
    assert worker.ask("echo").wait() is not None
    assert worker.waiting_s == 0
    assert worker.generation == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes can't be bound to a processor")
def test_one_that_a_busy_machine_lets_compute_little_is_no_hang(start: Callable[..., Worker]) -> None:
    worker, *greedy = start(hang_s=0.5), start(), start()
    processor = {min(os.sched_getaffinity(0))}
    for one in (worker, *greedy):
        one.wait_ready()
        assert one.pid is not None
        os.sched_setaffinity(one.pid, processor)
    for one in greedy:
        one.ask("work", s=LIMIT_S, work_s=LIMIT_S)
    begun_s = time.monotonic()
    assert worker.ask("work", s=0.4).wait() is not None
    assert time.monotonic() - begun_s > 0.6  # longer than hang_s, by the wall's clock
    assert worker.generation == 1


def test_a_caller_who_stops_waits_no_more(start: Callable[..., Worker]) -> None:
    worker = start()
    worker.wait_ready()
    stopped = threading.Event()
    stopped.set()
    assert worker.ask("work", s=0.2).wait(stopped) is None
    assert worker.ask("echo").wait() is not None


def test_one_that_can_not_start_is_given_up(
    start: Callable[..., Worker], events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeagent.stt.worker._PAUSES_S", (0.0,))
    worker = start({"broken": True})
    with pytest.raises(RecognitionError, match="no such model"):
        worker.wait_ready(LIMIT_S)
    failures = [events.next("failed") for _ in range(MOST_FAILURES)]
    assert [event.final for event in failures] == [False] * (MOST_FAILURES - 1) + [True]
    with pytest.raises(RecognitionError):
        worker.ask("echo")
    assert not worker.send("echo")


def test_its_settings_are_made_again_before_each_start(start: Callable[..., Worker], events: Events) -> None:
    made: list[threading.Thread] = []

    def settings() -> dict[str, Any]:
        made.append(threading.current_thread())
        return {}

    worker = start(settings)
    worker.wait_ready()
    events.next("started")
    worker.send("die")
    events.next("started")
    assert [thread.name for thread in made] == ["test-supervise"] * 2


def test_one_that_has_served_is_tried_again_after_many_failures(
    start: Callable[..., Worker], events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeagent.stt.worker._PAUSES_S", (0.0,))
    monkeypatch.setattr("edgeagent.stt.worker._LATER_S", 0.3)
    files = {"broken": False}
    worker = start(lambda: dict(files))
    worker.wait_ready()
    files["broken"] = True
    worker.send("die")
    failures = [events.next("failed") for _ in range(MOST_FAILURES)]
    assert not any(event.final for event in failures)
    with pytest.raises(RecognitionError, match="no such model"):
        worker.wait_ready(LIMIT_S)  # at once
    files["broken"] = False
    assert events.next("started").restarts == 1
    worker.wait_ready()
    assert worker.ask("echo").wait() is not None


def test_one_that_dies_of_everything_it_is_told_gets_pauses(start: Callable[..., Worker], events: Events) -> None:
    worker = start()
    ended_s = []
    for _ in range(4):
        worker.wait_ready()
        worker.send("die")
        events.next("died")
        ended_s.append(time.monotonic())
    assert ended_s[-1] - ended_s[0] > 1.5  # 0.0, 0.5 and 1.0 s


def test_who_waits_for_it_may_be_stopped(start: Callable[..., Worker]) -> None:
    worker = start({"broken": True})
    stopped = threading.Event()
    threading.Timer(0.1, stopped.set).start()
    begun_s = time.monotonic()
    assert not worker.wait_ready(LIMIT_S, stopped)
    assert time.monotonic() - begun_s < 2.0
    assert not worker.wait_ready(0.0, stopped)


def test_closing_ends_the_process_and_the_threads(start: Callable[..., Worker]) -> None:
    worker = start()
    worker.wait_ready()
    pid = worker.pid
    worker.send("hang")
    worker.close()
    worker.close()
    assert pid is not None
    assert gone(pid)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test-")]


PARENT = """
import sys, time
sys.path.insert(0, {folder!r})
from edgeagent.stt import Worker
worker = Worker("orphan", "services:Echo", {{}})
worker.wait_ready()
if {hangs}:
    worker.send("hang")
print(worker.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("hangs", [False, True])
def test_no_orphan_is_left(hangs: bool) -> None:
    program = PARENT.format(folder=str(Path(__file__).parent), hangs=hangs)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert gone(pid)


@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="SIGINT is ignored, as in the background")
def test_ctrl_c_in_the_terminal_leaves_it_to_its_parent() -> None:
    program = PARENT.format(folder=str(Path(__file__).parent), hangs=False).replace(
        "print(worker.pid, flush=True)\ntime.sleep(60)",
        "import json\ntry:\n    print(worker.pid, flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
        "    print(json.dumps(worker.ask('echo', b'12').wait()), flush=True)",
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.killpg(parent.pid, signal.SIGINT)  # as the terminal does
        os.kill(pid, signal.SIGINT)
        assert json.loads(parent.stdout.readline())["bytes"] == 2
        parent.wait(LIMIT_S)
    assert gone(pid)
