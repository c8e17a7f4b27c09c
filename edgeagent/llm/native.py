"""llama.cpp as this process has it: the library, its log, and what the machine offers it.

The library is imported at the first use, never when edgeagent is. Its log goes to the logger ``edgeagent.llama`` and
never to stdout or stderr. Any thread; the log callback runs on whichever thread llama.cpp calls it from.
"""

from __future__ import annotations

import ctypes
import logging
import os
import struct
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from edgeagent.errors import ModelError

log: Final = logging.getLogger("edgeagent.llama")
log.addHandler(logging.NullHandler())  # without a handler logging itself would write errors to stderr

# ggml.h, enum ggml_log_level. llama.cpp says at INFO what only a developer of it wants to read.
_LEVELS: Final = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.INFO, 4: logging.ERROR}
_CONTINUES: Final = 5
_ERROR: Final = 4
_KEPT_ERRORS: Final = 8
_REFUSALS: Final = ("unknown model architecture", "cannot be used as main model")
_SAYS_NOTHING: Final = ("failed to load model", "failed to initialize the context")

_ROOT: Final = Path("/")

_loading: Final = threading.RLock()


# Two versions of Linux's control groups (admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst): the folder, the files with
# the limit and the use, and what the keys of memory.stat begin with that count the groups below, too.
_CGROUP_V1: Final = ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
_CGROUP_V2: Final = ("sys/fs/cgroup", "memory.max", "memory.current", "")


@cache
def library() -> ModuleType:
    """The module ``llama_cpp``, imported and quiet.

    Raises:
        ModelError: It is not installed, or its shared library does not load.
    """
    with _loading:
        try:
            import llama_cpp
        except (ImportError, OSError, RuntimeError) as error:
            raise ModelError(
                f"llama.cpp can't be loaded ({error}): install it with `pip install llama-cpp-python`, on this machine"
            ) from error
        _log.callback = llama_cpp.llama_log_callback(_log.on_piece)
        llama_cpp.llama_log_set(_log.callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        return llama_cpp


class _Log:
    """llama.cpp's log: pieces come in, lines go to ``logging``, errors are kept for the exception that follows."""

    def __init__(self) -> None:
        self.callback: Any = None  # held here, because ctypes keeps no reference to it
        self.errors: deque[str] = deque(maxlen=_KEPT_ERRORS)
        self.expected = False  # errors are the answer to a question and no news
        self.interrupted = False
        """A Ctrl-C came in the middle of a piece, where ctypes would print it and forget it."""
        self.kept_back = threading.local()
        """``errors``: those of the thread, for ``keep_back``."""
        self._line: list[str] = []
        self._level = 0

    def on_piece(self, level: int, text: bytes, _: Any) -> None:
        """Called by llama.cpp on any of its threads."""
        try:
            if level != _CONTINUES:
                self._flush()
                self._level = level
            self._line.append(text.decode("utf-8", errors="replace"))
            if text.endswith(b"\n"):
                self._flush()
        except KeyboardInterrupt:
            self.interrupted = True

    def _flush(self) -> None:
        line = "".join(self._line).strip()
        self._line.clear()
        if not line:
            return
        if self._level == _ERROR:
            self.errors.append(line)
            kept: list[str] | None = getattr(self.kept_back, "errors", None)
            if kept is not None:
                kept.append(line)
            if self.expected or kept is not None:
                return
        log.log(_LEVELS.get(self._level, logging.DEBUG), "%s", line)


_log: Final = _Log()


@contextmanager
def complaints(*, expected: bool = False) -> Iterator[deque[str]]:
    """Collects what llama.cpp logs as errors inside the block.

    One block at a time runs in the process, so that the errors are its own.

    Args:
        expected: The errors are an answer, and are not logged.

    Raises:
        KeyboardInterrupt: It came while llama.cpp logged something on the main thread; once the block is done.
    """
    with _loading:
        _log.errors.clear()
        _log.expected = expected
        try:
            yield _log.errors
        finally:
            _log.expected = False
            _raise_interrupt()


@contextmanager
def keep_back() -> Iterator[list[str]]:
    """Collects what llama.cpp logs as errors on this thread inside the block, in place of logging it.

    A computation that was told to stop is an error to llama.cpp, and none to whoever told it.

    Raises:
        KeyboardInterrupt: As ``complaints``.
    """
    errors: list[str] = []
    _log.kept_back.errors = errors
    try:
        yield errors
    finally:
        _log.kept_back.errors = None
        _raise_interrupt()


def _raise_interrupt() -> None:
    """Raises a Ctrl-C that came in the middle of a piece of the log: on the main thread, as every other."""
    if _log.interrupted and threading.current_thread() is threading.main_thread():
        _log.interrupted = False
        raise KeyboardInterrupt


def last_complaint(errors: Iterable[str]) -> str:
    """The newest line that says something, without the name of the C function that said it."""
    told = [line for line in errors if not any(empty in line for empty in _SAYS_NOTHING)]
    line = told[-1] if told else "it gave no reason"
    head, separator, rest = line.partition(": ")
    return rest if separator and " " not in head else line


def knows_architecture(architecture: str) -> bool:
    """True if this build of llama.cpp can run models of that architecture.

    Asked of llama.cpp itself, with a file that holds nothing but the name (0.1 ms): a list of ours would be out of date
    with its next release.
    """
    llama = library()
    name, key = architecture.encode(), b"general.architecture"
    header = struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, len(key)) + key + struct.pack("<IQ", 8, len(name)) + name
    try:
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file, complaints(expected=True) as errors:
            file.write(header)
            file.flush()
            params = llama.llama_model_default_params()
            params.vocab_only = True
            model = llama.llama_model_load_from_file(file.name.encode(), params)
            if model:
                llama.llama_model_free(model)
            return not any(refusal in line for line in errors for refusal in _REFUSALS)
    except OSError as error:
        log.warning("no temporary file (%s), so loading the weights will show whether %s runs", error, architecture)
        return True


def has_amx() -> bool:
    """True if llama.cpp would use Intel's tile instructions.

    It must not: compilers drop its tile configuration from the stack, and the next tile instruction ends the process
    with SIGILL (https://github.com/ggml-org/llama.cpp/pull/26954; seen here with GCC 12 and Q8_0 weights).
    """
    return b"AMX_INT8 = 1" in library().llama_print_system_info()


def usable_cores() -> int:
    """Cores this process may run on: its affinity, and the quota of its container if it has one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        limit = cores if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        limit = cores  # no cgroup v2: the affinity is all there is
    return min(cores, limit)


def physical_cores() -> int:
    """Cores this process may run on, two threads of one core counted once; ``usable_cores`` where nobody says."""
    if not hasattr(os, "sched_getaffinity"):
        return usable_cores()
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    try:
        siblings = {Path(topology.format(cpu)).read_text(encoding="ascii") for cpu in os.sched_getaffinity(0)}
    except OSError:
        return usable_cores()
    return min(len(siblings), usable_cores())


def available_bytes(root: Path = _ROOT) -> int:
    """Memory that a process could still take: what the system has free, and what the limits of its container leave.

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    free = _meminfo(root, "MemAvailable")
    for limit, used in _group_limits(root):
        free = min(free, limit - used)
    return max(0, free)


def total_bytes(root: Path = _ROOT) -> int:
    """Memory of the machine, or of the container, if its limit is lower."""
    return min([_meminfo(root, "MemTotal"), *(limit for limit, _ in _group_limits(root))])


def _meminfo(root: Path, key: str) -> int:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(dict(line.split(":", 1) for line in lines)[key].split()[0]) << 10
    except (OSError, ValueError, KeyError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # not Linux: all there is


def _group_limits(root: Path) -> Iterator[tuple[int, int]]:
    """Limits of the control groups that this process is in, each with the memory in use that can't be dropped.

    Pages of files count as use, and are dropped when memory is short: after a download they fill a container.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return  # not Linux
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            folder, *names = _CGROUP_V1 if controllers else _CGROUP_V2
            mount = root / folder
            own = mount / path.lstrip("/")
            for group in dict.fromkeys((own, *own.parents)):
                if group.is_relative_to(mount):
                    yield from _group_limit(group, *names)


def _group_limit(group: Path, most: str, use: str, whole: str) -> Iterator[tuple[int, int]]:
    try:
        limit = int((group / most).read_text(encoding="ascii"))
        used = int((group / use).read_text(encoding="ascii"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        yield limit, used - int(stat[f"{whole}inactive_file"]) - int(stat[f"{whole}active_file"])
    except (OSError, ValueError, KeyError):
        return  # "max", or the root of all groups, which has no limit


def resident_bytes() -> int:
    """Memory of this process that is in RAM now."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # not Linux: the highest it has been
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
