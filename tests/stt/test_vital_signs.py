"""Processes that work, wait, sleep and are stopped, as the kernel tells of them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from edgeagent.stt import LOOK_S, STILL_S, Stillness, VitalSigns, unread_bytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells nothing")
LIMIT_S = 20.0
READS = "import sys\nprint(flush=True)\nwhile sys.stdin.buffer.raw.read(10): print(flush=True)"
SLEEPS = "import time\nprint(flush=True)\ntime.sleep(60)"
COMPUTES = "print(flush=True)\nwhile True: pass"

Process = subprocess.Popen[bytes]


@pytest.fixture
def start() -> Iterator[Callable[[str], Process]]:
    started: list[Process] = []

    def start(program: str) -> Process:
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def settled(process: Process, state: str) -> VitalSigns:
    """Its signs, once it is in a state."""
    for _ in range(round(LIMIT_S / 0.01)):
        signs = VitalSigns.of(process.pid)
        assert signs is not None
        if signs.state == state:
            return signs
        threading.Event().wait(0.01)
    raise AssertionError(f"it does not come to {state}")


def test_one_that_sleeps_is_still_and_one_that_computes_is_not(start: Callable[[str], Process]) -> None:
    sleeps, computes = start(SLEEPS), start(COMPUTES)
    asleep, busy = settled(sleeps, "S"), settled(computes, "R")
    threading.Event().wait(0.05)
    assert settled(sleeps, "S").still_since(asleep)
    assert not settled(computes, "R").still_since(busy)


def test_one_that_has_run_meanwhile_is_not_still(start: Callable[[str], Process]) -> None:
    process = start(READS)
    before = settled(process, "S")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"something.")
    process.stdin.flush()
    process.stdout.readline()
    assert not settled(process, "S").still_since(before)


def test_one_that_is_stopped_has_stopped(start: Callable[[str], Process]) -> None:
    process = start(COMPUTES)
    os.kill(process.pid, signal.SIGSTOP)
    before = settled(process, "T")
    assert before.stopped
    assert settled(process, "T").still_since(before)


def test_of_a_process_that_is_gone_nothing_is_known(start: Callable[[str], Process]) -> None:
    process = start(SLEEPS)
    process.kill()
    process.wait()
    assert VitalSigns.of(process.pid) is None


ASLEEP = VitalSigns("S", 1.0, 7)


def looked(stillness: Stillness, *, times: int, signs: VitalSigns | None = ASLEEP, **facts: bool) -> Stillness:
    for _ in range(times):
        stillness.look(signs, LOOK_S, **{"unread": False, "owes": False, **facts})
    return stillness


def test_time_counts_from_the_second_look_and_only_while_something_is_to_be_done() -> None:
    stillness = looked(Stillness(), times=1, unread=True)
    assert stillness.with_work_s == 0
    looked(stillness, times=3, unread=True)
    assert stillness.with_work_s == pytest.approx(STILL_S)
    assert stillness.silent_s == 0
    assert looked(stillness, times=1).with_work_s == 0
    assert looked(stillness, times=2, owes=True).silent_s == pytest.approx(0.2)


def test_a_process_that_was_stopped_needs_no_work_to_hang() -> None:
    assert looked(Stillness(), times=4, signs=VitalSigns("T", 1.0, 7)).with_work_s == pytest.approx(STILL_S)


@pytest.mark.parametrize("signs", [VitalSigns("R", 1.0, 7), VitalSigns("D", 1.0, 7), None])
def test_one_that_waits_for_a_processor_or_the_disk_is_never_still(signs: VitalSigns | None) -> None:
    stillness = looked(Stillness(), times=50, signs=signs, unread=True, owes=True)
    assert (stillness.with_work_s, stillness.silent_s) == (0, 0)


def test_a_time_in_which_nobody_looked_is_one_look() -> None:
    stillness = looked(Stillness(), times=1, unread=True)
    stillness.look(ASLEEP, 3600.0, unread=True, owes=True)
    assert stillness.with_work_s == LOOK_S


def test_a_pipe_tells_what_lies_in_it_at_either_end() -> None:
    reads, writes = os.pipe()
    os.write(writes, b"12345")
    assert (unread_bytes(reads), unread_bytes(writes)) == (5, 5)
    os.close(reads)
    os.close(writes)
    assert unread_bytes(reads) == 0
