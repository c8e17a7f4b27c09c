"""Memory that the C library keeps for itself: few arenas for many threads, and little that was freed."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
LIMIT_S = 30
SAID = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
PROGRAM = """
import ctypes, sys, threading
from edgeagent.stt import share_arenas
if sys.argv[1] == "shared":
    share_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.fopen.restype = ctypes.c_void_p, ctypes.c_void_p
together = threading.Barrier(8)
def work():
    together.wait()
    libc.malloc(ctypes.c_size_t(1000))
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


def arenas(tmp_path: Path, how: str, **environment: str) -> int:
    """Number of arenas of a process in which eight threads take memory at once."""
    told = tmp_path / "arenas.xml"
    inherited = {name: value for name, value in os.environ.items() if name not in SAID}
    subprocess.run(
        [sys.executable, "-c", PROGRAM, how, str(told)], check=True, timeout=LIMIT_S, env=inherited | environment
    )
    return len(re.findall("<heap nr=", told.read_text()))


def test_threads_share_two_arenas(tmp_path: Path) -> None:
    assert arenas(tmp_path, "own") > 2
    assert arenas(tmp_path, "shared") <= 2


@pytest.mark.parametrize("said", [("MALLOC_ARENA_MAX", "3"), ("GLIBC_TUNABLES", "glibc.malloc.arena_max=3")])
def test_a_person_who_says_how_many_is_obeyed(tmp_path: Path, said: tuple[str, str]) -> None:
    assert arenas(tmp_path, "shared", **dict([said])) == 3


def test_memory_that_was_freed_is_given_back(tmp_path: Path) -> None:
    """What lies below something that is kept stays with the process otherwise."""
    program = """
from edgeagent.stt import release_memory
def pages():
    return int(open("/proc/self/statm").read().split()[1])
blocks = [b"x" * 100_000 for _ in range(400)]
kept = blocks.pop()
del blocks
before = pages()
release_memory()
print((before - pages()) * 4)
"""
    said = {"MALLOC_MMAP_THRESHOLD_": "1000000", "MALLOC_TRIM_THRESHOLD_": "1000000000"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=LIMIT_S,
        env=os.environ | said,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) > 20_000, "kilobytes of 40,000"
